/* SPDX-License-Identifier: Apache-2.0 */
/* Queues of one end: creation through the high-level API, export to the GPU, connection, CPU-assisted doorbells. */
#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gdaki/info.h>

#include "doca_gpunetio_host.h"
#include "endpoint.h"
#include "endpoint_internal.h"
#include "tool.h"

#define RD_ATOMIC 16 /* outstanding reads and atomics of a queue */

static const char *handler_name(enum doca_gpu_dev_verbs_nic_handler handler)
{
    switch (handler) {
    case DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY: return "cpu-proxy";
    case DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_DB: return "gpu-db";
    case DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_BF: return "gpu-bf";
    case DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_NO_DBR: return "gpu-no-dbr";
    default: return "unknown";
    }
}

static void choose_handler(const struct perf_plan *plan, struct doca_gpu_verbs_qp_init_attr_hl *attr)
{
    attr->send_dbr_mode_ext = DOCA_GPUNETIO_VERBS_SEND_DBR_MODE_EXT_VALID_DBR;
    switch (plan->handler) {
    case PERF_HANDLER_GPU_DB: attr->nic_handler = DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_DB; break;
    case PERF_HANDLER_GPU_BF: attr->nic_handler = DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_BF; break;
    case PERF_HANDLER_CPU_PROXY: attr->nic_handler = DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY; break;
    case PERF_HANDLER_GPU_NO_DBR:
        attr->nic_handler = DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_DB;
        attr->send_dbr_mode_ext = DOCA_GPUNETIO_VERBS_SEND_DBR_MODE_EXT_NO_DBR_HW;
        break;
    default: attr->nic_handler = DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO; break;
    }
}

static int make_queue(struct endpoint *ep, uint32_t index)
{
    struct doca_gpu_verbs_qp_init_attr_hl attr;
    struct doca_gpu_verbs_qp_hl *queue = NULL;
    doca_error_t status;

    memset(&attr, 0, sizeof(attr));
    attr.gpu_dev = ep->gpu;
    attr.net_dev = ep->dev;
    attr.ibpd = ep->pd;
    attr.sq_nwqe = (uint16_t)ep->plan->depth;
    attr.cq_collapsed = ep->plan->collapsed;
    choose_handler(ep->plan, &attr);
    status = doca_gpu_verbs_create_qp_hl(&attr, &queue);
    if (status != DOCA_SUCCESS)
        return endpoint_fail(ep, TOOL_FAILED, -EIO,
                             "cannot create queue %u of %u (depth %u, --handler %s, --cq %s) on %s: error %d: %s", index,
                             ep->plan->qps, ep->plan->depth, parse_word_name(perf_handlers, ep->plan->handler),
                             ep->plan->collapsed ? "collapsed" : "regular", ep->nic_name, (int)status,
                             gdaki_host_last_error());
    ep->queues[index] = queue;
    ep->gverbs[index] = queue->qp_gverbs;
    ep->nqps = index + 1;
    ep->proxy = ep->proxy || queue->qp_gverbs->cpu_proxy;
    if (doca_verbs_qp_get_qpn(queue->qp, &ep->local.qpn[index]) != DOCA_SUCCESS)
        return endpoint_fail(ep, TOOL_FAILED, -EIO, "queue %u has no number", index);
    return 0;
}

int endpoint_make_queues(struct endpoint *ep)
{
    const struct doca_gpu_dev_verbs_qp *first;
    doca_error_t status;
    int rc = 0;

    ep->queues = calloc(ep->plan->qps, sizeof(*ep->queues));
    ep->gverbs = calloc(ep->plan->qps, sizeof(*ep->gverbs));
    if (!ep->queues || !ep->gverbs)
        return endpoint_fail(ep, TOOL_FAILED, -ENOMEM, "cannot allocate %u queues", ep->plan->qps);
    for (uint32_t i = 0; i < ep->plan->qps && !rc; i++)
        rc = make_queue(ep, i);
    if (rc)
        return rc;
    status = doca_gpu_verbs_export_multi_qps_dev(ep->gpu, (struct doca_gpu_verbs_qp **)ep->gverbs, ep->nqps,
                                                 &ep->qp_array);
    if (status != DOCA_SUCCESS) {
        ep->qp_array = NULL;
        return endpoint_fail(ep, TOOL_FAILED, -EIO, "cannot export %u queues to the GPU: error %d: %s", ep->nqps,
                             (int)status, gdaki_host_last_error());
    }
    ep->local.nqps = ep->nqps;
    first = ep->queues[0]->qp_gverbs->qp_cpu;
    ep->handler = handler_name(ep->queues[0]->nic_handler);
    ep->queue_mem = first->mem_type == DOCA_GPUNETIO_VERBS_MEM_TYPE_HOST ? "host" : "gpu";
    return 0;
}

