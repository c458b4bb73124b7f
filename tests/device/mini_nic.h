/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small reference NIC for tests of the device functions: reads registers, records, counters and rings, moves bytes, writes
 * CQEs. Written from the formats, apart from include/common/gdaki_wqe.h, so that both can be wrong only differently.
 *
 * It checks what a NIC would stumble over: an announced slot must hold the WQE of its index and queue (`violations`).
 */
#ifndef TESTS_DEVICE_MINI_NIC_H
#define TESTS_DEVICE_MINI_NIC_H

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <map>
#include <vector>

#include <cuda_runtime.h>

#include "common/doca_gpunetio_verbs_dev.h"
#ifdef GDAKI_CPU
#include "cpu/gdaki_cpu.h"
#endif

#define MINI_KEY_BE 0x78563412u /* every key in these tests, as device functions take it */

struct mini_queue {
    struct doca_gpu_dev_verbs_qp *qp;
    uint8_t *ring, *cq;
    uint64_t *reg; /* doorbell register, 64 bytes, or counter */
    uint32_t *record;
    uint64_t done;     /* WQEs executed */
    uint64_t cq_count; /* CQEs written since creation */
    uint64_t fail_at;  /* this WQE fails, those behind are flushed */
    uint64_t violations, announcements;
    bool frozen;   /* does nothing */
    bool tolerant; /* a WQE that makes no sense is a violation too, instead of the end */
    std::vector<uint64_t> raddr; /* of each WQE, by index */
};

struct mini_nic {
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    std::vector<mini_queue *> queues;
    pthread_t thread; /* on a GPU */
    int stop = 0;
};

/*
 * Accesses that order. On `cpu` through the executor, which tells ThreadSanitizer what kernels' fences order.
 */
static inline uint64_t mini_load(const void *p, unsigned size)
{
#ifdef GDAKI_CPU
    return gdaki_cpu_load(p, size, GDAKI_CPU_ACQUIRE, GDAKI_CPU_SCOPE_SYS);
#else
    return size == 8 ? __atomic_load_n((const uint64_t *)p, __ATOMIC_ACQUIRE)
                     : __atomic_load_n((const uint32_t *)p, __ATOMIC_ACQUIRE);
#endif
}

static inline void mini_store(void *p, uint32_t value)
{
#ifdef GDAKI_CPU
    gdaki_cpu_store(p, value, 4, GDAKI_CPU_RELEASE, GDAKI_CPU_SCOPE_SYS);
#else
    __atomic_store_n((uint32_t *)p, value, __ATOMIC_RELEASE);
#endif
}

static inline uint64_t mini_be64(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, 8);
    return __builtin_bswap64(v);
}

static inline uint32_t mini_be32(const uint8_t *p)
{
    uint32_t v;
    memcpy(&v, p, 4);
    return __builtin_bswap32(v);
}

struct mini_nonsense {
};

static inline void mini_fatal(const mini_queue *q, const char *what, uint64_t value)
{
    if (q->tolerant)
        throw mini_nonsense();
    fprintf(stderr, "mini NIC, QP 0x%x, WQE %llu: %s 0x%llx\n", q->qp->sq_num, (unsigned long long)q->done, what,
            (unsigned long long)value);
    abort();
}

static inline void mini_write_cqe(mini_queue *q, uint8_t opcode, uint8_t syndrome)
{
    struct doca_gpu_dev_verbs_cq *cq = &q->qp->cq_sq;
    uint64_t slot = cq->gdaki_kind == GDAKI_CQ_KIND_COLLAPSED ? 0 : q->cq_count & (cq->cqe_num - 1);
    uint8_t *cqe = q->cq + 64 * slot;
    uint8_t owner = (q->cq_count & cq->cqe_num) != 0;
    uint8_t synd[4] = {0x12, 0x34, 0x88, syndrome}; /* hw_err_synd, hw_synd_type, vendor_err_synd, syndrome */
    uint8_t tail[4] = {(uint8_t)(q->done >> 8), (uint8_t)q->done, 0, (uint8_t)(opcode << 4 | owner)};
    uint32_t word;
    if (opcode == 13) {
        memcpy(&word, synd, 4);
        __atomic_store_n((uint32_t *)(cqe + 52), word, __ATOMIC_RELAXED);
    }
    memcpy(&word, tail, 4);
    mini_store(cqe + 60, word);
    q->cq_count++;
}

static inline mini_queue *mini_find_cq(mini_nic *nic, uint32_t cqn)
{
    for (mini_queue *q : nic->queues)
        if (q->qp->cq_sq.cq_num == cqn)
            return q;
    return NULL;
}

static inline void mini_check_key(const mini_queue *q, const uint8_t *p)
{
    uint32_t key;
    memcpy(&key, p, 4);
    if (key != MINI_KEY_BE)
        mini_fatal(q, "wrong key", key);
}

