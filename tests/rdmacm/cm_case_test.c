/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One agent, and a peer that is played by hand: single cases of IBTA vol. 1, 12.9 that a well-behaved pair rarely meets.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "softnic/gsi/cm.h"

#define SERVICE SN_CM_IP_SERVICE(6, 5000)
#define SECOND  1000000000ull

static struct {
    uint64_t now;
    struct sn_cm *cm;
    struct sn_cm_listener *listener;
    struct sn_cm_msg out[64]; /* sent */
    unsigned sent, taken;
    enum sn_cm_event_kind event[64];
    int status[64];
    unsigned events;
    struct sn_cm_conn *passive;
    bool full;
} t;

static const struct sn_cm_address peer = {.local = {1}, .remote = {2}};

static uint64_t now(void *arg)
{
    (void)arg;
    return t.now;
}

static uint32_t number(void *arg)
{
    static uint32_t n = 0x100;
    (void)arg;
    return n++;
}

static void send_mad(void *arg, const struct sn_cm_address *to, const struct sn_mad *mad)
{
    (void)arg;
    assert_memory_equal(to->remote, peer.remote, 16);
    assert_true(t.sent < 64);
    assert_int_equal(sn_cm_parse(mad, sizeof(*mad), &t.out[t.sent++]), SN_CM_OK);
}

static uint8_t slot(void *arg, unsigned port)
{
    (void)arg, (void)port;
    return 9;
}

static int match(void *arg, void *user, const struct sn_cm_address *from, const struct sn_cm_msg *m)
{
    (void)arg, (void)user, (void)from, (void)m;
    return 1;
}

static void *event(void *arg, void *user, const struct sn_cm_event *e)
{
    (void)arg, (void)user;
    if (e->kind == SN_CM_EV_REQ || e->kind == SN_CM_EV_SIDR_REQ) {
        if (t.full)
            return NULL;
        t.passive = e->conn;
    }
    t.status[t.events] = e->status;
    t.event[t.events++] = e->kind;
    return &t;
}

static int begin(void **state)
{
    static const struct sn_cm_ops ops = {
        .now = now, .random = number, .send = send_mad, .slot = slot, .match = match, .event = event};
    (void)state;
    memset(&t, 0, sizeof(t));
    t.now = SECOND;
    if (sn_cm_create(&ops, NULL, &t.cm))
        return -1;
    return sn_cm_listen(t.cm, SERVICE, &t, NULL, &t.listener);
}

static int end(void **state)
{
    (void)state;
    sn_cm_destroy_agent(t.cm);
    return 0;
}

static void give(const struct sn_cm_msg *m)
{
    struct sn_mad mad;
    assert_int_equal(sn_cm_build(m, &mad), 0);
    assert_int_equal(sn_cm_input(t.cm, &peer, &mad, sizeof(mad)), SN_CM_OK);
}

static const struct sn_cm_msg *next_sent(uint16_t attribute)
{
    if (t.taken == t.sent)
        fail_msg("no %s was sent", sn_cm_attribute_name(attribute));
    assert_string_equal(sn_cm_attribute_name(t.out[t.taken].attribute), sn_cm_attribute_name(attribute));
    return &t.out[t.taken++];
}

static void nothing_sent(void)
{
    assert_int_equal(t.taken, t.sent);
}

static void event_is(unsigned index, enum sn_cm_event_kind kind, int status)
{
    assert_int_equal(t.events, index + 1);
    assert_int_equal(t.event[index], kind);
    assert_int_equal(t.status[index], status);
}

static struct sn_cm_msg req(uint32_t id, uint32_t qpn)
{
    return (struct sn_cm_msg){.attribute = SN_CM_REQ,
                              .transaction = 77,
                              .local_id = id,
                              .qpn = qpn,
                              .mtu = 3,
                              .ca_guid = 0xabc,
                              .service_id = SERVICE,
                              .remote_timeout = 16,
                              .primary = {.ack_timeout = 14}};
}

static struct sn_cm_msg about(uint16_t attribute, uint32_t ours, uint32_t theirs)
{
    return (struct sn_cm_msg){.attribute = attribute, .transaction = 77, .local_id = theirs, .remote_id = ours, .qpn = 0x50};
}

static struct sn_cm_params params(void)
{
    return (struct sn_cm_params){
        .qpn = 0x50, .psn = 1, .mtu = 3, .timeout = 16, .max_retries = 3, .ca_guid = 1, .path = {.ack_timeout = 14}};
}

