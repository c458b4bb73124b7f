/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The injector in virtual time: each fault beside each operation. Either the transport repairs it, and then every byte is
 * right and every completion and atomic has happened once; or the queue ends in the error that says what happened
 * (IBTA vol. 1, 9.9.2 and 10.2.3), with the effect that the fault leaves.
 */
#include "harness.h"

#include <stdio.h>
#include <stdlib.h>

#include "fake_gpu.h"
#include "packets.h"
#include "softnic/exec/fault.h"
#include "softnic/fault/inject.h"

enum op { OP_WRITE, OP_READ, OP_SEND, OP_ADD, OPS };
static const char *const op_names[OPS] = {"WRITE", "READ", "SEND", "FETCH_ADD"};

enum { LENGTH = 2500, PACKETS = 3, MESSAGES = 3, STEP = 8192, COUNTER = 1 << 20, RESULTS = COUNTER + 4096 };

struct pair {
    struct world w;
    struct end a, b;
};

/* "@" in a plan stands for the requester's QPN. */
static void set(struct pair *p, const char *form, uint64_t seed)
{
    const char *at = strchr(form, '@');
    char text[256];
    struct sn_fault_plan plan;
    char why[256];

    snprintf(text, sizeof(text), "%s", form);
    if (at != NULL)
        snprintf(text + (at - form), sizeof(text) - (size_t)(at - form), "%u%s", p->a.qpn, at + 1);
    if (sn_fault_parse(text, strlen(text), &plan, why, sizeof(why)) != 0)
        fail_msg("%s: %s", text, why);
    assert_int_equal(sn_port_set_faults(p->w.port, &plan, seed), 0);
}

static void open_pair(struct pair *p, const struct options *o)
{
    world_open(&p->w, o);
    end_open(&p->a, &p->w, 0, o);
    end_open(&p->b, &p->w, 1, o);
    ends_connect(&p->a, &p->b);
    fill(p->a.mem, 1 << 16, 1);
    fill(p->b.mem + (1 << 19), 1 << 16, 2);
}

static void close_pair(struct pair *p)
{
    end_close(&p->a);
    end_close(&p->b);
    world_close(&p->w);
}

static struct options quick(void)
{
    struct options o = defaults;

    o.ack_timeout = 8; /* 1 ms */
    o.psn = 0xfffffe;  /* PSNs wrap in the first message (9.7.1) */
    return o;
}

static void post_one(struct pair *p, enum op op, uint32_t k)
{
    struct wr wr;

    switch (op) {
    case OP_WRITE:
        wr = wr_write(&p->a, &p->b, k * STEP, k * STEP, LENGTH);
        break;
    case OP_READ:
        wr = wr_read(&p->a, &p->b, (1 << 19) + k * STEP, (1 << 19) + k * STEP, LENGTH);
        break;
    case OP_SEND:
        post_recv(&p->b, p->b.mem + k * STEP, LENGTH, p->b.mkey);
        wr = wr_send(&p->a, k * STEP, LENGTH);
        break;
    default:
        wr = wr_fetch_add(&p->a, &p->b, RESULTS + k * 8, COUNTER, 1);
        break;
    }
    put_wqe(&p->a, &wr);
}

/* Has message k had its effect, and once? -1: partly, or twice. */
static int effect(struct pair *p, enum op op, uint32_t k)
{
    static const uint8_t zero[LENGTH];
    const uint8_t *got = op == OP_READ ? p->a.mem + (1 << 19) + k * STEP : p->b.mem + k * STEP;
    const uint8_t *want = op == OP_READ ? p->b.mem + (1 << 19) + k * STEP : p->a.mem + k * STEP;

    if (op == OP_ADD) /* of all messages together: see adds() */
        return 0;
    if (memcmp(got, want, LENGTH) == 0)
        return 1;
    return memcmp(got, zero, LENGTH) == 0 ? 0 : -1;
}

static uint64_t adds(const struct pair *p)
{
    return *(const uint64_t *)(const void *)(p->b.mem + COUNTER);
}

