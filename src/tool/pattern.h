/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes that travel: a function of seed and position, so that a byte at the wrong place, from an earlier round or
 * from another queue never matches by construction of a repeating pattern.
 */
#ifndef GDAKI_TOOL_PATTERN_H
#define GDAKI_TOOL_PATTERN_H

#include <stddef.h>
#include <stdint.h>

/* Eight pattern bytes at word index `word` (splitmix64 of seed and position). */
static inline uint64_t pattern_word(uint64_t seed, uint64_t word)
{
    uint64_t z = seed + (word + 1) * 0x9e3779b97f4a7c15ull;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

/* Bytes lie in little-endian order of the word whatever the host. */
static inline uint8_t pattern_byte(uint64_t seed, uint64_t position)
{
    return (uint8_t)(pattern_word(seed, position / 8) >> (8 * (position % 8)));
}

void pattern_fill(void *buffer, size_t length, uint64_t seed, uint64_t position);
/* The complement of what pattern_fill would write: no byte matches before it arrives. */
void pattern_scrub(void *buffer, size_t length, uint64_t seed, uint64_t position);
/* Number of bytes that differ; *first is the offset of the first one. */
size_t pattern_check(const void *buffer, size_t length, uint64_t seed, uint64_t position, size_t *first);

#endif
