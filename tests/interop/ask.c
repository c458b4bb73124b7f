/* SPDX-License-Identifier: Apache-2.0 */
/* The end that posts requests, and the end that answers them. */
#include "end.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { WINDOW = 16, UNLIKELY_KEY = 0x5ca1ab00 };

#define PATIENCE     60.0 /* s: an emulated machine, packets lost, timers of half a second */
#define IMMEDIATE(i) (0x51000000u + (i))

/* ---- asks ---- */

static bool post(struct end *e, struct ibv_send_wr *wr)
{
    struct ibv_send_wr *bad;

    errno = ibv_post_send(e->qp, wr, &bad);
    return !errno || fail(e, "ibv_post_send: %s", strerror(errno));
}

static uint64_t remote(const struct end *e, size_t offset, uint32_t bytes)
{
    return e->peer.address + (e->spec->ending == ENDS_OUT_OF_RANGE ? e->total - bytes + 1 : offset);
}

static bool post_request(struct end *e, uint32_t i)
{
    static const enum ibv_wr_opcode opcodes[] = {[OP_SEND] = IBV_WR_SEND,
                                                 [OP_SEND_IMM] = IBV_WR_SEND_WITH_IMM,
                                                 [OP_WRITE] = IBV_WR_RDMA_WRITE,
                                                 [OP_WRITE_IMM] = IBV_WR_RDMA_WRITE_WITH_IMM,
                                                 [OP_READ] = IBV_WR_RDMA_READ,
                                                 [OP_FETCH_ADD] = IBV_WR_ATOMIC_FETCH_AND_ADD,
                                                 [OP_COMPARE_SWAP] = IBV_WR_ATOMIC_CMP_AND_SWP};
    const struct spec *s = e->spec;
    uint32_t op = plan_op(s, i), bytes = plan_bytes(s, i), key = e->peer.key;
    bool atomic = op == OP_FETCH_ADD || op == OP_COMPARE_SWAP;
    struct ibv_sge sge = {.addr = (uintptr_t)e->memory + slot_of(e, op == OP_READ || atomic ? e->in : e->out, i),
                          .length = bytes,
                          .lkey = e->mr->lkey};
    struct ibv_send_wr wr = {.wr_id = i,
                             .sg_list = &sge,
                             .num_sge = bytes > 0,
                             .opcode = opcodes[op],
                             .imm_data = htonl(IMMEDIATE(i)),
                             .send_flags = IBV_SEND_SIGNALED};
    uint64_t before, after, compare, other;

    if (s->ending == ENDS_BAD_KEY)
        key ^= UNLIKELY_KEY;
    if (s->flags & INLINE)
        wr.send_flags |= IBV_SEND_INLINE;
    if (s->flags & FENCED)
        wr.send_flags |= IBV_SEND_FENCE;
    if (atomic) {
        plan_atomic(s, i, &compare, &other, &before, &after);
        wr.wr.atomic.remote_addr = e->peer.address + e->word;
        wr.wr.atomic.rkey = key;
        wr.wr.atomic.compare_add = op == OP_FETCH_ADD ? other : compare;
        wr.wr.atomic.swap = op == OP_FETCH_ADD ? 0 : other;
    } else if (s->transport == IBV_QPT_UD) {
        wr.wr.ud.ah = e->ah;
        wr.wr.ud.remote_qpn = e->peer.qpn;
        wr.wr.ud.remote_qkey = QKEY;
    } else {
        wr.wr.rdma.remote_addr = remote(e, slot_of(e, op == OP_READ ? e->out : e->in, i), bytes);
        wr.wr.rdma.rkey = key;
    }
    return post(e, &wr);
}

static bool ends_well(struct end *e, uint64_t wanted)
{
    struct ibv_wc wc;

    if (!complete(e, &wc, PATIENCE))
        return false;
    if (wc.status != IBV_WC_SUCCESS)
        return fail(e, "request %ju: %s (vendor 0x%x)", (uintmax_t)wc.wr_id, ibv_wc_status_str(wc.status),
                    wc.vendor_err);
    return wc.wr_id == wanted || fail(e, "completion %ju in place of %ju", (uintmax_t)wc.wr_id, (uintmax_t)wanted);
}

static bool ends_with(struct end *e, enum ibv_wc_status wanted, enum ibv_wc_status or_this)
{
    struct ibv_wc wc;

    if (!complete(e, &wc, PATIENCE))
        return false;
    return wc.status == wanted || wc.status == or_this ||
           fail(e, "request %ju: %s in place of %s", (uintmax_t)wc.wr_id, ibv_wc_status_str(wc.status),
                ibv_wc_status_str(wanted));
}

