/* SPDX-License-Identifier: Apache-2.0 */
#include "exchange.h"

#include <stdio.h>
#include <stdlib.h>

#include "format/bth.h"

/* Packets of one direction to one queue pair that ask, or that answer. */
struct flow {
    const struct vector_frame *first;
    bool asks;
    int partner; /* the flow that goes with it; -1: none */
};

struct flows {
    struct flow *flow;
    int *of; /* each frame's flow; -1: in none */
    int count;
};

bool exchange_is_request(const struct sn_burst *p)
{
    return p->kind != SN_KIND_ACK && p->kind != SN_KIND_READ_RESPONSE && p->kind != SN_KIND_ATOMIC_ACK;
}

static bool same_flow(const struct sn_burst *a, const struct sn_burst *b)
{
    return exchange_is_request(a) == exchange_is_request(b) && a->service == b->service && a->dqpn == b->dqpn &&
           a->sqpn == b->sqpn && memcmp(a->sgid, b->sgid, 16) == 0 && memcmp(a->dgid, b->dgid, 16) == 0;
}

static void find_flows(const struct vector *v, struct flows *all)
{
    all->flow = calloc(v->count + 1, sizeof(*all->flow));
    all->of = calloc(v->count + 1, sizeof(*all->of));
    all->count = 0;
    assert_true(all->flow != NULL && all->of != NULL);
    for (unsigned i = 0; i < v->count; i++) {
        const struct sn_burst *p = &v->frame[i].packet;
        int n = 0;

        all->of[i] = -1;
        if (p->kind == SN_KIND_CNP)
            continue;
        while (n < all->count && !same_flow(&all->flow[n].first->packet, p))
            n++;
        if (n == all->count)
            all->flow[all->count++] =
                (struct flow){.first = &v->frame[i], .asks = exchange_is_request(p), .partner = -1};
        all->of[i] = n;
    }
}

static bool may_answer(const struct flow *asks, const struct flow *answers)
{
    const struct sn_burst *q = &asks->first->packet, *a = &answers->first->packet;

    return asks->asks && !answers->asks && asks->partner < 0 && answers->partner < 0 &&
           q->service == SN_SERVICE_RC && memcmp(q->sgid, a->dgid, 16) == 0 && memcmp(q->dgid, a->sgid, 16) == 0;
}

/* How many of the answers are about a PSN that had been asked for; a READ's answers are behind its request's. */
static unsigned answered(const struct vector *v, const struct flows *all, int asks, int answers)
{
    uint32_t low = all->flow[asks].first->packet.psn, high = low;
    bool begun = false;
    unsigned n = 0;

    for (unsigned i = 0; i < v->count; i++) {
        const struct sn_burst *p = &v->frame[i].packet;
        if (all->of[i] == asks) {
            uint32_t end = sn_psn_add(p->psn, p->kind == SN_KIND_READ_REQUEST ? sn_mtu_packets(p->dmalen, 1) : 1);
            high = !begun || sn_psn_diff(end, high) > 0 ? end : high;
            begun = true;
        } else if (all->of[i] == answers) {
            n += begun && sn_psn_diff(p->psn, low) >= 0 && sn_psn_diff(p->psn, high) < 0;
        }
    }
    return n;
}

/* The best match first come, first served: queue pairs with the same PSNs are taken in order. */
static void pair_up(const struct vector *v, struct flows *all)
{
    for (int q = 0; q < all->count; q++) {
        unsigned most = 0;
        int best = -1;

        for (int a = 0; a < all->count; a++) {
            unsigned n = may_answer(&all->flow[q], &all->flow[a]) ? answered(v, all, q, a) : 0;
            if (n > most) {
                most = n;
                best = a;
            }
        }
        if (best >= 0) {
            all->flow[q].partner = best;
            all->flow[best].partner = q;
        }
    }
}

static bool begins_exchange(const struct flow *f)
{
    return f->asks || f->partner < 0;
}

unsigned exchange_each(const struct vector *v, void (*fn)(struct vector *part, void *arg), void *arg)
{
    struct flows all;
    unsigned total = 0, number = 0;

    find_flows(v, &all);
    pair_up(v, &all);
    for (int n = 0; n < all.count; n++)
        total += begins_exchange(&all.flow[n]);
    for (int n = 0; n < all.count; n++) {
        struct vector part = {.layer = v->layer};

        if (!begins_exchange(&all.flow[n]))
            continue;
        number++;
        if (total == 1)
            snprintf(part.name, sizeof(part.name), "%s", v->name);
        else
            snprintf(part.name, sizeof(part.name), "%.200s #%u (to QP 0x%06x)", v->name, number,
                     all.flow[n].first->packet.dqpn);
        part.frame = calloc(v->count, sizeof(*part.frame));
        assert_non_null(part.frame);
        for (unsigned i = 0; i < v->count; i++)
            if (all.of[i] >= 0 && (all.of[i] == n || all.of[i] == all.flow[n].partner))
                part.frame[part.count++] = v->frame[i];
        fn(&part, arg);
        free(part.frame);
    }
    free(all.flow);
    free(all.of);
    return total;
}
