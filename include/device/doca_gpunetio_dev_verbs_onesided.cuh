/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One-sided operations: put, p (inline), get, signal, put+signal, p+signal, and waiting. gdaki: C++ only.
 *
 * Lanes that call one of them together, for one queue and with the same options, post together (gdaki_dev_post.cuh); a lane
 * alone, and every lane under EXCLUSIVE at thread scope, posts alone. Warp scope is the same for the lanes that are there,
 * a partial warp included, and its EXCLUSIVE means that this warp has the queue.
 *
 * A ticket is the index of the call's last WQE. On a queue in error nothing is posted and the ticket is
 * GDAKI_TICKET_NONE, for which every wait returns -EIO. Keys (addr.key) are big-endian.
 */
#ifndef DOCA_GPUNETIO_DEV_VERBS_ONESIDED_CUH
#define DOCA_GPUNETIO_DEV_VERBS_ONESIDED_CUH

#include "doca_gpunetio_dev_verbs_qp.cuh"
#include "gdaki_dev_make.cuh"

/* ---- bodies, for both exec scopes ------------------------------------------------------------------------------------ */

#define GDAKI_P_EXEC enum doca_gpu_dev_verbs_exec_scope exec_scope

template <GDAKI_P_SHARING, GDAKI_P_HANDLER, GDAKI_P_EXEC>
GDAKI_DEV uint64_t gdaki_put(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_addr raddr,
                             struct doca_gpu_dev_verbs_addr laddr, size_t size, uint32_t code_opt)
{
    return gdaki_post_at<resource_sharing_mode, nic_handler, exec_scope>(
        qp, gdaki_pieces(size), code_opt, [=](struct doca_gpu_dev_verbs_wqe *slot, uint64_t index, uint64_t k) {
            gdaki_make_piece(qp, slot, index, k, DOCA_GPUNETIO_IB_MLX5_OPCODE_RDMA_WRITE, raddr, laddr, size);
        });
}

template <typename T, GDAKI_P_SHARING, GDAKI_P_HANDLER, GDAKI_P_EXEC>
GDAKI_DEV uint64_t gdaki_p(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_addr raddr, T value,
                           uint32_t code_opt)
{
    return gdaki_post_at<resource_sharing_mode, nic_handler, exec_scope>(
        qp, 1, code_opt, [=](struct doca_gpu_dev_verbs_wqe *slot, uint64_t index, uint64_t) {
            gdaki_make_inline<T>(qp, slot, index, raddr, value);
        });
}

template <GDAKI_P_SIGNAL, GDAKI_P_SHARING, GDAKI_P_HANDLER, GDAKI_P_EXEC>
GDAKI_DEV uint64_t gdaki_put_signal(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_addr raddr,
                                    struct doca_gpu_dev_verbs_addr laddr, size_t size,
                                    struct doca_gpu_dev_verbs_addr sig_raddr, struct doca_gpu_dev_verbs_addr sig_laddr,
                                    uint64_t sig_val, uint32_t code_opt)
{
    static_assert(sig_op == DOCA_GPUNETIO_VERBS_SIGNAL_OP_ADD, "signals can only add");
    uint64_t pieces = gdaki_pieces(size);
    return gdaki_post_at<resource_sharing_mode, nic_handler, exec_scope>(
        qp, pieces + 1, code_opt, [=](struct doca_gpu_dev_verbs_wqe *slot, uint64_t index, uint64_t k) {
            if (k < pieces)
                gdaki_make_piece(qp, slot, index, k, DOCA_GPUNETIO_IB_MLX5_OPCODE_RDMA_WRITE, raddr, laddr, size);
            else
                gdaki_make_fetch_add(qp, slot, index, sig_raddr, sig_laddr, sig_val);
        });
}

