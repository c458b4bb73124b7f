/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cables, switches and the ways between them. A switch sends a packet along any of the cables that bring it nearer to its
 * host: one for a flow, chosen by a hash as switches do, or one for each packet (`spray`).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/internal.h"

enum { NOWHERE = UINT16_MAX };

/* ---- which cables there are ------------------------------------------------------------------------------------ */

struct plan {
    struct sim_cable *cable;
    uint32_t count, room, switches;
    int error;
};

static struct sim_node_name host_name(uint32_t n)
{
    return (struct sim_node_name){.is_switch = false, .number = n};
}

static struct sim_node_name switch_name(uint32_t n)
{
    return (struct sim_node_name){.is_switch = true, .number = n};
}

static void add(struct plan *plan, struct sim_node_name a, struct sim_node_name b)
{
    if (plan->count == plan->room) {
        uint32_t room = plan->room == 0 ? 64 : plan->room * 2;
        struct sim_cable *cable = realloc(plan->cable, room * sizeof(*cable));
        if (cable == NULL) {
            plan->error = -ENOMEM;
            return;
        }
        plan->cable = cable;
        plan->room = room;
    }
    plan->cable[plan->count++] = (struct sim_cable){a, b};
}

/* A k-ary fat tree: k pods of k/2 edge and k/2 aggregation switches, (k/2)^2 core switches; hosts fill edge after edge. */
static void plan_fat_tree(struct plan *plan, uint32_t k, uint32_t nics)
{
    uint32_t half = k / 2, edges = k * half, cores = half * half;

    plan->switches = 2 * edges + cores;
    for (uint32_t i = 0; i < nics; i++)
        add(plan, host_name(i), switch_name(i / half));
    for (uint32_t pod = 0; pod < k; pod++)
        for (uint32_t a = 0; a < half; a++) {
            uint32_t up = edges + pod * half + a;
            for (uint32_t e = 0; e < half; e++)
                add(plan, switch_name(pod * half + e), switch_name(up));
            for (uint32_t c = 0; c < half; c++)
                add(plan, switch_name(up), switch_name(2 * edges + a * half + c));
        }
}

static void plan_cables(const struct sim_scenario *sc, struct plan *plan)
{
    plan->switches = sc->topology == SIM_STAR ? 1 : sc->topology == SIM_CHAIN ? sc->nics : 0;
    switch (sc->topology) {
    case SIM_PAIR:
        add(plan, host_name(0), host_name(1));
        break;
    case SIM_STAR:
        for (uint32_t i = 0; i < sc->nics; i++)
            add(plan, host_name(i), switch_name(0));
        break;
    case SIM_CHAIN:
        for (uint32_t i = 0; i < sc->nics; i++)
            add(plan, host_name(i), switch_name(i));
        for (uint32_t i = 0; i + 1 < sc->nics; i++)
            add(plan, switch_name(i), switch_name(i + 1));
        break;
    case SIM_FAT_TREE:
        plan_fat_tree(plan, sc->k, sc->nics);
        break;
    case SIM_GRAPH:
        plan->switches = sc->switches;
        for (uint32_t i = 0; i < sc->cables; i++)
            add(plan, sc->cable[i].a, sc->cable[i].b);
        break;
    }
}

/* ---- cables ------------------------------------------------------------------------------------------------------ */

bool sim_selects(const struct sim_selector *on, const struct sim_link *link)
{
    bool host = link->from_host || link->to_host;

    switch (on->kind) {
    case SIM_ON_ALL:
        return true;
    case SIM_ON_HOST:
        return host;
    case SIM_ON_CORE:
        return !host;
    case SIM_ON_NICS:
        return (link->from_host && link->from >= on->first && link->from <= on->last) ||
               (link->to_host && link->to >= on->first && link->to <= on->last);
    case SIM_ON_SWITCHES:
        return (!link->from_host && link->from >= on->first && link->from <= on->last) ||
               (!link->to_host && link->to >= on->first && link->to <= on->last);
    }
    return false;
}

/* Later lines win, field by field. */
static struct sim_link_params params_of(const struct sim *sim, const struct sim_link *link)
{
    struct sim_link_params p = {0};

    for (uint32_t i = 0; i < sim->sc.rules; i++) {
        const struct sim_rule *rule = &sim->sc.rule[i];
        const uint64_t *from = (const uint64_t *)&rule->p;
        uint64_t *to = (uint64_t *)&p;
        for (unsigned f = 0; sim_selects(&rule->on, link) && f < sizeof(p) / sizeof(uint64_t); f++)
            if (rule->given & (1u << f))
                to[f] = from[f];
    }
    return p;
}

