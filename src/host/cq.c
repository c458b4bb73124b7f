/* SPDX-License-Identifier: Apache-2.0 */
/* Completion queues. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "format/prm.h"
#include "host/caps.h"
#include "host/sdk.h"
#include "host/v2.h"

/* Where ring and record of a CQ are, for the command. */
struct cq_layout {
    uint32_t ring_umem, record_umem;
    uint64_t ring_offset, record_offset;
};

static uint64_t record_behind_ring(uint32_t entries)
{
    return align_up((uint64_t)entries * HOST_CQE_BYTES, 64);
}

static doca_error_t check_attr(const struct doca_verbs_cq_attr_open *a, const struct nic_caps *caps, bool paired_umems)
{
    if (!is_power_of_two(a->cq_size))
        return HOST_ERR(DOCA_ERROR_INVALID_VALUE, "creating a CQ: size %u is not a power of two", a->cq_size);
    if (a->cq_size > (uint32_t)caps->ibv.max_cqe)
        return HOST_ERR(DOCA_ERROR_INVALID_VALUE, "creating a CQ: size %u is above the device's %d", a->cq_size,
                        caps->ibv.max_cqe);
    if (a->dbr_umem != NULL && a->umem == NULL)
        return HOST_ERR(DOCA_ERROR_INVALID_VALUE, "creating a CQ: a record umem without a ring umem");
    if (paired_umems && a->umem != NULL && a->dbr_umem == NULL)
        return HOST_ERR(DOCA_ERROR_INVALID_VALUE, "creating a CQ: a ring umem without a record umem");
    return DOCA_SUCCESS;
}

/* [offset, offset + bytes) must lie inside the umem. */
static doca_error_t check_room(const doca_verbs_umem_t *umem, uint64_t offset, uint64_t bytes, uint64_t alignment,
                               const char *what)
{
    uint64_t size = umem->open->size;

    if (offset % alignment != 0)
        return HOST_ERR(DOCA_ERROR_INVALID_VALUE, "creating a CQ: %s offset %llu is not a multiple of %llu", what,
                        (unsigned long long)offset, (unsigned long long)alignment);
    if (offset > size || size - offset < bytes)
        return HOST_ERR(DOCA_ERROR_INVALID_VALUE, "creating a CQ: %s needs %llu bytes at offset %llu, the umem has %llu", what,
                        (unsigned long long)bytes, (unsigned long long)offset, (unsigned long long)size);
    return DOCA_SUCCESS;
}

static doca_error_t use_external(struct doca_verbs_cq_open *cq, const struct doca_verbs_cq_attr_open *a,
                                 struct cq_layout *layout)
{
    uint64_t ring_bytes = (uint64_t)a->cq_size * HOST_CQE_BYTES;
    bool own_record_umem = a->dbr_umem != NULL;
    const doca_verbs_umem_t *record_umem = own_record_umem ? a->dbr_umem : a->umem;
    uint64_t record_offset = own_record_umem ? a->dbr_umem_offset : a->umem_offset + record_behind_ring(a->cq_size);
    doca_error_t err = check_room(a->umem, a->umem_offset, ring_bytes, HOST_NIC_PAGE, "ring");

    if (err == DOCA_SUCCESS)
        err = check_room(record_umem, record_offset, HOST_RECORD_BYTES, 8, "record");
    if (err != DOCA_SUCCESS)
        return err;
    layout->ring_umem = a->umem->open->umem->umem_id;
    layout->ring_offset = a->umem_offset;
    layout->record_umem = record_umem->open->umem->umem_id;
    layout->record_offset = record_offset;
    cq->ring = (uint8_t *)a->umem->open->address + a->umem_offset;
    cq->record = (uint32_t *)((uint8_t *)record_umem->open->address + record_offset);
    return DOCA_SUCCESS;
}