template <GDAKI_P_SIGNAL, GDAKI_P_SHARING, GDAKI_P_HANDLER, GDAKI_P_EXEC>
GDAKI_DEV uint64_t gdaki_signal(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_addr sig_raddr,
                                struct doca_gpu_dev_verbs_addr sig_laddr, uint64_t sig_val, uint32_t code_opt)
{
    static_assert(sig_op == DOCA_GPUNETIO_VERBS_SIGNAL_OP_ADD, "signals can only add");
    return gdaki_post_at<resource_sharing_mode, nic_handler, exec_scope>(
        qp, 1, code_opt, [=](struct doca_gpu_dev_verbs_wqe *slot, uint64_t index, uint64_t) {
            gdaki_make_fetch_add(qp, slot, index, sig_raddr, sig_laddr, sig_val);
        });
}

/* ---- put -------------------------------------------------------------------------------------------------------------- */

/* RDMA WRITEs of up to 1 GiB each; size 0 is one NOP. */
template <GDAKI_T_SHARING, GDAKI_T_HANDLER>
GDAKI_DEV void doca_gpu_dev_verbs_put_thread(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_addr raddr,
                                             struct doca_gpu_dev_verbs_addr laddr, size_t size,
                                             doca_gpu_dev_verbs_ticket_t *out_ticket,
                                             uint32_t code_opt = DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_DEFAULT)
{
    *out_ticket = gdaki_put<resource_sharing_mode, nic_handler, DOCA_GPUNETIO_VERBS_EXEC_SCOPE_THREAD>(qp, raddr, laddr, size, code_opt);
}

/* Each lane with its own arguments. */
template <GDAKI_T_SHARING, GDAKI_T_HANDLER>
GDAKI_DEV void doca_gpu_dev_verbs_put_warp(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_addr raddr,
                                           struct doca_gpu_dev_verbs_addr laddr, size_t size,
                                           doca_gpu_dev_verbs_ticket_t *out_ticket,
                                           uint32_t code_opt = DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_DEFAULT)
{
    *out_ticket = gdaki_put<resource_sharing_mode, nic_handler, DOCA_GPUNETIO_VERBS_EXEC_SCOPE_WARP>(qp, raddr, laddr, size, code_opt);
}

template <GDAKI_T_SHARING, GDAKI_T_HANDLER, GDAKI_T_EXEC>
GDAKI_DEV void doca_gpu_dev_verbs_put(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_addr raddr,
                                      struct doca_gpu_dev_verbs_addr laddr, size_t size,
                                      doca_gpu_dev_verbs_ticket_t *out_ticket,
                                      uint32_t code_opt = DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_DEFAULT)
{
    *out_ticket = gdaki_put<resource_sharing_mode, nic_handler, exec_scope>(qp, raddr, laddr, size, code_opt);
}

template <GDAKI_T_SHARING, GDAKI_T_HANDLER, GDAKI_T_EXEC>
GDAKI_DEV void doca_gpu_dev_verbs_put(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_addr raddr,
                                      struct doca_gpu_dev_verbs_addr laddr, size_t size,
                                      uint32_t code_opt = DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_DEFAULT)
{
    (void)gdaki_put<resource_sharing_mode, nic_handler, exec_scope>(qp, raddr, laddr, size, code_opt);
}

/* ---- p: a value of up to 28 bytes, inline --------------------------------------------------------------------------- */

template <typename T, GDAKI_T_SHARING, GDAKI_T_HANDLER>
GDAKI_DEV void doca_gpu_dev_verbs_p_thread(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_addr raddr,
                                           T value, doca_gpu_dev_verbs_ticket_t *out_ticket,
                                           uint32_t code_opt = DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_DEFAULT)
{
    *out_ticket = gdaki_p<T, resource_sharing_mode, nic_handler, DOCA_GPUNETIO_VERBS_EXEC_SCOPE_THREAD>(qp, raddr, value, code_opt);
}

template <typename T, GDAKI_T_SHARING, GDAKI_T_HANDLER>
GDAKI_DEV void doca_gpu_dev_verbs_p_warp(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_addr raddr,
                                         T value, doca_gpu_dev_verbs_ticket_t *out_ticket,
                                         uint32_t code_opt = DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_DEFAULT)
{
    *out_ticket = gdaki_p<T, resource_sharing_mode, nic_handler, DOCA_GPUNETIO_VERBS_EXEC_SCOPE_WARP>(qp, raddr, value, code_opt);
}

