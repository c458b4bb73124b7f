/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GPU handles and memory, export of queues to the GPU, CPU-assisted doorbells, errors, reset, versions.
 *
 * C and C++. Every function is safe to call from several threads on different objects; on one object only where its
 * comment says so. docs/host-api.md has each function with its error codes.
 */
#ifndef DOCA_GPUNETIO_HOST_DOCA_GPUNETIO_H
#define DOCA_GPUNETIO_HOST_DOCA_GPUNETIO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../doca_gpunetio_config.h"
#include "../common/doca_gpunetio_verbs_def.h"
#include "../common/doca_gpunetio_verbs_dev.h"
#include "doca_error.h"
#include "doca_gpunetio_compat.h"

#ifdef __cplusplus
extern "C" {
#endif

struct doca_verbs_qp_t;
struct doca_verbs_cq_t;
struct doca_gpu_open;

/* Who owns the object behind a handle: this library, or the DOCA SDK. */
enum doca_gpu_lib_type { DOCA_GPU_LIB_TYPE_OPEN = 0, DOCA_GPU_LIB_TYPE_SDK = 1 };

typedef struct doca_gpu_t {
    enum doca_gpu_lib_type type;
    union {
        void *sdk;
        struct doca_gpu_open *open;
    };
} doca_gpu_t;

enum doca_gpu_mem_type {
    DOCA_GPU_MEM_TYPE_GPU = 0,     /* GPU memory */
    DOCA_GPU_MEM_TYPE_GPU_CPU = 1, /* GPU memory that the CPU maps (GDRCopy); without it, as CPU_GPU */
    DOCA_GPU_MEM_TYPE_CPU_GPU = 2  /* zeroed, pinned host memory that the GPU maps */
};

/* Handle of an exported queue on the host side. Public layout: consumers read cpu_proxy. */
struct doca_gpu_verbs_qp {
    doca_gpu_t *gpu_dev;
    struct doca_verbs_qp_t *qp;
    uint64_t *cpu_db;        /* counter that the proxy follows */
    uint64_t sq_wqe_pi_last; /* last value the proxy rang */
    uint64_t *sq_db;         /* doorbell register, for the proxy */
    __be32 *sq_dbrec;        /* send word of the doorbell record, for the proxy */
    bool cpu_proxy;          /* somebody must call doca_gpu_verbs_cpu_proxy_progress */
    uint32_t sq_num_shift8_be;
    enum doca_gpu_verbs_send_dbr_mode_ext send_dbr_mode_ext;
    struct doca_gpu_dev_verbs_qp *qp_cpu;   /* host template of the device queue */
    struct doca_gpu_dev_verbs_qp *qp_gpu;   /* device copy; NULL until get_qp_dev or export_multi_qps_dev */
    struct doca_gpu_dev_verbs_qp *qp_gpu_h; /* CPU view of the device copy (SW_EMULATED) */
};

struct doca_gpu_verbs_qp_error_info {
    bool has_error;
    int syndrome;
    int vendor_err_synd;
    int hw_err_synd;
    int hw_synd_type;
    int wqe_counter;
};

typedef void *doca_gpu_verbs_service_t;

/* ---- GPU handle and memory --------------------------------------------------------------------------------------- */

doca_error_t doca_gpu_create(const char *gpu_bus_id, doca_gpu_t **gpu_dev);
doca_error_t doca_gpu_destroy(doca_gpu_t *gpu_dev);
/* alignment: power of two, 0 is the system page. memptr_cpu may be NULL for GPU memory only. */
doca_error_t doca_gpu_mem_alloc(doca_gpu_t *gpu_dev, size_t size, size_t alignment, enum doca_gpu_mem_type mtype,
                                void **memptr_gpu, void **memptr_cpu);
doca_error_t doca_gpu_mem_free(doca_gpu_t *gpu, void *memptr_gpu);
doca_error_t doca_gpu_get_dmabuf_fd(doca_gpu_t *gpu_dev, void *memptr_gpu, size_t size, int *dmabuf_fd);
doca_error_t doca_gpu_dmabuf_fd(doca_gpu_t *gpu_dev, void *memptr_gpu, size_t size, int *dmabuf_fd); /* 2.0's name */

/* ---- versions ----------------------------------------------------------------------------------------------------- */

doca_error_t doca_gpu_verbs_get_library_version(uint32_t *version);
doca_error_t doca_gpu_verbs_check_device_code_compatibility(uint32_t device_code_version);
doca_error_t doca_gpu_verbs_check_host_code_compatibility(uint32_t host_code_version);

/* ---- export to the GPU -------------------------------------------------------------------------------------------- */

#if DOCA_GPUNETIO_API == 1
doca_error_t doca_gpu_verbs_export_qp(doca_gpu_t *gpu_dev, struct doca_verbs_qp_t *qp,
                                      enum doca_gpu_dev_verbs_nic_handler nic_handler, void *gpu_qp_umem_dev_ptr,
                                      struct doca_verbs_cq_t *cq_sq, struct doca_gpu_verbs_qp **qp_out)
    DOCA_GPUNETIO_BIND("doca_gpu_verbs_export_qp_v1");
#else
doca_error_t doca_gpu_verbs_export_qp(doca_gpu_t *gpu_dev, struct doca_verbs_qp_t *qp,
                                      enum doca_gpu_dev_verbs_nic_handler nic_handler, void *gpu_qp_umem_dev_ptr,
                                      struct doca_verbs_cq_t *cq_sq,
                                      enum doca_gpu_verbs_send_dbr_mode_ext send_dbr_mode_ext,
                                      struct doca_gpu_verbs_qp **qp_out);
#endif
doca_error_t doca_gpu_verbs_get_qp_dev(struct doca_gpu_verbs_qp *qp, struct doca_gpu_dev_verbs_qp **qp_gpu);
doca_error_t doca_gpu_verbs_unexport_qp(doca_gpu_t *gpu_dev, struct doca_gpu_verbs_qp *qp);
doca_error_t doca_gpu_verbs_export_multi_qps_dev(doca_gpu_t *gpu_dev, struct doca_gpu_verbs_qp **qps,
                                                 unsigned int num_qps, struct doca_gpu_dev_verbs_qp **out_qp_gpus);
doca_error_t doca_gpu_verbs_unexport_multi_qps_dev(doca_gpu_t *gpu_dev, struct doca_gpu_verbs_qp **qps,
                                                   unsigned int num_qps, struct doca_gpu_dev_verbs_qp *qp_gpus);
/* The three below are safe from any thread. */
doca_error_t doca_gpu_verbs_can_gpu_register_uar(void *db, bool *out_can_register);
doca_error_t doca_gpu_verbs_export_uar(uint64_t *sq_db, uint64_t **uar_addr_gpu);
doca_error_t doca_gpu_verbs_unexport_uar(uint64_t *uar_addr_gpu);

/* ---- CPU-assisted doorbells --------------------------------------------------------------------------------------- */

#if DOCA_GPUNETIO_API == 1
doca_error_t doca_gpu_verbs_cpu_proxy_progress(struct doca_gpu_verbs_qp *qp_cpu)
    DOCA_GPUNETIO_BIND("doca_gpu_verbs_cpu_proxy_progress_v1");
#else
doca_error_t doca_gpu_verbs_cpu_proxy_progress(struct doca_gpu_verbs_qp *qp_cpu, bool *out_progressed);
#endif
doca_error_t doca_gpu_verbs_create_service(doca_gpu_verbs_service_t *out_service);
/* Safe beside the service's own thread. */
doca_error_t doca_gpu_verbs_service_monitor_qp(doca_gpu_verbs_service_t service, struct doca_gpu_verbs_qp *qp);
doca_error_t doca_gpu_verbs_destroy_service(doca_gpu_verbs_service_t service);

/* ---- errors and reset --------------------------------------------------------------------------------------------- */

doca_error_t doca_gpu_verbs_query_last_error(struct doca_gpu_verbs_qp *qp,
                                             struct doca_gpu_verbs_qp_error_info *error_info);
doca_error_t doca_gpu_verbs_reset_tracking_and_memory(struct doca_gpu_verbs_qp *qp_gverbs);

#ifdef __cplusplus
}
#endif
#endif
