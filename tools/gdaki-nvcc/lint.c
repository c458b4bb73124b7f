/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lint: barriers in code that not every thread of the block may reach, as far as the text tells. A condition is divergent
 * when it names threadIdx, a lane, or a variable that was set from such (followed within a function, in textual order). A
 * barrier in the body of an if, else, loop or switch with such a condition is named, and one that follows a return or a
 * loop's break under such a condition. The executor matches barriers by number, so such code runs there; hardware hangs, or
 * worse. Whole-block barriers and __syncwarp without a mask count; __syncwarp(mask) is the programmer's word.
 */
#include "rewrite.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lex.h"

struct name {
    size_t at, size;
};

struct region {
    size_t end; /* token after it */
    unsigned line;
};

struct linter {
    struct tokens t;
    FILE *errors;
    struct name tainted[256];
    unsigned ntainted;
    struct region regions[128]; /* of divergent control, innermost last */
    unsigned nregions;
    unsigned left_line;         /* a thread may have left the function at this line; 0: not */
    unsigned depth, function;   /* brace depth; where the function began */
    int found;
};

static bool is(const struct linter *l, size_t i, const char *text)
{
    return token_is(&l->t, i, text);
}

static bool is_source_of_divergence(const struct linter *l, size_t i)
{
    const struct token *token = &l->t.list[i];

    if (is(l, i, "threadIdx") || is(l, i, "doca_gpu_dev_verbs_get_lane_id") || is(l, i, "lane_id") || is(l, i, "laneid") ||
        is(l, i, "thread_idx") || is(l, i, "thread_rank"))
        return true;
    for (unsigned k = 0; k < l->ntainted; k++) {
        if (l->tainted[k].size == token->size &&
            !memcmp(l->t.source + l->tainted[k].at, l->t.source + token->at, token->size))
            return !(i && (is(l, i - 1, ".") || is(l, i - 1, "->")));
    }
    return false;
}

static bool divergent(const struct linter *l, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        if (l->t.list[i].kind == TOKEN_WORD && is_source_of_divergence(l, i))
            return true;
    }
    return false;
}

static size_t after_group(const struct linter *l, size_t i)
{
    unsigned depth = 0;

    for (; i < l->t.count; i++) {
        if (is(l, i, "(") || is(l, i, "[") || is(l, i, "{"))
            depth++;
        else if ((is(l, i, ")") || is(l, i, "]") || is(l, i, "}")) && depth && --depth == 0)
            return i + 1;
    }
    return i;
}

static size_t after_statement(const struct linter *l, size_t i);

/* After `if (...) statement else statement` and the loops; i is at the keyword. */
static size_t after_control(const struct linter *l, size_t i)
{
    if (is(l, i, "do")) {
        size_t end = after_statement(l, i + 1);

        while (end < l->t.count && !is(l, end, ";"))
            end++;
        return end + 1;
    }
    size_t open = i + 1;

    if (is(l, open, "constexpr"))
        open++;
    size_t end = after_statement(l, after_group(l, open));

    return is(l, i, "if") && is(l, end, "else") ? after_statement(l, end + 1) : end;
}

static bool is_control(const struct linter *l, size_t i)
{
    return is(l, i, "if") || is(l, i, "for") || is(l, i, "while") || is(l, i, "switch") || is(l, i, "do");
}

static size_t after_statement(const struct linter *l, size_t i)
{
    if (is_control(l, i))
        return after_control(l, i);
    if (is(l, i, "{"))
        return after_group(l, i);
    while (i < l->t.count && !is(l, i, ";")) {
        if (is(l, i, "}"))
            return i;
        i = is(l, i, "(") || is(l, i, "[") || is(l, i, "{") ? after_group(l, i) : i + 1;
    }
    return i + 1;
}

static void enter(struct linter *l, size_t end, unsigned line)
{
    if (l->nregions < sizeof(l->regions) / sizeof(l->regions[0]))
        l->regions[l->nregions++] = (struct region){end, line};
}

