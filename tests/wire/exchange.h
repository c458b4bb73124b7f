/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A capture taken apart into exchanges: what one queue pair asks another, and what that one answers. A BTH names the
 * destination only, so the two directions are brought together by addresses and PSNs. Queue pairs that both ask make two
 * exchanges: their PSNs have nothing to do with each other.
 */
#ifndef TESTS_WIRE_EXCHANGE_H
#define TESTS_WIRE_EXCHANGE_H

#include "vector.h"

/* Sent by the side that asks, as its kind says. */
bool exchange_is_request(const struct sn_burst *p);

/*
 * Each exchange as a vector of its own, its frames borrowed from `v`, in order of their first frames. Its name is the
 * file's; where there are several, number and queue pair follow. Congestion notifications belong to none and are left
 * out. Returns the number of exchanges.
 */
unsigned exchange_each(const struct vector *v, void (*fn)(struct vector *part, void *arg), void *arg);

#endif
