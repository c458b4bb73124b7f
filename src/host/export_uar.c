/* SPDX-License-Identifier: Apache-2.0 */
/* Doorbell registers mapped for the GPU, counted by host address. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host/uar.h"

#define DOORBELL_BYTES 8u

struct mapping {
    uint64_t *host, *gpu;
    unsigned references;
    bool ours; /* false: it was registered by somebody else before us, who also takes it away */
    const struct gdaki_gpu_ops *ops;
    struct mapping *next;
};

/* Guards everything below. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct mapping *mappings;

/* Registers of softnic are memory, those of a device are I/O: two answers, each kept while the GPU table stays. */
static struct answer {
    const struct gdaki_gpu_ops *ops; /* NULL: not probed */
    bool yes;
} answers[2];
static bool any_answer, last_answer;

static struct mapping **find(const uint64_t *host_or_gpu)
{
    struct mapping **at = &mappings;

    while (*at != NULL && (*at)->host != host_or_gpu && (*at)->gpu != host_or_gpu)
        at = &(*at)->next;
    return at;
}

static int register_with_gpu(const struct gdaki_gpu_ops *ops, uint64_t *reg, uint64_t **gpu, bool *ours)
{
    unsigned flags = uar_register_is_memory(reg) ? 0 : GDAKI_GPU_REGISTER_IOMEMORY;
    void *device = NULL;
    int err = ops->host_register(reg, DOORBELL_BYTES, flags, &device);

    *ours = err == 0;
    if (err == -EEXIST && device != NULL)
        err = 0;
    if (err == 0)
        *gpu = device;
    return err;
}

doca_error_t uar_map(const struct gdaki_gpu_ops *ops, uint64_t *reg, uint64_t **gpu_reg)
{
    doca_error_t result = DOCA_SUCCESS;
    struct mapping *m;
    int err;

    pthread_mutex_lock(&lock);
    m = *find(reg);
    if (m != NULL) {
        m->references++;
        *gpu_reg = m->gpu;
        goto unlock;
    }
    m = calloc(1, sizeof(*m));
    if (m == NULL) {
        result = HOST_ERR(DOCA_ERROR_NO_MEMORY, "mapping doorbell register %p: no memory", (void *)reg);
        goto unlock;
    }
    err = register_with_gpu(ops, reg, &m->gpu, &m->ours);
    if (err != 0) {
        free(m);
        HOST_LOG(LOG_INFO, "the GPU cannot map doorbell register %p: %s", (void *)reg, ops->last_error());
        result = DOCA_ERROR_DRIVER;
        goto unlock;
    }
    m->host = reg;
    m->references = 1;
    m->ops = ops;
    m->next = mappings;
    mappings = m;
    *gpu_reg = m->gpu;
unlock:
    pthread_mutex_unlock(&lock);
    return result;
}

doca_error_t uar_unmap(uint64_t *gpu_or_host_reg)
{
    doca_error_t result = DOCA_SUCCESS;
    struct mapping **at, *m;

    pthread_mutex_lock(&lock);
    at = find(gpu_or_host_reg);
    m = *at;
    if (m == NULL) {
        result = HOST_ERR(DOCA_ERROR_INVALID_VALUE, "unmapping doorbell register %p: it is not mapped", (void *)gpu_or_host_reg);
        goto unlock;
    }
    if (--m->references > 0)
        goto unlock;
    *at = m->next;
    if (m->ours && m->ops->host_unregister(m->host) != 0)
        result = HOST_ERR(DOCA_ERROR_DRIVER, "unmapping doorbell register %p: %s", (void *)m->host, m->ops->last_error());
    free(m);
unlock:
    pthread_mutex_unlock(&lock);
    return result;
}

doca_error_t doca_gpu_verbs_export_uar(uint64_t *sq_db, uint64_t **uar_addr_gpu)
{
    doca_error_t err;

    if (sq_db == NULL || uar_addr_gpu == NULL)
        return HOST_ERR(DOCA_ERROR_INVALID_VALUE, "mapping a doorbell register: %s is NULL", sq_db == NULL ? "sq_db" : "uar_addr_gpu");
    err = uar_map(gdaki_gpu_current(NULL), sq_db, uar_addr_gpu);
    return err == DOCA_SUCCESS ? err : HOST_ERR(err, "mapping doorbell register %p for the GPU failed", (void *)sq_db);
}

doca_error_t doca_gpu_verbs_unexport_uar(uint64_t *uar_addr_gpu)
{
    if (uar_addr_gpu == NULL)
        return HOST_ERR(DOCA_ERROR_INVALID_VALUE, "unmapping a doorbell register: uar_addr_gpu is NULL");
    return uar_unmap(uar_addr_gpu);
}

/* The probe maps and unmaps; a register that is mapped already answers by itself. */
bool uar_can_map(const struct gdaki_gpu_ops *ops, uint64_t *reg)
{
    struct answer *slot = &answers[uar_register_is_memory(reg)];
    uint64_t *gpu;
    bool known, yes;

    pthread_mutex_lock(&lock);
    known = slot->ops == ops;
    yes = slot->yes;
    pthread_mutex_unlock(&lock);
    if (!known) {
        yes = uar_map(ops, reg, &gpu) == DOCA_SUCCESS;
        if (yes)
            uar_unmap(reg);
    }
    pthread_mutex_lock(&lock);
    *slot = (struct answer){.ops = ops, .yes = yes};
    any_answer = true;
    last_answer = yes;
    pthread_mutex_unlock(&lock);
    return yes;
}

/* A NULL register asks for the last answer. */
doca_error_t doca_gpu_verbs_can_gpu_register_uar(void *db, bool *out_can_register)
{
    bool known, yes;

    if (out_can_register == NULL)
        return HOST_ERR(DOCA_ERROR_INVALID_VALUE, "probing a doorbell register: out_can_register is NULL");
    if (db != NULL) {
        *out_can_register = uar_can_map(gdaki_gpu_current(NULL), db);
        return DOCA_SUCCESS;
    }
    pthread_mutex_lock(&lock);
    known = any_answer;
    yes = last_answer;
    pthread_mutex_unlock(&lock);
    if (!known)
        return HOST_ERR(DOCA_ERROR_INVALID_VALUE, "probing a doorbell register: db is NULL and nothing was probed before");
    *out_can_register = yes;
    return DOCA_SUCCESS;
}
