/* SPDX-License-Identifier: Apache-2.0 */
/* Shared receive queues: receive memory pools (RMP) of the device. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "format/prm.h"
#include "host/caps.h"

#define SEGMENT_BYTES       16u
#define LINKED_WQE_MIN      32u
#define RECORD_AREA_BYTES   64u
#define END_PADDING_ALIGNED 1u

doca_error_t doca_verbs_srq_init_attr_create(struct doca_verbs_srq_init_attr **verbs_srq_init_attr)
{
    struct doca_verbs_srq_init_attr *attr;

    if (verbs_srq_init_attr == NULL)
        return HOST_ERR(DOCA_ERROR_INVALID_VALUE, "creating SRQ attributes: the result pointer is NULL");
    attr = calloc(1, sizeof(*attr));
    if (attr == NULL)
        return HOST_ERR(DOCA_ERROR_NO_MEMORY, "creating SRQ attributes: no memory");
    *verbs_srq_init_attr = attr;
    return DOCA_SUCCESS;
}

#define CHECK_ATTR(attr, what)                                                                                         \
    do {                                                                                                               \
        if ((attr) == NULL)                                                                                            \
            return HOST_ERR(DOCA_ERROR_INVALID_VALUE, "%s: the object is NULL", what);                                 \
    } while (0)

doca_error_t doca_verbs_srq_init_attr_destroy(struct doca_verbs_srq_init_attr *verbs_srq_init_attr)
{
    CHECK_ATTR(verbs_srq_init_attr, __func__);
    free(verbs_srq_init_attr);
    return DOCA_SUCCESS;
}

#define DEFINE_SRQ_SETTER(name, type, field, valid)                                                                    \
    doca_error_t doca_verbs_srq_init_attr_set_##name(struct doca_verbs_srq_init_attr *attr, type value)                \
    {                                                                                                                  \
        CHECK_ATTR(attr, __func__);                                                                                    \
        if (!(valid))                                                                                                  \
            return HOST_ERR(DOCA_ERROR_INVALID_VALUE, "%s: value %lld is out of range", __func__,                      \
                            (long long)(uintptr_t)value);                                                              \
        attr->field = value;                                                                                           \
        return DOCA_SUCCESS;                                                                                           \
    }
#define DEFINE_SRQ_GETTER(name, type, field, absent)                                                                   \
    type doca_verbs_srq_init_attr_get_##name(const struct doca_verbs_srq_init_attr *attr)                              \
    {                                                                                                                  \
        return attr == NULL ? absent : attr->field;                                                                    \
    }

DEFINE_SRQ_SETTER(srq_wr, uint32_t, srq_wr, value != 0)
DEFINE_SRQ_SETTER(receive_max_sges, uint32_t, receive_max_sges, value != 0)
DEFINE_SRQ_SETTER(type, enum doca_verbs_srq_type, type, (unsigned)value <= DOCA_VERBS_SRQ_TYPE_CONTIGUOUS)
DEFINE_SRQ_SETTER(pd, struct ibv_pd *, pd, value != NULL)
DEFINE_SRQ_GETTER(srq_wr, uint32_t, srq_wr, 0)
DEFINE_SRQ_GETTER(receive_max_sges, uint32_t, receive_max_sges, 0)
DEFINE_SRQ_GETTER(type, enum doca_verbs_srq_type, type, DOCA_VERBS_SRQ_TYPE_LINKED_LIST)
DEFINE_SRQ_GETTER(pd, struct ibv_pd *, pd, NULL)

doca_error_t doca_verbs_srq_init_attr_set_external_umem(struct doca_verbs_srq_init_attr *verbs_srq_init_attr,
                                                        doca_verbs_umem_t *external_umem,
                                                        uint64_t external_umem_offset)
{
    CHECK_ATTR(verbs_srq_init_attr, __func__);
    if (external_umem == NULL || external_umem->open == NULL || external_umem->type != DOCA_VERBS_SDK_LIB_TYPE_OPEN)
        return HOST_ERR(DOCA_ERROR_INVALID_VALUE, "%s: %s", __func__,
                        external_umem == NULL || external_umem->open == NULL ? "external_umem is NULL"
                                                                             : "the umem is the DOCA SDK's, an SRQ is ours");
    verbs_srq_init_attr->umem = external_umem;
    verbs_srq_init_attr->umem_offset = external_umem_offset;
    return DOCA_SUCCESS;
}

doca_error_t doca_verbs_srq_init_attr_get_external_umem(const struct doca_verbs_srq_init_attr *verbs_srq_init_attr,
                                                        doca_verbs_umem_t **external_umem,
                                                        uint64_t *external_umem_offset)
{
    if (verbs_srq_init_attr == NULL || external_umem == NULL || external_umem_offset == NULL)
        return HOST_ERR(DOCA_ERROR_INVALID_VALUE, "%s: an argument is NULL", __func__);
    *external_umem = verbs_srq_init_attr->umem;
    *external_umem_offset = verbs_srq_init_attr->umem_offset;
    return DOCA_SUCCESS;
}

static doca_error_t check_attr(const struct doca_verbs_srq_init_attr *a, const struct nic_caps *caps)
{
    if (a->pd == NULL)
        return HOST_ERR(DOCA_ERROR_INVALID_VALUE, "creating an SRQ: no protection domain was set");
    if (a->srq_wr == 0 || a->receive_max_sges == 0)
        return HOST_ERR(DOCA_ERROR_INVALID_VALUE, "creating an SRQ: %u WRs of %u SGEs", a->srq_wr, a->receive_max_sges);
    if (a->srq_wr > (uint32_t)caps->ibv.max_srq_wr || a->receive_max_sges > (uint32_t)caps->ibv.max_srq_sge)
        return HOST_ERR(DOCA_ERROR_NOT_SUPPORTED, "creating an SRQ: %u WRs of %u SGEs, the device has %d of %d", a->srq_wr,
                        a->receive_max_sges, caps->ibv.max_srq_wr, caps->ibv.max_srq_sge);
    return DOCA_SUCCESS;
}

static uint32_t wqe_bytes_of(const struct doca_verbs_srq_init_attr *a)
{
    uint32_t data = SEGMENT_BYTES * a->receive_max_sges;

    if (a->type == DOCA_VERBS_SRQ_TYPE_CONTIGUOUS)
        return (uint32_t)round_up_power_of_two(data);
    data += SEGMENT_BYTES; /* the link segment */
    return (uint32_t)round_up_power_of_two(data > LINKED_WQE_MIN ? data : LINKED_WQE_MIN);
}

