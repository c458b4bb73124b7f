/* SPDX-License-Identifier: Apache-2.0 */
/* The world under attack: see rig.h. */
#include "rig.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../tests/softnic/fake_gpu.h"
#include "format/doorbell.h"
#include "format/wqe.h"
#include "softnic/errors.h"

enum {
    BLOCK = FUZZ_AREAS * (FUZZ_AREA_BYTES + FUZZ_GUARD_BYTES) + FUZZ_GUARD_BYTES,
    WITNESS_BYTES = 4096,
    /* A put of the witness takes a handful of turns; what the others owe may add to that, within reason. */
    WITNESS_TURNS = 512,
    REST_TURNS = 200000,
};

const uint8_t fuzz_attacker_gid[16] = {0xfe, 0x80, [15] = 0x99};

uint8_t fuzz_u8(struct fuzz_in *in)
{
    if (in->left == 0)
        return 0;
    in->left--;
    return *in->at++;
}

uint16_t fuzz_u16(struct fuzz_in *in)
{
    uint16_t low = fuzz_u8(in);
    return (uint16_t)(low | fuzz_u8(in) << 8);
}

uint32_t fuzz_u32(struct fuzz_in *in)
{
    uint32_t low = fuzz_u16(in);
    return low | (uint32_t)fuzz_u16(in) << 16;
}

uint64_t fuzz_u64(struct fuzz_in *in)
{
    uint64_t low = fuzz_u32(in);
    return low | (uint64_t)fuzz_u32(in) << 32;
}

size_t fuzz_bytes(struct fuzz_in *in, void *out, size_t n)
{
    if (n > in->left)
        n = in->left;
    memcpy(out, in->at, n);
    in->at += n;
    in->left -= n;
    return n;
}

void fuzz_fail(const char *file, int line, const char *cond, const char *format, ...)
{
    va_list args;

    fprintf(stderr, "%s:%d: %s: ", file, line, cond);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    abort();
}

static void must(int ret, const char *what)
{
    char text[256] = "";

    if (ret == 0)
        return;
    sn_err_format(sn_err_last(), text, sizeof(text));
    fuzz_fail(__FILE__, __LINE__, what, "returned %d: %s", ret, text);
}

static void *zeroed(size_t size)
{
    void *p = aligned_alloc(64, (size + 63) & ~(size_t)63);

    FUZZ_CHECK(p != NULL, "%zu bytes", size);
    memset(p, 0, size);
    return p;
}

/* ---- memory ---------------------------------------------------------------------------------------------------- */

uint8_t *fuzz_area_at(struct fuzz_world *w, unsigned area)
{
    return w->block + FUZZ_GUARD_BYTES + (size_t)area * (FUZZ_AREA_BYTES + FUZZ_GUARD_BYTES);
}

static void make_key(struct fuzz_world *w, unsigned area)
{
    static const uint32_t access[FUZZ_AREAS] = {
        [FUZZ_OPEN] = 15, [FUZZ_READ_ONLY] = SN_ACCESS_REMOTE_READ, [FUZZ_LANDING] = SN_ACCESS_LOCAL_WRITE, [FUZZ_FOREIGN] = 15};
    struct sn_mkey_attr attr = {.pdn = area == FUZZ_FOREIGN ? w->foreign_pdn : w->pdn,
                                .access = access[area],
                                .iova = w->iova[area],
                                .span = {.addr = fuzz_area_at(w, area),
                                         .length = FUZZ_AREA_BYTES,
                                         .space = w->options & FUZZ_GPU_DATA ? SN_SPACE_GPU : SN_SPACE_HOST}};

    must(sn_mkey_create(w->nic[0], &attr, &w->key[area]), "memory key");
}

