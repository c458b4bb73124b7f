/* SPDX-License-Identifier: Apache-2.0 */
#include "lex.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct reader {
    struct tokens *out;
    size_t at;
    unsigned line, file;
    bool line_start;
    const char *why;
};

static int peek(const struct reader *r, size_t ahead)
{
    return r->at + ahead < r->out->size ? (unsigned char)r->out->source[r->at + ahead] : -1;
}

static bool word_char(int c)
{
    return c == '_' || c == '$' || isalnum(c) || c >= 0x80;
}

static int add(struct reader *r, enum token_kind kind, size_t size)
{
    struct tokens *t = r->out;

    if (t->count == t->room) {
        size_t room = t->room ? 2 * t->room : 4096;
        struct token *list = realloc(t->list, room * sizeof(*list));

        if (!list)
            return -ENOMEM;
        t->list = list;
        t->room = room;
    }
    t->list[t->count++] = (struct token){.kind = kind, .at = r->at, .size = size, .line = r->line, .file = r->file};
    for (size_t i = 0; i < size; i++)
        r->line += t->source[r->at + i] == '\n';
    r->at += size;
    return 0;
}

static int note_file(struct reader *r, const char *name, size_t size)
{
    struct tokens *t = r->out;
    char **files;

    for (unsigned i = t->nfiles; i-- > 0;) {
        if (strlen(t->files[i]) == size && !memcmp(t->files[i], name, size)) {
            r->file = i;
            return 0;
        }
    }
    files = realloc(t->files, (t->nfiles + 1) * sizeof(*files));
    if (!files)
        return -ENOMEM;
    t->files = files;
    files[t->nfiles] = strndup(name, size);
    if (!files[t->nfiles])
        return -ENOMEM;
    r->file = t->nfiles++;
    return 0;
}

/* A line that begins with '#': with a number it tells where the next line comes from. */
static int read_marker(struct reader *r)
{
    const char *source = r->out->source, *end;
    size_t size = 0, p, line_size;
    int error;

    while (r->at + size < r->out->size &&
           (source[r->at + size] != '\n' || (size && source[r->at + size - 1] == '\\')))
        size++;
    p = r->at + 1;
    line_size = r->at + size;
    error = add(r, TOKEN_MARKER, size);
    if (error)
        return error;
    while (p < line_size && (source[p] == ' ' || source[p] == '\t'))
        p++;
    if (line_size - p > 4 && !memcmp(source + p, "line", 4))
        p += 5;
    if (p >= line_size || !isdigit((unsigned char)source[p]))
        return 0;
    r->line = (unsigned)strtoul(source + p, NULL, 10) - 1; /* the newline that ends the marker adds one */
    while (p < line_size && source[p] != '"')
        p++;
    end = p < line_size ? memchr(source + p + 1, '"', line_size - p - 1) : NULL;
    return end ? note_file(r, source + p + 1, (size_t)(end - source) - p - 1) : 0;
}

static int read_quoted(struct reader *r, size_t prefix)
{
    int quote = peek(r, prefix);
    size_t n = prefix + 1;

    for (;; n++) {
        int c = peek(r, n);

        if (c < 0 || c == '\n') {
            r->why = "a string or character constant does not end";
            return -EINVAL;
        }
        if (c == '\\')
            n++;
        else if (c == quote)
            break;
    }
    return add(r, TOKEN_TEXT, n + 1);
}

/* R"tag( ... )tag" with `prefix` characters before the quote. */
static int read_raw(struct reader *r, size_t prefix)
{
    const char *source = r->out->source;
    char end[20] = ")";
    size_t tag = 0, n;

    while (tag < 16 && peek(r, prefix + 1 + tag) >= 0 && peek(r, prefix + 1 + tag) != '(')
        tag++;
    memcpy(end + 1, source + r->at + prefix + 1, tag);
    end[tag + 1] = '"';
    for (n = prefix + 1 + tag; peek(r, n) >= 0; n++) {
        if (r->at + n + tag + 2 <= r->out->size && !memcmp(source + r->at + n, end, tag + 2))
            return add(r, TOKEN_TEXT, n + tag + 2);
    }
    r->why = "a raw string does not end";
    return -EINVAL;
}

/* A word, or the prefix of a literal. */
static int read_word(struct reader *r)
{
    const char *start = r->out->source + r->at;
    size_t n = 0;

    while (word_char(peek(r, n)))
        n++;
    if (peek(r, n) == '"' && start[n - 1] == 'R' && n <= 3)
        return read_raw(r, n);
    if ((peek(r, n) == '"' || peek(r, n) == '\'') && n <= 2 && (strchr("LuU", start[0]) != NULL))
        return read_quoted(r, n);
    return add(r, TOKEN_WORD, n);
}

static int read_number(struct reader *r)
{
    size_t n = 0;

    for (;;) {
        int c = peek(r, n), before = n ? peek(r, n - 1) : 0;

        if (word_char(c) || c == '.' || (c == '\'' && word_char(peek(r, n + 1))) ||
            ((c == '+' || c == '-') && before && strchr("eEpP", before)))
            n++;
        else
            return add(r, TOKEN_NUMBER, n);
    }
}

static bool skip_blank(struct reader *r)
{
    int c = peek(r, 0);

    if (c == '/' && peek(r, 1) == '/') {
        while (peek(r, 0) >= 0 && peek(r, 0) != '\n')
            r->at++;
        return true;
    }
    if (c == '/' && peek(r, 1) == '*') {
        for (r->at += 2; peek(r, 0) >= 0 && !(peek(r, 0) == '*' && peek(r, 1) == '/'); r->at++)
            r->line += peek(r, 0) == '\n';
        r->at = r->at + 2 < r->out->size ? r->at + 2 : r->out->size;
        return true;
    }
    if (c < 0 || !isspace(c))
        return false;
    if (c == '\n') {
        r->line++;
        r->line_start = true;
    }
    r->at++;
    return true;
}

static int read_one(struct reader *r)
{
    int c = peek(r, 0);
    bool line_start = r->line_start;

    r->line_start = false;
    if (c == '#' && line_start)
        return read_marker(r);
    if (isdigit(c) || (c == '.' && isdigit(peek(r, 1))))
        return read_number(r);
    if (word_char(c))
        return read_word(r);
    if (c == '"' || c == '\'')
        return read_quoted(r, 0);
    if ((c == ':' && peek(r, 1) == ':') || (c == '-' && peek(r, 1) == '>'))
        return add(r, TOKEN_PUNCT, 2);
    return add(r, TOKEN_PUNCT, 1);
}

int tokens_read(struct tokens *tokens, const char *name, const char *source, size_t size, const char **why)
{
    struct reader r = {.out = tokens, .line = 1, .line_start = true};
    int error;

    *tokens = (struct tokens){.source = source, .size = size};
    error = note_file(&r, name, strlen(name));
    while (!error && r.at < size) {
        if (!skip_blank(&r))
            error = read_one(&r);
    }
    *why = r.why;
    return error;
}

void tokens_free(struct tokens *tokens)
{
    for (unsigned i = 0; i < tokens->nfiles; i++)
        free(tokens->files[i]);
    free(tokens->files);
    free(tokens->list);
}

bool token_is(const struct tokens *tokens, size_t i, const char *text)
{
    return i < tokens->count && tokens->list[i].kind != TOKEN_TEXT && tokens->list[i].size == strlen(text) &&
           !memcmp(tokens->source + tokens->list[i].at, text, tokens->list[i].size);
}
