/* SPDX-License-Identifier: Apache-2.0 */
/* A queue with everything that belongs to it in one call, single or as a group of main and companion. */
#include <stdlib.h>
#include <string.h>

#include "host/export.h"
#include "host/queue_mem.h"
#include "host/sdk.h"
#include "host/uar.h"

#define NWQE_MAX 32768u

/* What stands behind the public structs, which come first. */
struct single {
    struct doca_gpu_verbs_qp_hl pub;
    doca_dev_t *own_dev; /* opened from ibpd for callers of 2.0 */
};

struct group {
    struct doca_gpu_verbs_qp_group_hl pub;
    doca_dev_t *own_dev;
};

/* What both queues of a group have in common. */
struct plan {
    struct queue_mem_maker maker;
    struct doca_gpu_verbs_qp_init_attr_hl attr; /* with sq_nwqe rounded */
    enum doca_gpu_mem_type ring_memory, record_memory;
    enum doca_gpu_dev_verbs_nic_handler handler; /* resolved */
    doca_verbs_uar_t *uar;
};

/* ---- checks and choices ------------------------------------------------------------------------------------------- */

#define REFUSE(...) return HOST_ERR(DOCA_ERROR_INVALID_VALUE, "creating a high-level QP: " __VA_ARGS__)

static bool handler_is_allowed(enum doca_gpu_dev_verbs_nic_handler handler, bool group)
{
    return handler == DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO || handler == DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY ||
           handler == DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_DB ||
           (!group && handler == DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_BF);
}

static doca_error_t check_attr(const struct doca_gpu_verbs_qp_init_attr_hl *a, const void *out, bool group)
{
    if (a == NULL || out == NULL)
        REFUSE("%s is NULL", a == NULL ? "qp_init_attr" : "the result pointer");
    if (!gpu_handle_is_valid(a->gpu_dev))
        REFUSE("gpu_dev is NULL");
    if (a->ibpd == NULL || (a->net_dev != NULL && a->net_dev->open == NULL))
        REFUSE("%s is NULL", a->ibpd == NULL ? "ibpd" : "net_dev's object");
    if (a->sq_nwqe == 0 || a->sq_nwqe > NWQE_MAX)
        REFUSE("sq_nwqe %u is not in 1..%u", a->sq_nwqe, NWQE_MAX);
    if (!handler_is_allowed(a->nic_handler, group))
        REFUSE("NIC handler %d is not one of AUTO, CPU_PROXY, GPU_SM_DB%s", (int)a->nic_handler, group ? "" : ", GPU_SM_BF");
    if ((unsigned)a->mreg_type >= DOCA_GPUNETIO_VERBS_MEM_REG_TYPE_MAX)
        REFUSE("memory registration type %d does not exist", (int)a->mreg_type);
    if ((unsigned)a->send_dbr_mode_ext > DOCA_GPUNETIO_VERBS_SEND_DBR_MODE_EXT_NO_DBR_SW_EMULATED)
        REFUSE("record mode %d does not exist", (int)a->send_dbr_mode_ext);
    if ((unsigned)a->ordering_semantic > DOCA_VERBS_QP_ORDERING_SEMANTIC_OOO_ALL)
        REFUSE("ordering semantic %d does not exist", (int)a->ordering_semantic);
    return DOCA_SUCCESS;
}

static bool cpu_writes_record(const struct plan *p)
{
    return p->handler == DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY ||
           p->attr.send_dbr_mode_ext == DOCA_GPUNETIO_VERBS_SEND_DBR_MODE_EXT_NO_DBR_SW_EMULATED;
}

static doca_error_t create_uar(const struct plan *p, doca_verbs_uar_t **uar)
{
    doca_error_t err;

    if (p->attr.nic_handler == DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_BF)
        return doca_verbs_uar_create(p->maker.dev, DOCA_VERBS_UAR_ALLOCATION_TYPE_BLUEFLAME, uar);
    err = doca_verbs_uar_create(p->maker.dev, DOCA_VERBS_UAR_ALLOCATION_TYPE_NONCACHE_DEDICATED, uar);
    if (err != DOCA_SUCCESS)
        err = doca_verbs_uar_create(p->maker.dev, DOCA_VERBS_UAR_ALLOCATION_TYPE_NONCACHE, uar);
    return err;
}