/* Time passes until n completions have come. Returns how many came well; *syndrome and *vendor: of the first error. */
static unsigned collect(struct pair *p, unsigned n, uint8_t *syndrome, uint8_t *vendor)
{
    unsigned good = 0, seen = 0;

    *syndrome = *vendor = 0;
    for (int t = 0; t < 3000 && seen < n; t++) {
        world_pass(&p->w, 1000000, 50000);
        for (const struct sn_cqe64 *c; (c = next_cqe(&p->a)) != NULL; seen++) {
            assert_int_equal(sn_get16(c->wqe_counter), seen);
            if (cqe_opcode(c) == SN_CQE_REQ) {
                assert_int_equal(*syndrome, 0);
                good++;
            } else if (*syndrome == 0) {
                *syndrome = cqe_syndrome(c);
                *vendor = ((const struct sn_err_cqe *)(const void *)c)->vendor_err_synd;
            } else {
                assert_int_equal(cqe_syndrome(c), SN_SYND_FLUSH);
            }
        }
    }
    return good;
}

static uint64_t injected(struct pair *p, enum sn_inject action)
{
    struct sn_fault_counts c;

    sn_port_fault_counts(p->w.port, &c);
    return c.injected[action];
}

/* ---- what the transport repairs ------------------------------------------------------------------------------ */

static const struct {
    const char *plan;
    enum sn_inject action;
    unsigned ops; /* bit n: enum op n */
} repaired[] = {
    {"drop:nth=1", SN_INJECT_DROP, 15},
    {"drop:nth=2", SN_INJECT_DROP, 15},
    {"drop:kind=request,every=3", SN_INJECT_DROP, 15},
    {"drop:kind=data,part=middle,nth=1", SN_INJECT_DROP, 5},
    {"drop:kind=response,nth=1", SN_INJECT_DROP, 15},
    {"drop:dir=rx,nth=2", SN_INJECT_DROP, 15},
    {"drop:rate=0.2", SN_INJECT_DROP, 7},
    {"dup", SN_INJECT_DUP, 15},
    {"dup:kind=atomic,nth=1", SN_INJECT_DUP, 8},
    {"dup:dir=rx", SN_INJECT_DUP, 15},
    {"delay:by=100us", SN_INJECT_DELAY, 15},
    {"delay:by=5ms,nth=1", SN_INJECT_DELAY, 15}, /* longer than a timeout: a ghost of the request comes later */
    {"delay:by=5ms,kind=response,nth=1", SN_INJECT_DELAY, 15},
    {"delay:dir=rx,us=300,rate=0.3", SN_INJECT_DELAY, 15},
    {"reorder:nth=1", SN_INJECT_REORDER, 15},
    {"reorder:gap=2,every=3", SN_INJECT_REORDER, 7},
    {"reorder:kind=response", SN_INJECT_REORDER, 15},
    {"corrupt:nth=1,count=2", SN_INJECT_CORRUPT, 15},
    {"corrupt:kind=response,nth=1", SN_INJECT_CORRUPT, 15},
    {"lose-response:nth=1", SN_INJECT_LOSE_RESPONSE, 15},
    {"lose-response:nth=1,count=3", SN_INJECT_LOSE_RESPONSE, 15},
    {"lose-response:kind=atomic,nth=2", SN_INJECT_LOSE_RESPONSE, 8},
    {"nak:code=sequence,nth=1", SN_INJECT_NAK, 15},
    {"nak:code=sequence,nth=2,kind=data", SN_INJECT_NAK, 5},
    {"rnr:nth=1", SN_INJECT_RNR, 15},
    {"rnr:timer=1,nth=2,count=2", SN_INJECT_RNR, 15},
    {"link-down:nth=2,for=3ms", SN_INJECT_LINK_DOWN, 15},
    {"link-down:at=0ms,for=3ms", SN_INJECT_LINK_DOWN, 15},
    {"doorbell-delayed:by=2ms", SN_INJECT_DOORBELL_DELAYED, 15},
    {"doorbell-merged:hold=1ms", SN_INJECT_DOORBELL_MERGED, 15},
    {"drop:rate=0.05;dup:rate=0.1;reorder:rate=0.1;delay:us=200,rate=0.1;corrupt:rate=0.05", SN_INJECT_DUP, 7},
};

