/* SPDX-License-Identifier: Apache-2.0 */
/* Export of a queue pair: the template of the device's struct, its doorbell, its handler. */
#include <stdlib.h>
#include <string.h>

#include "common/gdaki_wqe.h"
#include "host/export.h"
#include "host/hooks.h"
#include "host/sdk.h"
#include "host/uar.h"
#include "host/v2.h"

#define WQEBBS_MAX 32768u /* indices in WQEs and CQEs have 16 bits */

/* What the getters of QP and CQ said, whoever made them. */
struct queue_facts {
    uint8_t *sq, *cq_ring;
    uint32_t sq_wqebbs, cqe_num, cqn, qpn;
    uint32_t *record, *cq_record;
    void *uar;
    uint8_t cqe_size;
    bool collapsed, internal_memory;
    enum doca_verbs_qp_send_dbr_mode dbr_mode;
};

/* An SDK's QP tells its record mode only through a query. */
static doca_error_t sdk_record_mode(doca_verbs_qp_t *qp, enum doca_verbs_qp_send_dbr_mode *mode)
{
    doca_verbs_qp_attr_t *attr = NULL;
    doca_verbs_qp_init_attr_t *init = NULL;
    doca_error_t err = doca_verbs_qp_attr_create(&attr);

    if (err == DOCA_SUCCESS)
        err = doca_verbs_qp_init_attr_create(&init);
    if (err == DOCA_SUCCESS)
        err = doca_verbs_qp_query(qp, attr, init, NULL);
    if (err == DOCA_SUCCESS)
        err = doca_verbs_qp_init_attr_get_send_dbr_mode(init, mode);
    if (init != NULL)
        doca_verbs_qp_init_attr_destroy(init);
    if (attr != NULL)
        doca_verbs_qp_attr_destroy(attr);
    return err;
}

static doca_error_t gather(doca_verbs_qp_t *qp, doca_verbs_cq_t *cq, struct queue_facts *f)
{
    void *sq = NULL, *ring = NULL, *record = NULL;
    uint64_t *cq_register;
    doca_error_t err = doca_verbs_qp_get_wq(qp, &sq, &f->sq_wqebbs, NULL, NULL, NULL);

    if (err == DOCA_SUCCESS)
        err = doca_verbs_qp_get_dbr_addr(qp, &record);
    if (err == DOCA_SUCCESS)
        err = doca_verbs_qp_get_uar_addr(qp, &f->uar);
    if (err == DOCA_SUCCESS)
        err = doca_verbs_qp_get_qpn(qp, &f->qpn);
    if (err == DOCA_SUCCESS)
        err = doca_verbs_cq_get_wq(cq, &ring, &f->cqe_num, &f->cqe_size);
    if (err == DOCA_SUCCESS)
        err = doca_verbs_cq_get_dbr_addr(cq, &cq_register, &f->cq_record, NULL);
    if (err == DOCA_SUCCESS)
        err = doca_verbs_cq_get_cqn(cq, &f->cqn);
    if (err != DOCA_SUCCESS)
        return err;
    f->sq = sq;
    f->cq_ring = ring;
    f->record = record;
    f->collapsed = !IS_SDK(cq) && cq->open->collapsed;
    f->internal_memory = (!IS_SDK(qp) && qp->open->memory.buffer != NULL) || (!IS_SDK(cq) && cq->open->memory.buffer != NULL);
    if (IS_SDK(qp))
        return sdk_record_mode(qp, &f->dbr_mode);
    f->dbr_mode = qp->open->init.send_dbr_mode;
    return DOCA_SUCCESS;
}

#define REFUSE(...) return HOST_ERR(DOCA_ERROR_INVALID_VALUE, "exporting a QP: " __VA_ARGS__)

static doca_error_t check_modes(const struct queue_facts *f, enum doca_gpu_dev_verbs_nic_handler handler,
                                enum doca_gpu_verbs_send_dbr_mode_ext mode)
{
    bool no_record = f->dbr_mode == DOCA_VERBS_QP_SEND_DBR_MODE_NO_DBR_EXT;

