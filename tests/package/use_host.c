/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A user's program, as C and as C++, built against the installed tree only: the library answers, refuses a wrong argument
 * with its own error code, finds the installed softnic by itself, and opens a device of it.
 */
#include <stdio.h>
#include <string.h>
#include <doca_gpunetio_host.h>
#include <gdaki/info.h>
#include <gdaki/verbs.h>

static int attributes_work(void)
{
    doca_verbs_cq_attr_t *attr = NULL;
    doca_error_t result = doca_verbs_cq_attr_create(&attr);

    if (result != DOCA_SUCCESS || attr == NULL) {
        printf("cq_attr_create: %d\n", (int)result);
        return 0;
    }
    result = doca_verbs_cq_attr_create(NULL);
    if (result != DOCA_ERROR_INVALID_VALUE) {
        printf("cq_attr_create(NULL): %d, expected %d\n", (int)result, (int)DOCA_ERROR_INVALID_VALUE);
        return 0;
    }
    return doca_verbs_cq_attr_destroy(attr) == DOCA_SUCCESS;
}

static int device_opens(void)
{
    int count = 0, opened = 0;
    struct ibv_device **list = ibv_get_device_list(&count);

    if (list == NULL || count < 1) {
        printf("no device: is libsoftnic.so where the library looks?\n");
        return 0;
    }
    struct ibv_context *context = ibv_open_device(list[0]);
    struct ibv_pd *pd = context != NULL ? ibv_alloc_pd(context) : NULL;
    if (pd != NULL) {
        opened = strncmp(ibv_get_device_name(list[0]), "softnic", 7) == 0 && ibv_dealloc_pd(pd) == 0;
    }
    if (context != NULL && ibv_close_device(context) != 0)
        opened = 0;
    ibv_free_device_list(list);
    return opened;
}

int main(void)
{
    if (!attributes_work() || !device_opens()) {
        printf("failed\n");
        return 1;
    }
    printf("the installed library works\n");
    return 0;
}
