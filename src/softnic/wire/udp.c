/* SPDX-License-Identifier: Apache-2.0 */
/* Sockets of the UDP backend. */
#include "softnic/wire/udp.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "softnic/wire/packet_internal.h"
#include "softnic/wire/udp_internal.h"

enum { RECEIVE_BYTES = 8 << 20, SEND_BYTES = 4 << 20, FIRST_SOURCE_PORT = 0xc000,
       LEAST_WINDOW = 16384, MOST_WINDOW = 1 << 20 };

static struct udp_backend *own(struct sn_backend *b)
{
    return (struct udp_backend *)b;
}

/* ---- addresses -------------------------------------------------------------------------------------------------- */

static bool same_address(const struct sockaddr *a, const uint8_t gid[16])
{
    if (a && a->sa_family == AF_INET && sn_gid_is_ipv4(gid))
        return !memcmp(&((const struct sockaddr_in *)(const void *)a)->sin_addr, gid + 12, 4);
    if (a && a->sa_family == AF_INET6 && !sn_gid_is_ipv4(gid))
        return !memcmp(&((const struct sockaddr_in6 *)(const void *)a)->sin6_addr, gid, 16);
    return false;
}

/* The interface that has an address; all of 127/8 is the loopback interface's. */
static bool interface_of(const uint8_t gid[16], char name[IF_NAMESIZE])
{
    struct ifaddrs *all;
    bool found = false;
    if (getifaddrs(&all))
        return false;
    for (struct ifaddrs *i = all; i && !found; i = i->ifa_next) {
        bool loopback = sn_gid_is_ipv4(gid) && gid[12] == 127 && i->ifa_flags & IFF_LOOPBACK;
        if (loopback || same_address(i->ifa_addr, gid)) {
            strncpy(name, i->ifa_name, IF_NAMESIZE - 1);
            name[IF_NAMESIZE - 1] = 0;
            found = true;
        }
    }
    freeifaddrs(all);
    return found;
}

int sn_udp_mtu(const uint8_t gid[16])
{
    struct ifreq r = {0};
    if (!interface_of(gid, r.ifr_name))
        return -EADDRNOTAVAIL;
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    int rc = ioctl(fd, SIOCGIFMTU, &r) ? -errno : r.ifr_mtu;
    close(fd);
    return rc;
}

socklen_t udp_sockaddr(const uint8_t gid[16], uint16_t port, struct sockaddr_storage *out)
{
    memset(out, 0, sizeof(*out));
    if (sn_gid_is_ipv4(gid)) {
        struct sockaddr_in *a = (struct sockaddr_in *)out;
        a->sin_family = AF_INET;
        a->sin_port = htons(port);
        memcpy(&a->sin_addr, gid + 12, 4);
        return sizeof(*a);
    }
    struct sockaddr_in6 *a = (struct sockaddr_in6 *)out;
    a->sin6_family = AF_INET6;
    a->sin6_port = htons(port);
    memcpy(&a->sin6_addr, gid, 16);
    return sizeof(*a);
}

void udp_gid_of(const struct sockaddr_storage *from, uint8_t gid[16], uint16_t *port)
{
    if (from->ss_family == AF_INET6) {
        const struct sockaddr_in6 *a = (const struct sockaddr_in6 *)from;
        memcpy(gid, &a->sin6_addr, 16);
        *port = ntohs(a->sin6_port);
        return;
    }
    const struct sockaddr_in *a = (const struct sockaddr_in *)from;
    memset(gid, 0, 10);
    gid[10] = gid[11] = 0xff;
    memcpy(gid + 12, &a->sin_addr, 4);
    *port = ntohs(a->sin_port);
}

/* ---- sockets ---------------------------------------------------------------------------------------------------- */

static void want(int fd, int level, int option, int value)
{
    if (setsockopt(fd, level, option, &value, sizeof(value)))
        return; /* a convenience that this kernel lacks */
}

/* As much as the kernel allows: what does not fit is lost, and costs a timeout. */
static void set_buffers(int fd, bool receives)
{
    int bytes = receives ? RECEIVE_BYTES : 4096;
    if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes)))
        want(fd, SOL_SOCKET, SO_RCVBUF, bytes);
    bytes = SEND_BYTES;
    if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof(bytes)))
        want(fd, SOL_SOCKET, SO_SNDBUF, bytes);
}

