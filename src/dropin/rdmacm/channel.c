/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Event channels. The descriptor is an eventfd that counts the events in the queue: it can be polled, and whether fetching
 * waits is what its flags say.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "cma.h"

struct cma_channel *cma_new_channel(void)
{
    struct cma_channel *c = calloc(1, sizeof(*c));
    if (!c)
        return NULL;
    c->channel.fd = eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC);
    if (c->channel.fd < 0) {
        free(c);
        return NULL;
    }
    c->last = &c->first;
    c->generation = cma.generation;
    return c;
}

CMA_API struct rdma_event_channel *rdma_create_event_channel(void)
{
    int rc = cma_start();
    struct cma_channel *c = rc ? NULL : cma_new_channel();
    if (rc)
        cma_result(rc);
    return c ? &c->channel : NULL;
}

CMA_API void rdma_destroy_event_channel(struct rdma_event_channel *channel)
{
    struct cma_channel *c = cma_channel_of(channel);
    struct cma_event *e;
    pthread_mutex_lock(&cma.lock);
    e = c->first;
    c->first = NULL;
    pthread_mutex_unlock(&cma.lock);
    while (e) {
        struct cma_event *next = e->next;
        cma_free_event(e);
        e = next;
    }
    close(channel->fd);
    free(c);
}

/* ---- the queue --------------------------------------------------------------------------------------------------------- */

void cma_put_event_locked(struct cma_channel *c, struct cma_event *e)
{
    uint64_t one = 1;
    e->next = NULL;
    *c->last = e;
    c->last = &e->next;
    (void)!write(c->channel.fd, &one, sizeof(one));
}

/* The descriptor counts one less. A reader who was faster finds the queue empty, and waits again. */
static void uncount(struct cma_channel *c)
{
    struct pollfd p = {.fd = c->channel.fd, .events = POLLIN};
    uint64_t one;
    if (poll(&p, 1, 0) == 1)
        (void)!read(c->channel.fd, &one, sizeof(one));
}

static bool concerns(const struct cma_event *e, const struct cma_id *id)
{
    return e->owner == id || e->event.id == &id->id;
}

static void take_out(struct cma_channel *c, struct cma_id *id, struct cma_event **out)
{
    struct cma_event **p = &c->first;
    while (*p) {
        struct cma_event *e = *p;
        if (!concerns(e, id)) {
            p = &e->next;
            continue;
        }
        *p = e->next;
        e->next = NULL;
        *out = e;
        out = &e->next;
        uncount(c);
    }
    c->last = p;
}

void cma_drop_events_locked(struct cma_channel *c, struct cma_id *id, struct cma_event **dropped)
{
    *dropped = NULL;
    take_out(c, id, dropped);
}

void cma_move_events_locked(struct cma_channel *from, struct cma_channel *to, struct cma_id *id)
{
    struct cma_event *moved = NULL;
    take_out(from, id, &moved);
    while (moved) {
        struct cma_event *e = moved;
        moved = e->next;
        cma_put_event_locked(to, e);
    }
}

int cma_raise(struct cma_id *id, enum rdma_cm_event_type type, int status)
{
    struct cma_event *e = calloc(1, sizeof(*e));
    if (!e)
        return -ENOMEM;
    e->event.id = &id->id;
    e->event.event = type;
    e->event.status = status;
    e->owner = id;
    pthread_mutex_lock(&cma.lock);
    cma_put_event_locked(cma_channel_of(id->id.channel), e);
    pthread_mutex_unlock(&cma.lock);
    return 0;
}

/* A request that nobody has fetched is refused: its identifier goes. */
void cma_free_event(struct cma_event *e)
{
    if (e->from_cm && e->event.listen_id && e->event.id)
        cma_free_id(cma_id_of(e->event.id));
    free(e);
}

/* ---- fetching ------------------------------------------------------------------------------------------------------------ */

static struct cma_event *pop(struct cma_channel *c)
{
    pthread_mutex_lock(&cma.lock);
    struct cma_event *e = c->first;
    if (e) {
        c->first = e->next;
        if (!c->first)
            c->last = &c->first;
        e->owner->unacked++; /* the identifier stays while the event is worked on */
        if (e->event.listen_id)
            e->owner->waiting--;
    }
    pthread_mutex_unlock(&cma.lock);
    return e;
}

static void count_acked(struct cma_id *owner)
{
    pthread_mutex_lock(&cma.lock);
    owner->unacked--;
    pthread_cond_broadcast(&cma.acked);
    pthread_mutex_unlock(&cma.lock);
}

CMA_API int rdma_get_cm_event(struct rdma_event_channel *channel, struct rdma_cm_event **event)
{
    struct cma_channel *c = cma_channel_of(channel);
    uint64_t one;
    if (!event || !channel)
        return cma_result(-EINVAL);
    if (c->generation != cma.generation)
        return cma_result(-ENODEV);
    for (;;) {
        if (read(channel->fd, &one, sizeof(one)) != (ssize_t)sizeof(one)) /* EAGAIN and EINTR are the caller's */
            return -1;
        struct cma_event *e = pop(c);
        if (!e)
            continue;
        if (cma_process(e)) {
            *event = &e->event;
            return 0;
        }
        count_acked(e->owner);
        free(e);
    }
}

CMA_API int rdma_ack_cm_event(struct rdma_cm_event *event)
{
    struct cma_event *e = (struct cma_event *)event;
    if (!event)
        return cma_result(-EINVAL);
    count_acked(e->owner);
    free(e);
    return 0;
}

/* What a blocking call returns for the event that it waited for. */
static int verdict(const struct rdma_cm_event *e)
{
    if (!e->status)
        return 0;
    if (e->event == RDMA_CM_EVENT_REJECTED)
        return -ECONNREFUSED;
    return e->status < 0 ? e->status : -e->status;
}

int cma_complete(struct cma_id *id)
{
    if (!id->sync)
        return 0;
    if (id->id.event)
        rdma_ack_cm_event(id->id.event);
    id->id.event = NULL;
    if (rdma_get_cm_event(id->id.channel, &id->id.event))
        return -1;
    return cma_result(verdict(id->id.event));
}
