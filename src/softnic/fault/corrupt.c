/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Corruption on a link: the packet's frame is built, one to three bits of it are flipped, and the frame is judged as a
 * receiver would. Where the invariant CRC does not cover (FECN, BECN and reserved bits of the BTH) the packet survives.
 */
#include <stdlib.h>
#include <string.h>

#include "softnic/exec/order.h"
#include "softnic/fault/internal.h"
#include "softnic/wire/frame.h"

/* Payload in one piece of host memory, as sn_frame_build wants it. */
static bool flatten(struct sn_port *port, const struct sn_burst *b, struct sn_burst *out, uint8_t *payload, size_t room)
{
    size_t used = 0;

    memcpy(out, b, offsetof(struct sn_burst, iov));
    if (b->length > room)
        return false;
    for (uint32_t i = 0; i < b->iov_count; i++) {
        const struct sn_iov *v = &b->iov[i];
        if (v->space == SN_SPACE_HOST)
            sn_dma_read(payload + used, v->addr, v->length);
        else if (sn_mem_copy_now(port, payload + used, v->addr, v->length, v->space) != 0)
            return false;
        used += v->length;
    }
    out->iov_count = b->length != 0;
    out->iov[0] = (struct sn_iov){.addr = payload, .length = b->length, .space = SN_SPACE_HOST};
    return true;
}

/* Bytes before the BTH, which the link's own checks would cover, not the invariant CRC alone. */
static uint64_t below_bth(const uint8_t *frame)
{
    return (frame[0] >> 4 == 4 ? 20u : 40u) + 8u;
}

bool sn_corrupt(struct sn_faults *f, struct rule_state *s, const struct sn_burst *b)
{
    static const struct sn_frame_path path;
    uint8_t frame[SN_FRAME_MAX], payload[4096];
    struct sn_burst flat, parsed;
    struct sn_frame_path seen = {0};
    int length;

    if (!flatten(f->port, b, &flat, payload, sizeof(payload)))
        return true;
    length = sn_frame_build(&flat, &path, SN_LAYER_IP, frame, sizeof(frame));
    if (length <= 0)
        return true; /* no RoCE form (an InfiniBand port, a burst from before the plan): its link has a CRC as well */
    for (uint64_t flips = 1 + sn_faults_random(s) % 3; flips != 0; flips--) {
        uint64_t first = below_bth(frame) * 8;
        uint64_t bit = first + sn_faults_random(s) % ((uint64_t)length * 8 - first);
        frame[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    return sn_frame_parse(frame, (size_t)length, SN_LAYER_IP, true, &parsed, &seen) != SN_FRAME_OK;
}
