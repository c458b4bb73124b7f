/* SPDX-License-Identifier: Apache-2.0 */
/* The pool of lanes (stream and event) that copies run on. */
#include "gpu/cuda_driver.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER;
static struct gdaki_cuda_lane *pool; /* free lanes of all devices; few, so one list */

static struct gdaki_cuda_lane *take_free(int device)
{
    struct gdaki_cuda_lane **at = &pool;
    struct gdaki_cuda_lane *lane;

    pthread_mutex_lock(&pool_lock);
    while (*at != NULL && (*at)->device != device)
        at = &(*at)->next;
    lane = *at;
    if (lane != NULL)
        *at = lane->next;
    pthread_mutex_unlock(&pool_lock);
    return lane;
}

int gdaki_cuda_lane_get(int device, struct gdaki_cuda_lane **out)
{
    const char *why;
    const struct gdaki_cuda_driver *cu = gdaki_cuda_driver_get(&why);
    struct gdaki_cuda_lane *lane = take_free(device);
    cu_result result;

    if (lane != NULL) {
        *out = lane;
        return 0;
    }
    lane = calloc(1, sizeof(*lane));
    if (lane == NULL)
        return -ENOMEM;
    lane->device = device;
    result = cu->stream_create(&lane->stream, CU_STREAM_NON_BLOCKING);
    if (result != CU_OK)
        goto free_lane;
    result = cu->event_create(&lane->event, CU_EVENT_DISABLE_TIMING);
    if (result != CU_OK)
        goto destroy_stream;
    *out = lane;
    return 0;
destroy_stream:
    cu->stream_destroy(lane->stream);
free_lane:
    free(lane);
    return gdaki_cuda_fail(result, "creating a copy stream", NULL, 0);
}

void gdaki_cuda_lane_put(struct gdaki_cuda_lane *lane)
{
    pthread_mutex_lock(&pool_lock);
    lane->next = pool;
    pool = lane;
    pthread_mutex_unlock(&pool_lock);
}