static void repair(const char *plan, enum sn_inject action, enum op op, const struct options *o, uint64_t seed)
{
    struct pair p;
    uint8_t syndrome, vendor;

    open_pair(&p, o);
    set(&p, plan, seed);
    for (uint32_t k = 0; k < MESSAGES; k++) {
        post_one(&p, op, k);
        ring(&p.a);
        world_run(&p.w); /* the doorbells of the three messages are seen apart, unless the plan says otherwise */
    }
    if (collect(&p, MESSAGES, &syndrome, &vendor) != MESSAGES)
        fail_msg("%s, %s: syndrome 0x%02x, vendor 0x%02x", plan, op_names[op], syndrome, vendor);
    world_pass(&p.w, 50000000, 500000); /* ghosts */
    expect_none(&p.a);
    if (injected(&p, action) == 0)
        fail_msg("%s, %s: nothing was injected", plan, op_names[op]);
    for (uint32_t k = 0; k < MESSAGES; k++) {
        if (op != OP_ADD && effect(&p, op, k) != 1)
            fail_msg("%s, %s: wrong bytes in message %u", plan, op_names[op], k);
        if (op == OP_ADD)
            assert_int_equal(((uint64_t *)(void *)(p.a.mem + RESULTS))[k], k);
    }
    assert_int_equal(adds(&p), op == OP_ADD ? MESSAGES : 0);
    for (uint32_t k = 0; k < MESSAGES && op == OP_SEND; k++) {
        const struct sn_cqe64 *r = next_rcqe(&p.b);
        assert_non_null(r);
        assert_int_equal(cqe_opcode(r), SN_CQE_RESP_SEND);
    }
    assert_null(next_rcqe(&p.b));
    assert_int_equal(end_state(&p.a), SN_QP_RTS);
    close_pair(&p);
}

static void test_repaired(void **state)
{
    struct options o = quick();

    (void)state;
    for (size_t i = 0; i < sizeof(repaired) / sizeof(repaired[0]); i++)
        for (int op = 0; op < OPS; op++)
            if (repaired[i].ops & 1u << op)
                repair(repaired[i].plan, repaired[i].action, (enum op)op, &o, 7);
}

/* Payload and rings that only the copy engine reaches: what is held back is brought to host memory first. */
static void test_repaired_in_gpu_memory(void **state)
{
    static const char *const plans[] = {"dup", "delay:by=5ms,nth=1", "reorder:nth=2", "drop:nth=2"};
    static const enum sn_inject actions[] = {SN_INJECT_DUP, SN_INJECT_DELAY, SN_INJECT_REORDER, SN_INJECT_DROP};
    struct options o = quick();

    (void)state;
    o.gpu = &fake_gpu;
    o.gpu_data = true;
    for (size_t i = 0; i < sizeof(plans) / sizeof(plans[0]); i++)
        for (int op = 0; op < OPS; op++)
            if (op != OP_SEND)
                repair(plans[i], actions[i], (enum op)op, &o, 7);
}

/* ---- what ends the queue ------------------------------------------------------------------------------------- */

