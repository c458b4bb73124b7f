/* SPDX-License-Identifier: Apache-2.0 */
/* CPU-assisted doorbells: what a step writes, in every record mode, and the service thread. */
#include "support.h"

#include <time.h>

#include "fake_nic.h"
#include "host/export.h"

#define PROXY    DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY
#define AUTO     DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO
#define VALID    DOCA_GPUNETIO_VERBS_SEND_DBR_MODE_EXT_VALID_DBR
#define HW       DOCA_GPUNETIO_VERBS_SEND_DBR_MODE_EXT_NO_DBR_HW
#define EMULATED DOCA_GPUNETIO_VERBS_SEND_DBR_MODE_EXT_NO_DBR_SW_EMULATED

static doca_dev_t *dev;
static doca_gpu_t *gpu;

static int setup(void **state)
{
    (void)state;
    fake_nic_install();
    OK(doca_verbs_dev_open(&fake_pd, &dev));
    OK(doca_gpu_create("cpu", &gpu));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    OK(doca_gpu_destroy(gpu));
    OK(doca_verbs_dev_close(dev));
    assert_int_equal(fake_nic_alive(), 0);
    return 0;
}

static struct doca_gpu_verbs_qp_hl *create(enum doca_gpu_dev_verbs_nic_handler handler,
                                           enum doca_gpu_verbs_send_dbr_mode_ext mode)
{
    struct doca_gpu_verbs_qp_init_attr_hl a = {.gpu_dev = gpu,
                                               .net_dev = dev,
                                               .ibpd = &fake_pd,
                                               .sq_nwqe = 16,
                                               .nic_handler = handler,
                                               .send_dbr_mode_ext = mode};
    struct doca_gpu_verbs_qp_hl *hl;

    OK(doca_gpu_verbs_create_qp_hl(&a, &hl));
    return hl;
}

static uint64_t doorbell(const struct doca_gpu_verbs_qp *q, uint64_t producer)
{
    return (uint64_t)__builtin_bswap32(q->qp_cpu->sq_num << 8) << 32 | __builtin_bswap32((uint32_t)producer << 8);
}

static uint32_t record_of(const struct doca_gpu_verbs_qp_hl *hl)
{
    return __builtin_bswap32(((uint32_t *)hl->qp_umem_dbr_gpu_ptr)[1]);
}

static uint64_t register_of(const struct doca_gpu_verbs_qp *q)
{
    return __atomic_load_n(q->sq_db, __ATOMIC_ACQUIRE);
}

static void full_proxy(void **state)
{
    static const uint64_t values[] = {1, 2, 17, 0xffff, 0x10000, 0x123456789, 0x123456789 + 0x100000000};
    struct doca_gpu_verbs_qp_hl *hl = create(PROXY, VALID);
    struct doca_gpu_verbs_qp *q = hl->qp_gverbs;
    unsigned wakes, drives;
    bool progressed = true;

    (void)state;
    drives = fake.drives;
    OK(doca_gpu_verbs_cpu_proxy_progress(q, &progressed));
    assert_false(progressed);
    assert_int_equal(fake.drives, drives + 1); /* nothing to ring: the NIC gets the turn */
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        wakes = fake.wakes;
        __atomic_store_n(q->cpu_db, values[i], __ATOMIC_RELEASE);
        OK(doca_gpu_verbs_cpu_proxy_progress(q, &progressed));
        assert_true(progressed);
        assert_true(register_of(q) == doorbell(q, values[i]));
        assert_int_equal(record_of(hl), values[i] & 0xffff);
        assert_true(fake.wakes > wakes);
        OK(doca_gpu_verbs_cpu_proxy_progress(q, &progressed));
        assert_false(progressed);
        OK(doca_gpu_verbs_cpu_proxy_progress(q, NULL));
    }
    OK(doca_gpu_verbs_destroy_qp_hl(hl));
}

static void proxy_without_record(void **state)
{
    struct doca_gpu_verbs_qp_hl *hl = create(PROXY, HW);
    struct doca_gpu_verbs_qp *q = hl->qp_gverbs;
    bool progressed = false;

    (void)state;
    *q->cpu_db = 5;
    OK(doca_gpu_verbs_cpu_proxy_progress(q, &progressed));
    assert_true(progressed);
    assert_true(register_of(q) == doorbell(q, 5));
    assert_int_equal((uintptr_t)q->sq_db & 0xfff, 0x600);
    assert_int_equal(record_of(hl), 0);
    OK(doca_gpu_verbs_destroy_qp_hl(hl));
}

/* The device rings by itself; the CPU follows its producer index and writes the record, then rings with the right QPN.
 */