static doca_error_t use_internal(struct doca_verbs_cq_open *cq, struct ibv_context *context, struct cq_layout *layout)
{
    uint64_t record_offset = record_behind_ring(cq->entries);
    int err = queue_memory_create(cq->nic, context, record_offset + HOST_RECORD_BYTES, &cq->memory);

    if (err != 0)
        return HOST_ERR(err == -ENOMEM ? DOCA_ERROR_NO_MEMORY : DOCA_ERROR_DRIVER,
                        "creating a CQ of %u entries: memory of its ring: %s%s", cq->entries, strerror(-err),
                        nic_reason(cq->nic));
    cq->ring = cq->memory.buffer;
    cq->record = (uint32_t *)(cq->ring + record_offset);
    for (uint32_t i = 0; i < cq->entries; i++)
        cq->ring[(size_t)i * HOST_CQE_BYTES + HOST_CQE_BYTES - 1] = HOST_CQE_INVALID;
    layout->ring_umem = layout->record_umem = cq->memory.umem->umem_id;
    layout->record_offset = record_offset;
    return DOCA_SUCCESS;
}

static doca_error_t create_command(struct doca_verbs_cq_open *cq, struct ibv_context *context, uint32_t uar_page,
                                   const struct doca_verbs_cq_attr_open *a, const struct cq_layout *layout)
{
    uint8_t in[PRM_SIZE_create_cq_in] = {0}, out[PRM_SIZE_create_cq_out] = {0};
    uint8_t *cqc = PRM_AT(in, create_cq_in, cq_context);
    uint32_t eqn = 0;

    if (cq->nic->mlx5dv_devx_query_eqn(context, 0, &eqn) != 0)
        return HOST_ERR(DOCA_ERROR_DRIVER, "creating a CQ: asking for an event queue failed%s", nic_reason(cq->nic));
    prm_set_create_cq_in__opcode(in, PRM_OP_CREATE_CQ);
    prm_set_cqc__cqe_sz(cqc, PRM_CQE_SZ_64);
    prm_set_cqc__cc(cqc, a->collapsed);
    prm_set_cqc__oi(cqc, a->overrun == DOCA_VERBS_CQ_ENABLE_OVERRUN);
    prm_set_cqc__log_cq_size(cqc, log2_of(cq->entries));
    prm_set_cqc__uar_page(cqc, uar_page);
    prm_set_cqc__c_eqn(cqc, eqn);
    prm_set_cqc__log_page_size(cqc, 0);
    prm_set_cqc__dbr_umem_id(cqc, layout->record_umem);
    prm_set_cqc__dbr_umem_valid(cqc, 1);
    prm_set_cqc__dbr_addr(cqc, layout->record_offset);
    prm_set_create_cq_in__cq_umem_id(in, layout->ring_umem);
    prm_set_create_cq_in__cq_umem_valid(in, 1);
    prm_set_create_cq_in__cq_umem_offset(in, layout->ring_offset);
    errno = 0;
    cq->obj = cq->nic->mlx5dv_devx_obj_create(context, in, sizeof(in), out, sizeof(out));
    if (cq->obj == NULL)
        return HOST_ERR(DOCA_ERROR_DRIVER, "CREATE_CQ of %u entries failed: %s, syndrome 0x%x%s", cq->entries, strerror(errno),
                        (unsigned)prm_get_cmd_out__syndrome(out), nic_reason(cq->nic));
    cq->cqn = (uint32_t)prm_get_create_cq_out__cqn(out);
    return DOCA_SUCCESS;
}

static doca_error_t build(struct doca_verbs_cq_open *cq, struct ibv_context *context,
                          const struct doca_verbs_cq_attr_open *a, bool paired_umems)
{
    struct cq_layout layout = {0};
    struct nic_caps caps;
    doca_verbs_uar_t *uar = a->uar;
    doca_error_t err = caps_query(cq->nic, context, &caps);

    if (err == DOCA_SUCCESS)
        err = check_attr(a, &caps, paired_umems);
    if (err != DOCA_SUCCESS)
        return err;
    if (uar == NULL) {
        err = uar_create_any(context, false, &cq->own_uar);
        if (err != DOCA_SUCCESS)
            return err;
        uar = cq->own_uar;
    }
    cq->uar_reg = uar_register_of(uar);
    cq->entries = a->cq_size;
    cq->context = a->cq_context;
    cq->collapsed = a->collapsed;
    err = a->umem != NULL ? use_external(cq, a, &layout) : use_internal(cq, context, &layout);
    return err != DOCA_SUCCESS ? err : create_command(cq, context, uar_page_of(uar), a, &layout);
}

