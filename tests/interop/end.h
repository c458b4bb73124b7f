/* SPDX-License-Identifier: Apache-2.0 */
/* One end of a case: its queue pair, its memory, and what it knows of the other (end.c, ask.c and answer.c). */
#ifndef GDAKI_TESTS_INTEROP_END_H
#define GDAKI_TESTS_INTEROP_END_H

#include "exchange.h"

enum { QKEY = 0x1ee7a11 };

struct card { /* what the ends tell each other; network order */
    union ibv_gid gid;
    uint64_t address;
    uint32_t qpn, key, window;
};

struct end {
    const struct device *device;
    const struct spec *spec;
    int fd;
    bool asks;
    struct ibv_cq *cq;
    struct ibv_qp *qp;
    struct ibv_mr *mr;
    struct ibv_mw *window;
    struct ibv_ah *ah;
    /* Slots of `stride` bytes each, a guard at the end of each: what it sends from, what lands here, receives; and one
     * word. */
    unsigned char *memory;
    size_t total, stride, out, in, receive, word;
    uint32_t receives; /* slots for them */
    struct card peer;
    struct verdict verdict;
};

/* The first failure is the verdict; false, so that it can be returned. */
bool fail(struct end *e, const char *format, ...) __attribute__((format(printf, 2, 3)));

size_t slot_of(const struct end *e, size_t area, uint32_t i);
/* One completion within `seconds`; false after a failure told. */
bool complete(struct end *e, struct ibv_wc *wc, double seconds);
double now(void);

/* The asker posts everything and takes its completions; the other takes receives until it hears that this is over. */
bool ask(struct end *e);
bool answer(struct end *e);
bool post_receive(struct end *e, uint32_t i);
bool bind_window(struct end *e); /* the answering end's, over its landing slot */

#endif
