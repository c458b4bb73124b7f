/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Registers that share a cache line: doorbells of 8 bytes on each of them, and BlueFlame writes that go over neighbours whose
 * doorbells nobody has seen yet. Whatever is overwritten, each posted WQE runs once, and nothing runs that was not posted.
 */
#include <sys/stat.h>

#include "harness.h"
#include "softnic/engine.h"

enum {
    FILLERS = 64,   /* that are not packed, although they may be */
    LINES = 56,     /* packed UARs until a line gets a second one */
    WORDS = 8,
    UARS = LINES * WORDS,
    BLOCK_LINES = 7 /* of packed ones, before the line that is nobody's */
};

struct fixture {
    struct world w;
    struct sn_uar filler[FILLERS], uar[UARS];
    struct end e[2 * WORDS];
    uint32_t posted[2 * WORDS]; /* the reference: WQEs that run */
    unsigned ends;
};

/* UARs come line by line. */
static struct sn_uar *uar_at(struct fixture *f, unsigned line, unsigned word)
{
    return &f->uar[word * LINES + line];
}

static void open_fixture(struct fixture *f)
{
    memset(f, 0, sizeof(*f));
    world_open(&f->w, &defaults);
    for (int i = 0; i < FILLERS; i++)
        assert_int_equal(sn_uar_alloc_packed(f->w.nic[0], &f->filler[i]), 0);
    for (int i = 0; i < UARS; i++)
        assert_int_equal(sn_uar_alloc_packed(f->w.nic[0], &f->uar[i]), 0);
}

static struct end *add_end(struct fixture *f, unsigned line, unsigned word, bool no_record)
{
    struct end *e = &f->e[f->ends++];
    struct options o = defaults;

    o.share_uar = uar_at(f, line, word)->index;
    o.no_record = no_record;
    end_open(e, &f->w, 0, &o);
    e->uar = *uar_at(f, line, word);
    ends_connect(e, e); /* to itself: so many need no peers */
    return e;
}

static void close_fixture(struct fixture *f)
{
    while (f->ends != 0)
        end_close(&f->e[--f->ends]);
    for (int i = 0; i < UARS; i++)
        assert_int_equal(sn_uar_free(f->w.nic[0], f->uar[i].index), 0);
    for (int i = 0; i < FILLERS; i++)
        assert_int_equal(sn_uar_free(f->w.nic[0], f->filler[i].index), 0);
    world_close(&f->w);
}

/* A WQE that counts how often it ran. */
static uint32_t put_one(struct fixture *f, unsigned k)
{
    struct wr wr = wr_fetch_add(&f->e[k], &f->e[k], 64, 0, 1);

    f->posted[k]++;
    return put_wqe(&f->e[k], &wr);
}

static void post_one(struct fixture *f, unsigned k)
{
    put_one(f, k);
    ring(&f->e[k]);
}

static uint64_t runs(const struct end *e)
{
    return *(const uint64_t *)(const void *)e->mem;
}

static void expect_runs(struct fixture *f)
{
    world_run(&f->w);
    for (unsigned k = 0; k < f->ends; k++) {
        assert_int_equal(runs(&f->e[k]), f->posted[k]);
        while (f->e[k].ci != f->posted[k])
            expect_ok(&f->e[k], f->e[k].ci);
        expect_none(&f->e[k]);
        assert_int_equal(end_state(&f->e[k]), SN_QP_RTS);
    }
}

/* Piece `piece` of 64 bytes, `size` bytes each. */
static void write_piece(struct end *e, const void *wqe, unsigned piece, unsigned size)
{
    for (unsigned at = piece * size; at < (piece + 1) * size; at += 8)
        __atomic_store_n((uint64_t *)e->uar.reg + at / 8, *(const uint64_t *)(const void *)((const uint8_t *)wqe + at), __ATOMIC_RELEASE);
}

static const void *wqe_of(const struct end *e, uint32_t index)
{
    return e->sq + (index & ((1u << e->o.log_sq) - 1)) * 64;
}

