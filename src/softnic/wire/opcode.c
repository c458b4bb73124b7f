/* SPDX-License-Identifier: Apache-2.0 */
#include "softnic/wire/opcode.h"

#include <stdbool.h>

enum {
    FIRST = SN_BURST_FIRST,
    MIDDLE = 0,
    LAST = SN_BURST_LAST,
    ONLY = SN_BURST_FIRST | SN_BURST_LAST,
    IMM = SN_BURST_IMM,
    INV = SN_BURST_INVALIDATE,
};

#define ROW(s, k, f, h, p)                                                                                             \
    {                                                                                                                  \
        SN_SERVICE_##s, SN_KIND_##k, (f), (h), SN_PAYLOAD_##p, 1                                                       \
    }
#define OP(s, name) [SN_ROCE_##s | SN_ROCE_##name]

/* What RC and UC have alike. */
#define SEND_AND_WRITE(s)                                                                                              \
    OP(s, SEND_FIRST) = ROW(s, SEND, FIRST, 0, FULL), OP(s, SEND_MIDDLE) = ROW(s, SEND, MIDDLE, 0, FULL),              \
          OP(s, SEND_LAST) = ROW(s, SEND, LAST, 0, SOME),                                                              \
          OP(s, SEND_LAST_IMM) = ROW(s, SEND, LAST | IMM, SN_HAS_IMMDT, SOME),                                         \
          OP(s, SEND_ONLY) = ROW(s, SEND, ONLY, 0, ANY),                                                               \
          OP(s, SEND_ONLY_IMM) = ROW(s, SEND, ONLY | IMM, SN_HAS_IMMDT, ANY),                                          \
          OP(s, WRITE_FIRST) = ROW(s, WRITE, FIRST, SN_HAS_RETH, FULL),                                                \
          OP(s, WRITE_MIDDLE) = ROW(s, WRITE, MIDDLE, 0, FULL), OP(s, WRITE_LAST) = ROW(s, WRITE, LAST, 0, SOME),      \
          OP(s, WRITE_LAST_IMM) = ROW(s, WRITE, LAST | IMM, SN_HAS_IMMDT, SOME),                                       \
          OP(s, WRITE_ONLY) = ROW(s, WRITE, ONLY, SN_HAS_RETH, ANY),                                                   \
          OP(s, WRITE_ONLY_IMM) = ROW(s, WRITE, ONLY | IMM, SN_HAS_RETH | SN_HAS_IMMDT, ANY)

const struct sn_roce_opcode sn_opcode_table[256] = {
    SEND_AND_WRITE(RC),
    OP(RC, READ_REQUEST) = ROW(RC, READ_REQUEST, ONLY, SN_HAS_RETH, NONE),
    OP(RC, READ_RESPONSE_FIRST) = ROW(RC, READ_RESPONSE, FIRST, SN_HAS_AETH, FULL),
    OP(RC, READ_RESPONSE_MIDDLE) = ROW(RC, READ_RESPONSE, MIDDLE, 0, FULL),
    OP(RC, READ_RESPONSE_LAST) = ROW(RC, READ_RESPONSE, LAST, SN_HAS_AETH, SOME),
    OP(RC, READ_RESPONSE_ONLY) = ROW(RC, READ_RESPONSE, ONLY, SN_HAS_AETH, ANY),
    OP(RC, ACKNOWLEDGE) = ROW(RC, ACK, ONLY, SN_HAS_AETH, NONE),
    OP(RC, ATOMIC_ACKNOWLEDGE) = ROW(RC, ATOMIC_ACK, ONLY, SN_HAS_AETH | SN_HAS_ATOMIC_ACK, NONE),
    OP(RC, COMPARE_SWAP) = ROW(RC, ATOMIC_CS, ONLY, SN_HAS_ATOMIC, NONE),
    OP(RC, FETCH_ADD) = ROW(RC, ATOMIC_FA, ONLY, SN_HAS_ATOMIC, NONE),
    OP(RC, SEND_LAST_INVALIDATE) = ROW(RC, SEND, LAST | INV, SN_HAS_IETH, SOME),
    OP(RC, SEND_ONLY_INVALIDATE) = ROW(RC, SEND, ONLY | INV, SN_HAS_IETH, ANY),
    SEND_AND_WRITE(UC),
    OP(UD, SEND_ONLY) = ROW(UD, SEND, ONLY, SN_HAS_DETH, ANY),
    OP(UD, SEND_ONLY_IMM) = ROW(UD, SEND, ONLY | IMM, SN_HAS_DETH | SN_HAS_IMMDT, ANY),
    [SN_ROCE_CNP] = ROW(RC, CNP, ONLY, 0, CNP),
    [SN_ROCE_MASKED_CS] = ROW(RC, ATOMIC_MASKED_CS, ONLY, SN_HAS_MASKED, NONE),
    [SN_ROCE_MASKED_FA] = ROW(RC, ATOMIC_MASKED_FA, ONLY, SN_HAS_MASKED, NONE),
};

static bool says(unsigned opcode, unsigned service, unsigned kind, unsigned flags)
{
    const struct sn_roce_opcode *o = &sn_opcode_table[opcode];
    return o->present && o->kind == kind && o->flags == flags && o->service == service;
}

static int find_in(unsigned from, unsigned to, unsigned service, unsigned kind, unsigned flags)
{
    for (unsigned i = from; i < to; i++)
        if (says(i, service, kind, flags))
            return (int)i;
    return -1;
}

/* What most packets are. A guess, which the table confirms or not. */
static unsigned usual(unsigned kind, unsigned flags)
{
    static const uint8_t send[] = {SN_ROCE_SEND_MIDDLE, SN_ROCE_SEND_FIRST, SN_ROCE_SEND_LAST, SN_ROCE_SEND_ONLY},
                         write[] = {SN_ROCE_WRITE_MIDDLE, SN_ROCE_WRITE_FIRST, SN_ROCE_WRITE_LAST, SN_ROCE_WRITE_ONLY};

    return kind == SN_KIND_WRITE ? write[flags & ONLY] : kind == SN_KIND_ACK ? SN_ROCE_ACKNOWLEDGE : send[flags & ONLY];
}

int sn_opcode_find(const struct sn_burst *packet)
{
    unsigned base = (unsigned)packet->service << 5, flags = packet->flags & SN_OPCODE_FLAGS, guess;

    guess = base | usual(packet->kind, flags);
    if (guess < 256 && says(guess, packet->service, packet->kind, flags))
        return (int)guess;
    switch (packet->kind) {
    case SN_KIND_CNP: /* of whatever service the congested queue has */
        return SN_ROCE_CNP;
    case SN_KIND_ATOMIC_MASKED_CS:
    case SN_KIND_ATOMIC_MASKED_FA:
        return find_in(SN_ROCE_MASKED_CS, SN_ROCE_MASKED_FA + 1, packet->service, packet->kind, flags);
    default:
        return base > SN_ROCE_UD ? -1 : find_in(base, base + 32, packet->service, packet->kind, flags);
    }
}

size_t sn_opcode_header_bytes(uint8_t headers)
{
    static const uint8_t bytes[8] = {
        sizeof(struct sn_deth),       sizeof(struct sn_reth),
        sizeof(struct sn_atomic_eth), sizeof(struct sn_masked_atomic_eth),
        sizeof(struct sn_aeth),       sizeof(struct sn_atomic_ack_eth),
        sizeof(struct sn_immdt),      sizeof(struct sn_immdt),
    };
    size_t sum = 0;

    for (unsigned i = 0; headers != 0; i++, headers >>= 1)
        sum += headers & 1 ? bytes[i] : 0;
    return sum;
}