/* A passive connection in use. */
static void connect_passive(uint32_t id, uint32_t qpn)
{
    struct sn_cm_msg m = req(id, qpn);
    struct sn_cm_params p = params();
    unsigned events = t.events;
    give(&m);
    event_is(events, SN_CM_EV_REQ, 0);
    assert_int_equal(sn_cm_reply(t.cm, t.passive, &p), 0);
    const struct sn_cm_msg *rep = next_sent(SN_CM_REP);
    assert_int_equal(rep->remote_id, id);
    assert_int_equal(rep->transaction, 77);
    assert_int_equal(rep->local_id >> 24, 9); /* the process slot */
    m = about(SN_CM_RTU, rep->local_id, id);
    give(&m);
    event_is(events + 1, SN_CM_EV_RTU, 0);
}

static struct sn_cm_conn *connect_active(struct sn_cm_msg *rep)
{
    struct sn_cm_params p = params();
    struct sn_cm_conn *c;
    assert_int_equal(sn_cm_request(t.cm, &peer, SERVICE, &p, &t, &c), 0);
    const struct sn_cm_msg *r = next_sent(SN_CM_REQ);
    *rep = about(SN_CM_REP, r->local_id, 0x03000001);
    rep->qpn = 0x1234;
    rep->ca_guid = 0xabc;
    return c;
}

/* ---- cases ------------------------------------------------------------------------------------------------------------ */

static void a_service_that_nobody_has(void **state)
{
    (void)state;
    struct sn_cm_msg m = req(5, 0x10);
    m.service_id++;
    give(&m);
    const struct sn_cm_msg *rej = next_sent(SN_CM_REJ);
    assert_int_equal(rej->reason, SN_CM_REJ_INVALID_SERVICE_ID);
    assert_int_equal(rej->remote_id, 5);
    assert_int_equal(rej->transaction, 77);
    assert_int_equal(t.events, 0);
    assert_int_equal(sn_cm_count(t.cm), 0);
}

static void a_full_backlog_drops_the_request(void **state)
{
    (void)state;
    struct sn_cm_msg m = req(5, 0x10);
    t.full = true;
    give(&m);
    nothing_sent();
    assert_int_equal(sn_cm_count(t.cm), 0);
    t.full = false;
    give(&m); /* it comes again */
    event_is(0, SN_CM_EV_REQ, 0);
}

static void reliable_datagrams_are_refused(void **state)
{
    (void)state;
    struct sn_cm_msg m = req(5, 0x10);
    m.transport = SN_CM_TRANSPORT_RD;
    give(&m);
    assert_int_equal(next_sent(SN_CM_REJ)->reason, SN_CM_REJ_INVALID_TRANSPORT);
}

static void a_repeated_request_gets_more_time(void **state)
{
    (void)state;
    struct sn_cm_msg m = req(5, 0x10);
    give(&m);
    nothing_sent();
    give(&m);
    const struct sn_cm_msg *mra = next_sent(SN_CM_MRA);
    assert_int_equal(mra->about, SN_CM_ABOUT_REQ);
    assert_int_equal(mra->remote_id, 5);
    assert_true(mra->service_timeout > 0);
    event_is(0, SN_CM_EV_REQ, 0); /* once */
}

/* The other side has lost the connection and uses its queue pair for another (12.9.8.3). */
static void a_stale_connection_is_torn_down(void **state)
{
    (void)state;
    connect_passive(5, 0x10);
    struct sn_cm_conn *old = t.passive;
    struct sn_cm_msg m = req(6, 0x10);
    give(&m);
    assert_int_equal(next_sent(SN_CM_REJ)->reason, SN_CM_REJ_STALE_CONN);
    const struct sn_cm_msg *dreq = next_sent(SN_CM_DREQ);
    assert_int_equal(dreq->qpn, 0x10);
    assert_int_equal(t.events, 2);
    m = about(SN_CM_DREP, dreq->local_id, 5);
    give(&m);
    event_is(2, SN_CM_EV_DISCONNECTED, 0);
    m = req(7, 0x10);
    give(&m); /* still in time-wait */
    assert_int_equal(next_sent(SN_CM_REJ)->reason, SN_CM_REJ_STALE_CONN);
    t.now = sn_cm_deadline(t.cm);
    sn_cm_timers(t.cm);
    event_is(3, SN_CM_EV_TIMEWAIT, 0);
    sn_cm_destroy(t.cm, old);
    m = req(8, 0x10);
    give(&m);
    event_is(4, SN_CM_EV_REQ, 0);
}

