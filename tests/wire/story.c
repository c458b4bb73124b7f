/* SPDX-License-Identifier: Apache-2.0 */
#include "story.h"

#include <stdio.h>
#include <stdlib.h>

#include "exchange.h"
#include "format/bth.h"

uint32_t story_next_psn(const struct message *m)
{
    return sn_psn_add(m->psn, m->packets);
}

bool story_is_atomic(uint8_t kind)
{
    return kind == SN_KIND_ATOMIC_CS || kind == SN_KIND_ATOMIC_FA;
}

bool story_is_fatal(const struct sn_burst *a)
{
    return a->kind == SN_KIND_ACK && a->syndrome >= SN_AETH_NAK_INVALID && a->syndrome <= SN_AETH_NAK_OP;
}

static bool is_rnr(const struct sn_burst *a)
{
    return a->kind == SN_KIND_ACK && sn_aeth_is_rnr(a->syndrome);
}

/* ---- the path MTU --------------------------------------------------------------------------------------------------- */

/* Two READs in a row tell how many packets the first one's answer has. */
static uint8_t mtu_of_reads(const struct vector *v)
{
    for (unsigned i = 0; i + 1 < v->count; i++) {
        const struct sn_burst *p = &v->frame[i].packet;
        if (p->kind != SN_KIND_READ_REQUEST)
            continue;
        for (unsigned j = i + 1; j < v->count; j++) {
            int32_t d = sn_psn_diff(v->frame[j].packet.psn, p->psn);
            if (!exchange_is_request(&v->frame[j].packet) || d <= 0)
                continue;
            if (d == 1) /* one packet says nothing */
                break;
            for (uint8_t mtu = 1; mtu <= 5; mtu++)
                if (sn_mtu_packets(p->dmalen, mtu) == (uint32_t)d)
                    return mtu;
            break;
        }
    }
    return 0;
}

/* What the capture shows, or the smallest from 1024 on that its packets fit in. */
static uint8_t mtu_of(const struct vector *v)
{
    uint32_t most = 0;
    uint8_t reads;

    for (unsigned i = 0; i < v->count; i++) {
        const struct sn_burst *p = &v->frame[i].packet;
        if ((p->flags & SN_BURST_LAST) == 0) /* a first or middle packet is full */
            for (uint8_t mtu = 1; mtu <= 5; mtu++)
                if (sn_mtu_bytes(mtu) == p->length)
                    return mtu;
        most = p->length > most ? p->length : most;
    }
    reads = mtu_of_reads(v);
    return reads != 0 ? reads : most <= 1024 ? 3 : most <= 2048 ? 4 : 5;
}

/* ---- messages ------------------------------------------------------------------------------------------------------- */

static bool is_data(uint8_t kind)
{
    return kind == SN_KIND_SEND || kind == SN_KIND_WRITE;
}

static bool cannot(char why[256], unsigned frame, const char *what)
{
    snprintf(why, 256, "frame %u %s", frame + 1, what);
    return false;
}

static bool is_nobody_there(const struct vector *v)
{
    bool asked = false;

    for (unsigned i = 0; i < v->count; i++) {
        const struct sn_burst *p = &v->frame[i].packet;
        if (!exchange_is_request(p))
            return false;
        asked |= p->service == SN_SERVICE_RC && (p->flags & SN_BURST_ACKREQ);
    }
    return asked;
}

static void begin_message(struct story *s, unsigned i)
{
    const struct sn_burst *p = &s->v->frame[i].packet;
    struct message *m = &s->message[s->messages++];

    *m = (struct message){.first = i, .psn = p->psn};
    if (is_data(p->kind))
        return;
    m->whole = true;
    m->last = i;
    m->length = p->kind == SN_KIND_READ_REQUEST ? p->dmalen : 8;
    m->packets = p->kind == SN_KIND_READ_REQUEST ? sn_mtu_packets(p->dmalen, s->mtu) : 1;
}

/* A packet that goes on with the message that is being told, or begins one. */
static bool add_packet(struct story *s, unsigned i, char why[256])
{
    const struct sn_burst *p = &s->v->frame[i].packet;
    struct message *m = s->messages != 0 ? &s->message[s->messages - 1] : NULL;
    bool inside = m != NULL && !m->whole;

    if (p->kind == SN_KIND_ATOMIC_MASKED_CS || p->kind == SN_KIND_ATOMIC_MASKED_FA)
        return cannot(why, i, "is a masked atomic, which no other implementation knows");
    if (inside == ((p->flags & SN_BURST_FIRST) != 0))
        return cannot(why, i, inside ? "begins a message inside another one" : "goes on with a message without a beginning");
    if (inside && s->v->frame[m->first].packet.kind != p->kind)
        return cannot(why, i, "is of another kind than the message it is in");
    if (!inside) {
        begin_message(s, i);
        m = &s->message[s->messages - 1];
    }
    s->of[i] = s->messages - 1;
    if (!is_data(p->kind))
        return true;
    m->packets++;
    m->length += p->length;
    m->whole = p->flags & SN_BURST_LAST;
    m->last = i;
    return true;
}

