/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/scenario.h"

#include <stdlib.h>
#include <string.h>

/* A pair on 100 Gb/s and half a microsecond; a timeout of 67 ms would make every loss dear, so it is 1 ms. */
void sim_scenario_init(struct sim_scenario *sc)
{
    memset(sc, 0, sizeof(*sc));
    sc->seed = 1;
    sc->plant_nth = 1;
    sc->duration = 10000000000ull;
    sc->topology = SIM_PAIR;
    sc->nics = 2;
    sc->nic_buffer = 16384;
    sc->qp = (struct sim_qp_params){
        .mtu = 1024, .timeout = 8, .retry = 7, .rnr_retry = 7, .min_rnr = 12, .rd_atomic = 16, .psn = SIM_PSN_RANDOM};
    sc->rules = 1;
    sc->rule[0] = (struct sim_rule){.on = {.kind = SIM_ON_ALL}, .given = (1u << (sizeof(struct sim_link_params) / 8)) - 1};
    sc->rule[0].p = (struct sim_link_params){
        .rate = 100000000000ull, .delay = 500, .queue = 262144, .loss_burst = 1, .reorder_by = 10000};
}

void sim_scenario_free(struct sim_scenario *sc)
{
    free(sc->cable);
    sc->cable = NULL;
    sc->cables = 0;
}