/* UARs come and go: whatever place one gets lies in the region. */
static void test_come_and_go(void **state)
{
    enum { KEPT = FILLERS + 2048, GONE = 4200 };
    static struct sn_uar kept[KEPT];
    struct world w;
    struct stat region;
    (void)state;
    world_open(&w, &defaults);
    for (int i = 0; i < KEPT; i++)
        assert_int_equal(sn_uar_alloc_packed(w.nic[0], &kept[i]), 0);
    assert_int_equal(fstat(kept[0].fd, &region), 0);
    for (int i = 0; i < GONE; i++) {
        struct sn_uar uar;
        assert_int_equal(sn_uar_alloc_packed(w.nic[0], &uar), 0);
        assert_in_range(uar.offset + 1024, 1024, region.st_size);
        assert_int_equal(sn_uar_free(w.nic[0], uar.index), 0);
    }
    for (int i = 0; i < KEPT; i++)
        assert_int_equal(sn_uar_free(w.nic[0], kept[i].index), 0);
    world_close(&w);
}

/* ---- where they lie -------------------------------------------------------------------------------------------------- */

static void test_layout(void **state)
{
    static struct fixture f;
    (void)state;
    open_fixture(&f);
    for (int i = 0; i < FILLERS; i++) {
        assert_int_equal((uintptr_t)f.filler[i].reg % 64, 0);
        assert_ptr_equal(f.filler[i].reg, (uint8_t *)f.filler[i].dbrless + 0x200);
    }
    for (int i = 0; i < UARS; i++) {
        const struct sn_uar *u = &f.uar[i];
        assert_int_equal((uintptr_t)u->reg % 8, 0);
        assert_ptr_equal(u->reg, (uint8_t *)u->dbrless + 0x200);
        assert_int_equal(u->offset / 1024, (u->offset + 0x200 + 63) / 1024); /* 64 bytes end in the block, and so in the page */
        assert_true(u->offset % 1024 + 64 <= 0x200); /* and 64 bytes there before the plain ones */
        for (int k = 0; k < i; k++)
            assert_true((uint8_t *)u->reg - (uint8_t *)f.uar[k].reg != 0);
    }
    for (unsigned line = 0; line < LINES; line++) /* spread first, then 8 a line */
        for (unsigned word = 0; word < WORDS; word++) {
            assert_int_equal((uintptr_t)uar_at(&f, line, word)->reg / 64, (uintptr_t)uar_at(&f, line, 0)->reg / 64);
            assert_int_equal((uintptr_t)uar_at(&f, line, word)->reg % 64, word * 8);
        }
    /* Very many of them lie in few lines, and one with room for itself can still be had. */
    assert_int_equal(f.w.port->reg_lines, FILLERS + LINES / BLOCK_LINES * 8);
    struct sn_uar own;
    assert_int_equal(sn_uar_alloc(f.w.nic[0], &own), 0);
    assert_int_equal((uintptr_t)own.reg % 64, 0);
    assert_int_equal(sn_uar_free(f.w.nic[0], own.index), 0);
    close_fixture(&f);
}

/* ---- doorbells of 8 bytes -------------------------------------------------------------------------------------------- */

static void test_doorbells(void **state)
{
    static struct fixture f;
    (void)state;
    open_fixture(&f);
    for (unsigned w = 0; w < WORDS; w++) {
        add_end(&f, 3, w, false);
        add_end(&f, 6, w, w % 2 != 0);
    }
    for (unsigned round = 0; round < 40; round++) {
        for (unsigned k = 0; k < f.ends; k++)
            if ((round * 7 + k) % 3 != 0)
                post_one(&f, k);
        expect_runs(&f);
    }
    /* A queue without a record is rung at its own register only, and one with a record only at the other. */
    put_one(&f, 3);
    __atomic_store_n((uint64_t *)f.e[3].uar.reg, sn_doorbell_build(f.e[3].qpn, f.e[3].pi), __ATOMIC_RELEASE);
    world_run(&f.w);
    assert_int_equal(runs(&f.e[3]), f.posted[3] - 1);
    write_register(&f.e[3], f.e[3].pi);
    expect_runs(&f);
    close_fixture(&f);
}