static int set_options(int fd, bool ipv4, bool receives)
{
    int one = 1, dont_fragment = ipv4 ? IP_PMTUDISC_DO : IPV6_PMTUDISC_DO;
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &one, sizeof(one)) ||
        setsockopt(fd, ipv4 ? IPPROTO_IP : IPPROTO_IPV6, ipv4 ? IP_MTU_DISCOVER : IPV6_MTU_DISCOVER, &dont_fragment,
                   sizeof(dont_fragment)) ||
        (!ipv4 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one))))
        return -errno;
    set_buffers(fd, receives);
    if (receives) {
        if (!ipv4) /* others send none (A17.4.3.1 leaves it to the sender); the invariant CRC covers more */
            want(fd, SOL_UDP, UDP_NO_CHECK6_RX, 1);
        want(fd, SOL_UDP, UDP_GRO, 1);
        want(fd, ipv4 ? IPPROTO_IP : IPPROTO_IPV6, ipv4 ? IP_RECVTOS : IPV6_RECVTCLASS, 1);
        want(fd, ipv4 ? IPPROTO_IP : IPPROTO_IPV6, ipv4 ? IP_RECVTTL : IPV6_RECVHOPLIMIT, 1);
    }
    return 0;
}

int udp_socket(const uint8_t gid[16], uint16_t port, bool receives)
{
    struct sockaddr_storage a;
    socklen_t length = udp_sockaddr(gid, port, &a);
    bool ipv4 = a.ss_family == AF_INET;
    int fd = socket(a.ss_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -errno;
    int rc = set_options(fd, ipv4, receives);
    if (!rc && bind(fd, (struct sockaddr *)&a, length))
        rc = -errno;
    if (rc) {
        close(fd);
        return rc;
    }
    sn_fd_track(fd);
    return fd;
}

static struct udp_rx *find_listener(struct udp_backend *u, const uint8_t gid[16])
{
    for (unsigned i = 0; i < u->rx_count; i++)
        if (u->rx[i].role == UDP_LISTENER && !memcmp(u->rx[i].local, gid, 16))
            return &u->rx[i];
    return NULL;
}

int udp_source(struct udp_backend *u, const uint8_t gid[16], uint16_t port)
{
    if (port == SN_ROCE_PORT) {
        const struct udp_rx *listener = find_listener(u, gid);
        return listener ? listener->fd : -1;
    }
    for (unsigned i = 0; i < u->tx_count; i++)
        if (u->tx[i].port == port && !memcmp(u->tx[i].local, gid, 16))
            return u->tx[i].fd;
    if (u->tx_count == UDP_MAX_SOURCES || !find_listener(u, gid))
        return -1;
    struct udp_tx *t = &u->tx[u->tx_count];
    t->fd = udp_socket(gid, port, false);
    if (t->fd < 0)
        return -1;
    t->port = port;
    memcpy(t->local, gid, 16);
    u->tx_count++;
    return t->fd;
}

/* Two processes of one host that talk to each other have a port of their own for each direction. */
static uint16_t port_of_slots(const struct sn_burst *b)
{
    uint32_t pair = (b->sqpn >> 16 & 0xff) << 8 | (b->dqpn >> 16 & 0xff);
    return (uint16_t)(FIRST_SOURCE_PORT | (pair * 0x9e3779b1u >> 18));
}

static int address(struct sn_backend *b, const struct sn_burst *burst, uint16_t *udp_sport)
{
    struct udp_backend *u = own(b);
    if (!*udp_sport)
        *udp_sport = port_of_slots(burst);
    if (udp_source(u, burst->sgid, *udp_sport) >= 0)
        return 0;
    *udp_sport = SN_ROCE_PORT; /* the port is somebody else's, or too many are in use */
    return find_listener(u, burst->sgid) ? 0 : -EHOSTUNREACH;
}

/* ---- receivers -------------------------------------------------------------------------------------------------- */

static int add_rx(struct udp_backend *u, int fd, enum udp_role role, const uint8_t local[16])
{
    if (u->rx_count == UDP_MAX_RX)
        return -ENOSPC;
    int rc = sn_packet_watch(&u->base, fd);
    if (rc)
        return rc;
    struct udp_rx *r = &u->rx[u->rx_count++];
    *r = (struct udp_rx){.fd = fd, .role = role, .batch = 1};
    memcpy(r->local, local, 16);
    return 0;
}

static void drop_rx(struct udp_backend *u, unsigned i)
{
    sn_packet_unwatch(&u->base, u->rx[i].fd);
    if (u->rx[i].role != UDP_PASSED) /* that is the slot's */
        sn_fd_close(u->rx[i].fd);
    u->connected -= u->rx[i].role == UDP_CONNECTED;
    u->rx[i] = u->rx[--u->rx_count];
}

/* A source whose frames the kernel gives to the wrong process gets a socket that suits nobody else's. */
static void passed_on(struct sn_backend *b, const struct sn_frame_in *in)
{
    struct udp_backend *u = own(b);
    struct sockaddr_storage peer;
    for (unsigned i = 0; i < u->rx_count; i++)
        if (u->rx[i].role == UDP_CONNECTED && u->rx[i].peer_port == in->udp_sport &&
            !memcmp(u->rx[i].peer, in->sgid, 16) && !memcmp(u->rx[i].local, in->dgid, 16))
            return;
    if (u->connected == UDP_MAX_CONNECTED)
        return;
    int fd = udp_socket(in->dgid, SN_ROCE_PORT, true);
    if (fd < 0)
        return;
    socklen_t length = udp_sockaddr(in->sgid, in->udp_sport, &peer);
    if (connect(fd, (struct sockaddr *)&peer, length) || add_rx(u, fd, UDP_CONNECTED, in->dgid)) {
        sn_fd_close(fd);
        return;
    }
    struct udp_rx *r = &u->rx[u->rx_count - 1];
    memcpy(r->peer, in->sgid, 16);
    r->peer_port = in->udp_sport;
    u->connected++;
}

static void unbind_udp(struct sn_backend *b, const struct sn_slot *slot)
{
    struct udp_backend *u = own(b);
    udp_ways_forget(u);
    for (unsigned g = 0; g < slot->gid_count; g++) {
        for (unsigned i = u->tx_count; i-- > 0;)
            if (!memcmp(u->tx[i].local, slot->gid[g], 16)) {
                sn_fd_close(u->tx[i].fd);
                u->tx[i] = u->tx[--u->tx_count];
            }
        for (unsigned i = u->rx_count; i-- > 0;)
            if (!memcmp(u->rx[i].local, slot->gid[g], 16))
                drop_rx(u, i);
    }
    u->messages = 0; /* they may name sockets that are gone */
    u->base.more = false;
}

/* A quarter of the receive buffer: the kernel counts its own overhead in it, and other queue pairs want their part. */
static uint32_t window_of(int fd, uint32_t before)
{
    int bytes = 0;
    socklen_t size = sizeof(bytes);
    uint32_t window = LEAST_WINDOW;
    if (!getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, &size) && bytes > 0)
        window = (uint32_t)bytes / 4;
    window = window < LEAST_WINDOW ? LEAST_WINDOW : window > MOST_WINDOW ? MOST_WINDOW : window;
    return before && before < window ? before : window;
}