/* A packet that was sent again, or is a part of a READ that is asked for again. */
static bool add_repetition(struct story *s, unsigned i, char why[256])
{
    for (unsigned n = s->messages; n-- > 0;) {
        const struct message *m = &s->message[n];
        int32_t d = sn_psn_diff(s->v->frame[i].packet.psn, m->psn);
        if (d >= 0 && (uint32_t)d < m->packets) {
            s->of[i] = n;
            return true;
        }
    }
    return cannot(why, i, "has a PSN from before the capture");
}

static bool tell_requests(struct story *s, char why[256])
{
    const struct vector *v = s->v;
    uint32_t next = 0;
    bool datagrams = false, begun = false;

    for (unsigned i = 0; i < v->count; i++) {
        const struct sn_burst *p = &v->frame[i].packet;
        int32_t d = begun ? sn_psn_diff(p->psn, next) : 0;

        s->of[i] = UINT32_MAX;
        if (!exchange_is_request(p))
            continue;
        datagrams = p->service == SN_SERVICE_UD;
        if (datagrams && (p->dqpn <= 1 || p->sqpn <= 1))
            return cannot(why, i, "is a management datagram: its queue pair is the device's own");
        if (d > 0 && datagrams)
            return cannot(why, i, "is a datagram behind others to somebody else: PSNs are missing");
        if (d > 0)
            return cannot(why, i, "is behind packets that were not captured: PSNs are missing");
        if (!(d == 0 ? add_packet(s, i, why) : add_repetition(s, i, why)))
            return false;
        begun = true;
        if (d == 0)
            next = story_next_psn(&s->message[s->messages - 1]);
    }
    if (!begun)
        snprintf(why, 256, "answers without the requests that they are about");
    return begun;
}

bool story_begin(struct story *s, const struct vector *v, char why[256])
{
    *s = (struct story){.v = v, .mtu = mtu_of(v)};
    s->message = calloc(v->count + 1, sizeof(*s->message));
    s->of = calloc(v->count + 1, sizeof(*s->of));
    assert_true(s->message != NULL && s->of != NULL);
    if (!tell_requests(s, why))
        return false;
    for (unsigned n = 0; n < s->messages; n++) {
        struct message *m = &s->message[n];
        const struct sn_burst *p = &v->frame[m->first].packet;
        if (!m->whole && p->kind == SN_KIND_WRITE) {
            m->length = p->dmalen;
            m->packets = sn_mtu_packets(m->length, s->mtu);
        } else if (!m->whole) {
            m->length++; /* there is more to come; nobody will see it */
            m->packets++;
        }
        s->bytes += (m->length + STORY_ALIGN - 1) & ~(uint64_t)(STORY_ALIGN - 1);
    }
    s->nobody = is_nobody_there(v);
    for (unsigned i = 0; i < v->count; i++) {
        s->waits |= is_rnr(&v->frame[i].packet);
        if (s->refusal == 0 && story_is_fatal(&v->frame[i].packet)) {
            s->refusal = v->frame[i].packet.syndrome;
            s->refused_psn = v->frame[i].packet.psn;
        }
    }
    return true;
}

void story_end(struct story *s)
{
    free(s->message);
    free(s->of);
    *s = (struct story){.v = NULL};
}

uint8_t story_refusal_of(const struct story *s, unsigned i)
{
    uint32_t psn = s->v->frame[i].packet.psn;

    if (s->refusal != 0 && psn == s->refused_psn)
        return s->refusal;
    for (unsigned j = i + 1; s->waits && j < s->v->count; j++) /* once it was ready it says so no more */
        if (is_rnr(&s->v->frame[j].packet) && s->v->frame[j].packet.psn == psn)
            return s->v->frame[j].packet.syndrome;
    return 0;
}

uint32_t story_offset(const struct story *s, unsigned i)
{
    const struct sn_burst *p = &s->v->frame[i].packet;
    const struct message *m = &s->message[s->of[i]];

    return is_data(p->kind) ? ((p->psn - m->psn) & 0xffffff) << (7 + s->mtu) : 0;
}