/* Made one after the other, each with its UAR, queues without a record have lines to themselves. */
static void test_recordless_alone(void **state)
{
    enum { N = 300 };
    static struct end e[N];
    struct world w;
    struct options o = defaults;
    struct sn_uar filler[FILLERS], own[N];
    (void)state;
    world_open(&w, &o);
    for (int i = 0; i < FILLERS; i++)
        assert_int_equal(sn_uar_alloc_packed(w.nic[0], &filler[i]), 0);
    o.no_record = true;
    o.log_sq = o.log_cq = 2;
    for (int i = 0; i < N; i++) {
        assert_int_equal(sn_uar_alloc_packed(w.nic[0], &own[i]), 0);
        o.share_uar = own[i].index;
        end_open(&e[i], &w, 0, &o);
        e[i].uar = own[i];
        ends_connect(&e[i], &e[i]);
        for (int k = 0; k < i; k++)
            assert_int_not_equal((uintptr_t)own[i].dbrless / 64, (uintptr_t)own[k].dbrless / 64);
    }
    for (int i = 0; i < N; i++) { /* even writes of 64 bytes */
        struct wr wr = wr_write(&e[i], &e[i], 0, 4096, 8);
        uint32_t index = put_wqe(&e[i], &wr);
        for (int k = 0; k < 8; k++)
            __atomic_store_n((uint64_t *)own[i].dbrless + (7 - k), ((const uint64_t *)(const void *)(e[i].sq + index * 64))[7 - k],
                             __ATOMIC_RELEASE);
    }
    world_run(&w);
    for (int i = 0; i < N; i++) {
        expect_ok(&e[i], 0);
        end_close(&e[i]);
        assert_int_equal(sn_uar_free(w.nic[0], own[i].index), 0);
    }
    for (int i = 0; i < FILLERS; i++)
        assert_int_equal(sn_uar_free(w.nic[0], filler[i].index), 0);
    world_close(&w);
}

/* Garbage in a register of nobody, and in one whose UAR goes and comes back. */
static void test_nobodys(void **state)
{
    static struct fixture f;
    (void)state;
    open_fixture(&f);
    add_end(&f, 9, 1, false);
    assert_int_equal(sn_uar_free(f.w.nic[0], uar_at(&f, 9, 0)->index), 0);
    assert_int_equal(sn_uar_free(f.w.nic[0], uar_at(&f, 9, 2)->index), 0);
    for (int i = 0; i < 100; i++) {
        memset(uar_at(&f, 9, 0)->reg, i, 8);
        memset(uar_at(&f, 9, 2)->reg, 0xff - i, 8);
        post_one(&f, 0);
        expect_runs(&f);
    }
    __atomic_store_n((uint64_t *)uar_at(&f, 9, 2)->reg, sn_doorbell_build(f.e[0].qpn, f.e[0].pi + 1), __ATOMIC_RELEASE);
    expect_runs(&f); /* another UAR's register is not this queue's */
    assert_int_equal(sn_uar_alloc_packed(f.w.nic[0], uar_at(&f, 9, 0)), 0);
    assert_int_equal(sn_uar_alloc_packed(f.w.nic[0], uar_at(&f, 9, 2)), 0);
    expect_runs(&f);
    close_fixture(&f);
}

/* Rung in turn at reg and at reg ^ 0x100, which is the register of somebody four lines away. */
static void test_both_addresses(void **state)
{
    static struct fixture f;
    (void)state;
    open_fixture(&f);
    add_end(&f, 2, 5, false);
    add_end(&f, 6, 5, false);
    add_end(&f, 3, 5, false); /* whose other address is nobody's */
    for (unsigned k = 0; k < 3; k++)
        assert_int_equal(sn_uar_use_both(f.w.nic[0], f.e[k].uar.index), 0);
    for (unsigned i = 0; i < 200; i++) {
        for (unsigned k = 0; k < 3; k++) {
            f.e[k].uar.reg = (void *)((uintptr_t)f.e[k].uar.reg ^ (i % 3 == 0 ? 0x100 : 0));
            if ((i >> k & 1) == 0)
                post_one(&f, k);
        }
        if (i % 2 == 0)
            expect_runs(&f);
    }
    expect_runs(&f);
    close_fixture(&f);
}

