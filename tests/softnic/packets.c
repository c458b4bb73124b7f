/* SPDX-License-Identifier: Apache-2.0 */
#include "packets.h"

#include <errno.h>
#include <stdlib.h>

uint8_t rig_bytes[RIG_PAYLOAD];

static int remember(struct sn_wire *wire, const struct sn_burst *b)
{
    struct rig *r = (struct rig *)wire;
    uint32_t at = 0;

    if (r->full)
        return -EAGAIN;
    if (r->room != 0 && --r->room == 0)
        r->full = true;
    assert_true(r->count < RIG_SENT);
    struct sent *s = &r->sent[r->count++];
    s->b = *b;
    for (uint32_t i = 0; i < b->iov_count; i++) {
        assert_true(at + b->iov[i].length <= RIG_PAYLOAD);
        memcpy(s->payload + at, b->iov[i].addr, b->iov[i].length);
        at += (uint32_t)b->iov[i].length;
    }
    assert_int_equal(at, b->length);
    s->b.iov_count = 0;
    return 0;
}

static int nothing(struct sn_wire *wire, unsigned budget)
{
    (void)wire;
    (void)budget;
    return 0;
}

static bool never(struct sn_wire *wire)
{
    (void)wire;
    return false;
}

static void sleeping(struct sn_wire *wire, bool asleep)
{
    (void)wire;
    (void)asleep;
}

static const struct sn_wire_ops ops = {
    .name = "rig", .send = remember, .poll = nothing, .pending = never, .sleeping = sleeping};

static void move_up(struct rig *r)
{
    const struct options *o = &r->e.o;
    struct sn_qp_params p = {.port = 1,
                             .rwe = !o->no_rwe,
                             .rre = !o->no_rre,
                             .rae = !o->no_rae,
                             .atomic_mode = o->atomic_mode,
                             .mtu = o->mtu,
                             .log_msg_max = 30,
                             .rcv_psn = o->psn,
                             .snd_psn = o->psn,
                             .remote_qpn = RIG_PEER_QPN,
                             .qkey = o->qkey,
                             .min_rnr = o->min_rnr,
                             .ack_timeout = o->ack_timeout,
                             .retry_count = o->retry,
                             .rnr_retry = o->rnr_retry,
                             .log_sra_max = o->log_sra,
                             .log_rra_max = o->log_rra};

    memcpy(p.path.dgid, r->peer_gid, 16);
    p.path.hop_limit = 33;
    p.path.flow_label = 0x12345;
    p.path.udp_sport = 0xc0de;
    p.path.dscp = 10;
    p.path.rmac[5] = 7;
    for (int to = SN_QP_INIT; to <= SN_QP_RTS; to++)
        assert_int_equal(sn_qp_modify(r->e.nic, r->e.qpn, (enum sn_qp_state)to, &p, (1u << 18) - 1), 0);
}

void rig_open(struct rig *r, const struct options *o)
{
    struct options mine = *o;

    memset(r, 0, sizeof(*r));
    r->sent = calloc(RIG_SENT, sizeof(*r->sent));
    assert_non_null(r->sent);
    r->wire.ops = &ops;
    r->peer_gid[0] = 0xfe;
    r->peer_gid[15] = 0x99;
    mine.burst_bytes = 1;
    fill(rig_bytes, RIG_PAYLOAD, 99);
    world_open(&r->w, &mine);
    sn_port_attach_wire(r->w.port, &r->wire);
    end_open(&r->e, &r->w, 0, &mine);
    move_up(r);
}

void rig_close(struct rig *r)
{
    end_close(&r->e);
    sn_port_attach_wire(r->w.port, NULL);
    world_close(&r->w);
    free(r->sent);
}

void rig_run(struct rig *r)
{
    for (int i = 0; i < 100; i++) /* a wire that is full keeps the port busy */
        sn_port_run(r->w.port);
}

struct sn_counters rig_counters(struct rig *r)
{
    struct sn_counters c;
    sn_nic_get_counters(r->e.nic, &c);
    return c;
}