static const struct {
    const char *plan;
    uint8_t syndrome, vendor;
    int done; /* messages that have had their effect at the peer; -1: any number */
} fatal[] = {
    {"retry-exceeded:nth=1", SN_SYND_RETRY_EXCEEDED, SN_VENDOR_RETRY_EXCEEDED, 0},
    {"retry-exceeded", SN_SYND_RETRY_EXCEEDED, SN_VENDOR_RETRY_EXCEEDED, 0},
    {"link-down", SN_SYND_RETRY_EXCEEDED, SN_VENDOR_RETRY_EXCEEDED, 0},
    {"drop:kind=request", SN_SYND_RETRY_EXCEEDED, SN_VENDOR_RETRY_EXCEEDED, 0},
    /* The requests did arrive: the requester cannot know, but each has happened once. */
    {"lose-response", SN_SYND_RETRY_EXCEEDED, SN_VENDOR_RETRY_EXCEEDED, MESSAGES},
    {"nak:code=invalid,nth=1", SN_SYND_REMOTE_INVALID, SN_VENDOR_REMOTE_INVALID, 0},
    {"nak:code=access,nth=1", SN_SYND_REMOTE_ACCESS, SN_VENDOR_REMOTE_ACCESS, 0},
    {"nak:code=op,nth=1", SN_SYND_REMOTE_OP, SN_VENDOR_REMOTE_OP, 0},
    {"rnr", SN_SYND_RNR_EXCEEDED, SN_VENDOR_RNR_EXCEEDED, 0},
    {"cq-overrun:nth=1,qpn=@", SN_SYND_LOCAL_QP_OP, SN_VENDOR_CQ_OVERRUN, -1},
};

/* ns by which the timers allow a queue to have failed (9.9.2.1.1: a timeout is noticed within four of its value). */
static uint64_t latest(const struct options *o, uint8_t syndrome)
{
    const uint64_t slack = 2000000; /* the test's own steps */

    if (syndrome == SN_SYND_RETRY_EXCEEDED)
        return 4 * (o->retry + 1u) * sn_ack_timeout_ns(o->ack_timeout) + slack;
    if (syndrome == SN_SYND_RNR_EXCEEDED)
        return (o->rnr_retry + 1u) * sn_rnr_ns(o->min_rnr) + slack;
    return slack;
}

static void end_in_error(size_t i, enum op op)
{
    struct options o = quick();
    struct pair p;
    uint8_t syndrome, vendor;
    unsigned good, happened = 0;
    struct sn_qp_error error;
    uint64_t begun;

    o.retry = 2;
    o.rnr_retry = 2;
    open_pair(&p, &o);
    set(&p, fatal[i].plan, 3);
    for (uint32_t k = 0; k < MESSAGES; k++)
        post_one(&p, op, k);
    ring(&p.a);
    begun = p.w.now;
    good = collect(&p, MESSAGES, &syndrome, &vendor);
    if (good != 0 || syndrome != fatal[i].syndrome || vendor != fatal[i].vendor)
        fail_msg("%s, %s: %u good, syndrome 0x%02x, vendor 0x%02x", fatal[i].plan, op_names[op], good, syndrome, vendor);
    if (p.w.now - begun > latest(&o, syndrome))
        fail_msg("%s, %s: the error came after %llu ns", fatal[i].plan, op_names[op], (unsigned long long)(p.w.now - begun));
    if (syndrome == SN_SYND_RETRY_EXCEEDED) /* and not before every retry has had its time */
        assert_true(p.w.now - begun >= (o.retry + 1u) * sn_ack_timeout_ns(o.ack_timeout));
    assert_int_equal(sn_qp_query(p.a.nic, p.a.qpn, NULL, NULL, NULL, &error), 0);
    assert_true(error.has_error && error.syndrome == syndrome && error.vendor_err_synd == vendor);
    assert_int_equal(end_state(&p.a), SN_QP_ERR);
    for (uint32_t k = 0; k < MESSAGES; k++)
        happened += op != OP_ADD && effect(&p, op, k) == 1;
    if (op == OP_ADD)
        happened = (unsigned)adds(&p);
    assert_true(happened <= MESSAGES);
    if (fatal[i].done >= 0 && op != OP_READ) /* a READ has no effect there */
        assert_int_equal(happened, fatal[i].done);
    /* The queue works again after RST, even beside the plan: what was tied to its former life is gone. */
    assert_int_equal(sn_port_set_faults(p.w.port, NULL, 0), 0);
    close_pair(&p);
}