/* Moves one data segment's bytes; returns how many. */
static inline uint32_t mini_move(const mini_queue *q, const uint8_t *seg, uint8_t *remote, bool read)
{
    uint32_t count = mini_be32(seg);
    mini_check_key(q, seg + 4);
    uint8_t *local = (uint8_t *)mini_be64(seg + 8);
    if (local == NULL || remote == NULL)
        mini_fatal(q, "no address for bytes", count);
    memcpy(read ? local : remote, read ? remote : local, count);
    return count;
}

/* Executes the WQE of index q->done. False: it must wait. */
static inline bool mini_execute(mini_nic *nic, mini_queue *q, const uint8_t *wqe)
{
    uint32_t opcode = wqe[3], ds = wqe[7] & 0x3f;
    uint8_t *remote = ds >= 3 ? (uint8_t *)mini_be64(wqe + 16) : NULL;
    uint64_t old;
    if (ds >= 3)
        mini_check_key(q, wqe + 24);
    switch (opcode) {
    case 0x00:
        break;
    case 0x08:
        if (wqe[32] & 0x80) {
            memcpy(remote, wqe + 36, mini_be32(wqe + 32) & 0x7fffffff);
            break;
        }
        [[fallthrough]];
    case 0x10:
        for (uint32_t seg = 2; seg < ds; seg++)
            remote += mini_move(q, wqe + 16 * seg, remote, opcode == 0x10);
        break;
    case 0x12:
        memcpy(&old, remote, 8);
        __atomic_store_n((uint64_t *)remote, old + mini_be64(wqe + 32), __ATOMIC_RELEASE);
        mini_check_key(q, wqe + 52);
        memcpy((void *)mini_be64(wqe + 56), &old, 8);
        break;
    case 0x14: /* masked compare-swap: only that it takes two slots matters here */
        break;
    case 0x0f: {
        mini_queue *other = mini_find_cq(nic, mini_be32(wqe + 28));
        if (other == NULL)
            mini_fatal(q, "WAIT on unknown CQ", mini_be32(wqe + 28));
        if ((int32_t)((uint32_t)other->cq_count - mini_be32(wqe + 24)) <= 0)
            return false;
        break;
    }
    case 0x23:
        if (mini_be32(wqe + 16) != 1)
            mini_fatal(q, "DUMP of", mini_be32(wqe + 16));
        mini_check_key(q, wqe + 20);
        break;
    default:
        mini_fatal(q, "opcode", opcode);
    }
    q->raddr.push_back((uint64_t)(ds >= 3 ? mini_be64(wqe + 16) : 0));
    return true;
}

/* How many WQEs past q->done are announced. */
static inline uint64_t mini_ahead(mini_queue *q)
{
    uint64_t size = q->qp->sq_wqe_num, best = 0;
    uint64_t value = mini_load(q->reg, 8);
    if (q->qp->nic_handler == DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY)
        return value - q->done;
    uint8_t db[8];
    memcpy(db, &value, 8);
    if (mini_be32(db + 4) >> 8 == q->qp->sq_num) {
        uint32_t ds = db[7] & 0x3f, index = (mini_be32(db) >> 8) & 0xffff;
        uint16_t ahead = (uint16_t)(index + (ds + 3) / 4 - q->done);
        if (ahead <= size)
            best = ahead;
    }
    if (q->qp->nic_handler != DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_NO_DBR) {
        uint32_t record = (uint32_t)mini_load(q->record, 4);
        uint16_t ahead = (uint16_t)(__builtin_bswap32(record) - q->done);
        if (ahead <= size && ahead > best)
            best = ahead;
    }
    return best;
}

/* One turn of one queue: WQEs done. */
static inline int mini_turn(mini_nic *nic, mini_queue *q)
{
    uint64_t ahead = q->frozen ? 0 : mini_ahead(q);
    int work = 0;
    q->announcements += ahead != 0;
    for (uint64_t end = q->done + ahead; q->done < end;) {
        uint8_t *wqe = q->ring + 64 * (q->done & (q->qp->sq_wqe_num - 1));
        uint8_t ctrl[64];
        memcpy(ctrl, wqe, 64);
        if (((mini_be32(ctrl) >> 8) & 0xffff) != (q->done & 0xffff) || mini_be32(ctrl + 4) >> 8 != q->qp->sq_num) {
            q->violations++;
            break;
        }
        bool failed = q->done >= q->fail_at;
        try {
            if (!failed && !mini_execute(nic, q, ctrl))
                break;
        } catch (const mini_nonsense &) {
            q->violations++;
            break;
        }
        if (failed || (ctrl[11] & 0x0c) == 8)
            mini_write_cqe(q, failed ? 13 : 0, q->done == q->fail_at ? 0x13 : 5);
        q->done += ((ctrl[7] & 0x3f) + 3) / 4;
        work++;
    }
    return work;
}

