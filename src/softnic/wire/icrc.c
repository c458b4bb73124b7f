/* SPDX-License-Identifier: Apache-2.0 */
#include "softnic/wire/icrc.h"

#include <libdeflate.h>
#include <string.h>

#include "format/roce.h"

enum { LRH_BYTES = 8 /* InfiniBand's local route header, which RoCEv2 does not have, counts as ones */ };

static void mask_ip(uint8_t *ip)
{
    if (ip[0] >> 4 == 4) {
        struct sn_ipv4 *h = (struct sn_ipv4 *)ip;
        h->tos = h->ttl = 0xff;
        h->check = sn_put16(0xffff);
        return;
    }
    struct sn_ipv6 *h = (struct sn_ipv6 *)ip;
    h->version_class_flow = sn_put32(sn_get32(h->version_class_flow) | 0x0fffffff);
    h->hop_limit = 0xff;
}

static uint32_t begin(const uint8_t *headers, size_t bth_bytes)
{
    uint8_t masked[LRH_BYTES + sizeof(struct sn_ipv6) + sizeof(struct sn_udp) + sizeof(struct sn_bth)];
    size_t ip_bytes = headers[0] >> 4 == 4 ? sizeof(struct sn_ipv4) : sizeof(struct sn_ipv6);
    size_t bytes = ip_bytes + sizeof(struct sn_udp) + bth_bytes;
    uint8_t *ip = masked + LRH_BYTES;

    memset(masked, 0xff, LRH_BYTES);
    memcpy(ip, headers, bytes);
    mask_ip(ip);
    ((struct sn_udp *)(ip + ip_bytes))->check = sn_put16(0xffff);
    ((struct sn_bth *)(ip + ip_bytes + sizeof(struct sn_udp)))->fecn_becn = 0xff;
    return libdeflate_crc32(0, masked, LRH_BYTES + bytes);
}

uint32_t sn_icrc_begin(const uint8_t *headers)
{
    return begin(headers, sizeof(struct sn_bth));
}

uint32_t sn_icrc_begin_way(const uint8_t *headers)
{
    return begin(headers, SN_ICRC_WAY_BTH);
}

uint32_t sn_icrc_add(uint32_t crc, const uint8_t *bytes, size_t length)
{
    return length == 0 ? crc : libdeflate_crc32(crc, bytes, length);
}

void sn_icrc_store(uint32_t crc, uint8_t out[4])
{
    for (unsigned i = 0; i < 4; i++)
        out[i] = (uint8_t)(crc >> (8 * i));
}
