/* SPDX-License-Identifier: Apache-2.0 */
#include "replay.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "format/bth.h"
#include "softnic/wire/cut.h"

/* ---- the wire --------------------------------------------------------------------------------------------------- */

static int remember(struct sn_wire *wire, const struct sn_burst *b)
{
    struct replay *r = (struct replay *)wire;
    struct sn_burst p;
    struct sn_cut cut;

    if (r->room == 0)
        return -EAGAIN;
    r->room--;
    sn_cut_begin(&cut, b);
    while (sn_cut_next(&cut, &p)) {
        uint8_t *at = malloc(p.length != 0 ? p.length : 1);
        assert_true(r->count < REPLAY_SENT && at != NULL);
        r->sent[r->count].b = p;
        r->sent[r->count++].payload = at;
        for (uint32_t i = 0; i < p.iov_count; i++, at += p.iov[i - 1].length)
            memcpy(at, p.iov[i].addr, p.iov[i].length);
    }
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
    .name = "replay", .send = remember, .poll = nothing, .pending = never, .sleeping = sleeping};

/* ---- life ---------------------------------------------------------------------------------------------------------
 */

static uint64_t virtual_now(void *arg)
{
    return ((struct world *)arg)->now;
}

static void make_world(struct replay *r, const uint8_t gid[16])
{
    struct sn_port_config port = {.now = virtual_now, .now_arg = &r->w, .no_thread = true, .burst_bytes = 1};
    struct sn_nic_config nic = {.name = "softnic0", .gid_count = 1, .slot = 1, .seed = 4711};

    r->w.now = 1000000000;
    memcpy(nic.gid[0], gid, 16);
    assert_int_equal(sn_port_create(&port, &r->w.port), 0);
    assert_int_equal(sn_nic_create(r->w.port, &nic, &r->w.nic[0]), 0);
    r->wire.ops = &ops;
    sn_port_attach_wire(r->w.port, &r->wire);
}

void replay_open(struct replay *r, const struct vector *v, const struct sn_burst *local, const struct options *o,
                 const struct sn_qp_params *more)
{
    struct sn_qp_params p = *more;

    memset(r, 0, sizeof(*r));
    r->v = v;
    r->mtu = o->mtu;
    r->room = REPLAY_SENT;
    make_world(r, local->sgid);
    end_open(&r->e, &r->w, 0, o);
    p.port = 1;
    p.mtu = o->mtu;
    p.rwe = !o->no_rwe;
    p.rre = !o->no_rre;
    p.rae = !o->no_rae;
    p.atomic_mode = o->atomic_mode;
    p.log_msg_max = 30;
    p.remote_qpn = local->dqpn;
    p.min_rnr = o->min_rnr;
    p.ack_timeout = o->ack_timeout;
    p.retry_count = o->retry;
    p.rnr_retry = o->rnr_retry;
    p.log_sra_max = o->log_sra;
    p.log_rra_max = o->log_rra;
    p.qkey = o->qkey;
    memcpy(p.path.dgid, local->dgid, 16);
    p.path.hop_limit = local->hop_limit;
    p.path.traffic_class = local->tclass;
    p.path.flow_label = local->flow_label;
    p.path.udp_sport = local->udp_sport;
    for (int to = SN_QP_INIT; to <= SN_QP_RTS; to++)
        assert_int_equal(sn_qp_modify(r->e.nic, r->e.qpn, (enum sn_qp_state)to, &p, (1u << 18) - 1), 0);
}

void replay_close(struct replay *r)
{
    if (r->rkey != 0)
        assert_int_equal(sn_mkey_destroy(r->e.nic, r->rkey), 0);
    end_close(&r->e);
    sn_port_attach_wire(r->w.port, NULL);
    assert_int_equal(sn_nic_destroy(r->w.nic[0]), 0);
    sn_port_destroy(r->w.port);
    for (unsigned i = 0; i < r->count; i++)
        free(r->sent[i].payload);
    free(r->region);
    free(r->expected);
}

/* ---- frames -------------------------------------------------------------------------------------------------------
 */

bool replay_is_request(const struct vector *v, unsigned i)
{
    return memcmp(v->frame[i].packet.sgid, v->frame[0].packet.sgid, 16) == 0;
}

uint8_t replay_mtu(const struct vector *v)
{
    uint32_t most = 0;

    for (unsigned i = 0; i < v->count; i++) {
        const struct sn_burst *p = &v->frame[i].packet;
        if ((p->flags & SN_BURST_LAST) == 0) /* a first or middle packet is full */
            for (uint8_t mtu = 1; mtu <= 5; mtu++)
                if (sn_mtu_bytes(mtu) == p->length)
                    return mtu;
        most = p->length > most ? p->length : most;
    }
    return most <= 1024 ? 3 : most <= 2048 ? 4 : 5;
}

void replay_run(struct replay *r)
{
    for (unsigned i = 0; i < 30; i++)
        assert_true(sn_port_run(r->w.port) >= 0);
}

void replay_in(struct replay *r, unsigned i, uint32_t rkey)
{
    struct sn_burst p = r->v->frame[i].packet;

    p.dqpn = r->e.qpn;
    p.rkey = rkey;
    sn_port_lock(r->w.port);
    sn_nic_receive(r->e.nic, &p);
    sn_port_unlock(r->w.port);
    replay_run(r);
}

/* rxe's answer to a SEND that is too long, and the specification's. */
static bool differs_by_intent(const struct sn_burst *ours, const struct sn_burst *theirs)
{
    return ours->kind == SN_KIND_ACK && theirs->kind == SN_KIND_ACK && ours->syndrome == SN_AETH_NAK_INVALID &&
           theirs->syndrome == SN_AETH_NAK_OP;
}

bool replay_out(struct replay *r, unsigned i)
{
    const struct vector_frame *f = &r->v->frame[i];
    uint8_t out[SN_FRAME_MAX];
    struct sn_burst p;
    int n;

    if (r->read == r->count) {
        snprintf(r->why, sizeof(r->why), "frame %u was not sent", i + 1);
        return false;
    }
    p = r->sent[r->read].b;
    p.iov_count = p.length != 0;
    p.iov[0] = (struct sn_iov){.addr = r->sent[r->read++].payload, .length = p.length, .space = SN_SPACE_HOST};
    if (p.service == SN_SERVICE_UD)
        p.sqpn = f->packet.sqpn;
    if (differs_by_intent(&p, &f->packet))
        p.syndrome = f->packet.syndrome;
    n = sn_frame_build(&p, &f->path, SN_LAYER_ETHERNET, out, sizeof(out));
    if (n == (int)f->length && memcmp(out, f->bytes, f->length) == 0)
        return true;
    snprintf(
        r->why, sizeof(r->why),
        "instead of frame %u (kind %u flags 0x%02x psn 0x%06x syndrome 0x%02x msn %u length %u) came kind %u flags "
        "0x%02x psn 0x%06x syndrome 0x%02x msn %u length %u",
        i + 1, f->packet.kind, f->packet.flags, f->packet.psn, f->packet.syndrome, f->packet.msn, f->packet.length,
        p.kind, p.flags, p.psn, p.syndrome, p.msn, p.length);
    return false;
}
