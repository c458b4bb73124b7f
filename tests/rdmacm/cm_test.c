/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connection management in virtual time: two agents, a network that loses, doubles and reorders under a seed, and users
 * that accept, refuse, disconnect and give up. Whatever happens, each connection's events come once and in order, both
 * sides agree on how it went, and nothing is left in the agents.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "softnic/gsi/cm.h"

enum { USERS = 40, QUEUE = 4096, ACK_TIMEOUT = 14 /* 67 ms */, CM_TIMEOUT = 16 /* 268 ms */ };
#define SERVICE SN_CM_IP_SERVICE(6, 7174)
#define MS      1000000ull

enum plan { ACCEPT, REFUSE, REFUSE_REP, VANISH, PLANS };

struct world;

struct side { /* one side's view of a connection */
    struct world *w;
    struct sn_cm_conn *conn;
    int agent, index;
    unsigned seen[SN_CM_EV_SIDR_REP + 1];
    bool connected, over, destroyed;
    uint64_t act_at; /* the user does its next step */
    uint16_t reason;
    uint32_t psn;
};

struct packet {
    uint64_t at;
    int to;
    struct sn_cm_address address;
    struct sn_mad mad;
};

struct world {
    uint64_t now, random;
    unsigned loss; /* percent */
    struct sn_cm *cm[2];
    struct sn_cm_listener *listener;
    bool listening, ended;
    struct packet queue[QUEUE];
    unsigned queued, lost, sent;
    struct side active[USERS], passive[USERS];
    enum plan plan[USERS];
    unsigned passives;
};

static struct end { struct world *w; int side; } ends[2];