static void messages_of_others_are_ignored(void **state)
{
    (void)state;
    struct sn_cm_msg rep;
    struct sn_cm_conn *c = connect_active(&rep);
    struct sn_cm_address other = peer;
    struct sn_mad mad;
    struct sn_cm_msg far = about(SN_CM_REJ, sn_cm_local_id(c), 1);
    other.remote[3] = 9;
    assert_int_equal(sn_cm_build(&far, &mad), 0);
    assert_int_equal(sn_cm_input(t.cm, &other, &mad, sizeof(mad)), SN_CM_OK); /* right ID, wrong GID */
    assert_int_equal(t.events, 0);
    struct sn_cm_msg rtu = about(SN_CM_RTU, sn_cm_local_id(c), 1);
    give(&rtu); /* makes no sense in this state */
    nothing_sent();
    give(&rep);
    event_is(0, SN_CM_EV_REP, 0);
    struct sn_cm_msg m = about(SN_CM_DREQ, sn_cm_local_id(c), 0x03000002); /* another ID of the peer's */
    give(&m);
    assert_int_equal(next_sent(SN_CM_DREP)->remote_id, 0x03000002); /* what is not known is disconnected */
    assert_int_equal(t.events, 1);
    m = about(SN_CM_DREQ, sn_cm_local_id(c), 0x03000001);
    m.qpn = 0x51; /* not our queue pair */
    give(&m);
    nothing_sent();
    assert_int_equal(t.events, 1);
}

static void an_unknown_answer_is_refused(void **state)
{
    (void)state;
    struct sn_cm_msg m = about(SN_CM_REP, 0x09123456, 4);
    give(&m);
    const struct sn_cm_msg *rej = next_sent(SN_CM_REJ);
    assert_int_equal(rej->reason, SN_CM_REJ_INVALID_COMM_ID);
    assert_int_equal(rej->about, SN_CM_ABOUT_REP);
    assert_int_equal(rej->remote_id, 4);
}

static void requests_are_repeated_and_given_up(void **state)
{
    (void)state;
    struct sn_cm_msg rep;
    connect_active(&rep);
    for (int i = 0; i < 3; i++) {
        t.now = sn_cm_deadline(t.cm);
        sn_cm_timers(t.cm);
        (void)next_sent(SN_CM_REQ);
    }
    t.now = sn_cm_deadline(t.cm);
    sn_cm_timers(t.cm);
    event_is(0, SN_CM_EV_UNREACHABLE, -ETIMEDOUT);
    assert_int_equal(next_sent(SN_CM_REJ)->reason, SN_CM_REJ_TIMEOUT);
    give(&rep); /* too late: it is told so by its own ID */
    assert_int_equal(next_sent(SN_CM_REJ)->remote_id, 0x03000001);
    assert_int_equal(t.events, 1);
}

static void an_mra_starts_the_count_anew(void **state)
{
    (void)state;
    struct sn_cm_msg rep;
    struct sn_cm_conn *c = connect_active(&rep);
    struct sn_cm_msg mra = about(SN_CM_MRA, sn_cm_local_id(c), 0x03000001);
    for (int i = 0; i < 20; i++) {
        t.now = sn_cm_deadline(t.cm);
        sn_cm_timers(t.cm);
        (void)next_sent(SN_CM_REQ);
        mra.service_timeout = 18;
        give(&mra);
        assert_true(sn_cm_deadline(t.cm) > t.now + SECOND);
    }
    give(&rep);
    event_is(0, SN_CM_EV_REP, 0);
}

/* No peer makes us remember anything for hours. */
static void times_of_the_peer_are_bounded(void **state)
{
    (void)state;
    struct sn_cm_msg rep, m = req(5, 0x10);
    struct sn_cm_conn *c = connect_active(&rep);
    struct sn_cm_msg mra = about(SN_CM_MRA, sn_cm_local_id(c), 0x03000001);
    mra.service_timeout = 31;
    give(&mra);
    assert_true(sn_cm_deadline(t.cm) < t.now + 60 * SECOND);
    sn_cm_destroy(t.cm, c);
    t.now += 600 * SECOND;
    sn_cm_timers(t.cm);
    m.primary.ack_timeout = m.remote_timeout = 31;
    give(&m);
    assert_int_equal(sn_cm_reject(t.cm, t.passive, SN_CM_REJ_CONSUMER, NULL, 0), 0);
    sn_cm_destroy(t.cm, t.passive);
    assert_true(sn_cm_deadline(t.cm) < t.now + 600 * SECOND);
}

