/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The paths. One table of patterns says it all: a path is there if it matches a row, and a folder holds the last
 * components of the rows below it. A component that begins with @ stands for a device or an entry of a table.
 */
#include "softnic/verbs/sysfs.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gdaki/softnic.h"
#include "softnic/verbs/device.h"

struct row {
    const char *path;
    enum softnic_sysfs_kind kind;
    const char *text; /* of a file that always says the same; target of a link */
    sv_sysfs_print *print;
    bool peermem; /* only with SOFTNIC_PEERMEM=1 */
};

#define FOLDER(path)        {path, SOFTNIC_SYSFS_FOLDER, NULL, NULL, false}
#define LINK(path, target)  {path, SOFTNIC_SYSFS_LINK, target, NULL, false}
#define TEXT(path, text)    {path, SOFTNIC_SYSFS_FILE, text "\n", NULL, false}
#define PRINT(path, print)  {path, SOFTNIC_SYSFS_FILE, NULL, sv_print_##print, false}
#define NODE(path)          {path, SOFTNIC_SYSFS_NODE, NULL, NULL, false}
#define PEER(path, kind, t) {path, SOFTNIC_SYSFS_##kind, t, NULL, true}

#define ROOT  "/sys/devices/" SV_PCI_ROOT
#define PCI   ROOT "/@bus"
#define IB    PCI "/infiniband/@name"
#define PORT  IB "/ports/1"
#define VERBS PCI "/infiniband_verbs/@uverbs"

static const struct row rows[] = {
    FOLDER("/sys/class/infiniband"),
    LINK("/sys/class/infiniband/@name", "../../devices/" SV_PCI_ROOT "/@bus/infiniband/@name"),
    FOLDER("/sys/class/infiniband_verbs"),
    TEXT("/sys/class/infiniband_verbs/abi_version", "6"),
    LINK("/sys/class/infiniband_verbs/@uverbs", "../../devices/" SV_PCI_ROOT "/@bus/infiniband_verbs/@uverbs"),
    LINK("/sys/class/pci_bus/5f17:00", "../../devices/" SV_PCI_ROOT "/pci_bus/5f17:00"),
    LINK("/sys/bus/pci/devices/@bus", "../../../devices/" SV_PCI_ROOT "/@bus"),
    FOLDER(ROOT),
    FOLDER(ROOT "/pci_bus"),
    FOLDER(ROOT "/pci_bus/5f17:00"),
    PRINT(ROOT "/pci_bus/5f17:00/cpuaffinity", cpus),
    PRINT(ROOT "/pci_bus/5f17:00/cpulistaffinity", cpu_list),
    LINK(ROOT "/pci_bus/5f17:00/device", "../../../" SV_PCI_ROOT),
    FOLDER(PCI),
    LINK(PCI "/subsystem", "../../../bus/pci"),
    LINK(PCI "/driver", "../../../bus/pci/drivers/mlx5_core"),
    PRINT(PCI "/vendor", vendor),
    PRINT(PCI "/device", device_id),
    PRINT(PCI "/subsystem_vendor", vendor),
    TEXT(PCI "/subsystem_device", "0x0023"),
    TEXT(PCI "/revision", "0x00"),
    PRINT(PCI "/class", class),
    PRINT(PCI "/numa_node", numa),
    PRINT(PCI "/local_cpus", cpus),
    PRINT(PCI "/local_cpulist", cpu_list),
    TEXT(PCI "/max_link_speed", "32.0 GT/s PCIe"),
    TEXT(PCI "/max_link_width", "16"),
    TEXT(PCI "/current_link_speed", "32.0 GT/s PCIe"),
    TEXT(PCI "/current_link_width", "16"),
    TEXT(PCI "/enable", "1"),
    TEXT(PCI "/irq", "0"),
    PRINT(PCI "/uevent", pci_uevent),
    FOLDER(PCI "/infiniband"),
    FOLDER(IB),
    LINK(IB "/device", "../../../@bus"),
    LINK(IB "/subsystem", "../../../../../class/infiniband"),
    TEXT(IB "/node_type", "1: CA"),
    PRINT(IB "/node_guid", guid),
    PRINT(IB "/sys_image_guid", guid),
    PRINT(IB "/node_desc", description),
    PRINT(IB "/fw_ver", firmware),
    TEXT(IB "/hw_rev", "0"),
    TEXT(IB "/board_id", "SOFTNIC"),
    PRINT(IB "/hca_type", hca),
    PRINT(IB "/uevent", ib_uevent),
    FOLDER(IB "/ports"),
    FOLDER(PORT),
    PRINT(PORT "/state", state),
    PRINT(PORT "/phys_state", phys_state),
    PRINT(PORT "/rate", rate),
    PRINT(PORT "/lid", lid),
    TEXT(PORT "/lid_mask_count", "0"),
    PRINT(PORT "/sm_lid", sm_lid),
    TEXT(PORT "/sm_sl", "0"),
    PRINT(PORT "/cap_mask", capabilities),
    PRINT(PORT "/link_layer", layer),
    TEXT(PORT "/has_smi", "0"),
    FOLDER(PORT "/gids"),
    PRINT(PORT "/gids/@gid", gid),
    FOLDER(PORT "/gid_attrs"),
    FOLDER(PORT "/gid_attrs/types"),
    PRINT(PORT "/gid_attrs/types/@gid", gid_type),
    FOLDER(PORT "/gid_attrs/ndevs"),
    PRINT(PORT "/gid_attrs/ndevs/@gid", gid_interface),
    FOLDER(PORT "/pkeys"),
    TEXT(PORT "/pkeys/0", "0xffff"),
    FOLDER(PORT "/counters"),
    PRINT(PORT "/counters/@counter", counter),
    FOLDER(PORT "/hw_counters"),
    PRINT(PORT "/hw_counters/@hw", hw_counter),
    TEXT(PORT "/hw_counters/lifespan", "0"),
    FOLDER(PCI "/infiniband_verbs"),
    FOLDER(VERBS),
    LINK(VERBS "/device", "../../../@bus"),
    LINK(VERBS "/subsystem", "../../../../../class/infiniband_verbs"),
    PRINT(VERBS "/ibdev", ibdev),
    TEXT(VERBS "/abi_version", "1"),
    PRINT(VERBS "/dev", dev),
    FOLDER("/dev/infiniband"),
    NODE("/dev/infiniband/@uverbs"),
    NODE("/dev/infiniband/rdma_cm"),
    PEER("/sys/module/nvidia_peermem", FOLDER, NULL),
    PEER("/sys/module/nvidia_peermem/version", FILE, "softnic\n"),
    PEER("/sys/kernel/mm/memory_peers", FOLDER, NULL),
    PEER("/sys/kernel/mm/memory_peers/nv_mem", FOLDER, NULL),
    PEER("/sys/kernel/mm/memory_peers/nv_mem/version", FILE, "softnic\n"),
    PEER("/sys/kernel/mm/memory_peers/nvidia-peermem", FOLDER, NULL),
    PEER("/sys/kernel/mm/memory_peers/nvidia-peermem/version", FILE, "softnic\n"),
};

