/* SPDX-License-Identifier: Apache-2.0 */
/* Exchanges of an independent implementation, each side in turn played by the engine. See replay.h. */
#include <stdio.h>
#include <stdlib.h>

#include "exchange.h"
#include "format/bth.h"
#include "replay.h"

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

static bool as_known(const struct vector *v, bool responder, enum replay_fault fault, unsigned at)
{
    if (strcmp(folder, WIRE_VECTORS) != 0)
        return true; /* other captures: whatever fits to the last byte */
    for (unsigned i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (strcmp(known[i].name, v->name) == 0 && known[i].responder == responder)
            return known[i].fault == fault && known[i].at == at;
    return fault == FAULT_NONE;
}

static void play(const struct vector *v, bool responder)
{
    static const char *const names[] = {"as captured", "lost", "doubled", "swapped with the next"};
    struct replay_verdict w;

    replay_find(v, responder, &w);
    if (!w.fits)
        fail_msg("%s: %s", v->name, w.why);
    if (w.fault == FAULT_NONE)
        print_message("%-40s %s\n", v->name, names[w.fault]);
    else
        print_message("%-40s frame in %u %s\n", v->name, w.at + 1, names[w.fault]);
    if (!as_known(v, responder, w.fault, w.at))
        fail_msg("%s: that is not what happened; as captured: %s", v->name, w.why);
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

static void far_psn(struct sn_burst *p)
{
    p->psn += 7;
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
        {"fault_drop_2nd_of_5_write.pcap", 5, true, far_psn},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct replay_verdict w;
        char path[4096];
        struct vector v;

        snprintf(path, sizeof(path), "%s/%s", WIRE_VECTORS, rows[i].file);
        vector_load(&v, path);
        forge(&v, rows[i].frame, rows[i].change);
        replay_find(&v, rows[i].responder, &w);
        if (w.fits)
            fail_msg("row %u: %s was forged, and it fits", i, rows[i].file);
        assert_true(w.why[0] != '\0' && w.reason != REASON_NONE);
        vector_free(&v);
    }
}

/*
 * One PSN more in this NAK is what the responder says when the third packet of five was lost instead of the second: a story that may
 * have happened as well.
 */
static bool is_another_story(const struct vector *v, unsigned i)
{
    return strcmp(v->name, "fault_drop_2nd_of_5_write.pcap") == 0 && i == 5;
}

/* The change is made to each frame in turn. */
static void forge_each(struct vector *v, bool responder, void (*change)(struct sn_burst *p), bool (*applies)(const struct sn_burst *p))
{
    for (unsigned i = 0; i < v->count; i++) {
        struct vector_frame *f = &v->frame[i], before = *f;
        struct replay_verdict w;

        if (!applies(&f->packet))
            continue;
        f->bytes = malloc(f->length);
        forge(v, i, change);
        replay_find(v, responder, &w);
        if (w.fits && !(change == other_psn && is_another_story(v, i) && w.fault == FAULT_DROP && w.at == 2))
            fail_msg("%s: frame %u was forged, and it fits as %s with fault %d at %u", v->name, i + 1,
                     responder ? "responder" : "requester", w.fault, w.at);
        free(f->bytes);
        *f = before;
    }
}

static bool is_answer(const struct sn_burst *p)
{
    return !exchange_is_request(p);
}

static bool has_aeth(const struct sn_burst *p)
{
    return is_answer(p) && (p->kind != SN_KIND_READ_RESPONSE || (p->flags & (SN_BURST_FIRST | SN_BURST_LAST)));
}

static bool is_ack(const struct sn_burst *p)
{
    return p->kind == SN_KIND_ACK;
}

static bool ends_request(const struct sn_burst *p)
{
    return exchange_is_request(p) && p->service == SN_SERVICE_RC && (p->flags & SN_BURST_LAST);
}

/* PSN, MSN and syndrome of every answer, and that the last packet of a message asks for one. */
static void every_answer_counts_in(struct vector *v, void *arg)
{
    (void)arg;
    forge_each(v, true, other_psn, is_answer);
    forge_each(v, true, other_msn, has_aeth);
    forge_each(v, true, other_syndrome, is_ack);
    forge_each(v, false, no_ackreq, ends_request);
}

static void every_answer_counts(void **state)
{
    (void)state;
    vector_each(WIRE_VECTORS, every_answer_counts_in, NULL);
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
        struct replay_verdict w;
        char path[4096];

        snprintf(path, sizeof(path), "%s/%s", WIRE_VECTORS, rows[i].file);
        vector_load(&v, path);
        compose(&v, &rows[i], &composed);
        replay_find(&composed, true, &w);
        if (!w.fits)
            fail_msg("row %u, responder: %s", i, w.why);
        if (w.fault != rows[i].responder || w.at != rows[i].at)
            fail_msg("row %u, responder: fault %d at %u", i, w.fault, w.at);
        replay_find(&composed, false, &w);
        if (!w.fits)
            fail_msg("row %u, requester: %s", i, w.why);
        if (w.fault != FAULT_NONE)
            fail_msg("row %u, requester: fault %d at %u; as composed: %s", i, w.fault, w.at, w.why);
        vector_free(&composed);
        vector_free(&v);
    }
}

