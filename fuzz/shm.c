/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hostile process on the other side of a shared-memory ring: records, commit words and positions of any value, both in the
 * ring that it writes and in the one that it reads. A connection may be given up; memory, and the others, are judged as ever.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "rig.h"
#include "softnic/wire/shm_internal.h"

enum { RING = 65536 };

struct peer {
    struct fuzz_world w;
    struct shm_wire shm;
    struct shm_endpoint endpoint;
    struct shm_connection *c; /* the wire's: gone, its ring with it, once the wire has reaped it */
    uint64_t tail, nonce;     /* of what it writes */
};

static struct peer peer;

static bool connected(void)
{
    return peer.shm.connections != NULL;
}

static struct shm_region *ring(void)
{
    return (struct shm_region *)(void *)peer.c->map;
}

static int wire_send(struct sn_wire *wire, const struct sn_burst *b)
{
    (void)wire;
    return shm_send(&peer.shm.wire, b);
}

static bool wire_send_short(struct sn_wire *wire, const struct sn_burst *header, struct sn_route *route, const struct sn_short *m)
{
    (void)wire;
    return shm_send_short(&peer.shm.wire, header, route, m);
}

/* As shm.c does it: who sends from within a delivery reaps nobody. */
static int wire_poll(struct sn_wire *wire, unsigned budget)
{
    unsigned done = 0;

    (void)wire;
    if (!connected())
        return 0;
    peer.shm.delivering = true;
    if (peer.c->open && !peer.c->dead)
        done = shm_deliver(&peer.shm, peer.c, budget);
    peer.shm.delivering = false;
    if (peer.c->dead)
        shm_peer_reap(&peer.shm);
    return (int)done;
}

static bool wire_pending(struct sn_wire *wire)
{
    (void)wire;
    return false;
}

static void wire_sleeping(struct sn_wire *wire, bool asleep)
{
    (void)wire;
    (void)asleep;
}

static const struct sn_wire_ops ops = {
    .name = "shm", .send = wire_send, .poll = wire_poll, .pending = wire_pending, .sleeping = wire_sleeping,
    .send_short = wire_send_short};

/* A connection as an accepted one is after its hello. The wire will free it, and unmap its ring. */
static void connect_again(void)
{
    size_t bytes = shm_region_bytes(RING);
    struct shm_connection *c = calloc(1, sizeof(*c));
    void *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct shm_direction *own;

    FUZZ_CHECK(c != NULL && map != MAP_FAILED, "no memory");
    peer.nonce += 0x1000000001ull;
    peer.tail = 0;
    c->endpoint = &peer.endpoint;
    c->fd = -1;
    c->map = map;
    c->map_bytes = bytes;
    memcpy(c->target, peer.endpoint.identity.gid[0], 16);
    shm_rx_init(&c->rx, map, 0, RING, peer.nonce);
    shm_tx_init(&c->tx, map, 1, RING, peer.nonce);
    c->peer = (struct shm_identity){.slot = 0x99, .gid_count = 1};
    memcpy(c->peer.gid[0], fuzz_attacker_gid, 16);
    own = &((struct shm_region *)map)->direction[0];
    own->producer = c->peer;
    c->open = true;
    atomic_fetch_add(&shm_totals.connections, 1);
    peer.c = peer.shm.connections = c;
    peer.shm.connection_count = 1;
    peer.shm.last = peer.shm.resume = NULL;
}

static void commit(const struct shm_header *h, uint64_t bytes, bool honest)
{
    uint8_t *data = (uint8_t *)peer.c->map + SHM_CONTROL_BYTES;
    uint64_t at = peer.tail & (RING - 1);

    memcpy(data + at + 8, h, sizeof(*h));
    atomic_store((_Atomic uint64_t *)(void *)(data + at), peer.nonce + peer.tail + (honest ? 0 : 64));
    peer.tail += bytes;
}

