/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A text that grows piece by piece in a buffer of the caller's, as snprintf: what does not fit is counted and left out, and
 * the end is marked whatever the size.
 */
#ifndef GDAKI_TEXT_H
#define GDAKI_TEXT_H

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

struct text {
    char *out;
    size_t size, used; /* used: also beyond size */
};

static inline struct text text_begin(char *out, size_t size)
{
    if (size != 0)
        out[0] = 0;
    return (struct text){.out = out, .size = size};
}

__attribute__((format(printf, 2, 3))) static inline void say(struct text *t, const char *format, ...)
{
    va_list args;
    int n;

    va_start(args, format);
    n = vsnprintf(t->used < t->size ? t->out + t->used : NULL, t->used < t->size ? t->size - t->used : 0, format, args);
    va_end(args);
    t->used += n > 0 ? (size_t)n : 0;
}

#endif
