/* SPDX-License-Identifier: Apache-2.0 */
/* Option values: numbers with range checks, byte sizes with suffixes, lists, words. */
#ifndef GDAKI_TOOL_PARSE_H
#define GDAKI_TOOL_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PARSE_WHY_SIZE 256

/*
 * All return 0 and set *out, or -EINVAL / -ERANGE and write into `why` (PARSE_WHY_SIZE bytes) a text that names the
 * value and what was expected. *out is unchanged on failure.
 */
int parse_u64(const char *text, uint64_t min, uint64_t max, uint64_t *out, char *why);
/* Bytes: 0x.. and decimal, suffix K, M, G (powers of 1024, optional "iB" or "B"). */
int parse_size(const char *text, uint64_t min, uint64_t max, uint64_t *out, char *why);
/* Seconds, decimal fractions allowed, to nanoseconds. */
int parse_seconds(const char *text, double min, double max, uint64_t *out_ns, char *why);

struct parse_word {
    const char *word; /* NULL ends a table */
    int value;
};
int parse_word(const char *text, const struct parse_word *table, int *out, char *why);
const char *parse_word_name(const struct parse_word *table, int value); /* "?" when unknown */

#define PARSE_SIZES_MAX 64
struct parse_sizes {
    uint32_t count;
    uint64_t size[PARSE_SIZES_MAX];
};
/* "8", "8,64,4K" or a range "8..1M" (doubling, both ends included). */
int parse_sizes(const char *text, uint64_t min, uint64_t max, struct parse_sizes *out, char *why);

bool parse_is_pow2(uint64_t value);

#endif
