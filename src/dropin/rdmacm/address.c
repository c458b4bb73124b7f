/* SPDX-License-Identifier: Apache-2.0 */
/*
 * IP addresses, GIDs and devices. A GID is an IPv6 address, or an IPv4 one that is mapped into IPv6; there is nothing to
 * ask anybody. What is not a GID but an address of this host (127.0.0.1, an interface's) stands for the first device.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <string.h>

#include "cma.h"

/* ---- sockaddr -------------------------------------------------------------------------------------------------------- */

socklen_t cma_address_length(const struct sockaddr *a)
{
    return a->sa_family == AF_INET ? sizeof(struct sockaddr_in) : a->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6) : 0;
}

uint16_t cma_port_of(const struct sockaddr *a)
{
    return a->sa_family == AF_INET6 ? ntohs(((const struct sockaddr_in6 *)a)->sin6_port)
                                    : ntohs(((const struct sockaddr_in *)a)->sin_port);
}

void cma_set_port(struct sockaddr *a, uint16_t port)
{
    if (a->sa_family == AF_INET6)
        ((struct sockaddr_in6 *)a)->sin6_port = htons(port);
    else
        ((struct sockaddr_in *)a)->sin_port = htons(port);
}

/* As a GID: the one form in which addresses are compared. */
static void gid_of(const struct sockaddr *a, uint8_t gid[16])
{
    static const uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    if (a->sa_family == AF_INET6) {
        memcpy(gid, &((const struct sockaddr_in6 *)a)->sin6_addr, 16);
        return;
    }
    memcpy(gid, mapped, 12);
    memcpy(gid + 12, &((const struct sockaddr_in *)a)->sin_addr, 4);
}

static bool is_mapped(const uint8_t gid[16])
{
    static const uint8_t prefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    return !memcmp(gid, prefix, 12);
}

static bool is_link_local(const uint8_t gid[16])
{
    return gid[0] == 0xfe && (gid[1] & 0xc0) == 0x80;
}

static void address_of_gid(const uint8_t gid[16], uint16_t port, struct sockaddr_storage *out)
{
    memset(out, 0, sizeof(*out));
    if (is_mapped(gid)) {
        struct sockaddr_in *in = (struct sockaddr_in *)out;
        in->sin_family = AF_INET;
        memcpy(&in->sin_addr, gid + 12, 4);
    } else {
        struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)out;
        in6->sin6_family = AF_INET6;
        memcpy(&in6->sin6_addr, gid, 16);
    }
    cma_set_port((struct sockaddr *)out, port);
}

bool cma_is_any(const struct sockaddr *a)
{
    if (a->sa_family == AF_INET)
        return ((const struct sockaddr_in *)a)->sin_addr.s_addr == htonl(INADDR_ANY);
    return a->sa_family == AF_INET6 && IN6_IS_ADDR_UNSPECIFIED(&((const struct sockaddr_in6 *)a)->sin6_addr);
}

bool cma_same_ip(const struct sockaddr *a, const struct sockaddr *b)
{
    uint8_t x[16], y[16];
    gid_of(a, x);
    gid_of(b, y);
    return !memcmp(x, y, 16);
}

/* ---- whose address --------------------------------------------------------------------------------------------------- */

static bool is_loopback(const uint8_t gid[16])
{
    static const uint8_t one[16] = {[15] = 1};
    return (is_mapped(gid) && gid[12] == 127) || !memcmp(gid, one, 16);
}

/* On a wire whose own addresses are in 127/8 the others of 127/8 are its, too. */
static bool wire_is_loopback(void)
{
    for (unsigned i = 0; i < cma.devices; i++)
        for (unsigned g = 0; g < cma.device[i].info.gid_count; g++)
            if (!cma.device[i].info.this_host && is_loopback(cma.device[i].info.gid[g]))
                return true;
    return false;
}

static bool is_interface(const uint8_t gid[16])
{
    struct ifaddrs *list;
    bool found = false;
    uint8_t own[16];
    if (getifaddrs(&list))
        return false;
    for (const struct ifaddrs *i = list; i && !found; i = i->ifa_next)
        if (i->ifa_addr && cma_address_length(i->ifa_addr)) {
            gid_of(i->ifa_addr, own);
            found = !memcmp(own, gid, 16);
        }
    freeifaddrs(list);
    return found;
}

