/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values of the atomic operations. Operands cross the wire big-endian; the word in memory is in the host's order, since
 * users read their counters as native integers.
 */
#ifndef SOFTNIC_EXEC_ATOMIC_H
#define SOFTNIC_EXEC_ATOMIC_H

#include "format/wqe.h"

struct sn_atomic_args {
    uint8_t opcode; /* enum sn_opcode: CS, FA, MASKED_CS, MASKED_FA */
    uint8_t size;   /* 4 or 8 */
    uint64_t swap_add, compare, swap_mask, compare_mask; /* field boundary of a masked add: compare_mask */
};

/*
 * Adds field by field: a set bit in `boundary` is the highest bit of a field, and its carry is dropped. The lower bits of
 * all fields are added at once, with room for one carry; the highest ones by exclusive or.
 */
SN_FN uint64_t sn_masked_add(uint64_t a, uint64_t b, uint64_t boundary)
{
    return ((a & ~boundary) + (b & ~boundary)) ^ ((a ^ b) & boundary);
}

/* The word that takes the place of `old`. */
SN_FN uint64_t sn_atomic_result(const struct sn_atomic_args *op, uint64_t old)
{
    uint64_t top = (uint64_t)1 << (op->size * 8 - 1);
    uint64_t all = top | (top - 1);
    uint64_t result;

    old &= all;
    switch (op->opcode) {
    case SN_OPCODE_ATOMIC_FA:
        result = old + op->swap_add;
        break;
    case SN_OPCODE_ATOMIC_CS:
        result = old == (op->compare & all) ? op->swap_add : old;
        break;
    case SN_OPCODE_ATOMIC_MASKED_FA:
        result = sn_masked_add(old, op->swap_add & all, op->compare_mask | top);
        break;
    default: /* MASKED_CS */
        result = ((old ^ op->compare) & op->compare_mask & all) == 0
                     ? (old & ~op->swap_mask) | (op->swap_add & op->swap_mask)
                     : old;
        break;
    }
    return result & all;
}

#endif
