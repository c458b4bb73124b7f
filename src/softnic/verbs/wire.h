/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SOFTNIC_WIRE: which wire, where, and what addresses the device then has.
 *
 *   shm | none | udp[:ADDRESS,...] | packet:INTERFACE[,ADDRESS...] | xdp:INTERFACE[,ADDRESS...]
 *   tap:INTERFACE[,ADDRESS...] | dgram:LOCAL,REMOTE[,ADDRESS...] | pcap:FILE[,ADDRESS...]
 *
 * Beside addresses the raw wires take mac=xx:xx:xx:xx:xx:xx and mtu=N, pcap also record=FILE.
 */
#ifndef SOFTNIC_VERBS_WIRE_H
#define SOFTNIC_VERBS_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "softnic/verbs/identity.h"
#include "softnic/wire/wire.h"

struct sn_port;

enum sv_wire_kind {
    SV_WIRE_SHM,
    SV_WIRE_NONE,
    SV_WIRE_UDP,
    SV_WIRE_PACKET,
    SV_WIRE_XDP,
    SV_WIRE_TAP,
    SV_WIRE_DGRAM,
    SV_WIRE_PCAP
};

struct sv_wire_choice {
    enum sv_wire_kind kind;
    char first[108], second[108]; /* interface, path or file; REMOTE of dgram, record of pcap */
    uint8_t gid[4][16];           /* addresses that were given, or follow from the interface */
    unsigned gid_count;
    uint8_t mac[6];
    bool has_mac;
    uint32_t mtu;     /* bytes of an IP packet; 0: what the backend says */
    uint8_t path_mtu; /* enum ibv_mtu, the largest that fits; 5 where nothing limits it */
};

/* -EINVAL (or what the interface says) with a refusal that names the value; *out is then untouched. */
int sv_wire_parse(const char *text, unsigned devices, struct sv_wire_choice *out);

/* Addresses of a device on this wire, in place of the host's own. */
void sv_wire_identity(const struct sv_wire_choice *choice, unsigned index, struct sv_identity *id);

/* *out: NULL for none. A failure is a refusal that says what was attempted. */
int sv_wire_open(const struct sv_wire_choice *choice, struct sn_port *port, size_t ring_bytes, bool passive,
                 struct sn_wire **out);
int sv_wire_bind(const struct sv_wire_choice *choice, struct sn_wire *wire, const struct sv_identity *id,
                 uint8_t *slot);
void sv_wire_unbind(const struct sv_wire_choice *choice, struct sn_wire *wire, const struct sv_identity *id);

/* True if MAC addresses are the wire's affair: a path needs none. */
bool sv_wire_finds_macs(const struct sv_wire_choice *choice);

const char *sv_wire_name(const struct sv_wire_choice *choice); /* "udp" */
const char *sv_wire_says(const struct sv_wire_choice *choice); /* who is reached, and what is not checked */

#endif
