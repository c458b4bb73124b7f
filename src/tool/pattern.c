/* SPDX-License-Identifier: Apache-2.0 */
#include "pattern.h"

#include <endian.h>
#include <string.h>

static void write_pattern(uint8_t *at, size_t length, uint64_t seed, uint64_t position, uint64_t flip)
{
    size_t i = 0;

    for (; i < length && (position + i) % 8; i++)
        at[i] = pattern_byte(seed, position + i) ^ (uint8_t)flip;
    for (; i + 8 <= length; i += 8) {
        uint64_t word = htole64(pattern_word(seed, (position + i) / 8) ^ flip);
        memcpy(at + i, &word, 8);
    }
    for (; i < length; i++)
        at[i] = pattern_byte(seed, position + i) ^ (uint8_t)flip;
}

void pattern_fill(void *buffer, size_t length, uint64_t seed, uint64_t position)
{
    write_pattern(buffer, length, seed, position, 0);
}

void pattern_scrub(void *buffer, size_t length, uint64_t seed, uint64_t position)
{
    write_pattern(buffer, length, seed, position, ~0ull);
}

static size_t check_bytes(const uint8_t *at, size_t length, uint64_t seed, uint64_t position, size_t offset,
                          size_t wrong, size_t *first)
{
    for (size_t i = 0; i < length; i++) {
        if (at[i] != pattern_byte(seed, position + i)) {
            if (!wrong++)
                *first = offset + i;
        }
    }
    return wrong;
}

size_t pattern_check(const void *buffer, size_t length, uint64_t seed, uint64_t position, size_t *first)
{
    const uint8_t *at = buffer;
    size_t i = 0, wrong = 0;

    while (i < length) {
        size_t step = 8 - (position + i) % 8;
        uint64_t word, expected = htole64(pattern_word(seed, (position + i) / 8));

        if (step > length - i)
            step = length - i;
        memcpy(&word, step == 8 ? at + i : (const uint8_t *)&expected, 8);
        if (step < 8 || word != expected)
            wrong = check_bytes(at + i, step, seed, position + i, i, wrong, first);
        i += step;
    }
    return wrong;
}
