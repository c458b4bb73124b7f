/* SPDX-License-Identifier: Apache-2.0 */
/* One end of libfabric's reliable datagrams with one registered buffer. */
#ifndef ALTERNATIVES_FABRIC_END_H
#define ALTERNATIVES_FABRIC_END_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_endpoint.h>

struct fabric_end {
    struct fi_info *info;
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_av *av;
    struct fid_cq *cq;
    struct fid_ep *ep;
    struct fid_mr *mr;
    uint8_t *buffer; /* page-aligned, `bytes` long, all pages touched */
    size_t bytes;
    const char *what; /* the call that failed */
};

enum { FABRIC_NAME_BYTES = 256 };

/* What the peer has to know. Goes through memory that both processes share. */
struct fabric_card {
    uint8_t name[FABRIC_NAME_BYTES];
    size_t name_bytes;
    uint64_t key, base;
};

/* 0 or libfabric's negative error, with `what` set. `delivery`: a completion says that the bytes are in the peer's memory. */
int fabric_open(struct fabric_end *e, const char *provider, size_t bytes, bool delivery);
int fabric_show(struct fabric_end *e, struct fabric_card *card);
int fabric_meet(struct fabric_end *e, const struct fabric_card *peer, fi_addr_t *address);
void fabric_close(struct fabric_end *e);

#endif