/* ---- liberties ------------------------------------------------------------------------------------------------------ */

/* `composed` fits as it is, on either side (NULL: it does not), with just these liberties taken. */
static void expect_liberties(unsigned row, const struct vector *composed, bool responder, const unsigned *liberty)
{
    struct replay_verdict w;

    replay_find(composed, responder, &w);
    if (w.fits != (liberty != NULL))
        fail_msg("row %u, %s: %s %s", row, responder ? "responder" : "requester", w.fits ? "fits" : "does not fit", w.why);
    if (liberty == NULL)
        return;
    if (w.fault != FAULT_NONE)
        fail_msg("row %u, %s: fault %d at %u; as composed: %s", row, responder ? "responder" : "requester", w.fault, w.at, w.why);
    for (unsigned n = 0; n < LIBERTIES; n++)
        if (w.liberty[n] != liberty[n])
            fail_msg("row %u, %s: %u times %s", row, responder ? "responder" : "requester", w.liberty[n],
                     replay_liberty_name[n]);
}

/* Each is taken where it may be, is counted, and goes no farther. */
static void liberties(void **state)
{
    enum { RNR = 0x2e };
    static const struct {
        struct composed c;
        enum { NO, YES, UNDER_A_FAULT /* not looked at */ } fits[2]; /* requester, responder */
        unsigned liberty[2][LIBERTIES];
    } rows[] = {
        /* What comes behind a SEND that nobody was ready for: a NAK sequence error, or silence. */
        {{"rc_rnr.pcap",
          {{0, 0, -1, -1}, {0, 1, -1, -1}, {1, 0, RNR, 0}, {1, 0, 0x60, 0}, {0, 0, -1, -1}, {0, 1, -1, -1},
           {7, 0, 0x1f, 1}, {7, 1, 0x1f, 2}},
          8, FAULT_NONE, 0},
         {YES, YES}, {{0}, {[LIBERTY_NAK_BEHIND_RNR] = 1}}},
        {{"rc_rnr.pcap",
          {{0, 0, -1, -1}, {0, 1, -1, -1}, {1, 0, RNR, 0}, {0, 0, -1, -1}, {0, 1, -1, -1}, {7, 0, 0x1f, 1}, {7, 1, 0x1f, 2}},
          7, FAULT_NONE, 0},
         {YES, YES}, {{0}, {0}}},
        /* The requester had gone on before it heard of it. */
        {{"rc_rnr.pcap",
          {{0, 0, -1, -1}, {1, 0, RNR, 0}, {0, 1, -1, -1}, {1, 0, 0x60, 0}, {0, 0, -1, -1}, {0, 1, -1, -1},
           {7, 0, 0x1f, 1}, {7, 1, 0x1f, 2}},
          8, FAULT_NONE, 0},
         {YES, YES}, {{[LIBERTY_LATE_NAK] = 1}, {[LIBERTY_NAK_BEHIND_RNR] = 1}}},
        /* Nothing was behind it; it was about another packet; it came twice; it was no RNR NAK. */
        {{"rc_rnr.pcap", {{0, 0, -1, -1}, {1, 0, RNR, 0}, {1, 0, 0x60, 0}, {0, 0, -1, -1}, {7, 0, 0x1f, 1}}, 5, FAULT_NONE, 0},
         {YES, NO}, {{0}, {0}}},
        {{"rc_rnr.pcap",
          {{0, 0, -1, -1}, {0, 1, -1, -1}, {1, 0, RNR, 0}, {1, 1, 0x60, 0}, {0, 0, -1, -1}, {0, 1, -1, -1},
           {7, 0, 0x1f, 1}, {7, 1, 0x1f, 2}},
          8, FAULT_NONE, 0},
         {UNDER_A_FAULT, NO}, {{0}, {0}}},
        {{"rc_rnr.pcap",
          {{0, 0, -1, -1}, {0, 1, -1, -1}, {1, 0, RNR, 0}, {1, 0, 0x60, 0}, {1, 0, 0x60, 0}, {0, 0, -1, -1}, {0, 1, -1, -1},
           {7, 0, 0x1f, 1}, {7, 1, 0x1f, 2}},
          9, FAULT_NONE, 0},
         {YES, NO}, {{0}, {0}}},
        /* One acknowledgement for two requests; two, the wrong way round. */
        {{"rc_write_8.pcap", {{0, 0, -1, -1}, {0, 1, -1, -1}, {1, 1, 0x1f, 2}}, 3, FAULT_NONE, 0},
         {YES, YES}, {{0}, {[LIBERTY_COALESCED] = 1}}},
        {{"rc_write_8.pcap", {{0, 0, -1, -1}, {0, 1, -1, -1}, {1, 1, 0x1f, 2}, {1, 0, 0x1f, 1}}, 4, FAULT_NONE, 0},
         {YES, NO}, {{0}, {0}}},
        /* The one that covers both says that one message is complete. */
        {{"rc_write_8.pcap", {{0, 0, -1, -1}, {0, 1, -1, -1}, {1, 1, 0x1f, 1}}, 3, FAULT_NONE, 0},
         {YES, NO}, {{0}, {0}}},
        /* A response is missing, and is asked for again; is not. */
        {{"fault_drop_read_resp_middle.pcap",
          {SAME(0), SAME(1), SAME(3), SAME(4), SAME(5), SAME(6), SAME(7), SAME(8), SAME(9), SAME(10)}, 10, FAULT_NONE, 0},
         {YES, YES}, {{0}, {[LIBERTY_NOT_CAPTURED] = 1}}},
        {{"rc_read_5000_multi.pcap", {SAME(0), SAME(1), SAME(3), SAME(4), SAME(5)}, 5, FAULT_NONE, 0},
         {NO, NO}, {{0}, {0}}},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct vector v, composed;
        char path[4096];

        snprintf(path, sizeof(path), "%s/%s", WIRE_VECTORS, rows[i].c.file);
        vector_load(&v, path);
        compose(&v, &rows[i].c, &composed);
        for (unsigned side = 0; side < 2; side++)
            if (rows[i].fits[side] != UNDER_A_FAULT)
                expect_liberties(i, &composed, side, rows[i].fits[side] == YES ? rows[i].liberty[side] : NULL);
        vector_free(&composed);
        vector_free(&v);
    }
}

