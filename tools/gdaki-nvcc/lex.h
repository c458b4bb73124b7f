/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens of C++ text, fine enough to find launches and __shared__ declarations: no types, no macros. */
#ifndef GDAKI_NVCC_LEX_H
#define GDAKI_NVCC_LEX_H

#include <stdbool.h>
#include <stddef.h>

enum token_kind { TOKEN_WORD, TOKEN_NUMBER, TOKEN_TEXT, TOKEN_PUNCT, TOKEN_MARKER }; /* TEXT: string or character literal */

struct token {
    enum token_kind kind;
    size_t at, size; /* in the source */
    unsigned line;   /* presumed line, after #line markers */
    unsigned file;   /* index in files */
};

struct tokens {
    const char *source;
    size_t size;
    struct token *list;
    size_t count, room;
    char **files; /* presumed names; [0] is the name given */
    unsigned nfiles;
};

/* -ENOMEM, or -EINVAL with *why for text that ends inside a literal. Comments and white space give no tokens. */
int tokens_read(struct tokens *tokens, const char *name, const char *source, size_t size, const char **why);
void tokens_free(struct tokens *tokens);
bool token_is(const struct tokens *tokens, size_t i, const char *text);

#endif