struct sn_burst rig_packet(struct rig *r, enum sn_kind kind, unsigned flags, uint32_t psn)
{
    struct sn_burst b = {.dqpn = r->e.qpn,
                         .service = (uint8_t)r->e.o.service,
                         .kind = (uint8_t)kind,
                         .flags = (uint8_t)flags,
                         .psn = psn & 0xffffff,
                         .npackets = kind == SN_KIND_READ_REQUEST ? 0 : 1,
                         .pkey = 0xffff};

    memcpy(b.sgid, r->peer_gid, 16);
    memcpy(b.dgid, sn_nic_get_config(r->e.nic)->gid[0], 16);
    return b;
}

void rig_in(struct rig *r, const struct sn_burst *b, const void *payload, uint32_t length)
{
    struct sn_burst copy = *b;

    copy.length = length;
    copy.iov_count = length != 0;
    copy.iov[0] = (struct sn_iov){.addr = payload, .length = length, .space = SN_SPACE_HOST};
    sn_port_lock(r->w.port);
    sn_nic_receive(r->e.nic, &copy);
    sn_port_unlock(r->w.port);
    rig_run(r);
}

const struct sent *rig_out(struct rig *r)
{
    return r->read == r->count ? NULL : &r->sent[r->read++];
}

void rig_expect_silence(struct rig *r)
{
    const struct sent *s = rig_out(r);
    if (s != NULL)
        fail_msg("kind %u psn 0x%x syndrome 0x%02x was sent", s->b.kind, s->b.psn, s->b.syndrome);
}

void rig_expect_ack(struct rig *r, uint8_t syndrome, uint32_t psn)
{
    const struct sent *s = rig_out(r);

    assert_non_null(s);
    assert_int_equal(s->b.kind, SN_KIND_ACK);
    assert_int_equal(s->b.syndrome, syndrome);
    assert_int_equal(s->b.psn, psn & 0xffffff);
    assert_int_equal(s->b.dqpn, RIG_PEER_QPN);
    rig_expect_silence(r);
}

void rig_write(struct rig *r, unsigned flags, uint32_t psn, uint32_t at, uint32_t length, uint32_t dmalen)
{
    struct sn_burst b = rig_packet(r, SN_KIND_WRITE, flags, psn);

    if (flags & FIRST) { /* the others have no RETH */
        b.va = (uintptr_t)r->e.mem + at;
        b.rkey = r->e.mkey;
        b.dmalen = dmalen;
    }
    rig_in(r, &b, rig_bytes, length);
}

void rig_send(struct rig *r, unsigned flags, uint32_t psn, uint32_t length)
{
    struct sn_burst b = rig_packet(r, SN_KIND_SEND, flags, psn);
    rig_in(r, &b, rig_bytes, length);
}

void rig_read(struct rig *r, uint32_t psn, uint32_t at, uint32_t length)
{
    struct sn_burst b = rig_packet(r, SN_KIND_READ_REQUEST, ONLY | SN_BURST_ACKREQ, psn);

    b.va = (uintptr_t)r->e.mem + at;
    b.rkey = r->e.mkey;
    b.dmalen = length;
    rig_in(r, &b, NULL, 0);
}

void rig_fetch_add(struct rig *r, uint32_t psn, uint32_t at, uint64_t add)
{
    struct sn_burst b = rig_packet(r, SN_KIND_ATOMIC_FA, ONLY | SN_BURST_ACKREQ, psn);

    b.va = (uintptr_t)r->e.mem + at;
    b.rkey = r->e.mkey;
    b.atomic_size = 8;
    b.swap_add = add;
    rig_in(r, &b, NULL, 0);
}

void rig_answer(struct rig *r, uint8_t syndrome, uint32_t psn)
{
    struct sn_burst b = rig_packet(r, SN_KIND_ACK, ONLY, psn);

    b.syndrome = syndrome;
    rig_in(r, &b, NULL, 0);
}
