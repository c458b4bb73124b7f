/* SPDX-License-Identifier: Apache-2.0 */
#include "softnic/transport/wheel.h"

/*
 * Slots that are in use from `tick` on, as an offset in ticks; SN_WHEEL_SLOTS: none before `most`. A slot whose timers
 * were all cancelled keeps its bit until somebody looks.
 */
static unsigned next_used(struct sn_wheel *wheel, uint64_t tick, unsigned from, unsigned most)
{
    while (from < most) {
        unsigned slot = (unsigned)(tick + from) % SN_WHEEL_SLOTS;
        uint64_t bits = wheel->used[slot / 64] >> slot % 64;
        if (bits == 0) {
            from += 64 - slot % 64;
            continue;
        }
        from += (unsigned)__builtin_ctzll(bits);
        slot = (unsigned)(tick + from) % SN_WHEEL_SLOTS;
        if (from >= most)
            break;
        if (wheel->slot[slot] != NULL)
            return from;
        wheel->used[slot / 64] &= ~(1ull << slot % 64);
        from++;
    }
    return SN_WHEEL_SLOTS;
}

void sn_timer_arm(struct sn_wheel *wheel, struct sn_timer *timer, uint64_t deadline)
{
    uint64_t tick = deadline / SN_WHEEL_NS;
    struct sn_timer **head;

    sn_timer_cancel(wheel, timer);
    if (tick < wheel->tick) /* already passed: the slot that is looked at next */
        tick = wheel->tick;
    head = &wheel->slot[tick % SN_WHEEL_SLOTS];
    wheel->used[tick % SN_WHEEL_SLOTS / 64] |= 1ull << tick % 64;
    timer->deadline = deadline;
    if (deadline < wheel->soonest)
        wheel->soonest = deadline;
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
    unsigned fired = 0, i, most;

    if (wheel->armed == 0) {
        wheel->tick = last;
        return 0;
    }
    if (wheel->tick > last)
        return 0;
    if (last - wheel->tick >= SN_WHEEL_SLOTS)
        wheel->tick = last - SN_WHEEL_SLOTS + 1;
    most = (unsigned)(last - wheel->tick) + 1; /* the slot in progress is looked at again later */
    for (i = next_used(wheel, wheel->tick, 0, most); i < most; i = next_used(wheel, wheel->tick, i + 1, most))
        collect(wheel, (unsigned)(wheel->tick + i) % SN_WHEEL_SLOTS, now, &due);
    wheel->tick = last;
    while (due != NULL) {
        struct sn_timer *t = due;
        sn_timer_cancel(wheel, t);
        t->fire(t);
        fired++;
    }
    return fired;
}

/* From the hand on: a timer found in the revolution that it is due in is the earliest, and the rest need not be seen. */
uint64_t sn_wheel_next(struct sn_wheel *wheel)
{
    uint64_t best = UINT64_MAX;
    unsigned i = 0;

    while (wheel->armed != 0 && (i = next_used(wheel, wheel->tick, i, SN_WHEEL_SLOTS)) < SN_WHEEL_SLOTS) {
        uint64_t tick = wheel->tick + i++;
        for (const struct sn_timer *t = wheel->slot[tick % SN_WHEEL_SLOTS]; t != NULL; t = t->next)
            if (t->deadline < best)
                best = t->deadline;
        if (best != UINT64_MAX && best / SN_WHEEL_NS <= tick)
            break;
    }
    wheel->soonest = best;
    return best;
}