static bool ask_in_vain(struct end *e)
{
    enum ibv_wc_status wanted = IBV_WC_REM_ACCESS_ERR, or_this;
    struct ibv_qp_init_attr init;
    struct ibv_qp_attr attr;

    switch (e->spec->ending) {
    case ENDS_TOO_LONG:
        wanted = IBV_WC_REM_INV_REQ_ERR;
        break;
    case ENDS_NOT_READY:
        wanted = IBV_WC_RNR_RETRY_EXC_ERR;
        break;
    case ENDS_NO_PEER:
        wanted = IBV_WC_RETRY_EXC_ERR;
        break;
    default:
        break;
    }
    or_this = wanted == IBV_WC_REM_INV_REQ_ERR ? IBV_WC_REM_OP_ERR : wanted;
    if (!post_request(e, 0) || !post_request(e, 0) || !ends_with(e, wanted, or_this) ||
        !ends_with(e, IBV_WC_WR_FLUSH_ERR, IBV_WC_WR_FLUSH_ERR))
        return false;
    errno = ibv_query_qp(e->qp, &attr, IBV_QP_STATE, &init);
    return errno
               ? fail(e, "ibv_query_qp: %s", strerror(errno))
               : attr.qp_state == IBV_QPS_ERR || fail(e, "the queue pair is in state %d, not in error", attr.qp_state);
}

/* A write through the window; a SEND that invalidates it; a write that is refused. */
static bool ask_by_window(struct end *e)
{
    struct ibv_sge sge = {.addr = (uintptr_t)e->memory + e->out, .length = e->spec->bytes, .lkey = e->mr->lkey};
    struct ibv_send_wr wr = {
        .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED};

    wr.wr.rdma.remote_addr = e->peer.address + e->in;
    wr.wr.rdma.rkey = e->peer.window;
    if (!post(e, &wr) || !ends_well(e, 0))
        return false;
    wr.opcode = IBV_WR_SEND_WITH_INV;
    wr.wr_id = 1;
    wr.invalidate_rkey = e->peer.window;
    if (!post(e, &wr) || !ends_well(e, 1))
        return false;
    wr.opcode = IBV_WR_RDMA_WRITE;
    return post(e, &wr) && ends_with(e, IBV_WC_REM_ACCESS_ERR, IBV_WC_REM_ACCESS_ERR);
}

bool ask(struct end *e)
{
    uint32_t posted = 0;

    if (e->spec->op == OP_WINDOW)
        return ask_by_window(e);
    if (e->spec->ending != ENDS_WELL)
        return ask_in_vain(e);
    for (uint32_t done = 0; done < e->spec->count; done++) {
        for (; posted < e->spec->count && posted - done < WINDOW; posted++) {
            if (!post_request(e, posted))
                return false;
        }
        if (!ends_well(e, done))
            return false;
    }
    return true;
}

/* ---- answers ---- */

bool post_receive(struct end *e, uint32_t i)
{
    uint32_t length = (uint32_t)(e->stride - GUARD);
    struct ibv_sge sge = {.addr = (uintptr_t)e->memory + slot_of(e, e->receive, i), .lkey = e->mr->lkey};
    struct ibv_recv_wr wr = {.wr_id = i, .sg_list = &sge, .num_sge = 1}, *bad;

    sge.length = e->spec->ending == ENDS_TOO_LONG ? e->spec->bytes - 1 : length;
    errno = ibv_post_recv(e->qp, &wr, &bad);
    return !errno || fail(e, "ibv_post_recv: %s", strerror(errno));
}

bool bind_window(struct end *e)
{
    struct ibv_send_wr wr = {.wr_id = 77, .opcode = IBV_WR_BIND_MW, .send_flags = IBV_SEND_SIGNALED};
    struct ibv_wc wc;

    e->window = ibv_alloc_mw(e->device->pd, IBV_MW_TYPE_2);
    if (!e->window)
        return fail(e, "ibv_alloc_mw: %s", strerror(errno));
    wr.bind_mw.mw = e->window;
    wr.bind_mw.rkey = ibv_inc_rkey(e->window->rkey);
    wr.bind_mw.bind_info = (struct ibv_mw_bind_info){.mr = e->mr,
                                                     .addr = (uintptr_t)e->memory + e->in,
                                                     .length = e->spec->bytes,
                                                     .mw_access_flags = IBV_ACCESS_REMOTE_WRITE};
    if (!post(e, &wr) || !complete(e, &wc, PATIENCE))
        return false;
    if (wc.status != IBV_WC_SUCCESS)
        return fail(e, "binding the window: %s", ibv_wc_status_str(wc.status));
    e->window->rkey = wr.bind_mw.rkey;
    return true;
}

