/* SPDX-License-Identifier: Apache-2.0 */
#include "rewrite.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lex.h"

enum scope { SCOPE_NAMESPACE, SCOPE_CLASS, SCOPE_FUNCTION };

/* A __shared__ variable of namespace scope: every later use is replaced. */
struct global {
    char *name, *use;
};

struct rewriter {
    struct tokens t;
    FILE *out, *errors;
    size_t copied;  /* source copied so far */
    size_t statement; /* first token of the statement */
    enum scope scopes[512];
    unsigned depth, shared;
    struct global globals[64];
    unsigned nglobals;
    bool failed;
};

static void fail(struct rewriter *r, size_t at, const char *what)
{
    const struct token *token = &r->t.list[at < r->t.count ? at : r->t.count - 1];

    fprintf(r->errors, "%s:%u: error: %s\n", r->t.files[token->file], token->line, what);
    r->failed = true;
}

static bool is(const struct rewriter *r, size_t i, const char *text)
{
    return token_is(&r->t, i, text);
}

static bool is_word(const struct rewriter *r, size_t i)
{
    return i < r->t.count && r->t.list[i].kind == TOKEN_WORD;
}

static size_t end_of(const struct rewriter *r, size_t i)
{
    return r->t.list[i].at + r->t.list[i].size;
}

/* Copies the source up to `at`. */
static void copy_to(struct rewriter *r, size_t at)
{
    if (at > r->copied)
        fwrite(r->t.source + r->copied, 1, at - r->copied, r->out);
    r->copied = at;
}

/* The tokens from `from` to before `to`, one blank between those that were apart, no newlines. */
static void put_tokens(struct rewriter *r, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        const struct token *token = &r->t.list[i];

        if (token->kind == TOKEN_MARKER)
            continue;
        if (i > from && end_of(r, i - 1) != token->at)
            putc(' ', r->out);
        fwrite(r->t.source + token->at, 1, token->size, r->out);
    }
}

/* After a replacement of tokens before `to`: the lines it spanned, so that what follows keeps its line. */
static void keep_lines(struct rewriter *r, size_t from_at, size_t to, bool markers)
{
    const struct token *next = &r->t.list[to < r->t.count ? to : r->t.count - 1];

    if (markers && to < r->t.count) {
        fprintf(r->out, "\n# %u \"%s\"\n", next->line, r->t.files[next->file]);
        r->copied = next->at;
        return;
    }
    for (size_t i = from_at; i < r->copied; i++) {
        if (r->t.source[i] == '\n')
            putc('\n', r->out);
    }
}

static bool has_marker(const struct rewriter *r, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        if (r->t.list[i].kind == TOKEN_MARKER)
            return true;
    }
    return false;
}

static bool opens(const struct rewriter *r, size_t i)
{
    return is(r, i, "(") || is(r, i, "[") || is(r, i, "{");
}

static bool closes(const struct rewriter *r, size_t i)
{
    return is(r, i, ")") || is(r, i, "]") || is(r, i, "}");
}

/* Index of the bracket that matches the closing one at i; SIZE_MAX: none. */
static size_t match_back(const struct rewriter *r, size_t i)
{
    unsigned depth = 0;

    for (size_t k = i + 1; k-- > 0;) {
        if (closes(r, k))
            depth++;
        else if (opens(r, k) && --depth == 0)
            return k;
    }
    return SIZE_MAX;
}

/* Index of the '<' that matches the '>' at i. */
static size_t match_angle_back(const struct rewriter *r, size_t i)
{
    unsigned depth = 0;

    for (size_t k = i + 1; k-- > 0;) {
        if (closes(r, k)) {
            k = match_back(r, k);
            if (k == SIZE_MAX)
                break;
        } else if (is(r, k, ">")) {
            depth++;
        } else if (is(r, k, "<")) {
            if (--depth == 0)
                return k;
        } else if (is(r, k, ";") || opens(r, k)) {
            break;
        }
    }
    return SIZE_MAX;
}

static bool adjacent(const struct rewriter *r, size_t i)
{
    return i + 1 < r->t.count && end_of(r, i) == r->t.list[i + 1].at;
}