    switch (handler) {
    case DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO:
    case DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY:
    case DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_DB:
    case DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_BF:
        break;
    case DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_NO_DBR:
        if (mode == DOCA_GPUNETIO_VERBS_SEND_DBR_MODE_EXT_VALID_DBR)
            REFUSE("handler GPU_SM_NO_DBR with record mode VALID_DBR");
        break;
    default:
        REFUSE("NIC handler %d does not exist", (int)handler);
    }
    switch (mode) {
    case DOCA_GPUNETIO_VERBS_SEND_DBR_MODE_EXT_VALID_DBR:
        if (no_record)
            REFUSE("record mode VALID_DBR, but QP 0x%x was created without a record", f->qpn);
        return DOCA_SUCCESS;
    case DOCA_GPUNETIO_VERBS_SEND_DBR_MODE_EXT_NO_DBR_HW:
        if (!no_record)
            REFUSE("record mode NO_DBR_HW, but QP 0x%x was created with a record", f->qpn);
        return DOCA_SUCCESS;
    case DOCA_GPUNETIO_VERBS_SEND_DBR_MODE_EXT_NO_DBR_SW_EMULATED:
        if (no_record)
            REFUSE("record mode NO_DBR_SW_EMULATED, but QP 0x%x has no record to write", f->qpn);
        return DOCA_SUCCESS;
    }
    REFUSE("record mode %d does not exist", (int)mode);
}

static doca_error_t check_facts(const struct gdaki_gpu_ops *ops, const struct queue_facts *f)
{
    if (f->sq_wqebbs == 0 || !is_power_of_two(f->sq_wqebbs) || f->sq_wqebbs > WQEBBS_MAX)
        REFUSE("QP 0x%x has a send ring of %u basic blocks, not a power of two up to %u", f->qpn, f->sq_wqebbs, WQEBBS_MAX);
    if (f->sq == NULL || f->record == NULL || f->uar == NULL || f->cq_ring == NULL)
        REFUSE("QP 0x%x has no ring, record, register or CQ ring", f->qpn);
    if (!is_power_of_two(f->cqe_num) || (!f->collapsed && f->cqe_num < f->sq_wqebbs))
        REFUSE("CQ 0x%x of %u entries under a send ring of %u: kernels need a slot for each WQE", f->cqn, f->cqe_num,
               f->sq_wqebbs);
    if (f->internal_memory && !gpu_memory_is_host(ops))
        REFUSE("QP 0x%x or CQ 0x%x lies in the library's own host memory, which the GPU does not map; give external umems",
               f->qpn, f->cqn);
    return DOCA_SUCCESS;
}

static enum doca_gpu_dev_verbs_mem_type mem_type_of(const struct gdaki_gpu_ops *ops, const void *ptr)
{
    enum gdaki_gpu_space space = GDAKI_GPU_SPACE_HOST;

    ops->pointer_space(ptr, &space);
    return space == GDAKI_GPU_SPACE_DEVICE ? DOCA_GPUNETIO_VERBS_MEM_TYPE_GPU : DOCA_GPUNETIO_VERBS_MEM_TYPE_HOST;
}

static void fill_cq(struct doca_gpu_dev_verbs_cq *cq, const struct queue_facts *f, const struct gdaki_gpu_ops *ops)
{
    cq->cqe_daddr = f->cq_ring;
    cq->cq_num = f->cqn;
    cq->cqe_num = f->cqe_num;
    cq->cqe_mask = f->cqe_num - 1;
    cq->cqe_size = f->cqe_size;
    cq->dbrec = (__be32 *)f->cq_record;
    cq->gdaki_kind = f->collapsed ? GDAKI_CQ_KIND_COLLAPSED : GDAKI_CQ_KIND_REGULAR;
    cq->mem_type = mem_type_of(ops, f->cq_ring);
}

static void fill_template(struct doca_gpu_dev_verbs_qp *d, const struct queue_facts *f, const struct gdaki_gpu_ops *ops)
{
    d->sq_num = f->qpn;
    d->sq_num_shift8 = f->qpn << 8;
    d->sq_num_shift8_be = gdaki_qpn_ds_be(f->qpn, 0);
    d->sq_num_shift8_be_1ds = gdaki_qpn_ds_be(f->qpn, 1);
    d->sq_num_shift8_be_2ds = gdaki_qpn_ds_be(f->qpn, 2);
    d->sq_num_shift8_be_3ds = gdaki_qpn_ds_be(f->qpn, 3);
    d->sq_num_shift8_be_4ds = gdaki_qpn_ds_be(f->qpn, 4);
    d->sq_num_shift8_be_5ds = gdaki_qpn_ds_be(f->qpn, 5);
    d->sq_wqe_num = (uint16_t)f->sq_wqebbs;
    d->sq_wqe_mask = (uint16_t)(f->sq_wqebbs - 1);
    d->sq_wqe_daddr = f->sq;
    d->sq_dbrec = (__be32 *)(f->record + 1);
    d->mem_type = mem_type_of(ops, f->sq);
    /* Keys given to kernels may name host memory whatever the ring is, so a release must reach that far. */
    d->gdaki_flags = GDAKI_QP_FLAG_HOST_PAYLOAD;
    fill_cq(&d->cq_sq, f, ops);
}