enum { ROWS = sizeof(rows) / sizeof(rows[0]), NAME_ROOM = 96 };

void sv_text_add(struct sv_text *text, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text->at + text->used, text->room - text->used, format, args);
    va_end(args);
    if (n > 0)
        text->used = (size_t)n < text->room - text->used ? text->used + (size_t)n : text->room - 1;
}

void sv_sysfs_bus_id(const struct sv_device *device, char *out, size_t size)
{
    snprintf(out, size, "5f17:00:%02x.%u", device->index % 32, device->index / 32);
}

/* ---- components with @ ------------------------------------------------------------------------------------------- */

/* The n-th thing that `variable` (behind @) can stand for; false beyond the last. Sets what it says in *ask. */
static bool value_of(const char *variable, size_t length, unsigned n, struct sv_sysfs_ask *ask, char out[NAME_ROOM])
{
    const char *name = NULL;
    if (!strncmp(variable, "gid", length)) {
        ask->gid = n;
        snprintf(out, NAME_ROOM, "%u", n);
        return ask->device && n < ask->device->identity.gid_count;
    }
    if (!strncmp(variable, "counter", length) || !strncmp(variable, "hw", length)) {
        ask->counter = n;
        name = *variable == 'h' ? sn_counter_name(n) : sv_port_counter_name(n);
        if (name)
            snprintf(out, NAME_ROOM, "%s", name);
        return name;
    }
    if (ask->device ? n > 0 : n >= ask->count)
        return false;
    if (!ask->device)
        ask->device = &ask->devices[n];
    if (!strncmp(variable, "bus", length))
        sv_sysfs_bus_id(ask->device, out, NAME_ROOM);
    else
        snprintf(out, NAME_ROOM, "%s", *variable == 'n' ? ask->device->ibv.name : ask->device->ibv.dev_name);
    return true;
}