/* "<<<" as three tokens; the preprocessor may set a blank between the second and the third. */
static bool launch_opens(const struct rewriter *r, size_t i)
{
    return is(r, i, "<") && is(r, i + 1, "<") && is(r, i + 2, "<") && adjacent(r, i) && i > 0 && !is(r, i - 1, "operator");
}

/* First token of the postfix expression that ends at `last`. */
static size_t callee_start(const struct rewriter *r, size_t last)
{
    size_t i = last;

    for (;;) {
        if (is(r, i, ">"))
            i = match_angle_back(r, i);
        else if (is(r, i, ")") || is(r, i, "]"))
            i = match_back(r, i);
        else if (!is_word(r, i))
            return SIZE_MAX;
        if (i == SIZE_MAX)
            return SIZE_MAX;
        if (i == 0)
            return 0;
        if (is(r, i, "<") || is(r, i, "[") || (is(r, i, "(") && (is_word(r, i - 1) || is(r, i - 1, ">") ||
                                                                 is(r, i - 1, "]") || is(r, i - 1, ")")) &&
                                               !is(r, i - 1, "return") && !is(r, i - 1, "else"))) {
            i--;
            continue;
        }
        if (is(r, i - 1, "template"))
            i--;
        if (i && (is(r, i - 1, ".") || is(r, i - 1, "->"))) {
            i -= 2;
            continue;
        }
        if (i && is(r, i - 1, "::")) {
            i--;
            if (i && (is(r, i - 1, ">") || (is_word(r, i - 1) && !is(r, i - 1, "return") && !is(r, i - 1, "else")))) {
                i--;
                continue;
            }
        }
        return i;
    }
}

/* Index of the first '>' of the ">>>" that ends the configuration begun at i; SIZE_MAX: none. */
static size_t config_end(const struct rewriter *r, size_t i)
{
    unsigned depth = 0;

    for (; i + 2 < r->t.count; i++) {
        size_t run = 0;

        if (opens(r, i)) {
            depth++;
            continue;
        }
        if (closes(r, i)) {
            if (!depth--)
                return SIZE_MAX;
            continue;
        }
        if (is(r, i, ";") && !depth)
            return SIZE_MAX;
        if (depth || !is(r, i, ">"))
            continue;
        while (is(r, i + run, ">") && (!run || adjacent(r, i + run - 1) || run == 2))
            run++;
        if (run >= 3 && is(r, i + run, "("))
            return i + run - 3;
        i += run - 1;
    }
    return SIZE_MAX;
}

static void put_string(struct rewriter *r, size_t from, size_t to)
{
    putc('"', r->out);
    for (size_t i = from; i < to; i++) {
        const struct token *token = &r->t.list[i];

        if (token->kind == TOKEN_MARKER)
            continue;
        if (i > from && end_of(r, i - 1) != token->at)
            putc(' ', r->out);
        for (size_t k = 0; k < token->size; k++) {
            char c = r->t.source[token->at + k];

            if (c == '"' || c == '\\')
                putc('\\', r->out);
            putc(c == '\n' ? ' ' : c, r->out);
        }
    }
    putc('"', r->out);
}

/* Commas at depth 0 plus one. */
static unsigned count_arguments(const struct rewriter *r, size_t from, size_t to)
{
    unsigned depth = 0, count = from < to;

    for (size_t i = from; i < to; i++) {
        if (opens(r, i))
            depth++;
        else if (closes(r, i))
            depth--;
        else if (!depth && is(r, i, ","))
            count++;
    }
    return count;
}

