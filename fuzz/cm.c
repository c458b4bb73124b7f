/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connection management under attack: MADs that are well formed, damaged or noise, from two peers, between what users do
 * and time that passes. What the parser takes can be built again and says the same; whatever comes, events reach living
 * users only and in an order that makes sense, nothing is remembered for hours, and in the end nothing is left.
 */
#include <string.h>

#include "rig.h"
#include "softnic/gsi/cm.h"

enum { MOST = 48, SERVICES = 3 };
#define SECOND 1000000000ull

struct user {
    struct sn_cm_conn *conn; /* NULL: free */
    bool connected, over;
};

static struct {
    uint64_t now;
    uint32_t random;
    struct sn_cm *cm;
    struct sn_cm_listener *listener[SERVICES];
    struct user user[MOST];
    uint32_t known[16]; /* IDs that the peers have seen */
    unsigned sent;
} w;

static uint64_t now(void *arg)
{
    (void)arg;
    return w.now;
}

static uint32_t number(void *arg)
{
    (void)arg;
    w.random = w.random * 1664525u + 1013904223u;
    return w.random >> 4;
}

static void send_mad(void *arg, const struct sn_cm_address *to, const struct sn_mad *mad)
{
    struct sn_cm_msg m;
    (void)arg;
    FUZZ_CHECK(to->port < 2, "port %u", to->port);
    FUZZ_CHECK(sn_cm_parse(mad, sizeof(*mad), &m) == SN_CM_OK, "what is sent is refused: attribute 0x%x",
               sn_get16(mad->hdr.attribute));
    w.known[w.sent++ % 16] = m.local_id;
}

static uint8_t slot(void *arg, unsigned port)
{
    (void)arg;
    return (uint8_t)(port + 1);
}

static int match(void *arg, void *user, const struct sn_cm_address *from, const struct sn_cm_msg *m)
{
    (void)arg, (void)user;
    return from->port == 0 || (m->private_data[0] & 1);
}

static struct user *free_user(void)
{
    for (unsigned i = 0; i < MOST; i++)
        if (!w.user[i].conn)
            return &w.user[i];
    return NULL;
}

static void *event(void *arg, void *user, const struct sn_cm_event *e)
{
    struct user *u = user;
    (void)arg;
    if (e->kind == SN_CM_EV_REQ || e->kind == SN_CM_EV_SIDR_REQ) {
        u = free_user();
        if (u)
            *u = (struct user){.conn = e->conn};
        return u;
    }
    FUZZ_CHECK(u >= w.user && u < w.user + MOST && u->conn == e->conn, "event %s of nobody", sn_cm_event_name(e->kind));
    FUZZ_CHECK(!u->over || e->kind == SN_CM_EV_TIMEWAIT, "event %s after the end", sn_cm_event_name(e->kind));
    FUZZ_CHECK(e->kind != SN_CM_EV_RTU || !u->connected, "connected twice");
    u->connected |= e->kind == SN_CM_EV_RTU;
    u->over |= e->kind == SN_CM_EV_REJ || e->kind == SN_CM_EV_UNREACHABLE || e->kind == SN_CM_EV_DISCONNECTED ||
               e->kind == SN_CM_EV_SIDR_REP;
    return NULL;
}

/* ---- attacks ---------------------------------------------------------------------------------------------------------- */

static void rebuilt(const struct sn_cm_msg *m)
{
    struct sn_mad mad, twice;
    struct sn_cm_msg again;
    if (m->attribute == SN_CM_LAP) /* is never built */
        return;
    FUZZ_CHECK(sn_cm_build(m, &mad) == 0, "%s was taken and cannot be built", sn_cm_attribute_name(m->attribute));
    FUZZ_CHECK(sn_cm_parse(&mad, sizeof(mad), &again) == SN_CM_OK && sn_cm_build(&again, &twice) == 0 &&
                   !memcmp(&mad, &twice, sizeof(mad)),
               "%s does not come back", sn_cm_attribute_name(m->attribute));
}

static void input(const void *mad, size_t length, uint8_t from)
{
    struct sn_cm_address a = {.port = from & 1, .local = {1}, .remote = {(uint8_t)(2 + (from >> 1 & 1))}};
    struct sn_cm_msg m;
    struct sn_cm_ip ip;
    struct sn_mad refusal;
    uint8_t s = 0;
    if (sn_cm_parse(mad, length, &m) == SN_CM_OK) {
        rebuilt(&m);
        (void)sn_cm_owner_of(&m, &s);
        (void)sn_cm_ip_parse(&m, &ip);
        (void)sn_cm_refusal(&m, &refusal);
    }
    (void)sn_cm_input(w.cm, &a, mad, length);
}

/* A message that fits what is known, then a few bytes of it changed. */
static void likely(struct fuzz_in *in, uint8_t from)
{
    static const uint16_t kinds[] = {SN_CM_REQ,  SN_CM_MRA,      SN_CM_REJ,      SN_CM_REP, SN_CM_RTU, SN_CM_DREQ,
                                     SN_CM_DREP, SN_CM_SIDR_REQ, SN_CM_SIDR_REP, SN_CM_APR};
    uint8_t which = fuzz_u8(in), ids = fuzz_u8(in), changes = fuzz_u8(in) % 4;
    struct sn_cm_msg m = {.attribute = kinds[which % 10],
                          .local_id = 0x03000000u | (ids >> 4),
                          .remote_id = w.known[ids & 15],
                          .qpn = 0x10u + (which >> 5),
                          .mtu = 3,
                          .ca_guid = 7,
                          .service_id = SN_CM_IP_SERVICE(6, 1 + (which >> 4 & 3)),
                          .remote_timeout = 14,
                          .primary = {.ack_timeout = 12}};
    struct sn_mad mad;
    if (m.attribute == SN_CM_SIDR_REP)
        m.local_id = m.remote_id;
    if (sn_cm_build(&m, &mad))
        return;
    while (changes--) {
        uint8_t at = fuzz_u8(in);
        ((uint8_t *)&mad)[at] = fuzz_u8(in);
    }
    input(&mad, sizeof(mad), from);
}

