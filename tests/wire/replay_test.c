/* SPDX-License-Identifier: Apache-2.0 */
/* Exchanges of an independent implementation, each side in turn played by the engine. See replay.h. */
#include <stdio.h>
#include <stdlib.h>

#include "format/bth.h"
#include "replay.h"

typedef bool (*side)(struct replay *r, const struct vector *v, enum replay_fault fault, unsigned at);

static const char *folder;

/* Which fault our own vectors tell of, as their README says it; a fault that fits by accident would be seen here. */
static const struct {
    const char *name;
    bool responder;
    enum replay_fault fault;
    unsigned at; /* of the frames that go in */
} known[] = {
    {"fault_drop_2nd_of_5_write.pcap", true, FAULT_DROP, 1},
    {"fault_drop_ack.pcap", false, FAULT_DROP, 0},
    {"fault_drop_atomic_ack.pcap", false, FAULT_DROP, 0},
    {"fault_drop_read_resp_middle.pcap", false, FAULT_DROP, 1},
};

static bool try(side play, const struct vector *v, enum replay_fault fault, unsigned at, char why[256])
{
    struct replay *r = calloc(1, sizeof(*r));
    bool fits;

    assert_non_null(r);
    fits = play(r, v, fault, at);
    memcpy(why, r->why, 256);
    replay_close(r);
    free(r);
    return fits;
}

