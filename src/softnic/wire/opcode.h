/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The opcode of a packet, and back: one table, used both ways (IBTA vol. 1, 9.2.1, table 38). Indexed by opcode; rows
 * that are not there are reserved opcodes, or those of services that softnic does not have (RD, XRC).
 */
#ifndef SOFTNIC_WIRE_OPCODE_H
#define SOFTNIC_WIRE_OPCODE_H

#include <stddef.h>
#include <stdint.h>

#include "format/roce.h"
#include "softnic/nic.h"
#include "softnic/wire/burst.h"

struct sn_roce_opcode {
    uint8_t service; /* enum sn_service */
    uint8_t kind;    /* enum sn_kind */
    uint8_t flags;   /* SN_BURST_FIRST, LAST, IMM, INVALIDATE */
    uint8_t headers; /* enum sn_roce_headers */
    uint8_t payload; /* enum sn_roce_payload */
    uint8_t present;
};

#define SN_OPCODE_FLAGS (SN_BURST_FIRST | SN_BURST_LAST | SN_BURST_IMM | SN_BURST_INVALIDATE)

extern const struct sn_roce_opcode sn_opcode_table[256];

/* NULL: reserved. */
static inline const struct sn_roce_opcode *sn_opcode_get(uint8_t opcode)
{
    return sn_opcode_table[opcode].present ? &sn_opcode_table[opcode] : NULL;
}

/* The opcode of a packet, or -1: a combination that has none. */
int sn_opcode_find(const struct sn_burst *packet);

/* Bytes of the extension headers in a set. */
size_t sn_opcode_header_bytes(uint8_t headers);

#endif