template <typename T, GDAKI_T_SHARING, GDAKI_T_HANDLER, GDAKI_T_EXEC>
GDAKI_DEV void doca_gpu_dev_verbs_p(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_addr raddr, T value,
                                    doca_gpu_dev_verbs_ticket_t *out_ticket,
                                    uint32_t code_opt = DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_DEFAULT)
{
    *out_ticket = gdaki_p<T, resource_sharing_mode, nic_handler, exec_scope>(qp, raddr, value, code_opt);
}

template <typename T, GDAKI_T_SHARING, GDAKI_T_HANDLER, GDAKI_T_EXEC>
GDAKI_DEV void doca_gpu_dev_verbs_p(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_addr raddr, T value,
                                    uint32_t code_opt = DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_DEFAULT)
{
    (void)gdaki_p<T, resource_sharing_mode, nic_handler, exec_scope>(qp, raddr, value, code_opt);
}

/* ---- put and signal: the remote counter moves after the data is there ------------------------------------------------ */

template <GDAKI_P_SIGNAL, GDAKI_T_SHARING, GDAKI_T_HANDLER>
GDAKI_DEV void doca_gpu_dev_verbs_put_signal_thread(struct doca_gpu_dev_verbs_qp *qp,
                                                    struct doca_gpu_dev_verbs_addr raddr,
                                                    struct doca_gpu_dev_verbs_addr laddr, size_t size,
                                                    struct doca_gpu_dev_verbs_addr sig_raddr,
                                                    struct doca_gpu_dev_verbs_addr sig_laddr, uint64_t sig_val,
                                                    doca_gpu_dev_verbs_ticket_t *out_ticket,
                                                    uint32_t code_opt = DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_DEFAULT)
{
    *out_ticket = gdaki_put_signal<sig_op, resource_sharing_mode, nic_handler, DOCA_GPUNETIO_VERBS_EXEC_SCOPE_THREAD>(
        qp, raddr, laddr, size, sig_raddr, sig_laddr, sig_val, code_opt);
}

template <GDAKI_P_SIGNAL, GDAKI_T_SHARING, GDAKI_T_HANDLER>
GDAKI_DEV void doca_gpu_dev_verbs_put_signal_warp(struct doca_gpu_dev_verbs_qp *qp,
                                                  struct doca_gpu_dev_verbs_addr raddr,
                                                  struct doca_gpu_dev_verbs_addr laddr, size_t size,
                                                  struct doca_gpu_dev_verbs_addr sig_raddr,
                                                  struct doca_gpu_dev_verbs_addr sig_laddr, uint64_t sig_val,
                                                  doca_gpu_dev_verbs_ticket_t *out_ticket,
                                                  uint32_t code_opt = DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_DEFAULT)
{
    *out_ticket = gdaki_put_signal<sig_op, resource_sharing_mode, nic_handler, DOCA_GPUNETIO_VERBS_EXEC_SCOPE_WARP>(
        qp, raddr, laddr, size, sig_raddr, sig_laddr, sig_val, code_opt);
}

template <GDAKI_P_SIGNAL, GDAKI_T_SHARING, GDAKI_T_HANDLER, GDAKI_T_EXEC>
GDAKI_DEV void doca_gpu_dev_verbs_put_signal(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_addr raddr,
                                             struct doca_gpu_dev_verbs_addr laddr, size_t size,
                                             struct doca_gpu_dev_verbs_addr sig_raddr,
                                             struct doca_gpu_dev_verbs_addr sig_laddr, uint64_t sig_val,
                                             doca_gpu_dev_verbs_ticket_t *out_ticket,
                                             uint32_t code_opt = DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_DEFAULT)
{
    *out_ticket = gdaki_put_signal<sig_op, resource_sharing_mode, nic_handler, exec_scope>(
        qp, raddr, laddr, size, sig_raddr, sig_laddr, sig_val, code_opt);
}

