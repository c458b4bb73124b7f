/* SPDX-License-Identifier: Apache-2.0 */
/* The devices. All are opened with the first call and stay open, since connections may end after their identifiers. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cma.h"

struct cma cma = {.lock = PTHREAD_MUTEX_INITIALIZER, .acked = PTHREAD_COND_INITIALIZER};
static pthread_mutex_t starting = PTHREAD_MUTEX_INITIALIZER; /* before every other lock */
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;

int cma_result(int rc)
{
    if (rc >= 0)
        return 0;
    errno = -rc;
    return -1;
}

/* The child has none of the parent's devices and threads; what it had of them it may only forget. */
static void after_fork_child(void)
{
    static struct cma parents __attribute__((used)); /* known to be there, for those who look for leaks */
    unsigned generation = cma.generation + 1;
    parents = cma;
    memset(&cma, 0, sizeof(cma));
    cma.generation = generation;
    pthread_mutex_init(&cma.lock, NULL);
    pthread_cond_init(&cma.acked, NULL);
    pthread_mutex_init(&starting, NULL);
}

static void register_fork_handler(void)
{
    pthread_atfork(NULL, NULL, after_fork_child);
}

static void open_devices(struct ibv_device **list, int count)
{
    for (int i = 0; i < count && cma.devices < CMA_MAX_DEVICES; i++) {
        struct cma_device *d = &cma.device[cma.devices];
        d->verbs = ibv_open_device(list[i]);
        if (!d->verbs)
            continue; /* it has said why */
        if (softnic_cm_query(d->verbs, &d->info))
            ibv_close_device(d->verbs);
        else
            cma.devices++;
    }
}

static int start(void)
{
    int count = 0;
    struct ibv_device **list = ibv_get_device_list(&count);
    if (!list)
        return errno ? -errno : -ENODEV;
    open_devices(list, count);
    ibv_free_device_list(list);
    if (!cma.devices)
        return -ENODEV;
    return softnic_cm_start(&cma_client);
}

int cma_start(void)
{
    pthread_once(&fork_once, register_fork_handler);
    pthread_mutex_lock(&starting);
    int rc = cma.started ? 0 : start();
    cma.started = !rc;
    pthread_mutex_unlock(&starting);
    return rc;
}

bool cma_usable(const struct cma_id *id)
{
    if (id->generation == cma.generation)
        return true;
    errno = ENODEV;
    return false;
}

struct ibv_pd *cma_default_pd(struct cma_device *d)
{
    pthread_mutex_lock(&starting);
    if (!d->pd)
        d->pd = ibv_alloc_pd(d->verbs);
    pthread_mutex_unlock(&starting);
    return d->pd;
}

CMA_API struct ibv_context **rdma_get_devices(int *num_devices)
{
    int rc = cma_start();
    if (rc) {
        cma_result(rc);
        if (num_devices)
            *num_devices = 0;
        return NULL;
    }
    struct ibv_context **list = calloc(cma.devices + 1, sizeof(*list));
    if (!list)
        return NULL;
    for (unsigned i = 0; i < cma.devices; i++)
        list[i] = cma.device[i].verbs;
    if (num_devices)
        *num_devices = (int)cma.devices;
    return list;
}

CMA_API void rdma_free_devices(struct ibv_context **list)
{
    free(list);
}

/* On a real host the kernel disconnects what an ending process leaves behind. */
__attribute__((destructor)) static void end(void)
{
    if (cma.started)
        softnic_cm_end();
}
