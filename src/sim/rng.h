/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random numbers of the simulation: splitmix64, one stream for each purpose, so that one more link does not change what
 * the others do. Nothing else may decide anything by chance.
 */
#ifndef GDAKI_SIM_RNG_H
#define GDAKI_SIM_RNG_H

#include <stdbool.h>
#include <stdint.h>

struct sim_rng {
    uint64_t state;
};

static inline uint64_t sim_mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

static inline uint64_t sim_rng_next(struct sim_rng *rng)
{
    return sim_mix(rng->state += 0x9e3779b97f4a7c15ull);
}

/* Stream number `stream` of a seed. */
static inline struct sim_rng sim_rng_stream(uint64_t seed, uint64_t stream)
{
    return (struct sim_rng){.state = sim_mix(seed ^ sim_mix(stream + 0x632be59bd9b4e019ull))};
}

/* 0 .. n - 1; n 0 gives 0. */
static inline uint64_t sim_rng_below(struct sim_rng *rng, uint64_t n)
{
    return (uint64_t)(((unsigned __int128)sim_rng_next(rng) * n) >> 64);
}

static inline uint64_t sim_rng_between(struct sim_rng *rng, uint64_t low, uint64_t high)
{
    return low + sim_rng_below(rng, high - low + 1);
}

/* A probability is a number of 2^-32; SIM_ALWAYS is 1. */
#define SIM_ALWAYS 0x100000000ull

static inline bool sim_rng_chance(struct sim_rng *rng, uint64_t probability)
{
    return probability != 0 && (sim_rng_next(rng) >> 32) < probability;
}

#endif