template <GDAKI_P_SIGNAL, GDAKI_T_SHARING, GDAKI_T_HANDLER, GDAKI_T_EXEC>
GDAKI_DEV void doca_gpu_dev_verbs_put_signal(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_addr raddr,
                                             struct doca_gpu_dev_verbs_addr laddr, size_t size,
                                             struct doca_gpu_dev_verbs_addr sig_raddr,
                                             struct doca_gpu_dev_verbs_addr sig_laddr, uint64_t sig_val,
                                             uint32_t code_opt = DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_DEFAULT)
{
    (void)gdaki_put_signal<sig_op, resource_sharing_mode, nic_handler, exec_scope>(
        qp, raddr, laddr, size, sig_raddr, sig_laddr, sig_val, code_opt);
}

template <typename T, GDAKI_P_SIGNAL, GDAKI_T_SHARING, GDAKI_T_HANDLER>
GDAKI_DEV void doca_gpu_dev_verbs_p_signal(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_addr raddr,
                                           T value, struct doca_gpu_dev_verbs_addr sig_raddr,
                                           struct doca_gpu_dev_verbs_addr sig_laddr, uint64_t sig_val,
                                           doca_gpu_dev_verbs_ticket_t *out_ticket,
                                           uint32_t code_opt = DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_DEFAULT)
{
    static_assert(sig_op == DOCA_GPUNETIO_VERBS_SIGNAL_OP_ADD, "signals can only add");
    *out_ticket = gdaki_post<resource_sharing_mode, nic_handler>(
        qp, 2, code_opt, [=](struct doca_gpu_dev_verbs_wqe *slot, uint64_t index, uint64_t k) {
            if (k == 0)
                gdaki_make_inline<T>(qp, slot, index, raddr, value);
            else
                gdaki_make_fetch_add(qp, slot, index, sig_raddr, sig_laddr, sig_val);
        });
}

template <typename T, GDAKI_P_SIGNAL, GDAKI_T_SHARING, GDAKI_T_HANDLER>
GDAKI_DEV void doca_gpu_dev_verbs_p_signal(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_addr raddr,
                                           T value, struct doca_gpu_dev_verbs_addr sig_raddr,
                                           struct doca_gpu_dev_verbs_addr sig_laddr, uint64_t sig_val,
                                           uint32_t code_opt = DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_DEFAULT)
{
    doca_gpu_dev_verbs_ticket_t ticket;
    doca_gpu_dev_verbs_p_signal<T, sig_op, resource_sharing_mode, nic_handler>(qp, raddr, value, sig_raddr, sig_laddr,
                                                                               sig_val, &ticket, code_opt);
}

/* ---- signal: fetch-and-add of 8 bytes; the old value goes to sig_laddr ------------------------------------------------ */

template <GDAKI_P_SIGNAL, GDAKI_T_SHARING, GDAKI_T_HANDLER>
GDAKI_DEV void doca_gpu_dev_verbs_signal_thread(struct doca_gpu_dev_verbs_qp *qp,
                                                struct doca_gpu_dev_verbs_addr sig_raddr,
                                                struct doca_gpu_dev_verbs_addr sig_laddr, uint64_t sig_val,
                                                doca_gpu_dev_verbs_ticket_t *out_ticket,
                                                uint32_t code_opt = DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_DEFAULT)
{
    *out_ticket = gdaki_signal<sig_op, resource_sharing_mode, nic_handler, DOCA_GPUNETIO_VERBS_EXEC_SCOPE_THREAD>(
        qp, sig_raddr, sig_laddr, sig_val, code_opt);
}

