/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stages: each does one thing to the packets of a cable's one direction and hands them to the next. Those before the
 * delay work on a packet at the time in `ready`; only the last one waits, so a packet costs one event a cable.
 */
#include <stdlib.h>

#include "sim/internal.h"

/* One that another link has already, if there is: what is the same for all is in the cache. */
static const struct sim_stage_kind *kind_of(struct sim *sim, const struct sim_stage_kind *wanted)
{
    struct sim_stage_kind *kind = sim->stage_kinds;

    while (kind != NULL && (kind->in != wanted->in || kind->a != wanted->a || kind->b != wanted->b || kind->place != wanted->place))
        kind = kind->next;
    if (kind != NULL)
        return kind;
    kind = malloc(sizeof(*kind));
    if (kind == NULL)
        return NULL;
    *kind = *wanted;
    kind->next = sim->stage_kinds;
    sim->stage_kinds = kind;
    return kind;
}

void sim_stage_kinds_free(struct sim *sim)
{
    while (sim->stage_kinds != NULL) {
        struct sim_stage_kind *kind = sim->stage_kinds;
        sim->stage_kinds = kind->next;
        free(kind);
    }
}

int sim_stage_add(struct sim_link *link, void (*in)(struct sim_stage *, struct sim_packet *), uint64_t a, uint64_t b)
{
    struct sim_stage_kind wanted = {.in = in, .a = a, .b = b, .place = link->stages};
    struct sim_stage *s = &link->stage[link->stages];

    *s = (struct sim_stage){.kind = kind_of(link->sim, &wanted)};
    if (s->kind == NULL)
        return -ENOMEM;
    link->stages++;
    return 0;
}

/* With a random stream of its own. */
static int add(struct sim_link *link, void (*in)(struct sim_stage *, struct sim_packet *), uint64_t a, uint64_t b)
{
    struct sim_rng rng = sim_rng_stream(link->sim->sc.seed, 0x100000000ull + link->sim->stages++);
    int ret = sim_stage_add(link, in, a, b);

    if (ret == 0)
        link->stage[link->stages - 1].rng = rng;
    return ret;
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
    if (s->kind->b <= 1) {
        s->bad = sim_rng_chance(&s->rng, s->kind->a);
    } else if (s->bad) {
        s->bad = !sim_rng_chance(&s->rng, SIM_ALWAYS / s->kind->b);
    } else {
        uint64_t good = SIM_ALWAYS - s->kind->a;
        s->bad = good == 0 || sim_rng_chance(&s->rng, (uint64_t)(((unsigned __int128)s->kind->a << 32) / s->kind->b / good));
    }
    if (s->bad)
        sim_packet_lose(sim_stage_link(s)->sim, p, SIM_LOST_LOSS);
    else
        sim_stage_forward(s, p);
}

int sim_stage_loss(struct sim_link *link, uint64_t rate, uint64_t burst)
{
    return add(link, loss_in, rate, burst);
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
    if (sim_rng_chance(&s->rng, s->kind->a))
        sim_packet_corrupt(sim_stage_link(s)->sim, p, &s->rng);
    sim_stage_forward(s, p);
}

int sim_stage_corrupt(struct sim_link *link, uint64_t rate)
{
    return add(link, corrupt_in, rate, 0);
}

/* ---- duplicate: a = rate ----------------------------------------------------------------------------------------- */

static void duplicate_in(struct sim_stage *s, struct sim_packet *p)
{
    struct sim_packet *twin = sim_rng_chance(&s->rng, s->kind->a) ? sim_packet_clone(sim_stage_link(s)->sim, p) : NULL;

    sim_stage_forward(s, p);
    if (twin != NULL) {
        sim_stage_link(s)->sim->r.duplicated++;
        sim_stage_forward(s, twin);
    }
}

int sim_stage_duplicate(struct sim_link *link, uint64_t rate)
{
    return add(link, duplicate_in, rate, 0);
}

/* ---- queue: a = bits a second, b = bytes that may wait (high half: from how many on packets are marked) ---------- */