static doca_error_t use_proxy(struct exported_qp *q, const struct queue_facts *f)
{
    void *gpu = NULL, *cpu = NULL;
    doca_error_t err;

    if (mem_type_of(q->ops, f->record) == DOCA_GPUNETIO_VERBS_MEM_TYPE_GPU)
        REFUSE("CPU-assisted doorbells of QP 0x%x: its doorbell record %p lies in GPU memory, which the CPU does not reach",
               f->qpn, (void *)f->record);
    err = doca_gpu_mem_alloc(q->pub.gpu_dev, sizeof(uint64_t), 0, DOCA_GPU_MEM_TYPE_CPU_GPU, &gpu, &cpu);
    if (err != DOCA_SUCCESS)
        return err;
    *(uint64_t *)cpu = 0;
    q->full_proxy = true;
    q->pub.cpu_proxy = true;
    q->pub.cpu_db = cpu;
    q->pub.qp_cpu->sq_db = gpu;
    q->pub.qp_cpu->nic_handler = DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY;
    return DOCA_SUCCESS;
}

static enum doca_gpu_dev_verbs_nic_handler resolve_auto(const struct queue_facts *f,
                                                        enum doca_gpu_verbs_send_dbr_mode_ext mode)
{
    bool no_record = f->dbr_mode == DOCA_VERBS_QP_SEND_DBR_MODE_NO_DBR_EXT ||
                     mode == DOCA_GPUNETIO_VERBS_SEND_DBR_MODE_EXT_NO_DBR_SW_EMULATED;

    return no_record ? DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_NO_DBR : DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_DB;
}

static doca_error_t connect_doorbell(struct exported_qp *q, const struct queue_facts *f,
                                     enum doca_gpu_dev_verbs_nic_handler handler, enum doca_gpu_verbs_send_dbr_mode_ext mode)
{
    bool is_auto = handler == DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO;
    doca_error_t err;

    if (handler == DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY)
        return use_proxy(q, f);
    err = uar_map(q->ops, f->uar, &q->uar_gpu);
    if (err != DOCA_SUCCESS) {
        if (is_auto) {
            HOST_LOG(LOG_NOTICE, "QP 0x%x: the GPU cannot map the doorbell register, so the CPU rings (CPU_PROXY)", f->qpn);
            return use_proxy(q, f);
        }
        return HOST_ERR(err, "exporting QP 0x%x: the GPU cannot map doorbell register %p, which handler %d needs", f->qpn,
                        f->uar, (int)handler);
    }
    q->pub.qp_cpu->sq_db = q->uar_gpu;
    q->pub.qp_cpu->nic_handler = is_auto ? resolve_auto(f, mode) : handler;
    if (mode != DOCA_GPUNETIO_VERBS_SEND_DBR_MODE_EXT_NO_DBR_SW_EMULATED)
        return DOCA_SUCCESS;
    if (mem_type_of(q->ops, f->record) == DOCA_GPUNETIO_VERBS_MEM_TYPE_GPU) {
        REFUSE("record mode NO_DBR_SW_EMULATED of QP 0x%x: the CPU does not reach its doorbell record in GPU memory", f->qpn);
    }
    q->assisted = true;
    q->pub.cpu_proxy = true; /* cpu_db follows once the device copy exists */
    return DOCA_SUCCESS;
}

static void destroy_exported(struct exported_qp *q)
{
    services_forget(q);
    if (q->full_proxy)
        doca_gpu_mem_free(q->pub.gpu_dev, q->pub.qp_cpu->sq_db);
    if (q->uar_gpu != NULL)
        uar_unmap(q->uar_gpu);
    free(q->pub.qp_cpu);
    free(q);
}

