/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a key allows: operation, rights, protection domain and range, for requests from outside and for the queue pair's own
 * gather and scatter lists (IBTA vol. 1, 10.6.3 to 10.6.7; 9.7.4.1.5 and .7 for the responder's checks). A refusal changes
 * no byte.
 */
#include "packets.h"

enum { SIZE = 256, AT = 8192, PSN = RIG_PSN };

static const enum sn_kind kinds[] = {SN_KIND_WRITE, SN_KIND_READ_REQUEST, SN_KIND_ATOMIC_FA};
static const uint32_t needed[] = {SN_ACCESS_REMOTE_WRITE, SN_ACCESS_REMOTE_READ, SN_ACCESS_REMOTE_ATOMIC};

struct attempt {
    unsigned kind; /* index into kinds */
    uint64_t iova, va;
    uint32_t length; /* atomics: 8 */
    uint32_t access;
    bool foreign; /* the key belongs to another protection domain */
    uint8_t syndrome;
};

static void request(struct rig *r, const struct attempt *a, uint32_t key)
{
    unsigned flags = ONLY | SN_BURST_ACKREQ;
    struct sn_burst b = rig_packet(r, kinds[a->kind], flags, PSN);

    b.va = a->va;
    b.rkey = key;
    b.dmalen = a->length;
    if (a->kind == 2) {
        b.atomic_size = 8;
        b.swap_add = 1;
        b.dmalen = 0;
    }
    rig_in(r, &b, rig_bytes, a->kind == 0 ? a->length : 0);
}

static void attempt(const struct attempt *a)
{
    static uint8_t before[MEM_SIZE];
    struct options o = defaults;
    struct rig r;
    uint32_t pdn = 0;

    o.psn = PSN;
    o.mtu = 5;
    rig_open(&r, &o);
    fill(r.e.mem, 65536, 5);
    memcpy(before, r.e.mem, 65536);
    if (a->foreign)
        assert_int_equal(sn_pd_create(r.e.nic, &pdn), 0);
    struct sn_mkey_attr attr = {.pdn = a->foreign ? pdn : r.e.pdn,
                                .access = a->access,
                                .iova = a->iova,
                                .span = {.addr = r.e.mem + AT, .length = SIZE}};
    uint32_t key;
    assert_int_equal(sn_mkey_create(r.e.nic, &attr, &key), 0);
    request(&r, a, key);
    const struct sent *s = rig_out(&r);
    if (s == NULL)
        fail_msg("kind %u, va 0x%llx, %u bytes: no answer", a->kind, (unsigned long long)a->va, a->length);
    if (s->b.syndrome != a->syndrome)
        fail_msg("kind %u, iova 0x%llx va 0x%llx, %u bytes, access 0x%x%s: answered 0x%02x, not 0x%02x", a->kind,
                 (unsigned long long)a->iova, (unsigned long long)a->va, a->length, a->access, a->foreign ? ", foreign" : "",
                 s->b.syndrome, a->syndrome);
    if (a->syndrome == SN_AETH_ACK && a->kind == 1 && a->length != 0)
        assert_memory_equal(s->payload, r.e.mem + AT + (a->va - a->iova), s->b.length);
    if (a->syndrome != SN_AETH_ACK) {
        assert_int_equal(s->b.length, 0);
        assert_memory_equal(before, r.e.mem, 65536);
        assert_int_equal(end_state(&r.e), SN_QP_ERR);
    } else { /* and nothing around what was allowed */
        uint64_t from = AT + (a->va - a->iova), to = from + (a->kind == 0 ? a->length : a->kind == 2 ? 8 : 0);
        if (from > 65536)
            from = to = AT; /* no byte: the address says nothing */
        assert_memory_equal(before, r.e.mem, from);
        assert_memory_equal(before + to, r.e.mem + to, 65536 - to);
    }
    assert_int_equal(sn_mkey_destroy(r.e.nic, key), 0);
    rig_close(&r);
}

/* Every combination of rights, by every operation (10.6.3.1). */
static void rights(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < 3; kind++)
        for (uint32_t access = 0; access < 16; access++)
            attempt(&(struct attempt){.kind = kind,
                                      .iova = 0x10000,
                                      .va = 0x10000,
                                      .length = 8,
                                      .access = access,
                                      .syndrome = access & needed[kind] ? SN_AETH_ACK : SN_AETH_NAK_ACCESS});
}

