/* SPDX-License-Identifier: Apache-2.0 */
#include "softnic/transport/wheel.h"


void sn_timer_arm(struct sn_wheel *wheel, struct sn_timer *timer, uint64_t deadline)
{
    uint64_t tick = deadline / SN_WHEEL_NS;
    struct sn_timer **head;

    sn_timer_cancel(wheel, timer);
    if (tick < wheel->tick) /* already passed: the slot that is looked at next */
        tick = wheel->tick;
    head = &wheel->slot[tick % SN_WHEEL_SLOTS];
    timer->deadline = deadline;
    timer->next = *head;
    timer->link = head;
    if (*head != NULL)
        (*head)->link = &timer->next;
    *head = timer;
    wheel->armed++;
}

void sn_timer_cancel(struct sn_wheel *wheel, struct sn_timer *timer)
{
    if (timer->link == NULL)
        return;
    *timer->link = timer->next;
    if (timer->next != NULL)
        timer->next->link = timer->link;
    timer->link = NULL;
    timer->next = NULL;
    wheel->armed--;
}

/* Moves the due timers of a slot to `due`: firing one may arm or cancel others. */
static void collect(struct sn_wheel *wheel, unsigned slot, uint64_t now, struct sn_timer **due)
{
    struct sn_timer *t = wheel->slot[slot], *next;

    for (; t != NULL; t = next) {
        next = t->next;
        if (t->deadline > now)
            continue;
        sn_timer_cancel(wheel, t);
        wheel->armed++; /* still armed, in the list of due ones */
        t->next = *due;
        t->link = due;
        if (*due != NULL)
            (*due)->link = &t->next;
        *due = t;
    }
}

unsigned sn_wheel_run(struct sn_wheel *wheel, uint64_t now)
{
    uint64_t last = now / SN_WHEEL_NS;
    struct sn_timer *due = NULL;
    unsigned fired = 0;

    if (wheel->armed == 0) {
        wheel->tick = last;
        return 0;
    }
    if (wheel->tick > last)
        return 0;
    if (last - wheel->tick >= SN_WHEEL_SLOTS)
        wheel->tick = last - SN_WHEEL_SLOTS + 1;
    for (; wheel->tick < last; wheel->tick++)
        collect(wheel, wheel->tick % SN_WHEEL_SLOTS, now, &due);
    collect(wheel, last % SN_WHEEL_SLOTS, now, &due); /* the slot in progress is looked at again later */
    while (due != NULL) {
        struct sn_timer *t = due;
        sn_timer_cancel(wheel, t);
        t->fire(t);
        fired++;
    }
    return fired;
}

/* From the hand on: a timer found in the revolution that it is due in is the earliest, and the rest need not be seen. */
uint64_t sn_wheel_next(const struct sn_wheel *wheel)
{
    uint64_t best = UINT64_MAX;

    for (unsigned i = 0; wheel->armed != 0 && i < SN_WHEEL_SLOTS; i++) {
        uint64_t tick = wheel->tick + i;
        for (const struct sn_timer *t = wheel->slot[tick % SN_WHEEL_SLOTS]; t != NULL; t = t->next)
            if (t->deadline < best)
                best = t->deadline;
        if (best != UINT64_MAX && best / SN_WHEEL_NS <= tick)
            break;
    }
    return best;
}
