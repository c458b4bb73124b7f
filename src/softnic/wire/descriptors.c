/* SPDX-License-Identifier: Apache-2.0 */
#include "softnic/wire/descriptors.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "softnic/port/own_thread.h"

enum { MAX_TRACKED = 9216 };
static atomic_int tracked[MAX_TRACKED]; /* fd + 1; 0: free */

void sn_fd_track(int fd)
{
    for (int i = 0; i < MAX_TRACKED; i++) {
        int expected = 0;
        if (!atomic_load_explicit(&tracked[i], memory_order_relaxed) &&
            atomic_compare_exchange_strong(&tracked[i], &expected, fd + 1))
            return;
    }
}

void sn_fd_close(int fd)
{
    if (fd < 0)
        return;
    for (int i = 0; i < MAX_TRACKED; i++) {
        int expected = fd + 1;
        if (atomic_load_explicit(&tracked[i], memory_order_relaxed) == fd + 1 &&
            atomic_compare_exchange_strong(&tracked[i], &expected, 0))
            break;
    }
    close(fd);
}

void sn_fd_after_fork_child(void)
{
    for (int i = 0; i < MAX_TRACKED; i++) {
        int fd = atomic_exchange_explicit(&tracked[i], 0, memory_order_relaxed) - 1;
        if (fd >= 0)
            close(fd);
    }
}

socklen_t sn_slot_name(const char *prefix, uid_t uid, const uint8_t gid[16], unsigned slot, struct sockaddr_un *out)
{
    char name[96];
    int n = snprintf(name, sizeof(name), "%s/%u/", prefix, (unsigned)uid);
    for (int i = 0; i < 16; i++)
        n += snprintf(name + n, sizeof(name) - (size_t)n, "%02x", gid[i]);
    n += snprintf(name + n, sizeof(name) - (size_t)n, "/%u", slot);
    memset(out, 0, sizeof(*out));
    out->sun_family = AF_UNIX;
    memcpy(out->sun_path + 1, name, (size_t)n);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

int sn_slot_socket(void)
{
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    return fd < 0 ? -errno : fd;
}

int sn_fd_fail(int fd, int error)
{
    close(fd);
    return error;
}

int sn_slot_check_user(int fd, int foreign)
{
    struct ucred peer;
    socklen_t size = sizeof(peer);
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size))
        return -errno;
    return peer.uid == getuid() ? 0 : foreign;
}

int sn_fd_wait(int epoll, struct epoll_event *events, int room, int ms)
{
    enum { LOOK_MS = 1000, NAP_NS = 10000000 };
    sn_own_thread_rests();
    int n = epoll_wait(epoll, events, room, ms < 0 || ms > LOOK_MS ? LOOK_MS : ms);
    int error = n < 0 ? errno : 0;
    sn_own_thread_works();
    if (error && error != EINTR)
        sn_own_thread_sleep(NAP_NS);
    return n < 0 ? 0 : n;
}