template <GDAKI_P_SIGNAL, GDAKI_T_SHARING, GDAKI_T_HANDLER>
GDAKI_DEV void doca_gpu_dev_verbs_signal_warp(struct doca_gpu_dev_verbs_qp *qp,
                                              struct doca_gpu_dev_verbs_addr sig_raddr,
                                              struct doca_gpu_dev_verbs_addr sig_laddr, uint64_t sig_val,
                                              doca_gpu_dev_verbs_ticket_t *out_ticket,
                                              uint32_t code_opt = DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_DEFAULT)
{
    *out_ticket = gdaki_signal<sig_op, resource_sharing_mode, nic_handler, DOCA_GPUNETIO_VERBS_EXEC_SCOPE_WARP>(
        qp, sig_raddr, sig_laddr, sig_val, code_opt);
}

template <GDAKI_P_SIGNAL, GDAKI_T_SHARING, GDAKI_T_HANDLER, GDAKI_T_EXEC>
GDAKI_DEV void doca_gpu_dev_verbs_signal(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_addr sig_raddr,
                                         struct doca_gpu_dev_verbs_addr sig_laddr, uint64_t sig_val,
                                         doca_gpu_dev_verbs_ticket_t *out_ticket,
                                         uint32_t code_opt = DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_DEFAULT)
{
    *out_ticket = gdaki_signal<sig_op, resource_sharing_mode, nic_handler, exec_scope>(
        qp, sig_raddr, sig_laddr, sig_val, code_opt);
}

template <GDAKI_P_SIGNAL, GDAKI_T_SHARING, GDAKI_T_HANDLER>
GDAKI_DEV void doca_gpu_dev_verbs_signal(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_addr sig_raddr,
                                         struct doca_gpu_dev_verbs_addr sig_laddr, uint64_t sig_val,
                                         uint32_t code_opt = DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_DEFAULT)
{
    (void)gdaki_signal<sig_op, resource_sharing_mode, nic_handler, DOCA_GPUNETIO_VERBS_EXEC_SCOPE_THREAD>(
        qp, sig_raddr, sig_laddr, sig_val, code_opt);
}

/* ---- waiting ------------------------------------------------------------------------------------------------------------ */

/*
 * Until the ticket's WQE, and so everything before it, has completed: 0, or -EIO when the queue is in error. What was
 * posted with SKIP_DB_RINGING is announced.
 */
template <GDAKI_T_SHARING, GDAKI_T_HANDLER>
GDAKI_DEV int doca_gpu_dev_verbs_wait(struct doca_gpu_dev_verbs_qp *qp, doca_gpu_dev_verbs_ticket_t ticket)
{
    return gdaki_wait_index<resource_sharing_mode, nic_handler>(qp, ticket, 0);
}

/* Until everything reserved so far has completed. */
template <GDAKI_T_SHARING, GDAKI_T_HANDLER>
GDAKI_DEV int doca_gpu_dev_verbs_wait(struct doca_gpu_dev_verbs_qp *qp)
{
    uint64_t reserved = gdaki_index_load<resource_sharing_mode>(&qp->sq_rsvd_index);
    if (reserved == 0)
        return gdaki_cq_failed(&qp->cq_sq) ? -EIO : 0;
    return doca_gpu_dev_verbs_wait<resource_sharing_mode, nic_handler>(qp, reserved - 1);
}

/* For at most timeout_ns; EBUSY when the time has passed. */
template <GDAKI_T_SHARING, GDAKI_T_HANDLER>
GDAKI_DEV int doca_gpu_dev_verbs_wait_bounded(struct doca_gpu_dev_verbs_qp *qp, doca_gpu_dev_verbs_ticket_t ticket,
                                              uint64_t timeout_ns)
{
    return gdaki_wait_index<resource_sharing_mode, nic_handler>(qp, ticket, gdaki_deadline(timeout_ns));
}

/* Nothing to do: WQEs of one queue are executed in order. */
template <GDAKI_T_SHARING, GDAKI_T_HANDLER>
GDAKI_DEV void doca_gpu_dev_verbs_fence(struct doca_gpu_dev_verbs_qp *qp)
{
    (void)qp;
}

/* ---- get -------------------------------------------------------------------------------------------------------------- */