static void make_memory(struct fuzz_world *w)
{
    static uint8_t pattern[1021]; /* a prime: no two areas look alike */

    for (size_t i = 0; pattern[0] == 0 && i < sizeof(pattern); i++)
        pattern[sizeof(pattern) - 1 - i] = (uint8_t)(0xa5 ^ i * 7);
    w->block = zeroed(BLOCK);
    w->before = malloc(BLOCK);
    FUZZ_CHECK(w->before != NULL, "%d bytes", BLOCK);
    for (size_t i = 0; i < BLOCK; i += sizeof(pattern))
        memcpy(w->before + i, pattern, BLOCK - i < sizeof(pattern) ? BLOCK - i : sizeof(pattern));
    memcpy(w->block, w->before, BLOCK);
    for (unsigned i = 0; i < FUZZ_AREAS; i++) {
        w->iova[i] = i == FUZZ_READ_ONLY ? UINT64_MAX - FUZZ_AREA_BYTES - 15 : (uintptr_t)fuzz_area_at(w, i);
        make_key(w, i);
    }
    w->key[FUZZ_STALE] = w->key[FUZZ_OPEN] ^ 0x10;
}

void fuzz_rekey(struct fuzz_world *w, unsigned area)
{
    w->key[FUZZ_STALE] = w->key[area];
    must(sn_mkey_destroy(w->nic[0], w->key[area]), "destroy a key");
    make_key(w, area);
    FUZZ_CHECK(w->key[area] != w->key[FUZZ_STALE], "key 0x%x came back at once", w->key[area]);
}

static bool may_change(unsigned area)
{
    return area == FUZZ_OPEN || area == FUZZ_LANDING;
}

static void unchanged(const struct fuzz_world *w, size_t from, size_t length, const char *what, unsigned number)
{
    if (memcmp(w->block + from, w->before + from, length) == 0)
        return;
    for (size_t i = from; i < from + length; i++)
        FUZZ_CHECK(w->block[i] == w->before[i], "%s %u: byte %zu was written", what, number, i - from);
}

void fuzz_judge(struct fuzz_world *w)
{
    size_t step = FUZZ_AREA_BYTES + FUZZ_GUARD_BYTES;

    for (unsigned i = 0; i <= FUZZ_AREAS; i++)
        unchanged(w, i * step, FUZZ_GUARD_BYTES, "guard", i);
    for (unsigned i = 0; i < FUZZ_AREAS; i++)
        if (!may_change(i))
            unchanged(w, i * step + FUZZ_GUARD_BYTES, FUZZ_AREA_BYTES, "area", i);
}

/* ---- the wire: nothing answers; what leaves has to be what may leave --------------------------------------------- */

static bool inside(const struct fuzz_world *w, unsigned area, const uint8_t *p, size_t n)
{
    const uint8_t *at = w->block + FUZZ_GUARD_BYTES + (size_t)area * (FUZZ_AREA_BYTES + FUZZ_GUARD_BYTES);
    return p >= at && p <= at + FUZZ_AREA_BYTES && n <= (size_t)(at + FUZZ_AREA_BYTES - p);
}

static void may_leave(const struct fuzz_world *w, const struct sn_burst *b)
{
    bool response = b->kind == SN_KIND_READ_RESPONSE;
    size_t sum = 0;

    FUZZ_CHECK(b->iov_count <= SN_BURST_MAX_IOV, "%u pieces", b->iov_count);
    for (uint32_t i = 0; i < b->iov_count; i++) {
        const uint8_t *p = b->iov[i].addr;
        size_t n = b->iov[i].length;
        bool in_block = p >= w->block && p < w->block + BLOCK;
        sum += n;
        if (response && !w->copies)
            FUZZ_CHECK(inside(w, FUZZ_OPEN, p, n) || inside(w, FUZZ_READ_ONLY, p, n), "%zu bytes that nobody may read", n);
        else if (in_block && n != 0) /* elsewhere: inline data */
            FUZZ_CHECK(inside(w, FUZZ_OPEN, p, n) || inside(w, FUZZ_READ_ONLY, p, n) || inside(w, FUZZ_LANDING, p, n) ||
                           inside(w, FUZZ_SOURCE, p, n),
                       "%zu bytes of another domain, or of no key", n);
        for (size_t k = 0; k < n; k += 512)
            (void)*(const volatile uint8_t *)(p + k);
    }
    FUZZ_CHECK(sum == b->length, "%zu bytes in pieces, length %u", sum, b->length);
}