/* callee<<<config>>> -> ::gdaki_cpu::on(config).kernel("callee", [=](const auto &...a) { callee(a...); }) */
static size_t rewrite_launch(struct rewriter *r, size_t open)
{
    size_t start = open ? callee_start(r, open - 1) : SIZE_MAX, close = config_end(r, open + 3), from_at;

    if (start == SIZE_MAX) {
        fail(r, open, "cannot tell which kernel is launched before <<<");
        return open + 3;
    }
    if (close == SIZE_MAX) {
        fail(r, open, "a kernel launch needs >>> and then its arguments in parentheses");
        return open + 3;
    }
    if (count_arguments(r, open + 3, close) < 2) {
        fail(r, open, "a kernel launch needs a grid and a block between <<< and >>>");
        return close + 3;
    }
    from_at = r->t.list[start].at;
    if (from_at < r->copied) {
        fail(r, open, "a kernel launch inside another one's configuration is not covered");
        return close + 3;
    }
    copy_to(r, from_at);
    fputs("::gdaki_cpu::on(", r->out);
    put_tokens(r, open + 3, close);
    fputs(").kernel(", r->out);
    put_string(r, start, open);
    fputs(", [=](const auto &...gdaki_cpu_arg) { ", r->out);
    put_tokens(r, start, open);
    fputs("(gdaki_cpu_arg...); })", r->out);
    r->copied = end_of(r, close + 2);
    keep_lines(r, from_at, close + 3, has_marker(r, start, close + 3));
    return close + 3;
}

static bool in_function(const struct rewriter *r)
{
    return r->depth && r->scopes[r->depth - 1] == SCOPE_FUNCTION;
}

static size_t skip_group(const struct rewriter *r, size_t i)
{
    unsigned depth = 0;

    for (; i < r->t.count; i++) {
        if (opens(r, i))
            depth++;
        else if (closes(r, i) && --depth == 0)
            return i + 1;
    }
    return i;
}

/* A specifier that carries a parenthesis: alignas(n), __attribute__((...)). */
static bool is_attribute(const struct rewriter *r, size_t i)
{
    return (is(r, i, "alignas") || is(r, i, "__attribute__") || is(r, i, "decltype") || is(r, i, "__typeof__") ||
            is(r, i, "typeof")) &&
           is(r, i + 1, "(");
}

struct declaration {
    size_t first, end; /* tokens; end is the ';' */
    size_t names[16];
    unsigned nnames;
    bool is_extern;
};

/* Finds the declared names: the last word before '[', ',' or the end, outside of brackets and template arguments. */
static bool parse_declaration(struct rewriter *r, struct declaration *d, size_t from)
{
    size_t word = SIZE_MAX;
    unsigned angle = 0;

    for (size_t i = from;; i++) {
        bool at_end = i >= d->end;

        if (!at_end && is_attribute(r, i)) {
            i = skip_group(r, i + 1) - 1;
            continue;
        }
        if (!at_end && is(r, i, "<")) {
            angle++;
        } else if (!at_end && angle && is(r, i, ">")) {
            angle--;
        } else if (angle && !at_end) {
            if (opens(r, i))
                i = skip_group(r, i) - 1;
        } else if (!at_end && is(r, i, "{")) {
            i = skip_group(r, i) - 1; /* struct { ... } name */
            word = SIZE_MAX;
        } else if (at_end || is(r, i, ",") || is(r, i, "[") || is(r, i, "=") || is(r, i, "(")) {
            if (word == SIZE_MAX || d->nnames == 16 || (!at_end && (is(r, i, "=") || is(r, i, "(")))) {
                fail(r, from, "__shared__ declarations may have names and array bounds only");
                return false;
            }
            d->names[d->nnames++] = word;
            word = SIZE_MAX;
            while (!at_end && is(r, i, "["))
                i = skip_group(r, i);
            if (i >= d->end)
                return true;
            if (!is(r, i, ",")) {
                fail(r, from, "__shared__ declarations may have names and array bounds only");
                return false;
            }
        } else if (is_word(r, i)) {
            word = i;
        }
    }
}

static bool dropped(const struct rewriter *r, size_t i)
{
    return is(r, i, "__shared__") || is(r, i, "extern") || is(r, i, "static");
}

static void put_members(struct rewriter *r, const struct declaration *d)
{
    for (size_t i = d->first; i < d->end; i++) {
        if (dropped(r, i) || r->t.list[i].kind == TOKEN_MARKER)
            continue;
        putc(' ', r->out);
        fwrite(r->t.source + r->t.list[i].at, 1, r->t.list[i].size, r->out);
    }
    fputs("; ", r->out);
}

