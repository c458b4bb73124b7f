/* SPDX-License-Identifier: Apache-2.0 */
/* UARs: what rings their registers, and for whom. Where registers lie: regs.c. */
#include <stdlib.h>

#include "softnic/engine.h"
#include "softnic/exec/doorbell.h"
#include "softnic/exec/order.h"
#include "softnic/exec/state.h"
#include "softnic/fault/inject.h"
#include "softnic/queue/regs.h"

enum { OTHER_REGISTER = 0x100 }; /* bytes between the two BlueFlame buffers of a ConnectX; 4 registers of ours */

static int alloc(struct sn_nic *nic, bool packed, struct sn_uar *out)
{
    static const char what[] = "allocate a UAR";
    struct sn_uar_object *uar = sn_lines(sizeof(*uar));
    int ret;

    if (uar == NULL)
        return sn_fail(-ENOMEM, what, NULL, 0, "UARs so far", nic->uars.used);
    ret = sn_table_add(&nic->uars, uar, nic->config.max_uars + 1, &uar->index);
    uar->nic = nic;
    uar->refs = 1;
    if (ret == 0) {
        ret = sn_regs_place(nic, uar, packed);
        if (ret != 0)
            sn_table_remove(&nic->uars, uar->index);
    }
    if (ret != 0) {
        free(uar);
        return sn_fail(ret, what, NULL, 0, "no more registers, limit", nic->config.max_uars);
    }
    nic->port->uar_count++;
    *out = (struct sn_uar){.index = uar->index,
                           .reg = uar->reg[SN_REG_PLAIN],
                           .dbrless = uar->reg[SN_REG_DBRLESS],
                           .fd = nic->regs.fd,
                           .offset = (size_t)((uint8_t *)uar->reg[SN_REG_DBRLESS] - nic->regs.at)};
    return 0;
}

int sn_uar_alloc(struct sn_nic *nic, struct sn_uar *out)
{
    return alloc(nic, false, out);
}

int sn_uar_alloc_packed(struct sn_nic *nic, struct sn_uar *out)
{
    return alloc(nic, true, out);
}

int sn_uar_use_both(struct sn_nic *nic, uint32_t index)
{
    struct sn_uar_object *uar = sn_table_get(&nic->uars, index);

    if (uar == NULL || uar->freed)
        return sn_fail(-ENOENT, "use both registers of a UAR", "uar", index, "no such UAR", index);
    uar->other = (uint64_t *)((uintptr_t)uar->reg[SN_REG_PLAIN] ^ OTHER_REGISTER);
    nic->uses_both = true;
    return 0;
}

struct sn_uar_object *sn_uar_get(struct sn_nic *nic, uint32_t index)
{
    struct sn_uar_object *uar = sn_table_get(&nic->uars, index);
    if (uar == NULL || uar->freed)
        return NULL;
    uar->refs++;
    return uar;
}

void sn_uar_cool(struct sn_uar_object *uar)
{
    struct sn_port *port = uar->nic->port;

    for (unsigned i = 0; uar->hot && i < port->hot_count; i++)
        if (port->hot[i] == uar) {
            port->hot[i] = port->hot[--port->hot_count];
            uar->hot = false;
        }
}

void sn_uar_put(struct sn_uar_object *uar)
{
    if (--uar->refs != 0)
        return;
    sn_uar_cool(uar);
    uar->nic->port->uar_count--;
    sn_table_remove(&uar->nic->uars, uar->index);
    sn_regs_remove(uar);
    free(uar);
}

int sn_uar_free(struct sn_nic *nic, uint32_t index)
{
    struct sn_uar_object *uar = sn_table_get(&nic->uars, index);

    if (uar == NULL || uar->freed)
        return sn_fail(-ENOENT, "free a UAR", "uar", index, "no such UAR", index);
    uar->freed = true;
    sn_uar_put(uar);
    return 0;
}

void sn_uar_attach(struct sn_uar_object *uar, struct sn_qp *qp)
{
    qp->uar = uar;
    if (qp->attr.no_send_record)
        sn_regs_recordless(uar, 1);
    qp->uar_next = uar->qps;
    uar->qps = qp;
}

