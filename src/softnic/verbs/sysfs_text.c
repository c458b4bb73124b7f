/* SPDX-License-Identifier: Apache-2.0 */
/* Contents, in the formats of Linux (Documentation/ABI/stable/sysfs-class-infiniband). */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <string.h>
#include <unistd.h>

#include "softnic/verbs/device.h"
#include "softnic/verbs/query.h"
#include "softnic/verbs/sysfs.h"

enum { PCI_VENDOR_MELLANOX = 0x15b3 };

static bool is_ethernet(const struct sv_sysfs_ask *ask)
{
    return ask->device->link == SN_LINK_ETHERNET;
}

/* ---- PCI --------------------------------------------------------------------------------------------------------- */

int sv_print_vendor(const struct sv_sysfs_ask *ask, struct sv_text *text)
{
    (void)ask;
    sv_text_add(text, "0x%04x\n", PCI_VENDOR_MELLANOX);
    return 0;
}

int sv_print_device_id(const struct sv_sysfs_ask *ask, struct sv_text *text)
{
    struct ibv_device_attr a;
    sv_device_attr(ask->device, &a);
    sv_text_add(text, "0x%04x\n", a.vendor_part_id);
    return 0;
}

static unsigned pci_class(const struct sv_sysfs_ask *ask)
{
    return is_ethernet(ask) ? 0x020000 : 0x020700; /* network controller: Ethernet, InfiniBand */
}

int sv_print_class(const struct sv_sysfs_ask *ask, struct sv_text *text)
{
    sv_text_add(text, "0x%06x\n", pci_class(ask));
    return 0;
}

int sv_print_pci_uevent(const struct sv_sysfs_ask *ask, struct sv_text *text)
{
    struct ibv_device_attr a;
    char bus_id[24];
    sv_device_attr(ask->device, &a);
    sv_sysfs_bus_id(ask->device, bus_id, sizeof(bus_id));
    sv_text_add(text, "DRIVER=mlx5_core\nPCI_CLASS=%X\nPCI_ID=%04X:%04X\nPCI_SUBSYS_ID=%04X:0023\nPCI_SLOT_NAME=%s\n",
                pci_class(ask), PCI_VENDOR_MELLANOX, a.vendor_part_id, PCI_VENDOR_MELLANOX, bus_id);
    return 0;
}

/* The NIC runs on CPUs: it is local to the first node, where there are nodes. */
#define FIRST_NODE "/sys/devices/system/node/node0"

int sv_print_numa(const struct sv_sysfs_ask *ask, struct sv_text *text)
{
    (void)ask;
    sv_text_add(text, access(FIRST_NODE, F_OK) ? "-1\n" : "0\n");
    return 0;
}

static int print_file(const char *path, const char *otherwise, struct sv_text *text)
{
    char content[2048];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, content, sizeof(content));
    if (fd >= 0)
        close(fd);
    if (n > 0)
        sv_text_add(text, "%.*s", (int)n, content);
    else
        sv_text_add(text, "%s\n", otherwise);
    return 0;
}

int sv_print_cpus(const struct sv_sysfs_ask *ask, struct sv_text *text)
{
    (void)ask;
    return print_file(FIRST_NODE "/cpumap", "ffffffff", text);
}

int sv_print_cpu_list(const struct sv_sysfs_ask *ask, struct sv_text *text)
{
    (void)ask;
    return print_file("/sys/devices/system/cpu/online", "0", text);
}

/* ---- device ------------------------------------------------------------------------------------------------------ */

int sv_print_ib_uevent(const struct sv_sysfs_ask *ask, struct sv_text *text)
{
    sv_text_add(text, "NAME=%s\n", ask->device->ibv.name);
    return 0;
}

int sv_print_guid(const struct sv_sysfs_ask *ask, struct sv_text *text)
{
    uint64_t g = ask->device->identity.guid;
    sv_text_add(text, "%04x:%04x:%04x:%04x\n", (unsigned)(g >> 48), (unsigned)(g >> 32) & 0xffff,
                (unsigned)(g >> 16) & 0xffff, (unsigned)g & 0xffff);
    return 0;
}

int sv_print_description(const struct sv_sysfs_ask *ask, struct sv_text *text)
{
    char host[65] = "localhost";
    if (gethostname(host, sizeof(host) - 1))
        strcpy(host, "localhost");
    sv_text_add(text, "%s %s\n", host, ask->device->ibv.name);
    return 0;
}

int sv_print_firmware(const struct sv_sysfs_ask *ask, struct sv_text *text)
{
    struct ibv_device_attr a;
    sv_device_attr(ask->device, &a);
    sv_text_add(text, "%s\n", a.fw_ver);
    return 0;
}