static int bind_udp(struct sn_backend *b, const struct sn_slot *slot)
{
    struct udp_backend *u = own(b);
    for (unsigned g = 0; g < slot->gid_count; g++) {
        int zero = 0, fd = udp_socket(slot->gid[g], SN_ROCE_PORT, true), rc = fd;
        if (fd >= 0) {
            rc = add_rx(u, fd, UDP_LISTENER, slot->gid[g]);
            if (rc)
                sn_fd_close(fd);
            else
                rc = add_rx(u, slot->fd[g], UDP_PASSED, slot->gid[g]);
        }
        if (rc) {
            unbind_udp(b, slot);
            return rc;
        }
        b->window = window_of(fd, b->window);
        if (setsockopt(fd, SOL_UDP, UDP_SEGMENT, &zero, sizeof(zero)))
            b->runs = false;
    }
    return 0;
}

static void destroy(struct sn_backend *b)
{
    struct udp_backend *u = own(b);
    while (u->rx_count)
        drop_rx(u, u->rx_count - 1);
    udp_ways_forget(u);
    for (unsigned i = 0; i < u->tx_count; i++)
        sn_fd_close(u->tx[i].fd);
    free(u->buffer);
    free(u);
}

static const struct sn_backend_ops ops = {.name = "udp",
                                          .layer = SN_LAYER_UDP,
                                          .address = address,
                                          .send = udp_send,
                                          .receive = udp_receive,
                                          .pass_on = udp_pass_on,
                                          .passed_on = passed_on,
                                          .bind = bind_udp,
                                          .unbind = unbind_udp,
                                          .doubt = udp_ways_doubt,
                                          .destroy = destroy};

int sn_udp_open(struct sn_backend **out)
{
    struct udp_backend *u = calloc(1, sizeof(*u));
    if (!u)
        return -ENOMEM;
    u->buffer = malloc((size_t)UDP_MESSAGES * UDP_BUFFER);
    if (!u->buffer) {
        free(u);
        return -ENOMEM;
    }
    u->base.ops = &ops;
    u->base.runs = true;
    u->base.id_unknown = true;
    u->used = UDP_MESSAGES;
    udp_ways_init(u);
    *out = &u->base;
    return 0;
}
