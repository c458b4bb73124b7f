/* SPDX-License-Identifier: Apache-2.0 */
#include "softnic/wire/packet_neigh.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "softnic/engine.h"
#include "softnic/wire/packet_internal.h"

enum {
    /* Sparse: more neighbours in a row than it has places would push one another out, and none be reached. */
    LOG_ROWS = 9,
    WAYS = 8,
    ENTRIES = WAYS << LOG_ROWS,
    TRIES = 3,
    ETHERNET = 14,
    TYPE_ARP = 0x0806,
    TYPE_IPV6 = 0x86dd,
    ARP_BYTES = ETHERNET + 28,
    ND_BYTES = ETHERNET + 40 + 24 + 8, /* IPv6, solicitation or advertisement, one link-layer address option */
    ICMPV6 = 58,
    SOLICITATION = 135,
    ADVERTISEMENT = 136,
};
#define ASK_NS   100000000ull   /* between questions */
#define FRESH_NS 60000000000ull /* an older answer is used while it is asked for again */

struct entry {
    uint8_t gid[16], mac[6];
    bool used, known;
    unsigned tries;
    uint64_t asked_ns, answered_ns, used_ns;
};

struct sn_neigh {
    struct sn_packet_wire *w;
    struct entry entry[ENTRIES];
};

struct sn_neigh *sn_neigh_create(struct sn_packet_wire *w)
{
    struct sn_neigh *n = calloc(1, sizeof(*n));
    if (n)
        n->w = w;
    return n;
}

void sn_neigh_destroy(struct sn_neigh *n)
{
    free(n);
}

static struct entry *row_of(struct sn_neigh *n, const uint8_t gid[16])
{
    uint32_t h = 2166136261u;
    for (int i = 0; i < 16; i++)
        h = (h ^ gid[i]) * 16777619u; /* FNV-1a */
    return &n->entry[(h * 2654435761u >> (32 - LOG_ROWS)) * WAYS];
}

static struct entry *find(struct sn_neigh *n, const uint8_t gid[16])
{
    struct entry *row = row_of(n, gid);
    for (int i = 0; i < WAYS; i++)
        if (row[i].used && !memcmp(row[i].gid, gid, 16))
            return &row[i];
    return NULL;
}

/* A place for an address: a free one, or that of the one which has not been used for longest. */
static struct entry *take(struct sn_neigh *n, const uint8_t gid[16])
{
    struct entry *row = row_of(n, gid), *oldest = row;
    for (int i = 0; i < WAYS; i++) {
        if (!row[i].used) {
            oldest = &row[i];
            break;
        }
        if (row[i].used_ns < oldest->used_ns)
            oldest = &row[i];
    }
    *oldest = (struct entry){.used = true};
    memcpy(oldest->gid, gid, 16);
    return oldest;
}

static uint8_t *put16(uint8_t *p, uint16_t v)
{
    p[0] = (uint8_t)(v >> 8);
    p[1] = (uint8_t)v;
    return p + 2;
}

static uint16_t get16(const uint8_t *p)
{
    return (uint16_t)(p[0] << 8 | p[1]);
}

static uint8_t *put(uint8_t *p, const void *bytes, size_t n)
{
    memcpy(p, bytes, n);
    return p + n;
}

static bool is_ours(struct sn_neigh *n, const uint8_t gid[16])
{
    return sn_port_find_nic(n->w->wire.port, gid) != NULL;
}

/* ---- sending ---------------------------------------------------------------------------------------------------- */

static void send_arp(struct sn_neigh *n, uint16_t operation, const uint8_t dmac[6], const uint8_t sender[4],
                     const uint8_t target_mac[6], const uint8_t target[4])
{
    static const uint8_t ethernet_ipv4[] = {0, 1, 8, 0, 6, 4};
    uint8_t frame[60] = {0}, *p = frame; /* the shortest that Ethernet carries */
    const uint8_t *mac = n->w->backend->mac;
    p = put(p, dmac, 6);
    p = put(p, mac, 6);
    p = put16(p, TYPE_ARP);
    p = put(p, ethernet_ipv4, sizeof(ethernet_ipv4));
    p = put16(p, operation);
    p = put(p, mac, 6);
    p = put(p, sender, 4);
    p = put(p, target_mac, 6);
    put(p, target, 4);
    sn_packet_send_raw(n->w, frame, sizeof(frame));
}

/* The checksum of ICMPv6 covers a pseudo header too (RFC 8200, 8.1). */
static uint16_t icmp_checksum(const uint8_t *ip)
{
    size_t length = get16(ip + 4);
    uint32_t sum = (uint32_t)length + ICMPV6;
    for (int i = 8; i < 40; i += 2)
        sum += get16(ip + i);
    for (size_t i = 0; i + 1 < length; i += 2)
        sum += get16(ip + 40 + i);
    while (sum >> 16)
        sum = (sum & 0xffff) + (sum >> 16);
    return (uint16_t)~sum;
}

static void send_nd(struct sn_neigh *n, uint8_t type, const uint8_t dmac[6], const uint8_t src[16],
                    const uint8_t dst[16], const uint8_t target[16])
{
    uint8_t frame[ND_BYTES] = {0}, *ip = frame + ETHERNET, *p = frame;
    const uint8_t *mac = n->w->backend->mac;
    p = put(p, dmac, 6);
    p = put(p, mac, 6);
    put16(p, TYPE_IPV6);
    ip[0] = 0x60;
    put16(ip + 4, 32);
    ip[6] = ICMPV6;
    ip[7] = 255; /* or it is not believed (RFC 4861, 7.1) */
    memcpy(ip + 8, src, 16);
    memcpy(ip + 24, dst, 16);
    ip[40] = type;
    ip[44] = type == ADVERTISEMENT ? 0x60 : 0; /* solicited, override */
    memcpy(ip + 48, target, 16);
    ip[64] = type == ADVERTISEMENT ? 2 : 1; /* target's, source's link-layer address */
    ip[65] = 1;
    memcpy(ip + 66, mac, 6);
    put16(ip + 42, icmp_checksum(ip));
    sn_packet_send_raw(n->w, frame, sizeof(frame));
}

