/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SOFTNIC_NAMES and SOFTNIC_GID: what the devices are called, and addresses that the user chose.
 *
 * Names: a list "left,right", one name a device; or, without a comma, a prefix that the device's number is put behind
 * ("mlx5_"), or one whole name if it ends in a digit and there is one device ("mlx5_0").
 */
#ifndef SOFTNIC_VERBS_NAMES_H
#define SOFTNIC_VERBS_NAMES_H

#include <stddef.h>
#include <stdint.h>

enum { SV_NAMES_BYTES = 1024, SV_NAME_BYTES = 64 /* IBV_SYSFS_NAME_MAX */ };

/* 0, or -EINVAL with a refusal that names the value. */
int sv_names_check(const char *text, unsigned devices);

/* Name of a device, of a text that was checked. */
void sv_names_of(const char *text, unsigned devices, unsigned index, char out[SV_NAME_BYTES]);

/* Addresses separated by commas, at most `room`. Their count, or -EINVAL with a refusal. */
int sv_gids_parse(const char *text, uint8_t (*out)[16], unsigned room);

#endif