static bool is_this_host(const uint8_t gid[16])
{
    return (is_loopback(gid) && !wire_is_loopback()) || is_interface(gid);
}

int cma_gid_index(const struct cma_device *d, const uint8_t gid[16])
{
    for (unsigned i = 0; i < d->info.gid_count; i++)
        if (!memcmp(d->info.gid[i], gid, 16))
            return (int)i;
    return -1;
}

static struct cma_device *device_of_gid(const uint8_t gid[16])
{
    for (unsigned i = 0; i < cma.devices; i++)
        if (cma_gid_index(&cma.device[i], gid) >= 0)
            return &cma.device[i];
    return NULL;
}

/* A device of this host by the address that its index gives it, on InfiniBand, too, where that is not its GID. */
static int index_of_address(const uint8_t gid[16])
{
    uint8_t known[16];
    for (unsigned i = 0; i < CMA_MAX_DEVICES; i++) {
        softnic_cm_gid_of_index(i, false, known);
        if (!memcmp(known, gid, 16))
            return (int)i;
    }
    return -1;
}

static struct cma_device *device_of_index(int index)
{
    for (unsigned i = 0; i < cma.devices && index >= 0; i++)
        if (cma.device[i].info.port == (unsigned)index)
            return &cma.device[i];
    return NULL;
}

int cma_device_of_address(const struct sockaddr *a, struct cma_device **out)
{
    uint8_t gid[16];
    gid_of(a, gid);
    struct cma_device *d = device_of_gid(gid);
    if (!d && cma.device[0].info.this_host)
        d = device_of_index(index_of_address(gid));
    if (!d && is_this_host(gid))
        d = &cma.device[0];
    if (!d)
        return -EADDRNOTAVAIL;
    *out = d;
    return 0;
}

/* ---- routes ------------------------------------------------------------------------------------------------------------ */

/* The device's GID of the kind that the destination has: packets have one IP version. */
static uint8_t sgid_for(const struct cma_device *d, const uint8_t dgid[16])
{
    for (unsigned i = 0; i < d->info.gid_count; i++)
        if (is_mapped(d->info.gid[i]) == is_mapped(dgid) && is_link_local(d->info.gid[i]) == is_link_local(dgid))
            return (uint8_t)i;
    for (unsigned i = 0; i < d->info.gid_count; i++)
        if (is_mapped(d->info.gid[i]) == is_mapped(dgid))
            return (uint8_t)i;
    return d->info.ip_gid;
}

static bool has_kind(const struct cma_device *d, const uint8_t dgid[16])
{
    return is_mapped(d->info.gid[sgid_for(d, dgid)]) == is_mapped(dgid);
}

/* Where the destination is: its GID, its LID if it is ours, and the device that is nearest to it. */
static int find_destination(const struct sockaddr *dst, uint8_t dgid[16], struct cma_device **nearest)
{
    uint8_t gid[16];
    int index;
    gid_of(dst, gid);
    struct cma_device *d = device_of_gid(gid);
    if (d) {
        memcpy(dgid, gid, 16);
        *nearest = d;
        return 0;
    }
    bool infiniband = cma.device[0].info.infiniband;
    if (cma.device[0].info.this_host && (index = index_of_address(gid)) >= 0) {
        softnic_cm_gid_of_index((unsigned)index, infiniband, dgid);
        d = device_of_index(index);
        if (d)
            memcpy(dgid, d->info.gid[d->info.ip_gid], 16);
        *nearest = d ? d : &cma.device[0];
        return 0;
    }
    if (is_this_host(gid)) {
        d = &cma.device[0];
        memcpy(dgid, d->info.gid[d->info.ip_gid], 16);
        *nearest = d;
        return 0;
    }
    if (infiniband)
        return -ENETUNREACH; /* there is no subnet administrator to ask */
    memcpy(dgid, gid, 16);
    for (unsigned i = 0; i < cma.devices; i++)
        if (has_kind(&cma.device[i], dgid)) {
            *nearest = &cma.device[i];
            return 0;
        }
    return -ENETUNREACH;
}

static uint16_t ephemeral_port(void)
{
    return (uint16_t)(32768 + softnic_cm_random() % 28232);
}