static void a_lost_rtu_is_made_up_for(void **state)
{
    (void)state;
    struct sn_cm_msg rep;
    struct sn_cm_conn *c = connect_active(&rep);
    give(&rep);
    give(&rep);
    assert_int_equal(next_sent(SN_CM_MRA)->about, SN_CM_ABOUT_REP);
    assert_int_equal(sn_cm_ready_to_use(t.cm, c, "x", 1), 0);
    assert_int_equal(next_sent(SN_CM_RTU)->private_data[0], 'x');
    give(&rep);
    assert_int_equal(next_sent(SN_CM_RTU)->private_data[0], 'x');
    event_is(0, SN_CM_EV_REP, 0);
}

static void data_may_come_before_the_rtu(void **state)
{
    (void)state;
    struct sn_cm_msg m = req(5, 0x10);
    struct sn_cm_params p = params();
    give(&m);
    assert_int_equal(sn_cm_established(t.cm, t.passive), -EINVAL);
    assert_int_equal(sn_cm_reply(t.cm, t.passive, &p), 0);
    assert_int_equal(sn_cm_established(t.cm, t.passive), 0);
    event_is(1, SN_CM_EV_RTU, 0);
    m = about(SN_CM_RTU, sn_cm_local_id(t.passive), 5);
    give(&m);
    assert_int_equal(t.events, 2);
}

static void both_disconnect_at_once(void **state)
{
    (void)state;
    connect_passive(5, 0x10);
    assert_int_equal(sn_cm_disconnect(t.cm, t.passive), 0);
    const struct sn_cm_msg *dreq = next_sent(SN_CM_DREQ);
    struct sn_cm_msg m = about(SN_CM_DREQ, dreq->local_id, 5);
    give(&m);
    (void)next_sent(SN_CM_DREP);
    event_is(2, SN_CM_EV_DISCONNECTED, 0);
    m = about(SN_CM_DREP, dreq->local_id, 5);
    give(&m);
    assert_int_equal(t.events, 3);
    m = about(SN_CM_DREQ, dreq->local_id, 5);
    give(&m); /* our DREP was lost */
    (void)next_sent(SN_CM_DREP);
    assert_int_equal(t.events, 3);
    assert_int_equal(sn_cm_disconnect(t.cm, t.passive), -ENOTCONN);
}

static void a_peer_that_dies(void **state)
{
    (void)state;
    connect_passive(0x03000005, 0x10);
    struct sn_cm_conn *first = t.passive;
    struct sn_cm_msg m = req(0x03000006, 0x11);
    give(&m);
    sn_cm_peer_gone(t.cm, peer.remote, 4);
    assert_int_equal(t.events, 3);
    sn_cm_peer_gone(t.cm, peer.local, 3);
    assert_int_equal(t.events, 3);
    sn_cm_peer_gone(t.cm, peer.remote, 3);
    assert_int_equal(t.events, 5);
    assert_int_equal(t.event[3] + t.event[4], SN_CM_EV_DISCONNECTED + SN_CM_EV_UNREACHABLE);
    sn_cm_destroy(t.cm, first);
    sn_cm_destroy(t.cm, t.passive);
    t.now += 60 * SECOND;
    sn_cm_timers(t.cm);
    assert_int_equal(sn_cm_count(t.cm), 0);
}

static void an_alternate_path_is_not_loaded(void **state)
{
    (void)state;
    connect_passive(5, 0x10);
    struct sn_cm_msg m = about(SN_CM_RTU, sn_cm_local_id(t.passive), 5);
    struct sn_mad mad;
    assert_int_equal(sn_cm_build(&m, &mad), 0);
    mad.hdr.attribute = sn_put16(SN_CM_LAP);
    assert_int_equal(sn_cm_input(t.cm, &peer, &mad, sizeof(mad)), SN_CM_OK);
    assert_int_equal(next_sent(SN_CM_APR)->status, SN_CM_APR_UNSUPPORTED);
}

/* ---- SIDR -------------------------------------------------------------------------------------------------------------- */

