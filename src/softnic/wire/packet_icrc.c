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

uint32_t sn_icrc_id_table[SN_ICRC_ID_BYTES / 4 + 1][4][16];

static void fill_id_table(void)
{
    enum { LRH_BYTES = 8, ID_AT = LRH_BYTES + 4, HEADERS = LRH_BYTES + IP_BYTES + UDP_BYTES };
    uint8_t zeros[HEADERS + SN_ICRC_ID_BYTES] = {0};
    for (size_t length = BTH_BYTES + CRC_BYTES; length <= SN_ICRC_ID_BYTES; length += 4) {
        uint32_t none = sn_icrc_add(0, zeros, HEADERS + length - CRC_BYTES);
        for (unsigned i = 0; i < 64; i++) {
            uint8_t frame[sizeof(zeros)] = {0};
            uint16_t id = (uint16_t)((i & 15) << i / 16 * 4);
            frame[ID_AT] = (uint8_t)(id >> 8);
            frame[ID_AT + 1] = (uint8_t)id;
            sn_icrc_id_table[length / 4][i / 16][i & 15] = sn_icrc_add(0, frame, HEADERS + length - CRC_BYTES) ^ none;
        }
    }
}

static void fill_undo(void)
{
    uint32_t back = 0x80000000u;
    for (int i = 0; i < 8; i++) /* x^-1 of the register: the reverse of a shift */
        back = back & 0x80000000u ? (back ^ POLYNOMIAL) << 1 | 1 : back << 1;
    undo[0] = 0x80000000u;
    for (unsigned n = 1; n < MAX_BYTES; n++)
        undo[n] = multiply(undo[n - 1], back);
}

static void fill_tables(void)
{
    fill_undo();
    fill_id_table();
}

static pthread_once_t once = PTHREAD_ONCE_INIT;

void sn_icrc_prepare(void)
{
    pthread_once(&once, fill_tables);
}

bool sn_icrc_find_id(uint32_t difference, size_t length, uint16_t *id)
{
    if (length < BTH_BYTES + CRC_BYTES || length > MAX_BYTES - IP_BYTES - UDP_BYTES)
        return false;
    sn_icrc_prepare();
    /* Back to just before the identification: what is left there is what the sender's bytes differ by. */
    uint32_t at = multiply(undo[IP_BYTES - 4 + UDP_BYTES + length - CRC_BYTES], difference);
    *id = (uint16_t)((at & 0xff) << 8 | (at >> 8 & 0xff));
    return (at & ~(0xffffu | DONT_FRAGMENT << 16)) == 0;
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
    uint16_t id;
    uint8_t headers[IP_BYTES + UDP_BYTES + BTH_BYTES];
    if (length < BTH_BYTES + CRC_BYTES || length > MAX_BYTES - IP_BYTES - UDP_BYTES)
        return false;
    headers_of(headers, bth, length, src, dst, udp_sport);
    uint32_t crc = sn_icrc_begin(headers);
    crc = sn_icrc_add(crc, bth + BTH_BYTES, length - BTH_BYTES - CRC_BYTES);
    uint32_t difference = crc ^ sn_icrc_load(bth + length - CRC_BYTES);
    return !difference || sn_icrc_find_id(difference, length, &id);
}
