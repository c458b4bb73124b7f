/* SPDX-License-Identifier: Apache-2.0 */
#include "softnic/data/evq.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

int sv_evq_open(struct sv_evq *q)
{
    *q = (struct sv_evq){.fd = eventfd(0, EFD_CLOEXEC), .token_fd = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE)};
    if (q->fd < 0 || q->token_fd < 0) {
        int err = errno;
        if (q->fd >= 0)
            close(q->fd);
        if (q->token_fd >= 0)
            close(q->token_fd);
        return -err;
    }
    pthread_mutex_init(&q->lock, NULL);
    pthread_cond_init(&q->left, NULL);
    q->last = &q->first;
    return 0;
}

/* An eventfd takes a count of one unless it holds 2^64 - 2 already. */
static void add_one(int fd)
{
    const uint64_t one = 1;
    ssize_t written;

    do
        written = write(fd, &one, sizeof(one));
    while (written < 0 && errno == EINTR);
}

/* Lock held. A write that finds the descriptor readable is not in vain: edge-triggered pollers count on it. */
static void signal_pollers(struct sv_evq *q)
{
    add_one(q->fd);
    q->signaled = true;
}

static void unsignal(struct sv_evq *q)
{
    uint64_t count;

    /* The count is not 0 and nobody else reads, so this never sleeps. */
    while (q->signaled && read(q->fd, &count, sizeof(count)) < 0 && errno == EINTR)
        ;
    q->signaled = false;
}

/* Lock held. One waiting event is handed to a sleeper if there is one, else shown to pollers. */
static void announce(struct sv_evq *q)
{
    if (q->sleepers > q->tokens) {
        q->tokens++;
        add_one(q->token_fd);
    } else {
        signal_pollers(q);
    }
}

void sv_evq_add(struct sv_evq *q, struct sv_event *event)
{
    pthread_mutex_lock(&q->lock);
    if (event->queued) {
        event->more++;
    } else {
        event->next = NULL;
        event->queued = true;
        *q->last = event;
        q->last = &event->next;
    }
    announce(q);
    pthread_mutex_unlock(&q->lock);
}

static void remove_at(struct sv_evq *q, struct sv_event **link)
{
    struct sv_event *event = *link;

    *link = event->next;
    if (*link == NULL)
        q->last = link;
    if (event->allocated) {
        free(event);
    } else {
        event->queued = false;
        event->more = 0;
    }
}

/* Lock held, no sleepers: tokens that nobody waits for. (A thread cancelled in its read may have taken one along.) */
static void drop_tokens(struct sv_evq *q)
{
    struct pollfd poller = {.fd = q->token_fd, .events = POLLIN};
    uint64_t token;

    while (poll(&poller, 1, 0) > 0 && read(q->token_fd, &token, sizeof(token)) > 0)
        ;
    q->tokens = 0;
}

/* A sleeper gives up, cancelled or interrupted: what it would have taken is for others to see. */
static void stop_sleeping(void *arg)
{
    struct sv_evq *q = arg;

    pthread_mutex_lock(&q->lock);
    if (--q->sleepers == 0) {
        drop_tokens(q);
        if (q->first != NULL && !q->signaled)
            signal_pollers(q);
    }
    pthread_cond_signal(&q->left);
    pthread_mutex_unlock(&q->lock);
}

/* Sleeps for a token. Lock held on entry and, if 0 is returned, on return. */
static int sleep_for_event(struct sv_evq *q)
{
    uint64_t token;
    ssize_t got;
    int err;

    q->sleepers++;
    pthread_mutex_unlock(&q->lock);
    pthread_cleanup_push(stop_sleeping, q);
    got = read(q->token_fd, &token, sizeof(token));
    err = errno;
    pthread_cleanup_pop(0);
    if (got < 0) {
        stop_sleeping(q);
        errno = err;
        return -1;
    }
    pthread_mutex_lock(&q->lock);
    q->sleepers--;
    q->tokens--;
    pthread_cond_signal(&q->left);
    return 0;
}

/* May the caller sleep? Lock held, which is given up if not. */
static bool may_sleep(struct sv_evq *q)
{
    int flags = fcntl(q->fd, F_GETFL);
    bool closing = q->closing;

    if (flags >= 0 && !(flags & O_NONBLOCK) && !closing)
        return true;
    pthread_mutex_unlock(&q->lock);
    if (flags >= 0)
        errno = closing ? ENODEV : EAGAIN;
    return false;
}

int sv_evq_take(struct sv_evq *q, void (*taken)(const struct sv_event *event, void *arg), void *arg)
{
    struct sv_event *event;

    pthread_mutex_lock(&q->lock);
    while ((event = q->first) == NULL)
        if (!may_sleep(q) || sleep_for_event(q) != 0)
            return -1;
    taken(event, arg);
    if (event->more != 0) {
        event->more--;
    } else {
        remove_at(q, &q->first);
    }
    if (q->first == NULL)
        unsignal(q);
    pthread_mutex_unlock(&q->lock);
    return 0;
}

void sv_evq_purge(struct sv_evq *q, const struct sv_source *source)
{
    pthread_mutex_lock(&q->lock);
    for (struct sv_event **link = &q->first; *link != NULL;) {
        struct sv_event *event = *link;
        if (event->source != source) {
            link = &event->next;
            continue;
        }
        remove_at(q, link);
    }
    if (q->first == NULL)
        unsignal(q);
    pthread_mutex_unlock(&q->lock);
}

void sv_evq_close(struct sv_evq *q)
{
    pthread_mutex_lock(&q->lock);
    q->closing = true;
    while (q->sleepers != 0) {
        while (q->tokens < q->sleepers) {
            q->tokens++;
            add_one(q->token_fd);
        }
        pthread_cond_wait(&q->left, &q->lock);
    }
    while (q->first != NULL)
        remove_at(q, &q->first);
    pthread_mutex_unlock(&q->lock);
    close(q->fd);
    close(q->token_fd);
    pthread_cond_destroy(&q->left);
    pthread_mutex_destroy(&q->lock);
}
