/* SPDX-License-Identifier: Apache-2.0 */
/* Queue pair states: which moves exist, and what a queue does in each (IBTA vol. 1, 10.3.1). */
#ifndef SOFTNIC_EXEC_STATE_H
#define SOFTNIC_EXEC_STATE_H

#include "format/hd.h"

/* Values of enum sn_qp_state: RST 0, INIT 1, RTR 2, RTS 3, SQER 4, SQD 5, ERR 6. */
#define SN_STATE_BIT(s) (1u << (s))

/* States that a QP may be moved to by a command. */
SN_FN int sn_state_may_move(unsigned from, unsigned to)
{
    const unsigned rst = SN_STATE_BIT(0), init = SN_STATE_BIT(1), rtr = SN_STATE_BIT(2), rts = SN_STATE_BIT(3),
                   sqd = SN_STATE_BIT(5), err = SN_STATE_BIT(6);
    unsigned allowed;

    switch (from) {
    case 0:
        allowed = rst | init;
        break;
    case 1:
        allowed = rst | err | init | rtr;
        break;
    case 2:
        allowed = rst | err | rts;
        break;
    case 3:
        allowed = rst | err | rts | sqd;
        break;
    case 4:
        allowed = rst | err | rts;
        break;
    case 5:
        allowed = rst | err | rts | sqd;
        break;
    case 6:
        allowed = rst | err;
        break;
    default:
        allowed = 0;
        break;
    }
    return to < 7 && (allowed & SN_STATE_BIT(to)) != 0;
}

SN_FN int sn_state_sends(unsigned s)
{
    return s == 3;
}

/* Finishes what it has begun to send: acknowledgements count, and what is lost is sent again (10.3.1.5). */
SN_FN int sn_state_drains(unsigned s)
{
    return s == 3 || s == 5;
}

/* Takes requests from the peer, and answers to its own. */
SN_FN int sn_state_receives(unsigned s)
{
    return s == 2 || s == 3 || s == 4 || s == 5;
}

/* The send record counts: past INIT. */
SN_FN int sn_state_reads_record(unsigned s)
{
    return s >= 2;
}

#endif
