/* SPDX-License-Identifier: Apache-2.0 */
/* Which fault behind the point of capture makes an exchange what it is. */
#include <stdlib.h>

#include "replay.h"

enum { FARTHEST = 256 /* frames before the one that is different: a fault earlier than that is not looked for */ };

typedef bool (*side)(struct replay *r, const struct story *s, enum replay_fault fault, unsigned at);

/* `in`: frames that had gone in when it turned out not to fit. */
static bool try(const struct story *s, bool responder, struct replay_verdict *out, unsigned *in)
{
    side play = responder ? replay_responder : replay_requester;
    struct replay *r = calloc(1, sizeof(*r));

    assert_non_null(r);
    out->fits = play(r, s, out->fault, out->at);
    out->reason = r->reason;
    memcpy(out->why, r->why, sizeof(out->why));
    memcpy(out->liberty, r->liberty, sizeof(out->liberty));
    *in = r->in;
    replay_close(r);
    free(r);
    return out->fits;
}

/* Only a frame that had gone in by then can be what makes it different. */
static bool try_faults(const struct story *s, bool responder, unsigned in, struct replay_verdict *out)
{
    unsigned ignored;

    for (int f = FAULT_DROP; f <= FAULT_SWAP; f++)
        for (unsigned at = in > FARTHEST ? in - FARTHEST : 0; at < in; at++) {
            *out = (struct replay_verdict){.fault = (enum replay_fault)f, .at = at};
            if (try(s, responder, out, &ignored))
                return true;
        }
    return false;
}

void replay_find(const struct vector *v, bool responder, struct replay_verdict *out)
{
    struct replay_verdict with_fault;
    struct story s;
    unsigned in;

    *out = (struct replay_verdict){.fault = FAULT_NONE};
    if (!story_begin(&s, v, out->why))
        out->reason = REASON_CAPTURE;
    else if (!try(&s, responder, out, &in) && out->reason != REASON_LIMIT && try_faults(&s, responder, in, &with_fault)) {
        memcpy(with_fault.why, out->why, sizeof(out->why)); /* what was wrong without it */
        *out = with_fault;
    }
    story_end(&s);
}
