/* SPDX-License-Identifier: Apache-2.0 */
/* Many connected queue pairs between two NICs of one port, each with rings and a doorbell register of its own. */
#ifndef TESTS_SCALE_CLUSTER_H
#define TESTS_SCALE_CLUSTER_H

#include <stdbool.h>
#include <stdint.h>

#include "softnic/nic.h"

enum { CLUSTER_LOG_RING = 4, CLUSTER_DATA = 64 /* bytes of data a queue */ };

struct queue {
    struct sn_nic *nic;
    struct sn_uar uar;
    uint8_t *sq, *cq, *data;
    uint32_t *record;
    uint32_t qpn, cqn, key; /* key: of all data of its NIC */
    uint32_t pi, ci;
};

struct cluster {
    struct sn_port *port;
    struct sn_nic *nic[2];
    uint32_t pdn[2], key[2];
    unsigned pairs;
    struct queue *queue[2]; /* [0][i] is connected to [1][i] */
    uint8_t *memory;        /* rings, records and data of all queues */
    uint64_t create_ns, connect_ns;
};

/* 0 or negative errno; what was made before a failure is taken apart. `config` is the port's. */
int cluster_open(struct cluster *c, unsigned pairs, const struct sn_port_config *config);
void cluster_close(struct cluster *c); /* the port's lock is taken inside */

/* WRITE of 8 bytes from q's data to its peer's; WQE, record and register, as device code stores them. Wakes nobody. */
void queue_put(struct queue *q, const struct queue *peer, uint64_t value);
/* Takes the next CQE: 1 good, -1 an error, 0 none. */
int queue_poll(struct queue *q);

uint64_t clock_ns(void);

#endif
