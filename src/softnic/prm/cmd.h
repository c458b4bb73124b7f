/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command interface: DEVX mailboxes in, objects of one NIC out. It knows nothing of verbs structures; what it needs
 * from the process around it (umems, local addresses) comes through struct prm_env.
 *
 * Every function needs the port's lock, returns 0 or negative errno, and on failure has filled *call and, where the
 * output mailbox is large enough, its status and syndrome. A failure changes nothing.
 */
#ifndef SOFTNIC_PRM_CMD_H
#define SOFTNIC_PRM_CMD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "softnic/nic.h"
#include "softnic/prm/refuse.h"

struct prm_env {
    struct sn_nic *nic;
    void *arg;
    /*
     * Finds `length` bytes at `offset` of a umem and takes a reference on it. -ENOENT: no such umem; -ERANGE: it ends
     * earlier (*size says where).
     */
    int (*umem_get)(void *arg, uint32_t id, uint64_t offset, uint64_t length, struct sn_span *out, uint64_t *size);
    void (*umem_put)(void *arg, uint32_t id);
    /* GID of the device of this host that has a LID (InfiniBand without GRH); -ENOENT. */
    int (*gid_of_lid)(void *arg, uint16_t lid, uint8_t gid[16]);
};

enum prm_object_kind { PRM_OBJECT_CQ = 1, PRM_OBJECT_QP, PRM_OBJECT_RMP };

struct prm_object {
    enum prm_object_kind kind;
    uint32_t number; /* cqn, qpn or rmpn */
    uint32_t umem[2];
    unsigned umem_count; /* references held */
    uint8_t context[64]; /* CQ: the CQ context it was created with, for QUERY_CQ */
};

int prm_object_create(const struct prm_env *env, const void *in, size_t inlen, void *out, size_t outlen,
                      struct prm_object *object, struct prm_call *call);
int prm_object_modify(const struct prm_env *env, const struct prm_object *object, const void *in, size_t inlen,
                      void *out, size_t outlen, struct prm_call *call);
int prm_object_query(const struct prm_env *env, const struct prm_object *object, const void *in, size_t inlen,
                     void *out, size_t outlen, struct prm_call *call);
int prm_object_destroy(const struct prm_env *env, struct prm_object *object, struct prm_call *call);
/* Commands without an object: QUERY_HCA_CAP, QUERY_ROCE_ADDRESS. */
int prm_general(const struct prm_env *env, const void *in, size_t inlen, void *out, size_t outlen,
                struct prm_call *call);

/* Inside prm/: prepares *call and checks that the output mailbox has `size` bytes, which it zeroes. */
int prm_begin(struct prm_call *call, const void *in, size_t inlen, void *out, size_t outlen, size_t size);
/* Inside prm/: writes the verdict to the output mailbox and passes rc on. */
int prm_end(const struct prm_call *call, void *out, size_t outlen, int rc);

#endif