/* True if the component is a value of the variable; *ask then knows which. */
static bool match_variable(const char *variable, size_t length, const char *component, size_t size,
                           struct sv_sysfs_ask *ask)
{
    const struct sv_sysfs_ask before = *ask;
    char value[NAME_ROOM];
    for (unsigned n = 0; value_of(variable, length, n, ask, value); n++) {
        if (strlen(value) == size && !memcmp(value, component, size))
            return true;
        *ask = before;
    }
    *ask = before;
    return false;
}

/* Compares whole components up to the end of both. */
static bool match(const char *pattern, size_t pattern_length, const char *path, struct sv_sysfs_ask *ask)
{
    const char *end = pattern + pattern_length;
    while (pattern < end && *path == '/') {
        size_t want = strcspn(++pattern, "/"), have = strcspn(++path, "/");
        if (pattern + want > end)
            want = (size_t)(end - pattern);
        bool same = *pattern == '@' ? match_variable(pattern + 1, want - 1, path, have, ask)
                                    : want == have && !memcmp(pattern, path, want);
        if (!same)
            return false;
        pattern += want;
        path += have;
    }
    return pattern == end && !*path;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static bool is_presented(const struct row *row)
{
    const char *value = row->peermem ? getenv("SOFTNIC_PEERMEM") : "1";
    return value && !strcmp(value, "1");
}

static const struct row *find(const char *path, struct sv_sysfs_ask *ask)
{
    const struct sv_sysfs_ask before = *ask;
    for (unsigned i = 0; i < ROWS; i++) {
        if (is_presented(&rows[i]) && match(rows[i].path, strlen(rows[i].path), path, ask))
            return &rows[i];
        *ask = before;
    }
    return NULL;
}

/* Target of a link: the pattern with the values that are known by now. */
static void print_link(const char *target, const struct sv_sysfs_ask *ask, struct sv_text *text)
{
    while (*target) {
        size_t plain = strcspn(target, "@");
        sv_text_add(text, "%.*s", (int)plain, target);
        target += plain;
        if (*target) {
            struct sv_sysfs_ask copy = *ask;
            char value[NAME_ROOM];
            size_t length = strcspn(++target, "/");
            if (value_of(target, length, 0, &copy, value))
                sv_text_add(text, "%s", value);
            target += length;
        }
    }
}

/* Names of what lies directly below, a line each. */
static void print_folder(const char *path, const struct sv_sysfs_ask *known, struct sv_text *text)
{
    for (unsigned i = 0; i < ROWS; i++) {
        const char *last = strrchr(rows[i].path, '/') + 1;
        struct sv_sysfs_ask ask = *known;
        ask.device = NULL;
        if (!is_presented(&rows[i]) || !match(rows[i].path, (size_t)(last - 1 - rows[i].path), path, &ask))
            continue;
        if (*last != '@') {
            sv_text_add(text, "%s\n", last);
            continue;
        }
        char value[NAME_ROOM];
        const struct sv_sysfs_ask before = ask;
        for (unsigned n = 0; value_of(last + 1, strlen(last + 1), n, &ask, value); n++, ask = before)
            sv_text_add(text, "%s\n", value);
    }
}

static int begin(struct sv_sysfs_ask *ask)
{
    struct sv_device *first;
    int count = sv_device_list(&first);
    if (count < 0)
        return count;
    *ask = (struct sv_sysfs_ask){.devices = first, .count = (unsigned)count};
    return 0;
}

enum softnic_sysfs_kind softnic_sysfs_kind(const char *path)
{
    struct sv_sysfs_ask ask;
    const struct row *row = begin(&ask) ? NULL : find(path, &ask);
    return row ? row->kind : SOFTNIC_SYSFS_NONE;
}

long softnic_sysfs_read(const char *path, char *out, size_t size)
{
    struct sv_sysfs_ask ask;
    struct sv_text text = {.at = out, .room = size};
    int rc = size ? begin(&ask) : -EINVAL;
    if (rc)
        return rc;
    *out = '\0';
    const struct row *row = find(path, &ask);
    if (!row || row->kind == SOFTNIC_SYSFS_FOLDER)
        print_folder(path, &ask, &text);
    else if (row->kind == SOFTNIC_SYSFS_LINK)
        print_link(row->text, &ask, &text);
    else if (row->print)
        rc = row->print(&ask, &text);
    else if (row->text)
        sv_text_add(&text, "%s", row->text);
    else
        rc = -ENXIO; /* a device node without a driver behind it */
    if (!rc && !row && !text.used)
        rc = -ENOENT;
    return rc ? rc : (long)text.used;
}
