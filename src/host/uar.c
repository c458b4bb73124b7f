/* SPDX-License-Identifier: Apache-2.0 */
/* Doorbell pages. */
#include "host/uar.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host/sdk.h"
#include "host/v2.h"

#define UAR_DBR_LESS_OFFSET 0x600u        /* register of queues without a send record, from the page's base */
#define UAR_NC_DEDICATED    (1u << 31)    /* newer rdma-core names it; older headers lack it */

/* Registers of softnic's UARs that live now. */
struct memory_register {
    const struct doca_verbs_uar_open *uar;
    struct memory_register *next;
};

static pthread_mutex_t registers_lock = PTHREAD_MUTEX_INITIALIZER;
static struct memory_register *registers;

static doca_error_t note_register(const struct doca_verbs_uar_open *uar)
{
    struct memory_register *r;

    if (uar->nic->kind != GDAKI_NIC_SOFTNIC)
        return DOCA_SUCCESS;
    r = malloc(sizeof(*r));
    if (r == NULL)
        return DOCA_ERROR_NO_MEMORY;
    r->uar = uar;
    pthread_mutex_lock(&registers_lock);
    r->next = registers;
    registers = r;
    pthread_mutex_unlock(&registers_lock);
    return DOCA_SUCCESS;
}

static void forget_register(const struct doca_verbs_uar_open *uar)
{
    struct memory_register **at = &registers;
    struct memory_register *found;

    pthread_mutex_lock(&registers_lock);
    while (*at != NULL && (*at)->uar != uar)
        at = &(*at)->next;
    found = *at;
    if (found != NULL)
        *at = found->next;
    pthread_mutex_unlock(&registers_lock);
    free(found);
}

bool uar_register_is_memory(const void *reg)
{
    const struct gdaki_nic_ops *soft;
    bool found = false;

    pthread_mutex_lock(&registers_lock);
    for (struct memory_register *r = registers; r != NULL && !found; r = r->next)
        found = r->uar->uar->reg_addr == reg || (char *)r->uar->uar->base_addr + UAR_DBR_LESS_OFFSET == reg;
    pthread_mutex_unlock(&registers_lock);
    if (found)
        return true;
    soft = nic_softnic_if_loaded(); /* a register that the program allocated itself */
    return soft != NULL && soft->owns_register != NULL && soft->owns_register(reg);
}

static bool device_type_of(enum doca_verbs_uar_allocation_type type, uint32_t *out)
{
    switch (type) {
    case DOCA_VERBS_UAR_ALLOCATION_TYPE_BLUEFLAME:
        *out = MLX5DV_UAR_ALLOC_TYPE_BF;
        return true;
    case DOCA_VERBS_UAR_ALLOCATION_TYPE_NONCACHE:
        *out = MLX5DV_UAR_ALLOC_TYPE_NC;
        return true;
    case DOCA_VERBS_UAR_ALLOCATION_TYPE_NONCACHE_DEDICATED:
        *out = UAR_NC_DEDICATED;
        return true;
    }
    return false;
}

doca_error_t uar_open_create(struct ibv_context *context, enum doca_verbs_uar_allocation_type type,
                             doca_verbs_uar_t **out)
{
    const struct gdaki_nic_ops *nic = host_nic_of(context);
    struct doca_verbs_uar_open *uar;
    doca_verbs_uar_t *handle;
    uint32_t device_type;
    doca_error_t err = DOCA_ERROR_NO_MEMORY;

    if (nic == NULL)
        return DOCA_ERROR_DRIVER;
    if (!device_type_of(type, &device_type))
        return HOST_ERR(DOCA_ERROR_DRIVER, "allocating a UAR: type %d does not exist", (int)type);
    handle = calloc(1, sizeof(*handle));
    uar = calloc(1, sizeof(*uar));
    if (handle == NULL || uar == NULL)
        goto free_both;
    uar->nic = nic;
    errno = 0;
    uar->uar = nic->mlx5dv_devx_alloc_uar(context, device_type);
    if (uar->uar == NULL) {
        err = DOCA_ERROR_DRIVER;
        HOST_LOG(LOG_ERR, "allocating a UAR of type %d: %s%s", (int)type, strerror(errno), nic_reason(nic));
        goto free_both;
    }
    err = note_register(uar);
    if (err != DOCA_SUCCESS)
        goto free_uar;
    handle->allocation_type = type;
    handle->open = uar;
    *out = handle;
    return DOCA_SUCCESS;
free_uar:
    nic->mlx5dv_devx_free_uar(uar->uar);
free_both:
    free(uar);
    free(handle);
    return err;
}

doca_error_t uar_create_any(struct ibv_context *context, bool blueflame_first, doca_verbs_uar_t **out)
{
    const enum doca_verbs_uar_allocation_type bf = DOCA_VERBS_UAR_ALLOCATION_TYPE_BLUEFLAME;
    const enum doca_verbs_uar_allocation_type nc = DOCA_VERBS_UAR_ALLOCATION_TYPE_NONCACHE;
    doca_error_t err = uar_open_create(context, blueflame_first ? bf : nc, out);

    return err == DOCA_SUCCESS ? err : uar_open_create(context, blueflame_first ? nc : bf, out);
}

uint32_t uar_page_of(const doca_verbs_uar_t *uar)
{
    return uar->open->uar->page_id;
}

