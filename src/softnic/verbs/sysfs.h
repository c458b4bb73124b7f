/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What sysfs would show for these devices. sysfs.c knows which paths there are, sysfs_text.c what stands in them.
 *
 * The devices hang below a PCI domain that no machine has, so that they are told apart from real ones; the links between
 * class, bus and device folders are Linux's.
 */
#ifndef SOFTNIC_VERBS_SYSFS_H
#define SOFTNIC_VERBS_SYSFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "softnic/nic.h"
#include "softnic/verbs/context.h"

#define SV_PCI_ROOT "pci5f17:00" /* domain 5f17, bus 0 */

/* What a path names: filled while it is compared with a pattern. */
struct sv_sysfs_ask {
    const struct sv_device *devices, *device; /* device: NULL until a component names one */
    unsigned count;
    unsigned gid, counter;
};

/* Text being put together; what does not fit is cut off, as sysfs cuts at a page. */
struct sv_text {
    char *at;
    size_t room, used;
};

void sv_text_add(struct sv_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Contents: 0, or a negative errno that reading gives (an empty table entry). */
typedef int sv_sysfs_print(const struct sv_sysfs_ask *ask, struct sv_text *text);

extern sv_sysfs_print sv_print_vendor, sv_print_device_id, sv_print_class, sv_print_numa, sv_print_cpus, sv_print_cpu_list,
    sv_print_pci_uevent, sv_print_ib_uevent, sv_print_guid, sv_print_description, sv_print_firmware, sv_print_hca,
    sv_print_state, sv_print_phys_state, sv_print_rate, sv_print_lid, sv_print_sm_lid, sv_print_capabilities,
    sv_print_layer, sv_print_gid, sv_print_gid_type, sv_print_gid_interface, sv_print_counter, sv_print_hw_counter,
    sv_print_ibdev, sv_print_dev;

void sv_sysfs_bus_id(const struct sv_device *device, char *out, size_t size); /* "5f17:00:00.0" */

/* Names in the folder counters, as Linux has them; NULL beyond the last. */
const char *sv_port_counter_name(unsigned n);

#endif
