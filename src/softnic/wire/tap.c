/* SPDX-License-Identifier: Apache-2.0 */
/* The far end of a TAP interface: one frame a read or write. */
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "softnic/wire/packet_internal.h"
#include "softnic/wire/rawfd.h"

static int send_frames(struct sn_backend *b, const struct sn_frame_out *frames, unsigned count)
{
    struct rawfd *r = (struct rawfd *)b;
    unsigned n = 0;
    while (n < count && write(r->fd, frames[n].bytes, frames[n].length) >= 0)
        n++;
    sn_packet_add(&sn_packet_totals.calls_sent, n);
    if (n)
        return (int)n;
    return errno == EIO ? -EIO : rawfd_refused(errno); /* EIO: the interface is down */
}

static int receive(struct sn_backend *b, struct sn_frame_in *frames, unsigned max)
{
    struct rawfd *r = (struct rawfd *)b;
    unsigned n = 0, most = max < RAW_BATCH ? max : RAW_BATCH;
    while (n < most) {
        uint8_t *at = r->buffer + n * r->slot;
        ssize_t got = read(r->fd, at, r->slot);
        if (got <= 0)
            break;
        frames[n++] = (struct sn_frame_in){.bytes = at, .length = (uint32_t)got};
    }
    return (int)n;
}

static const struct sn_backend_ops ops = {
    .name = "tap", .layer = SN_LAYER_ETHERNET, .send = send_frames, .receive = receive, .destroy = rawfd_destroy};

/* A TAP that nobody has brought up yet; if we may not, the user has to, and frames are lost until then. */
static void bring_up(const char *interface)
{
    struct ifreq r = {0};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return;
    strncpy(r.ifr_name, interface, IFNAMSIZ - 1);
    if (!ioctl(fd, SIOCGIFFLAGS, &r) && !(r.ifr_flags & IFF_UP)) {
        r.ifr_flags |= IFF_UP;
        if (ioctl(fd, SIOCSIFFLAGS, &r))
            r.ifr_flags = 0;
    }
    close(fd);
}

int sn_tap_open(const char *interface, const uint8_t mac[6], struct sn_backend **out)
{
    struct ifreq r = {.ifr_flags = IFF_TAP | IFF_NO_PI};
    struct rawfd *raw;
    int fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC | O_NONBLOCK), rc;
    if (fd < 0)
        return -errno;
    strncpy(r.ifr_name, interface, IFNAMSIZ - 1);
    if (ioctl(fd, TUNSETIFF, &r)) {
        rc = -errno;
        close(fd);
        return rc;
    }
    bring_up(interface);
    rc = rawfd_create(&ops, fd, mac, RAW_FRAME, &raw);
    if (rc)
        return rc;
    raw->base.answers = true;
    rc = sn_interface_mtu(interface);
    raw->base.mtu = rc > 0 ? (uint32_t)rc : 1500;
    *out = &raw->base;
    return 0;
}