void sn_uar_detach(struct sn_uar_object *uar, struct sn_qp *qp)
{
    for (struct sn_qp **link = &uar->qps; *link != NULL; link = &(*link)->uar_next)
        if (*link == qp) {
            *link = qp->uar_next;
            break;
        }
    qp->uar = NULL;
    if (qp->attr.no_send_record)
        sn_regs_recordless(uar, -1);
    sn_uar_put(uar);
}

static void heat(struct sn_uar_object *uar)
{
    struct sn_port *port = uar->nic->port;

    uar->idle_turns = 0;
    if (uar->hot)
        return;
    if (port->hot_count == SN_HOT_UARS) { /* the one that is idle longest makes room */
        unsigned oldest = 0;
        for (unsigned i = 1; i < SN_HOT_UARS; i++)
            if (port->hot[i]->idle_turns > port->hot[oldest]->idle_turns)
                oldest = i;
        sn_uar_cool(port->hot[oldest]);
    }
    port->hot[port->hot_count++] = uar;
    uar->hot = true;
}

/* A doorbell may come before RTS, but not for ever: nobody else would tell the kernel that waits. */
static void expect_connection(struct sn_qp *qp)
{
    if (qp->state < SN_QP_RTS && !sn_timer_armed(&qp->timer))
        sn_timer_arm(&qp->port->wheel, &qp->timer, sn_port_now(qp->port) + SN_CONNECT_NS);
}

static void ring(struct sn_qp *qp)
{
    qp->sq.doorbell = true;
    sn_qp_activate(qp);
}

/*
 * A register that shares its line may hold a piece of what was written to its neighbour's. Only what looks like a doorbell of
 * 8 bytes says how far a queue has got, and anything else that there is something in the records.
 */
static bool tells(const struct sn_uar_object *uar, uint64_t value)
{
    return !uar->packed || (value & SN_DOORBELL_ZEROS) == 0;
}

static void take_hint(struct sn_qp *qp, uint16_t producer)
{
    /* A late doorbell must not hide a further one that waits. */
    if (!qp->sq.has_hint || sn_ahead(producer, qp->sq.fetched, qp->sq.blocks) >
                                sn_ahead(qp->sq.hint, qp->sq.fetched, qp->sq.blocks)) {
        qp->sq.hint = producer;
        qp->sq.has_hint = true;
    }
    ring(qp);
}

/*
 * The doorbell of the only queue on a hot register, connected and with a record: nobody else's record has to be looked at, and
 * the next WQE leaves from here. False: it is something else.
 */
static bool rung_lone(struct sn_uar_object *uar, uint64_t value)
{
    struct sn_qp *qp = uar->qps;
    struct sn_doorbell db;

    if (qp == NULL || qp->uar_next != NULL || qp->state != SN_QP_RTS || qp->attr.no_sq || qp->sq.record == NULL ||
        uar->nic->uses_both || !sn_doorbell_parse(value, &db) || db.qpn != qp->qpn || !tells(uar, value))
        return false;
    if (!qp->send_cq->gpu) /* its line may be another core's: asked for now */
        __builtin_prefetch(sn_cq_slot(qp->send_cq, qp->send_cq->assigned), 1);
    take_hint(qp, db.producer);
    if (sn_rc_send_at_once(qp) && qp->sq.posted == qp->sq.fetched)
        qp->port->at_once++;
    return true;
}

static void hint(struct sn_uar_object *uar, enum sn_reg_kind kind, uint64_t value)
{
    struct sn_doorbell db;
    struct sn_qp *qp;

    if (!sn_doorbell_parse(value, &db) || (kind == SN_REG_PLAIN && !tells(uar, value)))
        return; /* QPN 0 */
    qp = sn_qp_find(uar->nic, db.qpn);
    if (qp == NULL || qp->attr.no_sq || (qp->uar != uar && !(qp->uar->other != NULL && sn_regs_partner(qp->uar) == uar)))
        return;
    if (qp->attr.no_send_record != (kind == SN_REG_DBRLESS))
        return;
    /* Both lines are another core's: ask for them now. */
    __builtin_prefetch(qp->sq.ring + (qp->sq.fetched & (qp->sq.blocks - 1)) * SN_WQE_BB);
    if (!qp->send_cq->gpu)
        __builtin_prefetch(sn_cq_slot(qp->send_cq, qp->send_cq->assigned), 1);
    expect_connection(qp);
    take_hint(qp, db.producer);
}

