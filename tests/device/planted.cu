/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each release of a post is needed, and the tests see it when one is missing: the device headers are compiled here with
 * releases that can be left out, and run over the executor's store buffer before a NIC that looks at every doorbell.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
extern "C" {
#include <cmocka.h>
}

#include "common/gdaki_order.h"

enum plant {
    PLANT_NOTHING,
    PLANT_WQES,      /* the release between WQEs and record */
    PLANT_RECORD,    /* the release between record and register */
    PLANT_HAND_OVER, /* the release before sq_ready_index moves */
};

static int planted;
static bool alone;        /* a kernel of one thread: what follows is exact */
static unsigned releases; /* so far, of gdaki_release_at: WQEs, record, WQEs, record... */

static void look_at_record(void);

static bool left_out(const char *function)
{
    if (strcmp(function, "gdaki_hand_over") == 0)
        return planted == PLANT_HAND_OVER;
    if (strcmp(function, "gdaki_release_at") != 0 || !alone)
        return false;
    if (releases++ % 2 == 0)
        return planted == PLANT_WQES;
    if (planted == PLANT_RECORD)
        return true;
    look_at_record(); /* a NIC may do that before the doorbell, too */
    return false;
}

#define gdaki_fence_release(scope) (left_out(__func__) ? (void)0 : (gdaki_fence_release)(scope))
#include "doca_gpunetio_device.h"
#undef gdaki_fence_release

#include "mini_nic.h"

#define GPU DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU
#define CTA DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_CTA

/* Posts and never waits, so that nothing else drains the buffer. */
template <enum doca_gpu_dev_verbs_resource_sharing_mode sharing>
__global__ void puts(struct doca_gpu_dev_verbs_qp *qp, uint64_t *mem, unsigned posts)
{
    struct doca_gpu_dev_verbs_addr a = {(uint64_t)&mem[threadIdx.x], MINI_KEY_BE};
    for (unsigned i = 0; i < posts; i++)
        doca_gpu_dev_verbs_put<sharing>(qp, a, a, 8);
}

/* Block 0 hands over and rings for nothing; block 1 announces what it finds handed over. */
__global__ void hand_over_and_ring(struct doca_gpu_dev_verbs_qp *qp, uint64_t *mem, unsigned posts)
{
    struct doca_gpu_dev_verbs_addr a = {(uint64_t)mem, MINI_KEY_BE};
    if (blockIdx.x == 0) {
        for (unsigned i = 0; i < posts; i++)
            doca_gpu_dev_verbs_put<GPU>(qp, a, a, 8, DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_SKIP_DB_RINGING);
        return;
    }
    for (uint64_t ready = 0; ready < posts;) {
        ready = doca_gpu_dev_verbs_atomic_read<uint64_t, GPU>(&qp->sq_ready_index);
        doca_gpu_dev_verbs_submit<GPU>(qp, ready);
    }
}

struct seen {
    mini_nic nic;
    uint64_t behind; /* doorbells at which the record was not there yet */
};

static uint16_t register_index(const mini_queue *q)
{
    uint64_t value = __atomic_load_n(q->reg, __ATOMIC_RELAXED);
    return (uint16_t)(__builtin_bswap32((uint32_t)value) >> 8);
}

static uint16_t record_index(const mini_queue *q)
{
    return (uint16_t)__builtin_bswap32(__atomic_load_n(q->record, __ATOMIC_RELAXED));
}

static void on_doorbell(void *arg, void *)
{
    struct seen *s = (struct seen *)arg;
    const mini_queue *q = s->nic.queues[0];
    s->behind += register_index(q) != record_index(q);
    mini_run(&s->nic);
}

static struct seen *looker;

static void look_at_record(void)
{
    mini_run(&looker->nic);
}

/* What a NIC that is quick meets: slots that have not arrived, or doorbells ahead of the record. */
static uint64_t mistakes(int plant, unsigned blocks, unsigned width)
{
    uint64_t sum = 0;
    unsigned threads = blocks * width;
    int rounds = plant == PLANT_NOTHING ? 30 : 1000; /* until it is seen */
    for (int round = 0; round < rounds && sum == 0; round++) {
        struct seen s = {};
        mini_queue *q = mini_create(&s.nic, 1024, DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_DB, false);
        uint64_t *mem = (uint64_t *)mini_alloc(8 * threads);
        unsigned posts = 1024 / threads;
        q->tolerant = true;
        planted = plant;
        releases = 0;
        alone = threads == 1;
        looker = &s;
        gdaki_cpu_set_doorbell_hook(on_doorbell, &s);
        if (plant == PLANT_HAND_OVER)
            hand_over_and_ring<<<2, 1>>>(q->qp, mem, posts);
        else if (round % 2 == 0 || blocks > 1)
            puts<GPU><<<blocks, width>>>(q->qp, mem, posts);
        else
            puts<CTA><<<blocks, width>>>(q->qp, mem, posts);
        assert_int_equal(cudaDeviceSynchronize(), cudaSuccess);
        gdaki_cpu_set_doorbell_hook(NULL, NULL);
        planted = PLANT_NOTHING;
        if (plant == PLANT_NOTHING) { /* both end at the furthest index */
            assert_int_equal(register_index(q), posts * threads);
            assert_int_equal(record_index(q), posts * threads);
            assert_int_equal(q->qp->gdaki_ring, posts * threads);
            mini_run(&s.nic);
            assert_int_equal(q->done, posts * threads);
        }
        sum += s.behind + mini_violations(&s.nic);
        mini_destroy(&s.nic);
        cudaFreeHost(mem);
    }
    return sum;
}

static void need_buffer(void)
{
    const char *buffer = getenv("GDAKI_CPU_STORE_BUFFER");
    if (buffer == NULL || atoi(buffer) == 0) {
        printf("SKIP: planted faults need GDAKI_CPU_STORE_BUFFER=1\n");
        skip();
    }
}

/* A planted fault is a data race, which ThreadSanitizer would report as the test's failure. */
static void need_no_race_detector(void)
{
#ifdef __SANITIZE_THREAD__
    printf("SKIP: planted faults are data races\n");
    skip();
#endif
}

static void nothing_planted_nothing_seen(void **)
{
    need_buffer();
    for (unsigned width : {1u, 32u, 256u})
        assert_int_equal(mistakes(PLANT_NOTHING, 1, width), 0);
    assert_int_equal(mistakes(PLANT_NOTHING, 4, 64), 0);
}

static void wqes_are_released_before_the_record(void **)
{
    need_buffer();
    need_no_race_detector();
    assert_true(mistakes(PLANT_WQES, 1, 1) > 0);
}

static void the_record_is_released_before_the_register(void **)
{
    need_buffer();
    need_no_race_detector();
    assert_true(mistakes(PLANT_RECORD, 1, 1) > 0);
}

static void wqes_are_released_before_they_are_handed_over(void **)
{
    need_buffer();
    need_no_race_detector();
    assert_true(mistakes(PLANT_HAND_OVER, 2, 1) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_planted_nothing_seen),
        cmocka_unit_test(wqes_are_released_before_the_record),
        cmocka_unit_test(the_record_is_released_before_the_register),
        cmocka_unit_test(wqes_are_released_before_they_are_handed_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
