/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What holds on unreliable connections (IBTA vol. 1, 9.8.2): a message arrives as it was sent or not at all, so that a
 * completed receive is about one that was sent, whole; where cables keep order and deliver nothing twice, messages arrive in
 * order and once; and every byte that changed was put there by a message that was sent.
 */
#include <string.h>

#include "format/cqe.h"
#include "sim/internal.h"

static uint8_t opcode_of(enum sim_op op)
{
    return op == SIM_OP_WRITE_IMM ? SN_CQE_RESP_WR_IMM : op == SIM_OP_SEND_IMM ? SN_CQE_RESP_SEND_IMM : SN_CQE_RESP_SEND;
}

static uint32_t slot_size(const struct sim_end *end)
{
    return end->at.recv_size / (uint32_t)end->conn->workload->receives;
}

/* Where the receive that has just completed lies. */
static uint32_t slot_of(const struct sim_end *end)
{
    return end->at.recv + (uint32_t)(end->received % end->conn->workload->receives) * slot_size(end);
}

static bool covers(uint32_t from, uint32_t length, uint32_t at)
{
    return at >= from && at - from < length;
}

static bool is_write(const struct sim_wr *wr)
{
    return wr->op == SIM_OP_WRITE || wr->op == SIM_OP_WRITE_IMM;
}

/* The target of a WRITE shows it, except where another one has written. */
static bool is_written(struct sim_end *end, const struct sim_wr *wr)
{
    const uint8_t *sent = end->peer->model + wr->local, *is = end->mem + wr->remote;

    if (memcmp(sent, is, wr->length) == 0)
        return true;
    for (uint32_t i = 0; i < wr->length; i++)
        if (sent[i] != is[i] && !sim_unreliable_explains(end, wr->remote + i))
            return false;
    return true;
}

static bool fits(struct sim_end *end, const struct sim_wr *wr, const struct sn_cqe64 *c)
{
    if (!sim_op_receives(wr->op) || opcode_of(wr->op) != c->op_own >> 4 || sn_get32(c->byte_cnt) != wr->length)
        return false;
    if (wr->op != SIM_OP_SEND && c->imm != wr->imm)
        return false;
    if (is_write(wr))
        return is_written(end, wr);
    return memcmp(end->mem + slot_of(end), end->peer->model + wr->local, wr->length) == 0;
}

void sim_unreliable_receive(struct sim_end *end, const struct sn_cqe64 *cqe)
{
    struct sim_end *peer = end->peer;
    uint64_t n = end->seen;

    while (n < peer->posted && !fits(end, sim_end_wr(peer, n), cqe))
        n++;
    if (n < peer->posted) {
        end->seen = n + 1;
        return;
    }
    for (n = 0; end->host->sim->disorder && n < end->seen; n++)
        if (fits(end, sim_end_wr(peer, n), cqe))
            return;
    sim_violation(end->host->sim, "nic%u QP 0x%x: a receive of %u bytes, opcode %u, completed, and nic%u has sent no such message%s",
                  end->host->number, end->qpn, sn_get32(cqe->byte_cnt), cqe->op_own >> 4, peer->host->number,
                  end->host->sim->disorder ? "" : " after the one before");
}

bool sim_unreliable_explains(struct sim_end *end, uint32_t at)
{
    struct sim_end *peer = end->peer;

    for (uint64_t n = 0; n < peer->posted; n++) {
        const struct sim_wr *wr = sim_end_wr(peer, n);
        if (is_write(wr)) {
            if (covers(wr->remote, wr->length, at) && end->mem[at] == peer->model[wr->local + at - wr->remote])
                return true;
        } else if (covers(end->at.recv, end->at.recv_size, at)) {
            uint32_t offset = (at - end->at.recv) % slot_size(end); /* of a message that came whole, or broke off */
            if (offset < wr->length && end->mem[at] == peer->model[wr->local + offset])
                return true;
        }
    }
    return false;
}