static doca_error_t build(struct exported_qp *q, doca_verbs_qp_t *qp, doca_verbs_cq_t *cq,
                          enum doca_gpu_dev_verbs_nic_handler handler, enum doca_gpu_verbs_send_dbr_mode_ext mode)
{
    struct queue_facts f = {0};
    doca_error_t err = gather(qp, cq, &f);

    if (err == DOCA_SUCCESS)
        err = check_modes(&f, handler, mode);
    if (err == DOCA_SUCCESS)
        err = check_facts(q->ops, &f);
    if (err != DOCA_SUCCESS)
        return err;
    fill_template(q->pub.qp_cpu, &f, q->ops);
    q->cq = cq;
    q->record_word = f.record + 1;
    q->pub.qp = qp;
    q->soft = !IS_SDK(qp) && qp->open->nic->kind == GDAKI_NIC_SOFTNIC ? qp->open->nic : NULL;
    q->pub.sq_db = f.uar;
    q->pub.sq_dbrec = (__be32 *)q->record_word;
    q->pub.sq_num_shift8_be = q->pub.qp_cpu->sq_num_shift8_be;
    q->pub.send_dbr_mode_ext = mode;
    return connect_doorbell(q, &f, handler, mode);
}

doca_error_t doca_gpu_verbs_export_qp(doca_gpu_t *gpu_dev, doca_verbs_qp_t *qp,
                                      enum doca_gpu_dev_verbs_nic_handler nic_handler, void *gpu_qp_umem_dev_ptr,
                                      doca_verbs_cq_t *cq_sq, enum doca_gpu_verbs_send_dbr_mode_ext send_dbr_mode_ext,
                                      struct doca_gpu_verbs_qp **qp_out)
{
    const char *missing = !gpu_handle_is_valid(gpu_dev)              ? "gpu_dev"
                          : qp == NULL || qp->open == NULL           ? "qp"
                          : cq_sq == NULL || cq_sq->open == NULL     ? "cq_sq"
                          : qp_out == NULL                           ? "qp_out"
                                                                     : NULL;
    struct exported_qp *q;
    doca_error_t err;

    (void)gpu_qp_umem_dev_ptr; /* the QP knows its ring */
    if (missing != NULL)
        return HOST_ERR(DOCA_ERROR_INVALID_VALUE, "exporting a QP: %s is NULL", missing);
    hooks_connect();
    q = calloc(1, sizeof(*q));
    if (q != NULL)
        q->pub.qp_cpu = calloc(1, sizeof(*q->pub.qp_cpu));
    if (q == NULL || q->pub.qp_cpu == NULL) {
        free(q);
        return HOST_ERR(DOCA_ERROR_NO_MEMORY, "exporting a QP: no memory");
    }
    q->pub.gpu_dev = gpu_dev;
    q->ops = gpu_ops_of(gpu_dev);
    err = build(q, qp, cq_sq, nic_handler, send_dbr_mode_ext);
    if (err != DOCA_SUCCESS) {
        destroy_exported(q);
        return err;
    }
    HOST_LOG(LOG_INFO, "QP 0x%x exported: handler %d, ring in %s memory, proxy %s", q->pub.qp_cpu->sq_num,
             (int)q->pub.qp_cpu->nic_handler,
             q->pub.qp_cpu->mem_type == DOCA_GPUNETIO_VERBS_MEM_TYPE_GPU ? "GPU" : "host", q->pub.cpu_proxy ? "yes" : "no");
    *qp_out = &q->pub;
    return DOCA_SUCCESS;
}

doca_error_t doca_gpu_verbs_export_qp_v1(doca_gpu_t *gpu_dev, doca_verbs_qp_t *qp,
                                         enum doca_gpu_dev_verbs_nic_handler nic_handler, void *gpu_qp_umem_dev_ptr,
                                         doca_verbs_cq_t *cq_sq, struct doca_gpu_verbs_qp **qp_out)
{
    return doca_gpu_verbs_export_qp(gpu_dev, qp, nic_handler, gpu_qp_umem_dev_ptr, cq_sq,
                                    DOCA_GPUNETIO_VERBS_SEND_DBR_MODE_EXT_VALID_DBR, qp_out);
}

/* The CPU follows sq_wqe_pi of an assisted queue, so its device copy must be memory that the CPU reads. */
static enum doca_gpu_mem_type device_copy_type(const struct exported_qp *q)
{
    return q->assisted ? DOCA_GPU_MEM_TYPE_GPU_CPU : DOCA_GPU_MEM_TYPE_GPU;
}

