/* SPDX-License-Identifier: Apache-2.0 */
/* One Ethernet frame a datagram of a Unix socket. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "softnic/wire/packet_internal.h"
#include "softnic/wire/rawfd.h"

enum { MTU = 1500, BUFFER_BYTES = 4 << 20 };

static int send_frames(struct sn_backend *b, const struct sn_frame_out *frames, unsigned count)
{
    struct rawfd *r = (struct rawfd *)b;
    struct sockaddr_un *to = &r->remote;
    struct mmsghdr m[RAW_BATCH];
    struct iovec iov[RAW_BATCH];
    unsigned n = count < RAW_BATCH ? count : RAW_BATCH;
    for (unsigned i = 0; i < n; i++) {
        iov[i] = (struct iovec){(void *)(uintptr_t)frames[i].bytes, frames[i].length};
        m[i].msg_hdr = (struct msghdr){.msg_iov = &iov[i], .msg_iovlen = 1};
        if (to->sun_family == AF_UNIX) {
            m[i].msg_hdr.msg_name = to;
            m[i].msg_hdr.msg_namelen = sizeof(*to);
        }
    }
    int sent = sendmmsg(r->fd, m, n, MSG_DONTWAIT | MSG_NOSIGNAL);
    sn_packet_add(&sn_packet_totals.calls_sent, 1);
    return sent < 0 ? rawfd_refused(errno) : sent;
}

static int receive(struct sn_backend *b, struct sn_frame_in *frames, unsigned max)
{
    struct rawfd *r = (struct rawfd *)b;
    unsigned n = 0;
    for (unsigned i = 0; i < RAW_BATCH; i++) {
        r->iov[i] = (struct iovec){r->buffer + i * r->slot, r->slot};
        r->got[i].msg_hdr = (struct msghdr){.msg_iov = &r->iov[i], .msg_iovlen = 1};
    }
    int got = recvmmsg(r->fd, r->got, max < RAW_BATCH ? max : RAW_BATCH, MSG_DONTWAIT, NULL);
    for (int i = 0; i < got; i++)
        if (!(r->got[i].msg_hdr.msg_flags & MSG_TRUNC))
            frames[n++] = (struct sn_frame_in){.bytes = r->iov[i].iov_base, .length = r->got[i].msg_len};
    return (int)n;
}

static void destroy(struct sn_backend *b)
{
    const struct sockaddr_un *local = &((struct rawfd *)b)->local;
    if (local->sun_family == AF_UNIX)
        unlink(local->sun_path);
    rawfd_destroy(b);
}

static const struct sn_backend_ops ops = {
    .name = "dgram", .layer = SN_LAYER_ETHERNET, .send = send_frames, .receive = receive, .destroy = destroy};

static void set_buffers(int fd)
{
    int bytes = BUFFER_BYTES;
    if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof(bytes)) &&
        setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes)))
        return; /* the default will do */
}

int sn_dgram_open_fd(int fd, const uint8_t mac[6], struct sn_backend **out)
{
    struct rawfd *r;
    int type;
    socklen_t size = sizeof(type);
    if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size))
        return -errno;
    if (type != SOCK_DGRAM)
        return -EPROTOTYPE;
    set_buffers(fd);
    int rc = rawfd_create(&ops, fd, mac, RAW_FRAME, &r);
    if (rc)
        return rc;
    r->base.answers = true;
    r->base.mtu = MTU;
    *out = &r->base;
    return 0;
}

static int name_of(const char *path, struct sockaddr_un *out)
{
    *out = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof(out->sun_path))
        return -ENAMETOOLONG;
    strcpy(out->sun_path, path);
    return 0;
}

/* A socket file that nobody has any more is in the way of bind, and tells so by refusing connections. */
static int bind_path(int fd, const struct sockaddr_un *local)
{
    if (!bind(fd, (const struct sockaddr *)local, sizeof(*local)))
        return 0;
    if (errno != EADDRINUSE)
        return -errno;
    struct stat st;
    if (stat(local->sun_path, &st) || !S_ISSOCK(st.st_mode))
        return -EADDRINUSE; /* a file of the user's */
    int probe = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (probe < 0)
        return -errno;
    bool dead = connect(probe, (const struct sockaddr *)local, sizeof(*local)) && errno == ECONNREFUSED;
    close(probe);
    if (!dead)
        return -EADDRINUSE;
    unlink(local->sun_path);
    return bind(fd, (const struct sockaddr *)local, sizeof(*local)) ? -errno : 0;
}

int sn_dgram_open(const char *local, const char *remote, const uint8_t mac[6], struct sn_backend **out)
{
    struct sockaddr_un from, to;
    int rc = name_of(local, &from);
    if (rc || (rc = name_of(remote, &to)) != 0)
        return rc;
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -errno;
    rc = bind_path(fd, &from);
    if (rc) {
        close(fd);
        return rc;
    }
    rc = sn_dgram_open_fd(fd, mac, out);
    if (rc)
        return rc;
    ((struct rawfd *)*out)->local = from;
    ((struct rawfd *)*out)->remote = to;
    return 0;
}