/* Where the ring is, for the command. */
static doca_error_t place(struct doca_verbs_srq *srq, struct ibv_context *context,
                          const struct doca_verbs_srq_init_attr *a, uint32_t *umem_id)
{
    uint64_t ring_bytes = (uint64_t)srq->entries * srq->wqe_bytes;
    uint64_t record_offset = align_up(ring_bytes, 64);
    uint64_t total = record_offset + RECORD_AREA_BYTES;
    int err;

    if (a->umem != NULL) {
        uint64_t size = a->umem->open->size;

        if (a->umem_offset % HOST_NIC_PAGE != 0 || a->umem_offset > size || size - a->umem_offset < total)
            return HOST_ERR(DOCA_ERROR_INVALID_VALUE, "creating an SRQ: %llu bytes at offset %llu of a umem of %llu bytes",
                            (unsigned long long)total, (unsigned long long)a->umem_offset, (unsigned long long)size);
        srq->ring = (uint8_t *)a->umem->open->address + a->umem_offset;
        *umem_id = a->umem->open->umem->umem_id;
    } else {
        err = queue_memory_create(srq->nic, context, total, &srq->memory);
        if (err != 0)
            return HOST_ERR(err == -ENOMEM ? DOCA_ERROR_NO_MEMORY : DOCA_ERROR_DRIVER, "creating an SRQ: its memory: %s%s",
                            strerror(-err), nic_reason(srq->nic));
        srq->ring = srq->memory.buffer;
        *umem_id = srq->memory.umem->umem_id;
    }
    srq->record = srq->ring + record_offset;
    return DOCA_SUCCESS;
}

static doca_error_t create_command(struct doca_verbs_srq *srq, struct ibv_context *context,
                                   const struct doca_verbs_srq_init_attr *a, uint32_t umem_id)
{
    uint8_t in[PRM_SIZE_create_rmp_in] = {0}, out[PRM_SIZE_create_rmp_out] = {0};
    uint8_t *rmpc = PRM_AT(in, create_rmp_in, ctx);
    uint8_t *wq = PRM_AT(rmpc, rmpc, wq);
    bool cyclic = a->type == DOCA_VERBS_SRQ_TYPE_CONTIGUOUS;
    struct mlx5dv_pd pd = {0};
    struct mlx5dv_obj obj = {.pd = {.in = a->pd, .out = &pd}};

    if (srq->nic->mlx5dv_init_obj(&obj, MLX5DV_OBJ_PD) != 0)
        return HOST_ERR(DOCA_ERROR_DRIVER, "creating an SRQ: reading the protection domain's number failed%s",
                        nic_reason(srq->nic));
    prm_set_create_rmp_in__opcode(in, PRM_OP_CREATE_RMP);
    prm_set_rmpc__state(rmpc, PRM_RMP_STATE_READY);
    prm_set_rmpc__basic_cyclic_rcv_wqe(rmpc, cyclic);
    prm_set_wq__wq_type(wq, cyclic ? PRM_WQ_TYPE_CYCLIC : PRM_WQ_TYPE_LINKED_LIST);
    prm_set_wq__pd(wq, pd.pdn);
    prm_set_wq__log_wq_sz(wq, log2_of(srq->entries));
    prm_set_wq__log_wq_stride(wq, log2_of(srq->wqe_bytes));
    prm_set_wq__end_padding_mode(wq, END_PADDING_ALIGNED);
    prm_set_wq__wq_umem_id(wq, umem_id);
    prm_set_wq__wq_umem_valid(wq, 1);
    prm_set_wq__wq_umem_offset(wq, a->umem != NULL ? a->umem_offset : 0);
    prm_set_wq__dbr_umem_id(wq, umem_id);
    prm_set_wq__dbr_umem_valid(wq, 1);
    prm_set_wq__dbr_addr(wq, (a->umem != NULL ? a->umem_offset : 0) + (uint64_t)((uint8_t *)srq->record - srq->ring));
    errno = 0;
    srq->obj = srq->nic->mlx5dv_devx_obj_create(context, in, sizeof(in), out, sizeof(out));
    if (srq->obj == NULL)
        return HOST_ERR(DOCA_ERROR_DRIVER, "CREATE_RMP of %u entries failed: %s, syndrome 0x%x%s", srq->entries,
                        strerror(errno), (unsigned)prm_get_cmd_out__syndrome(out), nic_reason(srq->nic));
    srq->srqn = (uint32_t)prm_get_create_rmp_out__rmpn(out);
    return DOCA_SUCCESS;
}

