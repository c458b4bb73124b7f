/* SPDX-License-Identifier: Apache-2.0 */
/* The two ends of a test over an out-of-band channel. */
#ifndef GDAKI_TOOL_PERF_RUN_H
#define GDAKI_TOOL_PERF_RUN_H

#include "endpoint.h"
#include "oob.h"
#include "perf.h"
#include "round.h"

/* Each runs its end to the finish and returns an enum tool_exit; problems are told on stderr and to the peer. */
int perf_client(const struct perf_options *options, struct oob *oob);
int perf_server(const struct perf_options *options, struct oob *oob);

/* Sends this end's address and takes the peer's; prints nothing. */
int perf_exchange(struct endpoint *ep, struct oob *oob, struct endpoint_address *remote);
/* Tells what went wrong, here and to the peer; returns the exit code. */
int perf_give_up(struct oob *oob, int exit_code, const char *why);
/* The same when the peer is gone: a queue that has failed meanwhile tells more than the closed connection does. */
int perf_lost_peer(struct oob *oob, const struct perf_plan *plan, const struct round *round,
                   const struct round_result *mine);

#endif
