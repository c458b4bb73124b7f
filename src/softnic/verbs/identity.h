/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses of this host's software devices. They are a pure function of the host and the device's index, so that every
 * process sees one device with one GID, and any process can tell another device's address.
 */
#ifndef SOFTNIC_VERBS_IDENTITY_H
#define SOFTNIC_VERBS_IDENTITY_H

#include <stdbool.h>
#include <stdint.h>

#include "softnic/nic.h"

struct sv_identity {
    uint64_t guid; /* host order */
    uint8_t mac[6];
    uint16_t lid;
    uint8_t gid[4][16];
    unsigned gid_count;
};

void sv_identity_of(unsigned index, enum sn_link link, struct sv_identity *out);

/* Gives the device an address that the user chose; on Ethernet MAC and GUID follow from it. */
void sv_identity_choose(struct sv_identity *id, enum sn_link link, const uint8_t gid[16]);

/* Whether addresses were chosen: then any other may have been, too, and its MAC follows from it. */
void sv_identity_expect_chosen(bool chosen);

/* MAC behind a GID: 0, or -EHOSTUNREACH for an address that no device of this host has and that holds no MAC itself. */
int sv_identity_mac_of_gid(const uint8_t gid[16], uint8_t mac[6]);

/* GID of the device of this host with that LID, or -ENOENT. */
int sv_identity_gid_of_lid(uint16_t lid, uint8_t gid[16]);

#endif
