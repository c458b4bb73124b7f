/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where copies run: a few streams a device, made before any kernel of the user can be resident, at the highest priority.
 *
 * CUDA maps streams onto a limited number of hardware channels (CUDA_DEVICE_MAX_CONNECTIONS, 8 by default), and a copy in
 * a stream that shares its channel with a resident kernel waits until that kernel ends, which is for ever when the kernel
 * waits for the copy. Streams of another priority use other channels than the user's.
 */
#include "gpu/cuda_driver.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

enum { STREAMS = 4, DEVICES = 64 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    cu_stream stream[STREAMS];
    unsigned made, next;
    struct gdaki_cuda_lane *free; /* lanes with an event, not in use */
} devices[DEVICES];

static cu_result create_stream(const struct gdaki_cuda_driver *cu, cu_stream *stream)
{
    int least = 0, greatest = 0;

    if (cu->stream_create_priority == NULL || cu->stream_priorities == NULL ||
        cu->stream_priorities(&least, &greatest) != CU_OK)
        return cu->stream_create(stream, CU_STREAM_NON_BLOCKING);
    return cu->stream_create_priority(stream, CU_STREAM_NON_BLOCKING, greatest);
}

/* Under the lock. */
static int make_streams(const struct gdaki_cuda_driver *cu, int device)
{
    while (devices[device].made < STREAMS) {
        cu_result result = create_stream(cu, &devices[device].stream[devices[device].made]);

        if (result != CU_OK)
            return gdaki_cuda_fail(result, "creating a copy stream", NULL, 0);
        devices[device].made++;
    }
    return 0;
}

int gdaki_cuda_lanes_prepare(int device)
{
    const char *why;
    const struct gdaki_cuda_driver *cu = gdaki_cuda_driver_get(&why);
    int err;

    if (device < 0 || device >= DEVICES)
        return -EINVAL;
    pthread_mutex_lock(&lock);
    err = make_streams(cu, device);
    pthread_mutex_unlock(&lock);
    return err;
}

/* Under the lock. */
static int take_lane(const struct gdaki_cuda_driver *cu, int device, struct gdaki_cuda_lane **out)
{
    struct gdaki_cuda_lane *lane = devices[device].free;
    cu_result result;

    if (lane != NULL) {
        devices[device].free = lane->next;
        *out = lane;
        return 0;
    }
    lane = calloc(1, sizeof(*lane));
    if (lane == NULL)
        return -ENOMEM;
    result = cu->event_create(&lane->event, CU_EVENT_DISABLE_TIMING);
    if (result != CU_OK) {
        free(lane);
        return gdaki_cuda_fail(result, "creating a copy's event", NULL, 0);
    }
    lane->device = device;
    *out = lane;
    return 0;
}

int gdaki_cuda_lane_get(int device, struct gdaki_cuda_lane **out)
{
    const char *why;
    const struct gdaki_cuda_driver *cu = gdaki_cuda_driver_get(&why);
    int err;

    if (device < 0 || device >= DEVICES)
        return -EINVAL;
    pthread_mutex_lock(&lock);
    err = make_streams(cu, device);
    if (err == 0)
        err = take_lane(cu, device, out);
    if (err == 0)
        (*out)->stream = devices[device].stream[devices[device].next++ % STREAMS];
    pthread_mutex_unlock(&lock);
    return err;
}

void gdaki_cuda_lane_put(struct gdaki_cuda_lane *lane)
{
    pthread_mutex_lock(&lock);
    lane->next = devices[lane->device].free;
    devices[lane->device].free = lane;
    pthread_mutex_unlock(&lock);
}
