/* SPDX-License-Identifier: Apache-2.0 */
/* What a host owns: port, NIC, completion queues, the ends of its connections, a counter that all its peers add to. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/be.h"
#include "sim/internal.h"
#include "softnic/errors.h"

enum { SHARED_WORDS = 8 /* of guard on each side of the counter */, MOST_ENDS = 4096 };
#define SHARED_GUARD 0x5aa55aa55aa55aa5ull

/* ---- names ------------------------------------------------------------------------------------------------------ */

/* ::ffff:10.a.b.c, host n is 10.0.0.1 + n. */
void sim_host_gid(uint32_t number, uint8_t gid[16])
{
    uint32_t ip = 0x0a000001u + number;

    memset(gid, 0, 10);
    gid[10] = gid[11] = 0xff;
    for (int i = 0; i < 4; i++)
        gid[12 + i] = (uint8_t)(ip >> (24 - 8 * i));
}

bool sim_host_of_gid(const struct sim *sim, const uint8_t gid[16], uint32_t *number)
{
    uint32_t ip = (uint32_t)gid[12] << 24 | (uint32_t)gid[13] << 16 | (uint32_t)gid[14] << 8 | gid[15];

    *number = ip - 0x0a000001u;
    return *number < sim->sc.nics;
}

/* Locally administered. */
void sim_host_mac(uint32_t number, uint8_t mac[6])
{
    uint8_t m[6] = {0x02, 0, 0, (uint8_t)(number >> 16), (uint8_t)(number >> 8), (uint8_t)number};

    memcpy(mac, m, 6);
}

/* ---- creation ------------------------------------------------------------------------------------------------------ */

static uint64_t read_clock(void *arg)
{
    return ((struct sim *)arg)->now;
}

static void *zeroed(size_t size)
{
    size_t whole = (size + 63) & ~(size_t)63;
    void *p = aligned_alloc(64, whole);

    if (p != NULL)
        memset(p, 0, whole);
    return p;
}

static uint8_t log2_up(uint64_t n)
{
    uint8_t log = 0;

    while ((1ull << log) < n)
        log++;
    return log;
}

static int create_cq(struct sim_host *host, unsigned which)
{
    size_t size = (size_t)64 << host->log_cq;
    struct sn_cq_attr attr = {.log_size = host->log_cq, .cqe_size = 64, .uar = host->uar.index};

    host->cq[which] = zeroed(size);
    if (host->cq[which] == NULL)
        return -ENOMEM;
    for (size_t i = 63; i < size; i += 64)
        host->cq[which][i] = 0xf1; /* opcode invalid, owner 1 */
    attr.ring = (struct sn_span){.addr = host->cq[which], .length = size};
    attr.record = (struct sn_span){.addr = host->cq_record + 2 * which, .length = 8};
    return sn_cq_create(host->nic, &attr, &host->cqn[which]);
}

static int create_shared(struct sim_host *host)
{
    size_t words = 2 * SHARED_WORDS + 1;
    struct sn_mkey_attr attr = {.pdn = host->pdn, .access = SN_ACCESS_REMOTE_ATOMIC, .iova = SIM_SHARED_IOVA};

    host->shared = zeroed(words * 8);
    if (host->shared == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < words; i++)
        host->shared[i] = i == SHARED_WORDS ? 0 : SHARED_GUARD;
    attr.span = (struct sn_span){.addr = &host->shared[SHARED_WORDS], .length = 8};
    return sn_mkey_create(host->nic, &attr, &host->shared_key);
}

static int create_objects(struct sim_host *host)
{
    struct sim *sim = host->sim;
    struct sn_port_config port = {.now = read_clock, .now_arg = sim, .no_thread = true, .burst_bytes = 1, .bursts = &sim->bursts};
    struct sn_nic_config nic = {.name = "sim0",
                                .link = SN_LINK_ETHERNET,
                                .gid_count = 1,
                                .slot = 1,
                                .seed = sim_mix(sim->sc.seed + 0x9e3779b97f4a7c15ull * (host->number + 1)) | 1,
                                .max_uars = 8};
    uint32_t size = 1;
    int ret = sn_port_create(&port, &host->port);

    if (ret != 0)
        return ret;
    sim_host_gid(host->number, nic.gid[0]);
    sim_host_mac(host->number, nic.mac);
    ret = sn_nic_create(host->port, &nic, &host->nic);
    if (ret != 0)
        return ret;
    host->wire.ops = &sim_wire_ops;
    sn_port_attach_wire(host->port, &host->wire);
    ret = sn_pd_create(host->nic, &host->pdn);
    if (ret == 0)
        ret = sn_uar_alloc(host->nic, &host->uar);
    host->reg = host->uar.reg;
    while (size < 2 * host->max_ends)
        size *= 2;
    host->hash_mask = size - 1;
    host->by_qpn = size <= SIM_FEW ? host->few : calloc(size, sizeof(*host->by_qpn));
    host->end = zeroed(host->max_ends * sizeof(*host->end));
    host->cq_record = zeroed(16 + (size_t)host->max_ends * 8);
    if (ret == 0 && (host->by_qpn == NULL || host->end == NULL || host->cq_record == NULL))
        ret = -ENOMEM;
    else
        host->records = host->cq_record + 4;
    for (unsigned which = 0; ret == 0 && which < 2; which++)
        ret = create_cq(host, which);
    return ret == 0 ? create_shared(host) : ret;
}

