/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A packet socket. A filter lets RoCEv2, ARP and neighbour discovery through; frames that other processes of this host
 * send on the interface are seen as well, so processes that share the interface reach each other.
 *
 * The kernel may hand over several UDP datagrams as one (segmentation offload that no hardware has finished, as between
 * the ends of a veth pair): the virtio header in front of each frame says so, and they are taken apart here. Where the
 * option for that header is missing (user-mode emulation), frames come and go bare, and what the kernel hands over as one
 * is lost.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/virtio_net.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "softnic/wire/packet_internal.h"
#include "softnic/wire/rawfd.h"
#include "softnic/wire/udp_internal.h"

enum { SLOT = 66048, RECEIVE_BYTES = 8 << 20, VIRTIO_GSO_UDP_L4 = 5, SCRATCH_FRAMES = 64 };

struct afpacket {
    struct rawfd raw; /* first */
    int deaf[4];
    size_t header; /* bytes in front of each frame: a virtio header, or none */
    /* Messages of one recvmmsg call; of message `current`, payload from `at` on is not given out yet (0: whole). */
    unsigned messages, current;
    size_t at;
    uint16_t segment; /* index of the next one */
    uint8_t *scratch; /* segments with headers of their own */
};

static struct afpacket *own(struct sn_backend *b)
{
    return (struct afpacket *)b;
}

/* ---- out -------------------------------------------------------------------------------------------------------- */

static int send_frames(struct sn_backend *b, const struct sn_frame_out *frames, unsigned count)
{
    static const struct virtio_net_hdr none;
    struct mmsghdr m[RAW_BATCH];
    struct iovec iov[RAW_BATCH][2];
    unsigned n = count < RAW_BATCH ? count : RAW_BATCH;
    for (unsigned i = 0; i < n; i++) {
        iov[i][0] = (struct iovec){(void *)(uintptr_t)&none, own(b)->header};
        iov[i][1] = (struct iovec){(void *)(uintptr_t)frames[i].bytes, frames[i].length};
        m[i].msg_hdr = (struct msghdr){.msg_iov = iov[i], .msg_iovlen = 2};
    }
    int sent = sendmmsg(own(b)->raw.fd, m, n, MSG_DONTWAIT);
    sn_packet_add(&sn_packet_totals.calls_sent, 1);
    return sent < 0 ? rawfd_refused(errno) : sent;
}

/* ---- in --------------------------------------------------------------------------------------------------------- */

static uint16_t get16(const uint8_t *p)
{
    return (uint16_t)(p[0] << 8 | p[1]);
}

static void put16(uint8_t *p, unsigned v)
{
    p[0] = (uint8_t)(v >> 8);
    p[1] = (uint8_t)v;
}

static void checksum(uint8_t *ip)
{
    uint32_t sum = 0;
    put16(ip + 10, 0);
    for (int i = 0; i < 20; i += 2)
        sum += get16(ip + i);
    while (sum >> 16)
        sum = (sum & 0xffff) + (sum >> 16);
    put16(ip + 10, ~sum & 0xffff);
}

/* Bytes in front of the UDP payload, or 0: no such frame. */
static size_t headers_of(const uint8_t *frame, size_t length)
{
    if (length < ETH_HLEN + 28)
        return 0;
    if (get16(frame + 12) == ETH_P_IP && frame[ETH_HLEN] == 0x45)
        return ETH_HLEN + 28;
    return get16(frame + 12) == ETH_P_IPV6 && length >= ETH_HLEN + 48 ? ETH_HLEN + 48 : 0;
}

