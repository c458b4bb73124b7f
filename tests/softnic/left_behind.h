/* SPDX-License-Identifier: Apache-2.0 */
/* What a scenario on two connected ends leaves, to compare the ways that it can be played. */
#ifndef TESTS_SOFTNIC_LEFT_BEHIND_H
#define TESTS_SOFTNIC_LEFT_BEHIND_H

#include "harness.h"

enum { LEFT_CQES = 256, LEFT_SEEN = 8192 };

struct left_behind {
    struct sn_cqe64 cqe[LEFT_CQES]; /* of the send queues, the first end's before the second's */
    unsigned cqes;
    uint8_t mem[2][LEFT_SEEN];
    struct sn_counters counters[2];
    enum sn_qp_state state[2];
    struct sn_qp_error error[2];
};

/* `out` is zero. Consumes the CQEs. */
void left_collect(struct end *a, struct end *b, struct left_behind *out);
/* Fails the test where they differ. */
void left_same(const struct left_behind *x, const struct left_behind *y);

#endif
