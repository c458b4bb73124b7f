/* SPDX-License-Identifier: Apache-2.0 */
/* Timers on a hashed wheel: arming and cancelling are list operations, and a queue that waits for nothing costs nothing. */
#ifndef SOFTNIC_TRANSPORT_WHEEL_H
#define SOFTNIC_TRANSPORT_WHEEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SN_WHEEL_SLOTS = 1024 };
#define SN_WHEEL_NS 16384ull /* a slot */

struct sn_timer {
    struct sn_timer *next, **link; /* link != NULL: armed */
    uint64_t deadline;             /* ns */
    void (*fire)(struct sn_timer *timer);
};

struct sn_wheel {
    uint64_t tick; /* slots before this one have been looked at */
    uint64_t soonest; /* ns: no timer is due before */
    uint32_t armed;
    uint64_t used[SN_WHEEL_SLOTS / 64]; /* a bit for each slot that may hold a timer: two cache lines stand for 128 */
    struct sn_timer *slot[SN_WHEEL_SLOTS];
};

void sn_timer_arm(struct sn_wheel *wheel, struct sn_timer *timer, uint64_t deadline);
void sn_timer_cancel(struct sn_wheel *wheel, struct sn_timer *timer);
static inline bool sn_timer_armed(const struct sn_timer *timer)
{
    return timer->link != NULL;
}
/* Where a timer for that deadline will be listed. */
static inline struct sn_timer *const *sn_wheel_slot(const struct sn_wheel *wheel, uint64_t deadline)
{
    return &wheel->slot[deadline / SN_WHEEL_NS % SN_WHEEL_SLOTS];
}
/* Fires what is due. Returns how many. A timer is disarmed when it fires. */
unsigned sn_wheel_run(struct sn_wheel *wheel, uint64_t now);
/* Earliest deadline; UINT64_MAX: none. For sleepers and simulations. */
uint64_t sn_wheel_next(struct sn_wheel *wheel);
/* The same where it is before `when`, else UINT64_MAX: mostly without a look at the slots. */
static inline uint64_t sn_wheel_next_before(struct sn_wheel *wheel, uint64_t when)
{
    return wheel->soonest >= when ? UINT64_MAX : sn_wheel_next(wheel);
}

#endif
