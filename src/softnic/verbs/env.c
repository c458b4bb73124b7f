/* SPDX-License-Identifier: Apache-2.0 */
#include "softnic/verbs/env.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "gdaki/softnic.h"
#include "softnic/verbs/capture.h"
#include "softnic/verbs/fault.h"
#include "softnic/verbs/log.h"

static const struct softnic_env table[] = {
    {"SOFTNIC_DEVICES", "1", "number of devices (1..64)"},
    {"SOFTNIC_LINK", "eth", "link layer of all ports: eth (RoCEv2) or ib"},
    {"SOFTNIC_LOG", "error", "messages on stderr: off, error, warn, info or debug"},
    {"SOFTNIC_WIRE", "shm",
     "how others are reached: shm (shared memory, this user and host), none, udp[:ADDRESS,...], packet:INTERFACE, "
     "xdp:INTERFACE, tap:INTERFACE, dgram:LOCAL,REMOTE or pcap:FILE; see docs/wires.md"},
    {"SOFTNIC_SHM_RING", "1048576",
     "bytes of a shared-memory ring, per direction and peer: a power of two, 65536..67108864"},
    {"SOFTNIC_THREAD", "1",
     "1: a NIC thread drives the port when nobody else does; 0: only callers of softnic_drive do"},
    {"SOFTNIC_SEED", "0", "seed of keys and queue numbers; 0: unpredictable"},
    {"SOFTNIC_FAULTS", "", "fault plan: what goes wrong on purpose, as in drop:rate=0.01 (docs/faults.md); empty: nothing"},
    {"SOFTNIC_FAULT_SEED", "1", "seed of the fault plan's chances"},
    {"SOFTNIC_NAMES", "softnic", "names of the devices: a prefix that their number is put behind, or a list with commas"},
    {"SOFTNIC_GID", "",
     "addresses of the devices, with commas, in place of 127.x.y.z (docs/softnic-run.md); only with SOFTNIC_WIRE=shm or none"},
    {"SOFTNIC_PEERMEM", "0", "1: nvidia_peermem's files are among what is presented as sysfs (docs/softnic-run.md)"},
    {"SOFTNIC_PCAP", "", "capture file of all packets sent and received (docs/wires.md); empty: none"},
};

const struct softnic_env *softnic_env_table(size_t *count)
{
    if (count)
        *count = sizeof(table) / sizeof(table[0]);
    return table;
}

static const char *value_of(size_t row)
{
    const char *value = getenv(table[row].name);
    return value && *value ? value : table[row].default_value;
}

static int read_number(size_t row, uint64_t low, uint64_t high, uint64_t *out)
{
    const char *text = value_of(row);
    char *end;
    errno = 0;
    unsigned long long v = strtoull(text, &end, 0);
    if (errno || *end || *text == '-' || v < low || v > high)
        return -sv_refuse(EINVAL, "%s=%s: expected a number from %llu to %llu", table[row].name, text,
                          (unsigned long long)low, (unsigned long long)high);
    *out = v;
    return 0;
}

static int read_choice(size_t row, const char *first, const char *second, bool *is_first)
{
    const char *text = value_of(row);
    if (strcmp(text, first) && strcmp(text, second))
        return -sv_refuse(EINVAL, "%s=%s: expected %s or %s", table[row].name, text, first, second);
    *is_first = !strcmp(text, first);
    return 0;
}

int sv_config_read(struct sv_config *out)
{
    enum { DEVICES, LINK, LOG, WIRE, RING, THREAD, SEED, FAULTS, FAULT_SEED, NAMES, GID, PEERMEM, PCAP };
    struct sv_config c = {0};
    uint64_t devices, ring, fault_seed;
    const char *names = value_of(NAMES);
    bool eth = true, unused; /* -O3 does not see that read_choice sets it */
    int rc, level = sv_log_level(value_of(LOG));
    if (level < 0)
        return -sv_refuse(EINVAL, "SOFTNIC_LOG=%s: expected off, error, warn, info or debug", value_of(LOG));
    sv_log_set_level((enum sv_level)level);
    if ((rc = read_number(DEVICES, 1, SV_MAX_DEVICES, &devices)) || (rc = read_choice(LINK, "eth", "ib", &eth)) ||
        (rc = sv_wire_parse(value_of(WIRE), (unsigned)devices, &c.wire)) ||
        (rc = read_number(RING, 65536, 67108864, &ring)) ||
        (rc = read_choice(THREAD, "1", "0", &c.thread)) || (rc = read_number(SEED, 0, UINT64_MAX, &c.seed)) ||
        (rc = read_number(FAULT_SEED, 0, UINT64_MAX, &fault_seed)) ||
        (rc = sv_faults_configure(value_of(FAULTS), fault_seed)) || (rc = sv_capture_configure(value_of(PCAP))))
        return rc;
    if (ring & (ring - 1))
        return -sv_refuse(EINVAL, "SOFTNIC_SHM_RING=%llu: expected a power of two", (unsigned long long)ring);
    if (!eth && c.wire.kind >= SV_WIRE_UDP)
        return -sv_refuse(EINVAL, "SOFTNIC_LINK=ib, SOFTNIC_WIRE=%s: RoCEv2 needs SOFTNIC_LINK=eth", value_of(WIRE));
    if ((rc = read_choice(PEERMEM, "1", "0", &unused)) || (rc = sv_names_check(names, (unsigned)devices)) ||
        (rc = sv_gids_parse(value_of(GID), c.gid, (unsigned)devices)) < 0)
        return rc;
    if (rc && c.wire.kind >= SV_WIRE_UDP)
        return -sv_refuse(EINVAL, "SOFTNIC_GID=%s, SOFTNIC_WIRE=%s: this wire's own text names the addresses",
                          value_of(GID), value_of(WIRE));
    c.gids = (unsigned)rc;
    strcpy(c.names, names);
    c.devices = (unsigned)devices;
    c.link = eth ? SN_LINK_ETHERNET : SN_LINK_INFINIBAND;
    c.ring_bytes = ring;
    *out = c;
    return 0;
}
