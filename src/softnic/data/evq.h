/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events on their way to a program, behind one descriptor that can be polled: it is readable exactly while an event waits.
 *
 * The descriptor is the program's to watch and to make non-blocking, never to read. Who asks for an event while there is
 * none sleeps in a read of a second descriptor, so that signals and cancellation act as they do on a read of the kernel's
 * device file. The lock is a leaf: the engine adds events under the port's lock.
 */
#ifndef SOFTNIC_DATA_EVQ_H
#define SOFTNIC_DATA_EVQ_H

#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdbool.h>

struct sv_source;

/* An event that waits. */
struct sv_event {
    struct sv_event *next;
    struct sv_source *source; /* NULL: of no object that can go away */
    enum ibv_event_type type; /* asynchronous events */
    uint32_t more;            /* the same event so many times again */
    bool queued;
    bool allocated;           /* to be freed; else part of its object */
};

struct sv_evq {
    pthread_mutex_t lock;
    pthread_cond_t left;  /* a sleeper has gone; for the end */
    int fd;               /* the program's; readable: `signaled` */
    int token_fd;         /* wakes one sleeper for each token */
    unsigned sleepers, tokens;
    bool signaled, closing;
    struct sv_event *first, **last;
};

int sv_evq_open(struct sv_evq *q); /* 0 or -errno */
/* Sleepers wake up and get ENODEV; returns when they have gone. */
void sv_evq_close(struct sv_evq *q);

/* Adds an event; one that waits already comes once more. */
void sv_evq_add(struct sv_evq *q, struct sv_event *event);

/*
 * Takes the first event; sleeps for one unless the descriptor is non-blocking. 0: `taken` was called with it under the
 * lock, before anybody can purge it. -1, errno: EAGAIN, EINTR, ENODEV.
 */
int sv_evq_take(struct sv_evq *q, void (*taken)(const struct sv_event *event, void *arg), void *arg);

/* Drops every event of a source. Nobody is taking one when it returns. */
void sv_evq_purge(struct sv_evq *q, const struct sv_source *source);

#endif