/* One datagram of a frame that holds several: with lengths, identification and checksum as on the wire. */
static bool segment(struct afpacket *a, const uint8_t *frame, size_t length, uint16_t size, unsigned slot,
                    struct sn_frame_in *in)
{
    size_t headers = headers_of(frame, length);
    uint8_t *out = a->scratch + (size_t)slot * RAW_FRAME, *ip = out + ETH_HLEN;
    if (!headers || headers >= length)
        return false;
    if (!a->at)
        a->at = headers;
    size_t n = length - a->at < size ? length - a->at : size;
    if (headers + n > RAW_FRAME)
        return false;
    memcpy(out, frame, headers);
    memcpy(out + headers, frame + a->at, n);
    if (headers == ETH_HLEN + 28) {
        put16(ip + 2, (unsigned)(28 + n));
        put16(ip + 4, get16(frame + ETH_HLEN + 4) + a->segment);
        checksum(ip);
        put16(ip + 24, (unsigned)(8 + n));
    } else {
        put16(ip + 4, (unsigned)(8 + n));
        put16(ip + 44, (unsigned)(8 + n));
    }
    *in = (struct sn_frame_in){.bytes = out, .length = (uint32_t)(headers + n)};
    a->at += n;
    a->segment++;
    return true;
}

static void next_message(struct afpacket *a)
{
    a->current++;
    a->at = 0;
    a->segment = 0;
}

static bool next_frame(struct afpacket *a, unsigned slot, struct sn_frame_in *in)
{
    while (a->current < a->messages) {
        const struct mmsghdr *m = &a->raw.got[a->current];
        const uint8_t *bytes = (uint8_t *)a->raw.iov[a->current].iov_base;
        struct virtio_net_hdr h = {.gso_type = VIRTIO_NET_HDR_GSO_NONE};
        if (m->msg_len <= a->header || m->msg_hdr.msg_flags & MSG_TRUNC) {
            next_message(a);
            continue;
        }
        memcpy(&h, bytes, a->header);
        size_t length = m->msg_len - a->header;
        bytes += a->header;
        if (h.gso_type == VIRTIO_NET_HDR_GSO_NONE) {
            *in = (struct sn_frame_in){.bytes = bytes, .length = (uint32_t)length};
            next_message(a);
            return true;
        }
        if (h.gso_type == VIRTIO_GSO_UDP_L4 && h.gso_size && (!a->at || a->at < length) &&
            segment(a, bytes, length, h.gso_size, slot, in))
            return true;
        next_message(a);
    }
    a->messages = 0;
    return false;
}

static int receive(struct sn_backend *b, struct sn_frame_in *frames, unsigned max)
{
    struct afpacket *a = own(b);
    unsigned n = 0;
    if (!a->messages) {
        for (unsigned i = 0; i < RAW_BATCH; i++) {
            a->raw.iov[i] = (struct iovec){a->raw.buffer + i * a->raw.slot, a->raw.slot};
            a->raw.got[i].msg_hdr = (struct msghdr){.msg_iov = &a->raw.iov[i], .msg_iovlen = 1};
        }
        int got = recvmmsg(a->raw.fd, a->raw.got, RAW_BATCH, MSG_DONTWAIT, NULL);
        a->messages = got > 0 ? (unsigned)got : 0;
        a->current = 0;
        a->at = 0;
        a->segment = 0;
    }
    while (n < max && n < SCRATCH_FRAMES && next_frame(a, n, &frames[n]))
        n++;
    b->more = a->messages != 0;
    return (int)n;
}

/* ---- life ------------------------------------------------------------------------------------------------------- */

/* On our addresses a socket that hears nothing, so that the kernel does not call the port unreachable. */
static int bind_afpacket(struct sn_backend *b, const struct sn_slot *slot)
{
    struct sock_filter nothing[] = {BPF_STMT(BPF_RET | BPF_K, 0)};
    const struct sock_fprog program = {1, nothing};
    for (unsigned i = 0; i < slot->gid_count; i++) {
        int fd = udp_socket(slot->gid[i], SN_ROCE_PORT, false);
        if (fd < 0)
            continue; /* not an address of the kernel's: it will not answer for it */
        if (setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program))) {
            sn_fd_close(fd);
            return -errno;
        }
        own(b)->deaf[i] = fd;
    }
    return 0;
}

static void unbind_afpacket(struct sn_backend *b, const struct sn_slot *slot)
{
    (void)slot;
    for (int i = 0; i < 4; i++) {
        sn_fd_close(own(b)->deaf[i]);
        own(b)->deaf[i] = -1;
    }
}

static void destroy(struct sn_backend *b)
{
    struct afpacket *a = own(b);
    unbind_afpacket(b, NULL);
    sn_fd_close(a->raw.fd);
    free(a->raw.buffer);
    free(a->scratch);
    free(a);
}

