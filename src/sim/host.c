/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A host: one NIC on a port of its own, and the application on it. A host is run when something happened to it (a packet,
 * a timer, a receive posted again, a cable that has room); idle ones cost nothing. Its objects: host_objects.c.
 */
#include <stdlib.h>
#include <string.h>

#include "format/cqe.h"
#include "sim/internal.h"
#include "softnic/wire/cut.h"
#include "softnic/wire/frame.h"

enum { RUNS_MOST = 100000 /* turns at one instant: more is a NIC that never comes to rest */ };

/* ---- time -------------------------------------------------------------------------------------------------------- */

static void run_event(void *object, uint64_t arg)
{
    struct sim_host *host = object;

    (void)arg;
    host->run_queued = false;
    sim_host_run(host);
}

void sim_host_run_soon(struct sim_host *host)
{
    if (host->run_queued)
        return;
    host->run_queued = true;
    sim_at(host->sim, host->sim->now, run_event, host, 0);
}

void sim_host_wake(void *object, uint64_t time)
{
    struct sim_host *host = object;

    if (host->wake_at != time) /* an earlier one took its place */
        return;
    host->wake_at = UINT64_MAX;
    sim_host_run(host);
}

static void wake_up_at(struct sim_host *host, uint64_t time)
{
    if (time >= host->wake_at)
        return;
    if (time <= host->sim->now)
        time = host->sim->now + 1;
    host->wake_at = time;
    sim_at(host->sim, time, sim_host_wake, host, time);
}

static void drained_event(void *object, uint64_t arg)
{
    struct sim_host *host = object;

    (void)arg;
    host->drain_queued = false;
    sim_host_run(host);
}

/* ---- the wire: out -------------------------------------------------------------------------------------------------- */

static void fill_packet(struct sim_host *host, struct sim_packet *p, const struct sn_burst *b)
{
    struct sim_end *end = sim_host_find_end(host, b->sqpn);

    memcpy(&p->header, b, SIM_HEADER_SIZE);
    p->source = host->number;
    p->wire_bytes = sim_packet_wire_bytes(b);
    p->flow = (uint32_t)sim_mix(((uint64_t)b->sqpn << 32 | b->dqpn) + ((uint64_t)host->number << 8));
    p->ip_id = host->ip_id++;
    p->conn = end == NULL ? NULL : end->conn;
    if (p->conn != NULL)
        p->conn->in_flight++;
}

/* In one piece, of memory that never changes. */
static bool is_noise(const struct sim *sim, const struct sn_burst *b)
{
    for (uint32_t i = 0; i + 1 < b->iov_count; i++)
        if ((const uint8_t *)b->iov[i].addr + b->iov[i].length != b->iov[i + 1].addr)
            return false;
    return b->iov_count != 0 && sim_is_noise(sim, b->iov[0].addr);
}

static bool copy_payload(struct sim *sim, struct sim_packet *p, const struct sn_burst *b)
{
    uint8_t *at;

    if (b->length == 0)
        return true;
    if (is_noise(sim, b)) {
        p->noise = b->iov[0].addr;
        return true;
    }
    p->bytes = sim_bytes_new(sim, b->length);
    if (p->bytes == NULL)
        return false;
    at = p->bytes->data;
    for (uint32_t i = 0; i < b->iov_count; i++) {
        memcpy(at, b->iov[i].addr, b->iov[i].length);
        at += b->iov[i].length;
    }
    return true;
}

static bool is_atomic(const struct sn_burst *b)
{
    return b->kind >= SN_KIND_ATOMIC_CS && b->kind <= SN_KIND_ATOMIC_MASKED_FA;
}

/* What the packet carries, and no field that its kind does not have: those hold what was there before. */
static void trace_sent(struct sim_host *host, const struct sn_burst *b)
{
    bool names = (b->kind == SN_KIND_WRITE && (b->flags & SN_BURST_FIRST)) || b->kind == SN_KIND_READ_REQUEST || is_atomic(b);
    uint64_t word = is_atomic(b) ? b->swap_add : b->kind == SN_KIND_ATOMIC_ACK ? b->atomic_orig : 0;

    sim_trace(host->sim, (uint64_t)host->number << 32 | b->kind << 8 | b->flags, (uint64_t)b->psn << 32 | b->length);
    sim_trace(host->sim, (names ? b->va : 0) ^ word, (uint64_t)b->dqpn << 32 | (names ? b->rkey : 0));
}

