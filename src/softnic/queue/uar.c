/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Doorbell registers. The region is cut in blocks of 1024 bytes for 8 UARs: 8 registers for queues without a doorbell
 * record, then 8 plain ones, each 64 bytes. So the two registers of a UAR are 0x200 apart, as 0x600 and 0x800 of a page
 * are, and looking at all of them is a walk over one array.
 */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "softnic/engine.h"
#include "softnic/exec/doorbell.h"
#include "softnic/exec/order.h"
#include "softnic/exec/state.h"
#include "softnic/fault/inject.h"

enum { OTHER_REGISTER = 0x100 }; /* bytes between the two BlueFlame buffers of a ConnectX; 4 registers of ours */

static uint32_t slot_of(uint32_t n, enum sn_reg_kind kind)
{
    return (n / 8) * 16 + (kind == SN_REG_PLAIN ? 8 : 0) + n % 8;
}

/* UARs are numbered from 1; the first one has registers 0 and 8. */
struct sn_uar_object *sn_uar_of_slot(struct sn_nic *nic, uint32_t slot)
{
    uint32_t n = (slot / 16) * 8 + slot % 8;
    struct sn_uar_object *uar = sn_table_get(&nic->uars, n + 1);

    if (uar == NULL && nic->uses_both && (slot & 8) != 0) { /* nobody's own, but the other one of somebody's? */
        uar = sn_table_get(&nic->uars, (n ^ OTHER_REGISTER / 64) + 1);
        if (uar != NULL && uar->other == NULL)
            uar = NULL;
    }
    return uar;
}

static int map_region(struct sn_nic *nic)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t size = ((size_t)nic->config.max_uars + 8) / 8 * 1024;

    size = (size + page - 1) / page * page;
    nic->regs_fd = memfd_create("softnic-uar", MFD_CLOEXEC);
    if (nic->regs_fd < 0)
        return -errno;
    if (ftruncate(nic->regs_fd, (off_t)size) != 0)
        goto fail;
    nic->regs = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, nic->regs_fd, 0);
    if (nic->regs == MAP_FAILED)
        goto fail;
    (void)madvise(nic->regs, size, MADV_DONTFORK);
    nic->regs_size = size;
    return 0;
fail:;
    int err = -errno;
    close(nic->regs_fd);
    nic->regs_fd = -1;
    nic->regs = NULL;
    return err;
}

int sn_uar_alloc(struct sn_nic *nic, struct sn_uar *out)
{
    static const char what[] = "allocate a UAR";
    struct sn_uar_object *uar;
    int ret = nic->regs == NULL ? map_region(nic) : 0;

    if (ret != 0)
        return sn_fail(ret, what, NULL, 0, "cannot map the register region, registers", nic->config.max_uars);
    uar = calloc(1, sizeof(*uar));
    if (uar == NULL)
        return sn_fail(-ENOMEM, what, NULL, 0, "UARs so far", nic->uars.used);
    ret = sn_table_add(&nic->uars, uar, nic->config.max_uars + 1, &uar->index);
    if (ret != 0) {
        free(uar);
        return sn_fail(ret, what, NULL, 0, "no more registers, limit", nic->config.max_uars);
    }
    uar->nic = nic;
    uar->refs = 1;
    nic->port->uar_count++;
    for (int k = 0; k < 2; k++) {
        uint32_t slot = slot_of(uar->index - 1, (enum sn_reg_kind)k);
        uar->reg[k] = nic->regs + (size_t)slot * 64;
        (void)sn_take_register(uar->reg[k]);
        if (slot >= nic->reg_slots) {
            nic->port->reg_slots += (slot | 15) + 1 - nic->reg_slots;
            nic->reg_slots = (slot | 15) + 1;
        }
    }
    *out = (struct sn_uar){.index = uar->index,
                           .reg = uar->reg[SN_REG_PLAIN],
                           .dbrless = uar->reg[SN_REG_DBRLESS],
                           .fd = nic->regs_fd,
                           .offset = (size_t)((uint8_t *)uar->reg[SN_REG_DBRLESS] - nic->regs)};
    return 0;
}

