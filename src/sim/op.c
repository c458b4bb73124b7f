/* SPDX-License-Identifier: Apache-2.0 */
/* Draws the next request of an end. */
#include "sim/internal.h"

bool sim_op_receives(enum sim_op op)
{
    return op == SIM_OP_SEND || op == SIM_OP_SEND_IMM || op == SIM_OP_WRITE_IMM;
}

const char *sim_op_name(enum sim_op op)
{
    static const char *const name[SIM_OPS] = {"write", "write-imm", "send",     "send-imm",  "read",
                                              "read-back", "fetch-add", "cmp-swap", "shared-add"};
    return op < SIM_OPS ? name[op] : "?";
}

static enum sim_op draw_op(struct sim_end *end)
{
    const uint32_t *mix = end->conn->workload->mix;
    uint64_t sum = 0, pick;

    for (unsigned i = 0; i < SIM_OPS; i++)
        sum += mix[i];
    pick = sim_rng_below(&end->rng, sum);
    for (unsigned i = 0; i < SIM_OPS; i++) {
        if (pick < mix[i])
            return (enum sim_op)i;
        pick -= mix[i];
    }
    return SIM_OP_WRITE;
}

/* An offset for `length` bytes in an area. */
static uint32_t place(struct sim_end *end, uint32_t area, uint32_t size, uint32_t length)
{
    return area + (uint32_t)sim_rng_below(&end->rng, size - length + 1);
}

static void draw_atomic(struct sim_end *end, struct sim_wr *wr)
{
    unsigned word = (unsigned)sim_rng_below(&end->rng, SIM_WORDS);
    uint64_t *shadow = &end->shadow[word];

    wr->local = end->at.results + 8 * (uint32_t)(end->posted & (end->host->sim->depth - 1));
    wr->remote = end->peer->at.words + 8 * word;
    wr->operand = wr->op == SIM_OP_SHARED_ADD ? 1 : sim_rng_next(&end->rng);
    if (wr->op == SIM_OP_FETCH_ADD)
        *shadow += wr->operand;
    if (wr->op != SIM_OP_CMP_SWAP)
        return;
    wr->compare = sim_rng_below(&end->rng, 4) != 0 ? *shadow : sim_rng_next(&end->rng); /* most succeed */
    if (wr->compare == *shadow)
        *shadow = wr->operand;
}

static void draw_places(struct sim_end *end, struct sim_wr *wr)
{
    const struct sim_layout *peer = &end->peer->at;

    switch (wr->op) {
    case SIM_OP_READ:
        wr->local = place(end, end->at.read, end->at.read_size, wr->length);
        wr->remote = place(end, peer->tx, peer->tx_size, wr->length);
        break;
    case SIM_OP_READ_BACK:
        wr->local = place(end, end->at.read, end->at.read_size, wr->length);
        wr->remote = place(end, peer->rx, peer->rx_size, wr->length);
        break;
    default:
        wr->local = place(end, end->at.tx, end->at.tx_size, wr->length);
        wr->remote = place(end, peer->rx, peer->rx_size, wr->length);
        break;
    }
}

static void draw_kind(struct sim_end *end, struct sim_wr *wr)
{
    const struct sim_workload *w = end->conn->workload;

    *wr = (struct sim_wr){.op = draw_op(end)};
    wr->length = wr->op >= SIM_OP_FETCH_ADD ? 8 : (uint32_t)sim_rng_between(&end->rng, w->size_min, w->size_max);
}

static void need(struct sim_needs *n, enum sim_op op, uint32_t length)
{
    uint32_t *field = op <= SIM_OP_WRITE_IMM  ? &n->write
                      : op <= SIM_OP_SEND_IMM ? &n->send
                      : op == SIM_OP_READ     ? &n->read
                                              : &n->read_back;

    if (op < SIM_OP_FETCH_ADD && length > *field)
        *field = length;
}

/*
 * A connection of few requests gets the memory that these need: with many NICs what is filled and compared for nothing
 * would cost more than the packets.
 */
void sim_end_plan(struct sim_end *end)
{
    const struct sim_workload *w = end->conn->workload;

    end->drawn = end->goal <= w->depth ? end->goal : 0;
    end->needs = (struct sim_needs){0};
    for (uint64_t n = 0; n < end->drawn; n++) {
        struct sim_wr *wr = sim_end_wr(end, n);
        draw_kind(end, wr);
        need(&end->needs, wr->op, wr->length);
    }
    for (unsigned op = 0; end->goal > w->depth && op < SIM_OPS; op++)
        if (w->mix[op] != 0)
            need(&end->needs, (enum sim_op)op, (uint32_t)w->size_max);
}

void sim_end_draw(struct sim_end *end, struct sim_wr *wr)
{
    if (end->posted >= end->drawn)
        draw_kind(end, wr);
    wr->fenced = end->fence_next;
    wr->posted_at = end->host->sim->now;
    end->fence_next = wr->op == SIM_OP_READ_BACK;
    if (wr->op >= SIM_OP_FETCH_ADD) {
        draw_atomic(end, wr);
        return;
    }
    draw_places(end, wr);
    if (wr->op == SIM_OP_WRITE_IMM || wr->op == SIM_OP_SEND_IMM)
        wr->imm = (uint32_t)sim_rng_next(&end->rng);
    if (sim_op_receives(wr->op))
        wr->receive = end->receives_used++;
}