static doca_error_t resolve_handler(struct plan *p)
{
    p->handler = p->attr.nic_handler;
    if (p->handler == DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO) {
        void *reg = NULL;
        doca_error_t err = doca_verbs_uar_reg_addr_get(p->uar, &reg);

        if (err != DOCA_SUCCESS)
            return err;
        p->handler = uar_can_map(gpu_ops_of(p->maker.gpu), reg) ? DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_DB
                                                                : DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY;
    }
    if (p->handler == DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_DB &&
        p->attr.send_dbr_mode_ext != DOCA_GPUNETIO_VERBS_SEND_DBR_MODE_EXT_VALID_DBR)
        p->handler = DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_NO_DBR;
    return DOCA_SUCCESS;
}

/* Opens a device from the PD where the caller, who speaks 2.0, gave none. */
static doca_error_t prepare(struct plan *p, const struct doca_gpu_verbs_qp_init_attr_hl *attr, doca_dev_t **own_dev)
{
    const struct gdaki_nic_ops *nic;
    struct queue_mem_choice choice;
    doca_error_t err = DOCA_SUCCESS;

    p->attr = *attr;
    p->attr.sq_nwqe = (uint16_t)round_up_power_of_two(attr->sq_nwqe);
    if (attr->net_dev == NULL)
        err = doca_verbs_dev_open(attr->ibpd, own_dev);
    if (err != DOCA_SUCCESS)
        return err;
    p->maker = (struct queue_mem_maker){
        .gpu = attr->gpu_dev, .dev = attr->net_dev != NULL ? attr->net_dev : *own_dev, .mreg = attr->mreg_type};
    err = create_uar(p, &p->uar);
    if (err == DOCA_SUCCESS)
        err = resolve_handler(p);
    if (err != DOCA_SUCCESS)
        return err;
    nic = host_nic_of(attr->ibpd->context);
    choice = queue_mem_choose(gpu_ops_of(attr->gpu_dev), nic != NULL ? nic->kind : GDAKI_NIC_RDMA_CORE);
    if (!choice.valid)
        return DOCA_ERROR_BAD_CONFIG;
    p->ring_memory = choice.type;
    p->record_memory = cpu_writes_record(p) ? DOCA_GPU_MEM_TYPE_CPU_GPU : choice.type;
    HOST_LOG(LOG_INFO, "queue rings in %s memory: %s", choice.type == DOCA_GPU_MEM_TYPE_GPU ? "GPU" : "host", choice.why);
    return DOCA_SUCCESS;
}

/* ---- parts -------------------------------------------------------------------------------------------------------- */

static size_t cq_bytes(uint32_t entries)
{
    return (size_t)entries * HOST_CQE_BYTES + HOST_RECORD_BYTES; /* the record lies right behind the ring */
}

static doca_error_t init_cq_ring(const struct plan *p, void *memory, uint32_t entries)
{
    const struct gdaki_gpu_ops *ops = gpu_ops_of(p->maker.gpu);
    size_t bytes = align_up(cq_bytes(entries), host_page_size());
    uint8_t *image = calloc(1, bytes);
    int err;

    if (image == NULL)
        return HOST_ERR(DOCA_ERROR_NO_MEMORY, "initialising a CQ ring of %u entries: no memory", entries);
    for (uint32_t i = 0; i < entries; i++)
        image[(size_t)i * HOST_CQE_BYTES + HOST_CQE_BYTES - 1] = HOST_CQE_INVALID;
    err = ops->copy(memory, image, bytes);
    free(image);
    return err == 0 ? DOCA_SUCCESS
                    : HOST_ERR(DOCA_ERROR_DRIVER, "initialising a CQ ring of %u entries: %s", entries, ops->last_error());
}