static void record(struct fuzz_in *in)
{
    uint8_t how = fuzz_u8(in), area = fuzz_u8(in);
    struct fuzz_qp *q = &peer.w.qp[area % FUZZ_TARGETS];
    struct shm_header h = {0};

    fuzz_bytes(in, &h, how & 0x80 ? sizeof(h) : 24);
    if (how & 1) {
        h.dqpn = (h.dqpn & 0x01000000) | q->qpn;
        h.sqpn = q->remote_qpn;
    }
    if (how & 2) {
        h.kind %= SN_KIND_COUNT;
        h.mtu_service = (uint8_t)(peer.w.mtu | q->service << 4);
        h.flags &= SN_BURST_FLAGS_ALL;
    }
    if (how & 4)
        h.psn = (h.psn & 0xff000000) | ((q->rcv_psn + (uint32_t)(int8_t)h.psn) & 0xffffff);
    if (how & 8) {
        h.rkey = peer.w.key[(area >> 4) % FUZZ_KEYS];
        h.va = peer.w.iova[(area >> 4) % FUZZ_AREAS] + (uint64_t)(int16_t)h.va;
    }
    if (how & 16) {
        h.length %= 5000;
        h.dmalen = h.length;
        h.npackets = h.length == 0 ? 1 : (h.length + (128u << peer.w.mtu) - 1) >> (7 + peer.w.mtu);
        if (h.kind != SN_KIND_SEND && h.kind != SN_KIND_WRITE && h.kind != SN_KIND_READ_RESPONSE)
            h.length = 0;
        if (h.kind >= SN_KIND_ATOMIC_CS && h.kind <= SN_KIND_ATOMIC_MASKED_FA) {
            h.psn = (h.psn & 0xffffff) | 8u << 24;
            h.npackets = 1;
        }
    }
    uint64_t bytes = how & 32 ? (uint64_t)fuzz_u8(in) * 64 : shm_record_bytes(&h);
    commit(&h, bytes % RING, !(how & 64));
    if (how & 4 && (h.psn & 0xffffff) == q->rcv_psn)
        q->rcv_psn = (q->rcv_psn + h.npackets) & 0xffffff;
}

/* What it does to the memory that it shares with us, while it shares any. */
static void step_ring(struct fuzz_in *in, uint8_t op)
{
    switch (op % 12) {
    case 0: /* what it has read of ours */
        atomic_store(&ring()->direction[1].head, op & 0x10 ? fuzz_u64(in) : peer.c->tx.tail);
        break;
    case 1:
        atomic_store(&ring()->direction[op >> 7].asleep, fuzz_u8(in));
        break;
    case 2:
        fuzz_bytes(in, &ring()->direction[0].producer, sizeof(struct shm_identity));
        break;
    case 3:
        peer.tail = op & 0x10 ? peer.c->rx.head : fuzz_u32(in) & ~63u;
        break;
    case 4:
        fuzz_bytes(in, (uint8_t *)peer.c->map + fuzz_u16(in) % shm_region_bytes(RING) / 2, 32);
        break;
    default:
        record(in);
        break;
    }
}

static void step(struct fuzz_in *in)
{
    uint8_t op = fuzz_u8(in);

    switch (op % 12) {
    case 5:
        fuzz_run(&peer.w, 1 + (op >> 4));
        break;
    case 6:
        peer.w.now += (uint64_t)fuzz_u16(in) << 12;
        fuzz_run(&peer.w, 2);
        break;
    case 7:
        sn_port_lock(peer.w.port);
        if (op & 0x80)
            fuzz_connect(&peer.w, &peer.w.qp[(op >> 4) % FUZZ_TARGETS]);
        else if (!connected())
            connect_again();
        sn_port_unlock(peer.w.port);
        break;
    case 8:
        fuzz_post_recv(&peer.w, &peer.w.qp[(op >> 4) % FUZZ_TARGETS], fuzz_u8(in), fuzz_u16(in), peer.w.key[FUZZ_LANDING]);
        break;
    default:
        if (connected())
            step_ring(in, op);
        break;
    }
}

/* Hung up: what is sent from now on reaches nobody. */
static void hang_up(void)
{
    sn_port_lock(peer.w.port);
    if (connected()) {
        shm_peer_kill(&peer.shm, peer.c);
        shm_peer_reap(&peer.shm);
    }
    sn_port_unlock(peer.w.port);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_in in = {data, size};

    if (size > 4096)
        return 0;
    memset(&peer.shm, 0, sizeof(peer.shm));
    fuzz_world_open(&peer.w, fuzz_u8(&in));
    peer.nonce = 0x1234567812345671ull;
    peer.endpoint = (struct shm_endpoint){.identity = {.slot = 1, .gid_count = 1}, .listener = {-1, -1, -1, -1}};
    memcpy(peer.endpoint.identity.gid[0], sn_nic_get_config(peer.w.nic[0])->gid[0], 16);
    peer.shm.ring_bytes = RING;
    peer.shm.wire = (struct sn_wire){&ops, peer.w.port};
    connect_again();
    sn_port_lock(peer.w.port);
    sn_port_attach_wire(peer.w.port, &peer.shm.wire);
    sn_port_unlock(peer.w.port);
    while (in.left != 0)
        step(&in);
    hang_up();
    fuzz_world_close(&peer.w);
    return 0;
}
