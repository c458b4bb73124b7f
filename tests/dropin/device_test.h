/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_DROPIN_DEVICE_TEST_H
#define TESTS_DROPIN_DEVICE_TEST_H

#include "doca_gpunetio_verbs_dev.h"

#ifdef __cplusplus
extern "C" {
#endif

struct device_job {
    struct doca_gpu_dev_verbs_qp *qp;
    struct doca_gpu_dev_verbs_addr to, from;
    int count;      /* puts */
    uint32_t bytes; /* each */
    int wait;       /* for each */
    uint64_t ticket;
    int *status;    /* of the waits, ored */
};

/* 0, or what the kernel's waits or CUDA said. */
int run_put_each(const struct device_job *job);
int run_wait_for(const struct device_job *job);

#ifdef __cplusplus
}
#endif
#endif