/* As many as it opens and as many as are opened to it; in an incast the target has an end for each of the others. */
static uint32_t count_ends(const struct sim *sim, uint32_t number)
{
    uint64_t ends = 2;

    for (uint32_t i = 0; i < sim->sc.workloads; i++) {
        const struct sim_workload *w = &sim->sc.workload[i];
        bool everybody = w->pattern == SIM_INCAST && number == 0;
        ends += everybody ? (sim->sc.nics - 1) * w->window : 2 * w->window;
    }
    return (uint32_t)(ends > MOST_ENDS ? MOST_ENDS : ends);
}

int sim_host_create(struct sim *sim, uint32_t number, char *why)
{
    struct sim_host *host = &sim->host[number];
    int ret;

    host->sim = sim;
    host->number = number;
    host->inbox_last = &host->inbox;
    host->waiting_last = &host->waiting;
    host->wake_at = UINT64_MAX;
    host->rng = sim_rng_stream(sim->sc.seed, 0x300000000ull + number);
    host->max_ends = count_ends(sim, number);
    host->log_cq = log2_up((uint64_t)host->max_ends * (sim->depth > sim->receives ? sim->depth : sim->receives));
    ret = create_objects(host);
    if (ret != 0) {
        char text[SIM_WHY_SIZE / 2];
        sn_err_format(sn_err_last(), text, sizeof(text));
        snprintf(why, SIM_WHY_SIZE, "nic%u of %u cannot be made: %s", number, sim->sc.nics, ret == -ENOMEM ? "no memory" : text);
    }
    return ret;
}

static void free_end(struct sim_end *end)
{
    free(end->sq);
    sim_model_close(end);
}

/* Everything that the host made is taken down by name, so that what was left behind shows. */
static void destroy_objects(struct sim_host *host)
{
    struct sim *sim = host->sim;
    int left = 0;

    for (uint32_t i = 0; i < host->ends; i++)
        left += sn_qp_destroy(host->nic, host->end[i].qpn) != 0;
    for (unsigned which = 0; which < 2; which++)
        left += host->cqn[which] != 0 && sn_cq_destroy(host->nic, host->cqn[which]) != 0;
    if (host->shared_key != 0)
        left += sn_mkey_destroy(host->nic, host->shared_key) != 0;
    if (host->uar.index != 0)
        left += sn_uar_free(host->nic, host->uar.index) != 0;
    if (host->pdn != 0)
        left += sn_pd_destroy(host->nic, host->pdn) != 0; /* busy while a key or a queue is left */
    if (left != 0 && sim->conns_open == 0)
        sim_violation(sim, "nic%u: %d objects could not be destroyed", host->number, left);
    sn_nic_destroy(host->nic);
}

void sim_host_destroy(struct sim_host *host)
{
    if (host->sim == NULL)
        return;
    while (host->inbox != NULL) { /* a run that was broken off */
        struct sim_packet *p = host->inbox;
        host->inbox = p->next;
        p->conn = NULL;
        sim_packet_free(host->sim, p);
    }
    if (host->nic != NULL)
        destroy_objects(host);
    for (uint32_t i = 0; i < host->ends; i++)
        free_end(&host->end[i]);
    sn_port_destroy(host->port);
    free(host->cq[0]);
    free(host->cq[1]);
    free(host->cq_record);
    free(host->shared);
    free(host->shared_seen);
    if (host->by_qpn != host->few)
        free(host->by_qpn);
    free(host->end);
    *host = (struct sim_host){0};
}

/* ---- ends ------------------------------------------------------------------------------------------------------------ */

struct sim_end *sim_host_find_end(struct sim_host *host, uint32_t qpn)
{
    uint32_t mask = host->hash_mask;

