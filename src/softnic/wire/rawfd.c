/* SPDX-License-Identifier: Apache-2.0 */
#include "softnic/wire/rawfd.h"

#include <errno.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

int rawfd_create(const struct sn_backend_ops *ops, int fd, const uint8_t mac[6], size_t slot, struct rawfd **out)
{
    struct rawfd *r = calloc(1, sizeof(*r));
    uint8_t *buffer = malloc(RAW_BATCH * slot);
    if (!r || !buffer) {
        free(r);
        free(buffer);
        close(fd);
        return -ENOMEM;
    }
    sn_fd_track(fd);
    r->base.ops = ops;
    r->fd = fd;
    r->buffer = buffer;
    r->slot = slot;
    memcpy(r->base.mac, mac, 6);
    sn_packet_watch(&r->base, fd); /* there is no wire yet: it is only noted */
    *out = r;
    return 0;
}

void rawfd_destroy(struct sn_backend *b)
{
    struct rawfd *r = (struct rawfd *)b;
    sn_fd_close(r->fd);
    free(r->buffer);
    free(r);
}

int rawfd_refused(int error)
{
    return error == EAGAIN || error == EWOULDBLOCK || error == ENOBUFS || error == EINTR ? 0 : -error;
}

static int ask_interface(const char *interface, unsigned long request, struct ifreq *r)
{
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), rc;
    if (fd < 0)
        return -errno;
    memset(r, 0, sizeof(*r));
    strncpy(r->ifr_name, interface, IFNAMSIZ - 1);
    rc = ioctl(fd, request, r) ? -errno : 0;
    close(fd);
    return rc;
}

int sn_interface_mac(const char *interface, uint8_t mac[6])
{
    struct ifreq r;
    int rc = ask_interface(interface, SIOCGIFHWADDR, &r);
    if (!rc)
        memcpy(mac, r.ifr_hwaddr.sa_data, 6);
    return rc;
}

int sn_interface_mtu(const char *interface)
{
    struct ifreq r;
    int rc = ask_interface(interface, SIOCGIFMTU, &r);
    return rc ? rc : r.ifr_mtu;
}