/* The UAR whose plain register lies at the other address, or NULL. */
static struct sn_uar_object *partner(const struct sn_uar_object *uar)
{
    return sn_table_get(&uar->nic->uars, ((uar->index - 1) ^ OTHER_REGISTER / 64) + 1);
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
    uar->nic->dbrless_users += qp->attr.no_send_record;
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
    uar->nic->dbrless_users -= qp->attr.no_send_record;
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

static void hint(struct sn_uar_object *uar, enum sn_reg_kind kind, uint64_t value)
{
    struct sn_doorbell db;
    struct sn_qp *qp;

    if (!sn_doorbell_parse(value, &db))
        return; /* QPN 0 */
    qp = sn_qp_find(uar->nic, db.qpn);
    if (qp == NULL || qp->attr.no_sq || (qp->uar != uar && !(qp->uar->other != NULL && partner(qp->uar) == uar)))
        return;
    if (qp->attr.no_send_record != (kind == SN_REG_DBRLESS))
        return;
    /* A late doorbell must not hide a further one that waits. */
    if (!qp->sq.has_hint || sn_ahead(db.producer, qp->sq.fetched, qp->sq.blocks) >
                                sn_ahead(qp->sq.hint, qp->sq.fetched, qp->sq.blocks)) {
        qp->sq.hint = db.producer;
        qp->sq.has_hint = true;
    }
    /* Both lines are another core's: ask for them now. */
    __builtin_prefetch(qp->sq.ring + (qp->sq.fetched & (qp->sq.blocks - 1)) * SN_WQE_BB);
    if (!qp->send_cq->gpu)
        __builtin_prefetch(sn_cq_slot(qp->send_cq, qp->send_cq->assigned), 1);
    expect_connection(qp);
    ring(qp);
}

static void look_at_records(struct sn_uar_object *uar)
{
    for (struct sn_qp *qp = uar->qps; qp != NULL; qp = qp->uar_next) {
        if (qp->sq.doorbell)
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

/*
 * One value names one queue, but may have been stored over another's: so after any doorbell the record of every queue on
 * the register is looked at.
 */
void sn_uar_rung(struct sn_uar_object *uar, enum sn_reg_kind kind, uint64_t value)
{
    hint(uar, kind, value);
    if (kind == SN_REG_DBRLESS)
        return;
    look_at_records(uar);
    struct sn_uar_object *other = uar->nic->uses_both ? partner(uar) : NULL;
    if (other != NULL && (other->other != NULL || uar->other != NULL))
        look_at_records(other);
}

/* The value at a UAR's other address; the partner's own, if there is one. */
static unsigned look_at_other(struct sn_uar_object *uar)
{
    const struct sn_port *port = uar->nic->port;
    uint64_t value = sn_load_relaxed64(uar->other) == 0 ? 0 : sn_take_register(uar->other);

    if (value == 0)
        return 0;
    struct sn_uar_object *other = partner(uar), *rung = other != NULL ? other : uar;
    if (port->faults == NULL || !sn_faults_doorbell(port->faults, rung, SN_REG_PLAIN, value))
        sn_uar_rung(rung, SN_REG_PLAIN, value);
    return 1;
}

/* Takes what the two registers hold. */
unsigned sn_uar_look(struct sn_uar_object *uar)
{
    const struct sn_port *port = uar->nic->port;
    unsigned taken = 0;

    for (int kind = 0; kind < 2; kind++) {
        uint64_t value;
        if (kind == SN_REG_DBRLESS && uar->nic->dbrless_users == 0)
            continue; /* nobody is to ring it: its cache line stays untouched */
        if (sn_load_relaxed64(uar->reg[kind]) == 0)
            continue;
        value = sn_take_register(uar->reg[kind]);
        if (value == 0)
            continue;
        taken++;
        if (port->faults == NULL || !sn_faults_doorbell(port->faults, uar, kind, value))
            sn_uar_rung(uar, (enum sn_reg_kind)kind, value);
    }
    if (uar->other != NULL)
        taken += look_at_other(uar);
    if (taken != 0)
        heat(uar);
    else
        uar->idle_turns++;
    return taken;
}

/* At a move to RST and from it: what the registers still hold for this queue belongs to its former life. */
void sn_uar_forget(struct sn_uar_object *uar, uint32_t qpn)
{
    for (int kind = 0; kind < 2; kind++) {
        struct sn_doorbell db;
        uint64_t value = sn_load_relaxed64(uar->reg[kind]);
        if (sn_doorbell_parse(value, &db) && db.qpn == qpn)
            __atomic_compare_exchange_n((uint64_t *)uar->reg[kind], &value, (uint64_t)0, 0, __ATOMIC_ACQUIRE,
                                        __ATOMIC_RELAXED);
    }
    if (uar->other != NULL) {
        struct sn_doorbell db;
        uint64_t value = sn_load_relaxed64(uar->other);
        if (sn_doorbell_parse(value, &db) && db.qpn == qpn)
            __atomic_compare_exchange_n(uar->other, &value, (uint64_t)0, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
    }
}
