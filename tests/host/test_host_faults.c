/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every creating function, with its k-th call into the NIC failing, and its k-th allocation, for all k: it reports an
 * error, writes no result, and leaves nothing behind, neither in the NIC nor in memory.
 */
#include "support.h"

#include <string.h>

#include "fake_nic.h"
#include "fault.h"

static doca_dev_t *dev;
static doca_gpu_t *gpu;
static doca_verbs_cq_t *cq;
static struct doca_gpu_verbs_qp_hl *queue;
static doca_verbs_cq_attr_t *cq_attr;
static doca_verbs_qp_init_attr_t *qp_attr;
static struct doca_verbs_srq_init_attr *srq_attr;
static char memory[1 << 16] __attribute__((aligned(65536)));

struct creation {
    const char *name;
    doca_error_t (*create)(void **out);
    doca_error_t (*destroy)(void *object);
};

#define CREATION(name, create_call, type, destroy_function)                                                            \
    static doca_error_t create_##name(void **out)                                                                      \
    {                                                                                                                  \
        type *object = NULL;                                                                                           \
        doca_error_t err = create_call;                                                                                \
                                                                                                                       \
        assert_true((err == DOCA_SUCCESS) == (object != NULL));                                                        \
        *out = object;                                                                                                 \
        return err;                                                                                                    \
    }                                                                                                                  \
    static doca_error_t destroy_##name(void *object)                                                                   \
    {                                                                                                                  \
        return destroy_function;                                                                                       \
    }

static struct doca_gpu_verbs_qp_init_attr_hl hl_attr(enum doca_gpu_dev_verbs_nic_handler handler, bool with_device)
{
    return (struct doca_gpu_verbs_qp_init_attr_hl){
        .gpu_dev = gpu, .net_dev = with_device ? dev : NULL, .ibpd = &fake_pd, .sq_nwqe = 16, .nic_handler = handler};
}

static doca_error_t make_hl(enum doca_gpu_dev_verbs_nic_handler handler, bool with_device,
                            struct doca_gpu_verbs_qp_hl **out)
{
    struct doca_gpu_verbs_qp_init_attr_hl a = hl_attr(handler, with_device);

    return doca_gpu_verbs_create_qp_hl(&a, out);
}

static doca_error_t make_group(struct doca_gpu_verbs_qp_group_hl **out)
{
    struct doca_gpu_verbs_qp_init_attr_hl a = hl_attr(DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO, false);

    return doca_gpu_verbs_create_qp_group_hl(&a, out);
}

static doca_error_t make_memory(enum doca_gpu_mem_type type, void **object)
{
    void *cpu;

    return doca_gpu_mem_alloc(gpu, 100, 0, type, object, &cpu);
}

static doca_error_t make_array(struct doca_gpu_dev_verbs_qp **out)
{
    return doca_gpu_verbs_export_multi_qps_dev(gpu, &queue->qp_gverbs, 1, out);
}

#define PROXY DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY
#define AUTO  DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO

CREATION(gpu, doca_gpu_create("cpu", &object), doca_gpu_t, doca_gpu_destroy(object))
CREATION(gpu_memory, make_memory(DOCA_GPU_MEM_TYPE_GPU, (void **)&object), void, doca_gpu_mem_free(gpu, object))
CREATION(host_memory, make_memory(DOCA_GPU_MEM_TYPE_CPU_GPU, (void **)&object), void, doca_gpu_mem_free(gpu, object))
CREATION(dev, doca_verbs_dev_open(&fake_pd, &object), doca_dev_t, doca_verbs_dev_close(object))
CREATION(umem, doca_verbs_umem_create(dev, NULL, memory, 64, 1, -1, 0, &object), doca_verbs_umem_t,
         doca_verbs_umem_destroy(object))
CREATION(uar, doca_verbs_uar_create(dev, DOCA_VERBS_UAR_ALLOCATION_TYPE_NONCACHE, &object), doca_verbs_uar_t,
         doca_verbs_uar_destroy(object))