static void send_packet(struct sim_host *host, const struct sn_burst *b)
{
    struct sim *sim = host->sim;
    struct sim_packet *p = sim_packet_new(sim);

    if (p == NULL)
        return;
    sn_ask_some(&sim->asks, SN_ASKS_AT_ONCE);
    fill_packet(host, p, b);
    sim->r.packets++;
    sim->r.packet_bytes += p->wire_bytes;
    sim->r.sent[b->kind % SIM_KINDS]++;
    trace_sent(host, b);
    if (!sim_host_of_gid(sim, b->dgid, &p->target) || !copy_payload(sim, p, b)) {
        sim_packet_lose(sim, p, SIM_LOST_FORMAT);
        return;
    }
    sim_capture_packet(sim, p, false);
    if (sim->sc.mode == SIM_MODE_FRAMES && !sim_packet_to_frame(sim, p)) {
        sim_violation(sim, "nic%u: a packet of kind %s, PSN %u, has no wire form", host->number, sim_kind_name(b->kind), b->psn);
        sim_packet_lose(sim, p, SIM_LOST_FORMAT);
        return;
    }
    if (sim_plant_now(sim, SIM_PLANT_LEAK)) {
        sim->pool.packets_out++;
        if (p->conn != NULL)
            p->conn->in_flight++;
    }
    sim_link_send(host->out, p);
}

/* A NIC does not drop what its cable has no room for: it waits. */
static int wire_send(struct sn_wire *wire, const struct sn_burst *burst)
{
    struct sim_host *host = (struct sim_host *)wire;
    struct sn_burst packet;
    struct sn_cut cut;

    if (sim_link_backlog(host->out) > host->sim->sc.nic_buffer) {
        host->blocked = true;
        return -EAGAIN;
    }
    if (burst->npackets == 1 || burst->kind == SN_KIND_READ_REQUEST) {
        send_packet(host, burst);
        return 0;
    }
    sn_cut_begin(&cut, burst);
    while (sn_cut_next(&cut, &packet))
        send_packet(host, &packet);
    return 0;
}

/* ---- the wire: in --------------------------------------------------------------------------------------------------- */

void sim_host_receive(struct sim_host *host, struct sim_packet *p)
{
    p->next = NULL;
    *host->inbox_last = p;
    host->inbox_last = &p->next;
    sim_host_run_soon(host);
}

/* The first packet of a WRITE, in place. On a reliable connection the only one under way: nothing repairs what is changed now. */
static bool is_placed(struct sim_end *end, const struct sn_burst *b)
{
    const struct sim_wr *wr = sim_end_wr(end->peer, end->peer->settled);
    uint32_t offset = (uint32_t)b->va;
    bool alone = end->peer->posted - end->peer->settled == 1 && wr->op <= SIM_OP_WRITE_IMM && wr->remote == offset;

    return b->kind == SN_KIND_WRITE && (b->flags & SN_BURST_FIRST) && b->length != 0 &&
           (alone || b->service == SN_SERVICE_UC) && memcmp(end->mem + offset, b->iov[0].addr, b->length) == 0;
}

/* Bugs on purpose: what a NIC that is wrong would do to memory. The burst has just been executed. */
static void plant(struct sim_host *host, const struct sn_burst *b)
{
    struct sim *sim = host->sim;
    struct sim_end *end = sim_host_find_end(host, b->dqpn);

    if (end == NULL || end->conn == NULL)
        return;
    if (is_placed(end, b) && sim_plant_now(sim, SIM_PLANT_MODIFY))
        end->mem[(uint32_t)b->va + b->length / 2] ^= 0x20;
    if (b->kind == SN_KIND_WRITE && sim_plant_now(sim, SIM_PLANT_STRAY))
        end->mem[end->at.rx - 1] ^= 1;
    if (b->kind <= SN_KIND_READ_REQUEST && sim_plant_now(sim, SIM_PLANT_SOURCE)) {
        const struct sim_end *source = b->kind == SN_KIND_READ_REQUEST ? end : end->peer;
        source->mem[source->at.tx] ^= 1;
    }
    if (is_atomic(b) && sim_plant_now(sim, SIM_PLANT_REPEAT))
        end->mem[end->at.words + 8] += 1;
}

static void deliver(struct sim_host *host, struct sim_packet *p)
{
    struct sim *sim = host->sim;
    struct sn_frame_path path;
    struct sn_burst b;

    sim_capture_packet(sim, p, true);
    if (p->is_frame) {
        enum sn_frame_verdict verdict =
            sn_frame_parse(p->bytes->data, p->bytes->length, SN_LAYER_ETHERNET, true, &b, &path);
        uint32_t number;
        if (verdict == SN_FRAME_OK && !(sim_host_of_gid(sim, b.dgid, &number) && number == host->number))
            verdict = SN_FRAME_NOT_ROCE; /* another's */
        if (verdict != SN_FRAME_OK) {
            sim_packet_lose(sim, p, verdict == SN_FRAME_ICRC ? SIM_LOST_ICRC : SIM_LOST_FORMAT);
            return;
        }
    } else {
        sim_packet_burst(p, &b);
    }
    sn_ask_some(&sim->asks, SN_ASKS_AT_ONCE);
    sim->r.delivered[b.kind % SIM_KINDS]++;
    sim_trace(sim, 0x8000000000000000ull | (uint64_t)host->number << 32 | b.kind, (uint64_t)b.psn << 32 | b.length);
    sn_nic_receive(host->nic, &b);
    if (sim->sc.plant != SIM_PLANT_NONE)
        plant(host, &b);
    sim_packet_free(sim, p);
}

