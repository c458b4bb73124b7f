/* SPDX-License-Identifier: Apache-2.0 */
#include "softnic/verbs/identity.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "softnic/verbs/env.h"

enum { FIRST_LID = 0x10 };

/* FNV-1a: spreads the host's name over 32 bits; no secret depends on it. */
static uint32_t hash(const char *text, size_t length)
{
    uint32_t h = 2166136261u;
    for (size_t i = 0; i < length; i++)
        h = (h ^ (uint8_t)text[i]) * 16777619u;
    return h;
}

static uint32_t host_hash(void)
{
    static atomic_uint known; /* 0: not asked yet */
    uint32_t h = atomic_load_explicit(&known, memory_order_relaxed);
    char text[256] = "";
    ssize_t n = -1;
    if (h)
        return h;
    int fd = open("/etc/machine-id", O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        n = read(fd, text, sizeof(text) - 1);
        close(fd);
    }
    if (n <= 1) { /* minimal containers have an empty one */
        if (gethostname(text, sizeof(text) - 1))
            strcpy(text, "localhost");
        n = (ssize_t)strlen(text);
    }
    h = hash(text, (size_t)n);
    atomic_store_explicit(&known, h, memory_order_relaxed);
    return h;
}

/* EUI-64 from a MAC (RFC 4291, appendix A): the universal bit is flipped, ff:fe goes in the middle. */
static void eui64(const uint8_t mac[6], uint8_t out[8])
{
    const uint8_t bytes[8] = {mac[0] ^ 2, mac[1], mac[2], 0xff, 0xfe, mac[3], mac[4], mac[5]};
    memcpy(out, bytes, 8);
}

void sv_identity_of(unsigned index, enum sn_link link, struct sv_identity *out)
{
    uint32_t h = host_hash();
    const uint8_t mac[6] = {0x02, 0x5f, (uint8_t)(h >> 16), (uint8_t)(h >> 8), (uint8_t)h, (uint8_t)index};
    /* IPv4-mapped, in 127/8: an address that needs no configuration and cannot leave the host. */
    const uint8_t mapped[16] = {0,
                                0,
                                0,
                                0,
                                0,
                                0,
                                0,
                                0,
                                0,
                                0,
                                0xff,
                                0xff,
                                127,
                                (uint8_t)(64 + (h >> 24) % 128),
                                (uint8_t)(h >> 16),
                                (uint8_t)(index + 1)};
    memset(out, 0, sizeof(*out));
    memcpy(out->mac, mac, 6);
    out->gid[0][0] = 0xfe;
    out->gid[0][1] = 0x80;
    eui64(mac, &out->gid[0][8]);
    for (int i = 8; i < 16; i++)
        out->guid = out->guid << 8 | out->gid[0][i];
    out->gid_count = 1;
    if (link == SN_LINK_ETHERNET) {
        memcpy(out->gid[1], mapped, 16);
        out->gid_count = 2;
    } else {
        out->lid = (uint16_t)(FIRST_LID + index);
    }
}

static atomic_bool chosen_elsewhere;

void sv_identity_expect_chosen(bool chosen)
{
    atomic_store_explicit(&chosen_elsewhere, chosen, memory_order_relaxed);
}

static void mac_of_chosen(const uint8_t gid[16], uint8_t mac[6])
{
    uint32_t h = hash((const char *)gid, 16);
    const uint8_t bytes[6] = {0x02, 0x60, (uint8_t)(h >> 24), (uint8_t)(h >> 16), (uint8_t)(h >> 8), (uint8_t)h};
    memcpy(mac, bytes, 6);
}

void sv_identity_choose(struct sv_identity *id, enum sn_link link, const uint8_t gid[16])
{
    if (link == SN_LINK_ETHERNET) { /* InfiniBand's GID 0 stays what the LID stands for */
        mac_of_chosen(gid, id->mac);
        eui64(id->mac, &id->gid[0][8]);
        id->guid = 0;
        for (int i = 8; i < 16; i++)
            id->guid = id->guid << 8 | id->gid[0][i];
    }
    memcpy(id->gid[1], gid, 16);
    id->gid_count = 2;
}

static int is_link_local_eui64(const uint8_t gid[16])
{
    static const uint8_t prefix[8] = {0xfe, 0x80};
    return !memcmp(gid, prefix, 8) && gid[11] == 0xff && gid[12] == 0xfe;
}

static int unknown_mac(const uint8_t gid[16], uint8_t mac[6])
{
    if (!atomic_load_explicit(&chosen_elsewhere, memory_order_relaxed))
        return -EHOSTUNREACH;
    mac_of_chosen(gid, mac);
    return 0;
}

int sv_identity_mac_of_gid(const uint8_t gid[16], uint8_t mac[6])
{
    if (is_link_local_eui64(gid)) {
        const uint8_t bytes[6] = {gid[8] ^ 2, gid[9], gid[10], gid[13], gid[14], gid[15]};
        memcpy(mac, bytes, 6);
        return 0;
    }
    unsigned index = gid[15] - 1u;
    struct sv_identity id;
    if (index >= SV_MAX_DEVICES)
        return unknown_mac(gid, mac);
    sv_identity_of(index, SN_LINK_ETHERNET, &id);
    if (memcmp(id.gid[1], gid, 16))
        return unknown_mac(gid, mac);
    memcpy(mac, id.mac, 6);
    return 0;
}

int sv_identity_gid_of_lid(uint16_t lid, uint8_t gid[16])
{
    struct sv_identity id;
    if (lid < FIRST_LID || lid >= FIRST_LID + SV_MAX_DEVICES)
        return -ENOENT;
    sv_identity_of(lid - FIRST_LID, SN_LINK_INFINIBAND, &id);
    memcpy(gid, id.gid[0], 16);
    return 0;
}