/* The source address, if none was bound: for an address of this host the same, else the device's own. */
static void choose_source(struct cma_id *id, const struct sockaddr *dst)
{
    struct rdma_addr *a = &id->id.route.addr;
    uint16_t port = a->src_addr.sa_family ? cma_port_of(&a->src_addr) : 0;
    uint8_t gid[16];
    if (a->src_addr.sa_family && !cma_is_any(&a->src_addr) && port)
        return;
    if (!port)
        port = ephemeral_port();
    gid_of(dst, gid);
    if (is_this_host(gid)) {
        memcpy(&a->src_storage, dst, cma_address_length(dst));
        cma_set_port(&a->src_addr, port);
    } else if (!a->src_addr.sa_family || cma_is_any(&a->src_addr)) {
        address_of_gid(id->device->info.gid[id->sgid_index], port, &a->src_storage);
    } else {
        cma_set_port(&a->src_addr, port);
    }
}

int cma_route(struct cma_id *id, const struct sockaddr *dst)
{
    struct cma_device *nearest;
    struct rdma_addr *a = &id->id.route.addr;
    int rc = find_destination(dst, id->dgid, &nearest);
    if (rc)
        return rc;
    if (!id->device)
        cma_set_device(id, nearest);
    if (!id->device->info.infiniband && !has_kind(id->device, id->dgid))
        return -EADDRNOTAVAIL;
    id->sgid_index = sgid_for(id->device, id->dgid);
    struct cma_device *peer = device_of_gid(id->dgid);
    id->dlid = peer ? peer->info.lid : 0;
    memcpy(&a->dst_storage, dst, cma_address_length(dst));
    choose_source(id, dst);
    memcpy(&a->addr.ibaddr.sgid, id->device->info.gid[id->sgid_index], 16);
    memcpy(&a->addr.ibaddr.dgid, id->dgid, 16);
    a->addr.ibaddr.pkey = htons(0xffff);
    return 0;
}

/* ---- the header of requests (annex A11) ----------------------------------------------------------------------------------- */

static void ip_of(const struct sockaddr *a, uint8_t version, uint8_t out[16])
{
    uint8_t gid[16];
    gid_of(a, gid);
    memset(out, 0, 16);
    memcpy(out, version == 4 ? gid + 12 : gid, version == 4 ? 4 : 16);
}

void cma_ip_of_id(const struct cma_id *id, struct sn_cm_ip *out)
{
    const struct rdma_addr *a = &id->id.route.addr;
    out->version = a->dst_addr.sa_family == AF_INET ? 4 : 6;
    out->port = cma_port_of(&a->src_addr);
    ip_of(&a->src_addr, out->version, out->source);
    ip_of(&a->dst_addr, out->version, out->destination);
}

static void address_of_ip(uint8_t version, const uint8_t ip[16], uint16_t port, struct sockaddr_storage *out)
{
    uint8_t gid[16] = {[10] = 0xff, [11] = 0xff};
    memcpy(version == 4 ? gid + 12 : gid, ip, version == 4 ? 4 : 16);
    address_of_gid(gid, port, out);
}

void cma_addresses_of_request(struct cma_id *id, const struct sn_cm_ip *ip, uint16_t port)
{
    struct rdma_addr *a = &id->id.route.addr;
    address_of_ip(ip->version, ip->destination, port, &a->src_storage);
    address_of_ip(ip->version, ip->source, ip->port, &a->dst_storage);
    memcpy(&a->addr.ibaddr.sgid, id->device->info.gid[id->sgid_index], 16);
    memcpy(&a->addr.ibaddr.dgid, id->dgid, 16);
    a->addr.ibaddr.pkey = htons(0xffff);
}

int cma_match_address(const struct cma_id *listener, const struct sn_cm_ip *ip)
{
    const struct sockaddr *own = &listener->id.route.addr.src_addr;
    struct sockaddr_storage to;
    address_of_ip(ip->version, ip->destination, 0, &to);
    if (cma_is_any(own))
        return own->sa_family == AF_INET ? ip->version == 4 : ip->version == 6 || !listener->af_only;
    return cma_same_ip(own, (const struct sockaddr *)&to) ? 2 : 0;
}
