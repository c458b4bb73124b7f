/* SPDX-License-Identifier: Apache-2.0 */
#include "left_behind.h"

void left_collect(struct end *a, struct end *b, struct left_behind *out)
{
    struct end *ends[2] = {a, b};

    for (int i = 0; i < 2; i++) {
        for (const struct sn_cqe64 *c; (c = next_cqe(ends[i])) != NULL; out->cqes++) {
            assert_true(out->cqes < LEFT_CQES);
            out->cqe[out->cqes] = *c;
            if (cqe_opcode(c) == SN_CQE_REQ)
                out->cqe[out->cqes].timestamp = sn_put64(0); /* of the last reading of the clock, whenever that was */
        }
        memcpy(out->mem[i], ends[i]->mem, LEFT_SEEN);
        sn_nic_get_counters(ends[i]->nic, &out->counters[i]);
        sn_port_lock(ends[i]->w->port);
        assert_int_equal(sn_qp_query(ends[i]->nic, ends[i]->qpn, &out->state[i], NULL, NULL, &out->error[i]), 0);
        sn_port_unlock(ends[i]->w->port);
    }
}

void left_same(const struct left_behind *x, const struct left_behind *y)
{
    assert_int_equal(x->cqes, y->cqes);
    for (unsigned i = 0; i < x->cqes; i++)
        assert_memory_equal(&x->cqe[i], &y->cqe[i], sizeof(x->cqe[i]));
    for (int i = 0; i < 2; i++) {
        assert_memory_equal(x->mem[i], y->mem[i], LEFT_SEEN);
        assert_memory_equal(&x->counters[i], &y->counters[i], sizeof(x->counters[i]));
        assert_int_equal(x->state[i], y->state[i]);
        assert_memory_equal(&x->error[i], &y->error[i], sizeof(x->error[i]));
    }
}
