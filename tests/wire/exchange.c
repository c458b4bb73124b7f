/* SPDX-License-Identifier: Apache-2.0 */
#include "exchange.h"

#include <stdio.h>
#include <stdlib.h>

#include "format/bth.h"

/* Packets of one direction to one queue pair that ask, or that answer. */
struct flow {
    const struct vector_frame *first;
    unsigned frames;
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
        all->flow[n].frames++;
    }
}

static bool may_answer(const struct flow *asks, const struct flow *answers)
{
    const struct sn_burst *q = &asks->first->packet, *a = &answers->first->packet;

    return asks->asks && !answers->asks && asks->partner < 0 && answers->partner < 0 &&
           q->service == SN_SERVICE_RC && memcmp(q->sgid, a->dgid, 16) == 0 && memcmp(q->dgid, a->sgid, 16) == 0;
}

/* Is answer `a` one to request `q`? A READ's answers have PSNs up to as many packets as it could have. */
static bool is_about(const struct sn_burst *a, const struct sn_burst *q)
{
    int32_t d = sn_psn_diff(a->psn, q->psn);

    if (q->kind == SN_KIND_READ_REQUEST)
        return a->kind != SN_KIND_ATOMIC_ACK && d >= 0 && (uint32_t)d < sn_mtu_packets(q->dmalen, 1);
    if (q->kind == SN_KIND_SEND || q->kind == SN_KIND_WRITE)
        return a->kind == SN_KIND_ACK && d == 0;
    return a->kind != SN_KIND_READ_RESPONSE && d == 0;
}

/* How many of the answers are not about anything that had been asked before; *nearest: the last request before the first of them. */
static unsigned out_of_place(const struct vector *v, const struct flows *all, int asks, int answers, unsigned *nearest)
{
    bool begun = false;
    unsigned n = 0;

    *nearest = 0;
    for (unsigned i = 0; i < v->count; i++) {
        bool found = false;

        if (all->of[i] == asks && !begun)
            *nearest = i;
        if (all->of[i] != answers)
            continue;
        begun = true;
        for (unsigned j = i; j-- > 0 && !found;)
            found = all->of[j] == asks && is_about(&v->frame[i].packet, &v->frame[j].packet);
        n += !found;
    }
    return n;
}

/* For each flow of answers the requests that fit best, of equals those that were made last before. */
static void pair_up(const struct vector *v, struct flows *all)
{
    for (int a = 0; a < all->count; a++) {
        unsigned least = all->flow[a].frames, latest = 0, nearest = 0;
        int best = -1;

        for (int q = 0; q < all->count; q++) {
            unsigned n = may_answer(&all->flow[q], &all->flow[a]) ? out_of_place(v, all, q, a, &nearest) : UINT32_MAX;
            if (n > least || (n == least && (best < 0 || nearest < latest)))
                continue;
            least = n;
            latest = nearest;
            best = q;
        }
        if (best >= 0) {
            all->flow[a].partner = best;
            all->flow[best].partner = a;
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
