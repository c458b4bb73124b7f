/* SPDX-License-Identifier: Apache-2.0 */
#include "end.h"

#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { DEPTH = 64, READS = 4 };

bool fail(struct end *e, const char *format, ...)
{
    va_list args;

    if (!e->verdict.failed) {
        va_start(args, format);
        vsnprintf(e->verdict.text, sizeof(e->verdict.text), format, args);
        va_end(args);
        e->verdict.failed = 1;
    }
    return false;
}

double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

size_t slot_of(const struct end *e, size_t area, uint32_t i)
{
    return area + i * e->stride;
}

/* ---- the device ---- */

static union ibv_gid gid_of(const char *address, bool *valid)
{
    union ibv_gid gid = {.raw = {[10] = 0xff, [11] = 0xff}};

    *valid = inet_pton(AF_INET, address, gid.raw + 12) == 1;
    if (!*valid)
        *valid = inet_pton(AF_INET6, address, gid.raw) == 1;
    return gid;
}

static bool open_if_here(struct device *d, struct ibv_device *device)
{
    struct ibv_port_attr port;
    union ibv_gid gid;

    d->ctx = ibv_open_device(device);
    if (!d->ctx)
        return false;
    if (!ibv_query_port(d->ctx, 1, &port)) {
        d->mtu = port.active_mtu;
        for (d->gid_index = 0; d->gid_index < (uint32_t)port.gid_tbl_len; d->gid_index++) {
            if (!ibv_query_gid(d->ctx, 1, (int)d->gid_index, &gid) && !memcmp(&gid, &d->gid, sizeof(gid)))
                return true;
        }
    }
    ibv_close_device(d->ctx);
    d->ctx = NULL;
    return false;
}

bool device_open(struct device *d, const char *address)
{
    struct ibv_device **list;
    int count = 0;
    bool valid;

    *d = (struct device){.gid = gid_of(address, &valid)};
    list = valid ? ibv_get_device_list(&count) : NULL;
    for (int i = 0; i < count && !d->ctx; i++)
        open_if_here(d, list[i]);
    if (list)
        ibv_free_device_list(list);
    if (!d->ctx) {
        fprintf(stderr,
                valid ? "exchange: none of %2$d RDMA devices has the address %1$s\n"
                      : "exchange: %s is no IP address\n",
                address, count);
        return false;
    }
    d->pd = ibv_alloc_pd(d->ctx);
    return d->pd != NULL;
}

void device_close(struct device *d)
{
    ibv_dealloc_pd(d->pd);
    ibv_close_device(d->ctx);
}

/* ---- memory ---- */

static void lay_out(struct end *e)
{
    const struct spec *s = e->spec;
    size_t largest = s->bytes < 8 ? 8 : s->bytes;

    e->receives = plan_receives(s) + (s->op == OP_WINDOW);
    e->stride = (largest + GRH + GUARD + 63) / 64 * 64;
    e->out = GUARD;
    e->in = e->out + s->count * e->stride;
    e->receive = e->in + s->count * e->stride;
    e->word = e->receive + e->receives * e->stride;
    e->total = e->word + 8 + GUARD;
}

static bool make_memory(struct end *e)
{
    uint64_t compare, other, word = 0, after;
    int access = IBV_ACCESS_LOCAL_WRITE;

    lay_out(e);
    e->memory = aligned_alloc(4096, (e->total + 4095) / 4096 * 4096);
    if (!e->memory)
        return fail(e, "no memory");
    memset(e->memory, PAINT, e->total);
    for (uint32_t i = 0; i < e->spec->count; i++) {
        for (uint32_t at = 0; at < plan_bytes(e->spec, i); at++)
            e->memory[slot_of(e, e->out, i) + at] = plan_byte(e->spec, e->asks, i, at);
    }
    for (uint32_t i = e->spec->count; i-- > 0;)
        plan_atomic(e->spec, i, &compare, &other, &word, &after);
    e->word = (e->word + 7) & ~(size_t)7;
    memcpy(e->memory + e->word, &word, 8);
    if (e->spec->ending != ENDS_NO_RIGHT)
        access |= IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
    if (e->spec->op == OP_WINDOW)
        access |= IBV_ACCESS_MW_BIND;
    e->mr = ibv_reg_mr(e->device->pd, e->memory, e->total, access);
    return e->mr || fail(e, "ibv_reg_mr: %s", strerror(errno));
}

/* Everything outside what the case may write is as it was; what it must have written is there. */
static bool slot_is(struct end *e, const char *what, size_t at, bool of_asker, uint32_t i, uint32_t bytes)
{
    for (uint32_t k = 0; k < bytes; k++) {
        if (e->memory[at + k] != plan_byte(e->spec, of_asker, i, k))
            return fail(e, "%s %u: byte %u of %u is 0x%02x in place of 0x%02x", what, i, k, bytes, e->memory[at + k],
                        plan_byte(e->spec, of_asker, i, k));
    }
    return true;
}