static int wire_send(struct sn_wire *wire, const struct sn_burst *b)
{
    struct fuzz_world *w = (struct fuzz_world *)(void *)((char *)wire - offsetof(struct fuzz_world, wire));

    if (w->wire_full)
        return -EAGAIN;
    may_leave(w, b);
    w->sent++;
    memcpy(&w->last, b, offsetof(struct sn_burst, iov));
    w->last.iov_count = 0;
    for (unsigned i = 0; i < FUZZ_TARGETS; i++)
        if (w->qp[i].qpn == b->sqpn && b->kind != SN_KIND_ACK && b->kind != SN_KIND_READ_RESPONSE && b->kind != SN_KIND_ATOMIC_ACK)
            w->last_psn[i] = b->psn;
    return 0;
}

static int wire_poll(struct sn_wire *wire, unsigned budget)
{
    (void)wire;
    (void)budget;
    return 0;
}

static bool wire_pending(struct sn_wire *wire)
{
    (void)wire;
    return false;
}

static void wire_sleeping(struct sn_wire *wire, bool asleep)
{
    (void)wire;
    (void)asleep;
}

static void wire_destroy(struct sn_wire *wire)
{
    (void)wire;
}

static const struct sn_wire_ops wire_ops = {.name = "fuzz",
                                            .send = wire_send,
                                            .poll = wire_poll,
                                            .pending = wire_pending,
                                            .sleeping = wire_sleeping,
                                            .destroy = wire_destroy};

/* ---- queues ---------------------------------------------------------------------------------------------------- */

static uint32_t make_cq(struct fuzz_qp *q, uint8_t **ring)
{
    size_t size = (size_t)64 << FUZZ_LOG_CQ;
    struct sn_cq_attr attr = {.log_size = FUZZ_LOG_CQ, .cqe_size = 64, .overrun_ignore = true, .uar = q->uar.index};
    uint32_t cqn;

    *ring = zeroed(size);
    for (size_t i = 63; i < size; i += 64)
        (*ring)[i] = 0xf1;
    attr.ring = (struct sn_span){*ring, size, q->gpu ? SN_SPACE_GPU : SN_SPACE_HOST};
    must(sn_cq_create(q->nic, &attr, &cqn), "CQ");
    return cqn;
}

static void make_srq(struct fuzz_qp *q)
{
    struct sn_srq_attr attr = {.pdn = q->pdn,
                               .log_size = FUZZ_LOG_RQ,
                               .log_stride = FUZZ_RQ_STRIDE,
                               .cyclic = true,
                               .ring = {.addr = q->rq, .length = (size_t)1 << (FUZZ_LOG_RQ + FUZZ_RQ_STRIDE)},
                               .record = {.addr = q->srq_record, .length = 4}};
    must(sn_srq_create(q->nic, &attr, &q->srqn), "SRQ");
}

