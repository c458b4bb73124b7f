/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Short messages become the frames that bursts become, byte for byte (wire/packet_short.h): alone, in runs, as acknowledgements
 * that wait, over both IP versions. And a frame that was damaged on the way, or whose headers say something out of the ordinary,
 * is not taken the short way.
 */
#include <stdlib.h>

#include "../softnic/sides.h"
#include "format/roce.h"
#include "softnic/engine.h"
#include "softnic/wire/packet_internal.h"

enum { ROUNDS = 3000, MOST = 60, BYTES = 128 };

/* A wire that remembers what leaves. */
struct recorder {
    struct sn_backend base; /* first */
    struct sn_frame_out out[MOST];
    uint8_t bytes[MOST][BYTES];
    unsigned count, calls;
};

static int no_address(struct sn_backend *b, const struct sn_burst *burst, uint16_t *udp_sport)
{
    (void)b;
    *udp_sport = *udp_sport != 0 ? *udp_sport : (uint16_t)(0xc000 | (burst->sqpn & 0xff));
    return 0;
}

static int record(struct sn_backend *b, const struct sn_frame_out *out, unsigned count)
{
    struct recorder *r = (struct recorder *)b;

    for (unsigned i = 0; i < count; i++) {
        assert_true(r->count < MOST && out[i].length <= BYTES);
        r->out[r->count] = out[i];
        memcpy(r->bytes[r->count++], out[i].bytes, out[i].length);
    }
    r->calls++;
    return (int)count;
}

static int nothing_came(struct sn_backend *b, struct sn_frame_in *in, unsigned max)
{
    (void)b;
    (void)in;
    (void)max;
    return 0;
}

static void forget(struct sn_backend *b)
{
    free(b);
}

struct end_of_wire {
    struct world w;
    struct sn_wire *wire;
    struct recorder *r;
};

static void open_end(struct end_of_wire *e)
{
    static const struct sn_backend_ops ops = {
        .name = "recorder", .layer = SN_LAYER_UDP, .address = no_address, .send = record, .receive = nothing_came, .destroy = forget};

    world_open(&e->w, &defaults);
    e->r = calloc(1, sizeof(*e->r));
    assert_non_null(e->r);
    e->r->base = (struct sn_backend){.ops = &ops, .runs = true, .id_unknown = true, .mtu = 65535, .window = 16384};
    assert_int_equal(sn_packet_wire_create(e->w.port, &e->r->base, true, &e->wire), 0);
    sn_port_attach_wire(e->w.port, e->wire);
}

static void close_end(struct end_of_wire *e)
{
    sn_port_attach_wire(e->w.port, NULL);
    e->wire->ops->destroy(e->wire);
    world_close(&e->w);
}

static uint64_t state = 0x9e3779b97f4a7c15;