void endpoint_destroy_queues(struct endpoint *ep)
{
    if (ep->qp_array)
        doca_gpu_verbs_unexport_multi_qps_dev(ep->gpu, (struct doca_gpu_verbs_qp **)ep->gverbs, ep->nqps, ep->qp_array);
    for (uint32_t i = 0; i < ep->nqps; i++)
        doca_gpu_verbs_destroy_qp_hl(ep->queues[i]);
    free(ep->queues);
    free(ep->gverbs);
    ep->queues = NULL;
    ep->gverbs = NULL;
    ep->qp_array = NULL;
    ep->nqps = 0;
}

/* ---- connection --------------------------------------------------------------------------------------------------- */

static enum doca_verbs_mtu_size mtu_code(uint32_t bytes)
{
    switch (bytes) {
    case 256: return DOCA_VERBS_MTU_SIZE_256_BYTES;
    case 512: return DOCA_VERBS_MTU_SIZE_512_BYTES;
    case 1024: return DOCA_VERBS_MTU_SIZE_1K_BYTES;
    case 2048: return DOCA_VERBS_MTU_SIZE_2K_BYTES;
    default: return DOCA_VERBS_MTU_SIZE_4K_BYTES;
    }
}

static doca_error_t fill_path(const struct endpoint *ep, const struct endpoint_address *remote,
                              doca_verbs_ah_attr_t *ah)
{
    struct doca_verbs_gid gid;
    bool ethernet = remote->link == 1;
    doca_error_t status;

    memcpy(gid.raw, remote->gid, sizeof(gid.raw));
    status = doca_verbs_ah_attr_set_gid(ah, gid);
    if (status == DOCA_SUCCESS)
        status = doca_verbs_ah_attr_set_addr_type(ah, ethernet ? DOCA_VERBS_ADDR_TYPE_IPv4
                                                               : DOCA_VERBS_ADDR_TYPE_IB_NO_GRH);
    if (status == DOCA_SUCCESS)
        status = doca_verbs_ah_attr_set_sgid_index(ah, (uint8_t)ep->gid_index);
    if (status == DOCA_SUCCESS && !ethernet)
        status = doca_verbs_ah_attr_set_dlid(ah, remote->lid);
    return status == DOCA_SUCCESS ? doca_verbs_ah_attr_set_hop_limit(ah, 255) : status;
}

static doca_error_t to_init(doca_verbs_qp_t *qp, doca_verbs_qp_attr_t *attr)
{
    doca_verbs_qp_attr_set_next_state(attr, DOCA_VERBS_QP_STATE_INIT);
    doca_verbs_qp_attr_set_allow_remote_write(attr, 1);
    doca_verbs_qp_attr_set_allow_remote_read(attr, 1);
    doca_verbs_qp_attr_set_atomic_mode(attr, DOCA_VERBS_QP_ATOMIC_MODE_IB_SPEC);
    doca_verbs_qp_attr_set_port_num(attr, 1);
    doca_verbs_qp_attr_set_pkey_index(attr, 0);
    return doca_verbs_qp_modify(qp, attr,
                                DOCA_VERBS_QP_ATTR_NEXT_STATE | DOCA_VERBS_QP_ATTR_ALLOW_REMOTE_WRITE |
                                    DOCA_VERBS_QP_ATTR_ALLOW_REMOTE_READ | DOCA_VERBS_QP_ATTR_ATOMIC_MODE |
                                    DOCA_VERBS_QP_ATTR_PORT_NUM | DOCA_VERBS_QP_ATTR_PKEY_INDEX);
}

static doca_error_t to_rtr(doca_verbs_qp_t *qp, doca_verbs_qp_attr_t *attr, doca_verbs_ah_attr_t *ah,
                           const struct endpoint_address *remote, uint32_t index, uint32_t mtu)
{
    doca_verbs_qp_attr_set_next_state(attr, DOCA_VERBS_QP_STATE_RTR);
    doca_verbs_qp_attr_set_path_mtu(attr, mtu_code(mtu));
    doca_verbs_qp_attr_set_rq_psn(attr, remote->psn);
    doca_verbs_qp_attr_set_dest_qp_num(attr, remote->qpn[index]);
    doca_verbs_qp_attr_set_ah_attr(attr, ah);
    doca_verbs_qp_attr_set_min_rnr_timer(attr, 1);
    doca_verbs_qp_attr_set_max_dest_rd_atomic(attr, RD_ATOMIC);
    return doca_verbs_qp_modify(qp, attr,
                                DOCA_VERBS_QP_ATTR_NEXT_STATE | DOCA_VERBS_QP_ATTR_PATH_MTU |
                                    DOCA_VERBS_QP_ATTR_RQ_PSN | DOCA_VERBS_QP_ATTR_DEST_QP_NUM |
                                    DOCA_VERBS_QP_ATTR_AH_ATTR | DOCA_VERBS_QP_ATTR_MIN_RNR_TIMER |
                                    DOCA_VERBS_QP_ATTR_MAX_DEST_RD_ATOMIC);
}

