/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two programs that answer each other's messages: acknowledgements that nobody waits for are left to later ones
 * (IBTA 9.7.5.1.2), and whoever waits for each completion is held up in a few trials only.
 */
#include "rig.h"
#include "softnic/wire/packet_talk.h"
#include "softnic/wire/udp.h"

enum { ROUNDS = 512, LATE = 48, INBOX = MEM_SIZE / 2, SIZE = 8 };

static struct station a, b;
static uint64_t now = 1000000000; /* stands still, so that no busy machine can end a wait: ns */

static uint64_t still(void *arg)
{
    (void)arg;
    return now;
}

static void open_both(void)
{
    struct options o = defaults;
    struct sn_backend *first, *second;
    assert_int_equal(sn_udp_open(&first), 0);
    assert_int_equal(sn_udp_open(&second), 0);
    o.log_sq = 7;
    o.log_cq = 8;
    o.mtu = 5;
    o.ack_timeout = 17;
    station_now = still;
    station_open(&a, first, "127.0.0.1", &o);
    station_open(&b, second, "127.0.0.1", &o);
    stations_connect(&a, &b);
}

static void close_both(void)
{
    station_close(&a);
    station_close(&b);
}

/* ---- what a round consists of ---- */

static unsigned turns; /* of each end */

struct inbox {
    const struct station *s;
    uint8_t expected;
};

static bool has_message(void *arg)
{
    const struct inbox *i = arg;
    turns++;
    return i->s->e.mem[INBOX + SIZE - 1] == i->expected;
}

static uint32_t say(struct station *from, struct station *to, uint8_t value)
{
    memset(from->e.mem, value, SIZE);
    struct wr wr = wr_write(&from->e, &to->e, 0, INBOX, SIZE);
    return post(&from->e, &wr);
}

static void hear(const struct station *s, uint8_t value)
{
    struct inbox inbox = {s, value};
    assert_true(stations_run(&a, &b, has_message, &inbox));
    for (unsigned i = 0; i < SIZE; i++)
        assert_int_equal(s->e.mem[INBOX + i], value);
}

static struct station *waits;

static bool has_cqe_counted(void *arg)
{
    const struct sn_cqe64 *c = next_cqe(&waits->e);
    turns++;
    if (!c)
        return false;
    assert_int_equal(cqe_opcode(c), SN_CQE_REQ);
    *(uint32_t *)arg = sn_get16(c->wqe_counter);
    return true;
}

static void completion_of(struct station *s, uint32_t index)
{
    uint32_t got = 0;
    waits = s;
    assert_true(stations_run(&a, &b, has_cqe_counted, &got));
    assert_int_equal(got, index & 0xffff);
}

static uint64_t frames(void)
{
    struct sn_packet_counters c;
    sn_packet_count(&c);
    return c.frames_sent;
}

/* Each completion is looked for LATE messages after its message: all come, in order, and few acknowledgements are sent. */
static void nobody_waits(void **state)
{
    uint32_t ours[ROUNDS], theirs[ROUNDS];
    uint64_t before, sent;
    (void)state;
    open_both();
    before = frames();
    for (unsigned i = 0; i < ROUNDS; i++) {
        ours[i] = say(&a, &b, (uint8_t)(i + 1));
        hear(&b, (uint8_t)(i + 1));
        theirs[i] = say(&b, &a, (uint8_t)(i + 101));
        hear(&a, (uint8_t)(i + 101));
        if (i >= LATE) {
            completion_of(&a, ours[i - LATE]);
            completion_of(&b, theirs[i - LATE]);
        }
    }
    for (unsigned i = ROUNDS - LATE; i < ROUNDS; i++) {
        completion_of(&a, ours[i]);
        completion_of(&b, theirs[i]);
    }
    sent = frames() - before;
    print_message("%u messages: %llu frames\n", 2 * ROUNDS, (unsigned long long)sent);
    assert_true(sent >= 2 * ROUNDS + 2 * ROUNDS / (SN_TALK_COVERED + 1));
    assert_true(sent < 2 * ROUNDS + 2 * ROUNDS / 4);
    close_both();
}

/* Here an acknowledgement that waits is a loss: a few trials, each a few turns long. */
static void both_wait(void **state)
{
    unsigned slow = 0;
    (void)state;
    open_both();
    for (unsigned i = 0; i < 2 * ROUNDS; i++) {
        uint32_t index = say(&a, &b, (uint8_t)(i + 1)), answer;
        hear(&b, (uint8_t)(i + 1));
        answer = say(&b, &a, (uint8_t)(i + 101));
        turns = 0;
        completion_of(&a, index);
        hear(&a, (uint8_t)(i + 101));
        completion_of(&b, answer);
        slow += turns > SN_TALK_TURNS / 2;
    }
    print_message("%u rounds: %u slow ones\n", 2 * ROUNDS, slow);
    assert_in_range(slow, 1, 2 * ROUNDS / 32);
    close_both();
}

