/* SPDX-License-Identifier: Apache-2.0 */
/* SOFTNIC_* environment variables: one table, one validating reader. */
#ifndef SOFTNIC_VERBS_ENV_H
#define SOFTNIC_VERBS_ENV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "softnic/nic.h"
#include "softnic/verbs/names.h"
#include "softnic/verbs/wire.h"

enum { SV_MAX_DEVICES = 64 };

struct sv_config {
    unsigned devices;
    enum sn_link link;
    bool thread;
    struct sv_wire_choice wire;
    size_t ring_bytes; /* per direction and connection, a power of two */
    uint64_t seed;
    char names[SV_NAMES_BYTES];      /* sv_names_of */
    uint8_t gid[SV_MAX_DEVICES][16]; /* that the user chose for the first devices */
    unsigned gids;
};

/* Reads the environment. -EINVAL with a refusal that names variable and value; *out is then untouched. */
int sv_config_read(struct sv_config *out);

#endif