/* A key of another protection domain, with every right (10.6.3.3). */
static void domains(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < 3; kind++)
        attempt(&(struct attempt){
            .kind = kind, .iova = 0x10000, .va = 0x10000, .length = 8, .access = 15, .foreign = true, .syndrome = SN_AETH_NAK_ACCESS});
}

/* Edges of the range, at addresses that are not the memory's, at zero, and at the end of the address space. */
static void ranges(void **state)
{
    static const uint64_t iovas[] = {0x10000, 0, UINT64_MAX - SIZE - 7, 1ull << 63, (1ull << 32) - 128};
    static const struct {
        int64_t offset;
        uint32_t length;
        bool ok;
    } cases[] = {
        {0, SIZE, true},      {0, SIZE + 8, false}, {SIZE - 8, 8, true}, {SIZE - 7, 8, false}, {SIZE, 8, false},
        {-8, 8, false},       {-8, 16, false},      {8, SIZE, false},    {-1, 1, false},       {SIZE, 1, false},
        {SIZE - 1, 1, true},  {0, 0, true},         {SIZE + 99, 0, true}, /* no byte, no check: C9-88 */
        {1ll << 62, 8, false},
    };
    (void)state;
    for (unsigned kind = 0; kind < 3; kind++)
        for (size_t i = 0; i < sizeof(iovas) / sizeof(iovas[0]); i++)
            for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
                uint64_t va = iovas[i] + (uint64_t)cases[c].offset;
                if (kind == 2 && (cases[c].length != 8 || (va & 7) != 0))
                    continue; /* atomics: 8 bytes, aligned */
                attempt(&(struct attempt){.kind = kind,
                                          .iova = iovas[i],
                                          .va = va,
                                          .length = cases[c].length,
                                          .access = 15,
                                          .syndrome = cases[c].ok ? SN_AETH_ACK : SN_AETH_NAK_ACCESS});
            }
}

/* Messages of several packets are judged as a whole with the first: nothing is written of one that does not fit. */
static void long_messages(void **state)
{
    static uint8_t before[MEM_SIZE];
    struct options o = defaults;
    struct rig r;

    (void)state;
    o.psn = PSN;
    o.mtu = 1;
    rig_open(&r, &o);
    memcpy(before, r.e.mem, MEM_SIZE);
    rig_write(&r, FIRST, PSN, MEM_SIZE - 256, 256, 512);
    rig_expect_ack(&r, SN_AETH_NAK_ACCESS, PSN);
    rig_write(&r, LAST | SN_BURST_ACKREQ, PSN + 1, 0, 256, 0);
    rig_expect_silence(&r);
    assert_memory_equal(before, r.e.mem, MEM_SIZE);
    rig_close(&r);
}

/* The queue pair's own switches: qp_access_flags refuse what the key would allow (9.7.4.1.5, "invalid request"). */
static void switches(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < 3; kind++) {
        struct options o = defaults;
        struct rig r;
        o.psn = PSN;
        o.no_rwe = kind == 0;
        o.no_rre = kind == 1;
        o.no_rae = kind == 2;
        rig_open(&r, &o);
        struct attempt a = {.kind = kind, .va = (uintptr_t)r.e.mem, .length = 8};
        request(&r, &a, r.e.mkey);
        const struct sent *s = rig_out(&r);
        assert_non_null(s);
        assert_int_equal(s->b.syndrome, SN_AETH_NAK_INVALID);
        rig_close(&r);
    }
}