static void make_qp(struct fuzz_qp *q, struct sn_nic *nic, uint32_t pdn, enum sn_service service, bool srq, bool gpu)
{
    uint32_t space = gpu ? SN_SPACE_GPU : SN_SPACE_HOST;

    *q = (struct fuzz_qp){.nic = nic, .service = service, .pdn = pdn, .gpu = gpu};
    must(sn_uar_alloc(nic, &q->uar), "UAR");
    q->sq = zeroed((size_t)64 << FUZZ_LOG_SQ);
    q->rq = zeroed((size_t)1 << (FUZZ_LOG_RQ + FUZZ_RQ_STRIDE));
    q->record = zeroed(64);
    q->srq_record = zeroed(64);
    q->cqn = make_cq(q, &q->cq);
    q->rcqn = make_cq(q, &q->rcq);
    if (srq)
        make_srq(q);
    struct sn_qp_attr attr = {
        .service = service,
        .pdn = pdn,
        .log_sq_size = FUZZ_LOG_SQ,
        .sq = {.addr = q->sq, .length = (size_t)64 << FUZZ_LOG_SQ, .space = space},
        .cqn_snd = q->cqn,
        .rq_kind = srq ? SN_RQ_SRQ : SN_RQ_REGULAR,
        .log_rq_size = FUZZ_LOG_RQ,
        .log_rq_stride = FUZZ_RQ_STRIDE,
        .rq = {.addr = q->rq, .length = (size_t)1 << (FUZZ_LOG_RQ + FUZZ_RQ_STRIDE), .space = space},
        .cqn_rcv = q->rcqn,
        .srqn = q->srqn,
        .record = {.addr = q->record, .length = 8, .space = space},
        .uar = q->uar.index,
    };
    int ret = sn_qp_create(nic, &attr, &q->qpn);
    if (ret == -EOPNOTSUPP)
        q->qpn = 0;
    else
        must(ret, "QP");
}

static void drop_qp(struct fuzz_qp *q)
{
    if (q->qpn != 0)
        must(sn_qp_destroy(q->nic, q->qpn), "destroy a QP");
    if (q->srqn != 0)
        must(sn_srq_destroy(q->nic, q->srqn), "destroy an SRQ");
    must(sn_cq_destroy(q->nic, q->cqn), "destroy a CQ");
    must(sn_cq_destroy(q->nic, q->rcqn), "destroy a CQ");
    must(sn_uar_free(q->nic, q->uar.index), "free a UAR");
    free(q->sq);
    free(q->rq);
    free(q->cq);
    free(q->rcq);
    free(q->record);
    free(q->srq_record);
}

static void move_up(struct fuzz_world *w, struct fuzz_qp *q, const uint8_t gid[16], uint32_t remote)
{
    struct sn_qp_params p = {.port = 1,
                             .rwe = true,
                             .rre = true,
                             .rae = true,
                             .atomic_mode = 3,
                             .mtu = w->mtu,
                             .log_msg_max = 30,
                             .rcv_psn = 0xfffffa, /* wraps soon */
                             .snd_psn = 0xfffffa,
                             .remote_qpn = remote,
                             .min_rnr = 1,
                             .ack_timeout = 8,
                             .retry_count = 2,
                             .rnr_retry = 2,
                             .log_sra_max = 2,
                             .log_rra_max = 2,
                             .qkey = FUZZ_QKEY};
    uint32_t init = SN_QPF_QKEY | SN_QPF_PORT | SN_QPF_RWE | SN_QPF_RRE | SN_QPF_RAE | SN_QPF_PKEY_INDEX;
    uint32_t rtr = SN_QPF_MTU | SN_QPF_RCV_PSN | SN_QPF_REMOTE | SN_QPF_PATH | SN_QPF_MIN_RNR | SN_QPF_RRA | SN_QPF_MSG_MAX;
    uint32_t rts = SN_QPF_SND_PSN | SN_QPF_ACK_TIMEOUT | SN_QPF_RETRY | SN_QPF_RNR_RETRY | SN_QPF_SRA;

    memcpy(p.path.dgid, gid, 16);
    q->rcv_psn = p.rcv_psn;
    q->remote_qpn = remote;
    must(sn_qp_modify(q->nic, q->qpn, SN_QP_INIT, &p, init), "to INIT");
    must(sn_qp_modify(q->nic, q->qpn, SN_QP_RTR, &p, rtr), "to RTR");
    must(sn_qp_modify(q->nic, q->qpn, SN_QP_RTS, &p, rts), "to RTS");
}