uint64_t *uar_register_of(const doca_verbs_uar_t *uar)
{
    return uar->open->uar->reg_addr;
}

void *uar_dbr_less_of(const doca_verbs_uar_t *uar)
{
    return (char *)uar->open->uar->base_addr + UAR_DBR_LESS_OFFSET;
}

static doca_error_t create_sdk(const struct sdk_uar *sdk, doca_dev_t *dev, enum doca_verbs_uar_allocation_type type,
                               doca_verbs_uar_t **out)
{
    doca_verbs_uar_t *handle = calloc(1, sizeof(*handle));
    doca_error_t err;

    if (handle == NULL)
        return HOST_ERR(DOCA_ERROR_NO_MEMORY, "allocating a UAR: no memory");
    handle->type = DOCA_VERBS_SDK_LIB_TYPE_SDK;
    handle->allocation_type = type;
    err = sdk_create_result(sdk->doca_uar_create(dev->sdk, type, &handle->sdk), "doca_uar_create");
    if (err != DOCA_SUCCESS)
        free(handle);
    else
        *out = handle;
    return err;
}

doca_error_t doca_verbs_uar_create(doca_dev_t *net_dev, enum doca_verbs_uar_allocation_type allocation_type,
                                   doca_verbs_uar_t **uar_obj)
{
    const struct sdk_uar *sdk;

    if (net_dev == NULL || net_dev->open == NULL || uar_obj == NULL)
        return HOST_ERR(DOCA_ERROR_INVALID_VALUE, "allocating a UAR: %s is NULL", uar_obj == NULL ? "uar_obj" : "net_dev");
    sdk = sdk_uar();
    if (IS_SDK(net_dev)) {
        if (sdk == NULL)
            return HOST_ERR(DOCA_ERROR_INITIALIZATION, "allocating a UAR: the device is the DOCA SDK's, which has no UAR");
        return create_sdk(sdk, net_dev, allocation_type, uar_obj);
    }
    return flatten_create_error(uar_open_create(net_dev->open->context, allocation_type, uar_obj));
}

doca_error_t doca_verbs_uar_create_v2(struct ibv_context *context, enum doca_verbs_uar_allocation_type allocation_type,
                                      doca_verbs_uar_t **uar_obj)
{
    if (context == NULL || uar_obj == NULL)
        return HOST_ERR(DOCA_ERROR_INVALID_VALUE, "allocating a UAR: %s is NULL", context == NULL ? "context" : "uar_obj");
    return uar_open_create(context, allocation_type, uar_obj);
}

doca_error_t doca_verbs_uar_destroy(doca_verbs_uar_t *uar_obj)
{
    doca_error_t err;

    if (uar_obj == NULL || uar_obj->open == NULL)
        return HOST_ERR(DOCA_ERROR_INVALID_VALUE, "freeing a UAR: %s", uar_obj == NULL ? "uar_obj is NULL" : "it has no object");
    if (IS_SDK(uar_obj)) {
        err = SDK_CALL(uar, doca_uar_destroy, uar_obj->sdk);
        if (err != DOCA_SUCCESS)
            return err;
    } else {
        forget_register(uar_obj->open);
        uar_obj->open->nic->mlx5dv_devx_free_uar(uar_obj->open->uar);
        free(uar_obj->open);
    }
    free(uar_obj);
    return DOCA_SUCCESS;
}

static doca_error_t check_get(const doca_verbs_uar_t *uar, const void *out, const char *what)
{
    if (uar == NULL || uar->open == NULL || out == NULL)
        return HOST_ERR(DOCA_ERROR_INVALID_VALUE, "reading a UAR's %s: %s is NULL", what, out == NULL ? "the result" : "uar");
    return DOCA_SUCCESS;
}

doca_error_t doca_verbs_uar_id_get(const doca_verbs_uar_t *uar, uint32_t *id)
{
    doca_error_t err = check_get(uar, id, "id");

    if (err != DOCA_SUCCESS)
        return err;
    if (IS_SDK(uar))
        return SDK_CALL(uar, doca_uar_id_get, uar->sdk, id);
    *id = uar_page_of(uar);
    return DOCA_SUCCESS;
}

doca_error_t doca_verbs_uar_reg_addr_get(const doca_verbs_uar_t *uar_obj, void **reg_addr)
{
    doca_error_t err = check_get(uar_obj, reg_addr, "register");

    if (err != DOCA_SUCCESS)
        return err;
    if (IS_SDK(uar_obj))
        return SDK_CALL(uar, doca_uar_reg_addr_get, uar_obj->sdk, reg_addr);
    *reg_addr = uar_register_of(uar_obj);
    return DOCA_SUCCESS;
}

doca_error_t doca_verbs_uar_dbr_less_addr_get(const doca_verbs_uar_t *uar_obj, void **dbr_less_addr)
{
    doca_error_t err = check_get(uar_obj, dbr_less_addr, "record-less register");

    if (err != DOCA_SUCCESS)
        return err;
    if (IS_SDK(uar_obj)) /* the SDK names one register only */
        return SDK_CALL(uar, doca_uar_reg_addr_get, uar_obj->sdk, dbr_less_addr);
    *dbr_less_addr = uar_dbr_less_of(uar_obj);
    return DOCA_SUCCESS;
}