/* First the wait for the cable, then what happens on it. */
static int build_stages(struct sim *sim, struct sim_link *link)
{
    struct sim_link_params p = params_of(sim, link);
    int ret = sim_faults_attach(sim, link);

    if (ret == 0 && p.rate != 0)
        ret = sim_stage_queue(link, p.rate, link->from_host ? 0 : p.queue, p.ecn);
    if (ret == 0 && (p.delay != 0 || p.jitter != 0))
        ret = sim_stage_delay(link, p.delay, p.jitter);
    if (ret == 0 && p.reorder != 0)
        ret = sim_stage_reorder(link, p.reorder, p.reorder_by);
    if (ret == 0 && p.loss != 0)
        ret = sim_stage_loss(link, p.loss, p.loss_burst);
    if (ret == 0 && p.corrupt != 0)
        ret = sim_stage_corrupt(link, p.corrupt);
    if (ret == 0 && p.duplicate != 0)
        ret = sim_stage_duplicate(link, p.duplicate);
    if (ret == 0 && link->faults != NULL)
        ret = sim_stage_faults(link);
    return ret == 0 ? sim_stage_end(link) : ret;
}

static int create_links(struct sim *sim, const struct plan *plan)
{
    sim->links = 2 * plan->count;
    sim->link = aligned_alloc(_Alignof(struct sim_link), (sim->links + 1u) * sizeof(*sim->link));
    if (sim->link == NULL)
        return -ENOMEM;
    memset(sim->link, 0, sim->links * sizeof(*sim->link));
    for (uint32_t i = 0; i < sim->links; i++) {
        const struct sim_cable *c = &plan->cable[i / 2];
        const struct sim_node_name *from = i & 1 ? &c->b : &c->a, *to = i & 1 ? &c->a : &c->b;
        sim->link[i] = (struct sim_link){.sim = sim,
                                         .number = i,
                                         .from_host = !from->is_switch,
                                         .to_host = !to->is_switch,
                                         .from = from->number,
                                         .to = to->number};
        if (build_stages(sim, &sim->link[i]) != 0)
            return -ENOMEM;
    }
    return 0;
}

/* ---- ways ----------------------------------------------------------------------------------------------------------- */

static bool is_core(const struct sim_link *link)
{
    return !link->from_host && !link->to_host;
}

static int create_switches(struct sim *sim, uint32_t switches)
{
    sim->sc.switches = switches;
    sim->sw = calloc(switches + 1u, sizeof(*sim->sw));
    sim->home = malloc((sim->sc.nics + 1u) * sizeof(*sim->home));
    sim->down = calloc(sim->sc.nics + 1u, sizeof(*sim->down));
    if (sim->sw == NULL || sim->home == NULL || sim->down == NULL)
        return -ENOMEM;
    memset(sim->home, 0xff, (sim->sc.nics + 1u) * sizeof(*sim->home));
    for (uint32_t i = 0; i < sim->links; i++)
        if (is_core(&sim->link[i]))
            sim->sw[sim->link[i].from].ports++;
    for (uint32_t i = 0; i < switches; i++) {
        sim->sw[i].out = calloc(sim->sw[i].ports + 1u, sizeof(*sim->sw[i].out));
        sim->sw[i].to = calloc(sim->sw[i].ports + 1u, sizeof(*sim->sw[i].to));
        if (sim->sw[i].out == NULL || sim->sw[i].to == NULL)
            return -ENOMEM;
        sim->sw[i].ports = 0;
    }
    for (uint32_t i = 0; i < sim->links; i++) {
        struct sim_link *link = &sim->link[i];
        if (is_core(link)) {
            sim->sw[link->from].to[sim->sw[link->from].ports] = link->to;
            sim->sw[link->from].out[sim->sw[link->from].ports++] = link;
        } else if (!link->from_host)
            sim->down[link->to] = link;
        else if (!link->to_host)
            sim->home[link->from] = link->to;
    }
    return 0;
}

/* Hops from each switch to `to`, breadth first. `queue` has room for all switches. */
static void measure(struct sim *sim, uint32_t to, uint32_t *queue)
{
    uint16_t *distance = sim->distance + (size_t)to * sim->sc.switches;
    uint32_t head = 0, tail = 0;

    for (uint32_t i = 0; i < sim->sc.switches; i++)
        distance[i] = NOWHERE;
    distance[to] = 0;
    queue[tail++] = to;
    while (head != tail) {
        const struct sim_switch *sw = &sim->sw[queue[head]];
        uint16_t next = (uint16_t)(distance[queue[head++]] + 1);
        for (uint32_t p = 0; p < sw->ports; p++)
            if (distance[sw->to[p]] == NOWHERE) {
                distance[sw->to[p]] = next;
                queue[tail++] = sw->to[p];
            }
    }
}