    for (uint32_t i = qpn & mask; host->by_qpn[i] != 0; i = (i + 1) & mask) {
        struct sim_end *end = &host->end[(host->by_qpn[i] & 0xffff) - 1];
        if (host->by_qpn[i] >> 16 == (qpn & 0xffff) && end->qpn == qpn)
            return end;
    }
    return NULL;
}

static int create_qp(struct sim_host *host, struct sim_end *end)
{
    struct sim *sim = host->sim;
    struct sn_qp_attr attr = {.service = sim->sc.qp.service == SIM_UC ? SN_SERVICE_UC : SN_SERVICE_RC,
                              .pdn = host->pdn,
                              .user_index = end->number,
                              .log_sq_size = log2_up(sim->depth),
                              .cqn_snd = host->cqn[0],
                              .rq_kind = SN_RQ_REGULAR,
                              .log_rq_size = log2_up(sim->receives),
                              .log_rq_stride = 5, /* two segments: the buffer, the end */
                              .cqn_rcv = host->cqn[1],
                              .uar = host->uar.index};

    attr.sq = (struct sn_span){.addr = end->sq, .length = (size_t)64 << attr.log_sq_size};
    attr.rq = (struct sn_span){.addr = end->rq, .length = (size_t)32 << attr.log_rq_size};
    attr.record = (struct sn_span){.addr = end->record, .length = 8};
    return sn_qp_create(host->nic, &attr, &end->qpn);
}

static struct sim_end *make_end(struct sim_host *host)
{
    struct sim *sim = host->sim;
    struct sim_end *end = &host->end[host->ends];
    size_t sq = (size_t)64 * sim->depth, rq = (size_t)32 * sim->receives;
    uint32_t mask = host->hash_mask, i;
    uint8_t *block;

    end->host = host;
    end->number = host->ends;
    end->record = host->records + 2 * (size_t)end->number;
    block = zeroed(sq + rq + sim->wrs * sizeof(*end->wr));
    if (block != NULL) {
        end->sq = block;
        end->rq = block + sq;
        end->wr = (struct sim_wr *)(void *)(block + sq + rq);
    }
    if (block == NULL || create_qp(host, end) != 0) {
        free_end(end);
        *end = (struct sim_end){0};
        sim->error = -ENOMEM;
        return NULL;
    }
    for (i = end->qpn & mask; host->by_qpn[i] != 0;)
        i = (i + 1) & mask;
    host->by_qpn[i] = end->qpn << 16 | ++host->ends;
    sim->r.queue_pairs++;
    return end;
}

/* NULL: all are in use. */
struct sim_end *sim_host_take_end(struct sim_host *host)
{
    struct sim_end *end = host->free_end;

    if (end != NULL)
        host->free_end = end->next;
    else if (host->ends < host->max_ends)
        end = make_end(host);
    return end;
}

void sim_host_give_end(struct sim_end *end)
{
    end->conn = NULL;
    end->peer = NULL;
    end->next = end->host->free_end;
    end->host->free_end = end;
}

/* ---- the shared counter ------------------------------------------------------------------------------------------------- */

void sim_host_shared_result(struct sim_host *host, uint64_t value)
{
    if (value >= host->shared_room) {
        uint64_t room = host->shared_room == 0 ? 512 : host->shared_room;
        uint8_t *seen;
        while (room <= value && room < 1ull << 32)
            room *= 2;
        seen = value < room ? realloc(host->shared_seen, room / 8) : NULL;
        if (seen == NULL) {
            sim_violation(host->sim, "nic%u: its shared counter gave %llu", host->number, (unsigned long long)value);
            return;
        }
        memset(seen + host->shared_room / 8, 0, (room - host->shared_room) / 8);
        host->shared_seen = seen;
        host->shared_room = room;
    }
    if (host->shared_seen[value / 8] & (1u << value % 8))
        sim_violation(host->sim, "nic%u: two additions to its shared counter found %llu there", host->number,
                      (unsigned long long)value);
    host->shared_seen[value / 8] |= (uint8_t)(1u << value % 8);
}

void sim_host_shared_check(struct sim_host *host)
{
    uint64_t value = host->shared[SHARED_WORDS];

    if (value < host->shared_done || value > host->shared_done + host->shared_uncertain)
        sim_violation(host->sim, "nic%u: its shared counter is %llu after %llu additions (and %llu that failed)", host->number,
                      (unsigned long long)value, (unsigned long long)host->shared_done,
                      (unsigned long long)host->shared_uncertain);
    for (unsigned i = 0; i < 2 * SHARED_WORDS + 1; i++)
        if (i != SHARED_WORDS && host->shared[i] != SHARED_GUARD)
            sim_violation(host->sim, "nic%u: a word beside its shared counter has changed", host->number);
}