/* A DUMP of one byte of registered local memory: when it completes, what earlier READs wrote is visible to the GPU. */
template <GDAKI_T_SHARING, GDAKI_T_HANDLER>
GDAKI_DEV void doca_gpu_dev_verbs_mcst(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_addr daddr,
                                       doca_gpu_dev_verbs_ticket_t *out_ticket,
                                       uint32_t code_opt = DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_DEFAULT)
{
    *out_ticket = gdaki_post<resource_sharing_mode, nic_handler>(
        qp, 1, code_opt, [=](struct doca_gpu_dev_verbs_wqe *slot, uint64_t index, uint64_t) {
            gdaki_make_dump(qp, slot, index, daddr);
        });
}

/*
 * RDMA READs of up to 1 GiB each; size 0 is one NOP. MCST adds a DUMP of daddr, which is then the ticket. BLOCKING waits;
 * an error shows in every later poll and wait.
 */
template <GDAKI_T_SHARING, GDAKI_T_HANDLER, GDAKI_T_MCST, GDAKI_T_BLOCKING>
GDAKI_DEV_INLINE void doca_gpu_dev_verbs_get_thread(struct doca_gpu_dev_verbs_qp *qp,
                                                    struct doca_gpu_dev_verbs_addr raddr,
                                                    struct doca_gpu_dev_verbs_addr laddr, size_t size,
                                                    struct doca_gpu_dev_verbs_addr daddr,
                                                    doca_gpu_dev_verbs_ticket_t *out_ticket,
                                                    uint32_t code_opt = DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_DEFAULT)
{
    uint64_t pieces = gdaki_pieces(size);
    uint64_t dump = mcst_mode == DOCA_GPUNETIO_VERBS_MCST_ENABLED ? 1 : 0;
    *out_ticket = gdaki_post<resource_sharing_mode, nic_handler>(
        qp, pieces + dump, code_opt, [=](struct doca_gpu_dev_verbs_wqe *slot, uint64_t index, uint64_t k) {
            if (k < pieces)
                gdaki_make_piece(qp, slot, index, k, DOCA_GPUNETIO_IB_MLX5_OPCODE_RDMA_READ, raddr, laddr, size);
            else
                gdaki_make_dump(qp, slot, index, daddr);
        });
    if (blocking_mode == DOCA_GPUNETIO_VERBS_BLOCKING_MODE_ENABLED)
        (void)doca_gpu_dev_verbs_wait<resource_sharing_mode, nic_handler>(qp, *out_ticket);
}

/*
 * Each lane with its own arguments. With MCST the group's last lane adds one DUMP (of its daddr) behind all READs, and that
 * is the ticket of every lane, since no lane's data is visible before.
 */
template <GDAKI_T_SHARING, GDAKI_T_HANDLER, GDAKI_T_MCST, GDAKI_T_BLOCKING>
GDAKI_DEV_INLINE void doca_gpu_dev_verbs_get_warp(struct doca_gpu_dev_verbs_qp *qp,
                                                  struct doca_gpu_dev_verbs_addr raddr,
                                                  struct doca_gpu_dev_verbs_addr laddr, size_t size,
                                                  struct doca_gpu_dev_verbs_addr daddr,
                                                  doca_gpu_dev_verbs_ticket_t *out_ticket,
                                                  uint32_t code_opt = DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_DEFAULT)
{
    const enum doca_gpu_dev_verbs_resource_sharing_mode mode = gdaki_warp_sharing<resource_sharing_mode>::mode;
    struct gdaki_group g = gdaki_group_by(qp, code_opt);
    uint64_t pieces = gdaki_pieces(size);
    bool dumps = mcst_mode == DOCA_GPUNETIO_VERBS_MCST_ENABLED && g.rank == g.size - 1;
    uint64_t ticket = gdaki_post_group<mode, nic_handler>(
        g, qp, pieces + dumps, code_opt,
        [=](struct doca_gpu_dev_verbs_wqe *slot, uint64_t index, uint64_t k) {
            if (k < pieces)
                gdaki_make_piece(qp, slot, index, k, DOCA_GPUNETIO_IB_MLX5_OPCODE_RDMA_READ, raddr, laddr, size);
            else
                gdaki_make_dump(qp, slot, index, daddr);
        },
        NULL);
    if (mcst_mode == DOCA_GPUNETIO_VERBS_MCST_ENABLED)
        ticket = __shfl_sync(g.mask, (unsigned long long)ticket, 31 - __clz((int)g.mask));
    *out_ticket = ticket;
    if (blocking_mode == DOCA_GPUNETIO_VERBS_BLOCKING_MODE_ENABLED)
        (void)doca_gpu_dev_verbs_wait<mode, nic_handler>(qp, ticket);
}