static void test_fatal(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(fatal) / sizeof(fatal[0]); i++)
        for (int op = 0; op < OPS; op++)
            end_in_error(i, (enum op)op);
}

/* A queue that ran out of retries by a plan is an ordinary queue again after RST. */
static void test_hole_ends_with_reset(void **state)
{
    struct options o = quick();
    struct pair p;
    uint8_t syndrome, vendor;

    (void)state;
    o.retry = 1;
    open_pair(&p, &o);
    set(&p, "retry-exceeded:nth=1", 1);
    post_one(&p, OP_WRITE, 0);
    ring(&p.a);
    collect(&p, 1, &syndrome, &vendor);
    assert_int_equal(syndrome, SN_SYND_RETRY_EXCEEDED);
    end_reconnect(&p.a, &p.b);
    end_reconnect(&p.b, &p.a);
    p.a.ci = 1; /* the CQ goes on */
    post_one(&p, OP_WRITE, 0);
    ring(&p.a);
    world_pass(&p.w, 1000000, 50000);
    expect_ok(&p.a, 0);
    assert_int_equal(effect(&p, OP_WRITE, 0), 1);
    close_pair(&p);
}

/* ---- doorbells, the link, chance ----------------------------------------------------------------------------- */

static void test_lost_doorbell(void **state)
{
    struct options o = quick();

    (void)state;
    for (int record = 0; record < 2; record++) {
        struct pair p;
        uint8_t syndrome, vendor;
        o.no_record = record == 0;
        open_pair(&p, &o);
        world_run(&p.w); /* the look at the record that comes with RTS is over */
        set(&p, "doorbell-lost:nth=1", 1);
        post_one(&p, OP_WRITE, 0);
        ring(&p.a);
        world_pass(&p.w, 100000000, 1000000);
        expect_none(&p.a); /* nobody has told the NIC */
        post_one(&p, OP_WRITE, 1);
        ring(&p.a);
        assert_int_equal(collect(&p, 2, &syndrome, &vendor), 2); /* the next doorbell tells of both */
        assert_true(effect(&p, OP_WRITE, 0) == 1 && effect(&p, OP_WRITE, 1) == 1);
        close_pair(&p);
    }
}

static void test_merged_doorbells(void **state)
{
    struct options o = quick();
    struct pair p;

    (void)state;
    open_pair(&p, &o);
    set(&p, "doorbell-merged:hold=1s,gap=2", 1);
    for (uint32_t k = 0; k < 2; k++) {
        post_one(&p, OP_WRITE, k);
        write_register(&p.a, p.a.pi);
        world_pass(&p.w, 1000000, 100000);
        expect_none(&p.a);
    }
    post_one(&p, OP_WRITE, 2);
    write_register(&p.a, p.a.pi);
    world_pass(&p.w, 1000000, 100000);
    for (uint32_t k = 0; k < 3; k++)
        expect_ok(&p.a, k);
    expect_none(&p.a);
    close_pair(&p);
}

/* A CQ that has overrun counts no more: a WAIT on it, which no count could release, ends in an error. */
static void test_wait_on_failed_cq(void **state)
{
    struct options o = quick();
    struct world w;
    struct end full, waiting;
    struct wr wait = {.opcode = SN_OPCODE_WAIT, .fm_ce_se = 8}, nop = {.opcode = SN_OPCODE_NOP, .fm_ce_se = 8};

    (void)state;
    o.overrun = true;
    o.log_cq = 1;
    world_open(&w, &o);
    end_open(&full, &w, 0, &o);
    end_open(&waiting, &w, 0, &o);
    ends_connect(&full, &full);
    ends_connect(&waiting, &waiting);
    wait.cqn = full.cqn;
    wait.index = 5;
    put_wqe(&waiting, &wait);
    ring(&waiting);
    world_run(&w);
    expect_none(&waiting);
    for (int k = 0; k < 4; k++) /* room for two */
        put_wqe(&full, &nop);
    ring(&full);
    world_run(&w);
    expect_error(&waiting, 0, SN_SYND_LOCAL_QP_OP);
    end_close(&waiting);
    end_close(&full);
    world_close(&w);
}