static void attach_device_copy(struct exported_qp *q, struct doca_gpu_dev_verbs_qp *gpu, struct doca_gpu_dev_verbs_qp *cpu)
{
    services_hold();
    q->pub.qp_gpu = gpu;
    q->pub.qp_gpu_h = q->assisted ? cpu : NULL;
    if (q->assisted)
        q->pub.cpu_db = &cpu->sq_wqe_pi;
    services_release();
}

static void detach_device_copy(struct exported_qp *q)
{
    services_hold();
    q->pub.qp_gpu = NULL;
    q->pub.qp_gpu_h = NULL;
    if (q->assisted)
        q->pub.cpu_db = NULL;
    services_release();
    q->in_array = false;
}

doca_error_t doca_gpu_verbs_get_qp_dev(struct doca_gpu_verbs_qp *qp, struct doca_gpu_dev_verbs_qp **qp_gpu)
{
    struct exported_qp *q;
    void *gpu = NULL, *cpu = NULL;
    doca_error_t err;

    if (qp == NULL || qp_gpu == NULL)
        return HOST_ERR(DOCA_ERROR_INVALID_VALUE, "getting a device QP: %s is NULL", qp == NULL ? "qp" : "qp_gpu");
    q = exported_of(qp);
    if (qp->qp_gpu == NULL) {
        err = doca_gpu_mem_alloc(qp->gpu_dev, sizeof(*qp->qp_gpu), DOCA_GPUNETIO_VERBS_PAGE_SIZE, device_copy_type(q), &gpu,
                                 &cpu);
        if (err != DOCA_SUCCESS)
            return HOST_PASS_ON(DOCA_ERROR_DRIVER, "getting the device copy of QP 0x%x: no memory", qp->qp_cpu->sq_num);
        if (q->ops->copy(gpu, qp->qp_cpu, sizeof(*qp->qp_cpu)) != 0) {
            doca_gpu_mem_free(qp->gpu_dev, gpu);
            return HOST_ERR(DOCA_ERROR_DRIVER, "copying QP 0x%x to the device: %s", qp->qp_cpu->sq_num, q->ops->last_error());
        }
        attach_device_copy(q, gpu, cpu);
    }
    *qp_gpu = qp->qp_gpu;
    return DOCA_SUCCESS;
}

doca_error_t doca_gpu_verbs_unexport_qp(doca_gpu_t *gpu_dev, struct doca_gpu_verbs_qp *qp)
{
    struct exported_qp *q;

    if (!gpu_handle_is_valid(gpu_dev) || qp == NULL)
        return HOST_ERR(DOCA_ERROR_INVALID_VALUE, "unexporting a QP: %s is NULL", qp == NULL ? "qp" : "gpu_dev");
    q = exported_of(qp);
    if (q->in_array)
        return HOST_ERR(DOCA_ERROR_INVALID_VALUE,
                        "unexporting QP 0x%x: its device copy lies in an array; call unexport_multi_qps_dev first",
                        qp->qp_cpu->sq_num);
    if (qp->qp_gpu != NULL) {
        struct doca_gpu_dev_verbs_qp *gpu = qp->qp_gpu, *cpu = qp->qp_gpu_h;
        doca_error_t err;

        detach_device_copy(q); /* first: a service may be reading the counter of an assisted queue there */
        err = doca_gpu_mem_free(gpu_dev, gpu);
        if (err != DOCA_SUCCESS)
            attach_device_copy(q, gpu, cpu);
        if (err != DOCA_SUCCESS)
            return HOST_PASS_ON(err, "unexporting QP 0x%x: its device copy could not be freed", qp->qp_cpu->sq_num);
    }
    destroy_exported(q);
    return DOCA_SUCCESS;
}

/* ---- arrays ------------------------------------------------------------------------------------------------------- */

static doca_error_t check_array(const doca_gpu_t *gpu_dev, struct doca_gpu_verbs_qp *const *qps, unsigned int num_qps)
{
    if (!gpu_handle_is_valid(gpu_dev) || qps == NULL || num_qps == 0)
        return HOST_ERR(DOCA_ERROR_INVALID_VALUE, "an array of %u device QPs: %s", num_qps,
                        num_qps == 0 ? "it is empty" : qps == NULL ? "qps is NULL" : "gpu_dev is NULL");
    for (unsigned int i = 0; i < num_qps; i++) {
        if (qps[i] == NULL)
            return HOST_ERR(DOCA_ERROR_INVALID_VALUE, "an array of %u device QPs: qps[%u] is NULL", num_qps, i);
    }
    return DOCA_SUCCESS;
}