static const struct sn_backend_ops ops = {.name = "packet",
                                          .layer = SN_LAYER_ETHERNET,
                                          .send = send_frames,
                                          .receive = receive,
                                          .bind = bind_afpacket,
                                          .unbind = unbind_afpacket,
                                          .destroy = destroy};

/*
 * ARP; ICMPv6 (neighbour discovery among it); UDP to port 4791, not a later fragment. Of no other VLAN: the kernel takes a
 * tag out of the frame before packet sockets see it, so it would look as if it had none. A tag that says priority only
 * (VID 0) is as good as none.
 */
static int filter(int fd)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)(SKF_AD_OFF + SKF_AD_VLAN_TAG)),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 0xfff, 17, 0),
        BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 12),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ETH_P_ARP, 14, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ETH_P_IPV6, 8, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ETH_P_IP, 0, 13),
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, ETH_HLEN + 9),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_UDP, 0, 11),
        BPF_STMT(BPF_LD | BPF_H | BPF_ABS, ETH_HLEN + 6),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 0x1fff, 9, 0),
        BPF_STMT(BPF_LDX | BPF_B | BPF_MSH, ETH_HLEN),
        BPF_STMT(BPF_LD | BPF_H | BPF_IND, ETH_HLEN + 2),
        BPF_JUMP(BPF_JMP | BPF_JA, 4, 0, 0),
        /* IPv6 */
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, ETH_HLEN + 6),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_ICMPV6, 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_UDP, 0, 3),
        BPF_STMT(BPF_LD | BPF_H | BPF_ABS, ETH_HLEN + 42),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SN_ROCE_PORT, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, 0x40000),
        BPF_STMT(BPF_RET | BPF_K, 0),
    };
    const struct sock_fprog program = {sizeof(code) / sizeof(code[0]), code};
    return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) ? -errno : 0;
}

/* *header: bytes that stand in front of each frame. */
static int ask_for_header(int fd, size_t *header)
{
    int one = 1;
    bool there = !setsockopt(fd, SOL_PACKET, PACKET_VNET_HDR, &one, sizeof(one));
    *header = there ? sizeof(struct virtio_net_hdr) : 0;
    return there || errno == ENOPROTOOPT ? 0 : -errno;
}

static int open_socket(const char *interface, size_t *header)
{
    int bytes = RECEIVE_BYTES, rc;
    struct sockaddr_ll a = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL)};
    int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -errno;
    a.sll_ifindex = (int)if_nametoindex(interface);
    rc = a.sll_ifindex ? filter(fd) : -ENODEV;
    if (!rc)
        rc = ask_for_header(fd, header);
    if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes)) && !rc &&
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes)))
        rc = -errno;
    if (!rc && bind(fd, (struct sockaddr *)&a, sizeof(a)))
        rc = -errno;
    if (rc) {
        close(fd);
        return rc;
    }
    return fd;
}

int sn_afpacket_open(const char *interface, struct sn_backend **out)
{
    struct afpacket *a = calloc(1, sizeof(*a));
    int fd = -1, rc, mtu;
    if (!a)
        return -ENOMEM;
    a->raw.slot = SLOT;
    a->raw.buffer = malloc((size_t)RAW_BATCH * SLOT);
    a->scratch = malloc((size_t)SCRATCH_FRAMES * RAW_FRAME);
    for (int i = 0; i < 4; i++)
        a->deaf[i] = -1;
    rc = !a->raw.buffer || !a->scratch ? -ENOMEM : sn_interface_mac(interface, a->raw.base.mac);
    if (!rc)
        rc = fd = open_socket(interface, &a->header);
    if (rc < 0) {
        free(a->raw.buffer);
        free(a->scratch);
        free(a);
        return rc;
    }
    sn_fd_track(fd);
    a->raw.base.ops = &ops;
    a->raw.fd = fd;
    sn_packet_watch(&a->raw.base, fd);
    mtu = sn_interface_mtu(interface);
    a->raw.base.mtu = mtu > 0 ? (uint32_t)mtu : 1500;
    *out = &a->raw.base;
    return 0;
}
