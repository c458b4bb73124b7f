/* SPDX-License-Identifier: Apache-2.0 */
/* Faults at a time, at the n-th packet of a kind, at a rate. A stage of each cable asks those that name it. */
#include <stdlib.h>

#include "sim/internal.h"

static bool in_window(const struct sim_fault *f, uint64_t now)
{
    return now >= f->at && (f->length == 0 || now - f->at < f->length);
}

static bool of_class(enum sim_op_class op, uint8_t kind)
{
    switch (op) {
    case SIM_CLASS_ANY:
        return true;
    case SIM_CLASS_SEND:
        return kind == SN_KIND_SEND;
    case SIM_CLASS_WRITE:
        return kind == SN_KIND_WRITE;
    case SIM_CLASS_READ_REQUEST:
        return kind == SN_KIND_READ_REQUEST;
    case SIM_CLASS_READ_RESPONSE:
        return kind == SN_KIND_READ_RESPONSE;
    case SIM_CLASS_ACK:
        return kind == SN_KIND_ACK;
    case SIM_CLASS_ATOMIC:
        return kind >= SN_KIND_ATOMIC_CS && kind <= SN_KIND_ATOMIC_MASKED_FA;
    case SIM_CLASS_ATOMIC_ACK:
        return kind == SN_KIND_ATOMIC_ACK;
    }
    return false;
}

static bool names_host(const struct sim_fault *f, uint32_t host)
{
    return host >= f->on.first && host <= f->on.last;
}

static bool is_down(const struct sim_fault *f, uint64_t now)
{
    return f->kind == SIM_FAULT_DOWN || (now - f->at) % f->period >= f->up;
}

/* Counts the match, and tells whether the fault acts on it. */
static bool acts(struct sim_fault_state *state, const struct sim_packet *p, uint64_t now)
{
    const struct sim_fault *f = state->fault;

    if (!in_window(f, now) || !of_class(f->op, p->header.kind))
        return false;
    state->matched++;
    if (f->nth != 0 && (state->matched < f->nth || state->matched - f->nth >= f->count))
        return false;
    return sim_rng_chance(&state->rng, f->rate);
}

/* True: the packet is gone. */
static bool act(struct sim_stage *s, struct sim_fault_state *state, struct sim_packet *p)
{
    const struct sim_fault *f = state->fault;
    struct sim *sim = sim_stage_link(s)->sim;
    struct sim_packet *twin;

    if (f->kind == SIM_FAULT_PARTITION) {
        if (!sim_stage_link(s)->from_host || !in_window(f, sim->now) || names_host(f, p->source) == names_host(f, p->target))
            return false;
        sim_packet_lose(sim, p, SIM_LOST_PARTITION);
        return true;
    }
    if (f->kind == SIM_FAULT_DOWN || f->kind == SIM_FAULT_FLAP) {
        if (!in_window(f, sim->now) || !is_down(f, sim->now))
            return false;
        sim_packet_lose(sim, p, SIM_LOST_DOWN);
        return true;
    }
    if (!acts(state, p, sim->now))
        return false;
    switch (f->kind) {
    case SIM_FAULT_DROP:
        sim_packet_lose(sim, p, SIM_LOST_FAULT);
        return true;
    case SIM_FAULT_DUPLICATE:
        twin = sim_packet_clone(sim, p);
        if (twin != NULL) {
            sim->r.duplicated++;
            twin->ready += f->by;
            sim_stage_forward(s, twin);
        }
        return false;
    case SIM_FAULT_CORRUPT:
        sim_packet_corrupt(sim, p, &state->rng);
        return false;
    default:
        p->ready += f->by;
        sim->r.delayed++;
        return false;
    }
}

static void faults_in(struct sim_stage *s, struct sim_packet *p)
{
    for (struct sim_fault_use *use = sim_stage_link(s)->faults; use != NULL; use = use->next)
        if (act(s, use->state, p))
            return;
    sim_stage_forward(s, p);
}

int sim_stage_faults(struct sim_link *link)
{
    return sim_stage_add(link, faults_in, 0, 0);
}

/* ---- life -------------------------------------------------------------------------------------------------------------- */

int sim_faults_create(struct sim *sim)
{
    sim->fault = calloc(sim->sc.faults + 1, sizeof(*sim->fault));
    if (sim->fault == NULL)
        return -ENOMEM;
    for (uint32_t i = 0; i < sim->sc.faults; i++) {
        sim->fault[i].fault = &sim->sc.fault[i];
        sim->fault[i].rng = sim_rng_stream(sim->sc.seed, 0x200000000ull + i);
    }
    return 0;
}

int sim_faults_attach(struct sim *sim, struct sim_link *link)
{
    struct sim_fault_use **last = &link->faults;

    for (uint32_t i = 0; i < sim->sc.faults; i++) {
        const struct sim_fault *f = &sim->sc.fault[i];
        bool concerns = f->kind == SIM_FAULT_PARTITION ? link->from_host : sim_selects(&f->on, link);
        if (!concerns)
            continue;
        *last = calloc(1, sizeof(**last));
        if (*last == NULL)
            return -ENOMEM;
        (*last)->state = &sim->fault[i];
        last = &(*last)->next;
    }
    return 0;
}

void sim_faults_detach(struct sim_link *link)
{
    while (link->faults != NULL) {
        struct sim_fault_use *use = link->faults;
        link->faults = use->next;
        free(use);
    }
}