int sv_print_hca(const struct sv_sysfs_ask *ask, struct sv_text *text)
{
    struct ibv_device_attr a;
    sv_device_attr(ask->device, &a);
    sv_text_add(text, "MT%u\n", a.vendor_part_id);
    return 0;
}

int sv_print_ibdev(const struct sv_sysfs_ask *ask, struct sv_text *text)
{
    sv_text_add(text, "%s\n", ask->device->ibv.name);
    return 0;
}

int sv_print_dev(const struct sv_sysfs_ask *ask, struct sv_text *text)
{
    sv_text_add(text, "231:%u\n", 192 + ask->device->index); /* Documentation/admin-guide/devices.txt */
    return 0;
}

/* ---- port -------------------------------------------------------------------------------------------------------- */

static struct ibv_port_attr port_attr(const struct sv_sysfs_ask *ask)
{
    struct ibv_port_attr a;
    sv_port_attr(ask->device, &a);
    return a;
}

int sv_print_state(const struct sv_sysfs_ask *ask, struct sv_text *text)
{
    static const char *const names[] = {"NOP", "DOWN", "INIT", "ARMED", "ACTIVE", "ACTIVE_DEFER"};
    unsigned state = (unsigned)port_attr(ask).state;
    sv_text_add(text, "%u: %s\n", state, state < 6 ? names[state] : "UNKNOWN");
    return 0;
}

int sv_print_phys_state(const struct sv_sysfs_ask *ask, struct sv_text *text)
{
    static const char *const names[] = {"<unknown>", "Sleep", "Polling", "Disabled", "PortConfigurationTraining", "LinkUp",
                                        "LinkErrorRecovery", "Phy Test"};
    unsigned state = port_attr(ask).phys_state;
    sv_text_add(text, "%u: %s\n", state, names[state < 8 ? state : 0]);
    return 0;
}

int sv_print_rate(const struct sv_sysfs_ask *ask, struct sv_text *text)
{
    static const struct {
        unsigned code, lane; /* lane: 100 Mbit/s */
        const char *name;
    } speeds[] = {{1, 25, "SDR"},    {2, 50, "DDR"},    {4, 100, "QDR"},   {8, 100, "FDR10"},
                  {16, 140, "FDR"},  {32, 250, "EDR"},  {64, 500, "HDR"},  {128, 1000, "NDR"}};
    struct ibv_port_attr a = port_attr(ask);
    unsigned lanes = a.active_width == 2 ? 4 : a.active_width == 4 ? 8 : a.active_width == 8 ? 12 : a.active_width == 16 ? 2 : 1;
    for (unsigned i = 0; i < sizeof(speeds) / sizeof(speeds[0]); i++)
        if (speeds[i].code == a.active_speed) {
            unsigned rate = lanes * speeds[i].lane;
            sv_text_add(text, "%u%s Gb/sec (%uX %s)\n", rate / 10, rate % 10 ? ".5" : "", lanes, speeds[i].name);
            return 0;
        }
    return -EINVAL;
}

int sv_print_lid(const struct sv_sysfs_ask *ask, struct sv_text *text)
{
    sv_text_add(text, "0x%x\n", port_attr(ask).lid);
    return 0;
}

int sv_print_sm_lid(const struct sv_sysfs_ask *ask, struct sv_text *text)
{
    sv_text_add(text, "0x%x\n", port_attr(ask).sm_lid);
    return 0;
}

int sv_print_capabilities(const struct sv_sysfs_ask *ask, struct sv_text *text)
{
    sv_text_add(text, "0x%08x\n", port_attr(ask).port_cap_flags);
    return 0;
}

int sv_print_layer(const struct sv_sysfs_ask *ask, struct sv_text *text)
{
    sv_text_add(text, is_ethernet(ask) ? "Ethernet\n" : "InfiniBand\n");
    return 0;
}

int sv_print_gid(const struct sv_sysfs_ask *ask, struct sv_text *text)
{
    const uint8_t *g = ask->device->identity.gid[ask->gid];
    for (int i = 0; i < 16; i += 2)
        sv_text_add(text, "%02x%02x%s", g[i], g[i + 1], i < 14 ? ":" : "\n");
    return 0;
}

int sv_print_gid_type(const struct sv_sysfs_ask *ask, struct sv_text *text)
{
    sv_text_add(text, is_ethernet(ask) ? "RoCE v2\n" : "IB/RoCE v1\n");
    return 0;
}

/* ---- the interface that has the address ---------------------------------------------------------------------------- */

static bool is_mapped(const uint8_t gid[16])
{
    static const uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    return !memcmp(gid, mapped, sizeof(mapped));
}