/* T of `extern __shared__ T name[]...;`, with the bounds. */
static void put_dynamic_type(FILE *out, struct rewriter *r, const struct declaration *d)
{
    for (size_t i = d->first; i < d->end; i++) {
        if (dropped(r, i) || i == d->names[0] || r->t.list[i].kind == TOKEN_MARKER)
            continue;
        if (is(r, i, "alignas") || is(r, i, "__attribute__")) {
            i = skip_group(r, i + 1) - 1;
            continue;
        }
        fprintf(out, " %.*s", (int)r->t.list[i].size, r->t.source + r->t.list[i].at);
    }
}

static char *use_of(struct rewriter *r, const struct declaration *d, unsigned name, unsigned number)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    const struct token *token = &r->t.list[d->names[name]];

    if (!out)
        return NULL;
    if (d->is_extern) {
        fputs("::gdaki_cpu::dynamic_shared<", out);
        put_dynamic_type(out, r, d);
        fputs(">()", out);
    } else {
        fprintf(out, "::gdaki_cpu::shared<gdaki_cpu_shared_%u>().%.*s", number, (int)token->size, r->t.source + token->at);
    }
    fclose(out);
    return text;
}

static void declare(struct rewriter *r, const struct declaration *d)
{
    unsigned number = ++r->shared;
    bool local = in_function(r);

    if (!d->is_extern) {
        fprintf(r->out, "struct gdaki_cpu_shared_%u {", number);
        put_members(r, d);
        fputs("}; ", r->out);
    }
    for (unsigned i = 0; i < d->nnames; i++) {
        const struct token *token = &r->t.list[d->names[i]];
        char *use = use_of(r, d, i, number);

        if (local) {
            fprintf(r->out, "auto &%.*s = %s;", (int)token->size, r->t.source + token->at, use);
            free(use);
        } else if (r->nglobals < sizeof(r->globals) / sizeof(r->globals[0])) {
            r->globals[r->nglobals++] = (struct global){strndup(r->t.source + token->at, token->size), use};
        } else {
            fail(r, d->first, "too many __shared__ variables at namespace scope");
            free(use);
        }
    }
}

/* At the word __shared__. Returns the index after the declaration. */
static size_t rewrite_shared(struct rewriter *r, size_t at)
{
    struct declaration d = {.first = r->statement};
    size_t from_at;

    for (d.end = at; d.end < r->t.count && !is(r, d.end, ";"); d.end++) {
        if (opens(r, d.end))
            d.end = skip_group(r, d.end) - 1;
    }
    for (size_t i = d.first; i < d.end; i++)
        d.is_extern |= is(r, i, "extern");
    if (d.end >= r->t.count) {
        fail(r, at, "a __shared__ declaration does not end");
        return r->t.count;
    }
    if (!parse_declaration(r, &d, d.first))
        return d.end + 1;
    if (d.is_extern && (d.nnames != 1 || !is(r, d.names[0] + 1, "["))) {
        fail(r, at, "extern __shared__ is for one array without a bound");
        return d.end + 1;
    }
    from_at = r->t.list[d.first].at;
    copy_to(r, from_at);
    declare(r, &d);
    r->copied = end_of(r, d.end);
    keep_lines(r, from_at, d.end + 1, has_marker(r, d.first, d.end));
    return d.end + 1;
}

static enum scope scope_of_brace(const struct rewriter *r, size_t brace)
{
    bool class_word = false;

    if (in_function(r))
        return SCOPE_FUNCTION;
    for (size_t i = r->statement; i < brace; i++) {
        if (is(r, i, "namespace"))
            return SCOPE_NAMESPACE;
        if (is(r, i, "extern") && i + 2 == brace && r->t.list[i + 1].kind == TOKEN_TEXT)
            return SCOPE_NAMESPACE;
        if (is(r, i, "class") || is(r, i, "struct") || is(r, i, "union") || is(r, i, "enum"))
            class_word = true;
        if (is(r, i, "(") && !(i && is_attribute(r, i - 1)))
            return SCOPE_FUNCTION;
        if (is(r, i, "=") && class_word)
            return SCOPE_FUNCTION;
    }
    return class_word ? SCOPE_CLASS : SCOPE_FUNCTION;
}

