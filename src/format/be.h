/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Big-endian integers as types of their own: a field of a hardware format cannot be read or written without a
 * conversion. Written with shifts so that the same text compiles for a GPU; compilers turn it into one instruction.
 */
#ifndef GDAKI_FORMAT_BE_H
#define GDAKI_FORMAT_BE_H

#include "format/hd.h"

#if !defined(__BYTE_ORDER__) || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "gdaki runs on little-endian machines (x86-64, aarch64)"
#endif

typedef struct SN_MAY_ALIAS {
    uint16_t raw;
} sn_be16;
typedef struct SN_MAY_ALIAS {
    uint32_t raw;
} sn_be32;
typedef struct SN_MAY_ALIAS {
    uint64_t raw;
} sn_be64;

SN_FN uint16_t sn_swap16(uint16_t v)
{
    return (uint16_t)((v >> 8) | (v << 8));
}

SN_FN uint32_t sn_swap32(uint32_t v)
{
    return (v >> 24) | ((v >> 8) & 0xff00u) | ((v << 8) & 0xff0000u) | (v << 24);
}

SN_FN uint64_t sn_swap64(uint64_t v)
{
    return ((uint64_t)sn_swap32((uint32_t)v) << 32) | sn_swap32((uint32_t)(v >> 32));
}

SN_FN uint16_t sn_get16(sn_be16 v)
{
    return sn_swap16(v.raw);
}

SN_FN uint32_t sn_get32(sn_be32 v)
{
    return sn_swap32(v.raw);
}

SN_FN uint64_t sn_get64(sn_be64 v)
{
    return sn_swap64(v.raw);
}

SN_FN sn_be16 sn_put16(uint16_t v)
{
    sn_be16 r;
    r.raw = sn_swap16(v);
    return r;
}

SN_FN sn_be32 sn_put32(uint32_t v)
{
    sn_be32 r;
    r.raw = sn_swap32(v);
    return r;
}

SN_FN sn_be64 sn_put64(uint64_t v)
{
    sn_be64 r;
    r.raw = sn_swap64(v);
    return r;
}

#endif
