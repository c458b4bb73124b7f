/* SPDX-License-Identifier: Apache-2.0 */
/* Packets, the bytes that they share, and their form as frames. */
#include <stdlib.h>
#include <string.h>

#include "sim/internal.h"
#include "softnic/wire/frame.h"

enum { SMALLEST = 6 /* 64 bytes */, LARGEST = 13 /* 8 KiB */, BLOCK_SMALLEST = 11 /* 2 KiB */ };

/* ---- slabs ---------------------------------------------------------------------------------------------------- */

uint8_t *sim_slab_new(struct sim_slab **slabs, size_t object_size)
{
    struct sim_slab *slab = aligned_alloc(64, sizeof(*slab) + SIM_SLAB * object_size);

    if (slab == NULL)
        return NULL;
    slab->older = *slabs;
    *slabs = slab;
    return slab->object;
}

void sim_slabs_free(struct sim_slab *slabs)
{
    while (slabs != NULL) {
        struct sim_slab *slab = slabs;
        slabs = slab->older;
        free(slab);
    }
}

/* ---- pool ---------------------------------------------------------------------------------------------------- */

struct sim_packet *sim_packet_new(struct sim *sim)
{
    struct sim_packet *p = sim->pool.packets;

    if (p != NULL) {
        sim->pool.packets = p->next;
    } else {
        uint8_t *slab = sim_slab_new(&sim->pool.packet_slabs, SIM_PACKET_SIZE);
        if (slab == NULL) {
            sim->error = -ENOMEM;
            return NULL;
        }
        for (unsigned i = SIM_SLAB; i-- != 1;) {
            p = (struct sim_packet *)(void *)(slab + i * SIM_PACKET_SIZE);
            p->next = sim->pool.packets;
            sim->pool.packets = p;
        }
        p = (struct sim_packet *)(void *)slab;
    }
    memset(p, 0, offsetof(struct sim_packet, header));
    sim->pool.packets_out++;
    return p;
}

struct sim_packet *sim_packet_clone(struct sim *sim, const struct sim_packet *p)
{
    struct sim_packet *q = sim_packet_new(sim);

    if (q == NULL)
        return NULL;
    memcpy(q, p, offsetof(struct sim_packet, header) + SIM_HEADER_SIZE);
    q->next = NULL;
    if (q->bytes != NULL)
        q->bytes->refs++;
    if (q->conn != NULL)
        q->conn->in_flight++;
    return q;
}

struct sim_bytes *sim_bytes_new(struct sim *sim, uint32_t length)
{
    unsigned room = SMALLEST;
    struct sim_bytes *bytes;

    while (length > 1u << room)
        room++;
    bytes = room <= LARGEST ? sim->pool.bytes[room] : NULL;
    if (bytes != NULL) {
        sim->pool.bytes[room] = bytes->next;
    } else if (room > LARGEST || (bytes = malloc(sizeof(*bytes) + ((size_t)1 << room))) == NULL) {
        sim->error = -ENOMEM;
        return NULL;
    } else {
        bytes->older = sim->pool.all_bytes;
        sim->pool.all_bytes = bytes;
    }
    bytes->refs = 1;
    bytes->length = length;
    bytes->room = (uint8_t)room;
    sim->pool.bytes_out++;
    return bytes;
}

void sim_bytes_put(struct sim *sim, struct sim_bytes *bytes)
{
    if (bytes == NULL || --bytes->refs != 0)
        return;
    bytes->next = sim->pool.bytes[bytes->room];
    sim->pool.bytes[bytes->room] = bytes;
    sim->pool.bytes_out--;
}

void sim_packet_free(struct sim *sim, struct sim_packet *p)
{
    struct sim_conn *conn = p->conn;

    sim_bytes_put(sim, p->bytes);
    p->next = sim->pool.packets;
    sim->pool.packets = p;
    sim->pool.packets_out--;
    if (conn != NULL && --conn->in_flight == 0)
        sim_conn_check(sim, conn);
}

void sim_pool_free(struct sim_pool *pool)
{
    sim_slabs_free(pool->packet_slabs);
    while (pool->all_bytes != NULL) {
        struct sim_bytes *bytes = pool->all_bytes;
        pool->all_bytes = bytes->older;
        free(bytes);
    }
}

/* ---- blocks ------------------------------------------------------------------------------------------------------ */

/* Few classes, so that what was given back last often fits the next one. */
static unsigned class_of(size_t size)
{
    unsigned log = BLOCK_SMALLEST;

    while ((size_t)1 << log < size)
        log++;
    return log;
}

void *sim_block_take(struct sim *sim, size_t size)
{
    unsigned log = class_of(size);
    void *block = sim->blocks[log];

    if (block == NULL)
        return aligned_alloc(64, (size_t)1 << log);
    memcpy(&sim->blocks[log], block, sizeof(block));
    return block;
}

void sim_block_give(struct sim *sim, void *block, size_t size)
{
    unsigned log = class_of(size);

    if (block == NULL)
        return;
    memcpy(block, &sim->blocks[log], sizeof(block));
    sim->blocks[log] = block;
}

