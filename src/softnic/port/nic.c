/* SPDX-License-Identifier: Apache-2.0 */
/* Devices and protection domains. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "softnic/engine.h"
#include "softnic/port/asks.h"
#include "softnic/queue/regs.h"

/* splitmix64 */
static uint64_t random_next(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15ull;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

/* Under a seed a run can be repeated; otherwise it is the kernel's generator, which nobody can predict. */
uint64_t sn_nic_random(struct sn_nic *nic)
{
    uint64_t z;

    if (!nic->seeded && getrandom(&z, sizeof(z), 0) == (ssize_t)sizeof(z))
        return z;
    return random_next(&nic->random);
}

int sn_nic_create(struct sn_port *port, const struct sn_nic_config *config, struct sn_nic **out)
{
    static const char what[] = "create a NIC";
    struct sn_nic *nic;

    if (config->gid_count < 1 || config->gid_count > 4)
        return sn_fail(-EINVAL, what, NULL, 0, "GIDs not 1..4", config->gid_count);
    if (config->slot == 0)
        return sn_fail(-EINVAL, what, NULL, 0, "process slot not in 1..255", 0);
    nic = sn_lines(sizeof(*nic));
    if (nic == NULL)
        return sn_fail(-ENOMEM, what, NULL, 0, "bytes", sizeof(*nic));
    nic->port = port;
    nic->config = *config;
    strncpy(nic->name, config->name == NULL ? "softnic" : config->name, sizeof(nic->name) - 1);
    nic->config.name = nic->name;
    if (nic->config.max_uars == 0)
        nic->config.max_uars = 4096;
    nic->random = config->seed;
    nic->seeded = config->seed != 0;
    nic->regs.fd = -1;
    nic->next = port->nics;
    port->nics = nic;
    port->topology++;
    *out = nic;
    return 0;
}

enum { FEW_SLOTS = 32 };

static void ask_for_port(struct sn_asks *a, const struct sn_port *port)
{
    sn_ask_for(a, port, offsetof(struct sn_port, hot) + sizeof(port->hot[0]));
    sn_ask(a, &port->wheel);
    if (!port->config.no_thread)
        sn_ask(a, &port->foreign_turns);
}

/* All of a small map. */
static void ask_for_map(struct sn_asks *a, const struct sn_map *m)
{
    if (m->used != 0 && m->mask < FEW_SLOTS)
        sn_ask_for(a, m->slot, (m->mask + 1) * sizeof(*m->slot));
}

/* After a doorbell the records of all queues on its register are looked at. */
static void ask_for_rung(struct sn_asks *a, const struct sn_map *qps)
{
    for (uint32_t i = 0; qps->used != 0 && qps->mask < FEW_SLOTS && i <= qps->mask; i++)
        if (qps->slot[i].object != NULL)
            sn_ask(a, qps->slot[i].object);
}

static void ask_for_slot(struct sn_asks *a, const struct sn_map *m, uint32_t number)
{
    if (m->used != 0)
        sn_ask(a, &m->slot[number & m->mask]);
}

/* Where the keys that are made next will be found: under a seed that is known. */
static void ask_for_new_keys(struct sn_asks *a, const struct sn_nic *nic, unsigned keys)
{
    uint64_t random = nic->random;

    while (nic->seeded && keys-- != 0)
        ask_for_slot(a, &nic->mkeys, (uint32_t)random_next(&random));
    sn_ask(a, nic->free_keys);
}

static void ask_for_qp(struct sn_asks *a, const struct sn_qp *qp)
{
    sn_ask_for(a, qp, offsetof(struct sn_qp, cnp_after));
    sn_ask_for(a, &qp->header, offsetof(struct sn_burst, iov));
}

/* The slot of the timer that is armed, or will be when a request has been sent. */
static void ask_for_timer(struct sn_asks *a, const struct sn_qp *qp, bool rings)
{
    const struct sn_port *port = qp->port;

    if (qp->timer.link != NULL)
        sn_ask(a, qp->timer.link);
    else if (rings && port->config.now != NULL)
        sn_ask(a, sn_wheel_slot(&port->wheel, port->config.now(port->config.now_arg) +
                                                           sn_ack_timeout_ns(qp->params.ack_timeout)));
}

static void ask_for_queues(struct sn_asks *a, const struct sn_qp *qp, const struct sn_expected *what)
{
    if (qp->tx.table != NULL && (qp->tx.head != qp->tx.tail || what->rings))
        sn_ask_for(a, &qp->tx.table[qp->tx.head & qp->tx.mask], sizeof(*qp->tx.table));
    if (qp->rx.rd != NULL)
        sn_ask_for(a, qp->rx.rd, sizeof(*qp->rx.rd));
    sn_ask(a, qp->rx.wqe);
    sn_ask(a, qp->send_cq); /* a CQE looks at one line */
    sn_ask(a, qp->recv_cq);
    ask_for_timer(a, qp, what->rings);
}

static void ask_for_place(struct sn_asks *a, const struct sn_nic *nic, const struct sn_expected *what)
{
    ask_for_port(a, nic->port);
    if (what->rings)
        ask_for_map(a, &nic->qps);
    else
        ask_for_slot(a, &nic->qps, what->qpn);
    if (what->creates)
        ask_for_new_keys(a, nic, SN_EXPECT_KEYS);
    for (unsigned i = 0; i < what->keys; i++)
        ask_for_slot(a, &nic->mkeys, what->key[i]);
    if (what->ends)
        sn_ask(a, &nic->counters.resp_cqe_flush_error);
}

void sn_nic_expect(struct sn_asks *a, const struct sn_nic *nic, const struct sn_expected *what, unsigned step)
{
    const struct sn_port *port;
    const struct sn_qp *qp;

    if (step == 0) { /* nothing of it is looked at before it has come */
        sn_ask_for(a, nic, offsetof(struct sn_nic, counters.duplicate_request));
        return;
    }
    port = nic->port;
    qp = step < 2 ? NULL : sn_qp_find(nic, what->qpn);
    switch (step) {
    case 1:
        ask_for_place(a, nic, what);
        break;
    case 2:
        if (qp != NULL)
            ask_for_qp(a, qp);
        for (unsigned i = 0; i < what->keys; i++)
            sn_ask(a, sn_mkey_find(&nic->mkeys, what->key[i]));
        if (what->creates && nic->free_keys != NULL)
            sn_ask(a, nic->free_keys->addr); /* the one behind it */
        if (port->hot_count != 0)
            sn_ask(a, port->hot[0]);
        if (what->rings)
            ask_for_rung(a, &nic->qps);
        break;
    default:
        if (qp != NULL)
            ask_for_queues(a, qp, what);
        if (port->hot_count != 0)
            sn_ask(a, port->hot[0]->reg[SN_REG_PLAIN]);
    }
}

struct sn_port *sn_nic_port(struct sn_nic *nic)
{
    return nic->port;
}

const struct sn_nic_config *sn_nic_get_config(const struct sn_nic *nic)
{
    return &nic->config;
}

void sn_nic_get_counters(const struct sn_nic *nic, struct sn_counters *out)
{
    *out = nic->counters;
}

const char *sn_counter_name(unsigned n)
{
#define NAME(name) #name,
    static const char *const names[] = {SN_COUNTERS(NAME)};
#undef NAME

    return n < sizeof(names) / sizeof(names[0]) ? names[n] : NULL;
}

static void destroy_queues(struct sn_nic *nic)
{
    for (uint32_t i = 0; nic->qps.used != 0; i = (i + 1) & nic->qps.mask)
        while (nic->qps.slot[i].object != NULL) /* another one takes its place */
            sn_qp_destroy(nic, nic->qps.slot[i].number);
    for (uint32_t i = 1; i < nic->srqs.size; i++)
        if (nic->srqs.slot[i] != NULL)
            sn_srq_destroy(nic, i);
    for (uint32_t i = 1; i < nic->cqs.size; i++)
        if (nic->cqs.slot[i] != NULL)
            sn_cq_destroy(nic, i);
    for (uint32_t i = 1; i < nic->uars.size; i++) {
        struct sn_uar_object *uar = sn_table_get(&nic->uars, i);
        if (uar != NULL && !uar->freed)
            sn_uar_free(nic, i);
    }
}

int sn_nic_destroy(struct sn_nic *nic)
{
    struct sn_port *port = nic->port;

    sn_xfer_quiesce(port);
    sn_nic_set_gsi(nic, NULL);
    destroy_queues(nic);
    sn_watch_end(nic->watches);
    for (uint32_t i = 1; i < nic->pds.size; i++)
        if (nic->pds.slot[i] != &nic->first_pd)
            free(nic->pds.slot[i]);
    for (struct sn_nic **link = &port->nics; *link != NULL; link = &(*link)->next)
        if (*link == nic) {
            *link = nic->next;
            break;
        }
    port->topology++;
    port->reg_lines -= nic->regs.lines;
    if (port->sweep_nic == nic)
        port->sweep_nic = NULL;
    sn_mkeys_free(nic);
    sn_map_free(&nic->windows);
    sn_table_free(&nic->pds);
    sn_table_free(&nic->cqs);
    sn_table_free(&nic->srqs);
    sn_table_free(&nic->uars);
    sn_map_free(&nic->qps);
    sn_numbers_free(nic);
    sn_regs_free(nic);
    free(nic);
    return 0;
}

static void free_pd(struct sn_nic *nic, struct sn_pd *pd)
{
    if (pd == &nic->first_pd)
        nic->first_pdn = 0;
    else
        free(pd);
}

int sn_pd_create(struct sn_nic *nic, uint32_t *pdn)
{
    bool first = nic->pds.used == 0;
    struct sn_pd *pd = first ? &nic->first_pd : calloc(1, sizeof(*pd));
    int ret = pd == NULL ? -ENOMEM : sn_table_add(&nic->pds, pd, 1u << 24, pdn);

    if (ret == 0 && first)
        nic->first_pdn = *pdn;
    if (ret != 0) {
        free_pd(nic, pd);
        return sn_fail(ret, "create a protection domain", NULL, 0, "so far", nic->pds.used);
    }
    return 0;
}

int sn_pd_destroy(struct sn_nic *nic, uint32_t pdn)
{
    struct sn_pd *pd = sn_pd_find(nic, pdn);

    if (pd == NULL)
        return sn_fail(-ENOENT, "destroy a protection domain", "pd", pdn, "no such protection domain", pdn);
    if (pd->users != 0)
        return sn_fail(-EBUSY, "destroy a protection domain", "pd", pdn, "keys and queues in it", pd->users);
    sn_table_remove(&nic->pds, pdn);
    free_pd(nic, pd);
    return 0;
}