doca_error_t doca_gpu_verbs_export_multi_qps_dev(doca_gpu_t *gpu_dev, struct doca_gpu_verbs_qp **qps, unsigned int num_qps,
                                                 struct doca_gpu_dev_verbs_qp **out_qp_gpus)
{
    enum doca_gpu_mem_type type = DOCA_GPU_MEM_TYPE_GPU;
    struct doca_gpu_dev_verbs_qp *host;
    void *gpu = NULL, *cpu = NULL;
    size_t bytes = (size_t)num_qps * sizeof(*host);
    doca_error_t err = check_array(gpu_dev, qps, num_qps);

    if (err != DOCA_SUCCESS)
        return err;
    if (out_qp_gpus == NULL)
        return HOST_ERR(DOCA_ERROR_INVALID_VALUE, "an array of %u device QPs: out_qp_gpus is NULL", num_qps);
    for (unsigned int i = 0; i < num_qps; i++) {
        if (qps[i]->qp_gpu != NULL)
            return HOST_ERR(DOCA_ERROR_INVALID_VALUE, "an array of device QPs: QP 0x%x has a device copy already",
                            qps[i]->qp_cpu->sq_num);
        if (exported_of(qps[i])->assisted)
            type = DOCA_GPU_MEM_TYPE_GPU_CPU;
    }
    host = malloc(bytes);
    if (host == NULL)
        return HOST_ERR(DOCA_ERROR_NO_MEMORY, "an array of %u device QPs: no memory", num_qps);
    for (unsigned int i = 0; i < num_qps; i++)
        host[i] = *qps[i]->qp_cpu;
    err = doca_gpu_mem_alloc(gpu_dev, bytes, DOCA_GPUNETIO_VERBS_PAGE_SIZE, type, &gpu, &cpu);
    if (err == DOCA_SUCCESS && exported_of(qps[0])->ops->copy(gpu, host, bytes) != 0) {
        doca_gpu_mem_free(gpu_dev, gpu);
        err = DOCA_ERROR_DRIVER;
    }
    free(host);
    if (err != DOCA_SUCCESS)
        return HOST_ERR(DOCA_ERROR_DRIVER, "an array of %u device QPs: %zu bytes could not be placed on the device", num_qps,
                        bytes);
    for (unsigned int i = 0; i < num_qps; i++) {
        attach_device_copy(exported_of(qps[i]), (struct doca_gpu_dev_verbs_qp *)gpu + i,
                           cpu != NULL ? (struct doca_gpu_dev_verbs_qp *)cpu + i : NULL);
        exported_of(qps[i])->in_array = true;
    }
    *out_qp_gpus = gpu;
    return DOCA_SUCCESS;
}

doca_error_t doca_gpu_verbs_unexport_multi_qps_dev(doca_gpu_t *gpu_dev, struct doca_gpu_verbs_qp **qps,
                                                   unsigned int num_qps, struct doca_gpu_dev_verbs_qp *qp_gpus)
{
    struct doca_gpu_dev_verbs_qp *cpu = NULL; /* the CPU's address of the array, if a member is assisted */
    doca_error_t err = check_array(gpu_dev, qps, num_qps);

    if (err != DOCA_SUCCESS)
        return err;
    for (unsigned int i = 0; i < num_qps; i++) {
        if (qp_gpus == NULL || qps[i]->qp_gpu != qp_gpus + i || !exported_of(qps[i])->in_array)
            return HOST_ERR(DOCA_ERROR_INVALID_VALUE, "freeing an array of device QPs: %p is not the array of qps[%u]",
                            (void *)qp_gpus, i);
    }
    for (unsigned int i = 0; i < num_qps; i++) {
        if (exported_of(qps[i])->assisted)
            cpu = qps[i]->qp_gpu_h - i;
        detach_device_copy(exported_of(qps[i])); /* first: services may be reading counters there */
    }
    err = doca_gpu_mem_free(gpu_dev, qp_gpus);
    for (unsigned int i = 0; err != DOCA_SUCCESS && i < num_qps; i++) {
        attach_device_copy(exported_of(qps[i]), qp_gpus + i, cpu != NULL ? cpu + i : NULL);
        exported_of(qps[i])->in_array = true;
    }
    return err;
}
