/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory, split-phase. Host memory is copied at once. A copy that touches GPU memory goes to the copy engine: it is
 * started, other queues run on, and `done` is called in a later turn of the port.
 */
#ifndef SOFTNIC_MEMORY_XFER_H
#define SOFTNIC_MEMORY_XFER_H

#include <stddef.h>
#include <stdint.h>

#include "gpu/gpu.h"

struct sn_port;
struct sn_span;

struct sn_xfer {
    struct sn_xfer *next;
    void (*done)(struct sn_xfer *xfer); /* may free it; `error` says how it went */
    void *arg;
    int error; /* first negative errno of its copies */
    uint32_t count, finished, room;
    struct sn_xfer_copy {
        struct gdaki_gpu_copy handle;
        uint8_t finished;
    } *copy;
    uint8_t *buffer; /* staging, owned; freed with it */
    uint32_t tag;    /* the owner's */
};

struct sn_xfer *sn_xfer_new(struct sn_port *port);
void sn_xfer_free(struct sn_xfer *xfer);
/* Starts one copy of it. Failures are kept in xfer->error. */
void sn_xfer_add(struct sn_port *port, struct sn_xfer *xfer, void *dst, const void *src, size_t length);
/* No more copies: `done` will be called from a later turn, never from here. */
void sn_xfer_submit(struct sn_port *port, struct sn_xfer *xfer, void (*done)(struct sn_xfer *), void *arg);
/* Looks at the copies under way; returns how many transfers finished. */
unsigned sn_xfer_poll(struct sn_port *port);
/* Runs until no copy is under way and no burst waits for one. For destroy paths. */
void sn_xfer_quiesce(struct sn_port *port);

/* Blocking copy of small things (records, receive WQEs) between any spaces. */
int sn_mem_copy_now(struct sn_port *port, void *dst, const void *src, size_t length, uint32_t space);
/* The space that counts: on the cpu GPU seam, GPU memory is host memory. -ENODEV without a GPU seam. */
int sn_span_resolve(struct sn_port *port, struct sn_span *span);

#endif
