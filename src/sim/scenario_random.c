/* SPDX-License-Identifier: Apache-2.0 */
/* Small scenarios drawn under a seed: what the tests run by the thousand, and what `gdaki sim --random` replays. */
#include <string.h>

#include "sim/rng.h"
#include "sim/scenario.h"

static bool one_in(struct sim_rng *rng, uint64_t n)
{
    return sim_rng_below(rng, n) == 0;
}

/* A rate up to 1/n, often none. */
static uint64_t some_rate(struct sim_rng *rng, uint64_t n)
{
    return sim_rng_below(rng, 2) == 0 ? 0 : sim_rng_below(rng, SIM_ALWAYS / n);
}

static void draw_graph(struct sim_scenario *sc, struct sim_rng *rng)
{
    static const enum sim_topology shape[] = {SIM_PAIR, SIM_PAIR, SIM_STAR, SIM_CHAIN, SIM_FAT_TREE};

    sc->topology = shape[sim_rng_below(rng, 5)];
    if (sc->topology == SIM_STAR || sc->topology == SIM_CHAIN)
        sc->nics = (uint32_t)sim_rng_between(rng, 2, 5);
    if (sc->topology == SIM_FAT_TREE) {
        sc->k = 4;
        sc->nics = (uint32_t)sim_rng_between(rng, 2, 8);
        sc->spray = one_in(rng, 2);
    }
    sc->nic_buffer = sim_rng_between(rng, 0, 20000);
}

static void draw_qp(struct sim_qp_params *qp, struct sim_rng *rng)
{
    qp->mtu = 256ull << sim_rng_below(rng, 5);
    qp->timeout = sim_rng_between(rng, 5, 9); /* 131 us to 2 ms */
    qp->retry = one_in(rng, 4) ? sim_rng_below(rng, 8) : 7;
    qp->rnr_retry = one_in(rng, 6) ? sim_rng_below(rng, 7) : 7;
    qp->min_rnr = sim_rng_between(rng, 1, 12);
    qp->rd_atomic = 1ull << sim_rng_below(rng, 5);
    qp->psn = one_in(rng, 3) ? 0xffffff - sim_rng_below(rng, 40) : SIM_PSN_RANDOM;
}

static void draw_link(struct sim_rule *rule, struct sim_rng *rng)
{
    static const uint64_t rates[] = {0, 1000000000, 10000000000, 100000000000, 400000000000};
    struct sim_link_params *p = &rule->p;

    p->rate = rates[sim_rng_below(rng, 5)];
    p->delay = sim_rng_below(rng, 20000);
    p->jitter = one_in(rng, 3) ? sim_rng_below(rng, 5000) : 0;
    p->queue = sim_rng_between(rng, 10000, 300000);
    p->ecn = one_in(rng, 3) ? sim_rng_between(rng, 1, 20000) : 0;
    p->loss = some_rate(rng, 12);
    p->loss_burst = one_in(rng, 4) ? sim_rng_between(rng, 2, 6) : 1;
    p->duplicate = some_rate(rng, 8);
    p->corrupt = some_rate(rng, 25);
    p->reorder = some_rate(rng, 8);
    p->reorder_by = sim_rng_between(rng, 1, 40000);
}

static void draw_fault(struct sim_scenario *sc, struct sim_rng *rng)
{
    struct sim_fault *f = &sc->fault[sc->faults++];

    *f = (struct sim_fault){.kind = (enum sim_fault_kind)sim_rng_below(rng, SIM_FAULT_PARTITION + 1),
                            .op = (enum sim_op_class)sim_rng_below(rng, SIM_CLASS_ATOMIC_ACK + 1),
                            .at = sim_rng_below(rng, 200000),
                            .length = one_in(rng, 2) ? 0 : sim_rng_between(rng, 1000, 3000000),
                            .nth = one_in(rng, 3) ? 0 : sim_rng_between(rng, 1, 10),
                            .count = sim_rng_between(rng, 1, 3),
                            .rate = one_in(rng, 2) ? SIM_ALWAYS : SIM_ALWAYS / 8,
                            .by = sim_rng_below(rng, 500000),
                            .period = sim_rng_between(rng, 20000, 400000)};
    f->up = sim_rng_below(rng, f->period);
    if (f->kind == SIM_FAULT_PARTITION || one_in(rng, 2))
        f->on = (struct sim_selector){.kind = SIM_ON_NICS, .first = 0, .last = (uint32_t)sim_rng_below(rng, sc->nics)};
    if (f->kind >= SIM_FAULT_DOWN && f->length == 0)
        f->length = sim_rng_between(rng, 1000, 20000000);
}

static void draw_workload(struct sim_scenario *sc, struct sim_rng *rng)
{
    struct sim_workload *w = &sc->workload[sc->workloads++];
    uint64_t mtu = sc->qp.mtu;

    *w = (struct sim_workload){.pattern = (enum sim_pattern)sim_rng_below(rng, SIM_RANDOM + 1),
                               .messages = sim_rng_between(rng, 1, 24),
                               .size_max = one_in(rng, 3) ? sim_rng_below(rng, 64) : sim_rng_below(rng, 5 * mtu),
                               .depth = sim_rng_between(rng, 1, 20),
                               .connections = sim_rng_between(rng, 1, 2),
                               .window = sim_rng_between(rng, 1, 2),
                               .both_ways = one_in(rng, 2),
                               .receives = sim_rng_between(rng, 1, 20),
                               .receive_delay = one_in(rng, 3) ? sim_rng_below(rng, 50000) : 0};
    w->size_min = one_in(rng, 2) ? w->size_max : sim_rng_below(rng, w->size_max + 1);
    for (unsigned i = 0; i < SIM_OPS; i++)
        w->mix[i] = (uint32_t)sim_rng_below(rng, 4);
    w->mix[sim_rng_below(rng, SIM_OPS)] += 1;
}

/* The same on unreliable connections, with what they can do. */
static void make_unreliable(struct sim_scenario *sc)
{
    sc->qp.service = SIM_UC;
    for (uint32_t i = 0; i < sc->workloads; i++) {
        uint32_t *mix = sc->workload[i].mix;
        memset(mix + SIM_OP_READ, 0, (SIM_OPS - SIM_OP_READ) * sizeof(mix[0]));
        mix[SIM_OP_WRITE] += 1;
    }
}

void sim_scenario_random(uint64_t seed, struct sim_scenario *sc)
{
    struct sim_rng rng = sim_rng_stream(seed, 0x600000000ull);

    sim_scenario_init(sc);
    sc->seed = seed;
    sc->mode = one_in(&rng, 3) ? SIM_MODE_FRAMES : SIM_MODE_PACKETS;
    sc->expect = SIM_EXPECT_ANY;
    draw_graph(sc, &rng);
    draw_qp(&sc->qp, &rng);
    draw_link(&sc->rule[0], &rng);
    for (uint64_t n = sim_rng_below(&rng, 4); n != 0; n--)
        draw_fault(sc, &rng);
    for (uint64_t n = sim_rng_between(&rng, 1, 2); n != 0; n--)
        draw_workload(sc, &rng);
    if (one_in(&rng, 6))
        make_unreliable(sc);
}