static int find_ways(struct sim *sim)
{
    uint32_t n = sim->sc.switches;
    uint32_t *queue = malloc((n + 1u) * sizeof(*queue));

    sim->distance = malloc(((size_t)n * n + 1) * sizeof(*sim->distance));
    if (queue == NULL || sim->distance == NULL) {
        free(queue);
        return -ENOMEM;
    }
    for (uint32_t to = 0; to < n; to++)
        measure(sim, to, queue);
    free(queue);
    return 0;
}

static int check_ways(const struct sim *sim, char *why)
{
    for (uint32_t i = 1; i < sim->sc.nics && sim->sc.topology != SIM_PAIR; i++)
        if (sim->home[i] == UINT32_MAX || sim->home[0] == UINT32_MAX ||
            sim->distance[(size_t)sim->home[i] * sim->sc.switches + sim->home[0]] == NOWHERE) {
            snprintf(why, SIM_WHY_SIZE, "no way from nic0 to nic%u", i);
            return -EINVAL;
        }
    return 0;
}

struct sim_link *sim_link_way(const struct sim_link *link, const struct sim_packet *p)
{
    enum { MOST = 64 };
    const struct sim *sim = link->sim;
    const struct sim_switch *sw = &sim->sw[link->to];
    uint32_t at = link->to, home = sim->home[p->target], equal = 0;
    const uint16_t *distance = sim->distance + (size_t)home * sim->sc.switches;
    uint64_t key = p->flow;
    uint32_t way[MOST];

    if (link->to_host)
        return NULL;
    if (at == home)
        return sim->down[p->target];
    for (uint32_t i = 0; i < sw->ports && equal < MOST; i++) {
        way[equal] = i;
        equal += distance[sw->to[i]] + 1 == distance[at];
    }
    if (equal <= 1)
        return equal == 0 ? NULL : sw->out[way[0]];
    if (sim->sc.spray)
        key += (uint64_t)p->ip_id << 32;
    return sw->out[way[(uint32_t)sim_mix(key + ((uint64_t)at << 48)) % equal]];
}

/* ---- packets --------------------------------------------------------------------------------------------------------- */

void sim_link_send(struct sim_link *link, struct sim_packet *p)
{
    p->ready = link->sim->now;
    link->stage[0].kind->in(&link->stage[0], p);
}

/* The cable behind it is not looked at: it is out of the cache by now. */
void sim_packet_deliver(struct sim *sim, struct sim_packet *p)
{
    if (p->host != UINT32_MAX)
        sim_host_receive(&sim->host[p->host], p);
    else if (p->way != NULL)
        sim_link_send(p->way, p);
    else
        sim_packet_lose(sim, p, SIM_LOST_FORMAT);
}

/* ---- life --------------------------------------------------------------------------------------------------------------- */

int sim_network_create(struct sim *sim, char *why)
{
    struct plan plan = {0};
    int ret;

    plan_cables(&sim->sc, &plan);
    ret = plan.error;
    if (ret == 0)
        ret = sim_faults_create(sim);
    if (ret == 0)
        ret = create_links(sim, &plan);
    if (ret == 0)
        ret = create_switches(sim, plan.switches);
    if (ret == 0)
        ret = find_ways(sim);
    free(plan.cable);
    if (ret != 0) {
        snprintf(why, SIM_WHY_SIZE, "no memory for %u cables", plan.count);
        return ret;
    }
    for (uint32_t i = 0; i < sim->links; i++)
        if (sim->link[i].from_host)
            sim->host[sim->link[i].from].out = &sim->link[i];
    return check_ways(sim, why);
}

void sim_network_free(struct sim *sim)
{
    for (uint32_t i = 0; sim->link != NULL && i < sim->links; i++)
        sim_faults_detach(&sim->link[i]);
    for (uint32_t i = 0; sim->sw != NULL && i < sim->sc.switches; i++) {
        free(sim->sw[i].out);
        free(sim->sw[i].to);
    }
    free(sim->link);
    sim_stage_kinds_free(sim);
    free(sim->sw);
    free(sim->home);
    free(sim->down);
    free(sim->distance);
    free(sim->fault);
}