/* ---- BlueFlame ------------------------------------------------------------------------------------------------------- */

/* One queue on each word of a line and of the line behind it, if there is one in the block. */
static void fill_lines(struct fixture *f, unsigned line)
{
    for (unsigned w = 0; w < WORDS; w++)
        add_end(f, line, w, false);
    for (unsigned w = 0; w < WORDS && line % BLOCK_LINES != BLOCK_LINES - 1; w++)
        add_end(f, line + 1, w, false);
}

/*
 * `writer` announces by BlueFlame only, its record apart, in pieces of `size` bytes, in the order that starts at `first`.
 * All others have rung before the first piece, or ring between two pieces; the port looks after each piece or at the end.
 */
static void over_neighbours(struct fixture *f, unsigned writer, unsigned size, unsigned first, unsigned when, int payload)
{
    uint8_t wqe[64] __attribute__((aligned(16)));
    unsigned pieces = 64 / size, n = 0;
    uint32_t i = put_one(f, writer);

    memcpy(wqe, wqe_of(&f->e[writer], i), 64);
    if (payload >= 0) /* what lies behind the control segment matters to nobody */
        memset(wqe + 16, payload, 48);
    write_record(&f->e[writer], f->e[writer].pi);
    for (unsigned k = 0; k < pieces; k++) {
        for (; n < f->ends && (when == 0 || n <= k * 16 / pieces); n++)
            if (n != writer)
                post_one(f, n);
        if (when == 2)
            world_run(&f->w);
        for (unsigned late = 0; late < f->ends && when == 2; late += 3)
            if (late != writer && late < n)
                post_one(f, late);
        write_piece(&f->e[writer], wqe, (first + k) % pieces, size);
        if (when == 2)
            world_run(&f->w);
    }
    expect_runs(f);
}

static void test_blueflame(void **state)
{
    static const int payload[] = {-1, 0, 0xff, 0x55};
    static const unsigned line[] = {3, 6, 54}; /* in the middle, and last ones of a block: behind it lies nobody */
    static struct fixture f;
    (void)state;
    for (unsigned l = 0; l < 3; l++) {
        open_fixture(&f);
        fill_lines(&f, line[l]);
        for (unsigned writer = 0; writer < WORDS; writer++)
            for (unsigned size = 8; size <= 64; size *= 2)
                for (unsigned first = 0; first < 64 / size; first += 1 + first % 3)
                    for (unsigned when = 0; when < 3; when++)
                        over_neighbours(&f, writer, size, first, when, payload[(first + when + writer) % 4]);
        close_fixture(&f);
    }
}

/* What BlueFlame leaves in a neighbour's register looks like that one's doorbell, for WQEs that it has not posted. */
static void test_false_doorbell(void **state)
{
    static struct fixture f;
    uint64_t wqe[8];
    (void)state;
    open_fixture(&f);
    fill_lines(&f, 3);
    for (unsigned round = 0; round < 6; round++) {
        uint32_t i = put_one(&f, 1);
        memcpy(wqe, wqe_of(&f.e[1], i), 64);
        for (unsigned w = 2; w < WORDS; w++) /* words 2..7 of the line lie under these of the WQE */
            wqe[w - 1] = sn_doorbell_build(f.e[w].qpn, f.e[w].pi + round);
        for (unsigned w = 2; w < WORDS && round % 2 == 0; w++)
            post_one(&f, w);
        write_record(&f.e[1], f.e[1].pi);
        write_piece(&f.e[1], wqe, 0, 64);
        world_run(&f.w);
        world_pass(&f.w, 50000000, 1000000);
        expect_runs(&f);
        for (unsigned k = 0; k < f.ends; k++)
            post_one(&f, k);
        expect_runs(&f);
    }
    close_fixture(&f);
}