void sim_blocks_free(struct sim *sim)
{
    for (unsigned log = 0; log < sizeof(sim->blocks) / sizeof(sim->blocks[0]); log++)
        while (sim->blocks[log] != NULL) {
            void *block = sim->blocks[log];
            memcpy(&sim->blocks[log], block, sizeof(block));
            free(block);
        }
}

/* ---- forms ------------------------------------------------------------------------------------------------------ */

void sim_packet_burst(const struct sim_packet *p, struct sn_burst *out)
{
    memcpy(out, &p->header, SIM_HEADER_SIZE);
    out->iov_count = 0;
    if (!p->is_frame && p->header.length != 0) {
        out->iov_count = 1;
        out->iov[0] = (struct sn_iov){.addr = p->noise != NULL ? p->noise : p->bytes->data,
                                      .length = p->header.length,
                                      .space = SN_SPACE_HOST};
    }
}

static void frame_path(const struct sim_packet *p, struct sn_frame_path *path)
{
    memset(path, 0, sizeof(*path));
    sim_host_mac(p->source, path->smac);
    sim_host_mac(p->target, path->dmac);
    path->ip_id = p->ip_id;
}

bool sim_packet_to_frame(struct sim *sim, struct sim_packet *p)
{
    struct sn_frame_path path;
    struct sn_burst b;
    struct sim_bytes *bytes;
    int length;

    if (p->is_frame)
        return true;
    sim_packet_burst(p, &b);
    frame_path(p, &path);
    bytes = sim_bytes_new(sim, SN_FRAME_MAX);
    if (bytes == NULL)
        return false;
    length = sn_frame_build(&b, &path, SN_LAYER_ETHERNET, bytes->data, SN_FRAME_MAX);
    if (length < 0) {
        sim_bytes_put(sim, bytes);
        return false;
    }
    bytes->length = (uint32_t)length;
    sim_bytes_put(sim, p->bytes);
    p->bytes = bytes;
    p->is_frame = true;
    return true;
}

bool sim_packet_own(struct sim *sim, struct sim_packet *p)
{
    struct sim_bytes *copy;

    if (p->bytes == NULL || p->bytes->refs == 1)
        return true;
    copy = sim_bytes_new(sim, p->bytes->length);
    if (copy == NULL)
        return false;
    memcpy(copy->data, p->bytes->data, copy->length);
    sim_bytes_put(sim, p->bytes);
    p->bytes = copy;
    return true;
}

/* Congestion experienced, as a switch sets it: the IP header's checksum covers it, the invariant CRC does not (A17.3.3). */
void sim_packet_mark(struct sim *sim, struct sim_packet *p)
{
    enum { TOS = 14 + 1, CHECKSUM = 14 + 10 }; /* IPv4: hosts have no other addresses */
    uint8_t *d;
    uint32_t sum;

    if ((p->header.tclass & 3) == 3)
        return;
    p->header.tclass |= 3;
    sim->r.marked++;
    if (!p->is_frame || !sim_packet_own(sim, p))
        return;
    d = p->bytes->data;
    sum = (uint16_t) ~(d[CHECKSUM] << 8 | d[CHECKSUM + 1]) + (uint32_t)((d[TOS] | 3) - d[TOS]);
    sum = (sum & 0xffff) + (sum >> 16);
    d[TOS] |= 3;
    d[CHECKSUM] = (uint8_t)(~sum >> 8);
    d[CHECKSUM + 1] = (uint8_t)~sum;
}

static uint32_t extension_bytes(const struct sn_burst *b)
{
    uint32_t imm = b->flags & (SN_BURST_IMM | SN_BURST_INVALIDATE) ? 4 : 0;

    switch (b->kind) {
    case SN_KIND_WRITE:
        return imm + (b->flags & SN_BURST_FIRST ? 16 : 0);
    case SN_KIND_SEND:
        return imm;
    case SN_KIND_READ_REQUEST:
        return 16;
    case SN_KIND_READ_RESPONSE:
        return b->flags & (SN_BURST_FIRST | SN_BURST_LAST) ? 4 : 0;
    case SN_KIND_ACK:
        return 4;
    case SN_KIND_ATOMIC_ACK:
        return 12;
    case SN_KIND_CNP:
        return 16;
    default:
        return 28;
    }
}

/* Preamble 8, Ethernet 14, IPv4 20, UDP 8, BTH 12, invariant CRC 4, frame check 4, gap 12. */
uint32_t sim_packet_wire_bytes(const struct sn_burst *b)
{
    return 8 + 14 + 20 + 8 + 12 + extension_bytes(b) + ((b->length + 3) & ~3u) + 4 + 4 + 12;
}

void sim_capture_packet(struct sim *sim, const struct sim_packet *p, bool received)
{
    uint8_t frame[SN_FRAME_MAX];
    struct sn_frame_path path;
    struct sn_burst b;
    int length;

    if (sim->capture[received] == NULL)
        return;
    if (p->is_frame) {
        sim->capture[received](sim->capture_arg[received], sim->now, p->bytes->data, p->bytes->length);
        return;
    }
    sim_packet_burst(p, &b);
    frame_path(p, &path);
    length = sn_frame_build(&b, &path, SN_LAYER_ETHERNET, frame, sizeof(frame));
    if (length > 0)
        sim->capture[received](sim->capture_arg[received], sim->now, frame, (size_t)length);
}