static void release_parts(struct doca_verbs_cq_open *cq)
{
    queue_memory_destroy(cq->nic, &cq->memory);
    if (cq->own_uar != NULL)
        doca_verbs_uar_destroy(cq->own_uar);
    free(cq);
}

doca_error_t cq_open_create(struct ibv_context *context, const struct doca_verbs_cq_attr_open *attr, bool paired_umems,
                            doca_verbs_cq_t **out)
{
    const struct gdaki_nic_ops *nic = host_nic_of(context);
    struct doca_verbs_cq_open *cq;
    doca_verbs_cq_t *handle;
    doca_error_t err;

    if (nic == NULL)
        return DOCA_ERROR_DRIVER;
    handle = calloc(1, sizeof(*handle));
    cq = calloc(1, sizeof(*cq));
    if (handle == NULL || cq == NULL) {
        free(handle);
        free(cq);
        return HOST_ERR(DOCA_ERROR_NO_MEMORY, "creating a CQ: no memory");
    }
    cq->nic = nic;
    err = build(cq, context, attr, paired_umems);
    if (err != DOCA_SUCCESS) {
        release_parts(cq);
        free(handle);
        return err;
    }
    handle->open = cq;
    *out = handle;
    return DOCA_SUCCESS;
}

static doca_error_t create_sdk(const doca_dev_t *dev, const doca_verbs_cq_attr_t *attr, doca_verbs_cq_t **out)
{
    const struct sdk_cq *sdk = &sdk_cq_table;
    doca_verbs_cq_t *handle;
    void *context = NULL;
    doca_error_t err = sdk_device_context(dev, &context);

    if (err != DOCA_SUCCESS)
        return err;
    handle = calloc(1, sizeof(*handle));
    if (handle == NULL)
        return HOST_ERR(DOCA_ERROR_NO_MEMORY, "creating a CQ: no memory");
    handle->type = DOCA_VERBS_SDK_LIB_TYPE_SDK;
    err = sdk_create_result(sdk->doca_verbs_cq_create(context, attr->sdk, &handle->sdk), "doca_verbs_cq_create");
    if (err != DOCA_SUCCESS)
        free(handle);
    else
        *out = handle;
    return err;
}

doca_error_t doca_verbs_cq_create(doca_dev_t *net_dev, doca_verbs_cq_attr_t *cq_attr, doca_verbs_cq_t **cq)
{
    const char *missing = net_dev == NULL || net_dev->open == NULL   ? "net_dev"
                          : cq_attr == NULL || cq_attr->open == NULL ? "cq_attr"
                          : cq == NULL                               ? "cq"
                                                                     : NULL;

    if (missing != NULL)
        return HOST_ERR(DOCA_ERROR_INVALID_VALUE, "creating a CQ: %s is NULL", missing);
    if (net_dev->type != cq_attr->type)
        return HOST_ERR(DOCA_ERROR_INITIALIZATION, "creating a CQ: device and attributes are not both the DOCA SDK's");
    if (IS_SDK(net_dev))
        return create_sdk(net_dev, cq_attr, cq);
    return flatten_create_error(cq_open_create(net_dev->open->context, cq_attr->open, false, cq));
}

doca_error_t doca_verbs_cq_create_v2(struct ibv_context *context, doca_verbs_cq_attr_t *verbs_cq_attr,
                                     doca_verbs_cq_t **verbs_cq)
{
    if (context == NULL || verbs_cq_attr == NULL || verbs_cq_attr->open == NULL || verbs_cq == NULL)
        return HOST_ERR(DOCA_ERROR_INVALID_VALUE, "creating a CQ: an argument is NULL");
    if (IS_SDK(verbs_cq_attr))
        return HOST_ERR(DOCA_ERROR_NOT_SUPPORTED, "creating a CQ: 2.0's call takes no device, which the DOCA SDK needs");
    return cq_open_create(context, verbs_cq_attr->open, true, verbs_cq);
}