CREATION(cq_attr, doca_verbs_cq_attr_create(&object), doca_verbs_cq_attr_t, doca_verbs_cq_attr_destroy(object))
CREATION(cq, doca_verbs_cq_create(dev, cq_attr, &object), doca_verbs_cq_t, doca_verbs_cq_destroy(object))
CREATION(qp_attr, doca_verbs_qp_attr_create(&object), doca_verbs_qp_attr_t, doca_verbs_qp_attr_destroy(object))
CREATION(init_attr, doca_verbs_qp_init_attr_create(&object), doca_verbs_qp_init_attr_t,
         doca_verbs_qp_init_attr_destroy(object))
CREATION(ah, doca_verbs_ah_attr_create(dev, &object), doca_verbs_ah_attr_t, doca_verbs_ah_attr_destroy(object))
CREATION(qp, doca_verbs_qp_create(dev, qp_attr, &object), doca_verbs_qp_t, doca_verbs_qp_destroy(object))
CREATION(srq_attr, doca_verbs_srq_init_attr_create(&object), struct doca_verbs_srq_init_attr,
         doca_verbs_srq_init_attr_destroy(object))
CREATION(srq, doca_verbs_srq_create(&fake_context, srq_attr, &object), struct doca_verbs_srq,
         doca_verbs_srq_destroy(object))
CREATION(device_attr, doca_verbs_query_device(&fake_context, &object), struct doca_verbs_device_attr,
         doca_verbs_device_attr_free(object))
CREATION(exported, doca_gpu_verbs_export_qp(gpu, queue->qp, AUTO, NULL, queue->cq_sq, 0, &object),
         struct doca_gpu_verbs_qp, doca_gpu_verbs_unexport_qp(gpu, object))
CREATION(exported_proxy, doca_gpu_verbs_export_qp(gpu, queue->qp, PROXY, NULL, queue->cq_sq, 0, &object),
         struct doca_gpu_verbs_qp, doca_gpu_verbs_unexport_qp(gpu, object))
CREATION(array, make_array(&object), struct doca_gpu_dev_verbs_qp,
         doca_gpu_verbs_unexport_multi_qps_dev(gpu, &queue->qp_gverbs, 1, object))
CREATION(flat_list, doca_gpu_verbs_qp_flat_list_create_hl(&queue, 1, &object), struct doca_gpu_dev_verbs_qp,
         doca_gpu_verbs_qp_flat_list_destroy_hl(object))
CREATION(hl, make_hl(AUTO, true, &object), struct doca_gpu_verbs_qp_hl, doca_gpu_verbs_destroy_qp_hl(object))
CREATION(hl_proxy, make_hl(PROXY, false, &object), struct doca_gpu_verbs_qp_hl, doca_gpu_verbs_destroy_qp_hl(object))
CREATION(group, make_group(&object), struct doca_gpu_verbs_qp_group_hl, doca_gpu_verbs_destroy_qp_group_hl(object))

#define ROW(name)                                                                                                      \
    {                                                                                                                  \
#name, create_##name, destroy_##name                                                                           \
    }
static const struct creation creations[] = {
    ROW(gpu),         ROW(gpu_memory), ROW(host_memory),    ROW(dev),   ROW(umem),      ROW(uar),      ROW(cq_attr),
    ROW(cq),          ROW(qp_attr),    ROW(init_attr),      ROW(ah),    ROW(qp),        ROW(srq_attr), ROW(srq),
    ROW(device_attr), ROW(exported),   ROW(exported_proxy), ROW(array), ROW(flat_list), ROW(hl),       ROW(hl_proxy),
    ROW(group),
};

