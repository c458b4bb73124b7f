/* SPDX-License-Identifier: Apache-2.0 */
#include "softnic/wire/cut.h"

#include <stddef.h>
#include <string.h>

#include "format/bth.h"

/*
 * By the payload, not by npackets: what was counted elsewhere may be wrong. A burst without an MTU is a packet already.
 */
static uint32_t packets_of(const struct sn_burst *b)
{
    return b->mtu < 1 || b->mtu > 5 ? 1 : sn_mtu_packets(b->length, b->mtu);
}

void sn_cut_begin(struct sn_cut *cut, const struct sn_burst *burst)
{
    *cut = (struct sn_cut){.burst = burst};
}

/* The next `length` bytes of the payload, by reference. */
static void take_payload(struct sn_cut *cut, uint32_t length, struct sn_burst *packet)
{
    const struct sn_burst *b = cut->burst;

    packet->iov_count = 0;
    packet->length = 0;
    while (length != 0 && cut->iov < b->iov_count && cut->iov < SN_BURST_MAX_IOV) {
        const struct sn_iov *from = &b->iov[cut->iov];
        size_t n = from->length - cut->offset;
        n = n < length ? n : length;
        if (n != 0) {
            packet->iov[packet->iov_count++] =
                (struct sn_iov){.addr = (const uint8_t *)from->addr + cut->offset, .length = n, .space = from->space};
            packet->length += (uint32_t)n;
            length -= (uint32_t)n;
            cut->offset += n;
        }
        if (cut->offset == from->length) {
            cut->iov++;
            cut->offset = 0;
        }
    }
}

/* What only the first or the last packet says. */
static uint8_t flags_of(const struct sn_burst *b, bool first, bool last)
{
    uint8_t flags = b->flags;

    if (!first)
        flags &= (uint8_t)~SN_BURST_FIRST;
    if (!last)
        flags &= (uint8_t) ~(SN_BURST_LAST | SN_BURST_IMM | SN_BURST_INVALIDATE | SN_BURST_SOLICITED | SN_BURST_ACKREQ);
    return flags;
}

bool sn_cut_next(struct sn_cut *cut, struct sn_burst *packet)
{
    const struct sn_burst *b = cut->burst;
    uint32_t total = packets_of(b), done = cut->next, mtu, left;

    if (done >= total)
        return false;
    memcpy(packet, b, offsetof(struct sn_burst, iov));
    mtu = total == 1 ? b->length : sn_mtu_bytes(b->mtu);
    left = b->length - done * mtu;
    packet->psn = sn_psn_add(b->psn, done);
    packet->flags = flags_of(b, done == 0, done + 1 == total);
    if (b->kind != SN_KIND_READ_REQUEST)
        packet->npackets = 1;
    take_payload(cut, left < mtu ? left : mtu, packet);
    cut->next++;
    return true;
}