static void ask_or_not(struct sn_burst *p)
{
    p->flags ^= SN_BURST_ACKREQ;
}

/* A middle packet asks: the engine does not as a requester, and answers it as a responder. The last one has to ask. */
static void asking_is_free(void **state)
{
    static const unsigned asks[LIBERTIES] = {[LIBERTY_ASKS] = 1}, covered[LIBERTIES] = {[LIBERTY_COALESCED] = 1};
    struct vector v;

    (void)state;
    vector_load(&v, WIRE_VECTORS "/rc_write_5000_multi.pcap");
    forge(&v, 2, ask_or_not);
    expect_liberties(0, &v, false, asks);
    expect_liberties(0, &v, true, covered);
    forge(&v, 4, ask_or_not);
    expect_liberties(1, &v, false, NULL);
    vector_free(&v);
}

/* ---- several exchanges in a capture --------------------------------------------------------------------------------- */

struct found {
    const struct vector *one, *other;
    unsigned count;
};

static void is_one_of_two(struct vector *part, void *arg)
{
    struct found *f = arg;
    const struct vector *v = f->count++ == 0 ? f->one : f->other;
    struct replay_verdict w;

    assert_int_equal(part->count, v->count);
    for (unsigned i = 0; i < v->count; i++)
        assert_ptr_equal(part->frame[i].bytes, v->frame[i].bytes);
    for (int side = 0; side < 2; side++) {
        replay_find(part, side, &w);
        assert_true(w.fits && w.fault == FAULT_NONE);
    }
}

/* Two queue pairs between the same addresses, with the same PSNs, frame by frame in turn. */
static void exchanges_are_told_apart(void **state)
{
    struct vector one, other, both = {.name = "both", .layer = SN_LAYER_ETHERNET};
    struct found f = {.one = &one, .other = &other};

    (void)state;
    vector_load(&one, WIRE_VECTORS "/rc_read_5000_multi.pcap");
    vector_load(&other, WIRE_VECTORS "/rc_write_5000_multi.pcap");
    both.frame = calloc(one.count + other.count, sizeof(*both.frame));
    assert_non_null(both.frame);
    for (unsigned i = 0; i < one.count || i < other.count; i++) {
        if (i < one.count)
            both.frame[both.count++] = one.frame[i];
        if (i < other.count)
            both.frame[both.count++] = other.frame[i];
    }
    assert_int_equal(exchange_each(&both, is_one_of_two, &f), 2);
    assert_int_equal(f.count, 2);
    free(both.frame);
    vector_free(&one);
    vector_free(&other);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_as_the_other),
        cmocka_unit_test(asks_as_the_other),
        cmocka_unit_test(a_false_exchange_is_told),
        cmocka_unit_test(every_answer_counts),
        cmocka_unit_test(doubled_and_swapped),
        cmocka_unit_test(liberties),
        cmocka_unit_test(asking_is_free),
        cmocka_unit_test(exchanges_are_told_apart),
    };

    folder = vector_folder(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