/* The idle hook. Several workers may come at once: one drives. */
static inline int mini_run(void *arg)
{
    mini_nic *nic = (mini_nic *)arg;
    int work = 0;
    if (pthread_mutex_trylock(&nic->lock) != 0)
        return 0;
    for (mini_queue *q : nic->queues)
        work += mini_turn(nic, q);
    pthread_mutex_unlock(&nic->lock);
    return work;
}

#ifndef GDAKI_CPU
static inline void *mini_main(void *arg)
{
    mini_nic *nic = (mini_nic *)arg;
    while (__atomic_load_n(&nic->stop, __ATOMIC_ACQUIRE) == 0)
        mini_run(nic);
    return NULL;
}
#endif

/* Drives the NIC while kernels run: by the executor when nothing else can run, or by a thread beside a GPU. */
static inline void mini_start(mini_nic *nic)
{
#ifdef GDAKI_CPU
    gdaki_cpu_set_idle_hook(mini_run, nic);
#else
    nic->stop = 0;
    if (pthread_create(&nic->thread, NULL, mini_main, nic) != 0)
        abort();
#endif
}

static inline void mini_stop(mini_nic *nic)
{
#ifdef GDAKI_CPU
    (void)nic;
    gdaki_cpu_set_idle_hook(NULL, NULL);
#else
    __atomic_store_n(&nic->stop, 1, __ATOMIC_RELEASE);
    pthread_join(nic->thread, NULL);
#endif
}

/* Reports of the checker, which there is on `cpu` only. */
static inline uint64_t mini_reports(void)
{
#ifdef GDAKI_CPU
    return gdaki_cpu_check_count();
#else
    return 0;
#endif
}

static inline void *mini_alloc(size_t size)
{
    void *p = NULL;
    if (cudaHostAlloc(&p, (size + 255) & ~(size_t)255, cudaHostAllocDefault) != cudaSuccess)
        abort();
    memset(p, 0, size);
    return p;
}

/* A queue in host memory, exported as the host library does it. */
static inline mini_queue *mini_create(mini_nic *nic, uint32_t slots, enum doca_gpu_dev_verbs_nic_handler handler,
                                      bool collapsed)
{
    mini_queue *q = new mini_queue();
    uint32_t qpn = 0x100 + 3 * (uint32_t)nic->queues.size();
    struct doca_gpu_dev_verbs_qp *qp = (struct doca_gpu_dev_verbs_qp *)mini_alloc(sizeof(*qp));
    q->qp = qp;
    q->ring = (uint8_t *)mini_alloc(64 * slots);
    q->cq = (uint8_t *)mini_alloc(64 * slots);
    q->reg = (uint64_t *)mini_alloc(64);
    q->record = (uint32_t *)mini_alloc(8);
    q->fail_at = UINT64_MAX;
    for (uint32_t i = 0; i < slots; i++)
        q->cq[64 * i + 63] = 0xf1;
    qp->sq_num = qpn;
    qp->sq_num_shift8 = qpn << 8;
    uint32_t *be = &qp->sq_num_shift8_be;
    for (uint32_t ds = 0; ds <= 5; ds++)
        be[ds] = __builtin_bswap32(qpn << 8 | ds);
    qp->sq_wqe_num = (uint16_t)slots;
    qp->sq_wqe_mask = (uint16_t)(slots - 1);
    qp->sq_wqe_daddr = q->ring;
    qp->sq_dbrec = q->record;
    qp->sq_db = q->reg;
    qp->nic_handler = handler;
    qp->mem_type = DOCA_GPUNETIO_VERBS_MEM_TYPE_HOST;
    qp->cq_sq.cqe_daddr = q->cq;
    qp->cq_sq.cq_num = 0x40 + (uint32_t)nic->queues.size();
    qp->cq_sq.cqe_num = slots;
    qp->cq_sq.cqe_mask = slots - 1;
    qp->cq_sq.cqe_size = 64;
    qp->cq_sq.gdaki_kind = collapsed ? GDAKI_CQ_KIND_COLLAPSED : GDAKI_CQ_KIND_REGULAR;
    qp->cq_sq.mem_type = DOCA_GPUNETIO_VERBS_MEM_TYPE_HOST;
    nic->queues.push_back(q);
    return q;
}

static inline void mini_destroy(mini_nic *nic)
{
    for (mini_queue *q : nic->queues) {
        cudaFreeHost(q->ring);
        cudaFreeHost(q->cq);
        cudaFreeHost(q->reg);
        cudaFreeHost(q->record);
        cudaFreeHost(q->qp);
        delete q;
    }
    nic->queues.clear();
}

static inline uint64_t mini_violations(const mini_nic *nic)
{
    uint64_t sum = 0;
    for (const mini_queue *q : nic->queues)
        sum += q->violations;
    return sum;
}

#endif
