/* SPDX-License-Identifier: Apache-2.0 */
/* What each end knows of a case without asking the other: operations, sizes, bytes and the words of atomics follow from
 * the seed. */
#include "exchange.h"

static uint32_t mixed(uint32_t seed, uint32_t i, uint32_t what)
{
    uint64_t x = ((uint64_t)seed << 32 | i) * 0x9e3779b97f4a7c15u + what * 0xd1b54a32d192ed03u;

    x = (x ^ (x >> 31)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return (uint32_t)(x >> 32);
}

uint32_t plan_op(const struct spec *spec, uint32_t i)
{
    static const uint32_t kinds[] = {OP_SEND, OP_SEND_IMM,  OP_WRITE,       OP_WRITE_IMM,
                                     OP_READ, OP_FETCH_ADD, OP_COMPARE_SWAP};

    if (spec->op != OP_MIX)
        return spec->op;
    return kinds[mixed(spec->seed, i, 1) % (sizeof(kinds) / sizeof(kinds[0]))];
}

uint32_t plan_bytes(const struct spec *spec, uint32_t i)
{
    uint32_t op = plan_op(spec, i), mtu = 128u << spec->mtu;
    const uint32_t edges[] = {0, 1, mtu - 1, mtu, mtu + 1, 2 * mtu, spec->bytes};
    uint32_t pick = mixed(spec->seed, i, 2), size = spec->bytes;

    if (op == OP_FETCH_ADD || op == OP_COMPARE_SWAP)
        return 8;
    if (spec->op == OP_MIX) {
        size = pick % 3 ? mixed(spec->seed, i, 3) % (spec->bytes + 1)
                        : edges[(pick >> 8) % (sizeof(edges) / sizeof(edges[0]))];
        if (size > spec->bytes)
            size = spec->bytes;
    }
    return size;
}

bool plan_takes_receive(uint32_t op)
{
    return op == OP_SEND || op == OP_SEND_IMM || op == OP_WRITE_IMM;
}

uint32_t plan_receives(const struct spec *spec)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < spec->count; i++)
        count += plan_takes_receive(plan_op(spec, i));
    return count;
}

uint8_t plan_byte(const struct spec *spec, bool of_asker, uint32_t i, uint32_t at)
{
    return (uint8_t)(7 * at + 13 * (at >> 8) + 31 * i + 101 * of_asker + spec->seed);
}

void plan_atomic(const struct spec *spec, uint32_t i, uint64_t *compare, uint64_t *other, uint64_t *before,
                 uint64_t *after)
{
    uint64_t word = 0xfffffffffffffff0u + spec->seed % 16; /* so that additions go over the end */

    for (uint32_t k = 0; k <= i; k++) {
        uint32_t op = plan_op(spec, k);

        if (op != OP_FETCH_ADD && op != OP_COMPARE_SWAP)
            continue;
        *before = word;
        *compare = op == OP_FETCH_ADD ? 0 : word + (mixed(spec->seed, k, 4) & 1); /* every other one does not match */
        *other = (uint64_t)mixed(spec->seed, k, 5) << 16 | k;
        if (op == OP_FETCH_ADD)
            word += *other;
        else if (*compare == word)
            word = *other;
        *after = word;
    }
}
