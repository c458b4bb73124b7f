/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The doorbell register's first 8 bytes, and doorbell records.
 *
 * An 8-byte doorbell: word 0 is the producer index shifted left by 8 (only its low 16 bits count), word 1 the QP number
 * shifted left by 8 with a segment count of 0. A BlueFlame write puts a whole WQE there, so the two words are a control
 * segment's: own index, opcode, QP number, segment count > 0.
 */
#ifndef GDAKI_FORMAT_DOORBELL_H
#define GDAKI_FORMAT_DOORBELL_H

#include "format/be.h"

struct sn_doorbell {
    uint32_t qpn;
    uint16_t producer; /* index of the first WQE that is not posted yet */
};

/* `reg` as the 8 bytes lie in memory, loaded as one little-endian word. False: names no queue (QPN 0), to be ignored. */
SN_FN int sn_doorbell_parse(uint64_t reg, struct sn_doorbell *out)
{
    uint32_t word0 = sn_swap32((uint32_t)reg);
    uint32_t word1 = sn_swap32((uint32_t)(reg >> 32));
    uint32_t segments = word1 & 0x3fu;

    out->qpn = word1 >> 8;
    out->producer = (uint16_t)((word0 >> 8) + ((segments + 3) >> 2));
    return out->qpn != 0;
}

/* In a doorbell of 8 bytes these bits of that word are 0: what stands for opcode and segment count in a control segment. */
#define SN_DOORBELL_ZEROS 0xff000000ff000000ull

SN_FN uint64_t sn_doorbell_build(uint32_t qpn, uint32_t producer)
{
    return (uint64_t)sn_swap32(producer << 8) | ((uint64_t)sn_swap32(qpn << 8) << 32);
}

/* Doorbell record of a QP: 8 bytes. */
enum { SN_DBR_RECV = 0, SN_DBR_SEND = 4 };
/* Doorbell record of a CQ: 8 bytes. */
enum { SN_CQ_DBR_CI = 0, SN_CQ_DBR_ARM = 4 };
/* Arm word: 29..28 number of the request, 24 solicited and error CQEs only, 23..0 consumer index. */
#define SN_CQ_ARM_SOLICITED (1u << 24)
#define SN_CQ_ARM_NUMBER(n) (((uint32_t)(n) & 3u) << 28)

#endif