static bool as_known(const struct vector *v, bool responder, enum replay_fault fault, unsigned at)
{
    if (strcmp(folder, WIRE_VECTORS) != 0)
        return true; /* other captures: whatever fits to the last byte */
    for (unsigned i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (strcmp(known[i].name, v->name) == 0 && known[i].responder == responder)
            return known[i].fault == fault && known[i].at == at;
    return fault == FAULT_NONE;
}

/* The first fault that fits, none before all others. False: none does; `why` is about the exchange as it stands. */
static bool find(const struct vector *v, bool responder, enum replay_fault *fault, unsigned *at, char why[256])
{
    side s = responder ? replay_responder : replay_requester;
    char ignored[256];

    *fault = FAULT_NONE;
    *at = 0;
    if (try(s, v, FAULT_NONE, 0, why))
        return true;
    for (int f = FAULT_DROP; f <= FAULT_SWAP; f++)
        for (*at = 0; *at < v->count; ++*at)
            if (try(s, v, *fault = (enum replay_fault)f, *at, ignored))
                return true;
    return false;
}

static void play(const struct vector *v, bool responder)
{
    static const char *const names[] = {"as captured", "lost", "doubled", "swapped with the next"};
    enum replay_fault fault;
    char why[256];
    unsigned at;

    if (!find(v, responder, &fault, &at, why))
        fail_msg("%s: %s", v->name, why);
    if (fault == FAULT_NONE)
        print_message("%-40s %s\n", v->name, names[fault]);
    else
        print_message("%-40s frame in %u %s\n", v->name, at + 1, names[fault]);
    if (!as_known(v, responder, fault, at))
        fail_msg("%s: that is not what happened; as captured: %s", v->name, why);
}

static void play_responder(struct vector *v, void *arg)
{
    (void)arg;
    play(v, true);
}

static void play_requester(struct vector *v, void *arg)
{
    (void)arg;
    play(v, false);
}

static void answers_as_the_other(void **state)
{
    (void)state;
    vector_each(folder, play_responder, NULL);
}

static void asks_as_the_other(void **state)
{
    (void)state;
    vector_each(folder, play_requester, NULL);
}

/* ---- can it fail?
 * ---------------------------------------------------------------------------------------------------- */

/* Changes frame i of a vector, bytes and all. */
static void forge(struct vector *v, unsigned i, void (*change)(struct sn_burst *p))
{
    struct vector_frame *f = &v->frame[i];

    change(&f->packet);
    assert_int_equal(sn_frame_build(&f->packet, &f->path, SN_LAYER_ETHERNET, f->bytes, f->length), f->length);
    assert_int_equal(sn_frame_parse(f->bytes, f->length, SN_LAYER_ETHERNET, true, &f->packet, &f->path), SN_FRAME_OK);
}

static void other_msn(struct sn_burst *p)
{
    p->msn++;
}

static void other_psn(struct sn_burst *p)
{
    p->psn++;
}

static void other_syndrome(struct sn_burst *p)
{
    p->syndrome ^= 1;
}

static void other_value(struct sn_burst *p)
{
    p->atomic_orig++;
}

static void no_ackreq(struct sn_burst *p)
{
    p->flags &= (uint8_t)~SN_BURST_ACKREQ;
}

static void other_address(struct sn_burst *p)
{
    p->va += 8;
}

/* An exchange that is not what happened must not fit, under any fault. */
static void a_false_exchange_is_told(void **state)
{
    static const struct {
        const char *file;
        unsigned frame;
        bool responder;
        void (*change)(struct sn_burst *p);
    } rows[] = {
        {"rc_write_8.pcap", 1, true, other_msn},
        {"rc_write_8.pcap", 1, true, other_psn},
        {"rc_write_8.pcap", 1, true, other_syndrome},
        {"rc_write_8.pcap", 0, false, no_ackreq},
        {"rc_write_5000_multi.pcap", 4, false, no_ackreq},
        {"rc_rnr.pcap", 3, true, other_syndrome},
        {"fault_drop_atomic_ack.pcap", 3, true, other_value},
        {"fault_drop_atomic_ack.pcap", 2, false, other_address},
        {"fault_drop_2nd_of_5_write.pcap", 5, true, other_psn},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        enum replay_fault fault;
        char path[4096], why[256];
        struct vector v;
        unsigned at;

        snprintf(path, sizeof(path), "%s/%s", WIRE_VECTORS, rows[i].file);
        vector_load(&v, path);
        forge(&v, rows[i].frame, rows[i].change);
        if (find(&v, rows[i].responder, &fault, &at, why))
            fail_msg("row %u: %s was forged, and it fits", i, rows[i].file);
        assert_true(why[0] != '\0');
        vector_free(&v);
    }
}

/* ---- other faults
 * ---------------------------------------------------------------------------------------------------- */

enum { AS_IT_IS = -1 };

/* A frame of the original, its answer's fields changed. */
struct piece {
    unsigned from;
    int psn, syndrome, msn; /* psn: from the first frame's on */
};

struct composed {
    const char *file;
    struct piece piece[16];
    unsigned pieces;
    enum replay_fault responder;
    unsigned at;
};

static void compose(const struct vector *v, const struct composed *c, struct vector *out)
{
    *out = (struct vector){.count = c->pieces, .frame = calloc(c->pieces, sizeof(*out->frame))};
    snprintf(out->name, sizeof(out->name), "%s, composed", c->file);
    for (unsigned i = 0; i < c->pieces; i++) {
        const struct piece *from = &c->piece[i];
        struct vector_frame *f = &out->frame[i];
        struct sn_burst p = v->frame[from->from].packet;
        *f = v->frame[from->from];
        f->bytes = malloc(f->length);
        if (from->psn != AS_IT_IS)
            p.psn = sn_psn_add(v->frame[0].packet.psn, (uint32_t)from->psn);
        if (from->syndrome != AS_IT_IS)
            p.syndrome = (uint8_t)from->syndrome;
        if (from->msn != AS_IT_IS)
            p.msn = (uint32_t)from->msn;
        assert_int_equal(sn_frame_build(&p, &f->path, SN_LAYER_ETHERNET, f->bytes, f->length), f->length);
        assert_int_equal(sn_frame_parse(f->bytes, f->length, SN_LAYER_ETHERNET, true, &f->packet, &f->path),
                         SN_FRAME_OK);
    }
}

#define SAME(n)                                                                                                        \
    {                                                                                                                  \
        (n), AS_IT_IS, AS_IT_IS, AS_IT_IS                                                                              \
    }

/*
 * What the specification wants when a request comes twice (9.7.5.1.4: SEND and WRITE acknowledged again, READ executed
 * again, an atomic answered from what was saved) or early (9.7.5.1.3: one NAK a gap). An answer that is not asked for
 * any more is ignored by the requester (9.7.6.1.3). Composed of the captured frames.
 */
static void doubled_and_swapped(void **state)
{
    static const struct composed rows[] = {
        {"rc_write_8.pcap", {SAME(0), SAME(1), SAME(1)}, 3, FAULT_TWICE, 0},
        {"rc_send_11.pcap", {SAME(0), SAME(1), SAME(1)}, 3, FAULT_TWICE, 0},
        {"rc_fetch_add.pcap", {SAME(0), SAME(1), SAME(1)}, 3, FAULT_TWICE, 0},
        {"rc_read_8.pcap", {SAME(0), SAME(1), SAME(1)}, 3, FAULT_TWICE, 0},
        {"rc_read_5000_multi.pcap",
         {SAME(0), SAME(1), SAME(2), SAME(3), SAME(4), SAME(5), SAME(1), SAME(2), SAME(3), SAME(4), SAME(5)},
         11, FAULT_TWICE, 0},
        /* The second of five twice: acknowledged as far as it had got. */
        {"rc_write_5000_multi.pcap",
         {SAME(0), SAME(1), SAME(2), SAME(3), SAME(4), {5, 1, SN_AETH_ACK, 0}, SAME(5)},
         7, FAULT_TWICE, 1},
        /*
         * The third before the second: that is missing; then so is the third. The requester hears both
         * before it sends again.
         */
        {"rc_write_5000_multi.pcap",
         {SAME(0), SAME(1), SAME(2), SAME(3), SAME(4), {5, 1, SN_AETH_NAK_SEQUENCE, 0}, {5, 2, SN_AETH_NAK_SEQUENCE, 0},
          SAME(2), SAME(3), SAME(4), SAME(5)},
         11, FAULT_SWAP, 1},
        /* The last one lost: only the timer tells. All of it again; what had come is acknowledged each time. */
        {"rc_write_5000_multi.pcap",
         {SAME(0), SAME(1), SAME(2), SAME(3), SAME(4), SAME(0), SAME(1), SAME(2), SAME(3), SAME(4),
          {5, 3, SN_AETH_ACK, 0}, {5, 3, SN_AETH_ACK, 0}, {5, 3, SN_AETH_ACK, 0}, {5, 3, SN_AETH_ACK, 0}, SAME(5)},
         15, FAULT_DROP, 4},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct vector v, composed;
        enum replay_fault fault;
        char path[4096], why[256];
        unsigned at;

        snprintf(path, sizeof(path), "%s/%s", WIRE_VECTORS, rows[i].file);
        vector_load(&v, path);
        compose(&v, &rows[i], &composed);
        if (!find(&composed, true, &fault, &at, why))
            fail_msg("row %u, responder: %s", i, why);
        if (fault != rows[i].responder || at != rows[i].at)
            fail_msg("row %u, responder: fault %d at %u", i, fault, at);
        if (!find(&composed, false, &fault, &at, why))
            fail_msg("row %u, requester: %s", i, why);
        if (fault != FAULT_NONE)
            fail_msg("row %u, requester: fault %d at %u; as composed: %s", i, fault, at, why);
        vector_free(&composed);
        vector_free(&v);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_as_the_other),
        cmocka_unit_test(asks_as_the_other),
        cmocka_unit_test(a_false_exchange_is_told),
        cmocka_unit_test(doubled_and_swapped),
    };

    folder = vector_folder(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
