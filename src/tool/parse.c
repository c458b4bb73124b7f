/* SPDX-License-Identifier: Apache-2.0 */
#include "parse.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((format(printf, 2, 3))) static int refuse(char *why, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(why, PARSE_WHY_SIZE, format, args);
    va_end(args);
    return -EINVAL;
}

/* Digits only: strtoull would take signs and blanks. Sets *end past the digits. */
static int scan_u64(const char *text, const char **end, uint64_t *out)
{
    char *stop;
    int base = text[0] == '0' && (text[1] == 'x' || text[1] == 'X') ? 16 : 10;

    if (text[0] < '0' || text[0] > '9')
        return -EINVAL;
    errno = 0;
    *out = strtoull(text, &stop, base);
    *end = stop;
    return errno == ERANGE ? -ERANGE : 0;
}

static int check_range(const char *text, uint64_t value, uint64_t min, uint64_t max, uint64_t *out, char *why)
{
    if (value < min || value > max) {
        refuse(why, "'%s' is out of range: expected %" PRIu64 " to %" PRIu64, text, min, max);
        return -ERANGE;
    }
    *out = value;
    return 0;
}

int parse_u64(const char *text, uint64_t min, uint64_t max, uint64_t *out, char *why)
{
    const char *end = text;
    uint64_t value = 0;
    int rc = scan_u64(text, &end, &value);

    if (rc == -ERANGE) {
        refuse(why, "'%s' is out of range: expected %" PRIu64 " to %" PRIu64, text, min, max);
        return rc;
    }
    if (rc || *end)
        return refuse(why, "'%s' is not a number", text);
    return check_range(text, value, min, max, out, why);
}

/* Shift of a size suffix, or -1. */
static int suffix_shift(const char *suffix)
{
    static const struct {
        char letter;
        int shift;
    } units[] = {{'K', 10}, {'k', 10}, {'M', 20}, {'m', 20}, {'G', 30}, {'g', 30}};

    if (!*suffix)
        return 0;
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (suffix[0] == units[i].letter) {
            const char *rest = suffix + 1;
            return !*rest || !strcmp(rest, "B") || !strcmp(rest, "iB") ? units[i].shift : -1;
        }
    }
    return !strcmp(suffix, "B") ? 0 : -1;
}

int parse_size(const char *text, uint64_t min, uint64_t max, uint64_t *out, char *why)
{
    const char *end = text;
    uint64_t value = 0;
    int rc = scan_u64(text, &end, &value);
    int shift = rc == -EINVAL ? -1 : suffix_shift(end);

    if (shift < 0)
        return refuse(why, "'%s' is not a size: expected bytes, with K, M or G if wanted", text);
    if (rc || value > UINT64_MAX >> shift) {
        refuse(why, "'%s' is out of range: expected %" PRIu64 " to %" PRIu64 " bytes", text, min, max);
        return -ERANGE;
    }
    return check_range(text, value << shift, min, max, out, why);
}

int parse_seconds(const char *text, double min, double max, uint64_t *out_ns, char *why)
{
    char *end;
    double value;

    if (text[0] < '0' || text[0] > '9')
        return refuse(why, "'%s' is not a number of seconds", text);
    value = strtod(text, &end);
    if (*end || !isfinite(value))
        return refuse(why, "'%s' is not a number of seconds", text);
    if (value < min || value > max) {
        refuse(why, "'%s' is out of range: expected %g to %g seconds", text, min, max);
        return -ERANGE;
    }
    *out_ns = (uint64_t)(value * 1e9);
    return 0;
}

int parse_word(const char *text, const struct parse_word *table, int *out, char *why)
{
    size_t used;

    for (const struct parse_word *w = table; w->word; w++) {
        if (!strcmp(text, w->word)) {
            *out = w->value;
            return 0;
        }
    }
    refuse(why, "'%s' is not one of", text);
    for (const struct parse_word *w = table; w->word; w++) {
        used = strlen(why);
        snprintf(why + used, PARSE_WHY_SIZE - used, "%s %s", w == table ? "" : ",", w->word);
    }
    return -EINVAL;
}

const char *parse_word_name(const struct parse_word *table, int value)
{
    for (const struct parse_word *w = table; w->word; w++) {
        if (w->value == value)
            return w->word;
    }
    return "?";
}

static int add_size(struct parse_sizes *list, uint64_t size, const char *text, char *why)
{
    if (list->count == PARSE_SIZES_MAX)
        return refuse(why, "'%s' names more than %d sizes", text, PARSE_SIZES_MAX);
    list->size[list->count++] = size;
    return 0;
}

static int add_range(struct parse_sizes *list, const char *first, const char *last, uint64_t min, uint64_t max,
                     const char *text, char *why)
{
    uint64_t low = 0, high = 0;
    int rc = parse_size(first, min, max, &low, why);

    if (!rc)
        rc = parse_size(last, min, max, &high, why);
    if (rc)
        return rc;
    if (low == 0 || low > high)
        return refuse(why, "'%s' is not a range: the first size must be at least 1 and not above the last", text);
    for (uint64_t size = low; size < high; size *= 2) {
        rc = add_size(list, size, text, why);
        if (rc)
            return rc;
        if (size > UINT64_MAX / 2)
            break;
    }
    return add_size(list, high, text, why);
}

int parse_sizes(const char *text, uint64_t min, uint64_t max, struct parse_sizes *out, char *why)
{
    struct parse_sizes list = {0};
    char *copy = strdup(text), *rest = copy;
    int rc = 0;

    if (!copy)
        return -ENOMEM;
    for (char *item = strsep(&rest, ","); item && !rc; item = strsep(&rest, ",")) {
        char *dots = strstr(item, "..");
        uint64_t size = 0;

        if (!*item) {
            rc = refuse(why, "'%s' names no size%s", text, *text ? " at one of its commas" : "");
            continue;
        }
        if (dots) {
            *dots = 0;
            rc = add_range(&list, item, dots + 2, min, max, text, why);
            continue;
        }
        rc = parse_size(item, min, max, &size, why);
        if (!rc)
            rc = add_size(&list, size, text, why);
    }
    free(copy);
    if (!rc)
        *out = list;
    return rc;
}

bool parse_is_pow2(uint64_t value)
{
    return value && !(value & (value - 1));
}
