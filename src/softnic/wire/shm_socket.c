/* SPDX-License-Identifier: Apache-2.0 */
/* Rendezvous sockets, and the memory file that goes through them. */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "softnic/wire/shm_internal.h"

/* ---- names ------------------------------------------------------------------------------------------------------ */

static socklen_t name_of(const uint8_t gid[16], unsigned slot, struct sockaddr_un *out)
{
    return sn_slot_name("softnic", getuid(), gid, slot, out);
}

int shm_listen(const uint8_t gid[16], unsigned slot)
{
    struct sockaddr_un name;
    socklen_t length = name_of(gid, slot, &name);
    int fd = sn_slot_socket();
    if (fd < 0)
        return fd;
    if (bind(fd, (struct sockaddr *)&name, length) || listen(fd, 256))
        return sn_fd_fail(fd, -errno);
    sn_fd_track(fd);
    return fd;
}

int shm_connect(const uint8_t gid[16], unsigned slot)
{
    struct sockaddr_un name;
    socklen_t length = name_of(gid, slot, &name);
    int fd = sn_slot_socket();
    if (fd < 0)
        return fd;
    if (connect(fd, (struct sockaddr *)&name, length))
        return sn_fd_fail(fd, -errno);
    int rc = sn_slot_check_user(fd, -EPERM);
    if (rc)
        return sn_fd_fail(fd, rc);
    sn_fd_track(fd);
    return fd;
}

int shm_accept(int listener)
{
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0)
        return -errno;
    int rc = sn_slot_check_user(fd, -EPERM);
    if (rc)
        return sn_fd_fail(fd, rc);
    sn_fd_track(fd);
    return fd;
}

/* ---- hello ------------------------------------------------------------------------------------------------------ */

int shm_send_memory(int fd, const void *data, size_t size, int memory)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct iovec iov = {(void *)(uintptr_t)data, size};
    struct msghdr m = {
        .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof(control.bytes)};
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(c), &memory, sizeof(int));
    ssize_t n = sendmsg(fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
    return n == (ssize_t)size ? 0 : n < 0 ? -errno : -EIO;
}

int shm_send_hello(int fd, const struct shm_hello *hello, int memory)
{
    return shm_send_memory(fd, hello, sizeof(*hello), memory);
}

/* Takes the first descriptor, closes any more that a hostile peer sent along. */
static int take_descriptors(struct msghdr *m)
{
    int first = -1;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
            continue;
        size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < count; i++) {
            int fd;
            memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
            if (first < 0)
                first = fd;
            else
                close(fd);
        }
    }
    return first;
}

ssize_t shm_receive_memory(int fd, void *data, size_t size, int *memory)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(4 * sizeof(int))];
    } control;
    struct iovec iov = {data, size};
    struct msghdr m = {
        .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof(control.bytes)};
    ssize_t n = recvmsg(fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    *memory = -1;
    if (n < 0)
        return -errno;
    *memory = take_descriptors(&m);
    if (!(m.msg_flags & (MSG_TRUNC | MSG_CTRUNC)))
        return n;
    if (*memory >= 0)
        close(*memory);
    *memory = -1;
    return -EPROTO;
}

int shm_receive_hello(int fd, struct shm_hello *hello, int *memory)
{
    ssize_t n = shm_receive_memory(fd, hello, sizeof(*hello), memory);
    if (n < 0)
        return (int)n;
    if (n == (ssize_t)sizeof(*hello) && *memory >= 0)
        return 0;
    if (*memory >= 0)
        close(*memory);
    return -EPROTO;
}

/* ---- memory ----------------------------------------------------------------------------------------------------- */

enum { SEALS = F_SEAL_SHRINK | F_SEAL_GROW };

int shm_make_memory(size_t bytes)
{
    int fd = memfd_create("softnic-rings", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return -errno;
    if (ftruncate(fd, (off_t)bytes) || fcntl(fd, F_ADD_SEALS, SEALS | F_SEAL_SEAL))
        return sn_fd_fail(fd, -errno);
    return fd;
}

/* Without the seal, the peer could shrink the file and turn our next access into SIGBUS. */
int shm_check_memory(int fd, size_t bytes)
{
    struct stat st;
    int seals = fcntl(fd, F_GET_SEALS);
    if (seals < 0 || (seals & SEALS) != SEALS || fstat(fd, &st) || st.st_size < 0 || (size_t)st.st_size != bytes)
        return -EPROTO;
    return 0;
}

void *shm_map(int fd, size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (p == MAP_FAILED)
        return NULL;
    madvise(p, bytes, MADV_DONTFORK);
    return p;
}
