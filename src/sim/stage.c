/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stages: each does one thing to the packets of a cable's one direction and hands them to the next. Those before the
 * delay work on a packet at the time in `ready`; only the last one waits, so a packet costs one event a cable.
 */
#include <stdlib.h>

#include "sim/internal.h"

struct sim_stage *sim_stage_add(struct sim_link *link, void (*in)(struct sim_stage *, struct sim_packet *))
{
    struct sim_stage *s = &link->sim->stage[link->sim->stage_count++];

    *s = (struct sim_stage){.in = in, .link = link};
    if (link->first == NULL)
        link->first = s;
    return s;
}

static struct sim_stage *add(struct sim_link *link, void (*in)(struct sim_stage *, struct sim_packet *), uint64_t a, uint64_t b)
{
    struct sim_stage *s = sim_stage_add(link, in);

    s->a = a;
    s->b = b;
    s->rng = sim_rng_stream(link->sim->sc.seed, 0x100000000ull + link->sim->stages++);
    return s;
}

void sim_packet_lose(struct sim *sim, struct sim_packet *p, enum sim_loss why)
{
    sim->r.lost[why]++;
    sim_trace(sim, 0x10 + why, p->header.psn);
    sim_packet_free(sim, p);
}

/* ---- loss: a = rate, b = packets in a row, in the mean (Gilbert's model; 1: each by itself) ---------------------- */

static void loss_in(struct sim_stage *s, struct sim_packet *p)
{
    if (s->b <= 1) {
        s->bad = sim_rng_chance(&s->rng, s->a);
    } else if (s->bad) {
        s->bad = !sim_rng_chance(&s->rng, SIM_ALWAYS / s->b);
    } else {
        uint64_t good = SIM_ALWAYS - s->a;
        s->bad = good == 0 || sim_rng_chance(&s->rng, (uint64_t)(((unsigned __int128)s->a << 32) / s->b / good));
    }
    if (s->bad)
        sim_packet_lose(s->link->sim, p, SIM_LOST_LOSS);
    else
        sim_stage_forward(s, p);
}

void sim_stage_loss(struct sim_link *link, uint64_t rate, uint64_t burst)
{
    (void)add(link, loss_in, rate, burst);
}

/* ---- corrupt: a = rate. Flipped bits in the frame; the invariant CRC has to find them ---------------------------- */

