/* SPDX-License-Identifier: Apache-2.0 */
/* Who is hit, and by what. Every rule counts what matches it; the first that hits decides. */
#include "softnic/fault/inject.h"

#include <stdlib.h>

#include "softnic/exec/state.h"
#include "softnic/fault/internal.h"

/* ---- chance and count ---------------------------------------------------------------------------------------- */

/* splitmix64: small, and good enough to choose packets with. */
uint64_t sn_faults_random(struct rule_state *s)
{
    uint64_t z = (s->random += 0x9e3779b97f4a7c15ull);

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

bool sn_faults_in_window(struct sn_faults *f, const struct sn_fault_rule *r)
{
    uint64_t at;

    if (r->from_ns == 0 && r->until_ns == UINT64_MAX)
        return true;
    at = sn_port_now(f->port) - f->began_ns;
    return at >= r->from_ns && at < r->until_ns;
}

bool sn_faults_hit(struct sn_faults *f, uint32_t i)
{
    const struct sn_fault_rule *r = &f->plan.rule[i];
    struct rule_state *s = &f->state[i];
    bool hit;

    s->seen++;
    if (r->nth != 0)
        hit = s->seen >= r->nth && (s->seen - r->nth) % (r->every != 0 ? r->every : 1) == 0;
    else
        hit = r->threshold == UINT64_MAX || sn_faults_random(s) < r->threshold;
    if (!hit || s->hits >= r->limit)
        return false;
    s->hits++;
    return true;
}

/* ---- packets ------------------------------------------------------------------------------------------------- */

static bool part_matches(enum sn_part part, uint8_t flags)
{
    bool first = flags & SN_BURST_FIRST, last = flags & SN_BURST_LAST;

    switch (part) {
    case SN_PART_FIRST:
        return first && !last;
    case SN_PART_MIDDLE:
        return !first && !last;
    case SN_PART_LAST:
        return last && !first;
    case SN_PART_ONLY:
        return first && last;
    default:
        return true;
    }
}

static bool packet_matches(struct sn_faults *f, const struct sn_fault_rule *r, const struct sn_qp *qp, const struct sn_burst *b)
{
    uint32_t kind = b->kind == SN_KIND_ACK && !sn_aeth_is_ack(b->syndrome) ? SN_KINDS_NAK : 1u << b->kind;

    if (!(r->kinds & kind) || !part_matches(r->part, b->flags))
        return false;
    if (r->has_qpn && r->qpn != qp->qpn && r->qpn != b->dqpn && r->qpn != b->sqpn)
        return false;
    return sn_faults_in_window(f, r);
}

/* A link that is down loses everything, whatever else the plan says. */
static bool link_down(struct sn_faults *f, struct sn_qp *qp, const struct sn_burst *b, bool leaves)
{
    bool down = false;

    for (uint32_t i = 0; i < f->plan.count; i++) {
        const struct sn_fault_rule *r = &f->plan.rule[i];
        struct rule_state *s = &f->state[i];
        bool now_down;
        if (r->action != SN_INJECT_LINK_DOWN || !packet_matches(f, r, qp, b))
            continue;
        if (r->nth == 0) {
            now_down = true; /* inside its window */
        } else {
            uint64_t now = sn_port_now(f->port);
            /* In process a packet leaves and arrives at one port: it is counted once. */
            if (leaves && s->down_until == 0 && sn_faults_hit(f, i)) {
                s->down_until = r->down_ns == UINT64_MAX ? UINT64_MAX : now + r->down_ns;
                sn_faults_link(f);
            }
            now_down = now < s->down_until;
        }
        f->counts.injected[SN_INJECT_LINK_DOWN] += now_down && !down;
        down = down || now_down;
    }
    return down;
}

static bool is_request(const struct sn_burst *b)
{
    return b->kind != SN_KIND_ACK && b->kind != SN_KIND_READ_RESPONSE && b->kind != SN_KIND_ATOMIC_ACK &&
           b->kind != SN_KIND_CNP;
}

/* Where no copy can be held, the packet is lost: on a wire that can happen, too. */
static void hold(struct sn_faults *f, struct sn_nic *nic, const struct sn_burst *b, uint64_t ns, uint64_t gap)
{
    if (!sn_hold_packet(f, nic, b, ns, gap))
        f->counts.overflow++;
}

/* True: the packet goes no further now. `nic`: it has arrived there; NULL: it leaves. */
static bool strike(struct sn_faults *f, uint32_t i, struct sn_qp *qp, struct sn_nic *nic, const struct sn_burst *b)
{
    const struct sn_fault_rule *r = &f->plan.rule[i];

    f->counts.injected[r->action]++;
    switch (r->action) {
    case SN_INJECT_DUP:
        hold(f, nic, b, 0, 0);
        return false;
    case SN_INJECT_DELAY:
        hold(f, nic, b, r->hold_ns, 0);
        return true;
    case SN_INJECT_REORDER:
        hold(f, nic, b, r->hold_ns, r->gap);
        return true;
    case SN_INJECT_CORRUPT:
        if (sn_corrupt(f, &f->state[i], b)) {
            f->counts.icrc++;
            return true;
        }
        f->counts.survived++;
        return false;
    case SN_INJECT_RETRY_EXCEEDED:
        qp->fault_hole = true;
        return true;
    default: /* drop, lose-response */
        return true;
    }
}

static bool on_the_way(enum sn_inject action)
{
    return action <= SN_INJECT_RETRY_EXCEEDED;
}

static bool pick(struct sn_faults *f, struct sn_qp *qp, struct sn_nic *nic, const struct sn_burst *b)
{
    uint32_t chosen = UINT32_MAX;

    for (uint32_t i = 0; i < f->plan.count; i++) {
        const struct sn_fault_rule *r = &f->plan.rule[i];
        if (on_the_way(r->action) && r->incoming == (nic != NULL) && packet_matches(f, r, qp, b) && sn_faults_hit(f, i) &&
            chosen == UINT32_MAX)
            chosen = i;
    }
    return chosen != UINT32_MAX && strike(f, chosen, qp, nic, b);
}

void sn_faults_again(struct sn_faults *f, const struct sn_burst *b)
{
    f->again[b->sqpn % SN_AGAIN_SLOTS] = (struct judged){.sqpn = b->sqpn, .psn = b->psn, .kind = b->kind, .valid = true};
}

static bool judged_before(struct sn_faults *f, const struct sn_burst *b)
{
    struct judged *j = &f->again[b->sqpn % SN_AGAIN_SLOTS];
    bool same = j->valid && j->sqpn == b->sqpn && j->psn == b->psn && j->kind == b->kind;

    if (same)
        j->valid = false;
    return same;
}

bool sn_faults_leave(struct sn_faults *f, struct sn_qp *qp, const struct sn_burst *b)
{
    if (f->passing || judged_before(f, b))
        return false;
    f->counts.packets++;
    if (link_down(f, qp, b, true))
        return true;
    if (qp->fault_hole && is_request(b)) { /* whatever this queue asks for never arrives: it runs out of retries */
        f->counts.injected[SN_INJECT_RETRY_EXCEEDED]++;
        return true;
    }
    if (pick(f, qp, NULL, b))
        return true;
    sn_hold_overtaken(f, b);
    return false;
}

/* ---- a responder that refuses -------------------------------------------------------------------------------- */

/*
 * What a peer can do: it refuses the request that it expects next, without executing it. A request that is not the
 * expected one is answered by the protocol's rules, and is not counted.
 */
static bool refuse(struct sn_faults *f, struct sn_qp *qp, const struct sn_burst *b)
{
    uint32_t chosen = UINT32_MAX;

    if (!is_request(b) || b->service != SN_SERVICE_RC || !sn_state_receives(qp->state) || qp->rx.refused ||
        qp->rx_first != NULL || b->psn != qp->rx.epsn)
        return false;
    for (uint32_t i = 0; i < f->plan.count; i++) {
        const struct sn_fault_rule *r = &f->plan.rule[i];
        if ((r->action == SN_INJECT_NAK || r->action == SN_INJECT_RNR) && packet_matches(f, r, qp, b) &&
            sn_faults_hit(f, i) && chosen == UINT32_MAX)
            chosen = i;
    }
    if (chosen == UINT32_MAX)
        return false;
    const struct sn_fault_rule *r = &f->plan.rule[chosen];
    f->counts.injected[r->action]++;
    qp->rx.nak_sent = false; /* the expected request has come; this answer is a new one */
    if (r->action == SN_INJECT_RNR)
        sn_rc_nak(qp, SN_AETH_RNR | (r->code == SN_FAULT_RNR_OF_QP ? qp->params.min_rnr & 0x1f : r->code));
    else if (r->code == SN_AETH_NAK_SEQUENCE)
        sn_rc_nak(qp, SN_AETH_NAK_SEQUENCE);
    else
        sn_rc_nak_fatal(qp, b, r->code, 0);
    return true;
}

bool sn_faults_arrive(struct sn_faults *f, struct sn_qp *qp, const struct sn_burst *b)
{
    if (!f->passing) {
        f->counts.packets++;
        if (link_down(f, qp, b, false) || pick(f, qp, qp->nic, b))
            return true;
    }
    return refuse(f, qp, b);
}

bool sn_faults_arrived_before(const struct sn_faults *f)
{
    return f->arriving_again;
}

/* ---- completions --------------------------------------------------------------------------------------------- */

bool sn_faults_overrun(struct sn_faults *f, const struct sn_cqe_info *info)
{
    bool hit = false;

    f->counts.cqes++;
    for (uint32_t i = 0; i < f->plan.count; i++) {
        const struct sn_fault_rule *r = &f->plan.rule[i];
        if (r->action == SN_INJECT_CQ_OVERRUN && (!r->has_qpn || r->qpn == info->qpn) && sn_faults_in_window(f, r) &&
            sn_faults_hit(f, i))
            hit = true;
    }
    f->counts.injected[SN_INJECT_CQ_OVERRUN] += hit;
    return hit;
}

/* ---- life ---------------------------------------------------------------------------------------------------- */

static void detach(struct sn_port *port)
{
    struct sn_faults *f = port->faults;

    if (f == NULL)
        return;
    f->passing = true;
    sn_hold_end(f, true);
    sn_doorbells_end(f, true);
    sn_faults_link_end(f);
    port->faults = NULL;
    port->burst_bytes = port->burst_most;
    free(f);
}

int sn_port_set_faults(struct sn_port *port, const struct sn_fault_plan *plan, uint64_t seed)
{
    struct sn_faults *f;

    if (plan == NULL) {
        detach(port);
        return 0;
    }
    f = calloc(1, sizeof(*f));
    if (f == NULL)
        return sn_fail(-ENOMEM, "set a fault plan", NULL, 0, "bytes", sizeof(*f));
    detach(port);
    f->port = port;
    f->plan = *plan;
    for (uint32_t i = 0; i < plan->count; i++) {
        f->state[i].random = seed + i;
        f->state[i].random = sn_faults_random(&f->state[i]); /* neighbouring seeds have nothing in common */
    }
    port->now_valid = false;
    f->began_ns = sn_port_now(port);
    port->burst_bytes = 1;
    port->faults = f;
    sn_faults_link_begin(f);
    return 0;
}

void sn_faults_destroy(struct sn_faults *f)
{
    if (f == NULL)
        return;
    sn_hold_end(f, false);
    sn_doorbells_end(f, false);
    free(f);
}

bool sn_port_has_faults(const struct sn_port *port)
{
    return port->faults != NULL;
}

void sn_port_fault_counts(struct sn_port *port, struct sn_fault_counts *out)
{
    *out = (struct sn_fault_counts){0};
    if (port->faults == NULL)
        return;
    *out = port->faults->counts;
    out->held = port->faults->packet_count + port->faults->doorbell_count;
}