static void noise(struct fuzz_in *in, uint8_t from)
{
    uint8_t bytes[SN_MAD_BYTES + 16] = {1, 7, 2, 3};
    size_t n = fuzz_bytes(in, bytes + 16, fuzz_u8(in));
    input(bytes, n < 8 ? n : SN_MAD_BYTES, from);
}

/* ---- users -------------------------------------------------------------------------------------------------------------- */

static void forget(struct user *u)
{
    sn_cm_destroy(w.cm, u->conn);
    *u = (struct user){0};
}

static void connect_to(uint8_t what)
{
    struct sn_cm_address a = {.port = what & 1, .local = {1}, .remote = {2}};
    struct sn_cm_params p = {.qpn = 0x100u + what, .mtu = 3, .timeout = 14, .max_retries = 3, .path = {.ack_timeout = 12}};
    struct user *u = free_user();
    if (!u)
        return;
    if (what & 2 ? sn_cm_sidr_request(w.cm, &a, SN_CM_IP_SERVICE(6, 9), &p, u, &u->conn)
                 : sn_cm_request(w.cm, &a, SN_CM_IP_SERVICE(6, 9), &p, u, &u->conn))
        u->conn = NULL;
}

static void act(uint8_t which, uint8_t what)
{
    struct user *u = &w.user[which % MOST];
    struct sn_cm_params p = {.qpn = 0x200u + which, .timeout = 14, .max_retries = 3};
    if (!u->conn) {
        connect_to(what);
        return;
    }
    switch (what % 8) {
    case 0:
        (void)sn_cm_reply(w.cm, u->conn, &p);
        break;
    case 1:
        (void)sn_cm_ready_to_use(w.cm, u->conn, NULL, 0);
        break;
    case 2:
        (void)sn_cm_reject(w.cm, u->conn, SN_CM_REJ_CONSUMER, NULL, 0);
        break;
    case 3:
        (void)sn_cm_disconnect(w.cm, u->conn);
        break;
    case 4:
        (void)sn_cm_sidr_reply(w.cm, u->conn, SN_CM_SIDR_VALID, &p);
        break;
    case 5:
        (void)sn_cm_established(w.cm, u->conn);
        break;
    default:
        forget(u);
        break;
    }
}

static void pass_time(uint64_t ns)
{
    uint64_t deadline = sn_cm_deadline(w.cm);
    FUZZ_CHECK(deadline == UINT64_MAX || deadline < w.now + 600 * SECOND, "a timer in %llu s",
               (unsigned long long)((deadline - w.now) / SECOND));
    w.now += ns;
    sn_cm_timers(w.cm);
}

static void listener(unsigned i)
{
    if (w.listener[i])
        sn_cm_unlisten(w.cm, w.listener[i]);
    w.listener[i] = NULL;
    if (!w.listener[i] && sn_cm_listen(w.cm, SN_CM_IP_SERVICE(6, 1 + i), &w, NULL, &w.listener[i]))
        w.listener[i] = NULL;
}

static void finish(void)
{
    for (unsigned i = 0; i < MOST; i++)
        if (w.user[i].conn)
            forget(&w.user[i]);
    for (unsigned i = 0; i < 4096 && sn_cm_deadline(w.cm) != UINT64_MAX; i++) {
        if (sn_cm_deadline(w.cm) > w.now)
            w.now = sn_cm_deadline(w.cm);
        sn_cm_timers(w.cm);
    }
    FUZZ_CHECK(sn_cm_count(w.cm) == 0, "%u connections are left", sn_cm_count(w.cm));
    sn_cm_destroy_agent(w.cm);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct sn_cm_ops ops = {
        .now = now, .random = number, .send = send_mad, .slot = slot, .match = match, .event = event};
    struct fuzz_in in = {data, size};
    memset(&w, 0, sizeof(w));
    w.now = SECOND;
    if (sn_cm_create(&ops, NULL, &w.cm))
        return 0;
    for (unsigned i = 0; i < SERVICES; i++)
        listener(i);
    while (in.left) {
        uint8_t op = fuzz_u8(&in);
        switch (op % 8) {
        case 0:
        case 1:
        case 2:
            likely(&in, op >> 3);
            break;
        case 3:
            noise(&in, op >> 3);
            break;
        case 4:
        case 5:
            act(op >> 3, fuzz_u8(&in));
            break;
        case 6:
            pass_time((uint64_t)fuzz_u8(&in) << 22);
            break;
        default:
            if (op & 8) {
                listener((op >> 4) % SERVICES);
            } else {
                uint8_t gid[16] = {(uint8_t)(2 + (op >> 4 & 1))};
                sn_cm_peer_gone(w.cm, gid, 3);
            }
            break;
        }
    }
    finish();
    return 0;
}