static void track(struct rewriter *r, size_t i)
{
    if (is(r, i, "{")) {
        if (r->depth < sizeof(r->scopes) / sizeof(r->scopes[0]))
            r->scopes[r->depth] = scope_of_brace(r, i);
        else
            fail(r, i, "braces nest too deep");
        r->depth++;
    } else if (is(r, i, "}") && r->depth) {
        r->depth--;
    }
    if (is(r, i, "{") || is(r, i, "}") || is(r, i, ";") || r->t.list[i].kind == TOKEN_MARKER ||
        (is(r, i, ":") && in_function(r)))
        r->statement = i + 1;
}

static bool replace_global(struct rewriter *r, size_t i)
{
    const struct token *token = &r->t.list[i];

    if (!in_function(r) || (i && (is(r, i - 1, ".") || is(r, i - 1, "->"))))
        return false;
    for (unsigned k = r->nglobals; k-- > 0;) {
        const struct global *global = &r->globals[k];

        if (strlen(global->name) != token->size || memcmp(global->name, r->t.source + token->at, token->size))
            continue;
        copy_to(r, token->at);
        fprintf(r->out, "(%s)", global->use);
        r->copied = end_of(r, i);
        return true;
    }
    return false;
}

/* Index after a cast to void * that begins at i, `(const void *)` or `reinterpret_cast<const void *>`; i if there is none. */
static size_t skip_void_cast(const struct rewriter *r, size_t i)
{
    bool named = is(r, i, "reinterpret_cast") || is(r, i, "static_cast");
    size_t k = i + (named ? 2 : 1);

    if (!is(r, named ? i + 1 : i, named ? "<" : "("))
        return i;
    k += is(r, k, "const");
    if (!is(r, k++, "void"))
        return i;
    k += is(r, k, "const");
    return is(r, k, "*") && is(r, k + 1, named ? ">" : ")") ? k + 2 : i;
}

/* cudaLaunchKernel((void *)k, ...): the kernel keeps its type, from which the arguments' types come. */
static size_t rewrite_launch_call(struct rewriter *r, size_t i)
{
    size_t after = skip_void_cast(r, i + 2);

    if (after > i + 2) {
        copy_to(r, r->t.list[i + 2].at);
        r->copied = r->t.list[after].at;
    }
    return i + 2;
}

static size_t rewrite_word(struct rewriter *r, size_t i)
{
    if ((is(r, i, "cudaLaunchKernel") || is(r, i, "cudaLaunchCooperativeKernel")) && is(r, i + 1, "("))
        return rewrite_launch_call(r, i);
    if (is(r, i, "__shared__"))
        return rewrite_shared(r, i);
    if (is(r, i, "__noinline__") && !(i && (is(r, i - 1, "(") || is(r, i - 1, ",")))) {
        copy_to(r, r->t.list[i].at);
        fputs("__attribute__((__noinline__))", r->out);
        r->copied = end_of(r, i);
        return i + 1;
    }
    if (r->nglobals)
        replace_global(r, i);
    return i + 1;
}

static void rewrite_all(struct rewriter *r)
{
    for (size_t i = 0; i < r->t.count;) {
        if (r->t.list[i].kind == TOKEN_WORD) {
            bool shared = is(r, i, "__shared__");
            size_t next = rewrite_word(r, i);

            if (shared)
                r->statement = next;
            i = next;
        } else if (launch_opens(r, i)) {
            i = rewrite_launch(r, i);
        } else {
            track(r, i);
            i++;
        }
    }
    copy_to(r, r->t.size);
}

int rewrite(const char *name, const char *source, size_t size, char **out, size_t *out_size, FILE *errors)
{
    struct rewriter r = {.errors = errors};
    const char *why = NULL;
    int error = tokens_read(&r.t, name, source, size, &why);

    *out = NULL;
    if (error) {
        fprintf(errors, "%s: error: %s\n", name, why ? why : "out of memory");
        tokens_free(&r.t);
        return error;
    }
    r.out = open_memstream(out, out_size);
    if (!r.out) {
        tokens_free(&r.t);
        return -ENOMEM;
    }
    rewrite_all(&r);
    fclose(r.out);
    for (unsigned i = 0; i < r.nglobals; i++) {
        free(r.globals[i].name);
        free(r.globals[i].use);
    }
    tokens_free(&r.t);
    if (!r.failed)
        return 0;
    free(*out);
    *out = NULL;
    return -EINVAL;
}
