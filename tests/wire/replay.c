/* SPDX-License-Identifier: Apache-2.0 */
#include "replay.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "exchange.h"
#include "format/bth.h"
#include "softnic/wire/cut.h"

const char *const replay_liberty_name[LIBERTIES] = {
    [LIBERTY_ASKS] = "a first or middle packet asks for an acknowledgement, or does not",
    [LIBERTY_COALESCED] = "one acknowledgement for several packets",
    [LIBERTY_LATE_NAK] = "packets that left before a NAK took effect",
    [LIBERTY_NAK_BEHIND_RNR] = "NAK sequence error for packets behind one that the responder was not ready for",
    [LIBERTY_LENGTH_CODE] = "SEND longer than its receive: remote operational error for invalid request",
    [LIBERTY_NOT_CAPTURED] = "a response that the capture lacks, and that is asked for again",
};

const char *const replay_reason_name[REASONS] = {
    [REASON_NONE] = "none",
    [REASON_CAPTURE] = "cannot be told from the capture",
    [REASON_LIMIT] = "larger than the replay",
    [REASON_FRAME] = "another frame came out",
    [REASON_SILENCE] = "a frame is missing",
    [REASON_TALK] = "a frame too many",
    [REASON_COMPLETION] = "frames as captured, a completion is not",
    [REASON_MEMORY] = "frames as captured, bytes in memory are not",
};

bool replay_no(struct replay *r, enum replay_reason reason, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(r->why, sizeof(r->why), format, args);
    va_end(args);
    r->reason = reason;
    return false;
}

/* ---- the wire --------------------------------------------------------------------------------------------------- */

