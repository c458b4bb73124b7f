/* SPDX-License-Identifier: Apache-2.0 */
/* The text of SOFTNIC_WIRE. */
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "softnic/verbs/log.h"
#include "softnic/verbs/wire.h"
#include "softnic/wire/packet_wire.h"
#include "softnic/wire/raw.h"
#include "softnic/wire/udp.h"

enum { MAX_GIDS = 4, MIN_MTU = 576, MAX_MTU = 9216 };

#define EXPECTED                                                                                                       \
    "shm, none, udp[:ADDRESS,...], packet:INTERFACE, xdp:INTERFACE, tap:INTERFACE, dgram:LOCAL,REMOTE or pcap:FILE"

static const struct {
    const char *name;
    enum sv_wire_kind kind;
    unsigned words; /* that must follow the colon before any option */
} kinds[] = {{"shm", SV_WIRE_SHM, 0},       {"none", SV_WIRE_NONE, 0}, {"udp", SV_WIRE_UDP, 0},
             {"packet", SV_WIRE_PACKET, 1}, {"xdp", SV_WIRE_XDP, 1},   {"tap", SV_WIRE_TAP, 1},
             {"dgram", SV_WIRE_DGRAM, 2},   {"pcap", SV_WIRE_PCAP, 1}};

static bool is_raw(const struct sv_wire_choice *c)
{
    return c->kind > SV_WIRE_UDP;
}

static bool to_gid(const char *text, uint8_t gid[16])
{
    struct in_addr v4;
    if (inet_pton(AF_INET, text, &v4) == 1) {
        memset(gid, 0, 10);
        gid[10] = gid[11] = 0xff;
        memcpy(gid + 12, &v4, 4);
        return true;
    }
    return inet_pton(AF_INET6, text, gid) == 1 && !sn_gid_is_ipv4(gid);
}

static int add_gid(struct sv_wire_choice *c, const uint8_t gid[16])
{
    if (c->gid_count == MAX_GIDS)
        return -ENOSPC;
    memcpy(c->gid[c->gid_count++], gid, 16);
    return 0;
}

static bool to_mac(const char *text, uint8_t mac[6])
{
    unsigned v[6];
    int used = 0;
    if (sscanf(text, "%2x:%2x:%2x:%2x:%2x:%2x%n", &v[0], &v[1], &v[2], &v[3], &v[4], &v[5], &used) != 6 || text[used] ||
        v[0] & 1)
        return false;
    for (int i = 0; i < 6; i++)
        mac[i] = (uint8_t)v[i];
    return true;
}

static bool to_mtu(const char *text, uint32_t *mtu)
{
    char *end;
    unsigned long v = strtoul(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || v < MIN_MTU || v > MAX_MTU)
        return false;
    *mtu = (uint32_t)v;
    return true;
}

/* One word behind those that have to be there. 0 or an errno, with *why. */
static bool take_option(struct sv_wire_choice *c, const char *word, const char **why)
{
    uint8_t gid[16];
    *why = "expected an IPv4 or IPv6 address";
    if (to_gid(word, gid)) {
        *why = "given twice";
        for (unsigned i = 0; i < c->gid_count; i++)
            if (!memcmp(c->gid[i], gid, 16))
                return false;
        *why = "more than 4 addresses";
        return add_gid(c, gid) == 0;
    }
    if (is_raw(c) && !strncmp(word, "mac=", 4)) {
        *why = "expected mac=xx:xx:xx:xx:xx:xx, of a single station";
        c->has_mac = true;
        return c->kind >= SV_WIRE_TAP && to_mac(word + 4, c->mac);
    }
    if (is_raw(c) && !strncmp(word, "mtu=", 4)) {
        *why = "expected mtu=N, 576 to 9216";
        return to_mtu(word + 4, &c->mtu);
    }
    if (c->kind == SV_WIRE_PCAP && !strncmp(word, "record=", 7)) {
        *why = "file name too long";
        return snprintf(c->second, sizeof(c->second), "%s", word + 7) < (int)sizeof(c->second) && c->second[0];
    }
    return false;
}