void fuzz_connect(struct fuzz_world *w, struct fuzz_qp *q)
{
    if (q->qpn == 0)
        return;
    must(sn_qp_modify(q->nic, q->qpn, SN_QP_RST, NULL, 0), "to RST");
    q->pi = 0;
    if (q->srqn == 0)
        q->rq_pi = 0;
    q->record[0] = q->record[1] = 0;
    move_up(w, q, fuzz_attacker_gid, 0x990001u + (uint32_t)(q - w->qp));
}

void fuzz_post_recv(struct fuzz_world *w, struct fuzz_qp *q, uint32_t offset, uint32_t length, uint32_t key)
{
    uint8_t *wqe = q->rq + ((size_t)(q->rq_pi & ((1u << FUZZ_LOG_RQ) - 1)) << FUZZ_RQ_STRIDE);
    struct sn_data_seg *s = (struct sn_data_seg *)(void *)wqe;
    uint32_t first = length / 3;

    if (q->qpn == 0)
        return;
    for (unsigned i = 0; i < 2; i++) { /* two pieces */
        s[i].byte_count = sn_put32(i == 0 ? first : length - first);
        s[i].lkey = sn_put32(key);
        s[i].addr = sn_put64(w->iova[FUZZ_LANDING] + offset + (i == 0 ? 0 : first));
    }
    s[2].byte_count = sn_put32(0);
    s[2].lkey = sn_put32(SN_LKEY_END);
    q->rq_pi++;
    __atomic_store_n(q->srqn != 0 ? q->srq_record : q->record, sn_swap32(q->rq_pi & 0xffff), __ATOMIC_RELEASE);
}

void fuzz_ring(struct fuzz_qp *q)
{
    __atomic_store_n(&q->record[1], sn_swap32(q->pi & 0xffff), __ATOMIC_RELEASE);
    __atomic_store_n((uint64_t *)q->uar.reg, sn_doorbell_build(q->qpn, q->pi), __ATOMIC_RELEASE);
}

/* ---- the witness ------------------------------------------------------------------------------------------------- */

static void make_witness(struct fuzz_world *w)
{
    uint32_t pdn[2];

    w->witness_memory = zeroed((size_t)2 * WITNESS_BYTES);
    for (unsigned i = 0; i < 2; i++) {
        must(sn_pd_create(w->nic[i], &pdn[i]), "PD");
        make_qp(&w->witness[i], w->nic[i], pdn[i], SN_SERVICE_RC, false, false);
        struct sn_mkey_attr attr = {.pdn = pdn[i],
                                    .access = 15,
                                    .iova = (uintptr_t)w->witness_memory + i * WITNESS_BYTES,
                                    .span = {w->witness_memory + i * WITNESS_BYTES, WITNESS_BYTES, SN_SPACE_HOST}};
        must(sn_mkey_create(w->nic[i], &attr, &w->witness_key[i]), "memory key");
    }
    for (unsigned i = 0; i < 2; i++)
        move_up(w, &w->witness[i], sn_nic_get_config(w->nic[1 - i])->gid[0], w->witness[1 - i].qpn);
    w->key[FUZZ_PEER_KEY] = w->witness_key[1]; /* a key of another NIC */
}

static void post_put(struct fuzz_world *w, uint32_t offset)
{
    struct fuzz_qp *q = &w->witness[0];
    uint8_t *raw = q->sq + (size_t)64 * (q->pi & ((1u << FUZZ_LOG_SQ) - 1));
    struct sn_ctrl_seg *ctrl = (struct sn_ctrl_seg *)(void *)raw;
    struct sn_raddr_seg *remote = (struct sn_raddr_seg *)(void *)(raw + 16);
    struct sn_data_seg *data = (struct sn_data_seg *)(void *)(raw + 32);

    memset(raw, 0, 64);
    ctrl->opmod_idx_opcode = sn_put32((q->pi & 0xffff) << 8 | SN_OPCODE_RDMA_WRITE);
    ctrl->qpn_ds = sn_put32(q->qpn << 8 | 3);
    ctrl->fm_ce_se = 8;
    remote->raddr = sn_put64((uintptr_t)w->witness_memory + WITNESS_BYTES + offset);
    remote->rkey = sn_put32(w->witness_key[1]);
    data->byte_count = sn_put32(64);
    data->lkey = sn_put32(w->witness_key[0]);
    data->addr = sn_put64((uintptr_t)w->witness_memory + offset);
    q->pi++;
    fuzz_ring(q);
}