template <GDAKI_T_SHARING, GDAKI_T_HANDLER, GDAKI_T_EXEC, GDAKI_T_MCST, GDAKI_T_BLOCKING>
GDAKI_DEV_INLINE void doca_gpu_dev_verbs_get(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_addr raddr,
                                             struct doca_gpu_dev_verbs_addr laddr, size_t size,
                                             struct doca_gpu_dev_verbs_addr daddr,
                                             doca_gpu_dev_verbs_ticket_t *out_ticket,
                                             uint32_t code_opt = DOCA_GPUNETIO_VERBS_GPU_CODE_OPT_DEFAULT)
{
    if (exec_scope == DOCA_GPUNETIO_VERBS_EXEC_SCOPE_WARP)
        doca_gpu_dev_verbs_get_warp<resource_sharing_mode, nic_handler, mcst_mode, blocking_mode>(
            qp, raddr, laddr, size, daddr, out_ticket, code_opt);
    else
        doca_gpu_dev_verbs_get_thread<resource_sharing_mode, nic_handler, mcst_mode, blocking_mode>(
            qp, raddr, laddr, size, daddr, out_ticket, code_opt);
}

/* MCST posts a DUMP first, and waits for whichever is later. */
template <GDAKI_T_SHARING, GDAKI_T_HANDLER, GDAKI_T_MCST>
GDAKI_DEV_INLINE int doca_priv_gpu_dev_verbs_get_wait(struct doca_gpu_dev_verbs_qp *qp,
                                                      struct doca_gpu_dev_verbs_addr daddr,
                                                      doca_gpu_dev_verbs_ticket_t ticket)
{
    doca_gpu_dev_verbs_ticket_t last = ticket, dump;
    if (mcst_mode == DOCA_GPUNETIO_VERBS_MCST_ENABLED && ticket != GDAKI_TICKET_NONE) {
        doca_gpu_dev_verbs_mcst<resource_sharing_mode, nic_handler>(qp, daddr, &dump);
        last = dump > ticket ? dump : ticket;
    }
    return doca_gpu_dev_verbs_wait<resource_sharing_mode, nic_handler>(qp, last);
}

/* Until a get's data can be read: 0, or -EIO when the queue is in error. */
template <GDAKI_T_SHARING, GDAKI_T_HANDLER, GDAKI_T_MCST>
GDAKI_DEV_INLINE int doca_gpu_dev_verbs_get_wait(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_addr daddr,
                                                 doca_gpu_dev_verbs_ticket_t ticket)
{
    return doca_priv_gpu_dev_verbs_get_wait<resource_sharing_mode, nic_handler, mcst_mode>(qp, daddr, ticket);
}

/* The same for everything reserved so far. */
template <GDAKI_T_SHARING, GDAKI_T_HANDLER, GDAKI_T_MCST>
GDAKI_DEV_INLINE int doca_gpu_dev_verbs_get_wait(struct doca_gpu_dev_verbs_qp *qp, struct doca_gpu_dev_verbs_addr daddr)
{
    uint64_t reserved = gdaki_index_load<resource_sharing_mode>(&qp->sq_rsvd_index);
    if (reserved == 0)
        return gdaki_cq_failed(&qp->cq_sq) ? -EIO : 0;
    return doca_priv_gpu_dev_verbs_get_wait<resource_sharing_mode, nic_handler, mcst_mode>(qp, daddr, reserved - 1);
}

#endif
