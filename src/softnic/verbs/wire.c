/* SPDX-License-Identifier: Apache-2.0 */
/* Opening the wire that SOFTNIC_WIRE names. */
#include "softnic/verbs/wire.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "softnic/nic.h"
#include "softnic/verbs/log.h"
#include "softnic/wire/packet_wire.h"
#include "softnic/wire/raw.h"
#include "softnic/wire/shm.h"
#include "softnic/wire/udp.h"

static const struct {
    const char *name, *says;
} wires[] = {
    [SV_WIRE_SHM] = {"shm", "shared memory: processes of this user on this host"},
    [SV_WIRE_NONE] = {"none", "this process only"},
    [SV_WIRE_UDP] = {"udp", "RoCEv2 in UDP sockets; over IPv4 a socket does not tell the identification that the "
                            "invariant CRC covers, so 15 of its 32 bits are checked; over IPv6 all"},
    [SV_WIRE_PACKET] = {"packet", "RoCEv2 frames on a network interface; the invariant CRC is checked"},
    [SV_WIRE_XDP] = {"xdp", "RoCEv2 frames on a network interface's queue 0; the invariant CRC is checked"},
    [SV_WIRE_TAP] = {"tap", "RoCEv2 frames through a TAP interface; the invariant CRC is checked"},
    [SV_WIRE_DGRAM] = {"dgram", "RoCEv2 frames, one a datagram of a Unix socket; the invariant CRC is checked"},
    [SV_WIRE_PCAP] = {"pcap", "frames of a capture file; the invariant CRC is checked"},
};

const char *sv_wire_name(const struct sv_wire_choice *choice)
{
    return wires[choice->kind].name;
}

const char *sv_wire_says(const struct sv_wire_choice *choice)
{
    return wires[choice->kind].says;
}

bool sv_wire_finds_macs(const struct sv_wire_choice *choice)
{
    return choice->kind >= SV_WIRE_UDP;
}

void sv_wire_identity(const struct sv_wire_choice *choice, unsigned index, struct sv_identity *id)
{
    if (choice->kind < SV_WIRE_UDP || !choice->gid_count)
        return;
    memset(id->gid, 0, sizeof(id->gid));
    memcpy(id->gid, choice->gid, choice->gid_count * sizeof(id->gid[0]));
    id->gid_count = choice->gid_count;
    if (choice->kind == SV_WIRE_UDP)
        id->gid[0][15] = (uint8_t)(id->gid[0][15] + index); /* more than one device only on the default, 127.0.0.1 */
    if (choice->has_mac)
        memcpy(id->mac, choice->mac, 6);
}

static int open_shm(struct sn_port *port, size_t ring_bytes, bool passive, struct sn_wire **out)
{
    int rc = sn_shm_create(port, &(struct sn_shm_config){.ring_bytes = ring_bytes, .passive = passive}, out);
    return rc ? -sv_refuse(-rc, "cannot create the shared-memory wire: %s (SOFTNIC_WIRE=none does without)",
                           strerror(-rc))
              : 0;
}

static int open_backend(const struct sv_wire_choice *c, struct sn_backend **out, const char **why)
{
    switch (c->kind) {
    case SV_WIRE_UDP:
        return sn_udp_open(out);
    case SV_WIRE_PACKET:
        return sn_afpacket_open(c->first, out);
    case SV_WIRE_XDP:
        return sn_xdp_open(c->first, out);
    case SV_WIRE_TAP:
        return sn_tap_open(c->first, c->mac, out);
    case SV_WIRE_DGRAM:
        return sn_dgram_open(c->first, c->second, c->mac, out);
    default:
        return sn_replay_open(c->first, c->second[0] ? c->second : NULL, c->mac, out, why);
    }
}

/* What a failure of a backend most likely means; `text` is room for words that are made. */
static const char *hint(const struct sv_wire_choice *c, int error, char *text, size_t size)
{
    struct rlimit locked;
    if (c->kind == SV_WIRE_XDP && getrlimit(RLIMIT_MEMLOCK, &locked) == 0 &&
        sn_xdp_explain(error, locked.rlim_cur, text, size))
        return text;
    if (error == -EPERM || error == -EACCES)
        return c->kind == SV_WIRE_TAP      ? " (needs CAP_NET_ADMIN, or a TAP interface that belongs to this user)"
               : c->kind == SV_WIRE_PACKET ? " (needs CAP_NET_RAW)"
                                           : " (needs CAP_NET_ADMIN and CAP_BPF)";
    if (error == -EBUSY)
        return " (another process has it)";
    if (error == -ERANGE && c->kind == SV_WIRE_XDP)
        return " (the MTU is too large for an XDP program; of a veth pair, the other end's)";
    if (error == -EADDRINUSE && c->kind == SV_WIRE_DGRAM)
        return " (another process has that socket, or what has its name is no socket)";
    return "";
}

int sv_wire_open(const struct sv_wire_choice *c, struct sn_port *port, size_t ring_bytes, bool passive,
                 struct sn_wire **out)
{
    struct sn_backend *backend;
    const char *why = NULL;
    char text[256];
    *out = NULL;
    if (c->kind == SV_WIRE_NONE)
        return 0;
    if (c->kind == SV_WIRE_SHM)
        return open_shm(port, ring_bytes, passive, out);
    int rc = open_backend(c, &backend, &why);
    if (!rc)
        rc = sn_packet_wire_create(port, backend, passive, out);
    if (rc)
        return -sv_refuse(-rc, "cannot open the wire %s%s%s: %s%s", sv_wire_name(c), c->first[0] ? ":" : "", c->first,
                          why ? why : strerror(-rc), hint(c, rc, text, sizeof(text)));
    return 0;
}

int sv_wire_bind(const struct sv_wire_choice *c, struct sn_wire *wire, const struct sv_identity *id, uint8_t *slot)
{
    if (!wire)
        return 0;
    int rc = c->kind == SV_WIRE_SHM ? sn_shm_bind(wire, id->gid, id->gid_count, slot)
                                    : sn_packet_bind(wire, id->gid, id->gid_count, slot);
    if (rc == -ENOSPC)
        return -sv_refuse(-rc, "no process slot is free (255 at most)");
    if (rc == -EADDRINUSE)
        return -sv_refuse(-rc, "UDP port 4791 of that address is another user's");
    return rc ? -sv_refuse(-rc, "cannot take addresses on the wire %s: %s", sv_wire_name(c), strerror(-rc)) : 0;
}

void sv_wire_unbind(const struct sv_wire_choice *c, struct sn_wire *wire, const struct sv_identity *id)
{
    if (!wire)
        return;
    if (c->kind == SV_WIRE_SHM)
        sn_shm_unbind(wire, id->gid[0]);
    else
        sn_packet_unbind(wire, id->gid[0]);
}
