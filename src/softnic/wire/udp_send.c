/* SPDX-License-Identifier: Apache-2.0 */
/* Runs of frames into datagrams: one message a run, several messages a system call. */
#include <errno.h>
#include <netinet/udp.h>
#include <string.h>

#include "softnic/wire/packet_internal.h"
#include "softnic/wire/udp_internal.h"

struct out_message {
    struct sockaddr_storage to;
    struct iovec iov;
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(uint16_t)) + CMSG_SPACE(sizeof(int))];
    } control;
    unsigned frames;
};

static unsigned run_length(const struct sn_frame_out *f, unsigned count)
{
    unsigned n = 1;
    while (n < count && f[n].ip_id)
        n++;
    return n;
}

static struct cmsghdr *put(struct msghdr *m, struct cmsghdr *c, int level, int type, const void *value, size_t bytes)
{
    c = c ? CMSG_NXTHDR(m, c) : CMSG_FIRSTHDR(m);
    c->cmsg_level = level;
    c->cmsg_type = type;
    c->cmsg_len = CMSG_LEN(bytes);
    memcpy(CMSG_DATA(c), value, bytes);
    return c;
}

static void fill(struct msghdr *m, struct out_message *o, const struct sn_frame_out *f, unsigned frames)
{
    const struct sn_frame_out *last = &f[frames - 1];
    struct cmsghdr *c = NULL;
    size_t control = 0;
    o->frames = frames;
    o->iov = (struct iovec){(void *)(uintptr_t)f->bytes, (size_t)(last->bytes - f->bytes) + last->length};
    *m = (struct msghdr){.msg_name = &o->to, .msg_iov = &o->iov, .msg_iovlen = 1};
    m->msg_namelen = udp_sockaddr(f->dgid, SN_ROCE_PORT, &o->to);
    if (frames == 1 && !f->tclass)
        return;
    memset(&o->control, 0, sizeof(o->control));
    m->msg_control = o->control.bytes;
    m->msg_controllen = sizeof(o->control.bytes);
    if (frames > 1) {
        uint16_t bytes = (uint16_t)f->length;
        c = put(m, c, SOL_UDP, UDP_SEGMENT, &bytes, sizeof(bytes));
        control += CMSG_SPACE(sizeof(bytes));
    }
    if (f->tclass) {
        int tclass = f->tclass;
        bool ipv4 = sn_gid_is_ipv4(f->dgid);
        put(m, c, ipv4 ? IPPROTO_IP : IPPROTO_IPV6, ipv4 ? IP_TOS : IPV6_TCLASS, &tclass, sizeof(tclass));
        control += CMSG_SPACE(sizeof(tclass));
    }
    m->msg_controllen = control;
}

/* EIO: the interface of this route cannot do segmentation offload. From now on every frame goes by itself. */
int udp_refused(struct sn_backend *b, int error)
{
    if (error == EAGAIN || error == EWOULDBLOCK || error == ENOBUFS || error == EINTR)
        return 0;
    if (error == EIO)
        b->runs = false;
    return -error;
}

static int send_runs(struct udp_backend *u, const struct sn_frame_out *frames, unsigned count)
{
    struct out_message out[UDP_MESSAGES];
    struct mmsghdr messages[UDP_MESSAGES];
    int source = udp_source(u, frames->sgid, frames->udp_sport);
    unsigned n = 0, used = 0, taken = 0;
    if (source < 0)
        return -EADDRNOTAVAIL;
    while (n < UDP_MESSAGES && used < count) {
        const struct sn_frame_out *f = &frames[used];
        if (f->udp_sport != frames->udp_sport || memcmp(f->sgid, frames->sgid, 16) != 0)
            break; /* another socket's */
        unsigned run = run_length(f, count - used);
        fill(&messages[n].msg_hdr, &out[n], f, run);
        used += run;
        n++;
    }
    int sent = sendmmsg(source, messages, n, MSG_DONTWAIT);
    sn_packet_add(&sn_packet_totals.calls_sent, 1);
    if (sent < 0)
        return udp_refused(&u->base, errno);
    for (int i = 0; i < sent; i++)
        taken += out[i].frames;
    return (int)taken;
}

int udp_send(struct sn_backend *b, const struct sn_frame_out *frames, unsigned count)
{
    struct udp_backend *u = (struct udp_backend *)b;
    return count == 1 && !frames->tclass ? udp_send_one(u, frames) : send_runs(u, frames, count);
}
