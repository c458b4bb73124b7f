/* SPDX-License-Identifier: Apache-2.0 */
/* Datagrams into frames. A message may be several datagrams of one size that the kernel has put together (UDP_GRO). */
#include <errno.h>
#include <netinet/udp.h>
#include <string.h>
#include <unistd.h>

#include "softnic/wire/udp_internal.h"

enum { HOT_POLLS = 1024, COLD_EVERY = 16, FEW_IN_A_ROW = UDP_LONE_ROW, LARGE = UDP_LONE_LARGE };

static int int_of(const struct cmsghdr *c)
{
    int v = 0;
    if (c->cmsg_len >= CMSG_LEN(sizeof(int)))
        memcpy(&v, CMSG_DATA(c), sizeof(v));
    else if (c->cmsg_len > CMSG_LEN(0))
        v = *CMSG_DATA(c); /* IP_TOS comes as one byte */
    return v;
}

static struct udp_arrival read_control(struct msghdr *m)
{
    struct udp_arrival a = {.hop_limit = 64};
    for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
        if (c->cmsg_level == SOL_UDP && c->cmsg_type == UDP_GRO)
            a.segment = (uint16_t)int_of(c);
        else if ((c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_TOS) ||
                 (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_TCLASS))
            a.tclass = (uint8_t)int_of(c);
        else if ((c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_TTL) ||
                 (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_HOPLIMIT))
            a.hop_limit = (uint8_t)int_of(c);
        else if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_CREDENTIALS) {
            struct ucred cred;
            memcpy(&cred, CMSG_DATA(c), sizeof(cred));
            a.same_user = cred.uid == geteuid();
        }
    }
    return a;
}

/* A frame that another process of this user has passed on: its own words about where it came from. */
static bool take_passed(const struct udp_backend *u, const uint8_t *bytes, size_t length, const struct udp_arrival *a,
                        struct sn_frame_in *in)
{
    struct udp_passed head;
    if (!a->same_user || length < sizeof(head))
        return false;
    memcpy(&head, bytes, sizeof(head));
    if (head.magic != UDP_PASSED_MAGIC || memcmp(head.dgid, u->from.local, 16) != 0)
        return false;
    *in = (struct sn_frame_in){.bytes = bytes + sizeof(head),
                               .length = (uint32_t)(length - sizeof(head)),
                               .passed_on = true,
                               .udp_sport = head.udp_sport,
                               .tclass = head.tclass,
                               .hop_limit = head.hop_limit};
    memcpy(in->sgid, head.sgid, 16);
    memcpy(in->dgid, head.dgid, 16);
    return true;
}

/* Next frame of the messages in hand; false: there is none left. */
static bool next_frame(struct udp_backend *u, struct sn_frame_in *in)
{
    while (u->current < u->messages) {
        struct mmsghdr *m = &u->got[u->current];
        const uint8_t *bytes = u->buffer + (size_t)u->current * UDP_BUFFER;
        size_t left = m->msg_len - u->at, length;
        const struct udp_arrival *a = &u->arrival;
        if (u->at == 0)
            u->arrival = read_control(&m->msg_hdr);
        if (u->at >= m->msg_len || m->msg_hdr.msg_flags & MSG_TRUNC) {
            u->current++;
            u->at = 0;
            continue;
        }
        bytes += u->at;
        length = u->from.role != UDP_PASSED && a->segment && a->segment < left ? a->segment : left;
        u->at += length;
        if (u->from.role == UDP_PASSED) {
            if (take_passed(u, bytes, length, a, in))
                return true;
            continue;
        }
        *in = (struct sn_frame_in){
            .bytes = bytes, .length = (uint32_t)length, .tclass = a->tclass, .hop_limit = a->hop_limit};
        udp_gid_of(&u->message[u->current].from, in->sgid, &in->udp_sport);
        memcpy(in->dgid, u->from.local, 16);
        return true;
    }
    u->messages = 0;
    return false;
}

/*
 * The kernel looks once more for each message that there is room for: a lone one should not have to wait for that, nor the
 * few in a row that a request, its acknowledgement and an answer are. A large one is one of many.
 */
static void adapt(struct udp_rx *r, int got, uint32_t bytes)
{
    if (got <= 0) {
        r->batch = r->batch > 1 ? r->batch / 2 : 1;
        r->full = 0;
        return;
    }
    if (r->batch == 1 && bytes < LARGE && ++r->full <= FEW_IN_A_ROW)
        return;
    if ((unsigned)got == r->batch && r->batch < UDP_MESSAGES)
        r->batch *= 2;
}

/* One message costs a third less by itself, and so does the look that finds none. */
static int receive(int fd, struct mmsghdr *got, unsigned batch)
{
    ssize_t length;

    if (batch > 1)
        return recvmmsg(fd, got, batch, MSG_DONTWAIT, NULL);
    length = recvmsg(fd, &got->msg_hdr, MSG_DONTWAIT);
    if (length < 0)
        return -1;
    got->msg_len = (unsigned)length;
    return 1;
}

static int offload(const struct udp_rx *r, int on)
{
    return setsockopt(r->fd, SOL_UDP, UDP_GRO, &on, sizeof(on));
}