doca_error_t doca_verbs_cq_destroy(doca_verbs_cq_t *verbs_cq)
{
    doca_error_t err;

    if (verbs_cq == NULL || verbs_cq->open == NULL)
        return HOST_ERR(DOCA_ERROR_INVALID_VALUE, "destroying a CQ: %s", verbs_cq == NULL ? "verbs_cq is NULL" : "it has no object");
    if (IS_SDK(verbs_cq)) {
        err = SDK_CALL(cq, doca_verbs_cq_destroy, verbs_cq->sdk);
        if (err != DOCA_SUCCESS)
            return err;
    } else {
        struct doca_verbs_cq_open *cq = verbs_cq->open;

        if (cq->nic->mlx5dv_devx_obj_destroy(cq->obj) != 0)
            return HOST_ERR(DOCA_ERROR_DRIVER, "destroying CQ 0x%x failed%s (does a QP still use it?)", cq->cqn,
                            nic_reason(cq->nic));
        release_parts(cq);
    }
    free(verbs_cq);
    return DOCA_SUCCESS;
}

static doca_error_t check_get(const doca_verbs_cq_t *cq, const char *what)
{
    if (cq == NULL || cq->open == NULL)
        return HOST_ERR(DOCA_ERROR_INVALID_VALUE, "reading a CQ's %s: verbs_cq is NULL", what);
    return DOCA_SUCCESS;
}

/* Each result may be left out. */
doca_error_t doca_verbs_cq_get_wq(doca_verbs_cq_t *verbs_cq, void **cq_buf, uint32_t *cq_num_entries,
                                  uint8_t *cq_entry_size)
{
    doca_error_t err = check_get(verbs_cq, "ring");
    void *ring = NULL;
    uint32_t entries = 0;
    uint8_t size = HOST_CQE_BYTES;

    if (err != DOCA_SUCCESS)
        return err;
    if (IS_SDK(verbs_cq)) {
        sdk_cq_table.doca_verbs_cq_get_wq(verbs_cq->sdk, &ring, &entries, &size);
    } else {
        ring = verbs_cq->open->ring;
        entries = verbs_cq->open->entries;
    }
    if (cq_buf != NULL)
        *cq_buf = ring;
    if (cq_num_entries != NULL)
        *cq_num_entries = entries;
    if (cq_entry_size != NULL)
        *cq_entry_size = size;
    return DOCA_SUCCESS;
}

doca_error_t doca_verbs_cq_get_dbr_addr(doca_verbs_cq_t *verbs_cq, uint64_t **uar_db_reg, uint32_t **ci_dbr,
                                        uint32_t **arm_dbr)
{
    doca_error_t err = check_get(verbs_cq, "record");
    uint64_t *reg = NULL;
    uint32_t *ci = NULL, *arm = NULL;

    if (err != DOCA_SUCCESS)
        return err;
    if (IS_SDK(verbs_cq)) {
        sdk_cq_table.doca_verbs_cq_get_dbr_addr(verbs_cq->sdk, &reg, &ci, &arm);
    } else {
        reg = verbs_cq->open->uar_reg;
        ci = verbs_cq->open->record;
        arm = verbs_cq->open->record + 1;
    }
    if (uar_db_reg != NULL)
        *uar_db_reg = reg;
    if (ci_dbr != NULL)
        *ci_dbr = ci;
    if (arm_dbr != NULL)
        *arm_dbr = arm;
    return DOCA_SUCCESS;
}

doca_error_t doca_verbs_cq_get_cqn(const doca_verbs_cq_t *verbs_cq, uint32_t *cqn)
{
    doca_error_t err = check_get(verbs_cq, "number");

    if (err != DOCA_SUCCESS)
        return err;
    if (cqn == NULL)
        return HOST_ERR(DOCA_ERROR_INVALID_VALUE, "reading a CQ's number: cqn is NULL");
    *cqn = IS_SDK(verbs_cq) ? sdk_cq_table.doca_verbs_cq_get_cqn(verbs_cq->sdk) : verbs_cq->open->cqn;
    return DOCA_SUCCESS;
}

uint32_t doca_verbs_cq_get_cqn_v2(const doca_verbs_cq_t *verbs_cq)
{
    uint32_t cqn = 0;

    doca_verbs_cq_get_cqn(verbs_cq, &cqn);
    return cqn;
}
