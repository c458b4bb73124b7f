/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tests of posting can fail: with a ring in host memory that is said to be in GPU memory, releases are GPU wide, and
 * under the store buffer a NIC on the CPU meets slots that have not arrived. With the truth told it never does.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
extern "C" {
#include <cmocka.h>
}

#include "doca_gpunetio_device.h"

#include "mini_nic.h"

/* Posts and never waits, so that nothing else drains the buffer. */
__global__ void puts(struct doca_gpu_dev_verbs_qp *qp, uint64_t *mem)
{
    struct doca_gpu_dev_verbs_addr a = {(uint64_t)&mem[threadIdx.x], MINI_KEY_BE};
    for (int i = 0; i < 8; i++)
        doca_gpu_dev_verbs_put(qp, a, a, 8);
}

static uint64_t violations(enum doca_gpu_dev_verbs_mem_type said, uint32_t flags)
{
    uint64_t seen = 0;
    for (int round = 0; round < 20; round++) {
        mini_nic nic;
        mini_queue *q = mini_create(&nic, 1024, DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_DB, false);
        uint64_t *mem = (uint64_t *)mini_alloc(8 * 128);
        q->tolerant = true;
        q->qp->mem_type = said;
        q->qp->gdaki_flags = flags;
        gdaki_cpu_set_idle_hook(mini_run, &nic);
        gdaki_cpu_set_doorbell_hook([](void *arg, void *) { mini_run(arg); }, &nic); /* a NIC that is quick */
        puts<<<1, 128>>>(q->qp, mem);
        assert_int_equal(cudaDeviceSynchronize(), cudaSuccess);
        gdaki_cpu_set_idle_hook(NULL, NULL);
        gdaki_cpu_set_doorbell_hook(NULL, NULL);
        seen += mini_violations(&nic);
        mini_destroy(&nic);
        cudaFreeHost(mem);
    }
    return seen;
}

static void too_narrow_a_release_shows(void **)
{
    const char *buffer = getenv("GDAKI_CPU_STORE_BUFFER");
    if (buffer == NULL || atoi(buffer) == 0) {
        printf("SKIP: too_narrow_a_release_shows needs GDAKI_CPU_STORE_BUFFER=1\n");
        skip();
    }
    assert_int_equal(violations(DOCA_GPUNETIO_VERBS_MEM_TYPE_HOST, 0), 0);
    assert_int_equal(violations(DOCA_GPUNETIO_VERBS_MEM_TYPE_AUTO, 0), 0);
    assert_int_equal(violations(DOCA_GPUNETIO_VERBS_MEM_TYPE_GPU, GDAKI_QP_FLAG_HOST_PAYLOAD), 0);
    assert_true(violations(DOCA_GPUNETIO_VERBS_MEM_TYPE_GPU, 0) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(too_narrow_a_release_shows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