static int wire_poll(struct sn_wire *wire, unsigned budget)
{
    struct sim_host *host = (struct sim_host *)wire;
    unsigned n = 0;

    while (n < budget && host->inbox != NULL) {
        struct sim_packet *p = host->inbox;
        host->inbox = p->next;
        if (host->inbox == NULL)
            host->inbox_last = &host->inbox;
        deliver(host, p);
        n++;
    }
    return (int)n;
}

static bool wire_pending(struct sn_wire *wire)
{
    return ((struct sim_host *)wire)->inbox != NULL;
}

static void wire_sleeping(struct sn_wire *wire, bool asleep)
{
    (void)wire;
    (void)asleep;
}

static void wire_destroy(struct sn_wire *wire)
{
    (void)wire;
}

const struct sn_wire_ops sim_wire_ops = {.name = "sim",
                                         .send = wire_send,
                                         .poll = wire_poll,
                                         .pending = wire_pending,
                                         .sleeping = wire_sleeping,
                                         .destroy = wire_destroy};

/* ---- the application --------------------------------------------------------------------------------------------------- */

static const struct sn_cqe64 *next_cqe(struct sim_host *host, unsigned which)
{
    uint32_t log = host->log_cq, ci = host->ci[which];
    const struct sn_cqe64 *c = (const struct sn_cqe64 *)(const void *)(host->cq[which] + ((size_t)(ci & ((1u << log) - 1)) << 6));

    if (c->op_own >> 4 == SN_CQE_INVALID || (c->op_own & 1) != ((ci >> log) & 1))
        return NULL;
    host->ci[which]++;
    host->cq_record[2 * which] = sn_swap32(host->ci[which] & 0xffffff);
    return c;
}

static void complete(struct sim_host *host, const struct sn_cqe64 *c, bool receive)
{
    uint32_t qpn = sn_get32(c->sop_drop_qpn) & 0xffffff;
    struct sim_end *end = sim_host_find_end(host, qpn);

    sim_trace(host->sim, (uint64_t)host->number << 32 | c->op_own >> 4 << 8 | receive,
              (uint64_t)qpn << 16 | sn_get16(c->wqe_counter));
    if (end == NULL || end->conn == NULL) {
        sim_violation(host->sim, "nic%u: a completion of opcode 0x%x for QP 0x%x, which has no connection", host->number,
                      c->op_own >> 4, qpn);
        return;
    }
    if (!receive && sim_plant_now(host->sim, SIM_PLANT_FORGET))
        return;
    sim_end_completed(end, c, receive);
    if (!receive && end->conn != NULL && sim_plant_now(host->sim, SIM_PLANT_TWICE))
        sim_end_completed(end, c, receive);
}

/* Receive completions first: a SEND is there before its sender knows. */
static unsigned poll_cqs(struct sim_host *host)
{
    const struct sn_cqe64 *c;
    unsigned n = 0;

    while ((c = next_cqe(host, 1)) != NULL && ++n)
        complete(host, c, true);
    while ((c = next_cqe(host, 0)) != NULL && ++n)
        complete(host, c, false);
    return n;
}

void sim_host_run(struct sim_host *host)
{
    struct sim *sim = host->sim;
    unsigned turns = 0, work;

    host->blocked = false;
    do {
        sn_ask_some(&sim->asks, SN_ASKS_AT_ONCE);
        int did = sn_port_run_locked(host->port); /* the only thread: nobody to lock out */
        work = did > 0 ? (unsigned)did : 0;
        sn_ask_some(&sim->asks, SN_ASKS_AT_ONCE);
        work += poll_cqs(host);
    } while (work != 0 && ++turns < RUNS_MOST && sim->error == 0);
    if (turns == RUNS_MOST)
        sim_violation(sim, "nic%u: did not come to rest in %u turns", host->number, turns);
    if (host->blocked && !host->drain_queued) {
        uint64_t when = sim_link_drained(host->out, sim->sc.nic_buffer / 2);
        host->drain_queued = true;
        sim_at(sim, when > sim->now ? when : sim->now + 1, drained_event, host, 0);
    }
    wake_up_at(host, sn_port_next_deadline_before(host->port, host->wake_at));
}