static bool painted(struct end *e, const char *what, size_t from, size_t to)
{
    for (size_t k = from; k < to; k++) {
        if (e->memory[k] != PAINT)
            return fail(e, "%s: a byte outside was written, at %zu (0x%02x)", what, k - from, e->memory[k]);
    }
    return true;
}

static bool landed(struct end *e, uint32_t i)
{
    const struct spec *s = e->spec;
    uint32_t op = plan_op(s, i), bytes = plan_bytes(s, i), here = 0;
    size_t at = slot_of(e, e->in, i);
    uint64_t compare, other, before, after, got;

    if (s->ending == ENDS_WELL) {
        if (e->asks && (op == OP_FETCH_ADD || op == OP_COMPARE_SWAP)) {
            plan_atomic(s, i, &compare, &other, &before, &after);
            memcpy(&got, e->memory + at, 8);
            if (got != before)
                return fail(e, "atomic %u returned 0x%jx in place of 0x%jx", i, (uintmax_t)got, (uintmax_t)before);
            here = 8;
        } else if (e->asks ? op == OP_READ : op == OP_WRITE || op == OP_WRITE_IMM || op == OP_WINDOW) {
            if (!slot_is(e, e->asks ? "READ" : "WRITE", at, !e->asks, i, bytes))
                return false;
            here = bytes;
        }
    }
    return painted(e, "landing slot", at + here, at + e->stride);
}

static bool check_memory(struct end *e)
{
    const struct spec *s = e->spec;
    uint64_t compare, other, before, after = 0, first = 0, got;

    painted(e, "before the first slot", 0, e->out);
    for (uint32_t i = 0; i < s->count && !e->verdict.failed; i++) {
        uint32_t bytes = plan_bytes(s, i);

        slot_is(e, "what was sent from", slot_of(e, e->out, i), e->asks, i, bytes);
        painted(e, "behind what was sent from", slot_of(e, e->out, i) + bytes, slot_of(e, e->out, i + 1));
        landed(e, i);
    }
    for (uint32_t i = s->count; i-- > 0;)
        plan_atomic(s, i, &compare, &other, &first, &got);
    if (s->count)
        plan_atomic(s, s->count - 1, &compare, &other, &before, &after);
    memcpy(&got, e->memory + e->word, 8);
    if (got != (e->asks || s->ending != ENDS_WELL ? first : after))
        fail(e, "the word of the atomics is 0x%jx", (uintmax_t)got);
    return !e->verdict.failed && painted(e, "behind the last slot", e->word + 8, e->total);
}

/* ---- the queue pair ---- */

static bool make_queues(struct end *e)
{
    struct ibv_qp_init_attr init = {.qp_type = (enum ibv_qp_type)e->spec->transport, .sq_sig_all = 1};
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT,
                               .port_num = 1,
                               .qkey = QKEY,
                               .qp_access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                                                  IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC};
    int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;

    if (init.qp_type != IBV_QPT_RC)
        attr.qp_access_flags &= ~(unsigned)(IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
    mask |= init.qp_type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS;
    e->cq = ibv_create_cq(e->device->ctx, 4 * DEPTH, NULL, NULL, 0);
    if (!e->cq)
        return fail(e, "ibv_create_cq: %s", strerror(errno));
    init.send_cq = init.recv_cq = e->cq;
    init.cap = (struct ibv_qp_cap){.max_send_wr = DEPTH,
                                   .max_recv_wr = DEPTH,
                                   .max_send_sge = 1,
                                   .max_recv_sge = 1,
                                   .max_inline_data = e->spec->flags & INLINE ? e->spec->bytes : 0};
    e->qp = ibv_create_qp(e->device->pd, &init);
    if (!e->qp)
        return fail(e, "ibv_create_qp: %s", strerror(errno));
    errno = ibv_modify_qp(e->qp, &attr, mask);
    return !errno || fail(e, "to INIT: %s", strerror(errno));
}

