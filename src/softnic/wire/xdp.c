/* SPDX-License-Identifier: Apache-2.0 */
/* Frames through an AF_XDP socket's rings, in copy mode. */
#include "softnic/wire/xdp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "softnic/wire/packet_internal.h"

enum { SIDE_EVERY = 4 /* polls, of which one looks at the packet socket */ };

static struct xdp *own(struct sn_backend *b)
{
    return (struct xdp *)b;
}

/* The chunks of frames that have left are free again. */
static void take_completions(struct xdp *x)
{
    uint32_t ready = __atomic_load_n(x->completion.producer, __ATOMIC_ACQUIRE), at = *x->completion.consumer;
    const uint64_t *entries = x->completion.entries;
    while (at != ready && x->free_count < XSK_TX)
        x->free_tx[x->free_count++] = entries[at++ & (x->completion.size - 1)];
    __atomic_store_n(x->completion.consumer, at, __ATOMIC_RELEASE);
}

/* In copy mode the kernel sends within the call, 32 frames at most; what is left goes with a later one. */
static void kick(struct xdp *x)
{
    for (int i = 0; i < XSK_TX / 32; i++) {
        if (__atomic_load_n(x->tx.consumer, __ATOMIC_ACQUIRE) == *x->tx.producer)
            return;
        sn_packet_add(&sn_packet_totals.calls_sent, 1);
        if (sendto(x->fd, NULL, 0, MSG_DONTWAIT, NULL, 0) < 0 && errno != EAGAIN)
            return;
    }
}

static int send_frames(struct sn_backend *b, const struct sn_frame_out *frames, unsigned count)
{
    struct xdp *x = own(b);
    struct xdp_desc *entries = x->tx.entries;
    uint32_t at = *x->tx.producer;
    unsigned n = 0;
    take_completions(x);
    while (n < count && x->free_count) {
        if (frames[n].length > XSK_CHUNK)
            break;
        uint64_t chunk = x->free_tx[--x->free_count];
        memcpy(x->memory + chunk, frames[n].bytes, frames[n].length);
        entries[at++ & (x->tx.size - 1)] = (struct xdp_desc){.addr = chunk, .len = frames[n].length};
        n++;
    }
    if (!n && x->free_count)
        return -EMSGSIZE;
    __atomic_store_n(x->tx.producer, at, __ATOMIC_RELEASE);
    kick(x);
    return (int)n;
}

static void give_back(struct xdp *x)
{
    uint64_t *entries = x->fill.entries;
    uint32_t at = *x->fill.producer;
    for (unsigned i = 0; i < x->held_count; i++)
        entries[at++ & (x->fill.size - 1)] = x->held[i];
    __atomic_store_n(x->fill.producer, at, __ATOMIC_RELEASE);
    x->held_count = 0;
}

static unsigned take_arrivals(struct xdp *x, struct sn_frame_in *frames, unsigned max)
{
    const struct xdp_desc *entries = x->rx.entries;
    uint32_t ready = __atomic_load_n(x->rx.producer, __ATOMIC_ACQUIRE), at = *x->rx.consumer;
    unsigned n = 0;
    while (at != ready && n < max && n < sizeof(x->held) / sizeof(x->held[0])) {
        const struct xdp_desc *d = &entries[at++ & (x->rx.size - 1)];
        frames[n] = (struct sn_frame_in){.bytes = x->memory + d->addr, .length = d->len};
        x->held[n++] = d->addr / XSK_CHUNK * XSK_CHUNK;
    }
    __atomic_store_n(x->rx.consumer, at, __ATOMIC_RELEASE);
    x->held_count = n;
    return n;
}

static int receive(struct sn_backend *b, struct sn_frame_in *frames, unsigned max)
{
    struct xdp *x = own(b);
    give_back(x);
    kick(x);
    unsigned n = take_arrivals(x, frames, max);
    if (n == 0 && (b->look_all || x->side->more || ++x->polls % SIDE_EVERY == 0))
        n = (unsigned)x->side->ops->receive(x->side, frames, max);
    b->more = x->side->more || __atomic_load_n(x->tx.consumer, __ATOMIC_ACQUIRE) != *x->tx.producer;
    return (int)n;
}

static int bind_xdp(struct sn_backend *b, const struct sn_slot *slot)
{
    return own(b)->side->ops->bind(own(b)->side, slot);
}

static void unbind_xdp(struct sn_backend *b, const struct sn_slot *slot)
{
    own(b)->side->ops->unbind(own(b)->side, slot);
}

static void destroy(struct sn_backend *b)
{
    struct xdp *x = own(b);
    xdp_socket_close(x);
    if (x->side)
        x->side->ops->destroy(x->side);
    free(x);
}

static const struct sn_backend_ops ops = {.name = "xdp",
                                          .layer = SN_LAYER_ETHERNET,
                                          .send = send_frames,
                                          .receive = receive,
                                          .bind = bind_xdp,
                                          .unbind = unbind_xdp,
                                          .destroy = destroy};

int sn_xdp_open(const char *interface, struct sn_backend **out)
{
    struct xdp *x = calloc(1, sizeof(*x));
    if (!x)
        return -ENOMEM;
    x->fd = x->map_fd = x->program_fd = x->link_fd = -1;
    x->base.ops = &ops;
    int rc = sn_afpacket_open(interface, &x->side);
    if (!rc)
        rc = xdp_socket_open(x, interface);
    if (rc) {
        destroy(&x->base);
        return rc;
    }
    memcpy(x->base.mac, x->side->mac, 6);
    x->base.mtu = x->side->mtu < SN_XDP_MTU ? x->side->mtu : SN_XDP_MTU;
    sn_packet_watch(&x->base, x->fd);
    sn_packet_watch(&x->base, x->side->fd[0]);
    *out = &x->base;
    return 0;
}