static uint32_t roll(struct world *w)
{
    uint64_t z = (w->random += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return (uint32_t)(z >> 32);
}

static uint64_t now(void *arg)
{
    return ((struct end *)arg)->w->now;
}

static uint32_t random_word(void *arg)
{
    return roll(((struct end *)arg)->w);
}

static uint8_t slot(void *arg, unsigned port)
{
    assert_int_equal(port, 0);
    return (uint8_t)(((struct end *)arg)->side + 1);
}

static void transmit(struct world *w, int from, const struct sn_cm_address *to, const struct sn_mad *mad)
{
    assert_true(w->queued < QUEUE);
    struct packet *p = &w->queue[w->queued++];
    p->at = w->now + roll(w) % (30 * MS); /* below the path's life: time-wait outlasts what is under way */
    p->to = !from;
    p->address = (struct sn_cm_address){.port = 0};
    memcpy(p->address.local, to->remote, 16);
    memcpy(p->address.remote, to->local, 16);
    p->mad = *mad;
}

static void send_mad(void *arg, const struct sn_cm_address *to, const struct sn_mad *mad)
{
    struct end *e = arg;
    struct world *w = e->w;
    w->sent++;
    if (roll(w) % 100 < w->loss) {
        w->lost++;
        return;
    }
    transmit(w, e->side, to, mad);
    if (roll(w) % 100 < w->loss)
        transmit(w, e->side, to, mad);
}

static int match(void *arg, void *user, const struct sn_cm_address *from, const struct sn_cm_msg *m)
{
    (void)arg, (void)from;
    struct sn_cm_ip ip;
    assert_ptr_equal(user, &((struct end *)arg)->w->listener);
    return sn_cm_ip_parse(m, &ip) && ip.port == 4000 ? 1 : 0;
}

static void later(struct side *s, unsigned ms)
{
    s->act_at = s->w->now + (roll(s->w) % (ms + 1)) * MS;
}

static void *new_passive(struct world *w, const struct sn_cm_event *e)
{
    unsigned index = e->message->qpn - 0x100;
    assert_true(index < USERS);
    struct side *s = &w->passive[index];
    assert_null(s->w); /* each request is met once, however often it came */
    *s = (struct side){.w = w, .conn = e->conn, .agent = 1, .index = (int)index};
    s->seen[SN_CM_EV_REQ] = 1;
    assert_int_equal(e->message->psn, 0xabc000 + index);
    assert_int_equal(e->message->initiator_depth, 4);
    w->passives++;
    later(s, 1500); /* long enough for the other side to ask again, and get an MRA */
    return s;
}

static void *event(void *arg, void *user, const struct sn_cm_event *e)
{
    struct world *w = ((struct end *)arg)->w;
    if (e->kind == SN_CM_EV_REQ)
        return new_passive(w, e);
    struct side *s = user;
    assert_false(s->destroyed);
    assert_ptr_equal(e->conn, s->conn);
    assert_int_equal(s->seen[e->kind]++, 0);
    switch (e->kind) {
    case SN_CM_EV_REP:
        assert_false(s->over);
        assert_int_equal(e->message->qpn, 0x200 + s->index);
        later(s, 600);
        break;
    case SN_CM_EV_RTU:
        assert_true(s->agent == 1 && !s->over);
        s->connected = true;
        later(s, 3000);
        break;
    case SN_CM_EV_REJ:
        s->reason = e->message->reason;
        s->over = true;
        later(s, 100);
        break;
    case SN_CM_EV_UNREACHABLE:
        s->over = true;
        later(s, 100);
        break;
    case SN_CM_EV_DISCONNECTED:
        s->over = true;
        break;
    case SN_CM_EV_TIMEWAIT:
        assert_int_equal(s->seen[SN_CM_EV_DISCONNECTED], 1);
        later(s, 100);
        break;
    default:
        fail();
    }
    return NULL;
}

static const struct sn_cm_ops ops = {
    .now = now, .random = random_word, .send = send_mad, .slot = slot, .match = match, .event = event};

static void on_end(void *user)
{
    struct world *w = (struct world *)((char *)user - offsetof(struct world, listener));
    w->ended = true;
}

static const struct sn_cm_address far_away = {.local = {1}, .remote = {2}};

static struct sn_cm_params params(uint32_t qpn, uint32_t psn)
{
    return (struct sn_cm_params){.qpn = qpn,
                                 .psn = psn,
                                 .responder_resources = 2,
                                 .initiator_depth = 4,
                                 .ca_guid = qpn < 0x200 ? 0x11 : 0x22,
                                 .pkey = 0xffff,
                                 .mtu = 3,
                                 .timeout = CM_TIMEOUT,
                                 .max_retries = 15,
                                 .path = {.ack_timeout = ACK_TIMEOUT, .local_gid = {1}, .remote_gid = {2}}};
}

static void start(struct world *w, unsigned i)
{
    uint8_t private_data[SN_CM_IP_BYTES];
    sn_cm_ip_build(&(struct sn_cm_ip){.version = 4, .port = 4000}, private_data);
    struct sn_cm_params p = params(0x100 + i, 0xabc000 + i);
    p.private_data = private_data;
    p.private_length = sizeof(private_data);
    w->active[i] = (struct side){.w = w, .index = (int)i};
    assert_int_equal(sn_cm_request(w->cm[0], &far_away, SERVICE, &p, &w->active[i], &w->active[i].conn), 0);
    w->active[i].act_at = UINT64_MAX;
    if (w->plan[i] == VANISH)
        later(&w->active[i], 2500);
}

static void destroy(struct side *s)
{
    s->destroyed = true;
    s->act_at = UINT64_MAX;
    sn_cm_destroy(s->w->cm[s->agent], s->conn);
}

static void act_active(struct side *s, enum plan plan)
{
    struct sn_cm *cm = s->w->cm[0];
    s->act_at = UINT64_MAX;
    if (s->over || plan == VANISH) {
        destroy(s);
    } else if (s->seen[SN_CM_EV_REP] && !s->connected) {
        if (plan == REFUSE_REP) {
            assert_int_equal(sn_cm_reject(cm, s->conn, SN_CM_REJ_CONSUMER, "no", 2), 0);
            s->over = true;
            later(s, 500);
            return;
        }
        assert_int_equal(sn_cm_ready_to_use(cm, s->conn, NULL, 0), 0);
        s->connected = true;
        later(s, 3000);
    } else if (s->connected) {
        (void)sn_cm_disconnect(cm, s->conn); /* both may do it at once */
    }
}

static void act_passive(struct side *s, enum plan plan)
{
    struct sn_cm *cm = s->w->cm[1];
    s->act_at = UINT64_MAX;
    if (s->over) {
        destroy(s);
    } else if (!s->psn) {
        s->psn = 1;
        if (plan == REFUSE) {
            assert_int_equal(sn_cm_reject(cm, s->conn, SN_CM_REJ_CONSUMER, "no", 2), 0);
            s->over = true;
            later(s, 500);
            return;
        }
        struct sn_cm_params p = params(0x200 + (uint32_t)s->index, 7);
        assert_int_equal(sn_cm_reply(cm, s->conn, &p), 0);
    } else if (s->connected && roll(s->w) % 4 == 0) {
        destroy(s); /* without a word: it is disconnected all the same */
    } else if (s->connected) {
        (void)sn_cm_disconnect(cm, s->conn);
    }
}

static uint64_t earliest(const struct world *w)
{
    uint64_t t = UINT64_MAX, d;
    for (int i = 0; i < 2; i++)
        if ((d = sn_cm_deadline(w->cm[i])) < t)
            t = d;
    for (unsigned i = 0; i < w->queued; i++)
        if (w->queue[i].at < t)
            t = w->queue[i].at;
    for (unsigned i = 0; i < USERS; i++) {
        if (w->active[i].w && w->active[i].act_at < t)
            t = w->active[i].act_at;
        if (w->passive[i].w && w->passive[i].act_at < t)
            t = w->passive[i].act_at;
    }
    return t;
}

static void deliver(struct world *w)
{
    for (unsigned i = 0; i < w->queued;) {
        if (w->queue[i].at > w->now) {
            i++;
            continue;
        }
        struct packet p = w->queue[i];
        w->queue[i] = w->queue[--w->queued];
        assert_int_equal(sn_cm_input(w->cm[p.to], &p.address, &p.mad, sizeof(p.mad)), SN_CM_OK);
    }
}

static void run(struct world *w)
{
    for (unsigned steps = 0;; steps++) {
        uint64_t t = earliest(w);
        if (t == UINT64_MAX)
            return;
        assert_true(steps < 200000);
        if (t > w->now)
            w->now = t;
        deliver(w);
        for (int i = 0; i < 2; i++)
            sn_cm_timers(w->cm[i]);
        for (unsigned i = 0; i < USERS; i++) {
            if (w->active[i].w && w->active[i].act_at <= w->now)
                act_active(&w->active[i], w->plan[i]);
            if (w->passive[i].w && w->passive[i].act_at <= w->now)
                act_passive(&w->passive[i], w->plan[i]);
        }
        bool begun = w->passives == USERS;
        if (begun && w->listening) { /* later repetitions find the listener closed, and still their connection */
            w->listening = false;
            sn_cm_unlisten(w->cm[1], w->listener);
        }
    }
}

/* What both sides must agree on. */
static void judge(struct world *w, unsigned i)
{
    struct side *a = &w->active[i], *p = &w->passive[i];
    if (w->plan[i] != VANISH)
        assert_true(p->w != NULL);
    switch (w->plan[i]) {
    case ACCEPT:
        assert_int_equal(a->seen[SN_CM_EV_REP], 1);
        assert_int_equal(p->seen[SN_CM_EV_RTU], 1);
        assert_int_equal(a->seen[SN_CM_EV_REJ] + p->seen[SN_CM_EV_REJ], 0);
        assert_int_equal(a->seen[SN_CM_EV_DISCONNECTED], 1);
        assert_true(p->seen[SN_CM_EV_DISCONNECTED] || p->destroyed);
        break;
    case REFUSE:
        assert_int_equal(a->seen[SN_CM_EV_REJ], 1);
        assert_int_equal(a->reason, SN_CM_REJ_CONSUMER);
        assert_int_equal(a->seen[SN_CM_EV_REP], 0);
        break;
    case REFUSE_REP:
        assert_int_equal(a->seen[SN_CM_EV_REP], 1);
        assert_int_equal(p->seen[SN_CM_EV_RTU], 0);
        assert_int_equal(p->seen[SN_CM_EV_REJ], 1);
        break;
    case VANISH:
        assert_true(!p->w || p->over || p->destroyed);
        break;
    default:
        fail();
    }
}

static void run_seed(uint64_t seed, unsigned loss, bool mixed)
{
    struct world *w = calloc(1, sizeof(*w));
    assert_non_null(w);
    w->random = seed;
    w->loss = loss;
    w->now = 1000 * MS;
    for (int i = 0; i < 2; i++) {
        ends[i] = (struct end){w, i};
        assert_int_equal(sn_cm_create(&ops, &ends[i], &w->cm[i]), 0);
    }
    assert_int_equal(sn_cm_listen(w->cm[1], SERVICE, &w->listener, on_end, &w->listener), 0);
    w->listening = true;
    for (unsigned i = 0; i < USERS; i++) {
        w->plan[i] = mixed ? (enum plan)(roll(w) % PLANS) : ACCEPT;
        start(w, i);
    }
    run(w);
    if (w->listening)
        sn_cm_unlisten(w->cm[1], w->listener);
    for (unsigned i = 0; i < USERS; i++)
        judge(w, i);
    for (unsigned i = 0; i < USERS; i++) {
        if (!w->active[i].destroyed)
            destroy(&w->active[i]);
        if (w->passive[i].w && !w->passive[i].destroyed)
            destroy(&w->passive[i]);
    }
    run(w);
    assert_true(w->ended); /* told once nothing depends on the listener */
    assert_int_equal(sn_cm_count(w->cm[0]), 0);
    assert_int_equal(sn_cm_count(w->cm[1]), 0);
    if (loss)
        assert_true(w->lost > 0);
    sn_cm_destroy_agent(w->cm[0]);
    sn_cm_destroy_agent(w->cm[1]);
    free(w);
}

static void connects_without_loss(void **state)
{
    (void)state;
    run_seed(1, 0, false);
}

static void mixed_plans_without_loss(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++)
        run_seed(seed, 0, true);
}

static void loss_duplication_and_reordering(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 60; seed++)
        run_seed(seed * 7919, 20, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(connects_without_loss),
        cmocka_unit_test(mixed_plans_without_loss),
        cmocka_unit_test(loss_duplication_and_reordering),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