void fuzz_witness_post(struct fuzz_world *w)
{
    post_put(w, 0);
}

void fuzz_witness(struct fuzz_world *w)
{
    struct fuzz_qp *q = &w->witness[0];
    uint32_t offset = w->witness_rounds % 32 * 64, count = 0, before;
    unsigned turns = 0;

    must(sn_cq_producer(q->nic, q->cqn, &before), "CQ producer");
    memset(w->witness_memory + offset, (int)(w->witness_rounds + 1), 64);
    w->witness_rounds++;
    post_put(w, offset);
    do {
        FUZZ_CHECK(turns++ < WITNESS_TURNS, "the witness does not finish while others are busy");
        fuzz_run(w, 1);
        must(sn_cq_producer(q->nic, q->cqn, &count), "CQ producer");
    } while (count == before);
    uint8_t op_own = q->cq[((before & ((1u << FUZZ_LOG_CQ) - 1)) * 64) + 63];
    FUZZ_CHECK(op_own >> 4 == 0, "the witness ends in CQE opcode %u", op_own >> 4);
    FUZZ_CHECK(memcmp(w->witness_memory + offset, w->witness_memory + WITNESS_BYTES + offset, 64) == 0,
               "the witness's bytes did not arrive");
}

/* ---- life ------------------------------------------------------------------------------------------------------ */

static uint64_t virtual_now(void *arg)
{
    return ((struct fuzz_world *)arg)->now;
}

void fuzz_world_open(struct fuzz_world *w, uint8_t options)
{
    static const uint8_t mtu[4] = {1, 3, 4, 5};
    static const enum sn_service service[FUZZ_TARGETS] = {SN_SERVICE_RC, SN_SERVICE_RC, SN_SERVICE_UC, SN_SERVICE_UD};
    struct sn_port_config config = {.now = virtual_now, .now_arg = w, .no_thread = true, .gpu = &fake_gpu};

    memset(w, 0, sizeof(*w));
    w->now = 1000000000;
    w->options = options;
    w->mtu = mtu[(options >> FUZZ_MTU_SHIFT) & 3];
    config.burst_bytes = options & FUZZ_ONE_PACKET ? 1 : 0;
    fake_gpu_seed(options);
    must(sn_port_create(&config, &w->port), "port");
    for (unsigned i = 0; i < 2; i++) {
        struct sn_nic_config nic = {.gid_count = 1, .slot = (uint8_t)(i + 1), .seed = 7 + i, .max_uars = 64};
        nic.gid[0][0] = 0xfe;
        nic.gid[0][1] = 0x80;
        nic.gid[0][15] = (uint8_t)(i + 1);
        must(sn_nic_create(w->port, &nic, &w->nic[i]), "NIC");
    }
    w->wire.ops = &wire_ops;
    sn_port_attach_wire(w->port, &w->wire);
    must(sn_pd_create(w->nic[0], &w->pdn), "PD");
    must(sn_pd_create(w->nic[0], &w->foreign_pdn), "PD");
    make_memory(w);
    for (unsigned i = 0; i < FUZZ_TARGETS; i++) {
        make_qp(&w->qp[i], w->nic[0], w->pdn, service[i], i == FUZZ_RC_SRQ, options & FUZZ_GPU_QUEUES);
        fuzz_connect(w, &w->qp[i]);
    }
    make_witness(w);
}

