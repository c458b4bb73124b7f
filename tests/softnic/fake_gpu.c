/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_gpu.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct job {
    uint8_t *dst;
    const uint8_t *src;
    size_t size, done;
    unsigned polls;
    int error;
};

static uint64_t state = 1;
static int good = -1;
static unsigned in_flight;

void fake_gpu_seed(uint64_t seed)
{
    state = seed * 0x9e3779b97f4a7c15ull + 1;
    good = -1;
}

void fake_gpu_fail_after(int copies)
{
    good = copies;
}

unsigned fake_gpu_in_flight(void)
{
    return in_flight;
}

static unsigned rnd(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (unsigned)(state >> 33);
}

static int start(void *dst, const void *src, size_t size, struct gdaki_gpu_copy *copy)
{
    struct job *j = malloc(sizeof(*j));

    if (j == NULL)
        return -ENOMEM;
    *j = (struct job){.dst = dst, .src = src, .size = size, .polls = rnd() % 6};
    if (good == 0)
        j->error = -EIO;
    else if (good > 0)
        good--;
    copy->opaque[0] = j;
    in_flight++;
    return 0;
}

/* The first half arrives some polls before the second. */
static int done(struct gdaki_gpu_copy *copy)
{
    struct job *j = copy->opaque[0];
    int error;

    if (j->polls != 0) {
        if (--j->polls == 1 && j->error == 0) {
            memcpy(j->dst, j->src, j->size / 2);
            j->done = j->size / 2;
        }
        return 0;
    }
    error = j->error;
    if (error == 0)
        memcpy(j->dst + j->done, j->src + j->done, j->size - j->done);
    free(j);
    in_flight--;
    return error != 0 ? error : 1;
}

static int copy_now(void *dst, const void *src, size_t size)
{
    memcpy(dst, src, size);
    return 0;
}

const struct gdaki_gpu_ops fake_gpu = {.name = "fake", .copy = copy_now, .copy_start = start, .copy_done = done};
