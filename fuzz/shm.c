/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hostile process on the other side of a shared-memory ring: records, commit words and positions of any value, both in the
 * ring that it writes and in the one that it reads. A connection may be given up; memory, and the others, are judged as ever.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "rig.h"
#include "softnic/wire/shm_internal.h"

enum { RING = 65536 };

struct peer {
    struct fuzz_world w;
    struct shm_wire shm;
    struct shm_endpoint endpoint;
    struct shm_connection c;
    uint8_t *region;
    uint64_t tail, nonce; /* of what it writes */
};

static struct peer peer;

static int wire_send(struct sn_wire *wire, const struct sn_burst *b)
{
    (void)wire;
    return shm_send(&peer.shm.wire, b);
}

static int wire_poll(struct sn_wire *wire, unsigned budget)
{
    (void)wire;
    return peer.c.open && !peer.c.dead ? (int)shm_deliver(&peer.shm, &peer.c, budget) : 0;
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
    .name = "shm", .send = wire_send, .poll = wire_poll, .pending = wire_pending, .sleeping = wire_sleeping};

/* A connection as an accepted one is after its hello. */
static void connect_again(void)
{
    struct shm_direction *own;

    peer.nonce += 0x1000000001ull;
    memset(peer.region, 0, shm_region_bytes(RING));
    memset(&peer.c, 0, sizeof(peer.c));
    peer.tail = 0;
    peer.c.endpoint = &peer.endpoint;
    peer.c.fd = -1;
    peer.c.map = peer.region;
    peer.c.map_bytes = shm_region_bytes(RING);
    memcpy(peer.c.target, peer.endpoint.identity.gid[0], 16);
    shm_rx_init(&peer.c.rx, peer.region, 0, RING, peer.nonce);
    shm_tx_init(&peer.c.tx, peer.region, 1, RING, peer.nonce);
    own = &((struct shm_region *)(void *)peer.region)->direction[0];
    own->producer = (struct shm_identity){.slot = 0x99, .gid_count = 1};
    memcpy(own->producer.gid[0], fuzz_attacker_gid, 16);
    peer.c.open = true;
    peer.shm.connections = &peer.c;
    peer.shm.connection_count = 1;
    peer.shm.last = peer.shm.resume = NULL;
}

static void commit(const struct shm_header *h, uint64_t bytes, bool honest)
{
    uint8_t *data = peer.region + SHM_CONTROL_BYTES;
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

static void step(struct fuzz_in *in)
{
    struct shm_region *region = (struct shm_region *)(void *)peer.region;
    uint8_t op = fuzz_u8(in);

    switch (op % 12) {
    case 0: /* what it has read of ours */
        atomic_store(&region->direction[1].head, op & 0x10 ? fuzz_u64(in) : peer.c.tx.tail);
        break;
    case 1:
        atomic_store(&region->direction[op >> 7].asleep, fuzz_u8(in));
        break;
    case 2:
        fuzz_bytes(in, &region->direction[0].producer, sizeof(struct shm_identity));
        break;
    case 3:
        peer.tail = op & 0x10 ? peer.c.rx.head : fuzz_u32(in) & ~63u;
        break;
    case 4:
        fuzz_bytes(in, peer.region + fuzz_u16(in) % shm_region_bytes(RING) / 2, 32);
        break;
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
        else if (peer.c.dead)
            connect_again();
        sn_port_unlock(peer.w.port);
        break;
    case 8:
        fuzz_post_recv(&peer.w, &peer.w.qp[(op >> 4) % FUZZ_TARGETS], fuzz_u8(in), fuzz_u16(in), peer.w.key[FUZZ_LANDING]);
        break;
    default:
        record(in);
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_in in = {data, size};

    if (size > 4096)
        return 0;
    memset(&peer.shm, 0, sizeof(peer.shm));
    fuzz_world_open(&peer.w, fuzz_u8(&in));
    if (peer.region == NULL)
        peer.region = aligned_alloc(4096, shm_region_bytes(RING)); /* kept: its size never changes */
    FUZZ_CHECK(peer.region != NULL, "no memory");
    peer.nonce = 0x1234567812345671ull;
    peer.endpoint = (struct shm_endpoint){.identity = {.slot = 1, .gid_count = 1}, .listener = {-1, -1, -1, -1}};
    memcpy(peer.endpoint.identity.gid[0], sn_nic_get_config(peer.w.nic[0])->gid[0], 16);
    connect_again();
    peer.shm.ring_bytes = RING;
    peer.shm.wire = (struct sn_wire){&ops, peer.w.port};
    sn_port_lock(peer.w.port);
    sn_port_attach_wire(peer.w.port, &peer.shm.wire);
    sn_port_unlock(peer.w.port);
    while (in.left != 0)
        step(&in);
    peer.c.open = false; /* hung up: what is sent from now on reaches nobody */
    peer.shm.connections = NULL;
    peer.shm.last = NULL;
    fuzz_world_close(&peer.w);
    return 0;
}