void fuzz_run(struct fuzz_world *w, unsigned turns)
{
    while (turns-- != 0)
        FUZZ_CHECK(sn_port_run(w->port) >= 0, "the port refuses to run");
}

static void rest(struct fuzz_world *w)
{
    unsigned quiet = 0, turns = 0;

    w->wire_full = false;
    while (quiet < 12) {
        FUZZ_CHECK(turns++ < REST_TURNS, "the port never comes to rest");
        w->now += 20000; /* a queue whose producer lies is read again for a while */
        quiet = sn_port_run(w->port) > 0 || fake_gpu_in_flight() != 0 ? 0 : quiet + 1;
        if (quiet == 4 || quiet == 8)
            w->now += 500000000; /* every timer that is armed fires */
    }
}

void fuzz_world_close(struct fuzz_world *w)
{
    if (!w->no_witness)
        fuzz_witness(w);
    rest(w);
    if (!w->no_witness)
        fuzz_witness(w);
    fuzz_judge(w);
    for (unsigned i = 0; i < FUZZ_TARGETS; i++)
        drop_qp(&w->qp[i]);
    for (unsigned i = 0; i < 2; i++) {
        must(sn_mkey_destroy(w->nic[i], w->witness_key[i]), "destroy a key");
        drop_qp(&w->witness[i]);
    }
    for (unsigned i = 0; i < FUZZ_AREAS; i++)
        must(sn_mkey_destroy(w->nic[0], w->key[i]), "destroy a key");
    must(sn_pd_destroy(w->nic[0], w->pdn), "destroy a PD");
    must(sn_pd_destroy(w->nic[0], w->foreign_pdn), "destroy a PD");
    for (unsigned i = 0; i < 2; i++)
        must(sn_nic_destroy(w->nic[i]), "destroy a NIC");
    sn_port_destroy(w->port);
    FUZZ_CHECK(fake_gpu_in_flight() == 0, "copies were left behind");
    free(w->block);
    free(w->before);
    free(w->witness_memory);
}

int fuzz_world_play(const uint8_t *data, size_t size, void (*begin)(struct fuzz_world *w),
                    void (*step)(struct fuzz_world *w, struct fuzz_in *in))
{
    struct fuzz_in in = {data, size};
    static struct fuzz_world w;

    if (size > 4096)
        return 0;
    fuzz_world_open(&w, fuzz_u8(&in));
    if (begin)
        begin(&w);
    while (in.left != 0)
        step(&w, &in);
    fuzz_world_close(&w);
    return 0;
}

/* ---- packets ----------------------------------------------------------------------------------------------------- */

void fuzz_packet(const struct fuzz_world *w, const struct fuzz_qp *q, struct sn_burst *b)
{
    memset(b, 0, sizeof(*b));
    memcpy(b->dgid, sn_nic_get_config(q->nic)->gid[0], 16);
    memcpy(b->sgid, fuzz_attacker_gid, 16);
    b->dqpn = q->qpn;
    b->sqpn = q->remote_qpn;
    b->service = (uint8_t)q->service;
    b->mtu = w->mtu;
    b->psn = q->rcv_psn;
    b->npackets = 1;
    b->pkey = 0xffff;
    b->qkey = FUZZ_QKEY;
    b->flags = SN_BURST_FIRST | SN_BURST_LAST;
}

void fuzz_payload(struct sn_burst *b, uint32_t length, unsigned pieces)
{
    static uint8_t bytes[65536];
    uint32_t at = 0;

    if (bytes[0] == 0)
        memset(bytes, 0xee, sizeof(bytes));
    b->length = length;
    b->iov_count = 0;
    for (unsigned i = 0; i < pieces && at < length; i++) {
        uint32_t n = i + 1 == pieces ? length - at : (length - at) / 2 + 1;
        b->iov[b->iov_count++] = (struct sn_iov){.addr = bytes + at, .length = n, .space = SN_SPACE_HOST};
        at += n;
    }
}