static uint64_t any(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static void addressing(struct sn_burst *h)
{
    bool ipv4 = any() & 1;

    memset(h, 0, sizeof(*h));
    for (int i = 0; i < 16; i++) {
        h->sgid[i] = (uint8_t)any();
        h->dgid[i] = (uint8_t)any();
    }
    if (ipv4)
        for (int i = 0; i < 12; i++)
            h->sgid[i] = h->dgid[i] = i < 10 ? 0 : 0xff;
    h->sqpn = any() & 0xffffff;
    h->dqpn = any() & 0xffffff;
    h->service = SN_SERVICE_RC;
    h->mtu = (uint8_t)(1 + any() % 5);
    h->tclass = any() & 1 ? (uint8_t)any() : 0;
    h->hop_limit = (uint8_t)any();
    h->udp_sport = any() & 1 ? (uint16_t)(0xc000 | any()) : 0;
    h->flow_label = any() & 0xfffff;
    h->pkey = any() & 3 ? 0xffff : (uint16_t)any();
    h->epoch = (uint8_t)any();
}

static void as_burst(const struct sn_burst *h, const struct sn_short *m, struct sn_burst *b)
{
    *b = *h;
    b->kind = m->kind;
    b->flags = m->flags;
    b->psn = m->psn;
    b->npackets = 1;
    b->va = m->va;
    b->rkey = m->rkey;
    b->dmalen = b->length = m->length;
    b->syndrome = m->syndrome;
    b->msn = m->msn;
    b->iov_count = m->length != 0;
    b->iov[0] = (struct sn_iov){&m->word, m->length, SN_SPACE_HOST};
}

static struct sn_short any_message(const struct sn_burst *h, uint32_t psn, uint32_t length)
{
    struct sn_short m = {.kind = any() % 4 == 0 ? SN_KIND_ACK : SN_KIND_WRITE,
                         .flags = SN_BURST_FIRST | SN_BURST_LAST,
                         .mtu = h->mtu,
                         .dqpn = h->dqpn,
                         .sqpn = h->sqpn,
                         .psn = psn & 0xffffff};

    if (m.kind == SN_KIND_ACK) {
        m.syndrome = (uint8_t)(any() & 0x1f);
        m.msn = any() & 0xffffff;
        return m;
    }
    m.flags |= SN_BURST_ACKREQ | (any() % 8 == 0 ? SN_BURST_SOLICITED : 0);
    m.rkey = (uint32_t)any();
    m.va = any();
    m.length = length;
    m.word = length == 8 ? any() : any() & ((1ull << (8 * length)) - 1);
    return m;
}

static void same_frames(const struct recorder *a, const struct recorder *b)
{
    assert_int_equal(a->count, b->count);
    assert_int_equal(a->calls, b->calls);
    for (unsigned i = 0; i < a->count; i++) {
        assert_int_equal(a->out[i].length, b->out[i].length);
        assert_int_equal(a->out[i].ip_id, b->out[i].ip_id);
        assert_int_equal(a->out[i].udp_sport, b->out[i].udp_sport);
        assert_int_equal(a->out[i].tclass, b->out[i].tclass);
        assert_memory_equal(a->out[i].sgid, b->out[i].sgid, 16);
        assert_memory_equal(a->out[i].dgid, b->out[i].dgid, 16);
        assert_memory_equal(a->bytes[i], b->bytes[i], a->out[i].length);
    }
}

/* Several queue pairs, some of which share what a wire remembers of them; a handful of messages between two flushes. */
static void same_bytes(void **unused)
{
    enum { QPS = 5 };
    struct end_of_wire shorter, longer;
    struct sn_burst header[QPS], b;
    struct sn_route route[QPS] = {{0}};
    unsigned frames = 0, in_runs = 0, refused = 0;

    (void)unused;
    open_end(&shorter);
    open_end(&longer);
    for (unsigned i = 0; i < QPS; i++)
        addressing(&header[i]);
    for (unsigned round = 0; round < ROUNDS; round++) {
        unsigned n = any() % 3 == 0 ? 1 + (unsigned)(any() % 40) : 1, q = (unsigned)(any() % QPS), length = (unsigned)(any() % 9);
        if (any() % 50 == 0) { /* a connection of its own from here on */
            addressing(&header[q]);
            route[q] = (struct sn_route){0};
        }
        for (unsigned i = 0; i < n; i++) {
            q = any() % 16 == 0 ? (unsigned)(any() % QPS) : q;
            struct sn_short m = any_message(&header[q], round * 64 + i, any() % 16 == 0 ? (unsigned)(any() % 9) : length);
            as_burst(&header[q], &m, &b);
            int rc = longer.wire->ops->send(longer.wire, &b);
            bool done = shorter.wire->ops->send_short(shorter.wire, &header[q], &route[q], &m);
            assert_int_equal(done, rc == 0); /* or the window is full for both */
            refused += !done;
        }
        for (unsigned turn = any() % 2; turn < 2; turn++) {
            shorter.wire->ops->flush(shorter.wire);
            longer.wire->ops->flush(longer.wire);
        }
        same_frames(shorter.r, longer.r);
        for (unsigned i = 0; i < QPS && any() % 4 != 0; i++) { /* else the window fills */
            sn_flow_acknowledged(&((struct sn_packet_wire *)shorter.wire)->flows, header[i].sqpn, (round + 1) * 64);
            sn_flow_acknowledged(&((struct sn_packet_wire *)longer.wire)->flows, header[i].sqpn, (round + 1) * 64);
        }
        for (unsigned i = 0; i < shorter.r->count; i++, frames++)
            in_runs += shorter.r->out[i].ip_id != 0;
        shorter.r->count = longer.r->count = shorter.r->calls = longer.r->calls = 0;
    }
    assert_true(frames > ROUNDS && in_runs > ROUNDS / 2 && refused != 0);
    close_end(&shorter);
    close_end(&longer);
}

/* ---- arrivals ---------------------------------------------------------------------------------------------------- */

struct target {
    struct side a, b;
    struct sn_packet_wire *w; /* b's */
    struct sn_frame_in in;
    uint8_t bytes[BYTES];
};

static void good_frame(struct target *t, uint32_t psn, uint64_t va, uint64_t word, uint16_t ip_id)
{
    struct sn_burst b = {.dqpn = t->b.e.qpn,
                         .sqpn = t->a.e.qpn,
                         .service = SN_SERVICE_RC,
                         .kind = SN_KIND_WRITE,
                         .flags = SN_BURST_FIRST | SN_BURST_LAST | SN_BURST_ACKREQ,
                         .psn = psn,
                         .npackets = 1,
                         .va = va,
                         .rkey = t->b.e.mkey,
                         .dmalen = 8,
                         .length = 8,
                         .pkey = 0xffff,
                         .udp_sport = 0xc001,
                         .iov_count = 1};
    const struct sn_frame_path path = {.ip_id = ip_id};

    b.iov[0] = (struct sn_iov){&word, 8, SN_SPACE_HOST};
    memcpy(b.sgid, sn_nic_get_config(t->a.w.nic[0])->gid[0], 16);
    memcpy(b.dgid, sn_nic_get_config(t->b.w.nic[0])->gid[0], 16);
    t->in = (struct sn_frame_in){.bytes = t->bytes, .udp_sport = 0xc001, .hop_limit = 64};
    t->in.length = (uint32_t)sn_frame_build(&b, &path, SN_LAYER_UDP, t->bytes, sizeof(t->bytes));
    memcpy(t->in.sgid, b.sgid, 16);
    memcpy(t->in.dgid, b.dgid, 16);
}

static bool take(struct target *t)
{
    struct sn_frame_in copy = t->in; /* at the end of an allocation: a byte too far would be noticed */
    uint8_t *bytes = malloc(t->in.length);

    assert_non_null(bytes);
    memcpy(bytes, t->bytes, t->in.length);
    copy.bytes = bytes;
    bool taken = sn_packet_take_short(t->w, &copy);
    free(bytes);
    return taken;
}

static void open_target(struct target *t, bool ipv4)
{
    struct sn_backend *end[2];

    cable_ends(&end[0], &end[1]);
    side_open_frames(&t->a, &defaults, 1, end[0], ipv4);
    side_open_frames(&t->b, &defaults, 2, end[1], ipv4);
    ends_connect(&t->a.e, &t->b.e);
    t->w = (struct sn_packet_wire *)t->b.wire;
    struct wr wr = wr_write(&t->a.e, &t->b.e, 0, 512, 8); /* makes the connection */
    post(&t->a.e, &wr);
    while (sides_turn(&t->a, &t->b, 16, 0) != 0)
        continue;
}

/* Whatever bit is turned over, and whatever byte is missing. */
static void damaged(void **unused)
{
    (void)unused;
    for (int ipv4 = 0; ipv4 < 2; ipv4++) {
        struct target t;
        open_target(&t, ipv4);
        uint32_t psn = (defaults.psn + 1) & 0xffffff;
        uint64_t va = (uintptr_t)t.b.e.mem + 64, word;
        for (unsigned warm = 0; warm < 2; warm++) {
            memset(t.b.e.mem, 0x55, 256);
            good_frame(&t, psn, va, 0x1122334455667788, 0);
            for (unsigned bit = 0; bit < 8 * t.in.length; bit++) {
                t.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
                bool covered = bit / 8 != 4 || bit % 8 == 6; /* FECN and six reserved bits are not; BECN is looked at */
                if (covered)
                    assert_false(take(&t));
                t.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
            }
            for (uint32_t whole = t.in.length; t.in.length != 0;) {
                t.in.length--;
                assert_false(take(&t));
                if (t.in.length == 0) {
                    t.in.length = whole;
                    break;
                }
            }
            for (unsigned i = 0; i < 256; i++)
                assert_int_equal(t.b.e.mem[i], 0x55);
            assert_true(take(&t));
            word = 0x1122334455667788;
            assert_memory_equal(t.b.e.mem + 64, &word, 8);
            psn = (psn + 1) & 0xffffff;
        }
        side_close(&t.a);
        side_close(&t.b);
    }
}

static void out_of_the_ordinary(void **unused)
{
    struct target t;

    (void)unused;
    open_target(&t, true);
    const uint32_t psn = (defaults.psn + 1) & 0xffffff;
    const uint64_t va = (uintptr_t)t.b.e.mem;
    for (unsigned warm = 0; warm < 2; warm++) {
        good_frame(&t, psn + warm, va, 1, 0);
        t.in.tclass = 3; /* congestion met: somebody has to be told */
        assert_false(take(&t));
        t.in.tclass = 0;
        t.in.passed_on = true;
        assert_false(take(&t));
        t.in.passed_on = false;
        t.in.udp_sport ^= 1; /* another frame's CRC */
        assert_false(take(&t));
        t.in.udp_sport ^= 1;
        t.in.sgid[15] ^= 4;
        assert_false(take(&t));
        t.in.sgid[15] ^= 4;
        t.in.dgid[15] ^= 4;
        assert_false(take(&t));
        t.in.dgid[15] ^= 4;
        good_frame(&t, psn + warm + 1, va, 1, 0); /* one is missing */
        assert_false(take(&t));
        good_frame(&t, psn + warm, va, 1, 0);
        assert_true(take(&t));
        assert_false(take(&t)); /* a double */
    }
    side_close(&t.a);
    side_close(&t.b);
}

/* A socket does not tell the IPv4 identification; whatever it was, the frame is right. Senders count on, or do not. */
static void any_identification(void **unused)
{
    struct target t;
    uint32_t psn = defaults.psn;
    uint16_t id = 0;

    (void)unused;
    open_target(&t, true);
    for (unsigned i = 0; i < 400; i++) {
        uint64_t word = any(), va = (uintptr_t)t.b.e.mem + any() % 64;
        id = any() % 8 == 0 ? (uint16_t)any() : any() % 8 == 0 ? 0 : (uint16_t)(id + 1);
        psn = (psn + 1) & 0xffffff;
        good_frame(&t, psn, va, word, id);
        t.bytes[20] ^= 1;
        assert_false(take(&t));
        t.bytes[20] ^= 1;
        assert_true(take(&t));
        assert_memory_equal((const void *)(uintptr_t)va, &word, 8);
    }
    side_close(&t.a);
    side_close(&t.b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_bytes),
        cmocka_unit_test(damaged),
        cmocka_unit_test(out_of_the_ordinary),
        cmocka_unit_test(any_identification),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
