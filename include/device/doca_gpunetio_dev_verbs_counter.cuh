/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Core-direct counters: the operation goes to a main queue; its companion waits for the main queue's CQE and then adds to a
 * counter, usually in local GPU memory, so that memory polling tells of completion. gdaki: C++ only.
 *
 * A WAIT names a count of CQEs since the CQ was created, hence cqe_rsvd, the CQEs from before the last reset, is added to the
 * index. Collapsed CQs count the same. Announcing main before companion, and announcing main whenever a reservation on the
 * companion waits, leaves no companion waiting for a WQE that nobody told the NIC of.
 */
#ifndef DOCA_GPUNETIO_DEV_VERBS_COUNTER_CUH
#define DOCA_GPUNETIO_DEV_VERBS_COUNTER_CUH

#include "doca_gpunetio_dev_verbs_onesided.cuh"

/* ---- several queues at once ------------------------------------------------------------------------------------------- */

template <unsigned int num_qps, GDAKI_T_SHARING, GDAKI_T_SCOPE>
GDAKI_DEV void doca_gpu_dev_verbs_submit_db_multi_qps_no_dbr(struct doca_gpu_dev_verbs_qp **qps, uint64_t *prod_indices,
                                                             uint32_t code_opt = DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_DEFAULT)
{
    for (unsigned int i = 0; i < num_qps; i++)
        doca_gpu_dev_verbs_submit_db_no_dbr<resource_sharing_mode, sync_scope>(qps[i], prod_indices[i], code_opt);
}

template <unsigned int num_qps, GDAKI_T_SHARING, GDAKI_T_SCOPE>
GDAKI_DEV void doca_gpu_dev_verbs_submit_db_multi_qps(struct doca_gpu_dev_verbs_qp **qps, uint64_t *prod_indices,
                                                      uint32_t code_opt = DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_DEFAULT)
{
    for (unsigned int i = 0; i < num_qps; i++)
        doca_gpu_dev_verbs_submit_db<resource_sharing_mode, sync_scope>(qps[i], prod_indices[i], code_opt);
}

template <unsigned int num_qps, GDAKI_T_SHARING, GDAKI_T_SCOPE>
GDAKI_DEV void doca_gpu_dev_verbs_submit_proxy_multi_qps(struct doca_gpu_dev_verbs_qp **qps, uint64_t *prod_indices)
{
    for (unsigned int i = 0; i < num_qps; i++)
        doca_gpu_dev_verbs_submit_proxy<resource_sharing_mode, sync_scope>(qps[i], prod_indices[i]);
}

/* Each queue the way it was exported for, or the way the template says where the queue allows it. */
template <unsigned int num_qps, GDAKI_T_SHARING, GDAKI_T_SCOPE, GDAKI_T_HANDLER>
GDAKI_DEV void doca_gpu_dev_verbs_submit_multi_qps(struct doca_gpu_dev_verbs_qp **qps, uint64_t *prod_indices,
                                                   uint32_t code_opt = DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_DEFAULT)
{
    bool records = true;
    for (unsigned int i = 0; i < num_qps; i++)
        records &= (gdaki_handler<nic_handler>(qps[i]) & ~DOCA_GPUNETIO_VERBS_NIC_HANDLER_FLAG_BF) ==
                   DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_DB;
    if (records) {
        doca_gpu_dev_verbs_submit_db_multi_qps<num_qps, resource_sharing_mode, sync_scope>(qps, prod_indices, code_opt);
        return;
    }
    for (unsigned int i = 0; i < num_qps; i++)
        doca_gpu_dev_verbs_submit<resource_sharing_mode, sync_scope, nic_handler>(qps[i], prod_indices[i], code_opt);
}

/* ---- counters --------------------------------------------------------------------------------------------------------- */

/* The companion's pair: WAIT for `last` of qp, then the addition. Nothing if qp is in error: the WAIT would stall. */
template <GDAKI_P_SHARING, GDAKI_P_HANDLER>
GDAKI_DEV_INLINE void gdaki_count(struct doca_gpu_dev_verbs_qp *qp, uint64_t last,
                                  struct doca_gpu_dev_verbs_qp *companion_qp,
                                  struct doca_gpu_dev_verbs_addr counter_raddr,
                                  struct doca_gpu_dev_verbs_addr counter_laddr, uint64_t counter_val, uint32_t code_opt)
{
    if (last == GDAKI_TICKET_NONE)
        return;
    uint32_t max_index = (uint32_t)(last + qp->cq_sq.cqe_rsvd), cqn = qp->cq_sq.cq_num;
    (void)gdaki_post<resource_sharing_mode, nic_handler>(
        companion_qp, 2, code_opt,
        [=](struct doca_gpu_dev_verbs_wqe *slot, uint64_t index, uint64_t k) {
            if (k == 0)
                gdaki_make_wait(companion_qp, slot, index, max_index, cqn);
            else
                gdaki_make_fetch_add(companion_qp, slot, index, counter_raddr, counter_laddr, counter_val);
        },
        qp);
}