/* FNV-1a: two ends of one cable must not have one address, and the same end should keep its own. */
static void make_mac(struct sv_wire_choice *c)
{
    uint32_t h = 2166136261u;
    for (const char *p = c->first; *p; p++)
        h = (h ^ (uint8_t)*p) * 16777619u;
    const uint8_t mac[6] = {0x02, 0x5f, (uint8_t)(h >> 24), (uint8_t)(h >> 16), (uint8_t)(h >> 8), (uint8_t)h};
    memcpy(c->mac, mac, 6);
    c->has_mac = true;
}

/* EUI-64 (RFC 4291, appendix A). */
static void add_link_local(struct sv_wire_choice *c)
{
    const uint8_t *m = c->mac;
    const uint8_t gid[16] = {0xfe, 0x80, 0, 0, 0, 0, 0, 0, m[0] ^ 2, m[1], m[2], 0xff, 0xfe, m[3], m[4], m[5]};
    add_gid(c, gid);
}

static void add_interface_addresses(struct sv_wire_choice *c, int family)
{
    struct ifaddrs *all;
    if (getifaddrs(&all))
        return;
    for (const struct ifaddrs *i = all; i; i = i->ifa_next) {
        char text[INET6_ADDRSTRLEN];
        uint8_t gid[16];
        if (!i->ifa_addr || i->ifa_addr->sa_family != family || strcmp(i->ifa_name, c->first) != 0)
            continue;
        const void *address = family == AF_INET
                                  ? (const void *)&((const struct sockaddr_in *)(const void *)i->ifa_addr)->sin_addr
                                  : (const void *)&((const struct sockaddr_in6 *)(const void *)i->ifa_addr)->sin6_addr;
        if (inet_ntop(family, address, text, sizeof(text)) && to_gid(text, gid))
            add_gid(c, gid);
    }
    freeifaddrs(all);
}

static int refuse_address(const char *text, const uint8_t gid[16], int error)
{
    char address[INET6_ADDRSTRLEN] = "";
    bool v4 = sn_gid_is_ipv4(gid);
    inet_ntop(v4 ? AF_INET : AF_INET6, gid + (v4 ? 12 : 0), address, sizeof(address));
    return -sv_refuse(error, "SOFTNIC_WIRE=%s: no interface of this host has the address %s", text, address);
}

/* Addresses, MAC and MTU that the text leaves open. */
static int complete(const char *text, struct sv_wire_choice *c)
{
    static const uint8_t loopback[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1};
    int mtu = 0;
    if (c->kind == SV_WIRE_UDP) {
        if (!c->gid_count)
            add_gid(c, loopback);
        for (unsigned i = 0; i < c->gid_count; i++) {
            if (c->gid[i][0] == 0xfe && (c->gid[i][1] & 0xc0) == 0x80)
                return -sv_refuse(EINVAL, "SOFTNIC_WIRE=%s: a link-local address is not the host's alone; packet: has it",
                                  text);
            int m = sn_udp_mtu(c->gid[i]);
            if (m < 0)
                return refuse_address(text, c->gid[i], -m);
            mtu = !mtu || m < mtu ? m : mtu;
        }
    } else if (c->kind == SV_WIRE_PACKET || c->kind == SV_WIRE_XDP) {
        int rc = sn_interface_mac(c->first, c->mac);
        if (rc)
            return -sv_refuse(-rc, "SOFTNIC_WIRE=%s: interface %s: %s", text, c->first, strerror(-rc));
        c->has_mac = true;
        mtu = sn_interface_mtu(c->first);
        if (c->kind == SV_WIRE_XDP && mtu > SN_XDP_MTU)
            mtu = SN_XDP_MTU;
        if (!c->gid_count) {
            add_interface_addresses(c, AF_INET);
            add_interface_addresses(c, AF_INET6);
        }
        if (!c->gid_count)
            add_link_local(c);
    } else if (is_raw(c)) {
        if (!c->has_mac)
            make_mac(c);
        if (c->gid_count < MAX_GIDS)
            add_link_local(c);
        mtu = c->kind == SV_WIRE_TAP ? sn_interface_mtu(c->first) : 1500;
    }
    if (!c->mtu)
        c->mtu = mtu > 0 ? (uint32_t)mtu : 1500;
    return 0;
}