static doca_error_t build(struct doca_verbs_srq *srq, struct ibv_context *context,
                          const struct doca_verbs_srq_init_attr *a)
{
    struct nic_caps caps;
    uint32_t umem_id = 0;
    doca_error_t err = caps_query(srq->nic, context, &caps);

    if (err == DOCA_SUCCESS)
        err = check_attr(a, &caps);
    if (err != DOCA_SUCCESS)
        return err;
    srq->wqe_bytes = wqe_bytes_of(a);
    srq->entries = (uint32_t)(round_up_power_of_two((uint64_t)a->srq_wr * srq->wqe_bytes) / srq->wqe_bytes);
    err = place(srq, context, a, &umem_id);
    return err != DOCA_SUCCESS ? err : create_command(srq, context, a, umem_id);
}

doca_error_t doca_verbs_srq_create(struct ibv_context *verbs_context,
                                   struct doca_verbs_srq_init_attr *verbs_srq_init_attr,
                                   struct doca_verbs_srq **verbs_srq)
{
    struct doca_verbs_srq *srq;
    doca_error_t err;

    if (verbs_context == NULL || verbs_srq_init_attr == NULL || verbs_srq == NULL)
        return HOST_ERR(DOCA_ERROR_INVALID_VALUE, "creating an SRQ: an argument is NULL");
    srq = calloc(1, sizeof(*srq));
    if (srq == NULL)
        return HOST_ERR(DOCA_ERROR_NO_MEMORY, "creating an SRQ: no memory");
    srq->nic = host_nic_of(verbs_context);
    err = srq->nic == NULL ? DOCA_ERROR_DRIVER : build(srq, verbs_context, verbs_srq_init_attr);
    if (err != DOCA_SUCCESS) {
        if (srq->nic != NULL)
            queue_memory_destroy(srq->nic, &srq->memory);
        free(srq);
        return err;
    }
    *verbs_srq = srq;
    return DOCA_SUCCESS;
}

doca_error_t doca_verbs_srq_destroy(struct doca_verbs_srq *verbs_srq)
{
    if (verbs_srq == NULL)
        return HOST_ERR(DOCA_ERROR_INVALID_VALUE, "destroying an SRQ: verbs_srq is NULL");
    if (verbs_srq->nic->mlx5dv_devx_obj_destroy(verbs_srq->obj) != 0)
        return HOST_ERR(DOCA_ERROR_DRIVER, "destroying SRQ 0x%x failed%s (does a QP still use it?)", verbs_srq->srqn,
                        nic_reason(verbs_srq->nic));
    queue_memory_destroy(verbs_srq->nic, &verbs_srq->memory);
    free(verbs_srq);
    return DOCA_SUCCESS;
}

uint32_t doca_verbs_srq_get_srqn(const struct doca_verbs_srq *verbs_srq)
{
    return verbs_srq == NULL ? 0 : verbs_srq->srqn;
}

/* Each result may be left out; all are zero for NULL. */
void doca_verbs_srq_get_wq(const struct doca_verbs_srq *verbs_srq, void **srq_buf, uint32_t *srq_num_entries,
                           uint32_t *rwqe_size_bytes)
{
    if (srq_buf != NULL)
        *srq_buf = verbs_srq == NULL ? NULL : verbs_srq->ring;
    if (srq_num_entries != NULL)
        *srq_num_entries = verbs_srq == NULL ? 0 : verbs_srq->entries;
    if (rwqe_size_bytes != NULL)
        *rwqe_size_bytes = verbs_srq == NULL ? 0 : verbs_srq->wqe_bytes;
}

void *doca_verbs_srq_get_dbr_addr(const struct doca_verbs_srq *verbs_srq)
{
    return verbs_srq == NULL ? NULL : verbs_srq->record;
}