static int remember(struct sn_wire *wire, const struct sn_burst *b)
{
    struct replay *r = (struct replay *)wire;
    struct sn_burst p;
    struct sn_cut cut;

    if (r->room == 0)
        return -EAGAIN;
    r->room -= r->room != UINT32_MAX;
    sn_cut_begin(&cut, b);
    while (sn_cut_next(&cut, &p)) {
        uint8_t *at = malloc(p.length != 0 ? p.length : 1);
        if ((r->count & (r->count - 1)) == 0) /* full at every power of two */
            r->sent = realloc(r->sent, (r->count == 0 ? 1 : 2 * r->count) * sizeof(*r->sent));
        assert_true(r->sent != NULL && at != NULL);
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

/* ---- life --------------------------------------------------------------------------------------------------------- */

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

void replay_open(struct replay *r, const struct story *s, const struct sn_burst *local, const struct options *o,
                 const struct sn_qp_params *more)
{
    struct sn_qp_params p = *more;

    memset(r, 0, sizeof(*r));
    r->s = s;
    r->v = s->v;
    r->room = UINT32_MAX;
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

bool replay_local(struct replay *r, uint64_t bytes)
{
    r->mem_bytes = (size_t)(bytes != 0 ? bytes : 1);
    r->mem = mmap(NULL, r->mem_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (r->mem == MAP_FAILED) {
        r->mem = NULL;
        return replay_no(r, REASON_LIMIT, "%llu bytes of messages: no memory", (unsigned long long)bytes);
    }
    r->lkey = end_key(&r->e, r->mem, r->mem_bytes, (uintptr_t)r->mem, SN_ACCESS_LOCAL_WRITE);
    return true;
}

void replay_close(struct replay *r)
{
    replay_memory_free(r);
    if (r->lkey != 0)
        assert_int_equal(sn_mkey_destroy(r->e.nic, r->lkey), 0);
    end_close(&r->e);
    sn_port_attach_wire(r->w.port, NULL);
    assert_int_equal(sn_nic_destroy(r->w.nic[0]), 0);
    sn_port_destroy(r->w.port);
    for (unsigned i = 0; i < r->count; i++)
        free(r->sent[i].payload);
    free(r->sent);
    if (r->mem != NULL)
        munmap(r->mem, r->mem_bytes);
}

void replay_run(struct replay *r)
{
    for (unsigned i = 0, quiet = 0; i < 1000 && quiet < 4; i++) {
        int work = sn_port_run(r->w.port);
        assert_true(work >= 0);
        quiet = work == 0 ? quiet + 1 : 0;
    }
}

/* ---- frames ------------------------------------------------------------------------------------------------------- */

void replay_in(struct replay *r, const struct sn_burst *packet, bool nobody)
{
    struct sn_burst p = *packet;

    p.dqpn = nobody ? r->e.qpn ^ 0x8000 : r->e.qpn;
    r->asked_for = p.flags & SN_BURST_ACKREQ;
    sn_port_lock(r->w.port);
    sn_nic_receive(r->e.nic, &p);
    sn_port_unlock(r->w.port);
    replay_run(r);
}

static bool is_plain_ack(const struct sn_burst *p)
{
    return p->kind == SN_KIND_ACK && sn_aeth_is_ack(p->syndrome);
}

/* The frame that packet n of what was sent makes, with the capture's addressing of frame i. */
static bool is_frame(struct replay *r, unsigned n, unsigned i, struct sn_burst *p)
{
    const struct vector_frame *f = &r->v->frame[i];
    uint8_t out[SN_FRAME_MAX];
    int length;

    *p = r->sent[n].b;
    p->iov_count = p->length != 0;
    p->iov[0] = (struct sn_iov){.addr = r->sent[n].payload, .length = p->length, .space = SN_SPACE_HOST};
    if (p->service == SN_SERVICE_UD)
        p->sqpn = f->packet.sqpn;
    if (p->kind == SN_KIND_ACK && f->packet.kind == SN_KIND_ACK && p->syndrome == SN_AETH_NAK_INVALID &&
        f->packet.syndrome == SN_AETH_NAK_OP) {
        p->syndrome = f->packet.syndrome;
        r->liberty[LIBERTY_LENGTH_CODE]++;
    }
    if (exchange_is_request(p) && !(f->packet.flags & SN_BURST_LAST) &&
        ((p->flags ^ f->packet.flags) & SN_BURST_ACKREQ) != 0) {
        p->flags ^= SN_BURST_ACKREQ;
        r->liberty[LIBERTY_ASKS]++;
    }
    length = sn_frame_build(p, &f->path, r->v->layer, out, sizeof(out));
    return length == (int)f->length && memcmp(out, f->bytes, f->length) == 0;
}

/* A NAK sequence error for what came behind a packet that the responder was not ready for, the last time that came. */
static bool is_nak_behind_rnr(const struct replay *r, unsigned i)
{
    const struct vector *v = r->v;
    const struct sn_burst *nak = &v->frame[i].packet;
    bool behind = false, waits = false;

    if (nak->kind != SN_KIND_ACK || nak->syndrome != SN_AETH_NAK_SEQUENCE)
        return false;
    while (i-- > 0) {
        const struct sn_burst *p = &v->frame[i].packet;
        bool asks = exchange_is_request(p);
        if (asks && p->psn == nak->psn)
            return waits && behind;
        if (asks)
            behind |= sn_psn_diff(p->psn, nak->psn) > 0;
        else if (waits || p->kind != SN_KIND_ACK || !sn_aeth_is_rnr(p->syndrome) || p->psn != nak->psn)
            return false; /* the one answer before it says: not ready */
        else
            waits = true;
    }
    return false;
}

/* May the capture lack packet `p`, whose place frame i has? The liberty that it would be; LIBERTIES: none. */
static enum replay_liberty may_be_missing(const struct replay *r, unsigned i, const struct sn_burst *p)
{
    const struct sn_burst *theirs = &r->v->frame[i].packet;

    if (exchange_is_request(p) || sn_psn_diff(theirs->psn, p->psn) <= 0)
        return LIBERTIES;
    if (is_plain_ack(p)) /* any answer acknowledges what is before it, a NAK too */
        return LIBERTY_COALESCED;
    for (i++; p->kind == SN_KIND_READ_RESPONSE && i < r->v->count; i++) {
        const struct sn_burst *again = &r->v->frame[i].packet;
        if (again->kind == SN_KIND_READ_REQUEST && sn_psn_diff(again->psn, p->psn) <= 0)
            return LIBERTY_NOT_CAPTURED;
    }
    return LIBERTIES;
}

bool replay_out(struct replay *r, unsigned i)
{
    const struct sn_burst *theirs = &r->v->frame[i].packet;
    unsigned before[LIBERTIES];
    struct sn_burst p;

    while (r->read != r->count) {
        enum replay_liberty missing = may_be_missing(r, i, &r->sent[r->read].b);
        memcpy(before, r->liberty, sizeof(before));
        if (is_frame(r, r->read, i, &p)) {
            r->read++;
            return true;
        }
        memcpy(r->liberty, before, sizeof(before));
        if (missing == LIBERTIES)
            break;
        r->liberty[missing]++;
        r->read++;
    }
    if (is_nak_behind_rnr(r, i)) {
        r->liberty[LIBERTY_NAK_BEHIND_RNR]++;
        return true;
    }
    if (r->read == r->count)
        return replay_no(r, REASON_SILENCE, "frame %u (kind %u flags 0x%02x psn 0x%06x syndrome 0x%02x) was not sent", i + 1,
                         theirs->kind, theirs->flags, theirs->psn, theirs->syndrome);
    return replay_no(r, REASON_FRAME,
                     "instead of frame %u (kind %u flags 0x%02x psn 0x%06x syndrome 0x%02x msn %u length %u) came kind %u "
                     "flags 0x%02x psn 0x%06x syndrome 0x%02x msn %u length %u",
                     i + 1, theirs->kind, theirs->flags, theirs->psn, theirs->syndrome, theirs->msn, theirs->length, p.kind,
                     p.flags, p.psn, p.syndrome, p.msn, p.length);
}

/* An acknowledgement that nobody asked for may be one too many: that of a long message's last packets, say. */
bool replay_no_more(struct replay *r)
{
    if (r->read == r->count)
        return true;
    const struct sn_burst *p = &r->sent[r->read].b;
    if (r->read + 1 == r->count && is_plain_ack(p) && !r->asked_for) {
        r->liberty[LIBERTY_COALESCED]++;
        return true;
    }
    return replay_no(r, REASON_TALK, "%u frames too many were sent, first kind %u flags 0x%02x psn 0x%06x syndrome 0x%02x",
                     r->count - r->read, p->kind, p->flags, p->psn, p->syndrome);
}