/* CQ attributes; shared_uar NULL leaves the choice to the CQ. */
static doca_error_t fill_cq_attr(const struct plan *p, doca_verbs_cq_attr_t *attr, doca_verbs_umem_t *umem,
                                 doca_verbs_uar_t *shared_uar)
{
    doca_error_t err = doca_verbs_cq_attr_set_cq_size(attr, p->attr.sq_nwqe);

    if (err == DOCA_SUCCESS)
        err = doca_verbs_cq_attr_set_external_umem(attr, umem, 0);
    if (err == DOCA_SUCCESS)
        err = doca_verbs_cq_attr_set_cq_overrun(attr, DOCA_VERBS_CQ_ENABLE_OVERRUN);
    if (err == DOCA_SUCCESS && p->attr.cq_collapsed)
        err = doca_verbs_cq_attr_set_cq_collapsed(attr, 1);
    if (err == DOCA_SUCCESS && shared_uar != NULL)
        err = doca_verbs_cq_attr_set_external_uar(attr, shared_uar);
    return err;
}

static doca_error_t create_cq(const struct plan *p, struct doca_gpu_verbs_qp_hl *hl, doca_verbs_uar_t *shared_uar)
{
    doca_verbs_cq_attr_t *attr = NULL;
    struct queue_piece piece = {0};
    doca_error_t err = queue_piece_create(&p->maker, p->ring_memory, cq_bytes(p->attr.sq_nwqe), &piece);

    if (err != DOCA_SUCCESS)
        return err;
    hl->cq_sq_umem_gpu_ptr = piece.memory;
    hl->cq_sq_umem = piece.umem;
    err = init_cq_ring(p, piece.memory, p->attr.sq_nwqe);
    if (err == DOCA_SUCCESS)
        err = doca_verbs_cq_attr_create(&attr);
    if (err == DOCA_SUCCESS)
        err = fill_cq_attr(p, attr, piece.umem, shared_uar);
    if (err == DOCA_SUCCESS)
        err = doca_verbs_cq_create(p->maker.dev, attr, &hl->cq_sq);
    if (attr != NULL)
        doca_verbs_cq_attr_destroy(attr);
    return err;
}

static doca_error_t create_qp_memory(const struct plan *p, struct doca_gpu_verbs_qp_hl *hl)
{
    const struct gdaki_gpu_ops *ops = gpu_ops_of(p->maker.gpu);
    size_t ring_bytes = (size_t)p->attr.sq_nwqe * HOST_WQEBB_BYTES, page = host_page_size();
    struct queue_piece ring = {0}, record = {0};
    doca_error_t err = queue_piece_create(&p->maker, p->ring_memory, ring_bytes, &ring);

    if (err != DOCA_SUCCESS)
        return err;
    hl->qp_umem_gpu_ptr = ring.memory;
    hl->qp_umem = ring.umem;
    err = queue_piece_create(&p->maker, p->record_memory, page, &record);
    if (err != DOCA_SUCCESS)
        return err;
    hl->qp_umem_dbr_gpu_ptr = record.memory;
    hl->qp_umem_dbr = record.umem;
    if (ops->fill(ring.memory, 0, ring_bytes) != 0 || ops->fill(record.memory, 0, page) != 0)
        return HOST_ERR(DOCA_ERROR_DRIVER, "clearing a send ring and its record: %s", ops->last_error());
    return DOCA_SUCCESS;
}

static doca_error_t fill_qp_attr(const struct plan *p, const struct doca_gpu_verbs_qp_hl *hl, bool companion,
                                 doca_verbs_qp_init_attr_t *attr)
{
    doca_error_t err = doca_verbs_qp_init_attr_set_pd(attr, p->maker.dev);

#define THEN(call)                                                                                                     \
    if (err == DOCA_SUCCESS)                                                                                           \
    err = (call)
    THEN(doca_verbs_qp_init_attr_set_qp_type(attr, DOCA_VERBS_QP_TYPE_RC));
    THEN(doca_verbs_qp_init_attr_set_sq_wr(attr, p->attr.sq_nwqe));
    THEN(doca_verbs_qp_init_attr_set_rq_wr(attr, 0));
    THEN(doca_verbs_qp_init_attr_set_send_max_sges(attr, 1));
    THEN(doca_verbs_qp_init_attr_set_receive_max_sges(attr, 1));
    THEN(doca_verbs_qp_init_attr_set_send_cq(attr, hl->cq_sq));
    THEN(doca_verbs_qp_init_attr_set_external_umem(attr, hl->qp_umem, 0));
    THEN(doca_verbs_qp_init_attr_set_external_umem_dbr(attr, hl->qp_umem_dbr, 0));
    THEN(doca_verbs_qp_init_attr_set_external_uar(attr, p->uar));
    if (companion)
        THEN(doca_verbs_qp_init_attr_set_core_direct_master(attr, 1));
    if (p->attr.send_dbr_mode_ext == DOCA_GPUNETIO_VERBS_SEND_DBR_MODE_EXT_NO_DBR_HW)
        THEN(doca_verbs_qp_init_attr_set_send_dbr_mode(attr, DOCA_VERBS_QP_SEND_DBR_MODE_NO_DBR_EXT));
    if (p->attr.ordering_semantic != DOCA_VERBS_QP_ORDERING_SEMANTIC_IBTA)
        THEN(doca_verbs_qp_init_attr_set_ordering_semantic(attr, p->attr.ordering_semantic));
#undef THEN
    return err;
}