static void assisted(void **state)
{
    struct doca_gpu_verbs_qp_hl *hl = create(AUTO, EMULATED);
    struct doca_gpu_verbs_qp *q = hl->qp_gverbs;
    struct doca_gpu_dev_verbs_qp *d;
    bool progressed = true;

    (void)state;
    assert_true(q->cpu_proxy);
    OK(doca_gpu_verbs_cpu_proxy_progress(q, &progressed)); /* no device copy yet */
    assert_false(progressed);
    OK(doca_gpu_verbs_get_qp_dev(q, &d));
    d->sq_wqe_pi = 9;
    OK(doca_gpu_verbs_cpu_proxy_progress(q, &progressed));
    assert_true(progressed);
    assert_int_equal(record_of(hl), 9);
    assert_true(register_of(q) == doorbell(q, 9));
    OK(doca_gpu_verbs_destroy_qp_hl(hl));
    hl = create(DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_DB, VALID);
    FAILS(doca_gpu_verbs_cpu_proxy_progress(hl->qp_gverbs, &progressed), DOCA_ERROR_NOT_SUPPORTED);
    OK(doca_gpu_verbs_destroy_qp_hl(hl));
}

/* CPU_PROXY with an emulated record is plain CPU_PROXY: the counter that kernels write is the one that is followed. */
static void proxy_and_emulated(void **state)
{
    struct doca_gpu_verbs_qp_hl *hl = create(PROXY, EMULATED);
    struct doca_gpu_verbs_qp *q = hl->qp_gverbs;
    struct doca_gpu_dev_verbs_qp *d;
    bool progressed = false;

    (void)state;
    OK(doca_gpu_verbs_get_qp_dev(q, &d));
    assert_ptr_equal(d->sq_db, q->cpu_db);
    *d->sq_db = 3;
    OK(doca_gpu_verbs_cpu_proxy_progress(q, &progressed));
    assert_true(progressed);
    assert_int_equal(record_of(hl), 3);
    OK(doca_gpu_verbs_destroy_qp_hl(hl));
}

/* Waits for what must come; a hang is ended by the test's time limit. */
static void wait_for_doorbell(const struct doca_gpu_verbs_qp *q, uint64_t producer)
{
    const struct timespec pause = {.tv_nsec = 20000};

    while (register_of(q) != doorbell(q, producer))
        nanosleep(&pause, NULL);
}

static void service_thread(void **state)
{
    struct doca_gpu_verbs_qp_hl *hl[20];
    doca_gpu_verbs_service_t service;

    (void)state;
    OK(doca_gpu_verbs_create_service(&service));
    for (int i = 0; i < 20; i++) {
        hl[i] = create(i % 3 == 1 ? DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_DB : PROXY, VALID);
        OK(doca_gpu_verbs_service_monitor_qp(service, hl[i]->qp_gverbs));
        OK(doca_gpu_verbs_service_monitor_qp(service, hl[i]->qp_gverbs)); /* a set */
    }
    for (uint64_t round = 1; round < 5; round++) {
        for (int i = 0; i < 20; i++) {
            if (i % 3 != 1)
                __atomic_store_n(hl[i]->qp_gverbs->cpu_db, round * 10 + (unsigned)i, __ATOMIC_RELEASE);
        }
        for (int i = 0; i < 20; i++) {
            if (i % 3 != 1)
                wait_for_doorbell(hl[i]->qp_gverbs, round * 10 + (unsigned)i);
        }
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL); /* let it fall asleep: it must come back */
    }
    OK(doca_gpu_verbs_destroy_service(service));
    for (int i = 0; i < 20; i++)
        OK(doca_gpu_verbs_destroy_qp_hl(hl[i]));
}

/* Queues go away while a service follows them: it lets go of them, and goes on with the others. */
static void queues_leave_a_service(void **state)
{
    struct doca_gpu_verbs_qp_hl *stays, *goes;
    doca_gpu_verbs_service_t service;
    struct doca_gpu_dev_verbs_qp *device;

    (void)state;
    OK(doca_gpu_verbs_create_service(&service));
    stays = create(PROXY, VALID);
    OK(doca_gpu_verbs_service_monitor_qp(service, stays->qp_gverbs));
    for (uint64_t round = 1; round <= 50; round++) {
        goes = create(round % 2 != 0 ? PROXY : AUTO, round % 2 != 0 ? VALID : EMULATED);
        OK(doca_gpu_verbs_service_monitor_qp(service, goes->qp_gverbs));
        OK(doca_gpu_verbs_get_qp_dev(goes->qp_gverbs, &device));
        __atomic_store_n(goes->qp_gverbs->cpu_db, 3, __ATOMIC_RELEASE);
        OK(doca_gpu_verbs_destroy_qp_hl(goes));
        __atomic_store_n(stays->qp_gverbs->cpu_db, round, __ATOMIC_RELEASE);
        wait_for_doorbell(stays->qp_gverbs, round);
    }
    OK(doca_gpu_verbs_destroy_service(service));
    OK(doca_gpu_verbs_destroy_qp_hl(stays));
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {CASE(full_proxy), CASE(proxy_without_record), CASE(assisted),
                                       CASE(proxy_and_emulated), CASE(service_thread), CASE(queues_leave_a_service)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
