/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A user's program, as C and as C++, built against the installed tree only: the library is there, answers, and refuses
 * a wrong argument with its own error code.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <infiniband/verbs.h>
#include <doca_gpunetio_host.h>

int main(void)
{
    struct doca_verbs_cq_attr *attr = NULL;
    doca_error_t result = doca_verbs_cq_attr_create(&attr);
    if (result != DOCA_SUCCESS || attr == NULL) {
        printf("cq_attr_create: %d\n", (int)result);
        return 1;
    }
    result = doca_verbs_cq_attr_create(NULL);
    if (result != DOCA_ERROR_INVALID_VALUE) {
        printf("cq_attr_create(NULL): %d, expected %d\n", (int)result, (int)DOCA_ERROR_INVALID_VALUE);
        return 1;
    }
    result = doca_verbs_cq_attr_destroy(attr);
    printf("installed library answers: %d\n", (int)result);
    return result == DOCA_SUCCESS ? 0 : 1;
}