static doca_error_t create_qp(const struct plan *p, struct doca_gpu_verbs_qp_hl *hl, bool companion)
{
    doca_verbs_qp_init_attr_t *attr = NULL;
    doca_error_t err = create_qp_memory(p, hl);

    if (err == DOCA_SUCCESS)
        err = doca_verbs_qp_init_attr_create(&attr);
    if (err == DOCA_SUCCESS)
        err = fill_qp_attr(p, hl, companion, attr);
    if (err == DOCA_SUCCESS)
        err = doca_verbs_qp_create(p->maker.dev, attr, &hl->qp);
    if (attr != NULL)
        doca_verbs_qp_init_attr_destroy(attr);
    return err;
}

/* Fills `hl` step by step; what is there after a failure is what destroy_queue takes away. */
static doca_error_t create_queue(const struct plan *p, struct doca_gpu_verbs_qp_hl *hl, bool companion,
                                 doca_verbs_uar_t *shared_uar)
{
    doca_error_t err;

    hl->gpu_dev = p->maker.gpu;
    hl->nic_handler = p->handler;
    hl->send_dbr_mode_ext = p->attr.send_dbr_mode_ext;
    hl->external_uar = p->uar;
    err = create_cq(p, hl, shared_uar);
    if (err == DOCA_SUCCESS)
        err = create_qp(p, hl, companion);
    if (err == DOCA_SUCCESS)
        err = doca_gpu_verbs_export_qp(hl->gpu_dev, hl->qp, p->handler, hl->qp_umem_gpu_ptr, hl->cq_sq,
                                       p->attr.send_dbr_mode_ext, &hl->qp_gverbs);
    return err;
}

/* ---- destruction: stops at the first refusal, so that a second call can go on from there ---------------------------- */

#define RELEASE(field, call)                                                                                           \
    do {                                                                                                               \
        if ((field) != NULL) {                                                                                         \
            doca_error_t release_err = (call);                                                                         \
                                                                                                                       \
            if (release_err != DOCA_SUCCESS)                                                                           \
                return release_err;                                                                                    \
            (field) = NULL;                                                                                            \
        }                                                                                                              \
    } while (0)

/* All but the UAR, which a group's queues share, as a rule. */
static doca_error_t destroy_queue(struct doca_gpu_verbs_qp_hl *hl)
{
    RELEASE(hl->qp_gverbs, doca_gpu_verbs_unexport_qp(hl->gpu_dev, hl->qp_gverbs));
    RELEASE(hl->qp, doca_verbs_qp_destroy(hl->qp));
    RELEASE(hl->qp_umem, doca_verbs_umem_destroy(hl->qp_umem));
    RELEASE(hl->qp_umem_gpu_ptr, doca_gpu_mem_free(hl->gpu_dev, hl->qp_umem_gpu_ptr));
    RELEASE(hl->qp_umem_dbr, doca_verbs_umem_destroy(hl->qp_umem_dbr));
    RELEASE(hl->qp_umem_dbr_gpu_ptr, doca_gpu_mem_free(hl->gpu_dev, hl->qp_umem_dbr_gpu_ptr));
    RELEASE(hl->cq_sq, doca_verbs_cq_destroy(hl->cq_sq));
    RELEASE(hl->cq_sq_umem, doca_verbs_umem_destroy(hl->cq_sq_umem));
    RELEASE(hl->cq_sq_umem_gpu_ptr, doca_gpu_mem_free(hl->gpu_dev, hl->cq_sq_umem_gpu_ptr));
    return DOCA_SUCCESS;
}

