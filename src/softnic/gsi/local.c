/* SPDX-License-Identifier: Apache-2.0 */
#include "softnic/gsi/local.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "softnic/wire/descriptors.h"

enum { RECORD_MAGIC = 0x6d63736e, BACKLOG = 4096 };

struct record {
    uint32_t magic, reserved;
    struct sn_gsi_mad mad;
};

static socklen_t slot_name(const uint8_t gid[16], uint8_t slot, struct sockaddr_un *out)
{
    return sn_slot_name("softnic-cm", getuid(), gid, slot, out);
}

static socklen_t service_name(const uint8_t gid[16], uint64_t service_id, struct sockaddr_un *out)
{
    char prefix[40];
    snprintf(prefix, sizeof(prefix), "softnic-cm-%016" PRIx64, service_id);
    return sn_slot_name(prefix, getuid(), gid, 0, out);
}

static int bind_name(const struct sockaddr_un *name, socklen_t length)
{
    int fd = sn_slot_socket();
    if (fd < 0)
        return fd;
    if (bind(fd, (const struct sockaddr *)name, length))
        return sn_fd_fail(fd, -errno);
    sn_fd_track(fd);
    return fd;
}

int sn_local_bind_slot(const uint8_t gid[16], uint8_t slot)
{
    struct sockaddr_un name;
    return bind_name(&name, slot_name(gid, slot, &name));
}

int sn_local_bind_service(const uint8_t gid[16], uint64_t service_id)
{
    struct sockaddr_un name;
    return bind_name(&name, service_name(gid, service_id, &name));
}

int sn_local_listen(int fd)
{
    return listen(fd, BACKLOG) ? -errno : 0;
}

int sn_local_accept(int listener)
{
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0)
        return -errno;
    int rc = sn_slot_check_user(fd, -ECONNREFUSED);
    if (rc)
        return sn_fd_fail(fd, rc);
    sn_fd_track(fd);
    return fd;
}

/* The record is in the other side's queue when this returns, whenever it accepts. */
static int pass(const struct sockaddr_un *name, socklen_t length, const struct sn_gsi_mad *mad)
{
    struct record r = {.magic = RECORD_MAGIC, .mad = *mad};
    int fd = sn_slot_socket();
    if (fd < 0)
        return -EAGAIN;
    if (connect(fd, (const struct sockaddr *)name, length))
        return sn_fd_fail(fd, errno == EAGAIN ? -EAGAIN : -ECONNREFUSED);
    int rc = sn_slot_check_user(fd, -ECONNREFUSED);
    if (!rc && send(fd, &r, sizeof(r), MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)sizeof(r))
        rc = -EAGAIN;
    return sn_fd_fail(fd, rc);
}

int sn_local_connect_slot(const uint8_t gid[16], uint8_t slot)
{
    struct sockaddr_un name;
    socklen_t length = slot_name(gid, slot, &name);
    int fd = sn_slot_socket();
    if (fd < 0)
        return fd;
    if (connect(fd, (const struct sockaddr *)&name, length))
        return sn_fd_fail(fd, -errno);
    int rc = sn_slot_check_user(fd, -ECONNREFUSED);
    if (rc)
        return sn_fd_fail(fd, rc);
    sn_fd_track(fd);
    return fd;
}

int sn_local_pass_to_slot(const uint8_t gid[16], uint8_t slot, const struct sn_gsi_mad *mad)
{
    struct sockaddr_un name;
    return pass(&name, slot_name(gid, slot, &name), mad);
}

int sn_local_pass_to_service(const uint8_t gid[16], uint64_t service_id, const struct sn_gsi_mad *mad)
{
    struct sockaddr_un name;
    return pass(&name, service_name(gid, service_id, &name), mad);
}

int sn_local_take(int fd, struct sn_gsi_mad *mad)
{
    struct record r;
    ssize_t n = recv(fd, &r, sizeof(r), MSG_DONTWAIT | MSG_TRUNC);
    if (n < 0)
        return errno == EINTR ? -EAGAIN : -errno;
    if (n != (ssize_t)sizeof(r) || r.magic != RECORD_MAGIC)
        return -EPROTO;
    *mad = r.mad;
    return 0;
}