template <GDAKI_T_SHARING, GDAKI_T_HANDLER>
GDAKI_DEV void doca_gpu_dev_verbs_put_counter(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_addr raddr,
                                              struct doca_gpu_dev_verbs_addr laddr, size_t size,
                                              struct doca_gpu_dev_verbs_qp *companion_qp,
                                              struct doca_gpu_dev_verbs_addr counter_raddr,
                                              struct doca_gpu_dev_verbs_addr counter_laddr, uint64_t counter_val,
                                              uint32_t code_opt = DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_DEFAULT)
{
    doca_gpu_dev_verbs_ticket_t last;
    doca_gpu_dev_verbs_put_thread<resource_sharing_mode, nic_handler>(qp, raddr, laddr, size, &last, code_opt);
    gdaki_count<resource_sharing_mode, nic_handler>(qp, last, companion_qp, counter_raddr, counter_laddr, counter_val, code_opt);
}

template <typename T, GDAKI_T_SHARING, GDAKI_T_HANDLER>
GDAKI_DEV void doca_gpu_dev_verbs_p_counter(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_addr raddr,
                                            T value, struct doca_gpu_dev_verbs_qp *companion_qp,
                                            struct doca_gpu_dev_verbs_addr counter_raddr,
                                            struct doca_gpu_dev_verbs_addr counter_laddr, uint64_t counter_val,
                                            uint32_t code_opt = DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_DEFAULT)
{
    doca_gpu_dev_verbs_ticket_t last;
    doca_gpu_dev_verbs_p_thread<T, resource_sharing_mode, nic_handler>(qp, raddr, value, &last, code_opt);
    gdaki_count<resource_sharing_mode, nic_handler>(qp, last, companion_qp, counter_raddr, counter_laddr, counter_val, code_opt);
}

/* The counter moves when the signal has. */
template <GDAKI_P_SIGNAL, GDAKI_T_SHARING, GDAKI_T_HANDLER>
GDAKI_DEV void doca_gpu_dev_verbs_put_signal_counter(struct doca_gpu_dev_verbs_qp *qp,
                                                     struct doca_gpu_dev_verbs_addr raddr,
                                                     struct doca_gpu_dev_verbs_addr laddr, size_t size,
                                                     struct doca_gpu_dev_verbs_addr sig_raddr,
                                                     struct doca_gpu_dev_verbs_addr sig_laddr, uint64_t sig_val,
                                                     struct doca_gpu_dev_verbs_qp *companion_qp,
                                                     struct doca_gpu_dev_verbs_addr counter_raddr,
                                                     struct doca_gpu_dev_verbs_addr counter_laddr, uint64_t counter_val,
                                                     uint32_t code_opt = DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_DEFAULT)
{
    doca_gpu_dev_verbs_ticket_t last;
    doca_gpu_dev_verbs_put_signal_thread<sig_op, resource_sharing_mode, nic_handler>(
        qp, raddr, laddr, size, sig_raddr, sig_laddr, sig_val, &last, code_opt);
    gdaki_count<resource_sharing_mode, nic_handler>(qp, last, companion_qp, counter_raddr, counter_laddr, counter_val, code_opt);
}

template <GDAKI_P_SIGNAL, GDAKI_T_SHARING, GDAKI_T_HANDLER>
GDAKI_DEV void doca_gpu_dev_verbs_signal_counter(struct doca_gpu_dev_verbs_qp *qp,
                                                 struct doca_gpu_dev_verbs_addr sig_raddr,
                                                 struct doca_gpu_dev_verbs_addr sig_laddr, uint64_t sig_val,
                                                 struct doca_gpu_dev_verbs_qp *companion_qp,
                                                 struct doca_gpu_dev_verbs_addr counter_raddr,
                                                 struct doca_gpu_dev_verbs_addr counter_laddr, uint64_t counter_val,
                                                 uint32_t code_opt = DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_DEFAULT)
{
    doca_gpu_dev_verbs_ticket_t last;
    doca_gpu_dev_verbs_signal_thread<sig_op, resource_sharing_mode, nic_handler>(qp, sig_raddr, sig_laddr, sig_val, &last,
                                                                                 code_opt);
    gdaki_count<resource_sharing_mode, nic_handler>(qp, last, companion_qp, counter_raddr, counter_laddr, counter_val, code_opt);
}

template <GDAKI_T_SHARING, GDAKI_T_HANDLER>
GDAKI_DEV void doca_gpu_dev_verbs_get_counter(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_addr raddr,
                                              struct doca_gpu_dev_verbs_addr laddr, size_t size,
                                              struct doca_gpu_dev_verbs_qp *companion_qp,
                                              struct doca_gpu_dev_verbs_addr counter_raddr,
                                              struct doca_gpu_dev_verbs_addr counter_laddr, uint64_t counter_val,
                                              uint32_t code_opt = DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_DEFAULT)
{
    doca_gpu_dev_verbs_ticket_t last;
    struct doca_gpu_dev_verbs_addr nowhere = {};
    doca_gpu_dev_verbs_get_thread<resource_sharing_mode, nic_handler>(qp, raddr, laddr, size, nowhere, &last, code_opt);
    gdaki_count<resource_sharing_mode, nic_handler>(qp, last, companion_qp, counter_raddr, counter_laddr, counter_val, code_opt);
}

#endif