void sim_packet_corrupt(struct sim *sim, struct sim_packet *p, struct sim_rng *rng)
{
    unsigned flips = 1 + (unsigned)sim_rng_below(rng, 3);

    if (!sim_packet_to_frame(sim, p) || !sim_packet_own(sim, p))
        return;
    while (flips-- != 0) {
        uint64_t bit = sim_rng_below(rng, (uint64_t)p->bytes->length * 8);
        p->bytes->data[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    sim->r.corrupted++;
}

static void corrupt_in(struct sim_stage *s, struct sim_packet *p)
{
    if (sim_rng_chance(&s->rng, s->a))
        sim_packet_corrupt(s->link->sim, p, &s->rng);
    sim_stage_forward(s, p);
}

void sim_stage_corrupt(struct sim_link *link, uint64_t rate)
{
    (void)add(link, corrupt_in, rate, 0);
}

/* ---- duplicate: a = rate ----------------------------------------------------------------------------------------- */

static void duplicate_in(struct sim_stage *s, struct sim_packet *p)
{
    struct sim_packet *twin = sim_rng_chance(&s->rng, s->a) ? sim_packet_clone(s->link->sim, p) : NULL;

    sim_stage_forward(s, p);
    if (twin != NULL) {
        s->link->sim->r.duplicated++;
        sim_stage_forward(s, twin);
    }
}

void sim_stage_duplicate(struct sim_link *link, uint64_t rate)
{
    (void)add(link, duplicate_in, rate, 0);
}

/* ---- queue: a = bits a second, b = bytes that may wait (high half: from how many on packets are marked) ---------- */

/* In ns, rounded up: a cable is never faster than its rate. */
static uint64_t time_of(uint64_t bytes, uint64_t rate)
{
    return (uint64_t)(((unsigned __int128)bytes * 8u * 1000000000u + rate - 1) / rate);
}

static uint64_t backlog(const struct sim_stage *s)
{
    uint64_t now = s->link->sim->now;

    return s->at <= now ? 0 : (uint64_t)((unsigned __int128)(s->at - now) * s->a / 8 / 1000000000u);
}

static void queue_in(struct sim_stage *s, struct sim_packet *p)
{
    uint64_t waiting = backlog(s), limit = (uint32_t)s->b, ecn = s->b >> 32;
    uint64_t start = s->at > p->ready ? s->at : p->ready;

    if (limit != 0 && waiting + p->wire_bytes > limit) {
        sim_packet_lose(s->link->sim, p, SIM_LOST_QUEUE);
        return;
    }
    if (waiting + p->wire_bytes > s->link->sim->r.queue_peak && !s->link->from_host)
        s->link->sim->r.queue_peak = waiting + p->wire_bytes;
    if (ecn != 0 && waiting >= ecn)
        sim_packet_mark(s->link->sim, p);
    s->at = p->ready = start + time_of(p->wire_bytes, s->a);
    sim_stage_forward(s, p);
}

struct sim_stage *sim_stage_queue(struct sim_link *link, uint64_t rate, uint64_t limit, uint64_t ecn)
{
    return add(link, queue_in, rate, ecn << 32 | (uint32_t)limit);
}

uint64_t sim_link_backlog(const struct sim_link *link)
{
    return link->queue == NULL ? 0 : backlog(link->queue);
}

uint64_t sim_link_drained(const struct sim_link *link, uint64_t bytes)
{
    uint64_t lead = link->queue == NULL ? 0 : time_of(bytes, link->queue->a);

    if (link->queue == NULL || link->queue->at <= link->sim->now + lead)
        return link->sim->now;
    return link->queue->at - lead;
}

/* ---- delay: a = propagation, b = jitter, both ns. Order is kept ---------------------------------------------------- */

static void delay_in(struct sim_stage *s, struct sim_packet *p)
{
    p->ready += s->a + (s->b == 0 ? 0 : sim_rng_below(&s->rng, s->b + 1));
    if (p->ready < s->at)
        p->ready = s->at;
    s->at = p->ready;
    sim_stage_forward(s, p);
}

void sim_stage_delay(struct sim_link *link, uint64_t delay, uint64_t jitter)
{
    (void)add(link, delay_in, delay, jitter);
}

/* ---- reorder: a = rate, b = ns. A packet is held back while others pass it ------------------------------------------ */

static void reorder_in(struct sim_stage *s, struct sim_packet *p)
{
    if (sim_rng_chance(&s->rng, s->a)) {
        p->ready += 1 + sim_rng_below(&s->rng, s->b);
        s->link->sim->r.reordered++;
    }
    sim_stage_forward(s, p);
}

void sim_stage_reorder(struct sim_link *link, uint64_t rate, uint64_t by)
{
    (void)add(link, reorder_in, rate, by);
}

/* ---- the end of the cable ------------------------------------------------------------------------------------------- */

void sim_packet_arrive(void *object, uint64_t arg)
{
    sim_packet_deliver((struct sim *)(uintptr_t)arg, object);
}

/* The way is chosen now, so that whoever waits for the arrival knows what it will touch. */
static void end_in(struct sim_stage *s, struct sim_packet *p)
{
    p->host = s->link->to_host ? s->link->to : UINT32_MAX;
    p->way = sim_link_way(s->link, p);
    sim_at(s->link->sim, p->ready, sim_packet_arrive, p, (uintptr_t)s->link->sim);
}

void sim_stage_end(struct sim_link *link)
{
    (void)add(link, end_in, 0, 0);
}