/* Local lists: a gather needs no right, a scatter needs local write, both the queue pair's domain (10.6.3.2). */
static void local_lists(void **state)
{
    static const struct {
        uint8_t opcode;
        uint32_t access;
        bool foreign, ok;
        int64_t beyond;
    } cases[] = {
        {SN_OPCODE_RDMA_WRITE, 0, false, true, 0},
        {SN_OPCODE_RDMA_WRITE, 15, true, false, 0},
        {SN_OPCODE_RDMA_WRITE, 15, false, false, 1},
        {SN_OPCODE_RDMA_WRITE, 15, false, false, -1},
        {SN_OPCODE_RDMA_READ, SN_ACCESS_LOCAL_WRITE, false, true, 0},
        {SN_OPCODE_RDMA_READ, 14, false, false, 0}, /* every remote right, and not local write */
        {SN_OPCODE_RDMA_READ, 15, true, false, 0},
        {SN_OPCODE_ATOMIC_FA, SN_ACCESS_LOCAL_WRITE, false, true, 0},
        {SN_OPCODE_ATOMIC_FA, 14, false, false, 0},
        {SN_OPCODE_SEND, 15, true, false, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct options o = defaults;
        struct rig r;
        uint32_t pdn, key;
        o.psn = PSN;
        rig_open(&r, &o);
        assert_int_equal(sn_pd_create(r.e.nic, &pdn), 0);
        struct sn_mkey_attr attr = {.pdn = cases[i].foreign ? pdn : r.e.pdn,
                                    .access = cases[i].access,
                                    .iova = 0x4000,
                                    .span = {.addr = r.e.mem + AT, .length = 8}};
        assert_int_equal(sn_mkey_create(r.e.nic, &attr, &key), 0);
        struct wr wr = {.opcode = cases[i].opcode,
                        .fm_ce_se = 8,
                        .raddr = 0x1000,
                        .rkey = 1,
                        .sge = {{(uint64_t)(0x4000 + cases[i].beyond), key, 8}},
                        .sges = 1};
        uint32_t index = post(&r.e, &wr);
        rig_run(&r);
        const struct sent *s = rig_out(&r);
        if ((s != NULL) != cases[i].ok)
            fail_msg("case %zu: %s", i, s != NULL ? "was sent" : "was not sent");
        if (!cases[i].ok)
            expect_error(&r.e, index, SN_SYND_LOCAL_PROT);
        rig_close(&r);
    }
}

/* A receive that names a key without local write: the data is not placed, both sides learn of it (9.9.3). */
static void receives(void **state)
{
    for (unsigned foreign = 0; foreign < 2; foreign++) {
        static uint8_t zeros[64];
        struct options o = defaults;
        struct rig r;
        uint32_t pdn, key;
        (void)state;
        o.psn = PSN;
        rig_open(&r, &o);
        assert_int_equal(sn_pd_create(r.e.nic, &pdn), 0);
        struct sn_mkey_attr attr = {.pdn = foreign ? pdn : r.e.pdn,
                                    .access = foreign ? 15 : 14,
                                    .iova = (uintptr_t)r.e.mem,
                                    .span = {.addr = r.e.mem, .length = 64}};
        assert_int_equal(sn_mkey_create(r.e.nic, &attr, &key), 0);
        post_recv(&r.e, r.e.mem, 64, key);
        rig_send(&r, ONLY | SN_BURST_ACKREQ, PSN, 64);
        rig_expect_ack(&r, SN_AETH_NAK_OP, PSN);
        const struct sn_cqe64 *c = next_rcqe(&r.e);
        assert_non_null(c);
        assert_int_equal(cqe_opcode(c), SN_CQE_RESP_ERR);
        assert_int_equal(cqe_syndrome(c), SN_SYND_LOCAL_PROT);
        assert_memory_equal(r.e.mem, zeros, 64);
        rig_close(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rights),        cmocka_unit_test(domains),     cmocka_unit_test(ranges),   cmocka_unit_test(long_messages),
        cmocka_unit_test(switches),      cmocka_unit_test(local_lists), cmocka_unit_test(receives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