static doca_error_t to_rts(doca_verbs_qp_t *qp, doca_verbs_qp_attr_t *attr, uint32_t psn, uint32_t timeout)
{
    doca_verbs_qp_attr_set_next_state(attr, DOCA_VERBS_QP_STATE_RTS);
    doca_verbs_qp_attr_set_sq_psn(attr, psn);
    doca_verbs_qp_attr_set_ack_timeout(attr, (uint16_t)timeout);
    doca_verbs_qp_attr_set_retry_cnt(attr, 7);
    doca_verbs_qp_attr_set_rnr_retry(attr, 1);
    doca_verbs_qp_attr_set_max_rd_atomic(attr, RD_ATOMIC);
    return doca_verbs_qp_modify(qp, attr,
                                DOCA_VERBS_QP_ATTR_NEXT_STATE | DOCA_VERBS_QP_ATTR_SQ_PSN |
                                    DOCA_VERBS_QP_ATTR_ACK_TIMEOUT | DOCA_VERBS_QP_ATTR_RETRY_CNT |
                                    DOCA_VERBS_QP_ATTR_RNR_RETRY | DOCA_VERBS_QP_ATTR_MAX_QP_RD_ATOMIC);
}

static int connect_queue(struct endpoint *ep, const struct endpoint_address *remote, doca_verbs_ah_attr_t *ah,
                         uint32_t index)
{
    doca_verbs_qp_t *qp = ep->queues[index]->qp;
    uint32_t mtu = remote->mtu < ep->local.mtu ? remote->mtu : ep->local.mtu;
    doca_verbs_qp_attr_t *attr = NULL;
    const char *step = "INIT";
    doca_error_t status = doca_verbs_qp_attr_create(&attr);

    if (status == DOCA_SUCCESS)
        status = to_init(qp, attr);
    if (status == DOCA_SUCCESS) {
        step = "RTR";
        status = to_rtr(qp, attr, ah, remote, index, mtu);
    }
    if (status == DOCA_SUCCESS) {
        step = "RTS";
        status = to_rts(qp, attr, ep->local.psn, ep->plan->qp_timeout);
    }
    if (attr)
        doca_verbs_qp_attr_destroy(attr);
    return status == DOCA_SUCCESS ? 0 : endpoint_fail(ep, TOOL_FAILED, -EIO,
                                                      "cannot move queue %u (number %u, peer's %u) to %s: error %d: "
                                                      "%s", index, ep->local.qpn[index], remote->qpn[index], step,
                                                      (int)status, gdaki_host_last_error());
}

int endpoint_connect(struct endpoint *ep, const struct endpoint_address *remote)
{
    doca_verbs_ah_attr_t *ah = NULL;
    int rc = 0;

    if (remote->nqps != ep->nqps)
        return endpoint_fail(ep, TOOL_FAILED, -EPROTO, "the peer has %u queues, this end %u", remote->nqps, ep->nqps);
    if (remote->link != ep->local.link)
        return endpoint_fail(ep, TOOL_FAILED, -EPROTO, "the peer's link layer is %s, this end's is not",
                             remote->link == 1 ? "Ethernet" : "InfiniBand");
    if (doca_verbs_ah_attr_create(ep->dev, &ah) != DOCA_SUCCESS || fill_path(ep, remote, ah) != DOCA_SUCCESS)
        rc = endpoint_fail(ep, TOOL_FAILED, -EIO, "cannot describe the path to the peer: %s",
                           gdaki_host_last_error());
    for (uint32_t i = 0; i < ep->nqps && !rc; i++)
        rc = connect_queue(ep, remote, ah, i);
    if (ah)
        doca_verbs_ah_attr_destroy(ah);
    return rc;
}

/* ---- while kernels run ---------------------------------------------------------------------------------------------- */

bool endpoint_proxy_step(struct endpoint *ep)
{
    bool any = false;

    for (uint32_t i = 0; i < ep->nqps; i++) {
        bool progressed = false;

        if (doca_gpu_verbs_cpu_proxy_progress(ep->gverbs[i], &progressed) == DOCA_SUCCESS)
            any = any || progressed;
    }
    return any;
}