static bool connect_queues(struct end *e)
{
    const struct spec *s = e->spec;
    bool reliable = s->transport == IBV_QPT_RC, datagram = s->transport == IBV_QPT_UD;
    struct ibv_ah_attr path = {
        .is_global = 1,
        .port_num = 1,
        .grh = {.dgid = e->peer.gid, .sgid_index = (uint8_t)e->device->gid_index, .hop_limit = 64}};
    uint32_t peer = s->ending == ENDS_NO_PEER && e->asks ? e->peer.qpn ^ 0x80 : e->peer.qpn;
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTR,
                               .path_mtu = (enum ibv_mtu)s->mtu,
                               .dest_qp_num = peer,
                               .rq_psn = s->psn,
                               .max_dest_rd_atomic = READS,
                               .min_rnr_timer = 12,
                               .ah_attr = path};
    int mask = IBV_QP_STATE;

    if (!datagram)
        mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
    if (reliable)
        mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
    errno = ibv_modify_qp(e->qp, &attr, mask);
    if (errno)
        return fail(e, "to RTR: %s", strerror(errno));
    attr = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS,
                                .sq_psn = s->psn,
                                .max_rd_atomic = READS,
                                .timeout = s->ending == ENDS_NO_PEER ? 12 : 16,
                                .retry_cnt = s->ending == ENDS_NO_PEER ? 2 : 7,
                                .rnr_retry = s->ending == ENDS_NOT_READY ? 2 : 7};
    mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
    if (reliable)
        mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
    errno = ibv_modify_qp(e->qp, &attr, mask);
    if (errno)
        return fail(e, "to RTS: %s", strerror(errno));
    e->ah = datagram && e->asks ? ibv_create_ah(e->device->pd, &path) : NULL;
    return !datagram || !e->asks || e->ah || fail(e, "ibv_create_ah: %s", strerror(errno));
}

bool complete(struct end *e, struct ibv_wc *wc, double seconds)
{
    double until = now() + seconds;

    for (;;) {
        int n = ibv_poll_cq(e->cq, 1, wc);

        if (n > 0)
            return true;
        if (n < 0)
            return fail(e, "ibv_poll_cq: %d", n);
        if (now() > until)
            return fail(e, "no completion within %.0f s", seconds);
    }
}

/* ---- a case ---- */

static bool swap_cards(struct end *e)
{
    struct card mine = {.gid = e->device->gid};
    bool mended = !e->verdict.failed;

    if (mended) {
        mine.address = htobe64((uintptr_t)e->memory);
        mine.qpn = htonl(e->qp->qp_num);
        mine.key = htonl(e->mr->rkey);
        mine.window = htonl(e->window ? e->window->rkey : 0);
    }
    if (!link_put(e->fd, &mine, sizeof(mine)) || !link_get(e->fd, &e->peer, sizeof(e->peer)))
        return fail(e, "the other end has gone");
    e->peer.address = be64toh(e->peer.address);
    e->peer.qpn = ntohl(e->peer.qpn);
    e->peer.key = ntohl(e->peer.key);
    e->peer.window = ntohl(e->peer.window);
    return mended && (e->peer.qpn || fail(e, "the other end could not make its queues"));
}

/* Both have come this far, and well. */
static bool meet(struct end *e)
{
    char mine = e->verdict.failed ? 'n' : 'y', theirs = 'n';

    if (!link_put(e->fd, &mine, 1) || !link_get(e->fd, &theirs, 1))
        return fail(e, "the other end has gone");
    return mine == 'y' && (theirs == 'y' || fail(e, "the other end could not go on"));
}

static bool first_receives(struct end *e)
{
    for (uint32_t i = 0; i < e->receives && i < DEPTH / 2; i++) {
        if (!post_receive(e, i))
            return false;
    }
    return true;
}

static void unmake(struct end *e)
{
    if (e->ah)
        ibv_destroy_ah(e->ah);
    if (e->window && ibv_dealloc_mw(e->window))
        fail(e, "ibv_dealloc_mw: %s", strerror(errno));
    if (e->qp && ibv_destroy_qp(e->qp))
        fail(e, "ibv_destroy_qp: %s", strerror(errno));
    if (e->cq && ibv_destroy_cq(e->cq))
        fail(e, "ibv_destroy_cq: %s", strerror(errno));
    if (e->mr && ibv_dereg_mr(e->mr))
        fail(e, "ibv_dereg_mr: %s", strerror(errno));
    free(e->memory);
}

struct verdict play(const struct device *d, int fd, const struct spec *spec, bool asks)
{
    struct end e = {.device = d, .spec = spec, .fd = fd, .asks = asks};
    bool receives = !asks && spec->ending != ENDS_NOT_READY, late = spec->flags & RECEIVES_LATE;

    if (make_memory(&e) && make_queues(&e) && receives && !late)
        first_receives(&e);
    if (swap_cards(&e) && connect_queues(&e) && !asks && spec->op == OP_WINDOW)
        bind_window(&e);
    if (spec->op == OP_WINDOW)
        swap_cards(&e); /* with the window's key */
    if (meet(&e)) {
        if (receives && late) {
            nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
            first_receives(&e);
        }
        if (asks)
            ask(&e);
        else
            answer(&e);
    }
    /* The other end may look at its memory when nothing is under way any more. */
    meet(&e);
    if (e.memory && e.mr && e.qp && !e.verdict.failed)
        check_memory(&e);
    unmake(&e);
    return e.verdict;
}
