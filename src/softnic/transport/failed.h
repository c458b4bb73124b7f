/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a queue pair shows that it is in ERR. Whoever posts a receive stores the record and then looks at this word; the
 * flush looks at the record after this. Both stores are sequentially consistent exchanges, so one of the two sees the other,
 * and no receive that is posted to a queue pair in ERR stays behind.
 */
#ifndef SOFTNIC_TRANSPORT_FAILED_H
#define SOFTNIC_TRANSPORT_FAILED_H

#include "softnic/engine.h"

static inline void sn_qp_show_failed(struct sn_qp *qp, uint32_t value)
{
    if (qp->attr.failed != NULL)
        __atomic_exchange_n(qp->attr.failed, value, __ATOMIC_SEQ_CST);
}

#endif