static void look_at_records(struct sn_uar_object *uar, const struct sn_qp *but)
{
    for (struct sn_qp *qp = uar->qps; qp != NULL; qp = qp->uar_next) {
        if (qp == but || qp->sq.doorbell)
            continue; /* will be looked at anyway, after what its hint announced */
        if (qp->sq.record != NULL && sn_state_reads_record(qp->state) &&
            sn_ahead((uint16_t)sn_swap32(sn_load_acquire32(qp->sq.record)), qp->sq.fetched, qp->sq.blocks) != 0) {
            expect_connection(qp);
            ring(qp);
        } else if (qp->sq.gpu_record) {
            ring(qp);
        }
    }
}

/* Of every queue, except one, that this register may have been rung for. */
static void look_at_all_records(struct sn_uar_object *uar, const struct sn_qp *but)
{
    struct sn_uar_object *other = uar->nic->uses_both ? sn_regs_partner(uar) : NULL;

    look_at_records(uar, but);
    if (other != NULL && (other->other != NULL || uar->other != NULL))
        look_at_records(other, but);
}

/*
 * One value names one queue, but may have been stored over another's: so after any doorbell the record of every queue on
 * the register is looked at.
 */
void sn_uar_rung(struct sn_uar_object *uar, enum sn_reg_kind kind, uint64_t value)
{
    hint(uar, kind, value);
    if (kind == SN_REG_PLAIN)
        look_at_all_records(uar, NULL);
}

/* The value at a UAR's other address; the partner's own, if there is one. */
static unsigned look_at_other(struct sn_uar_object *uar)
{
    const struct sn_port *port = uar->nic->port;
    uint64_t value = sn_load_relaxed64(uar->other) == uar->empty ? uar->empty : sn_take_register(uar->other, uar->empty);

    if (value == uar->empty)
        return 0;
    struct sn_uar_object *other = sn_regs_partner(uar), *rung = other != NULL ? other : uar;
    if (port->faults == NULL || !sn_faults_doorbell(port->faults, rung, SN_REG_PLAIN, value))
        sn_uar_rung(rung, SN_REG_PLAIN, value);
    return 1;
}

static unsigned look_at(struct sn_uar_object *uar, enum sn_reg_kind kind, uint64_t empty)
{
    const struct sn_port *port = uar->nic->port;
    uint64_t value;

    if (sn_load_relaxed64(uar->reg[kind]) == empty)
        return 0;
    value = sn_take_register(uar->reg[kind], empty);
    if (value == empty)
        return 0;
    if (kind == SN_REG_PLAIN && uar->hot && port->faults == NULL && rung_lone(uar, value))
        return 1;
    if (port->faults == NULL || !sn_faults_doorbell(port->faults, uar, kind, value))
        sn_uar_rung(uar, kind, value);
    return 1;
}

/* Takes what the two registers hold. */
unsigned sn_uar_look(struct sn_uar_object *uar)
{
    unsigned taken = look_at(uar, SN_REG_PLAIN, uar->empty);

    if (sn_regs_any_recordless(uar)) /* else nobody is to ring it: its cache line stays untouched */
        taken += look_at(uar, SN_REG_DBRLESS, 0);
    if (uar->other != NULL)
        taken += look_at_other(uar);
    if (taken != 0)
        heat(uar);
    else
        uar->idle_turns++;
    return taken;
}

static bool forget(uint64_t *reg, uint64_t empty, uint32_t qpn)
{
    struct sn_doorbell db;
    uint64_t value = sn_load_relaxed64(reg);

    return value != empty && sn_doorbell_parse(value, &db) && db.qpn == qpn &&
           __atomic_compare_exchange_n(reg, &value, empty, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

/*
 * At a move to RST and from it: what the registers still hold for this queue belongs to its former life. It may have been
 * stored over another queue's.
 */
void sn_uar_forget(const struct sn_qp *qp)
{
    struct sn_uar_object *uar = qp->uar;
    bool gone = false;

    if (qp->attr.no_send_record)
        (void)forget(uar->reg[SN_REG_DBRLESS], 0, qp->qpn);
    else
        gone = forget(uar->reg[SN_REG_PLAIN], uar->empty, qp->qpn);
    if (uar->other != NULL)
        gone |= forget(uar->other, uar->empty, qp->qpn);
    if (gone)
        look_at_all_records(uar, qp);
}
