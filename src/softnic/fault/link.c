/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A link-down rule that spares nobody (no qpn, no kind) is the port's own state: it is told as an event, and again when the
 * link comes back. Packets are judged one by one in inject.c; this is only what a program hears of it.
 */
#include "softnic/fault/internal.h"

/* Is the rule in force now, and when does that change next (ns, UINT64_MAX: never)? */
static bool in_force(const struct sn_faults *f, uint32_t i, uint64_t now, uint64_t *change)
{
    const struct sn_fault_rule *r = &f->plan.rule[i];
    const struct rule_state *s = &f->state[i];
    uint64_t from = f->began_ns + r->from_ns;
    uint64_t until = r->until_ns == UINT64_MAX ? UINT64_MAX : f->began_ns + r->until_ns;

    if (r->nth != 0) {
        from = 0;
        until = s->down_until;
    }
    *change = now < from ? from : now < until ? until : UINT64_MAX;
    return now >= from && now < until;
}

void sn_faults_link(struct sn_faults *f)
{
    uint64_t now = sn_port_now(f->port), next = UINT64_MAX;
    bool down = false;

    for (uint32_t i = 0; i < f->plan.count; i++) {
        uint64_t change;
        if (!sn_fault_rule_is_link(&f->plan.rule[i]))
            continue;
        down |= in_force(f, i, now, &change);
        if (change < next)
            next = change;
    }
    sn_timer_cancel(&f->port->wheel, &f->link_timer);
    if (next != UINT64_MAX)
        sn_timer_arm(&f->port->wheel, &f->link_timer, next);
    if (down != f->port->link_down)
        sn_port_tell_link(f->port, !down);
}

static void fire(struct sn_timer *timer)
{
    sn_faults_link((struct sn_faults *)(void *)((char *)timer - offsetof(struct sn_faults, link_timer)));
}

void sn_faults_link_begin(struct sn_faults *f)
{
    f->link_timer.fire = fire;
    sn_faults_link(f);
}

void sn_faults_link_end(struct sn_faults *f)
{
    sn_timer_cancel(&f->port->wheel, &f->link_timer);
    if (f->port->link_down)
        sn_port_tell_link(f->port, true);
}