/* The same with a neighbour's control segment, whose WQE is written and not rung yet: it must not run before it is. */
static void test_not_rung_yet(void **state)
{
    static struct fixture f;
    uint64_t wqe[8];
    (void)state;
    open_fixture(&f);
    fill_lines(&f, 3);
    for (unsigned round = 0; round < 20; round++) {
        uint32_t i = put_one(&f, 1);
        memcpy(wqe, wqe_of(&f.e[1], i), 64);
        for (unsigned w = 2; w < WORDS; w++) {
            uint32_t k = put_one(&f, w);
            memcpy(&wqe[w - 1], wqe_of(&f.e[w], k), 8);
            f.posted[w]--;
        }
        write_record(&f.e[1], f.e[1].pi);
        write_piece(&f.e[1], wqe, 0, 64);
        expect_runs(&f);
        for (unsigned w = 2; w < WORDS; w++) {
            f.posted[w]++;
            ring(&f.e[w]);
        }
        expect_runs(&f);
    }
    close_fixture(&f);
}

/* ---- random ---------------------------------------------------------------------------------------------------------- */

static uint64_t next(uint64_t *s)
{
    *s ^= *s << 13;
    *s ^= *s >> 7;
    return *s ^= *s << 17;
}

/* A queue rings by 8 bytes, doubled, late or not at all but for its record and a BlueFlame write, whole or in pieces. */
static void step(struct fixture *f, uint64_t *s, uint64_t left[][8], unsigned *pieces)
{
    unsigned k = (unsigned)(next(s) % f->ends), what = (unsigned)(next(s) % 8);
    struct end *e = &f->e[k];
    bool room = e->pi - (uint32_t)runs(e) < 1u << e->o.log_sq;

    if (what < 3 && room && pieces[k] == 0) {
        post_one(f, k);
    } else if (what < 5 && room && pieces[k] == 0) {
        uint32_t i = put_one(f, k);
        memcpy(left[k], wqe_of(e, i), 64);
        for (unsigned w = 2; w < 8; w++)
            if (next(s) % 2 != 0)
                left[k][w] = next(s) % 3 == 0 ? 0 : next(s) % 2 == 0 ? next(s) : sn_doorbell_build(f->e[next(s) % f->ends].qpn, 0);
        write_record(e, e->pi);
        pieces[k] = 8;
    } else if (what == 5) {
        sn_port_run(f->w.port);
    } else if (what == 6) {
        write_register(e, e->pi - (uint32_t)(next(s) % 2)); /* again, or an old one */
    }
    k = (unsigned)(next(s) % f->ends);
    for (unsigned n = 1u << next(s) % 4; n != 0 && pieces[k] != 0; n--)
        write_piece(&f->e[k], left[k], --pieces[k], 8); /* the control segment comes last, or a while after the rest */
}

static void test_random(void **state)
{
    static struct fixture f;
    uint64_t left[2 * WORDS][8], s;
    unsigned pieces[2 * WORDS] = {0};
    (void)state;
    for (uint64_t seed = 1; seed <= 24; seed++) {
        s = seed * 0x9e3779b97f4a7c15ull;
        open_fixture(&f);
        fill_lines(&f, (unsigned)(seed * 5 % (LINES - 1)));
        for (unsigned round = 0; round < 60; round++) {
            for (unsigned n = 0; n < 12; n++)
                step(&f, &s, left, pieces);
            for (unsigned k = 0; k < f.ends; k++)
                while (pieces[k] != 0)
                    write_piece(&f.e[k], left[k], --pieces[k], 8);
            world_run(&f.w);
            for (unsigned k = 0; k < f.ends; k++)
                while (f.e[k].ci != runs(&f.e[k]))
                    expect_ok(&f.e[k], f.e[k].ci);
            if (round % 8 == 7) /* time for what was false to be found out */
                world_pass(&f.w, 20000000, 5000000);
            for (unsigned k = 0; k < f.ends && round % 8 == 7; k++)
                assert_int_equal(runs(&f.e[k]), f.posted[k]);
        }
        world_pass(&f.w, 50000000, 5000000);
        expect_runs(&f);
        close_fixture(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_come_and_go), cmocka_unit_test(test_layout),         cmocka_unit_test(test_doorbells), cmocka_unit_test(test_nobodys),
        cmocka_unit_test(test_recordless_alone),
        cmocka_unit_test(test_both_addresses), cmocka_unit_test(test_blueflame), cmocka_unit_test(test_false_doorbell),
        cmocka_unit_test(test_not_rung_yet),
        cmocka_unit_test(test_random),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