static doca_error_t destroy_single(struct single *s)
{
    doca_error_t err = destroy_queue(&s->pub);

    if (err != DOCA_SUCCESS)
        return err;
    RELEASE(s->pub.external_uar, doca_verbs_uar_destroy(s->pub.external_uar));
    RELEASE(s->own_dev, doca_verbs_dev_close(s->own_dev));
    free(s);
    return DOCA_SUCCESS;
}

static doca_error_t destroy_group(struct group *g)
{
    doca_error_t err = destroy_queue(&g->pub.qp_main);

    if (err == DOCA_SUCCESS)
        err = destroy_queue(&g->pub.qp_companion);
    if (err != DOCA_SUCCESS)
        return err;
    if (g->pub.qp_companion.external_uar == g->pub.qp_main.external_uar)
        g->pub.qp_companion.external_uar = NULL;
    RELEASE(g->pub.qp_companion.external_uar, doca_verbs_uar_destroy(g->pub.qp_companion.external_uar));
    RELEASE(g->pub.qp_main.external_uar, doca_verbs_uar_destroy(g->pub.qp_main.external_uar));
    RELEASE(g->own_dev, doca_verbs_dev_close(g->own_dev));
    free(g);
    return DOCA_SUCCESS;
}

/*
 * Without a record the register's last value is all that a NIC knows of a queue, and a NIC that looks at memory instead of
 * seeing each store (softnic) would lose one of two queues that store to one register. So the companion gets its own.
 */
static doca_error_t companion_uar(struct plan *p)
{
    if (p->attr.send_dbr_mode_ext != DOCA_GPUNETIO_VERBS_SEND_DBR_MODE_EXT_NO_DBR_HW)
        return DOCA_SUCCESS;
    p->uar = NULL;
    return create_uar(p, &p->uar);
}

/* ---- public ------------------------------------------------------------------------------------------------------- */

doca_error_t doca_gpu_verbs_create_qp_hl(struct doca_gpu_verbs_qp_init_attr_hl *qp_init_attr,
                                         struct doca_gpu_verbs_qp_hl **qp)
{
    struct plan plan = {0};
    struct single *s;
    doca_error_t err = check_attr(qp_init_attr, qp, false);

    if (err != DOCA_SUCCESS)
        return err;
    s = calloc(1, sizeof(*s));
    if (s == NULL)
        return HOST_ERR(DOCA_ERROR_NO_MEMORY, "creating a high-level QP: no memory");
    err = prepare(&plan, qp_init_attr, &s->own_dev);
    s->pub.external_uar = plan.uar;
    if (err == DOCA_SUCCESS)
        err = create_queue(&plan, &s->pub, false, NULL);
    if (err != DOCA_SUCCESS) {
        destroy_single(s);
        return HOST_PASS_ON(err, "creating a high-level QP of %u WQEs failed", qp_init_attr->sq_nwqe);
    }
    qp_init_attr->sq_nwqe = plan.attr.sq_nwqe;
    *qp = &s->pub;
    return DOCA_SUCCESS;
}

doca_error_t doca_gpu_verbs_destroy_qp_hl(struct doca_gpu_verbs_qp_hl *qp)
{
    if (qp == NULL)
        return HOST_ERR(DOCA_ERROR_INVALID_VALUE, "destroying a high-level QP: qp is NULL");
    return destroy_single((struct single *)(void *)qp);
}

doca_error_t doca_gpu_verbs_create_qp_group_hl(struct doca_gpu_verbs_qp_init_attr_hl *qp_init_attr,
                                               struct doca_gpu_verbs_qp_group_hl **qpg)
{
    struct plan plan = {0};
    struct group *g;
    doca_error_t err = check_attr(qp_init_attr, qpg, true);