/* The 40 bytes before a datagram: an IPv6 header, or 20 unknown bytes and an IPv4 header (IBTA annex A17.4.5.1). */
static bool header_is_right(struct end *e, const unsigned char *at)
{
    const unsigned char *source = e->peer.gid.raw, *here = e->device->gid.raw;
    bool v4 = source[10] == 0xff && source[11] == 0xff && !source[0] && !source[9];

    if (v4 ? memcmp(at + 32, source + 12, 4) || memcmp(at + 36, here + 12, 4)
           : memcmp(at + 8, source, 16) || memcmp(at + 24, here, 16))
        return fail(e, "the header before a datagram has other addresses");
    return (v4 ? at[20] == 0x45 : at[0] >> 4 == 6) || fail(e, "the header before a datagram has a wrong version");
}

static bool take_receive(struct end *e, const struct ibv_wc *wc, uint32_t request, uint32_t number)
{
    const struct spec *s = e->spec;
    uint32_t op = plan_op(s, request), bytes = plan_bytes(s, request), head = s->transport == IBV_QPT_UD ? GRH : 0;
    size_t at = slot_of(e, e->receive, number);
    bool immediate = op == OP_SEND_IMM || op == OP_WRITE_IMM, placed = op != OP_WRITE_IMM;

    if (wc->status != IBV_WC_SUCCESS)
        return fail(e, "receive %u: %s", number, ibv_wc_status_str(wc->status));
    if (wc->wr_id != number)
        return fail(e, "receive %ju in place of %u", (uintmax_t)wc->wr_id, number);
    if (wc->opcode != (placed ? IBV_WC_RECV : IBV_WC_RECV_RDMA_WITH_IMM))
        return fail(e, "receive %u: opcode %d", number, wc->opcode);
    if (wc->byte_len != bytes + head)
        return fail(e, "receive %u: %u bytes in place of %u", number, wc->byte_len, bytes + head);
    if (immediate != !!(wc->wc_flags & IBV_WC_WITH_IMM) || (immediate && ntohl(wc->imm_data) != IMMEDIATE(request)))
        return fail(e, "receive %u: flags 0x%x, immediate 0x%08x", number, wc->wc_flags, ntohl(wc->imm_data));
    if (head && (!(wc->wc_flags & IBV_WC_GRH) || !header_is_right(e, e->memory + at)))
        return fail(e, "receive %u: no GRH", number);
    for (uint32_t k = 0; placed && k < bytes; k++) {
        if (e->memory[at + head + k] != plan_byte(s, true, request, k))
            return fail(e, "receive %u: byte %u of %u is 0x%02x", number, k, bytes, e->memory[at + head + k]);
    }
    for (size_t k = at + (placed ? head + bytes : 0); k < at + e->stride; k++) {
        if (e->memory[k] != PAINT)
            return fail(e, "receive %u: a byte behind the message was written, %zu", number, k - at);
    }
    return true;
}

/* Linux's rdma_rxe (6.1) shows user programs the kernel's number of the flag, 4, which the verbs library calls
 * IP_CSUM_OK. */
static bool window_is_gone(struct end *e)
{
    const unsigned flag = IBV_WC_WITH_INV | IBV_WC_IP_CSUM_OK;
    struct ibv_wc wc;

    if (!complete(e, &wc, PATIENCE))
        return false;
    if (wc.status != IBV_WC_SUCCESS || !(wc.wc_flags & flag) || wc.invalidated_rkey != e->window->rkey)
        return fail(e, "SEND with invalidate: %s, flags 0x%x, key 0x%x in place of 0x%x", ibv_wc_status_str(wc.status),
                    wc.wc_flags, wc.invalidated_rkey, e->window->rkey);
    return true;
}

/* Nothing tells the answering end of an unreliable WRITE that it has landed but the bytes themselves. */
static void wait_for_last_byte(struct end *e)
{
    const struct spec *s = e->spec;
    uint32_t last = s->count - 1, bytes = plan_bytes(s, last);
    const volatile unsigned char *at = e->memory + slot_of(e, e->in, last) + bytes - 1;
    double until = now() + 10;

    while (*at != plan_byte(s, true, last, bytes - 1) && now() < until)
        continue;
}

bool answer(struct end *e)
{
    const struct spec *s = e->spec;
    uint32_t next = e->receives < 32 ? e->receives : 32, number = 0;

    if (s->op == OP_WINDOW)
        return window_is_gone(e);
    if (s->ending != ENDS_WELL)
        return true;
    if (s->transport == IBV_QPT_UC && s->op == OP_WRITE)
        wait_for_last_byte(e);
    for (uint32_t i = 0; i < s->count; i++) {
        struct ibv_wc wc;

        if (!plan_takes_receive(plan_op(s, i)))
            continue;
        if (!complete(e, &wc, PATIENCE) || !take_receive(e, &wc, i, number++))
            return false;
        if (next < e->receives && !post_receive(e, next++))
            return false;
    }
    return true;
}
