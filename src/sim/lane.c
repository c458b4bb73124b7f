/* SPDX-License-Identifier: Apache-2.0 */
/* Workloads: who talks to whom, and how many at a time. */
#include <stdlib.h>

#include "sim/internal.h"

static uint64_t steps_of(const struct sim_scenario *sc, const struct sim_workload *w, uint32_t host)
{
    switch (w->pattern) {
    case SIM_ALL_TO_ALL:
        return (sc->nics - 1) * w->connections;
    case SIM_PAIRS:
        return host < sc->nics / 2 ? w->connections : 0;
    case SIM_INCAST:
        return host == 0 ? 0 : w->connections;
    default:
        return w->connections;
    }
}

/* Whom the lane's next connection is to. All-to-all: host h starts with h + 1, so that no host is everybody's first. */
static uint32_t target_of(const struct sim *sim, struct sim_lane *lane)
{
    uint32_t n = sim->sc.nics, host = lane->host, pick;

    switch (lane->workload->pattern) {
    case SIM_ALL_TO_ALL:
        return (host + 1 + (uint32_t)(lane->step % (n - 1))) % n;
    case SIM_PAIRS:
        return host + n / 2;
    case SIM_RING:
        return (host + 1) % n;
    case SIM_INCAST:
        return 0;
    default:
        pick = (uint32_t)sim_rng_below(&lane->rng, n - 1);
        return pick + (pick >= host);
    }
}

void sim_lane_fill(struct sim *sim, struct sim_lane *lane)
{
    while (lane->step < lane->steps && lane->active < lane->workload->window && sim->error == 0) {
        uint32_t target = target_of(sim, lane);
        lane->step++;
        lane->active++;
        sim_conn_open(sim, lane, lane->host, target);
    }
}

const struct sim_host *sim_lane_next(struct sim *sim, const struct sim_lane *lane)
{
    struct sim_lane copy = *lane; /* drawing a number moves it on */

    return lane->step == lane->steps ? NULL : &sim->host[target_of(sim, &copy)];
}

int sim_lanes_create(struct sim *sim)
{
    uint32_t n = 0;

    sim->lane = calloc((size_t)sim->sc.nics * sim->sc.workloads + 1, sizeof(*sim->lane));
    if (sim->lane == NULL)
        return -ENOMEM;
    for (uint32_t w = 0; w < sim->sc.workloads; w++)
        for (uint32_t h = 0; h < sim->sc.nics; h++, n++)
            sim->lane[n] = (struct sim_lane){.workload = &sim->sc.workload[w],
                                             .host = h,
                                             .steps = steps_of(&sim->sc, &sim->sc.workload[w], h),
                                             .rng = sim_rng_stream(sim->sc.seed, 0x500000000ull + n)};
    sim->lanes = n;
    return 0;
}