    if (err != DOCA_SUCCESS)
        return err;
    g = calloc(1, sizeof(*g));
    if (g == NULL)
        return HOST_ERR(DOCA_ERROR_NO_MEMORY, "creating a QP group: no memory");
    err = prepare(&plan, qp_init_attr, &g->own_dev);
    g->pub.qp_main.external_uar = plan.uar;
    if (err == DOCA_SUCCESS)
        err = create_queue(&plan, &g->pub.qp_main, false, plan.uar);
    if (err == DOCA_SUCCESS)
        err = companion_uar(&plan);
    g->pub.qp_companion.external_uar = plan.uar;
    if (err == DOCA_SUCCESS)
        err = create_queue(&plan, &g->pub.qp_companion, true, plan.uar);
    if (err != DOCA_SUCCESS) {
        destroy_group(g);
        return HOST_PASS_ON(err, "creating a group of two QPs of %u WQEs failed", qp_init_attr->sq_nwqe);
    }
    qp_init_attr->sq_nwqe = plan.attr.sq_nwqe;
    *qpg = &g->pub;
    return DOCA_SUCCESS;
}

doca_error_t doca_gpu_verbs_destroy_qp_group_hl(struct doca_gpu_verbs_qp_group_hl *qpg)
{
    if (qpg == NULL)
        return HOST_ERR(DOCA_ERROR_INVALID_VALUE, "destroying a QP group: qpg is NULL");
    return destroy_group((struct group *)(void *)qpg);
}

/* Copies templates, not live state: the list is for queues that kernels have not used yet. */
doca_error_t doca_gpu_verbs_qp_flat_list_create_hl(struct doca_gpu_verbs_qp_hl **qp_list, uint32_t num_elems,
                                                   struct doca_gpu_dev_verbs_qp **qp_gpu)
{
    const struct gdaki_gpu_ops *ops;
    struct doca_gpu_dev_verbs_qp *host;
    void *gpu = NULL;
    size_t bytes = (size_t)num_elems * sizeof(*host);
    doca_error_t err = DOCA_SUCCESS;

    if (qp_list == NULL || num_elems == 0 || qp_gpu == NULL)
        return HOST_ERR(DOCA_ERROR_INVALID_VALUE, "a flat list of %u QPs: %s", num_elems,
                        num_elems == 0 ? "it is empty" : "an argument is NULL");
    for (uint32_t i = 0; i < num_elems; i++) {
        if (qp_list[i] == NULL || qp_list[i]->qp_gverbs == NULL)
            return HOST_ERR(DOCA_ERROR_INVALID_VALUE, "a flat list of %u QPs: element %u is NULL", num_elems, i);
        if (exported_of(qp_list[i]->qp_gverbs)->assisted)
            return HOST_ERR(DOCA_ERROR_NOT_SUPPORTED,
                            "a flat list: element %u is NO_DBR_SW_EMULATED, whose proxy follows its own device copy", i);
    }
    ops = exported_of(qp_list[0]->qp_gverbs)->ops;
    host = malloc(bytes);
    if (host == NULL)
        return HOST_ERR(DOCA_ERROR_NO_MEMORY, "a flat list of %u QPs: no memory", num_elems);
    for (uint32_t i = 0; i < num_elems; i++)
        host[i] = *qp_list[i]->qp_gverbs->qp_cpu;
    if (ops->alloc(qp_list[0]->gpu_dev->type == DOCA_GPU_LIB_TYPE_OPEN ? qp_list[0]->gpu_dev->open->device : 0, bytes, &gpu) != 0) {
        err = HOST_ERR(DOCA_ERROR_NO_MEMORY, "a flat list of %u QPs: %s", num_elems, ops->last_error());
    } else if (ops->copy(gpu, host, bytes) != 0) {
        err = HOST_ERR(DOCA_ERROR_DRIVER, "a flat list of %u QPs: %s", num_elems, ops->last_error());
        ops->free(gpu);
    }
    free(host);
    if (err == DOCA_SUCCESS)
        *qp_gpu = gpu;
    return err;
}

doca_error_t doca_gpu_verbs_qp_flat_list_destroy_hl(struct doca_gpu_dev_verbs_qp *qp_gpu)
{
    const struct gdaki_gpu_ops *ops = gdaki_gpu_current(NULL);

    if (qp_gpu == NULL)
        return HOST_ERR(DOCA_ERROR_INVALID_VALUE, "freeing a flat list: qp_gpu is NULL");
    if (ops->free(qp_gpu) != 0)
        return HOST_ERR(DOCA_ERROR_INVALID_VALUE, "freeing a flat list at %p: %s", (void *)qp_gpu, ops->last_error());
    return DOCA_SUCCESS;
}