static void service_ids_are_resolved(void **state)
{
    (void)state;
    struct sn_cm_msg m = {.attribute = SN_CM_SIDR_REQ, .local_id = 0x03000009, .service_id = SERVICE, .transaction = 5};
    struct sn_cm_params p = {.qpn = 0x77, .qkey = 0x1234567, .private_data = "hi", .private_length = 2};
    give(&m);
    event_is(0, SN_CM_EV_SIDR_REQ, 0);
    give(&m);
    nothing_sent();
    assert_int_equal(sn_cm_sidr_reply(t.cm, t.passive, SN_CM_SIDR_VALID, &p), 0);
    for (int i = 0; i < 2; i++) {
        const struct sn_cm_msg *rep = next_sent(SN_CM_SIDR_REP);
        assert_int_equal(rep->local_id, 0x03000009);
        assert_int_equal(rep->qpn, 0x77);
        assert_int_equal(rep->qkey, 0x1234567);
        assert_int_equal(rep->transaction, 5);
        assert_memory_equal(rep->private_data, "hi", 2);
        if (i == 0)
            give(&m); /* the answer was lost: the same again */
    }
    assert_int_equal(t.events, 1);
    sn_cm_destroy(t.cm, t.passive);
    t.now += 60 * SECOND;
    sn_cm_timers(t.cm);
    assert_int_equal(sn_cm_count(t.cm), 0);
    m.service_id++;
    m.local_id++;
    give(&m);
    assert_int_equal(next_sent(SN_CM_SIDR_REP)->status, SN_CM_SIDR_NO_SERVICE);
}

static void resolution_is_asked_for(void **state)
{
    (void)state;
    struct sn_cm_params p = params();
    struct sn_cm_conn *c;
    assert_int_equal(sn_cm_sidr_request(t.cm, &peer, SERVICE, &p, &t, &c), 0);
    struct sn_cm_msg rep = {.attribute = SN_CM_SIDR_REP, .local_id = next_sent(SN_CM_SIDR_REQ)->local_id, .qpn = 0x99};
    t.now = sn_cm_deadline(t.cm);
    sn_cm_timers(t.cm);
    assert_int_equal(next_sent(SN_CM_SIDR_REQ)->local_id, rep.local_id);
    give(&rep);
    event_is(0, SN_CM_EV_SIDR_REP, 0);
    give(&rep);
    assert_int_equal(t.events, 1);
    sn_cm_destroy(t.cm, c);
    assert_int_equal(sn_cm_sidr_request(t.cm, &peer, SERVICE, &p, &t, &c), 0);
    while (sn_cm_deadline(t.cm) != UINT64_MAX) {
        t.now = sn_cm_deadline(t.cm);
        sn_cm_timers(t.cm);
    }
    event_is(1, SN_CM_EV_UNREACHABLE, -ETIMEDOUT);
    sn_cm_destroy(t.cm, c);
    assert_int_equal(sn_cm_count(t.cm), 0);
}

/* ---- which process ------------------------------------------------------------------------------------------------------ */

static void whom_a_mad_is_for(void **state)
{
    (void)state;
    uint8_t s = 0;
    struct sn_cm_msg m = req(5, 0x10);
    assert_int_equal(sn_cm_owner_of(&m, &s), SN_CM_OWNER_SERVICE);
    m = about(SN_CM_REP, 0x42000001, 5);
    assert_int_equal(sn_cm_owner_of(&m, &s), SN_CM_OWNER_SLOT);
    assert_int_equal(s, 0x42);
    m = about(SN_CM_REJ, 0, 5);
    assert_int_equal(sn_cm_owner_of(&m, &s), SN_CM_OWNER_ALL);
    m = about(SN_CM_RTU, 0x00000001, 5); /* slot 0 is nobody's */
    assert_int_equal(sn_cm_owner_of(&m, &s), SN_CM_OWNER_NOBODY);
    m = (struct sn_cm_msg){.attribute = SN_CM_SIDR_REP, .local_id = 0x17000000};
    assert_int_equal(sn_cm_owner_of(&m, &s), SN_CM_OWNER_SLOT);
    assert_int_equal(s, 0x17);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_service_that_nobody_has),
        CASE(a_full_backlog_drops_the_request),
        CASE(reliable_datagrams_are_refused),
        CASE(a_repeated_request_gets_more_time),
        CASE(a_stale_connection_is_torn_down),
        CASE(messages_of_others_are_ignored),
        CASE(an_unknown_answer_is_refused),
        CASE(requests_are_repeated_and_given_up),
        CASE(an_mra_starts_the_count_anew),
        CASE(times_of_the_peer_are_bounded),
        CASE(a_lost_rtu_is_made_up_for),
        CASE(data_may_come_before_the_rtu),
        CASE(both_disconnect_at_once),
        CASE(a_peer_that_dies),
        CASE(an_alternate_path_is_not_loaded),
        CASE(service_ids_are_resolved),
        CASE(resolution_is_asked_for),
        CASE(whom_a_mad_is_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
