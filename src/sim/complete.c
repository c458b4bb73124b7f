/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Completions of an end, held against what was posted: each request and each receive once, in order, with the right
 * opcode, length and immediate; errors only where retries can have run out, and after them nothing but flushes.
 */
#include "format/cqe.h"
#include "sim/internal.h"


static void complain(struct sim_end *end, const char *what, uint64_t a, uint64_t b)
{
    char text[160];

    snprintf(text, sizeof(text), what, (unsigned long long)a, (unsigned long long)b);
    sim_violation(end->host->sim, "nic%u QP 0x%x: %s", end->host->number, end->qpn, text);
}

static uint8_t opcode_of(const struct sn_cqe64 *c)
{
    return c->op_own >> 4;
}

static uint8_t syndrome_of(const struct sn_cqe64 *c)
{
    return ((const struct sn_err_cqe *)(const void *)c)->syndrome;
}

/* ---- receives ------------------------------------------------------------------------------------------------------ */

static void repost(void *object, uint64_t serial)
{
    struct sim_end *end = object;

    if (end->conn == NULL || end->conn->serial != serial || end->conn->in_error)
        return;
    sim_end_put_recv(end);
}

static void post_again(struct sim_end *end)
{
    struct sim *sim = end->host->sim;
    uint64_t delay = end->conn->workload->receive_delay;

    if (end->conn->in_error || end->failed)
        return;
    if (delay == 0)
        sim_end_put_recv(end);
    else
        sim_at(sim, sim->now + delay, repost, end, end->conn->serial);
}

/* The peer's next request that uses a receive, or NULL. */
static struct sim_wr *meet(struct sim_end *peer, uint64_t *number)
{
    while (peer->met < peer->posted) {
        struct sim_wr *wr = sim_end_wr(peer, peer->met++);
        if (sim_op_receives(wr->op)) {
            *number = peer->met - 1;
            return wr;
        }
    }
    return NULL;
}

static void receive_ok(struct sim_end *end, const struct sn_cqe64 *c)
{
    static const uint8_t expected[SIM_OPS] = {[SIM_OP_SEND] = SN_CQE_RESP_SEND,
                                              [SIM_OP_SEND_IMM] = SN_CQE_RESP_SEND_IMM,
                                              [SIM_OP_WRITE_IMM] = SN_CQE_RESP_WR_IMM};
    uint64_t number = 0;
    struct sim_wr *wr;

    end->host->sim->r.receives++;
    if (end->host->sim->sc.qp.service == SIM_UC) {
        sim_unreliable_receive(end, c);
        return;
    }
    wr = meet(end->peer, &number);
    if (wr == NULL) {
        complain(end, "receive number %llu completed, but its peer has sent no more than %llu requests", end->received,
            end->peer->posted);
        return;
    }
    if (opcode_of(c) != expected[wr->op])
        complain(end, "a receive completed with opcode %llu where %llu was sent", opcode_of(c), expected[wr->op]);
    else if (sn_get32(c->byte_cnt) != wr->length)
        complain(end, "a receive completed with %llu bytes where %llu were sent", sn_get32(c->byte_cnt), wr->length);
    else if (wr->op != SIM_OP_SEND && c->imm != wr->imm)
        complain(end, "a receive completed with the immediate 0x%llx where 0x%llx was sent", c->imm, wr->imm);
    else
        sim_model_receive(end, wr, number);
}

/* The flush is seen before the error that led to it: receive completions are looked at first. */
static bool is_in_error(struct sim_end *end)
{
    enum sn_qp_state state = SN_QP_RST;

    return sn_qp_query(end->host->nic, end->qpn, &state, NULL, NULL, NULL) == 0 && state == SN_QP_ERR;
}