/* Both have answered each other long enough for acknowledgements to wait; the last one of b's messages, by its index, does. */
static uint32_t talk(void)
{
    uint32_t last = 0;
    open_both();
    for (unsigned i = 0; i < SN_TALK_ANSWERS + 8; i++) {
        (void)say(&a, &b, (uint8_t)(i + 1));
        hear(&b, (uint8_t)(i + 1));
        last = say(&b, &a, (uint8_t)(i + 101));
        hear(&a, (uint8_t)(i + 101));
    }
    return last;
}

static void completions_until(struct station *s, uint32_t last)
{
    uint32_t got = last + 1;
    waits = s;
    while (got != (last & 0xffff))
        assert_true(stations_run(&a, &b, has_cqe_counted, &got));
}

/* Requests that are no answers, one at a time: they leave before the acknowledgement, and do not begin its time anew. */
static void lone_requests_do_not_hold_it(void **state)
{
    uint32_t last = talk(), got = last + 1;
    unsigned said = 0;
    (void)state;
    waits = &b;
    while (got != (last & 0xffff)) {
        if (!has_cqe_counted(&got)) {
            assert_in_range(++said, 1, SN_TALK_TURNS + 8);
            (void)say(&a, &b, (uint8_t)(200 + said));
            hear(&b, (uint8_t)(200 + said));
        }
    }
    close_both();
}

/* A program that polls now and then: what counts is the clock. */
static void rare_turns_do_not_hold_it(void **state)
{
    uint32_t last = talk();
    (void)state;
    now += SN_TALK_NS;
    turns = 0;
    completions_until(&b, last);
    assert_in_range(turns, 1, 24 + SN_TALK_ANSWERS + 16); /* a look for each completion, and a few turns */
    close_both();
}

/* The last message has been heard, and its reader goes: the writer's completion comes nevertheless. */
static void who_leaves_acknowledges(void **state)
{
    uint32_t last = talk();
    (void)state;
    station_close(&a);
    waits = &b;
    for (uint32_t got = last + 1, looks = 0; got != (last & 0xffff);) {
        if (!has_cqe_counted(&got)) {
            assert_in_range(++looks, 1, 100000);
            (void)sn_port_run(b.w.port);
        }
    }
    station_close(&b);
}

/* ---- the rule by itself ---- */

static void answer_until_patient(struct sn_talks *t, uint32_t qpn, unsigned impatient)
{
    for (unsigned i = 0; i < impatient; i++)
        assert_int_equal(sn_talk_answered(t, qpn), 0);
    assert_int_equal(sn_talk_answered(t, qpn), SN_TALK_TURNS);
}

static void one_of_sixteen_leaves(void **state)
{
    static struct sn_talks t;
    (void)state;
    answer_until_patient(&t, 0x010203, SN_TALK_ANSWERS);
    for (unsigned row = 0; row < 3; row++) {
        for (unsigned i = 1; i < SN_TALK_COVERED; i++) {
            sn_talk_covered(&t, 0x010203);
            assert_int_equal(sn_talk_answered(&t, 0x010203), SN_TALK_TURNS);
        }
        sn_talk_covered(&t, 0x010203);
        assert_int_equal(sn_talk_answered(&t, 0x010203), 0);
        sn_talk_left(&t, 0x010203, false);
    }
    sn_talk_left(&t, 0x010203, true); /* a hiccup of a talk that is worth it */
    assert_int_equal(sn_talk_answered(&t, 0x010203), SN_TALK_TURNS);
}

static void trials_become_rare(void **state)
{
    static struct sn_talks t;
    unsigned rest = SN_TALK_REST;
    (void)state;
    answer_until_patient(&t, 0x010203, SN_TALK_ANSWERS);
    for (unsigned trial = 0; trial < 12; trial++) {
        sn_talk_left(&t, 0x010203, true);
        answer_until_patient(&t, 0x010203, rest + SN_TALK_ANSWERS);
        rest = rest * 2 < SN_TALK_REST_MAX ? rest * 2 : SN_TALK_REST_MAX;
    }
    answer_until_patient(&t, 0x010204, SN_TALK_ANSWERS); /* another queue pair knows nothing of that */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_of_sixteen_leaves), cmocka_unit_test(trials_become_rare),
                                       cmocka_unit_test(nobody_waits), cmocka_unit_test(both_wait),
                                       cmocka_unit_test(lone_requests_do_not_hold_it),
                                       cmocka_unit_test(rare_turns_do_not_hold_it),
                                       cmocka_unit_test(who_leaves_acknowledges)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