static int setup(void **state)
{
    (void)state;
    fake_nic_install();
    OK(doca_verbs_dev_open(&fake_pd, &dev));
    OK(doca_gpu_create("cpu", &gpu));
    OK(doca_verbs_cq_attr_create(&cq_attr));
    OK(doca_verbs_cq_attr_set_cq_size(cq_attr, 16));
    OK(doca_verbs_cq_create(dev, cq_attr, &cq));
    OK(doca_verbs_qp_init_attr_create(&qp_attr));
    OK(doca_verbs_qp_init_attr_set_pd(qp_attr, dev));
    OK(doca_verbs_qp_init_attr_set_sq_wr(qp_attr, 16));
    OK(doca_verbs_qp_init_attr_set_send_max_sges(qp_attr, 1));
    OK(doca_verbs_qp_init_attr_set_send_cq(qp_attr, cq));
    OK(doca_verbs_srq_init_attr_create(&srq_attr));
    OK(doca_verbs_srq_init_attr_set_srq_wr(srq_attr, 16));
    OK(doca_verbs_srq_init_attr_set_receive_max_sges(srq_attr, 1));
    OK(doca_verbs_srq_init_attr_set_pd(srq_attr, &fake_pd));
    OK(make_hl(AUTO, true, &queue));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    OK(doca_gpu_verbs_destroy_qp_hl(queue));
    OK(doca_verbs_srq_init_attr_destroy(srq_attr));
    OK(doca_verbs_qp_init_attr_destroy(qp_attr));
    OK(doca_verbs_cq_attr_destroy(cq_attr));
    OK(doca_verbs_cq_destroy(cq));
    OK(doca_gpu_destroy(gpu));
    OK(doca_verbs_dev_close(dev));
    assert_int_equal(fake_nic_alive(), 0);
    return 0;
}

/* Runs one creation with the k-th failure armed; true if it got through untouched (so k is past the end). */
static bool run_once(const struct creation *c, unsigned nic_fault, unsigned memory_fault)
{
    unsigned alive = fake_nic_alive();
    int bytes = atomic_load(&fault_alive);
    void *object = NULL;
    bool armed_missed;
    doca_error_t err;

    fake.calls = 0;
    fake.fail_at = nic_fault;
    atomic_store(&fault_allocations, 0);
    atomic_store(&fault_fail_at, memory_fault);
    err = c->create(&object);
    armed_missed = (nic_fault == 0 || fake.calls < nic_fault) &&
                   (memory_fault == 0 || atomic_load(&fault_allocations) < memory_fault);
    fake.fail_at = 0;
    atomic_store(&fault_fail_at, 0);
    if (err == DOCA_SUCCESS) /* a fault may also be survived: a second kind of UAR, for instance */
        OK(c->destroy(object));
    else
        assert_null(object);
    if (armed_missed && err != DOCA_SUCCESS)
        fail_msg("%s fails by itself: %d", c->name, (int)err);
    if (fake_nic_alive() != alive || atomic_load(&fault_alive) != bytes)
        fail_msg("%s leaks with NIC call %u, allocation %u failing: %d object(s), %d allocation(s)", c->name, nic_fault,
                 memory_fault, (int)(fake_nic_alive() - alive), atomic_load(&fault_alive) - bytes);
    return armed_missed;
}

static void nic_calls_fail(void **state)
{
    unsigned faults = 0;

    (void)state;
    for (size_t i = 0; i < sizeof(creations) / sizeof(creations[0]); i++) {
        for (unsigned k = 1; !run_once(&creations[i], k, 0); k++)
            faults++;
    }
    assert_true(faults > 50); /* the loop really met calls */
}

static void allocations_fail(void **state)
{
    unsigned faults = 0;

    (void)state;
    for (size_t i = 0; i < sizeof(creations) / sizeof(creations[0]); i++) {
        for (unsigned k = 1; !run_once(&creations[i], 0, k); k++)
            faults++;
    }
    assert_true(faults > 50);
}

/* A refused destruction keeps the handle: it can be tried again, and nothing was freed under the NIC. */
static void destruction_refused(void **state)
{
    doca_verbs_cq_t *out;
    struct doca_gpu_verbs_qp_hl *hl;
    int attempts = 0;

    (void)state;
    OK(doca_verbs_cq_create(dev, cq_attr, &out));
    fake.calls = 0;
    fake.fail_at = 1;
    FAILS(doca_verbs_cq_destroy(out), DOCA_ERROR_DRIVER);
    fake.fail_at = 0;
    OK(doca_verbs_cq_destroy(out));
    for (unsigned k = 1; k < 6; k++) {
        OK(make_hl(PROXY, true, &hl));
        fake.calls = 0;
        fake.fail_at = k;
        while (doca_gpu_verbs_destroy_qp_hl(hl) != DOCA_SUCCESS) {
            attempts++;
            fake.fail_at = 0;
        }
        fake.fail_at = 0;
    }
    assert_int_equal(attempts, 5); /* QP, its two umems, CQ, its umem */
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {CASE(nic_calls_fail), CASE(allocations_fail), CASE(destruction_refused)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