/* In ns, rounded up: a cable is never faster than its rate. */
static uint64_t time_of(uint64_t bytes, uint64_t rate)
{
    return (uint64_t)(((unsigned __int128)bytes * 8u * 1000000000u + rate - 1) / rate);
}

static uint64_t backlog(const struct sim_stage *s)
{
    uint64_t now = sim_stage_link(s)->sim->now;

    return s->at <= now ? 0 : (uint64_t)((unsigned __int128)(s->at - now) * s->kind->a / 8 / 1000000000u);
}

static void queue_in(struct sim_stage *s, struct sim_packet *p)
{
    const struct sim_link *link = sim_stage_link(s);
    uint64_t waiting = backlog(s), limit = (uint32_t)s->kind->b, ecn = s->kind->b >> 32;
    uint64_t start = s->at > p->ready ? s->at : p->ready;

    if (limit != 0 && waiting + p->wire_bytes > limit) {
        sim_packet_lose(link->sim, p, SIM_LOST_QUEUE);
        return;
    }
    if (waiting + p->wire_bytes > link->sim->r.queue_peak && !link->from_host)
        link->sim->r.queue_peak = waiting + p->wire_bytes;
    if (ecn != 0 && waiting >= ecn)
        sim_packet_mark(link->sim, p);
    s->at = p->ready = start + time_of(p->wire_bytes, s->kind->a);
    sim_stage_forward(s, p);
}

int sim_stage_queue(struct sim_link *link, uint64_t rate, uint64_t limit, uint64_t ecn)
{
    link->queues = true;
    return add(link, queue_in, rate, ecn << 32 | (uint32_t)limit);
}

uint64_t sim_link_backlog(const struct sim_link *link)
{
    return link->queues ? backlog(&link->stage[0]) : 0;
}

uint64_t sim_link_drained(const struct sim_link *link, uint64_t bytes)
{
    const struct sim_stage *s = &link->stage[0];
    uint64_t lead = link->queues ? time_of(bytes, s->kind->a) : 0;

    if (!link->queues || s->at <= link->sim->now + lead)
        return link->sim->now;
    return s->at - lead;
}

/* ---- delay: a = propagation, b = jitter, both ns. Order is kept ---------------------------------------------------- */

static void delay_in(struct sim_stage *s, struct sim_packet *p)
{
    p->ready += s->kind->a + (s->kind->b == 0 ? 0 : sim_rng_below(&s->rng, s->kind->b + 1));
    if (p->ready < s->at)
        p->ready = s->at;
    s->at = p->ready;
    sim_stage_forward(s, p);
}

int sim_stage_delay(struct sim_link *link, uint64_t delay, uint64_t jitter)
{
    return add(link, delay_in, delay, jitter);
}

/* ---- reorder: a = rate, b = ns. A packet is held back while others pass it ------------------------------------------ */

static void reorder_in(struct sim_stage *s, struct sim_packet *p)
{
    if (sim_rng_chance(&s->rng, s->kind->a)) {
        p->ready += 1 + sim_rng_below(&s->rng, s->kind->b);
        sim_stage_link(s)->sim->r.reordered++;
    }
    sim_stage_forward(s, p);
}

int sim_stage_reorder(struct sim_link *link, uint64_t rate, uint64_t by)
{
    return add(link, reorder_in, rate, by);
}

/* ---- the end of the cable ------------------------------------------------------------------------------------------- */

void sim_packet_arrive(void *object, uint64_t arg)
{
    sim_packet_deliver((struct sim *)(uintptr_t)arg, object);
}

/* The way is chosen now, so that whoever waits for the arrival knows what it will touch. */
static void end_in(struct sim_stage *s, struct sim_packet *p)
{
    const struct sim_link *link = sim_stage_link(s);

    p->host = link->to_host ? link->to : UINT32_MAX;
    p->way = sim_link_way(link, p);
    sim_at(link->sim, p->ready, sim_packet_arrive, p, (uintptr_t)link->sim);
}

int sim_stage_end(struct sim_link *link)
{
    return add(link, end_in, 0, 0);
}
