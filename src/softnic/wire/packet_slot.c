/* SPDX-License-Identifier: Apache-2.0 */
#include "softnic/wire/packet_slot.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "softnic/wire/packet_wire.h"

static socklen_t name_of(const uint8_t gid[16], unsigned slot, struct sockaddr_un *out)
{
    return sn_slot_name("softnic-packet", geteuid(), gid, slot, out);
}

static int take_one(const uint8_t gid[16], unsigned slot)
{
    struct sockaddr_un name;
    socklen_t length = name_of(gid, slot, &name);
    int one = 1, fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -errno;
    if (setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &one, sizeof(one)) || bind(fd, (struct sockaddr *)&name, length)) {
        int rc = -errno;
        close(fd);
        return rc;
    }
    sn_fd_track(fd);
    return fd;
}

static int take_all(struct sn_slot *s, unsigned slot)
{
    for (unsigned i = 0; i < s->gid_count; i++) {
        s->fd[i] = take_one(s->gid[i], slot);
        if (s->fd[i] >= 0)
            continue;
        int rc = s->fd[i];
        while (i-- > 0)
            sn_fd_close(s->fd[i]);
        return rc;
    }
    s->slot = (uint8_t)slot;
    return 0;
}

int sn_slot_take(struct sn_slot *s, const uint8_t gid[][16], unsigned gid_count)
{
    int rc = -EADDRINUSE;
    if (gid_count < 1 || gid_count > 4)
        return -EINVAL;
    s->gid_count = gid_count;
    memcpy(s->gid, gid, gid_count * sizeof(gid[0]));
    for (unsigned slot = 1; slot <= 255 && rc == -EADDRINUSE; slot++)
        rc = take_all(s, slot);
    return rc == -EADDRINUSE ? -ENOSPC : rc;
}

void sn_slot_give(struct sn_slot *s)
{
    for (unsigned i = 0; i < s->gid_count; i++)
        sn_fd_close(s->fd[i]);
    s->gid_count = 0;
}

int sn_slot_send(int fd, const uint8_t gid[16], uint8_t slot, struct iovec *iov, unsigned count)
{
    struct sockaddr_un name;
    struct msghdr m = {.msg_name = &name, .msg_iov = iov, .msg_iovlen = count};
    m.msg_namelen = name_of(gid, slot, &name);
    return sendmsg(fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}
