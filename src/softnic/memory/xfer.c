/* SPDX-License-Identifier: Apache-2.0 */
#include "softnic/memory/xfer.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "softnic/engine.h"
#include "softnic/exec/order.h"

/* The GPU seam is linked into libsoftnic; a program that has only the engine may live without it. */
extern const struct gdaki_gpu_ops *gdaki_gpu_current(const char **why) __attribute__((weak));

static const struct gdaki_gpu_ops *gpu_ops(struct sn_port *port)
{
    if (!port->gpu_looked_up) {
        const char *why = NULL;
        port->gpu = port->config.gpu != NULL   ? port->config.gpu
                    : gdaki_gpu_current != NULL ? gdaki_gpu_current(&why)
                                                : NULL;
        port->gpu_is_host = port->gpu != NULL && strcmp(port->gpu->name, "cpu") == 0;
        port->gpu_looked_up = true;
    }
    return port->gpu;
}

int sn_span_resolve(struct sn_port *port, struct sn_span *span)
{
    if (span->length == 0)
        span->space = SN_SPACE_HOST;
    if (span->space == SN_SPACE_HOST)
        return 0;
    if (gpu_ops(port) == NULL)
        return -ENODEV;
    if (port->gpu_is_host)
        span->space = SN_SPACE_HOST;
    return 0;
}

struct sn_xfer *sn_xfer_new(struct sn_port *port)
{
    (void)port;
    return calloc(1, sizeof(struct sn_xfer));
}

void sn_xfer_free(struct sn_xfer *xfer)
{
    if (xfer == NULL)
        return;
    free(xfer->copy);
    free(xfer->buffer);
    free(xfer);
}

static struct sn_xfer_copy *add_copy(struct sn_xfer *xfer)
{
    if (xfer->count == xfer->room) {
        uint32_t room = xfer->room == 0 ? 4 : xfer->room * 2;
        struct sn_xfer_copy *copy = realloc(xfer->copy, room * sizeof(*copy));
        if (copy == NULL)
            return NULL;
        xfer->copy = copy;
        xfer->room = room;
    }
    xfer->copy[xfer->count].finished = 0;
    return &xfer->copy[xfer->count++];
}

void sn_xfer_add(struct sn_port *port, struct sn_xfer *xfer, void *dst, const void *src, size_t length)
{
    struct sn_xfer_copy *c;
    int ret;

    if (length == 0)
        return;
    c = add_copy(xfer);
    ret = c == NULL ? -ENOMEM : gpu_ops(port) == NULL ? -ENODEV : port->gpu->copy_start(dst, src, length, &c->handle);
    if (ret != 0) {
        if (xfer->error == 0)
            xfer->error = ret;
        if (c != NULL) {
            c->finished = 1;
            xfer->finished++;
        }
    }
}

void sn_xfer_submit(struct sn_port *port, struct sn_xfer *xfer, void (*done)(struct sn_xfer *), void *arg)
{
    xfer->done = done;
    xfer->arg = arg;
    xfer->next = port->xfers;
    port->xfers = xfer;
}

static bool advance(struct sn_port *port, struct sn_xfer *xfer)
{
    for (uint32_t i = 0; i < xfer->count; i++) {
        struct sn_xfer_copy *c = &xfer->copy[i];
        if (c->finished)
            continue;
        int ret = port->gpu->copy_done(&c->handle);
        if (ret == 0)
            continue;
        if (ret < 0 && xfer->error == 0)
            xfer->error = ret;
        c->finished = 1;
        xfer->finished++;
    }
    return xfer->finished == xfer->count;
}

unsigned sn_xfer_poll(struct sn_port *port)
{
    struct sn_xfer *finished = NULL, **last = &finished;
    unsigned count = 0;

    for (struct sn_xfer **link = &port->xfers; *link != NULL;) {
        struct sn_xfer *xfer = *link;
        if (!advance(port, xfer)) {
            link = &xfer->next;
            continue;
        }
        *link = xfer->next;
        xfer->next = NULL;
        *last = xfer;
        last = &xfer->next;
    }
    while (finished != NULL) { /* they may start new ones */
        struct sn_xfer *xfer = finished;
        finished = xfer->next;
        xfer->done(xfer);
        count++;
    }
    return count;
}

/* A burst that a finished copy sets free may send an answer by reference: that has to be delivered too. */
void sn_xfer_quiesce(struct sn_port *port)
{
    for (;;) {
        if (port->inproc->tail != 0 || port->ack_first != NULL)
            sn_inproc_drain(port);
        else if (port->xfers == NULL)
            return;
        else if (sn_xfer_poll(port) == 0)
            sched_yield();
    }
}

int sn_mem_copy_now(struct sn_port *port, void *dst, const void *src, size_t length, uint32_t space)
{
    if (space == SN_SPACE_HOST) {
        sn_dma_copy(dst, src, length);
        return 0;
    }
    if (gpu_ops(port) == NULL)
        return -ENODEV;
    return port->gpu->copy(dst, src, length);
}