static uint8_t path_mtu_of(const struct sv_wire_choice *c)
{
    uint8_t least = 5;
    for (unsigned i = 0; i < c->gid_count; i++) {
        uint8_t m = sn_packet_path_mtu(c->mtu, !sn_gid_is_ipv4(c->gid[i]));
        least = m < least ? m : least;
    }
    return least;
}

static int take_words(const char *text, char *rest, unsigned needed, struct sv_wire_choice *c)
{
    char *save = NULL;
    const char *why = "";
    for (char *word = strtok_r(rest, ",", &save); word; word = strtok_r(NULL, ",", &save)) {
        if (needed) {
            char *to = c->first[0] ? c->second : c->first;
            if (strlen(word) >= sizeof(c->first))
                return -sv_refuse(EINVAL, "SOFTNIC_WIRE=%s: %s is too long", text, word);
            strcpy(to, word);
            needed--;
        } else if (!take_option(c, word, &why)) {
            return -sv_refuse(EINVAL, "SOFTNIC_WIRE=%s: %s: %s", text, word, why);
        }
    }
    if (needed)
        return -sv_refuse(EINVAL, "SOFTNIC_WIRE=%s: expected " EXPECTED, text);
    if ((c->kind == SV_WIRE_PACKET || c->kind == SV_WIRE_XDP || c->kind == SV_WIRE_TAP) &&
        (strlen(c->first) >= IFNAMSIZ || strpbrk(c->first, "/: \t\n")))
        return -sv_refuse(EINVAL, "SOFTNIC_WIRE=%s: %s is no interface's name", text, c->first);
    return 0;
}

int sv_wire_parse(const char *text, unsigned devices, struct sv_wire_choice *out)
{
    struct sv_wire_choice c = {.path_mtu = 5};
    const char *colon = strchr(text, ':');
    size_t length = colon ? (size_t)(colon - text) : strlen(text), row = 0;
    char rest[512] = "";
    while (row < sizeof(kinds) / sizeof(kinds[0]) &&
           (strlen(kinds[row].name) != length || strncmp(kinds[row].name, text, length) != 0))
        row++;
    if (row == sizeof(kinds) / sizeof(kinds[0]) || (colon && strlen(colon + 1) >= sizeof(rest)) ||
        (colon && kinds[row].kind < SV_WIRE_UDP))
        return -sv_refuse(EINVAL, "SOFTNIC_WIRE=%s: expected " EXPECTED, text);
    c.kind = kinds[row].kind;
    if (colon)
        strcpy(rest, colon + 1);
    int rc = take_words(text, rest, kinds[row].words, &c);
    if (rc)
        return rc;
    bool many = c.kind < SV_WIRE_UDP || (c.kind == SV_WIRE_UDP && !c.gid_count);
    if (devices > 1 && !many)
        return -sv_refuse(EINVAL, "SOFTNIC_WIRE=%s carries one device: SOFTNIC_DEVICES=%u", text, devices);
    if (c.kind >= SV_WIRE_UDP && (rc = complete(text, &c)) != 0)
        return rc;
    c.path_mtu = c.kind >= SV_WIRE_UDP ? path_mtu_of(&c) : 5;
    if (!c.path_mtu)
        return -sv_refuse(EINVAL, "SOFTNIC_WIRE=%s: an MTU of %u bytes is too small for any path MTU", text, c.mtu);
    *out = c;
    return 0;
}