static void taint(struct linter *l, size_t i)
{
    if (l->ntainted < sizeof(l->tainted) / sizeof(l->tainted[0]) && !is_source_of_divergence(l, i))
        l->tainted[l->ntainted++] = (struct name){l->t.list[i].at, l->t.list[i].size};
}

/* `name = expression`, `name[...] = ` not: an array's element says nothing of the array. */
static void follow_assignment(struct linter *l, size_t i)
{
    size_t end;

    if (!i || l->t.list[i - 1].kind != TOKEN_WORD || is(l, i + 1, "=") || is(l, i - 1, "operator"))
        return;
    for (end = i + 1; end < l->t.count && !is(l, end, ";") && !is(l, end, ",") && !is(l, end, ")");)
        end = is(l, end, "(") || is(l, end, "[") || is(l, end, "{") ? after_group(l, end) : end + 1;
    if (divergent(l, i + 1, end))
        taint(l, i - 1);
}

static void warn(struct linter *l, size_t i, const char *why, unsigned line)
{
    const struct token *token = &l->t.list[i];

    fprintf(l->errors, "%s:%u: warning: %.*s may not be reached by every thread: %s at line %u [divergent-barrier]\n",
            l->t.files[token->file], token->line, (int)token->size, l->t.source + token->at, why, line);
    l->found++;
}

static bool is_barrier(const struct linter *l, size_t i)
{
    if (!is(l, i + 1, "("))
        return false;
    if (is(l, i, "__syncwarp"))
        return is(l, i + 2, ")");
    return is(l, i, "__syncthreads") || is(l, i, "__syncthreads_and") || is(l, i, "__syncthreads_or") ||
           is(l, i, "__syncthreads_count");
}

static void look_at(struct linter *l, size_t i)
{
    while (l->nregions && l->regions[l->nregions - 1].end <= i)
        l->nregions--;
    if (is_control(l, i) && !is(l, i, "do")) {
        size_t open = is(l, i + 1, "constexpr") ? i + 2 : i + 1, body = after_group(l, open);

        if (is(l, open, "(") && divergent(l, open, body))
            enter(l, after_control(l, i), l->t.list[i].line);
    } else if (is(l, i, "=")) {
        follow_assignment(l, i);
    } else if (is(l, i, "return") && l->nregions) {
        l->left_line = l->left_line ? l->left_line : l->t.list[i].line;
    } else if (is_barrier(l, i)) {
        if (l->nregions)
            warn(l, i, "a condition that differs by thread", l->regions[l->nregions - 1].line);
        else if (l->left_line && !is(l, i, "__syncwarp"))
            warn(l, i, "some threads may have returned", l->left_line);
    }
}

/* Text from the program's own files: the shim's and the system's headers are not the user's to mend. */
static bool is_own(const struct linter *l, size_t i)
{
    const char *file = l->t.files[l->t.list[i].file];

    return strncmp(file, "/usr/", 5) && file[0] != '<' && !strstr(file, "gdaki_cpu_") && !strstr(file, "cooperative_groups");
}

static void track_braces(struct linter *l, size_t i)
{
    if (is(l, i, "{")) {
        l->depth++;
        if (!l->function && i && (is(l, i - 1, ")") || is(l, i - 1, "const") || is(l, i - 1, "noexcept")))
            l->function = l->depth;
    } else if (is(l, i, "}") && l->depth) {
        if (l->depth == l->function) {
            l->function = 0;
            l->ntainted = l->nregions = 0;
            l->left_line = 0;
        }
        l->depth--;
    }
}

int lint(const char *name, const char *source, size_t size, FILE *errors)
{
    struct linter l = {.errors = errors};
    const char *why = NULL;

    if (!tokens_read(&l.t, name, source, size, &why)) {
        for (size_t i = 0; i < l.t.count; i++) {
            track_braces(&l, i);
            if (l.function && l.t.list[i].kind != TOKEN_TEXT && l.t.list[i].kind != TOKEN_MARKER && is_own(&l, i))
                look_at(&l, i);
        }
    }
    tokens_free(&l.t);
    return l.found;
}
