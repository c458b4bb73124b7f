/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What librdmacm.so.1 asks of libsoftnic: connection management on the devices' QP 1. Exported, but no public interface:
 * both come from one build. All functions may be called from any thread; callbacks run on the CM thread or within a call,
 * with the CM lock held, and must not call back.
 */
#ifndef SOFTNIC_GSI_CLIENT_H
#define SOFTNIC_GSI_CLIENT_H

#include <infiniband/verbs.h>

#include "softnic/gsi/cm.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

struct softnic_cm_client {
    int (*match)(void *listener_user, const struct sn_cm_address *from, const struct sn_cm_msg *m); /* see cm.h */
    void *(*event)(void *user, const struct sn_cm_event *event);
};

/* A device, as connection management sees it. */
struct softnic_cm_device {
    unsigned port; /* of struct sn_cm_address */
    uint8_t gid[4][16];
    unsigned gid_count;
    uint8_t ip_gid;   /* index of the GID that IP traffic uses */
    uint64_t guid;
    uint16_t lid;
    bool infiniband;
    uint8_t path_mtu; /* enum ibv_mtu */
    bool this_host;   /* the wire reaches this host only */
};

/* Once a process; an open context of each device that takes part is needed as long as it does. */
int softnic_cm_start(const struct softnic_cm_client *client);
int softnic_cm_query(struct ibv_context *context, struct softnic_cm_device *out);
/* GID of this host's device `index`, whether or not this process has opened it: the one that IP traffic uses. */
void softnic_cm_gid_of_index(unsigned index, bool infiniband, uint8_t gid[16]);

/*
 * Reserves a service on ports (by bit) of this host, or none: -EADDRINUSE. Several reservations of one process share it,
 * where `shared`.
 */
struct softnic_cm_service;
int softnic_cm_reserve(uint64_t ports, uint64_t service_id, bool shared, struct softnic_cm_service **out);
void softnic_cm_release(struct softnic_cm_service *service);

/* As in cm.h. The listener keeps the reservation alive as long as it needs it. */
int softnic_cm_listen(struct softnic_cm_service *service, void *user, struct sn_cm_listener **out);
void softnic_cm_unlisten(struct sn_cm_listener *listener);
int softnic_cm_request(const struct sn_cm_address *to, uint64_t service_id, const struct sn_cm_params *params, void *user,
                       struct sn_cm_conn **out);
int softnic_cm_reply(struct sn_cm_conn *conn, const struct sn_cm_params *params);
int softnic_cm_ready_to_use(struct sn_cm_conn *conn, const void *private_data, uint8_t length);
int softnic_cm_established(struct sn_cm_conn *conn);
int softnic_cm_reject(struct sn_cm_conn *conn, uint16_t reason, const void *private_data, uint8_t length);
int softnic_cm_disconnect(struct sn_cm_conn *conn);
int softnic_cm_sidr_request(const struct sn_cm_address *to, uint64_t service_id, const struct sn_cm_params *params,
                            void *user, struct sn_cm_conn **out);
int softnic_cm_sidr_reply(struct sn_cm_conn *conn, uint8_t status, const struct sn_cm_params *params);
void softnic_cm_destroy(struct sn_cm_conn *conn);
/* The process ends: all connections are destroyed, and what is to be said to others is said. */
void softnic_cm_end(void);
uint32_t softnic_cm_random(void);
int softnic_cm_refuse(int error, const char *why); /* says why, sets errno; returns `error` */
/* The header of the RDMA IP CM service, see cm_msg.h. */
bool softnic_cm_ip_parse(const struct sn_cm_msg *msg, struct sn_cm_ip *out);
void softnic_cm_ip_build(const struct sn_cm_ip *ip, uint8_t out[SN_CM_IP_BYTES]);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
