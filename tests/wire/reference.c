/* SPDX-License-Identifier: Apache-2.0 */
#include "reference.h"

#include <stdlib.h>
#include <string.h>

enum { ETH = 14, UDP = 8 };

static size_t ip_bytes(const uint8_t *frame)
{
    return frame[ETH] >> 4 == 6 ? 40 : 20;
}

static uint32_t crc_bit_by_bit(uint32_t crc, const uint8_t *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc & 1 ? (crc >> 1) ^ 0xedb88320u : crc >> 1;
    }
    return crc;
}

uint32_t reference_icrc(const uint8_t *frame, size_t length)
{
    static const uint8_t ones[8] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
    size_t n = length - ETH, ip = ip_bytes(frame);
    uint8_t *copy = malloc(n);
    uint32_t crc;

    memcpy(copy, frame + ETH, n);
    if (ip == 20) {
        copy[1] = copy[8] = copy[10] = copy[11] = 0xff; /* type of service, time to live, header checksum */
    } else {
        copy[0] |= 0x0f; /* traffic class and flow label */
        copy[1] = copy[2] = copy[3] = 0xff;
        copy[7] = 0xff; /* hop limit */
    }
    copy[ip + 6] = copy[ip + 7] = 0xff; /* UDP checksum */
    copy[ip + UDP + 4] = 0xff;          /* BTH: FECN, BECN, reserved */
    crc = crc_bit_by_bit(0xffffffffu, ones, sizeof(ones));
    crc = ~crc_bit_by_bit(crc, copy, n - 4);
    free(copy);
    return crc;
}

static uint32_t words(uint32_t sum, const uint8_t *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        sum += i % 2 == 0 ? (uint32_t)bytes[i] << 8 : bytes[i];
        sum = (sum & 0xffff) + (sum >> 16);
    }
    return sum;
}

static void put16(uint8_t *at, size_t v)
{
    at[0] = (uint8_t)(v >> 8);
    at[1] = (uint8_t)v;
}

void reference_refit(uint8_t *frame, size_t length)
{
    size_t ip = ip_bytes(frame);
    uint32_t crc;

    if (ip == 20) {
        put16(frame + ETH + 2, length - ETH);
        put16(frame + ETH + 10, 0);
        put16(frame + ETH + 10, ~words(0, frame + ETH, ip) & 0xffff);
    } else {
        put16(frame + ETH + 4, length - ETH - ip);
    }
    put16(frame + ETH + ip + 4, length - ETH - ip);
    crc = reference_icrc(frame, length);
    for (int i = 0; i < 4; i++)
        frame[length - 4 + (size_t)i] = (uint8_t)(crc >> (8 * i));
}

uint16_t reference_udp_sum(const uint8_t *frame, size_t length)
{
    size_t ip = ip_bytes(frame), udp = length - ETH - ip;
    const uint8_t *addresses = frame + ETH + (ip == 20 ? 12 : 8);
    uint8_t pseudo[4] = {0, 17, (uint8_t)(udp >> 8), (uint8_t)udp};
    uint32_t sum = words(0, addresses, ip == 20 ? 8 : 32);

    sum = words(sum, pseudo, sizeof(pseudo));
    return (uint16_t)words(sum, frame + ETH + ip, udp);
}
