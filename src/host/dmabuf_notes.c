/* SPDX-License-Identifier: Apache-2.0 */
#include "host/dmabuf_notes.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "host/log.h"

struct kept {
    struct kept *next;
    int fd; /* ours */
    void *base;
    size_t size;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct kept *list;

static void drop(struct kept *k)
{
    close(k->fd);
    free(k);
}

static struct kept *take_all(void)
{
    struct kept *all;

    pthread_mutex_lock(&lock);
    all = list;
    list = NULL;
    pthread_mutex_unlock(&lock);
    return all;
}

static int keep(int fd, void *base, size_t size)
{
    struct kept *k = calloc(1, sizeof(*k));

    if (k == NULL)
        return -1;
    *k = (struct kept){.fd = fcntl(fd, F_DUPFD_CLOEXEC, 0), .base = base, .size = size};
    if (k->fd < 0) {
        free(k);
        return -1;
    }
    pthread_mutex_lock(&lock);
    k->next = list;
    list = k;
    pthread_mutex_unlock(&lock);
    return 0;
}

void dmabuf_notes_add(int fd, void *base, size_t size)
{
    const struct gdaki_nic_ops *soft = nic_softnic_if_loaded();

    if (soft != NULL) {
        if (soft->dmabuf_note != NULL)
            soft->dmabuf_note(fd, base, size);
        return;
    }
    if (keep(fd, base, size) != 0)
        HOST_LOG(LOG_WARNING, "DMA-BUF of %zu bytes at %p: softnic, if it is loaded later, will not know it", size, base);
    soft = nic_softnic_if_loaded(); /* it may have been loaded between the look and the keeping */
    if (soft != NULL)
        dmabuf_notes_hand_over(soft);
}

void dmabuf_notes_forget(void *base)
{
    const struct gdaki_nic_ops *soft = nic_softnic_if_loaded();

    pthread_mutex_lock(&lock);
    for (struct kept **at = &list; *at != NULL;) {
        struct kept *k = *at;

        if (k->base != base) {
            at = &k->next;
            continue;
        }
        *at = k->next;
        drop(k);
    }
    pthread_mutex_unlock(&lock);
    if (soft != NULL && soft->dmabuf_forget != NULL)
        soft->dmabuf_forget(base);
}

void dmabuf_notes_hand_over(const struct gdaki_nic_ops *softnic)
{
    struct kept *next;

    for (struct kept *k = take_all(); k != NULL; k = next) {
        next = k->next;
        if (softnic->dmabuf_note != NULL)
            softnic->dmabuf_note(k->fd, k->base, k->size);
        drop(k);
    }
}
