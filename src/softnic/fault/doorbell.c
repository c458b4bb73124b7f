/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Doorbells that nobody sees, or sees later. A lost one is lost for good: the next doorbell, or the record that is looked
 * at with it, tells what it would have told. A delayed one is seen after a time. A merged one is overwritten by the next
 * before it is seen, or seen after a time when no next one comes.
 */
#include <stdlib.h>

#include "softnic/exec/doorbell.h"
#include "softnic/fault/internal.h"

static void release(struct held_doorbell *h)
{
    *h->link = h->next;
    if (h->next != NULL)
        h->next->link = h->link;
    sn_timer_cancel(&h->faults->port->wheel, &h->timer);
    h->faults->doorbell_count--;
    free(h);
}

static void see(const struct held_doorbell *h)
{
    for (struct sn_nic *nic = h->faults->port->nics; nic != NULL; nic = nic->next) {
        struct sn_uar_object *uar = nic == h->nic ? sn_table_get(&nic->uars, h->uar) : NULL;
        if (uar != NULL)
            sn_uar_rung(uar, (enum sn_reg_kind)h->kind, h->value);
    }
}

static void fire(struct sn_timer *timer)
{
    struct held_doorbell *h = (struct held_doorbell *)((char *)timer - offsetof(struct held_doorbell, timer));

    see(h);
    release(h);
}

static bool hold(struct sn_faults *f, const struct sn_uar_object *uar, int kind, uint64_t value,
                 const struct sn_fault_rule *r)
{
    struct held_doorbell *h = f->doorbell_count < SN_HOLD_DOORBELLS ? calloc(1, sizeof(*h)) : NULL;

    if (h == NULL)
        return false;
    h->faults = f;
    h->nic = uar->nic;
    h->uar = uar->index;
    h->kind = kind;
    h->value = value;
    h->gap = r->action == SN_INJECT_DOORBELL_MERGED ? r->gap : 0;
    h->timer.fire = fire;
    h->next = f->doorbells;
    h->link = &f->doorbells;
    if (h->next != NULL)
        h->next->link = &h->next;
    f->doorbells = h;
    f->doorbell_count++;
    sn_timer_arm(&f->port->wheel, &h->timer, sn_port_now(f->port) + r->hold_ns);
    return true;
}

enum merge { NONE_WAITS, WAITS_ON, IS_DUE };

/* A doorbell that waits to be merged with this one is overwritten by it. */
static enum merge merge(struct sn_faults *f, const struct sn_uar_object *uar, int kind, uint64_t value)
{
    for (struct held_doorbell *h = f->doorbells; h != NULL; h = h->next)
        if (h->gap != 0 && h->nic == uar->nic && h->uar == uar->index && h->kind == kind) {
            if (--h->gap != 0) {
                h->value = value;
                return WAITS_ON;
            }
            release(h);
            return IS_DUE;
        }
    return NONE_WAITS;
}

static bool is_doorbell(enum sn_inject action)
{
    return action == SN_INJECT_DOORBELL_LOST || action == SN_INJECT_DOORBELL_DELAYED || action == SN_INJECT_DOORBELL_MERGED;
}

bool sn_faults_doorbell(struct sn_faults *f, struct sn_uar_object *uar, int kind, uint64_t value)
{
    struct sn_doorbell db;
    uint32_t chosen = UINT32_MAX;

    f->counts.doorbells++;
    switch (merge(f, uar, kind, value)) {
    case WAITS_ON:
        return true;
    case IS_DUE:
        return false;
    default:
        break;
    }
    if (!sn_doorbell_parse(value, &db))
        return false;
    for (uint32_t i = 0; i < f->plan.count; i++) {
        const struct sn_fault_rule *r = &f->plan.rule[i];
        if (is_doorbell(r->action) && (!r->has_qpn || r->qpn == db.qpn) && sn_faults_in_window(f, r) &&
            sn_faults_hit(f, i) && chosen == UINT32_MAX)
            chosen = i;
    }
    if (chosen == UINT32_MAX)
        return false;
    f->counts.injected[f->plan.rule[chosen].action]++;
    if (f->plan.rule[chosen].action == SN_INJECT_DOORBELL_LOST)
        return true;
    if (hold(f, uar, kind, value, &f->plan.rule[chosen]))
        return true;
    f->counts.overflow++;
    return false; /* a doorbell is rather seen than lost where that was not asked for */
}

void sn_doorbells_end(struct sn_faults *f, bool deliver)
{
    while (f->doorbells != NULL) {
        struct held_doorbell *h = f->doorbells;
        if (deliver)
            see(h);
        release(h);
    }
}
