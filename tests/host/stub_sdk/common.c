/* SPDX-License-Identifier: Apache-2.0 */
/* Stub of libdoca_common.so: devices, umems, UARs, and the bookkeeping of all three. */
#include "stub.h"

#include <stdlib.h>
#include <string.h>

#define NAMES_MAX 128

static struct {
    const char *name;
    unsigned count;
    doca_error_t fail;
} names[NAMES_MAX];
static unsigned alive, strangers;

static unsigned index_of(const char *function)
{
    unsigned i = 0;

    while (i < NAMES_MAX - 1 && names[i].name != NULL && strcmp(names[i].name, function) != 0)
        i++;
    names[i].name = function;
    return i;
}

doca_error_t stub_enter(const char *function)
{
    unsigned i = index_of(function);
    doca_error_t code = names[i].fail;

    names[i].count++;
    names[i].fail = DOCA_SUCCESS;
    return code;
}

void stub_fail_next(const char *function, doca_error_t code)
{
    names[index_of(function)].fail = code;
}

unsigned stub_count(const char *function)
{
    return names[index_of(function)].count;
}

unsigned stub_alive(void)
{
    return alive;
}

unsigned stub_strangers(void)
{
    return strangers;
}

doca_error_t stub_make(int kind, void *first, void *second, void **out)
{
    static uint32_t next = 100;
    struct stub_object *o = calloc(1, sizeof(*o));

    if (o == NULL)
        return DOCA_ERROR_NO_MEMORY;
    *o = (struct stub_object){.magic = STUB_MAGIC, .kind = kind, .first = first, .second = second, .value = next++};
    alive++;
    *out = o;
    return DOCA_SUCCESS;
}

bool stub_is(const void *object, int kind)
{
    const struct stub_object *o = object;
    bool ours = o != NULL && o->magic == STUB_MAGIC && o->kind == kind;

    if (!ours)
        strangers++;
    return ours;
}

doca_error_t stub_drop(void *object, int kind)
{
    if (!stub_is(object, kind))
        return DOCA_ERROR_INVALID_VALUE;
    ((struct stub_object *)object)->magic = 0;
    free(object);
    alive--;
    return DOCA_SUCCESS;
}

#define ENTER()                                                                                                        \
    do {                                                                                                               \
        doca_error_t enter_code = stub_enter(__func__);                                                                \
                                                                                                                       \
        if (enter_code != DOCA_SUCCESS)                                                                                \
            return enter_code;                                                                                         \
    } while (0)
#define NEED(object, kind)                                                                                             \
    do {                                                                                                               \
        if (!stub_is(object, kind))                                                                                    \
            return DOCA_ERROR_INVALID_VALUE;                                                                           \
    } while (0)

doca_error_t doca_dev_close(void *dev);
doca_error_t doca_dev_close(void *dev)
{
    ENTER();
    return stub_drop(dev, STUB_DEV);
}

struct ibv_pd;
doca_error_t doca_rdma_bridge_get_dev_pd(void *dev, struct ibv_pd **pd);
doca_error_t doca_rdma_bridge_get_dev_pd(void *dev, struct ibv_pd **pd)
{
    ENTER();
    NEED(dev, STUB_DEV);
    *pd = ((struct stub_object *)dev)->first;
    return DOCA_SUCCESS;
}

doca_error_t doca_umem_create(void *dev, void *address, size_t size, uint32_t access_flags, void **umem);
doca_error_t doca_umem_create(void *dev, void *address, size_t size, uint32_t access_flags, void **umem)
{
    ENTER();
    NEED(dev, STUB_DEV);
    (void)access_flags;
    return stub_make(STUB_UMEM, address, (void *)size, umem);
}

doca_error_t doca_umem_gpu_create(void *gpu, void *dev, void *address, size_t size, uint32_t access_flags, void **umem);
doca_error_t doca_umem_gpu_create(void *gpu, void *dev, void *address, size_t size, uint32_t access_flags, void **umem)
{
    ENTER();
    NEED(gpu, STUB_GPU);
    return doca_umem_create(dev, address, size, access_flags, umem);
}

doca_error_t doca_umem_destroy(void *umem);
doca_error_t doca_umem_destroy(void *umem)
{
    ENTER();
    return stub_drop(umem, STUB_UMEM);
}

doca_error_t doca_umem_get_id(void *umem, uint32_t *umem_id);
doca_error_t doca_umem_get_id(void *umem, uint32_t *umem_id)
{
    ENTER();
    NEED(umem, STUB_UMEM);
    *umem_id = ((struct stub_object *)umem)->value;
    return DOCA_SUCCESS;
}

doca_error_t doca_umem_get_size(void *umem, size_t *umem_size);
doca_error_t doca_umem_get_size(void *umem, size_t *umem_size)
{
    ENTER();
    NEED(umem, STUB_UMEM);
    *umem_size = (size_t)((struct stub_object *)umem)->second;
    return DOCA_SUCCESS;
}

doca_error_t doca_umem_get_address(void *umem, void **umem_address);
doca_error_t doca_umem_get_address(void *umem, void **umem_address)
{
    ENTER();
    NEED(umem, STUB_UMEM);
    *umem_address = ((struct stub_object *)umem)->first;
    return DOCA_SUCCESS;
}

doca_error_t doca_uar_create(void *dev, int allocation_type, void **uar);
doca_error_t doca_uar_create(void *dev, int allocation_type, void **uar)
{
    static uint64_t page[512] __attribute__((aligned(4096)));

    ENTER();
    NEED(dev, STUB_DEV);
    (void)allocation_type;
    return stub_make(STUB_UAR, page + 256, NULL, uar);
}

doca_error_t doca_uar_destroy(void *uar);
doca_error_t doca_uar_destroy(void *uar)
{
    ENTER();
    return stub_drop(uar, STUB_UAR);
}

doca_error_t doca_uar_id_get(void *uar, uint32_t *id);
doca_error_t doca_uar_id_get(void *uar, uint32_t *id)
{
    ENTER();
    NEED(uar, STUB_UAR);
    *id = ((struct stub_object *)uar)->value;
    return DOCA_SUCCESS;
}

doca_error_t doca_uar_reg_addr_get(void *uar, void **reg);
doca_error_t doca_uar_reg_addr_get(void *uar, void **reg)
{
    ENTER();
    NEED(uar, STUB_UAR);
    *reg = ((struct stub_object *)uar)->first;
    return DOCA_SUCCESS;
}