static void test_by_qpn_and_count(void **state)
{
    struct options o = quick();
    struct pair p;
    char plan[64];
    uint8_t syndrome, vendor;

    (void)state;
    open_pair(&p, &o);
    snprintf(plan, sizeof(plan), "drop:qpn=%u", (p.a.qpn ^ 1) & 0xffffff); /* somebody else */
    set(&p, plan, 1);
    post_one(&p, OP_WRITE, 0);
    ring(&p.a);
    assert_int_equal(collect(&p, 1, &syndrome, &vendor), 1);
    assert_int_equal(injected(&p, SN_INJECT_DROP), 0);
    close_pair(&p);
    open_pair(&p, &o);
    snprintf(plan, sizeof(plan), "drop:qpn=%u,count=2", p.a.qpn);
    set(&p, plan, 1);
    post_one(&p, OP_WRITE, 0);
    ring(&p.a);
    assert_int_equal(collect(&p, 1, &syndrome, &vendor), 1);
    assert_int_equal(injected(&p, SN_INJECT_DROP), 2);
    close_pair(&p);
}

/* The same seed meets the same packets with the same faults; another seed with others. */
static struct sn_fault_counts chances(uint64_t seed, uint64_t *end)
{
    struct options o = quick();
    struct pair p;
    struct sn_fault_counts c;
    uint8_t syndrome, vendor;

    open_pair(&p, &o);
    set(&p, "drop:rate=0.1;dup:rate=0.2;reorder:rate=0.2", seed);
    for (uint32_t k = 0; k < MESSAGES; k++)
        post_one(&p, k == 1 ? OP_READ : OP_WRITE, k);
    ring(&p.a);
    assert_int_equal(collect(&p, MESSAGES, &syndrome, &vendor), MESSAGES);
    sn_port_fault_counts(p.w.port, &c);
    *end = p.w.now;
    close_pair(&p);
    return c;
}

static void test_seed(void **state)
{
    bool differs = false;

    (void)state;
    for (uint64_t seed = 1; seed <= 8; seed++) {
        uint64_t end[2];
        struct sn_fault_counts first = chances(seed, &end[0]), again = chances(seed, &end[1]);
        static struct sn_fault_counts before;
        assert_memory_equal(&first, &again, sizeof(first));
        assert_int_equal(end[0], end[1]);
        differs = differs || (seed > 1 && memcmp(&first, &before, sizeof(first)) != 0);
        before = first;
    }
    assert_true(differs);
}

/* What is held back is bounded; the end of a plan delivers it, the end of the port frees it. */
static void test_holding(void **state)
{
    struct options o = quick();
    struct sn_fault_counts c;
    struct pair p;
    uint8_t syndrome, vendor;

    (void)state;
    o.ack_timeout = 22; /* 17 s: nothing is sent again meanwhile */
    open_pair(&p, &o);
    set(&p, "delay:by=3600s", 1);
    for (uint32_t k = 0; k < MESSAGES; k++)
        post_one(&p, OP_WRITE, k);
    ring(&p.a);
    world_pass(&p.w, 1000000, 100000);
    sn_port_fault_counts(p.w.port, &c);
    assert_int_equal(c.held, MESSAGES * PACKETS);
    expect_none(&p.a);
    assert_int_equal(sn_port_set_faults(p.w.port, NULL, 0), 0);
    /* Held in any order, delivered in any: the responder asks for what is missing. */
    assert_int_equal(collect(&p, MESSAGES, &syndrome, &vendor), MESSAGES);
    close_pair(&p);

    open_pair(&p, &o);
    set(&p, "delay:by=3600s", 1);
    for (uint32_t k = 0; k < 5; k++) { /* 5 x 1024 packets */
        struct wr wr = wr_write(&p.a, &p.b, 0, 0, 1 << 20);
        put_wqe(&p.a, &wr);
    }
    ring(&p.a);
    world_pass(&p.w, 1000000, 100000);
    sn_port_fault_counts(p.w.port, &c);
    assert_int_equal(c.held, 4096);
    assert_int_equal(c.overflow, 5 * 1024 - 4096);
    close_pair(&p);
}

