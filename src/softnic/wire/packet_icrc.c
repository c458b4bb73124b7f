/* SPDX-License-Identifier: Apache-2.0 */
#include "softnic/wire/packet_icrc.h"

#include <pthread.h>
#include <string.h>

#include "format/roce.h"
#include "softnic/wire/frame.h"
#include "softnic/wire/icrc.h"

enum { IP_BYTES = 20, UDP_BYTES = 8, BTH_BYTES = 12, CRC_BYTES = 4, MAX_BYTES = 4352 };
#define POLYNOMIAL 0xedb88320u /* reflected: bit 31 is x^0 */
#define DONT_FRAGMENT 0x40u    /* of the first byte behind the identification */

/* Product in GF(2)[x] modulo the CRC's polynomial, both reflected. */
static uint32_t multiply(uint32_t a, uint32_t b)
{
    uint32_t product = 0;
    while (a) {
        product ^= b & -(a >> 31); /* no branches: which they would be is as good as random */
        a <<= 1;
        b = b >> 1 ^ (POLYNOMIAL & -(b & 1));
    }
    return product;
}

/* undo[n] takes a CRC register back over n bytes: x^-8n. */
static uint32_t undo[MAX_BYTES];

static void fill_undo(void)
{
    uint32_t back = 0x80000000u;
    for (int i = 0; i < 8; i++) /* x^-1 of the register: the reverse of a shift */
        back = back & 0x80000000u ? (back ^ POLYNOMIAL) << 1 | 1 : back << 1;
    undo[0] = 0x80000000u;
    for (unsigned n = 1; n < MAX_BYTES; n++)
        undo[n] = multiply(undo[n - 1], back);
}

static uint32_t stored(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static void headers_of(uint8_t *h, const uint8_t *bth, size_t length, const uint8_t src[4], const uint8_t dst[4],
                       uint16_t sport)
{
    size_t udp = UDP_BYTES + length, ip = IP_BYTES + udp;
    const uint8_t fixed[] = {0x45, 0, (uint8_t)(ip >> 8), (uint8_t)ip, 0, 0, DONT_FRAGMENT, 0, 64, 17, 0, 0};
    const uint8_t ports[] = {(uint8_t)(sport >> 8),      (uint8_t)sport,   SN_ROCE_PORT >> 8, SN_ROCE_PORT & 0xff,
                             (uint8_t)(udp >> 8), (uint8_t)udp, 0, 0};
    memcpy(h, fixed, sizeof(fixed));
    memcpy(h + 12, src, 4);
    memcpy(h + 16, dst, 4);
    memcpy(h + IP_BYTES, ports, sizeof(ports));
    memcpy(h + IP_BYTES + UDP_BYTES, bth, BTH_BYTES);
}

bool sn_icrc_check_udp4(const uint8_t *bth, size_t length, const uint8_t src[4], const uint8_t dst[4],
                        uint16_t udp_sport)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    uint8_t headers[IP_BYTES + UDP_BYTES + BTH_BYTES];
    if (length < BTH_BYTES + CRC_BYTES || length > MAX_BYTES - IP_BYTES - UDP_BYTES)
        return false;
    headers_of(headers, bth, length, src, dst, udp_sport);
    uint32_t crc = sn_icrc_begin(headers);
    crc = sn_icrc_add(crc, bth + BTH_BYTES, length - BTH_BYTES - CRC_BYTES);
    uint32_t difference = crc ^ stored(bth + length - CRC_BYTES);
    if (!difference)
        return true;
    pthread_once(&once, fill_undo);
    /* Back to just before the identification: what is left there is what the sender's bytes differ by. */
    uint32_t at = multiply(undo[IP_BYTES - 4 + UDP_BYTES + length - CRC_BYTES], difference);
    return (at & ~(0xffffu | DONT_FRAGMENT << 16)) == 0;
}