static void receive_done(struct sim_end *end, const struct sn_cqe64 *c)
{
    if (sn_get16(c->wqe_counter) != (end->received & 0xffff))
        complain(end, "receive %llu completed where %llu was next", sn_get16(c->wqe_counter), end->received & 0xffff);
    if (end->received >= end->rq_pi)
        complain(end, "receive %llu completed and was never posted (%llu were)", end->received, end->rq_pi);
    if (opcode_of(c) == SN_CQE_RESP_ERR) {
        if (syndrome_of(c) != SN_SYND_FLUSH || !is_in_error(end))
            complain(end, "a receive ended with syndrome 0x%llx (vendor's 0x%llx)", syndrome_of(c),
                ((const struct sn_err_cqe *)(const void *)c)->vendor_err_synd);
        end->host->sim->r.receives_flushed++;
        end->receives_flushed++;
    } else {
        receive_ok(end, c);
    }
    end->received++;
    if (opcode_of(c) != SN_CQE_RESP_ERR)
        post_again(end);
}

/* ---- requests ------------------------------------------------------------------------------------------------------- */

/* An acknowledgement tells that it has been executed: its receive has completed, and memory shows it. */
static void request_has_effect(struct sim_end *end, struct sim_wr *wr, uint64_t number)
{
    if (end->met <= number) {
        if (sim_op_receives(wr->op))
            complain(end, "request number %llu (operation %llu) succeeded, but its peer has received nothing", number, wr->op);
        end->met = number + 1;
    }
    sim_model_apply(end, wr, number);
}

static void request_ok(struct sim_end *end, struct sim_wr *wr, uint64_t number)
{
    struct sim_result *r = &end->host->sim->r;

    if (end->failed)
        complain(end, "request number %llu succeeded after one had failed with syndrome 0x%llx", number, end->syndrome);
    if (end->host->sim->sc.qp.service == SIM_RC)
        request_has_effect(end, wr, number);
    end->certain = number + 1;
    r->completed++;
    r->by_op[wr->op]++;
    r->bytes += wr->length;
    sim_latency_add(end->host->sim, end->host->sim->now - wr->posted_at);
}

static void request_failed(struct sim_end *end, struct sim_wr *wr, uint8_t syndrome)
{
    struct sim *sim = end->host->sim;
    bool retries = syndrome == SN_SYND_RETRY_EXCEEDED || syndrome == SN_SYND_RNR_EXCEEDED;

    if (end->failed ? syndrome != SN_SYND_FLUSH : !retries)
        complain(end, "a request ended with syndrome 0x%llx (the queue's first error: 0x%llx)", syndrome, end->syndrome);
    else if (!end->failed && sim->sc.expect == SIM_EXPECT_ALL)
        complain(end, "a request ended with syndrome 0x%llx after %llu had succeeded, and all are expected to", syndrome, end->certain);
    if (!end->failed) {
        end->failed = true;
        end->syndrome = syndrome;
        sim->r.failed++;
    } else {
        sim->r.flushed++;
    }
    if (wr->op == SIM_OP_SHARED_ADD)
        end->peer->host->shared_uncertain++;
}

static void request_done(struct sim_end *end, const struct sn_cqe64 *c)
{
    uint64_t number = end->settled;

    if (number >= end->posted) {
        complain(end, "WQE %llu completed, but all %llu requests have completed before", sn_get16(c->wqe_counter), end->posted);
        return;
    }
    if (sn_get16(c->wqe_counter) != (number & 0xffff))
        complain(end, "WQE %llu completed where %llu was next", sn_get16(c->wqe_counter), number & 0xffff);
    end->settled++;
    if (opcode_of(c) == SN_CQE_REQ)
        request_ok(end, sim_end_wr(end, number), number);
    else if (opcode_of(c) == SN_CQE_REQ_ERR)
        request_failed(end, sim_end_wr(end, number), syndrome_of(c));
    else
        complain(end, "WQE %llu completed with opcode %llu", number, opcode_of(c));
    sim_end_post(end);
}

void sim_end_completed(struct sim_end *end, const struct sn_cqe64 *cqe, bool receive)
{
    if (receive)
        receive_done(end, cqe);
    else
        request_done(end, cqe);
    sim_conn_check(end->host->sim, end->conn);
}
