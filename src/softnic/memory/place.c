/* SPDX-License-Identifier: Apache-2.0 */
/* Payload of a burst to its destination: host memory at once, GPU memory through the copy engine. */
#include <stdlib.h>
#include <string.h>

#include "softnic/engine.h"
#include "softnic/exec/order.h"

void sn_place_begin(struct sn_placing *p, struct sn_qp *qp, const struct sn_burst *b, size_t skip)
{
    *p = (struct sn_placing){.qp = qp, .b = b};
    while (skip != 0 && p->iov < b->iov_count) {
        size_t n = b->iov[p->iov].length;
        if (skip < n) {
            p->offset = skip;
            return;
        }
        skip -= n;
        p->iov++;
    }
}

/* Payload of another process lies in a buffer that is reused when the call returns. */
static const void *keep(struct sn_placing *p, const uint8_t *src, size_t length)
{
    uint8_t *at;

    if (p->qp->port->payload_stays)
        return src;
    if (p->xfer->buffer == NULL)
        p->xfer->buffer = malloc(p->b->length);
    if (p->xfer->buffer == NULL)
        return NULL;
    at = p->xfer->buffer + p->staged;
    p->staged += length;
    memcpy(at, src, length);
    return at;
}

static void start(struct sn_placing *p, void *dst, const uint8_t *src, uint32_t src_space, size_t length)
{
    const void *from = src;

    if (p->xfer == NULL && (p->xfer = sn_xfer_new(p->qp->port)) == NULL) {
        p->qp->rx_error = -ENOMEM;
        return;
    }
    if (src_space == SN_SPACE_HOST)
        from = keep(p, src, length);
    if (from == NULL)
        p->xfer->error = -ENOMEM;
    else
        sn_xfer_add(p->qp->port, p->xfer, dst, from, length);
}

void sn_place(struct sn_placing *p, void *dst, uint32_t space, size_t length)
{
    uint8_t *to = dst;

    while (length != 0 && p->iov < p->b->iov_count) {
        const struct sn_iov *v = &p->b->iov[p->iov];
        const uint8_t *from = (const uint8_t *)v->addr + p->offset;
        size_t n = v->length - p->offset < length ? v->length - p->offset : length;
        if (space == SN_SPACE_HOST && v->space == SN_SPACE_HOST)
            sn_dma_copy(to, from, n);
        else
            start(p, to, from, v->space, n);
        to += n;
        length -= n;
        p->offset += n;
        if (p->offset == v->length) {
            p->iov++;
            p->offset = 0;
        }
    }
}

bool sn_place_end(struct sn_placing *p)
{
    if (p->xfer == NULL)
        return true;
    sn_qp_wait_copy(p->qp, p->xfer);
    return false;
}
