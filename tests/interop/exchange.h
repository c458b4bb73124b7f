/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two programs, each with a RoCE device of whatever make, do every operation to each other and compare every byte:
 * plain verbs, nothing of softnic. One is the client: it holds the table of cases (cases.c) and tells the other, over
 * TCP, which one comes. In each case one end asks (posts the requests) and the other answers; both ways are played.
 */
#ifndef GDAKI_TESTS_INTEROP_EXCHANGE_H
#define GDAKI_TESTS_INTEROP_EXCHANGE_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum operation {
    OP_SEND,
    OP_SEND_IMM,
    OP_WRITE,
    OP_WRITE_IMM,
    OP_READ,
    OP_FETCH_ADD,
    OP_COMPARE_SWAP,
    OP_MIX,
    OP_WINDOW
};

/* What the requests of a case have to end in. */
enum ending {
    ENDS_WELL,
    ENDS_BAD_KEY,      /* a key that nobody made: IBV_WC_REM_ACCESS_ERR */
    ENDS_OUT_OF_RANGE, /* one byte beyond the region: the same */
    ENDS_NO_RIGHT,     /* the region may not be touched from afar: the same */
    ENDS_TOO_LONG,  /* longer than the receive: IBV_WC_REM_INV_REQ_ERR; rdma_rxe says IBV_WC_REM_OP_ERR
                     */
    ENDS_NOT_READY, /* never a receive: IBV_WC_RNR_RETRY_EXC_ERR */
    ENDS_NO_PEER,   /* a queue pair that is not there: IBV_WC_RETRY_EXC_ERR */
};

enum { RECEIVES_LATE = 1, FENCED = 2, INLINE = 4 };

/* One case, as it travels: 32-bit words in network order. */
struct spec {
    uint32_t transport; /* enum ibv_qp_type */
    uint32_t op, ending;
    uint32_t bytes; /* of each message; of OP_MIX at most */
    uint32_t count;
    uint32_t mtu;   /* enum ibv_mtu */
    uint32_t psn;   /* both ends' first */
    uint32_t flags; /* RECEIVES_LATE ... */
    uint32_t server_asks;
    uint32_t seed;
};

struct verdict {
    uint32_t failed;
    char text[252];
};

/* ---- the device of this process (end.c) ---- */

struct device {
    struct ibv_context *ctx;
    struct ibv_pd *pd;
    uint32_t gid_index;
    union ibv_gid gid;
    enum ibv_mtu mtu;
};

/* The device that has `address` (IPv4 or IPv6, as text) among its GIDs. False: said on stderr. */
bool device_open(struct device *d, const char *address);
void device_close(struct device *d);

/* Plays this end's part of a case, with the other end behind the socket; the verdict is this end's own. */
struct verdict play(const struct device *d, int fd, const struct spec *spec, bool asks);

/* ---- what is sent, known to both ends (plan.c) ---- */

enum { GUARD = 64, PAINT = 0xee, GRH = 40 };

uint32_t plan_op(const struct spec *spec, uint32_t i);
uint32_t plan_bytes(const struct spec *spec, uint32_t i);
bool plan_takes_receive(uint32_t op);
uint32_t plan_receives(const struct spec *spec); /* how many receives the case uses up */
uint8_t plan_byte(const struct spec *spec, bool of_asker, uint32_t i, uint32_t at);
/* Operands of atomic operation i, and what the peer's word holds before and after it. */
void plan_atomic(const struct spec *spec, uint32_t i, uint64_t *compare, uint64_t *other, uint64_t *before,
                 uint64_t *after);

/* ---- messages between the two (link.c) ---- */

bool link_put(int fd, const void *bytes, size_t size);
bool link_get(int fd, void *bytes, size_t size);
int link_connect(const char *host, const char *port);
int link_listen(const char *port);
unsigned link_port(int listening);

/* ---- the table (cases.c) ---- */

struct named_case {
    char name[80];
    struct spec spec;
    bool
        needs_each; /* every packet has to arrive: UC, UD, and a refusal, which a queue pair in error does not repeat */
};

/* The whole table for a path of this MTU; to be freed. */
struct named_case *cases_make(enum ibv_mtu largest, uint32_t seed, size_t *count);

#endif