/* A packet that finds no room on the wire is offered again and again, and counted once. */
static void test_full_wire(void **state)
{
    struct options o = quick();
    struct sn_fault_plan plan;
    struct sn_fault_counts c;
    struct rig r;
    struct wr wr;

    (void)state;
    o.ack_timeout = 0;
    rig_open(&r, &o);
    assert_int_equal(sn_fault_parse("drop:nth=2", 10, &plan, NULL, 0), 0);
    assert_int_equal(sn_port_set_faults(r.w.port, &plan, 1), 0);
    wr = wr_write(&r.e, &r.e, 0, 0, LENGTH);
    put_wqe(&r.e, &wr);
    ring(&r.e);
    r.full = true;
    for (int k = 0; k < 10; k++)
        sn_port_run(r.w.port);
    sn_port_fault_counts(r.w.port, &c);
    assert_int_equal(c.packets, 1);
    r.full = false;
    rig_run(&r);
    sn_port_fault_counts(r.w.port, &c);
    assert_int_equal(c.packets, PACKETS);
    assert_int_equal(c.injected[SN_INJECT_DROP], 1);
    assert_int_equal(rig_out(&r)->b.flags & SN_BURST_FIRST, SN_BURST_FIRST);
    assert_int_equal(rig_out(&r)->b.flags & SN_BURST_LAST, SN_BURST_LAST); /* the middle one is lost */
    rig_expect_silence(&r);
    rig_close(&r);
}

static void count_capture(void *arg, const struct sn_burst *b)
{
    unsigned *arrivals = arg;
    *arrivals += b->kind == SN_KIND_WRITE;
}

/* What a plan holds back or doubles on arrival came over the wire once: it is counted and captured once. */
static void test_arrives_once(void **state)
{
    static const char *const plans[] = {"delay:dir=rx,us=300", "dup:dir=rx", "reorder:dir=rx,hold=1ms"};
    struct options o = quick();
    (void)state;

    o.service = SN_SERVICE_RC;
    for (size_t i = 0; i < sizeof(plans) / sizeof(plans[0]); i++) {
        struct sn_fault_plan plan;
        struct rig r;
        char why[256];
        unsigned arrivals = 0;

        rig_open(&r, &o);
        assert_int_equal(sn_fault_parse(plans[i], strlen(plans[i]), &plan, why, sizeof(why)), 0);
        assert_int_equal(sn_port_set_faults(r.w.port, &plan, 1), 0);
        sn_port_set_capture(r.w.port, count_capture, &arrivals);
        rig_write(&r, ONLY, o.psn, 0, 8, 8);
        world_pass(&r.w, 5000000, 50000);
        rig_run(&r);
        assert_memory_equal(r.e.mem, rig_bytes, 8);
        assert_int_equal(arrivals, 1);
        assert_int_equal(rig_counters(&r).rx_packets, 1);
        assert_int_equal(rig_counters(&r).rx_bytes, 8);
        sn_port_set_capture(r.w.port, NULL, NULL);
        assert_int_equal(sn_port_set_faults(r.w.port, NULL, 0), 0);
        rig_close(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_repaired),
        cmocka_unit_test(test_repaired_in_gpu_memory),
        cmocka_unit_test(test_fatal),
        cmocka_unit_test(test_hole_ends_with_reset),
        cmocka_unit_test(test_lost_doorbell),
        cmocka_unit_test(test_merged_doorbells),
        cmocka_unit_test(test_wait_on_failed_cq),
        cmocka_unit_test(test_by_qpn_and_count),
        cmocka_unit_test(test_seed),
        cmocka_unit_test(test_holding),
        cmocka_unit_test(test_full_wire),
        cmocka_unit_test(test_arrives_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