static bool has_address(const struct sockaddr *address, const uint8_t gid[16])
{
    if (!address)
        return false;
    if (address->sa_family == AF_INET)
        return is_mapped(gid) && !memcmp(&((const struct sockaddr_in *)(const void *)address)->sin_addr, gid + 12, 4);
    return address->sa_family == AF_INET6 &&
           !memcmp(&((const struct sockaddr_in6 *)(const void *)address)->sin6_addr, gid, 16);
}

/* All of 127/8 is the loopback interface's, though only one address of it is listed. */
static bool is_loopback(const uint8_t gid[16])
{
    return is_mapped(gid) && gid[12] == 127;
}

static bool print_interface(const uint8_t gid[16], struct sv_text *text)
{
    struct ifaddrs *all;
    bool found = is_loopback(gid);
    if (found)
        sv_text_add(text, "lo\n");
    if (found || getifaddrs(&all))
        return found;
    for (const struct ifaddrs *i = all; i && !found; i = i->ifa_next) {
        found = has_address(i->ifa_addr, gid);
        if (found)
            sv_text_add(text, "%s\n", i->ifa_name);
    }
    freeifaddrs(all);
    return found;
}

/* A link-local GID belongs to the interface of the device's other addresses. Without one, Linux answers EINVAL, too. */
int sv_print_gid_interface(const struct sv_sysfs_ask *ask, struct sv_text *text)
{
    const struct sv_identity *id = &ask->device->identity;
    if (!is_ethernet(ask))
        return -EINVAL;
    if (print_interface(id->gid[ask->gid], text))
        return 0;
    for (unsigned i = 0; i < id->gid_count; i++)
        if (id->gid[ask->gid][0] == 0xfe && print_interface(id->gid[i], text))
            return 0;
    return -EINVAL;
}

/* ---- counters ---------------------------------------------------------------------------------------------------- */

struct reading {
    const struct sv_device *device;
    struct sn_counters counters; /* zero while this process has not opened the device */
};

static int take(struct sn_port *port, void *arg)
{
    struct reading *r = arg;
    if (!port || !r->device->nic)
        return 0;
    sn_port_lock(port);
    sn_nic_get_counters(r->device->nic, &r->counters);
    sn_port_unlock(port);
    return 0;
}

static struct sn_counters read_counters(const struct sv_sysfs_ask *ask)
{
    struct reading r = {.device = ask->device};
    sv_with_port(take, &r);
    return r.counters;
}

/* Errors of a physical link do not happen here: offset -1 reads as 0. Data is counted in units of 4 bytes. */
#define AT(field) (int)offsetof(struct sn_counters, field)
static const struct {
    const char *name;
    int offset;
    unsigned unit;
} port_counters[] = {
    {"port_xmit_data", AT(tx_bytes), 4},
    {"port_rcv_data", AT(rx_bytes), 4},
    {"port_xmit_packets", AT(tx_packets), 1},
    {"port_rcv_packets", AT(rx_packets), 1},
    {"unicast_xmit_packets", AT(tx_packets), 1},
    {"unicast_rcv_packets", AT(rx_packets), 1},
    {"multicast_xmit_packets", -1, 1},
    {"multicast_rcv_packets", -1, 1},
    {"port_rcv_errors", -1, 1},
    {"port_rcv_remote_physical_errors", -1, 1},
    {"port_rcv_switch_relay_errors", -1, 1},
    {"port_rcv_constraint_errors", -1, 1},
    {"port_xmit_constraint_errors", -1, 1},
    {"port_xmit_discards", -1, 1},
    {"port_xmit_wait", -1, 1},
    {"symbol_error", -1, 1},
    {"link_error_recovery", -1, 1},
    {"link_downed", -1, 1},
    {"local_link_integrity_errors", -1, 1},
    {"excessive_buffer_overrun_errors", -1, 1},
    {"VL15_dropped", -1, 1},
};

const char *sv_port_counter_name(unsigned n)
{
    return n < sizeof(port_counters) / sizeof(port_counters[0]) ? port_counters[n].name : NULL;
}

int sv_print_counter(const struct sv_sysfs_ask *ask, struct sv_text *text)
{
    struct sn_counters c = read_counters(ask);
    int offset = port_counters[ask->counter].offset;
    uint64_t value = 0;
    if (offset >= 0)
        memcpy(&value, (const char *)&c + offset, sizeof(value));
    sv_text_add(text, "%llu\n", (unsigned long long)(value / port_counters[ask->counter].unit));
    return 0;
}

int sv_print_hw_counter(const struct sv_sysfs_ask *ask, struct sv_text *text)
{
    struct sn_counters c = read_counters(ask);
    uint64_t value;
    memcpy(&value, (const char *)&c + ask->counter * sizeof(value), sizeof(value));
    sv_text_add(text, "%llu\n", (unsigned long long)value);
    return 0;
}