static void ask(struct sn_neigh *n, const uint8_t sgid[16], const uint8_t dgid[16])
{
    static const uint8_t everybody[6] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, nobody[6];
    if (sn_gid_is_ipv4(dgid)) {
        send_arp(n, 1, everybody, sgid + 12, nobody, dgid + 12);
        return;
    }
    uint8_t group[16] = {0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff, dgid[13], dgid[14], dgid[15]};
    const uint8_t mac[6] = {0x33, 0x33, 0xff, dgid[13], dgid[14], dgid[15]};
    send_nd(n, SOLICITATION, mac, sgid, group, dgid);
}

int sn_neigh_find(struct sn_neigh *n, const uint8_t sgid[16], const uint8_t dgid[16], uint8_t mac[6])
{
    uint64_t now = sn_port_now(n->w->wire.port);
    struct entry *e = find(n, dgid);
    if (is_ours(n, dgid)) { /* another process of this host, on the same interface */
        memcpy(mac, n->w->backend->mac, 6);
        return 0;
    }
    if (!e)
        e = take(n, dgid);
    e->used_ns = now;
    bool stale = e->known && now - e->answered_ns > FRESH_NS;
    if ((!e->known || stale) && (e->tries == 0 || now - e->asked_ns > ASK_NS)) {
        if (e->tries == TRIES) {
            e->used = false; /* the next burst asks anew */
            return -EHOSTUNREACH;
        }
        e->tries++;
        e->asked_ns = now;
        ask(n, sgid, dgid);
    }
    if (!e->known)
        return -EAGAIN;
    memcpy(mac, e->mac, 6);
    return 0;
}

/* ---- arrivals --------------------------------------------------------------------------------------------------- */

/* `may_add`: somebody who asks about us is about to talk to us, and will want an answer. */
static void learn(struct sn_neigh *n, const uint8_t gid[16], const uint8_t mac[6], bool may_add)
{
    struct entry *e = find(n, gid);
    if (!e && may_add)
        e = take(n, gid);
    if (!e || mac[0] & 1) /* a group is nobody's address */
        return;
    memcpy(e->mac, mac, 6);
    e->known = true;
    e->tries = 0;
    e->answered_ns = sn_port_now(n->w->wire.port);
    if (!e->used_ns)
        e->used_ns = e->answered_ns;
}

static void mapped(uint8_t gid[16], const uint8_t ipv4[4])
{
    memset(gid, 0, 10);
    gid[10] = gid[11] = 0xff;
    memcpy(gid + 12, ipv4, 4);
}

static void on_arp(struct sn_neigh *n, const uint8_t *arp)
{
    uint16_t operation = get16(arp + 6);
    uint8_t sender[16], target[16];
    if (get16(arp) != 1 || get16(arp + 2) != 0x0800 || arp[4] != 6 || arp[5] != 4)
        return;
    mapped(sender, arp + 14);
    mapped(target, arp + 24);
    if (operation == 2) {
        learn(n, sender, arp + 8, false);
    } else if (operation == 1 && is_ours(n, target) && !is_ours(n, sender)) {
        learn(n, sender, arp + 8, true);
        if (n->w->backend->answers)
            send_arp(n, 2, arp + 8, target + 12, arp + 8, sender + 12);
    }
}

/* The link-layer address option of this type, or NULL. */
static const uint8_t *option(const uint8_t *p, size_t left, uint8_t type)
{
    while (left >= 8) {
        size_t bytes = (size_t)p[1] * 8;
        if (bytes == 0 || bytes > left)
            return NULL;
        if (p[0] == type)
            return p + 2;
        p += bytes;
        left -= bytes;
    }
    return NULL;
}

static void on_nd(struct sn_neigh *n, const uint8_t *ip, size_t length)
{
    size_t payload = get16(ip + 4);
    const uint8_t *icmp = ip + 40, *target = icmp + 8, *mac;
    if (payload < 24 || payload > length - 40 || payload & 1 || ip[7] != 255 || icmp[1] != 0 || icmp_checksum(ip) != 0)
        return;
    if (icmp[0] == ADVERTISEMENT) {
        mac = option(icmp + 24, payload - 24, 2);
        if (mac)
            learn(n, target, mac, false);
    } else if (icmp[0] == SOLICITATION && is_ours(n, target) && !is_ours(n, ip + 8)) {
        static const uint8_t unspecified[16];
        mac = option(icmp + 24, payload - 24, 1);
        if (!mac || !memcmp(ip + 8, unspecified, 16))
            return; /* duplicate address detection: our addresses are the user's affair */
        learn(n, ip + 8, mac, true);
        if (n->w->backend->answers)
            send_nd(n, ADVERTISEMENT, mac, target, ip + 8, target);
    }
}

bool sn_neigh_frame(struct sn_neigh *n, const uint8_t *frame, size_t length)
{
    if (length < ETHERNET)
        return false;
    uint16_t type = get16(frame + 12);
    if (type == TYPE_ARP) {
        if (length >= ARP_BYTES)
            on_arp(n, frame + ETHERNET);
        return true;
    }
    if (type != TYPE_IPV6 || length < ETHERNET + 48 || frame[ETHERNET + 6] != ICMPV6)
        return false;
    on_nd(n, frame + ETHERNET, length - ETHERNET);
    return true;
}