/* The queue has just been found empty. */
static void go_bare(struct udp_rx *r)
{
    char byte;
    bool never = offload(r, 0) != 0, done = false;
    if (!never)
        done = recv(r->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
    if (!done && !never)
        (void)offload(r, 1); /* it was on before */
    udp_lone_begin(&r->lone, done, never);
}

/* What udp_lone.h makes of the messages in hand. */
static void note(struct udp_backend *u, struct udp_rx *r, unsigned n)
{
    struct udp_arrival a = read_control(&u->got[0].msg_hdr);
    struct udp_said s = {.bytes = u->buffer,
                         .length = u->got[0].msg_len,
                         .told = true,
                         .run = n > 1 || (a.segment && a.segment < u->got[0].msg_len),
                         .tclass = a.tclass,
                         .hop_limit = a.hop_limit};
    if (udp_lone_found(&r->lone, &s))
        (void)offload(r, 1);
}

/* The kernel writes lengths into the headers that it used; the others are as they were. */
static int fetch_told(struct udp_backend *u, struct udp_rx *r)
{
    for (unsigned i = 0; i < u->used; i++) {
        u->iov[i] = (struct iovec){u->buffer + (size_t)i * UDP_BUFFER, UDP_BUFFER};
        u->got[i].msg_hdr = (struct msghdr){.msg_name = &u->message[i].from,
                                            .msg_namelen = sizeof(u->message[i].from),
                                            .msg_iov = &u->iov[i],
                                            .msg_iovlen = 1,
                                            .msg_control = u->message[i].control.bytes,
                                            .msg_controllen = sizeof(u->message[i].control.bytes)};
    }
    int n = receive(r->fd, u->got, r->batch);
    u->used = n > 0 ? (unsigned)n : 1; /* the first may have been touched before an error */
    adapt(r, n, n > 0 ? u->got[0].msg_len : 0);
    return n;
}

/* One message, which is one frame, in the shortest way there is. Who sends to a connected socket is known. */
static bool fetch_bare(struct udp_backend *u, struct udp_rx *r, struct sn_frame_in *in)
{
    struct sockaddr_storage *from = &u->message[0].from;
    socklen_t size = sizeof(*from);
    ssize_t length;
    if (r->role == UDP_CONNECTED)
        length = recv(r->fd, u->buffer, UDP_BUFFER, MSG_DONTWAIT);
    else
        length = recvfrom(r->fd, u->buffer, UDP_BUFFER, MSG_DONTWAIT, (struct sockaddr *)from, &size);
    if (length < 0)
        return false;
    in->bytes = u->buffer;
    in->length = (uint32_t)length;
    in->passed_on = false;
    in->tclass = r->lone.tclass;
    in->hop_limit = r->lone.hop_limit;
    memcpy(in->dgid, r->local, 16);
    if (r->role == UDP_CONNECTED) {
        memcpy(in->sgid, r->peer, 16);
        in->udp_sport = r->peer_port;
    } else {
        udp_gid_of(from, in->sgid, &in->udp_sport);
    }
    r->heat = HOT_POLLS;
    const struct udp_said s = {.bytes = u->buffer, .length = (size_t)length};
    if (udp_lone_found(&r->lone, &s))
        (void)offload(r, 1);
    return length != 0; /* an empty one is no frame */
}

static bool fetch(struct udp_backend *u, struct udp_rx *r)
{
    int n = fetch_told(u, r);
    if (n <= 0) {
        if (udp_lone_nothing(&r->lone))
            go_bare(r);
        return false;
    }
    r->heat = HOT_POLLS;
    if (r->role != UDP_PASSED)
        note(u, r, (unsigned)n);
    u->from = *r;
    u->messages = (unsigned)n;
    u->current = 0;
    u->at = 0;
    return true;
}

/* Sockets that had something lately are looked at each time, of the others one each few times. */
static bool worth_a_look(struct udp_backend *u, unsigned i)
{
    struct udp_rx *r = &u->rx[i];
    if (u->base.look_all)
        return true;
    if (r->heat) {
        r->heat--;
        return true;
    }
    return u->polls % COLD_EVERY == 0 && u->cold % u->rx_count == i;
}

int udp_receive(struct sn_backend *b, struct sn_frame_in *frames, unsigned max)
{
    struct udp_backend *u = (struct udp_backend *)b;
    unsigned n = 0;
    u->polls++;
    u->cold += u->polls % COLD_EVERY == 0;
    /* Frames point into the one set of buffers, so what is given out in one call comes from one system call. */
    for (unsigned k = 0; k < u->rx_count && !u->messages; k++) {
        unsigned i = (u->start + k) % u->rx_count;
        struct udp_rx *r = &u->rx[i];
        if (!worth_a_look(u, i))
            continue;
        if (udp_lone_may_be_bare(&r->lone)) {
            if (fetch_bare(u, r, &frames[0])) {
                u->start = i + 1;
                b->more = false;
                return 1;
            }
            (void)udp_lone_nothing(&r->lone);
        } else if (fetch(u, r)) {
            u->start = i + 1;
        }
    }
    while (n < max && next_frame(u, &frames[n]))
        n++;
    b->more = u->messages != 0;
    return (int)n;
}

int udp_pass_on(struct sn_backend *b, const struct sn_frame_in *in, uint8_t slot)
{
    struct udp_backend *u = (struct udp_backend *)b;
    struct udp_passed head = {UDP_PASSED_MAGIC, in->udp_sport, in->tclass, in->hop_limit, {0}, {0}};
    struct iovec iov[] = {{&head, sizeof(head)}, {(void *)(uintptr_t)in->bytes, in->length}};
    memcpy(head.sgid, in->sgid, 16);
    memcpy(head.dgid, in->dgid, 16);
    for (unsigned i = 0; i < u->rx_count; i++)
        if (u->rx[i].role == UDP_PASSED && !memcmp(u->rx[i].local, in->dgid, 16))
            return sn_slot_send(u->rx[i].fd, in->dgid, slot, iov, 2);
    return -EHOSTUNREACH;
}
