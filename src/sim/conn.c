/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections: opened with fresh keys and PSNs, run until every request has had its completion, taken down when none of
 * their packets is in the network any more (so that no ghost meets the queue pair's next life).
 */
#include <stdlib.h>
#include <string.h>

#include "sim/internal.h"

/* ---- posting ------------------------------------------------------------------------------------------------------- */

/* Not one by one: bursts of different lengths are what a doorbell brings. */
void sim_end_post(struct sim_end *end)
{
    const struct sim_workload *w = end->conn->workload;
    uint64_t outstanding = end->posted - end->settled;

    if (end->failed || end->posted == end->goal || outstanding == w->depth)
        return;
    if (outstanding != 0 && sim_rng_below(&end->rng, w->depth) < outstanding)
        return;
    while (end->posted != end->goal && end->posted - end->settled < w->depth) {
        struct sim_wr *wr = sim_end_wr(end, end->posted);
        sim_end_draw(end, wr);
        sim_end_put_wqe(end, wr);
        end->posted++;
        end->host->sim->r.posted++;
    }
    sim_end_ring(end);
}

/* ---- opening -------------------------------------------------------------------------------------------------------- */

static struct sim_conn *conn_new(struct sim *sim)
{
    struct sim_conn *conn = sim->free_conns;

    if (conn == NULL) {
        uint8_t *slab = sim_slab_new(&sim->conn_slabs, sizeof(*conn));
        if (slab == NULL) {
            sim->error = -ENOMEM;
            return NULL;
        }
        for (unsigned i = SIM_SLAB; i-- != 0;) {
            conn = (struct sim_conn *)(void *)(slab + i * sizeof(*conn));
            conn->next = sim->free_conns;
            sim->free_conns = conn;
        }
    }
    sim->free_conns = conn->next;
    *conn = (struct sim_conn){.serial = ++sim->conns_made};
    return conn;
}

static void conn_free(struct sim *sim, struct sim_conn *conn)
{
    conn->next = sim->free_conns;
    sim->free_conns = conn;
}

static void wait_for(struct sim_host *host, struct sim_conn *conn)
{
    conn->next = NULL;
    *host->waiting_last = conn;
    host->waiting_last = &conn->next;
}

/* Both ends or none, so that nobody waits for one while holding the other. */
static bool take_ends(struct sim *sim, struct sim_conn *conn)
{
    struct sim_host *source = &sim->host[conn->source], *target = &sim->host[conn->target];

    conn->end[0] = sim_host_take_end(source);
    if (conn->end[0] == NULL) {
        wait_for(source, conn);
        return false;
    }
    conn->end[1] = sim_host_take_end(target);
    if (conn->end[1] == NULL) {
        sim_host_give_end(conn->end[0]);
        wait_for(target, conn);
        return false;
    }
    return true;
}

static void reset_end(struct sim_end *end, struct sim_conn *conn, struct sim_end *peer, uint64_t goal)
{
    end->conn = conn;
    end->peer = peer;
    end->goal = goal;
    end->posted = end->settled = end->certain = end->met = end->seen = end->receives_used = 0;
    end->received = end->receives_flushed = 0;
    end->failed = end->fence_next = false;
    end->syndrome = 0;
    end->rng = sim_rng_stream(end->host->sim->sc.seed,
                              sim_mix(conn->serial * 2 + (end != conn->end[0])) ^ 0x400000000ull);
}

static uint32_t draw_psn(struct sim *sim, struct sim_rng *rng)
{
    return (uint32_t)(sim->sc.qp.psn == SIM_PSN_RANDOM ? sim_rng_next(rng) : sim->sc.qp.psn) & 0xffffff;
}

static int start(struct sim *sim, struct sim_conn *conn)
{
    const struct sim_workload *w = conn->workload;
    struct sim_end *a = conn->end[0], *b = conn->end[1];
    uint32_t psn[2];
    int ret;

    reset_end(a, conn, b, w->messages);
    reset_end(b, conn, a, w->both_ways ? w->messages : 0);
    psn[0] = draw_psn(sim, &a->rng);
    psn[1] = draw_psn(sim, &b->rng);
    sim_end_plan(a);
    sim_end_plan(b);
    sn_ask_some(&sim->asks, SN_ASKS_AT_ONCE);
    ret = sim_model_open(a);
    if (ret == 0)
        ret = sim_model_open(b);
    if (ret == 0)
        ret = sim_end_open(a, psn[0], psn[1]);
    sn_ask_some(&sim->asks, SN_ASKS_AT_ONCE);
    if (ret == 0)
        ret = sim_end_open(b, psn[1], psn[0]);
    if (ret != 0)
        return ret;
    sim->conns_open++;
    sim->r.connections++;
    for (int i = 0; i < 2; i++)
        for (uint64_t n = 0; n < w->receives; n++)
            sim_end_put_recv(conn->end[i]);
    sim_end_post(a);
    sim_end_post(b);
    return 0;
}

int sim_conn_open(struct sim *sim, struct sim_lane *lane, uint32_t source, uint32_t target)
{
    struct sim_conn *conn = conn_new(sim);
    int ret = 0;

    if (conn == NULL)
        return -ENOMEM;
    conn->workload = lane->workload;
    conn->lane = lane;
    conn->source = source;
    conn->target = target;
    if (take_ends(sim, conn))
        ret = start(sim, conn);
    if (ret != 0)
        sim->error = ret;
    return ret;
}

/* ---- taking down ------------------------------------------------------------------------------------------------------ */

static bool end_is_over(const struct sim_end *end)
{
    return end->settled == end->posted && (end->failed || end->posted == end->goal);
}

static bool conn_is_over(const struct sim_conn *conn)
{
    return conn->in_flight == 0 && end_is_over(conn->end[0]) && end_is_over(conn->end[1]);
}

/* Whoever was first to wait for an end of this host. */
static void serve_waiting(struct sim *sim, struct sim_host *host)
{
    while (host->waiting != NULL) {
        struct sim_conn *conn = host->waiting;
        struct sim_conn **last = host->waiting_last;
        host->waiting = conn->next;
        if (host->waiting == NULL)
            host->waiting_last = last = &host->waiting;
        if (!take_ends(sim, conn)) {
            if (host->waiting_last != last) /* it waits here again: no end is free */
                return;
            continue;
        }
        if (start(sim, conn) != 0)
            sim->error = -ENOMEM;
    }
}

static void check_receives(struct sim *sim, struct sim_end *end)
{
    uint64_t met = end->received - end->receives_flushed, sent = end->peer->receives_used;

    if (end->received != end->rq_pi)
        sim_violation(sim, "nic%u QP 0x%x: %llu receives were posted and %llu completed or were flushed", end->host->number,
                      end->qpn, (unsigned long long)end->rq_pi, (unsigned long long)end->received);
    if (sim->sc.qp.service == SIM_UC ? met > sent && !sim->disorder : met > sent || (met < sent && !end->peer->failed))
        sim_violation(sim, "nic%u QP 0x%x: %llu messages were received and %llu were sent", end->host->number, end->qpn,
                      (unsigned long long)met, (unsigned long long)sent);
}

static void finish(struct sim *sim, struct sim_conn *conn)
{
    struct sim_end *end[2] = {conn->end[0], conn->end[1]};
    struct sim_lane *lane = conn->lane;

    for (int i = 0; i < 2; i++) {
        sim_model_check(end[i]);
        check_receives(sim, end[i]);
        sn_ask_some(&sim->asks, SN_ASKS_AT_ONCE);
        sim_end_close(end[i]);
    }
    for (int i = 0; i < 2; i++) /* each is compared with the other's */
        sim_model_close(end[i]);
    sim->r.connections_failed += end[0]->failed || end[1]->failed;
    sim->conns_open--;
    sim->last_close = sim->now;
    conn_free(sim, conn);
    for (int i = 0; i < 2; i++)
        sim_host_give_end(end[i]);
    lane->active--;
    sim_lane_fill(sim, lane);
    for (int i = 0; i < 2; i++)
        serve_waiting(sim, end[i]->host);
}

/* To ERR, so that the receives that are left end in flushes. */
static void enter_error(struct sim *sim, struct sim_conn *conn)
{
    conn->in_error = true;
    for (int i = 0; i < 2; i++) {
        struct sim_end *end = conn->end[i];
        if (sn_qp_modify(end->host->nic, end->qpn, SN_QP_ERR, NULL, 0) != 0 && !end->failed)
            sim_violation(sim, "nic%u QP 0x%x: cannot move to ERR", end->host->number, end->qpn);
        sn_qp_kick(end->host->nic, end->qpn);
        sim_host_run(end->host);
    }
}

/* A queue pair may have had something more to say on the way, so that it is asked twice whether all is quiet. */
static void close_conn(void *object, uint64_t serial)
{
    struct sim_conn *conn = object;
    struct sim *sim = conn->end[0]->host->sim;

    (void)serial;
    if (conn_is_over(conn) && !conn->in_error)
        enter_error(sim, conn);
    if (conn_is_over(conn) && conn->in_error)
        finish(sim, conn);
    else
        conn->closing = false;
}

void sim_conn_check(struct sim *sim, struct sim_conn *conn)
{
    if (conn->closing || !conn_is_over(conn))
        return;
    conn->closing = true;
    sim_at(sim, sim->now, close_conn, conn, conn->serial);
}
