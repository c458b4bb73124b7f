/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Test support: N connected pairs of queues in one process, made through the public API only, as a user's program would.
 * Used by tests/matrix and tests/property. Every call is checked; a failure prints what was attempted and exits 1.
 */
#ifndef GDAKI_TESTS_SUPPORT_PAIR_H
#define GDAKI_TESTS_SUPPORT_PAIR_H

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <endian.h>
#include <cuda_runtime.h>
#include <gdaki/verbs.h>
#include "doca_gpunetio_host.h"

namespace gdaki_test
{

#define GT_OK(call)                                                                                                    \
    do {                                                                                                               \
        doca_error_t gt_status_ = (call);                                                                              \
        if (gt_status_ != DOCA_SUCCESS) {                                                                              \
            fprintf(stderr, "%s:%d: %s: error %d\n", __FILE__, __LINE__, #call, (int)gt_status_);                      \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

#define GT_TRUE(what)                                                                                                  \
    do {                                                                                                               \
        if (!(what)) {                                                                                                 \
            fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #what);                                         \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

#define GT_CUDA(call)                                                                                                  \
    do {                                                                                                               \
        cudaError_t gt_status_ = (call);                                                                               \
        if (gt_status_ != cudaSuccess) {                                                                               \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(gt_status_));             \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

/* One NIC, one GPU, one protection domain. */
struct world {
    struct ibv_context *context = nullptr;
    struct ibv_pd *pd = nullptr;
    doca_gpu_t *gpu = nullptr;
    doca_dev_t *dev = nullptr;
    union ibv_gid gid = {};
    bool ethernet = true;

    explicit world(const char *nic_name = nullptr)
    {
        char bus_id[32];
        GT_CUDA(cudaSetDevice(0));
        GT_CUDA(cudaDeviceGetPCIBusId(bus_id, sizeof(bus_id), 0));
        GT_OK(doca_gpu_create(bus_id, &gpu));
        int count = 0;
        struct ibv_device **list = ibv_get_device_list(&count);
        GT_TRUE(list != nullptr && count > 0);
        for (int i = 0; i < count && context == nullptr; ++i)
            if (nic_name == nullptr || strcmp(ibv_get_device_name(list[i]), nic_name) == 0)
                context = ibv_open_device(list[i]);
        ibv_free_device_list(list);
        GT_TRUE(context != nullptr);
        pd = ibv_alloc_pd(context);
        GT_TRUE(pd != nullptr);
        GT_OK(doca_verbs_dev_open(pd, &dev));
        GT_TRUE(ibv_query_gid(context, 1, 0, &gid) == 0);
    }
    ~world()
    {
        GT_OK(doca_verbs_dev_close(dev));
        GT_TRUE(ibv_dealloc_pd(pd) == 0);
        GT_TRUE(ibv_close_device(context) == 0);
        GT_OK(doca_gpu_destroy(gpu));
    }
};

/* Pinned host memory that both see, registered with the NIC. */
struct region {
    world &w;
    uint8_t *data = nullptr; /* host pointer; equal to the GPU's under unified addressing */
    size_t size;
    struct ibv_mr *mr = nullptr;

    region(world &w, size_t size, int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                                               IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)
        : w(w), size(size)
    {
        GT_CUDA(cudaHostAlloc((void **)&data, size, cudaHostAllocMapped | cudaHostAllocPortable));
        memset(data, 0, size);
        mr = ibv_reg_mr(w.pd, data, size, access);
        GT_TRUE(mr != nullptr);
    }
    ~region()
    {
        GT_TRUE(ibv_dereg_mr(mr) == 0);
        GT_CUDA(cudaFreeHost(data));
    }
    region(const region &) = delete;
    region &operator=(const region &) = delete;

    struct doca_gpu_dev_verbs_addr at(uint64_t offset) const
    {
        struct doca_gpu_dev_verbs_addr addr = {};
        addr.addr = (uint64_t)(uintptr_t)data + offset;
        addr.key = htobe32(mr->lkey);
        return addr;
    }
};

struct queue_options {
    uint16_t sq_nwqe = 64;
    enum doca_gpu_dev_verbs_nic_handler handler = DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO;
    enum doca_gpu_verbs_send_dbr_mode_ext dbr_mode = DOCA_GPUNETIO_VERBS_SEND_DBR_MODE_EXT_VALID_DBR;
    bool collapsed = false;
    uint8_t rd_atomic = 16;
    enum doca_verbs_mtu_size mtu = DOCA_VERBS_MTU_SIZE_4K_BYTES;
    uint16_t ack_timeout = 14; /* 4.096 us * 2^n */
    uint8_t retry_cnt = 7, rnr_retry = 1;
};

inline void connect(world &w, doca_verbs_qp_t *qp, uint32_t remote_qpn, const queue_options &options)
{
    doca_verbs_ah_attr_t *ah = nullptr;
    doca_verbs_qp_attr_t *attr = nullptr;
    struct doca_verbs_gid gid;
    memcpy(gid.raw, w.gid.raw, sizeof(gid.raw));
    GT_OK(doca_verbs_ah_attr_create(w.dev, &ah));
    GT_OK(doca_verbs_ah_attr_set_gid(ah, gid));
    GT_OK(doca_verbs_ah_attr_set_addr_type(ah, DOCA_VERBS_ADDR_TYPE_IPv4));
    GT_OK(doca_verbs_ah_attr_set_sgid_index(ah, 0));
    GT_OK(doca_verbs_ah_attr_set_hop_limit(ah, 255));
    GT_OK(doca_verbs_qp_attr_create(&attr));
    GT_OK(doca_verbs_qp_attr_set_next_state(attr, DOCA_VERBS_QP_STATE_INIT));
    GT_OK(doca_verbs_qp_attr_set_allow_remote_write(attr, 1));
    GT_OK(doca_verbs_qp_attr_set_allow_remote_read(attr, 1));
    GT_OK(doca_verbs_qp_attr_set_atomic_mode(attr, DOCA_VERBS_QP_ATOMIC_MODE_UP_TO_8BYTES));
    GT_OK(doca_verbs_qp_attr_set_port_num(attr, 1));
    GT_OK(doca_verbs_qp_attr_set_pkey_index(attr, 0));
    GT_OK(doca_verbs_qp_modify(qp, attr,
                               DOCA_VERBS_QP_ATTR_NEXT_STATE | DOCA_VERBS_QP_ATTR_ALLOW_REMOTE_WRITE |
                                   DOCA_VERBS_QP_ATTR_ALLOW_REMOTE_READ | DOCA_VERBS_QP_ATTR_ATOMIC_MODE |
                                   DOCA_VERBS_QP_ATTR_PORT_NUM | DOCA_VERBS_QP_ATTR_PKEY_INDEX));
    GT_OK(doca_verbs_qp_attr_set_next_state(attr, DOCA_VERBS_QP_STATE_RTR));
    GT_OK(doca_verbs_qp_attr_set_path_mtu(attr, options.mtu));
    GT_OK(doca_verbs_qp_attr_set_rq_psn(attr, 0));
    GT_OK(doca_verbs_qp_attr_set_dest_qp_num(attr, remote_qpn));
    GT_OK(doca_verbs_qp_attr_set_ah_attr(attr, ah));
    GT_OK(doca_verbs_qp_attr_set_min_rnr_timer(attr, 1));
    GT_OK(doca_verbs_qp_attr_set_max_dest_rd_atomic(attr, options.rd_atomic));
    GT_OK(doca_verbs_qp_modify(qp, attr,
                               DOCA_VERBS_QP_ATTR_NEXT_STATE | DOCA_VERBS_QP_ATTR_PATH_MTU |
                                   DOCA_VERBS_QP_ATTR_RQ_PSN | DOCA_VERBS_QP_ATTR_DEST_QP_NUM |
                                   DOCA_VERBS_QP_ATTR_AH_ATTR | DOCA_VERBS_QP_ATTR_MIN_RNR_TIMER |
                                   DOCA_VERBS_QP_ATTR_MAX_DEST_RD_ATOMIC));
    GT_OK(doca_verbs_qp_attr_set_next_state(attr, DOCA_VERBS_QP_STATE_RTS));
    GT_OK(doca_verbs_qp_attr_set_sq_psn(attr, 0));
    GT_OK(doca_verbs_qp_attr_set_ack_timeout(attr, options.ack_timeout));
    GT_OK(doca_verbs_qp_attr_set_retry_cnt(attr, options.retry_cnt));
    GT_OK(doca_verbs_qp_attr_set_rnr_retry(attr, options.rnr_retry));
    GT_OK(doca_verbs_qp_attr_set_max_rd_atomic(attr, options.rd_atomic));
    GT_OK(doca_verbs_qp_modify(qp, attr,
                               DOCA_VERBS_QP_ATTR_NEXT_STATE | DOCA_VERBS_QP_ATTR_SQ_PSN |
                                   DOCA_VERBS_QP_ATTR_ACK_TIMEOUT | DOCA_VERBS_QP_ATTR_RETRY_CNT |
                                   DOCA_VERBS_QP_ATTR_RNR_RETRY | DOCA_VERBS_QP_ATTR_MAX_QP_RD_ATOMIC));
    GT_OK(doca_verbs_qp_attr_destroy(attr));
    GT_OK(doca_verbs_ah_attr_destroy(ah));
}

inline uint32_t number_of(doca_verbs_qp_t *qp)
{
    uint32_t qpn = 0;
    GT_OK(doca_verbs_qp_get_qpn(qp, &qpn));
    return qpn;
}

/* A main queue and its companion (for counters), each connected to itself: what leaves comes back to this process. */
struct queue {
    world &w;
    struct doca_gpu_verbs_qp_group_hl *group = nullptr;
    struct doca_gpu_verbs_qp_hl *single = nullptr, *second = nullptr; /* second: companion of a single BlueFlame queue */
    struct doca_gpu_dev_verbs_qp *dev_main = nullptr, *dev_companion = nullptr;

    queue(world &w, const queue_options &options, bool with_companion) : w(w)
    {
        struct doca_gpu_verbs_qp_init_attr_hl attr;
        memset(&attr, 0, sizeof(attr));
        attr.gpu_dev = w.gpu;
        attr.net_dev = w.dev;
        attr.ibpd = w.pd;
        attr.sq_nwqe = options.sq_nwqe;
        attr.nic_handler = options.handler;
        attr.send_dbr_mode_ext = options.dbr_mode;
        attr.cq_collapsed = options.collapsed;
        if (with_companion && options.handler != DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_BF) {
            GT_OK(doca_gpu_verbs_create_qp_group_hl(&attr, &group));
            connect(w, group->qp_main.qp, number_of(group->qp_main.qp), options);
            connect(w, group->qp_companion.qp, number_of(group->qp_companion.qp), options);
            GT_OK(doca_gpu_verbs_get_qp_dev(group->qp_main.qp_gverbs, &dev_main));
            GT_OK(doca_gpu_verbs_get_qp_dev(group->qp_companion.qp_gverbs, &dev_companion));
        } else {
            GT_OK(doca_gpu_verbs_create_qp_hl(&attr, &single));
            connect(w, single->qp, number_of(single->qp), options);
            GT_OK(doca_gpu_verbs_get_qp_dev(single->qp_gverbs, &dev_main));
            if (with_companion) { /* groups are not made with BlueFlame */
                GT_OK(doca_gpu_verbs_create_qp_hl(&attr, &second));
                connect(w, second->qp, number_of(second->qp), options);
                GT_OK(doca_gpu_verbs_get_qp_dev(second->qp_gverbs, &dev_companion));
            }
        }
    }
    ~queue()
    {
        if (group != nullptr)
            GT_OK(doca_gpu_verbs_destroy_qp_group_hl(group));
        if (single != nullptr)
            GT_OK(doca_gpu_verbs_destroy_qp_hl(single));
        if (second != nullptr)
            GT_OK(doca_gpu_verbs_destroy_qp_hl(second));
    }
    queue(const queue &) = delete;
    queue &operator=(const queue &) = delete;

    struct doca_gpu_verbs_qp *handle() const
    {
        return group != nullptr ? group->qp_main.qp_gverbs : single->qp_gverbs;
    }
    void monitor(doca_gpu_verbs_service_t service) const
    {
        if (handle()->cpu_proxy)
            GT_OK(doca_gpu_verbs_service_monitor_qp(service, handle()));
        if (group != nullptr && group->qp_companion.qp_gverbs->cpu_proxy)
            GT_OK(doca_gpu_verbs_service_monitor_qp(service, group->qp_companion.qp_gverbs));
    }
};

} // namespace gdaki_test

#endif