void endpoint_describe_error(struct endpoint *ep, char *out, size_t size)
{
    out[0] = 0;
    for (uint32_t i = 0; i < ep->nqps; i++) {
        struct doca_gpu_verbs_qp_error_info info;

        memset(&info, 0, sizeof(info));
        if (doca_gpu_verbs_query_last_error(ep->gverbs[i], &info) != DOCA_SUCCESS || !info.has_error)
            continue;
        snprintf(out, size, "queue %u (number %u) is in error: syndrome 0x%02x, vendor syndrome 0x%02x, WQE %d", i,
                 ep->local.qpn[i], info.syndrome, info.vendor_err_synd, info.wqe_counter);
        return;
    }
}

/*
 * A queue as the GPU left it: what was reserved, handed over, announced and seen complete, and what the NIC should have
 * seen: the record and the register. "" if nothing is outstanding.
 */
static void describe_queue(struct endpoint *ep, uint32_t index, char *out, size_t size)
{
    struct doca_gpu_dev_verbs_qp qp;
    uint32_t record = 0;
    uint64_t reg = 0;

    out[0] = 0;
    if (ep->kernels->copy(&qp, &ep->qp_array[index], sizeof(qp), ep->stream) || qp.sq_rsvd_index == qp.cq_sq.cqe_ci)
        return;
    ep->kernels->copy(&record, qp.sq_dbrec, sizeof(record), ep->stream);
    ep->kernels->copy(&reg, qp.sq_db, sizeof(reg), ep->stream);
    snprintf(out, size, "queue %u (number %u): reserved %" PRIu64 ", ready %" PRIu64 ", announced %" PRIu64
             ", complete %" PRIu64 ", record %u, register 0x%" PRIx64, index, qp.sq_num, qp.sq_rsvd_index,
             qp.sq_ready_index, qp.sq_wqe_pi, qp.cq_sq.cqe_ci, be32toh(record), reg);
}

void endpoint_describe_outstanding(struct endpoint *ep, char *out, size_t size)
{
    uint32_t more = 0;
    char text[256];
    size_t used;

    out[0] = 0;
    for (uint32_t i = 0; i < ep->nqps; i++) {
        describe_queue(ep, i, text, sizeof(text));
        if (text[0] && out[0])
            more++;
        else if (text[0])
            snprintf(out, size, "%s", text);
    }
    used = strlen(out);
    if (more)
        snprintf(out + used, size - used, "; and %u more", more);
}

/* ---- exchange --------------------------------------------------------------------------------------------------------- */

void endpoint_address_write(const struct endpoint_address *a, struct oob_writer *w)
{
    oob_put_bytes(w, a->gid, sizeof(a->gid));
    oob_put(w, a->lid, 2);
    oob_put(w, a->link, 1);
    oob_put(w, a->mtu, 4);
    oob_put(w, a->psn, 4);
    oob_put(w, a->send_addr, 8);
    oob_put(w, a->recv_addr, 8);
    oob_put(w, a->flag_addr, 8);
    oob_put(w, a->span, 8);
    oob_put(w, a->rkey, 4);
    oob_put(w, a->nqps, 4);
    for (uint32_t i = 0; i < a->nqps; i++)
        oob_put(w, a->qpn[i], 4);
}

int endpoint_address_read(struct endpoint_address *a, struct oob_reader *r, char *why)
{
    memset(a, 0, sizeof(*a));
    oob_get_bytes(r, a->gid, sizeof(a->gid));
    a->lid = (uint16_t)oob_get(r, 2);
    a->link = (uint8_t)oob_get(r, 1);
    a->mtu = (uint32_t)oob_get(r, 4);
    a->psn = (uint32_t)oob_get(r, 4);
    a->send_addr = oob_get(r, 8);
    a->recv_addr = oob_get(r, 8);
    a->flag_addr = oob_get(r, 8);
    a->span = oob_get(r, 8);
    a->rkey = (uint32_t)oob_get(r, 4);
    a->nqps = (uint32_t)oob_get(r, 4);
    if (a->nqps > PERF_QPS_MAX) {
        snprintf(why, PARSE_WHY_SIZE, "malformed ENDPOINT: %u queues, at most %d", a->nqps, PERF_QPS_MAX);
        return -EPROTO;
    }
    for (uint32_t i = 0; i < a->nqps; i++)
        a->qpn[i] = (uint32_t)oob_get(r, 4);
    if (!r->ok || r->used != r->size || a->psn > 0xffffff || (a->link != 1 && a->link != 2) || a->mtu < 256 ||
        a->mtu > 4096 || (a->mtu & (a->mtu - 1))) {
        snprintf(why, PARSE_WHY_SIZE, "malformed ENDPOINT: %zu bytes, link %u, MTU %u, PSN 0x%x", r->size, a->link,
                 a->mtu, a->psn);
        return -EPROTO;
    }
    return 0;
}
