/* SPDX-License-Identifier: Apache-2.0 */
#include "softnic/wire/udp_way.h"

#include <errno.h>
#include <linux/net_tstamp.h>
#include <string.h>

#include "format/roce.h"
#include "softnic/wire/icrc.h"
#include "softnic/wire/packet_icrc.h"
#include "softnic/wire/packet_internal.h"
#include "softnic/wire/udp_internal.h"

enum { PROBE_BYTES = 8 };

static void disconnect(struct udp_way *way)
{
    if (way->connected >= 0)
        sn_fd_close(way->connected);
    way->connected = -1;
    way->sent = 0;
}

void udp_ways_init(struct udp_backend *u)
{
    for (unsigned i = 0; i < UDP_WAYS; i++)
        u->way[i] = (struct udp_way){.source = -1, .connected = -1};
}

void udp_ways_forget(struct udp_backend *u)
{
    for (unsigned i = 0; i < UDP_WAYS; i++) {
        disconnect(&u->way[i]);
        u->way[i].source = -1;
    }
}

void udp_ways_doubt(struct sn_backend *b)
{
    struct udp_backend *u = (struct udp_backend *)b;
    for (unsigned i = 0; i < UDP_WAYS; i++)
        if (u->way[i].connected >= 0) {
            disconnect(&u->way[i]);
            u->way[i].after = UDP_WAY_REST;
        }
}

static struct udp_way *find_way(struct udp_backend *u, const struct sn_frame_out *f)
{
    struct udp_way *way = &u->way[(f->udp_sport ^ f->dgid[15] ^ f->dgid[14]) % UDP_WAYS];
    if (way->source >= 0 && way->port == f->udp_sport && !memcmp(way->dgid, f->dgid, 16) && !memcmp(way->sgid, f->sgid, 16))
        return way;
    disconnect(way);
    way->source = udp_source(u, f->sgid, f->udp_sport);
    if (way->source < 0)
        return NULL;
    way->port = f->udp_sport;
    way->after = UDP_WAY_AFTER;
    way->numbered = sn_gid_is_ipv4(f->dgid);
    memcpy(way->sgid, f->sgid, 16);
    memcpy(way->dgid, f->dgid, 16);
    way->length = udp_sockaddr(f->dgid, SN_ROCE_PORT, &way->to);
    return way;
}

/* ---- numbers ---- */

/* The identification of a datagram that has just been sent to ourselves. False: the kernel does not show it. */
static bool id_of_probe(int fd, const uint8_t probe[PROBE_BYTES], uint16_t *id)
{
    uint8_t bytes[256];
    union {
        struct cmsghdr align;
        char bytes[256];
    } control;
    struct iovec iov = {bytes, sizeof(bytes)};
    struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
    struct sn_ipv4 ip;
    const size_t behind = sizeof(ip) + sizeof(struct sn_udp) + PROBE_BYTES; /* whatever is in front */
    ssize_t n = recvmsg(fd, &m, MSG_ERRQUEUE | MSG_DONTWAIT);
    if (n < (ssize_t)behind || memcmp(bytes + n - PROBE_BYTES, probe, PROBE_BYTES) != 0)
        return false;
    memcpy(&ip, bytes + n - behind, sizeof(ip));
    *id = sn_get16(ip.id);
    return ip.version_ihl == 0x45 && ip.protocol == SN_IP_PROTO_UDP && sn_get16(ip.length) == behind &&
           (sn_get16(ip.flags_offset) & SN_IPV4_DF) != 0;
}

static bool learn_ids(const struct udp_way *way, int fd, uint16_t *next)
{
    int ask = SOF_TIMESTAMPING_TX_SCHED | SOF_TIMESTAMPING_SOFTWARE, none = 0;
    struct sockaddr_storage self;
    socklen_t length = udp_sockaddr(way->sgid, way->port, &self);
    uint16_t id[2] = {0, 0};
    bool shown = setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPING, &ask, sizeof(ask)) == 0;
    for (unsigned i = 0; shown && i < 2; i++) {
        const uint8_t probe[PROBE_BYTES] = {'s', 'o', 'f', 't', 'n', 'i', 'c', (uint8_t)i};
        shown = sendto(fd, probe, sizeof(probe), MSG_DONTWAIT, (struct sockaddr *)&self, length) == sizeof(probe) &&
                id_of_probe(fd, probe, &id[i]);
    }
    *next = (uint16_t)(id[1] + 1);
    return shown && setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPING, &none, sizeof(none)) == 0 && id[1] == (uint16_t)(id[0] + 1);
}

static void connect_way(struct udp_way *way)
{
    way->sent = 0;
    way->after = UDP_WAY_REST;
    int fd = way->port == SN_ROCE_PORT ? -1 : udp_socket(way->sgid, way->port, false);
    if (fd < 0)
        return;
    if (connect(fd, (const struct sockaddr *)&way->to, way->length) || (way->numbered && !learn_ids(way, fd, &way->next_id)))
        sn_fd_close(fd);
    else
        way->connected = fd;
}

/* ---- out ---- */

/* False: not sent, and the socket is not to be trusted any more. */
static bool send_numbered(struct udp_way *way, const struct sn_frame_out *f)
{
    uint8_t bytes[SN_ICRC_ID_BYTES], *crc = bytes + f->length - SN_ICRC_BYTES;
    memcpy(bytes, f->bytes, f->length);
    sn_icrc_store(sn_icrc_load(crc) ^ sn_icrc_of_id(f->length, way->next_id), crc);
    way->next_id++;
    return send(way->connected, bytes, f->length, MSG_DONTWAIT) == (ssize_t)f->length;
}

static bool send_connected(struct udp_way *way, const struct sn_frame_out *f)
{
    bool sent = way->numbered ? send_numbered(way, f) : send(way->connected, f->bytes, f->length, MSG_DONTWAIT) >= 0;
    if (!sent)
        disconnect(way);
    return sent;
}

int udp_send_one(struct udp_backend *u, const struct sn_frame_out *f)
{
    struct udp_way *way = find_way(u, f);
    if (!way)
        return -EADDRNOTAVAIL;
    sn_packet_add(&sn_packet_totals.calls_sent, 1);
    if (!way->numbered || sn_icrc_knows_id(f->length)) {
        if (way->connected < 0 && ++way->sent > way->after)
            connect_way(way);
        if (way->connected >= 0 && send_connected(way, f))
            return 1;
    }
    if (sendto(way->source, f->bytes, f->length, MSG_DONTWAIT, (const struct sockaddr *)&way->to, way->length) < 0)
        return udp_refused(&u->base, errno);
    return 1;
}
