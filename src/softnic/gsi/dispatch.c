/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who a MAD is for. Nothing has to be known of the other processes: communication IDs carry the process slot, services
 * are names that their process has bound. So any process can serve a device's QP 1, and none is missed when it dies.
 */
#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "softnic/gsi/gsi.h"
#include "softnic/gsi/local.h"

/* ---- what the agent asks for ---------------------------------------------------------------------------------------- */

static uint64_t agent_now(void *arg)
{
    struct timespec t;
    (void)arg;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint32_t agent_random(void *arg)
{
    uint32_t v = 0;
    (void)arg;
    if (getrandom(&v, sizeof(v), 0) != (ssize_t)sizeof(v))
        v = (uint32_t)agent_now(NULL) * 2654435761u;
    return v;
}

static void agent_send(void *arg, const struct sn_cm_address *to, const struct sn_mad *mad)
{
    (void)arg;
    gsi_send(to->port, to, mad);
}

static uint8_t agent_slot(void *arg, unsigned port)
{
    (void)arg;
    return port < GSI_PORTS ? gsi.port[port].slot : 0;
}

static int agent_match(void *arg, void *listener, const struct sn_cm_address *from, const struct sn_cm_msg *m)
{
    const struct gsi_listener *l = listener;
    (void)arg;
    if (!(l->service->ports >> from->port & 1))
        return 0;
    return gsi.client.match(l->user, from, m);
}

static void *agent_event(void *arg, void *user, const struct sn_cm_event *e)
{
    (void)arg;
    if (e->kind == SN_CM_EV_REQ || e->kind == SN_CM_EV_SIDR_REQ)
        user = ((struct gsi_listener *)user)->user;
    else if (e->kind == SN_CM_EV_REP || e->kind == SN_CM_EV_RTU)
        gsi_link(e->address->remote, (uint8_t)(sn_cm_remote_id(e->conn) >> 24));
    return gsi.client.event(user, e);
}

int gsi_agent_start(void)
{
    static const struct sn_cm_ops ops = {.now = agent_now,
                                         .random = agent_random,
                                         .send = agent_send,
                                         .slot = agent_slot,
                                         .match = agent_match,
                                         .event = agent_event};
    return gsi.cm ? 0 : sn_cm_create(&ops, NULL, &gsi.cm);
}

/* ---- arriving --------------------------------------------------------------------------------------------------------- */

static struct sn_cm_address address_of(unsigned port, const struct sn_gsi_mad *mad)
{
    struct sn_cm_address a = {.port = port};
    memcpy(a.local, mad->local, 16);
    memcpy(a.remote, mad->remote, 16);
    return a;
}

/* What nobody here wants, and no other process does. */
static void refuse(unsigned port, const struct sn_gsi_mad *mad, const struct sn_cm_msg *m)
{
    struct sn_mad answer;
    const struct sn_cm_address to = address_of(port, mad);
    if (sn_cm_refusal(m, &answer))
        gsi_send(port, &to, &answer);
}

static void take(unsigned port, const struct sn_gsi_mad *mad, const struct sn_cm_msg *m)
{
    const struct sn_cm_address from = address_of(port, mad);
    if (gsi.cm)
        (void)sn_cm_input(gsi.cm, &from, mad->bytes, sizeof(mad->bytes));
    else
        refuse(port, mad, m);
}

static void to_slot(unsigned port, const struct sn_gsi_mad *mad, const struct sn_cm_msg *m, uint8_t slot)
{
    if (slot == gsi.port[port].slot)
        take(port, mad, m);
    else if (sn_local_pass_to_slot(gsi.port[port].gid[0], slot, mad) == -ECONNREFUSED)
        refuse(port, mad, m);
}

/* ---- services that are away for a moment ---------------------------------------------------------------------------- */

/*
 * A server that listens anew for each connection is not there in between, and a client that shares two processors with it
 * comes then. So a request for a service that was reached lately waits a little before it is refused.
 */
#define SEEN_NS 10000000000ull
#define HELD_NS 3000000000ull

static struct gsi_seen *find_seen(unsigned port, uint64_t service_id)
{
    for (unsigned i = 0; i < GSI_SEEN; i++)
        if (gsi.seen[i].at && gsi.seen[i].port == port && gsi.seen[i].service_id == service_id)
            return &gsi.seen[i];
    return NULL;
}

static void note_seen(unsigned port, uint64_t service_id)
{
    struct gsi_seen *s = find_seen(port, service_id);
    for (unsigned i = 0; i < GSI_SEEN && (!s || s->service_id != service_id); i++)
        if (!s || gsi.seen[i].at < s->at)
            s = &gsi.seen[i]; /* the oldest makes room */
    *s = (struct gsi_seen){port, service_id, agent_now(NULL)};
}

static bool hold(unsigned port, const struct sn_gsi_mad *mad, uint64_t service_id)
{
    const struct gsi_seen *s = find_seen(port, service_id);
    uint64_t now = agent_now(NULL);
    if (!s || now - s->at > SEEN_NS || gsi.held_count == GSI_HELD)
        return false;
    gsi.held[gsi.held_count++] = (struct gsi_held){.port = port, .until = now + HELD_NS, .mad = *mad};
    return true;
}

static bool reach_service(unsigned port, const struct sn_gsi_mad *mad, const struct sn_cm_msg *m)
{
    bool ours = gsi_serves(port, m->service_id);
    if (!ours && sn_local_pass_to_service(gsi.port[port].gid[0], m->service_id, mad) == -ECONNREFUSED)
        return false;
    note_seen(port, m->service_id);
    if (ours)
        take(port, mad, m);
    return true;
}

static void to_service(unsigned port, const struct sn_gsi_mad *mad, const struct sn_cm_msg *m)
{
    if (!reach_service(port, mad, m) && !hold(port, mad, m->service_id))
        refuse(port, mad, m);
}

void gsi_held_again(void)
{
    unsigned kept = 0;
    uint64_t now = agent_now(NULL);
    for (unsigned i = 0; i < gsi.held_count; i++) {
        struct gsi_held h = gsi.held[i];
        struct sn_cm_msg m;
        if (!gsi.port[h.port].nic || sn_cm_parse(h.mad.bytes, sizeof(h.mad.bytes), &m) != SN_CM_OK ||
            reach_service(h.port, &h.mad, &m))
            continue;
        if (now < h.until)
            gsi.held[kept++] = h;
        else
            refuse(h.port, &h.mad, &m);
    }
    gsi.held_count = kept;
}

static void to_all(unsigned port, const struct sn_gsi_mad *mad, const struct sn_cm_msg *m)
{
    for (unsigned slot = 1; slot <= 255; slot++)
        if (slot != gsi.port[port].slot)
            (void)sn_local_pass_to_slot(gsi.port[port].gid[0], (uint8_t)slot, mad);
    take(port, mad, m);
}

/* A request of another class, or one that expects an answer: that it is not supported (13.4.7). */
static void answer_unsupported(unsigned port, const struct sn_gsi_mad *mad)
{
    struct sn_mad m;
    const struct sn_cm_address to = address_of(port, mad);
    memcpy(&m, mad->bytes, sizeof(m));
    if (m.hdr.base_version != SN_MAD_BASE_VERSION || m.hdr.method != SN_MAD_GET)
        return;
    m.hdr.method = SN_MAD_GET | SN_MAD_RESPONSE;
    m.hdr.status = sn_put16(SN_MAD_STATUS_BAD_ATTRIBUTE);
    gsi_send(port, &to, &m);
}

void gsi_arrived(unsigned port, const struct sn_gsi_mad *mad, bool passed_on)
{
    struct sn_cm_msg m;
    uint8_t slot = 0;
    if (port >= GSI_PORTS || !gsi.port[port].nic)
        return;
    if (sn_cm_parse(mad->bytes, sizeof(mad->bytes), &m) != SN_CM_OK) {
        if (!passed_on)
            answer_unsupported(port, mad);
        return;
    }
    enum sn_cm_owner owner = sn_cm_owner_of(&m, &slot);
    if (owner == SN_CM_OWNER_NOBODY)
        return;
    if (passed_on)
        take(port, mad, &m);
    else if (owner == SN_CM_OWNER_SLOT)
        to_slot(port, mad, &m, slot);
    else if (owner == SN_CM_OWNER_SERVICE)
        to_service(port, mad, &m);
    else
        to_all(port, mad, &m);
}
