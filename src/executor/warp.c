/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Warp operations. Those with a mask wait for every lane of the mask that is still in the kernel, and match by operation
 * and mask, as the hardware does: not by place. __activemask has no mask; it gathers the lanes at one call: a lane waits
 * until every other lane of its warp has arrived at some gather, waits elsewhere, has left, or is known to be spinning (gave
 * way twice or more since the gather began). That is one legal answer of many; with GDAKI_CPU_SEED and GDAKI_CPU_SPLIT=1 the
 * gathered lanes are answered in random parts, which are the others.
 */
#include "executor/exec.h"
#include "executor/env.h"
#include "executor/store_buffer.h"

static const char *const op_names[] = {
    [GDAKI_CPU_WARP_SYNC] = "__syncwarp",          [GDAKI_CPU_WARP_BALLOT] = "a warp vote",
    [GDAKI_CPU_WARP_SHFL] = "__shfl_sync",         [GDAKI_CPU_WARP_MATCH_ANY] = "__match_any_sync",
    [GDAKI_CPU_WARP_MATCH_ALL] = "__match_all_sync", [GDAKI_CPU_WARP_ADD] = "__reduce_add_sync",
    [GDAKI_CPU_WARP_MIN_S] = "__reduce_min_sync",  [GDAKI_CPU_WARP_MIN_U] = "__reduce_min_sync",
    [GDAKI_CPU_WARP_MAX_S] = "__reduce_max_sync",  [GDAKI_CPU_WARP_MAX_U] = "__reduce_max_sync",
    [GDAKI_CPU_WARP_AND] = "__reduce_and_sync",    [GDAKI_CPU_WARP_OR] = "__reduce_or_sync",
    [GDAKI_CPU_WARP_XOR] = "__reduce_xor_sync",
};

static unsigned lane_of(const struct ex_thread *thread)
{
    return thread->view.linear % EX_LANES;
}

static unsigned next_lane(uint32_t *mask)
{
    unsigned lane = (unsigned)__builtin_ctz(*mask);

    *mask &= *mask - 1;
    return lane;
}

static uint32_t combine(unsigned op, uint32_t a, uint32_t b)
{
    switch (op) {
    case GDAKI_CPU_WARP_ADD:
        return a + b;
    case GDAKI_CPU_WARP_MIN_S:
        return (int32_t)a < (int32_t)b ? a : b;
    case GDAKI_CPU_WARP_MIN_U:
        return a < b ? a : b;
    case GDAKI_CPU_WARP_MAX_S:
        return (int32_t)a > (int32_t)b ? a : b;
    case GDAKI_CPU_WARP_MAX_U:
        return a > b ? a : b;
    case GDAKI_CPU_WARP_AND:
        return a & b;
    case GDAKI_CPU_WARP_OR:
        return a | b;
    default:
        return a ^ b;
    }
}

/* One value for all lanes. */
static uint64_t common_result(unsigned op, const uint64_t *in, uint32_t arrived)
{
    unsigned first = (unsigned)__builtin_ctz(arrived);
    uint64_t result = op == GDAKI_CPU_WARP_BALLOT ? 0 : in[first];
    bool same = true;

    for (uint32_t rest = arrived; rest;) {
        unsigned lane = next_lane(&rest);

        if (op == GDAKI_CPU_WARP_BALLOT)
            result |= (uint64_t)(in[lane] != 0) << lane;
        else if (op == GDAKI_CPU_WARP_MATCH_ALL)
            same = same && in[lane] == in[first];
        else if (lane != first)
            result = combine(op, (uint32_t)result, (uint32_t)in[lane]);
    }
    if (op == GDAKI_CPU_WARP_MATCH_ALL)
        result = same ? arrived : 0;
    return result;
}

static void answer_shfl(struct ex_thread *lanes, const uint64_t *in, uint32_t arrived)
{
    for (uint32_t rest = arrived; rest;) {
        struct ex_thread *thread = &lanes[next_lane(&rest)];
        unsigned source = thread->aux % EX_LANES;

        if (arrived >> source & 1) /* else undefined in CUDA; here the lane keeps its own value */
            thread->value = in[source];
    }
}

static void answer_match_any(struct ex_thread *lanes, const uint64_t *in, uint32_t arrived)
{
    for (uint32_t left = arrived; left;) {
        unsigned first = (unsigned)__builtin_ctz(left);
        uint32_t equal = 0;

        for (uint32_t rest = left; rest;) {
            unsigned lane = next_lane(&rest);

            equal |= (uint32_t)(in[lane] == in[first]) << lane;
        }
        left &= ~equal;
        for (uint32_t rest = equal; rest;)
            lanes[next_lane(&rest)].value = equal;
    }
}

static void answer(struct ex_warp *warp, const struct ex_warp_group *group)
{
    uint64_t in[EX_LANES];

    if (group->op == GDAKI_CPU_WARP_SYNC)
        return;
    for (uint32_t rest = group->arrived; rest;) {
        unsigned lane = next_lane(&rest);

        in[lane] = warp->lanes[lane].value;
    }
    if (group->op == GDAKI_CPU_WARP_SHFL) {
        answer_shfl(warp->lanes, in, group->arrived);
    } else if (group->op == GDAKI_CPU_WARP_MATCH_ANY) {
        answer_match_any(warp->lanes, in, group->arrived);
    } else {
        uint64_t result = common_result(group->op, in, group->arrived);

        for (uint32_t rest = group->arrived; rest;)
            warp->lanes[next_lane(&rest)].value = result;
    }
}

static void wake(struct ex_warp *warp, uint32_t mask)
{
    warp->parked &= ~mask;
    while (mask) {
        struct ex_thread *thread = &warp->lanes[next_lane(&mask)];

        ex_ring_insert(thread->block, thread);
    }
}

static bool group_complete(const struct ex_warp *warp, const struct ex_warp_group *group)
{
    return (group->mask & warp->exists & ~warp->gone & ~group->arrived) == 0;
}

/* self: the lane that runs now, 0: none of them. */
static void finish_group(struct ex_warp *warp, struct ex_warp_group *group, uint32_t self)
{
    uint32_t arrived = group->arrived;

    answer(warp, group);
    *group = warp->groups[--warp->ngroups];
    wake(warp, arrived & ~self);
}

static struct ex_warp_group *find_group(struct ex_warp *warp, unsigned op, uint32_t mask)
{
    for (unsigned i = 0; i < warp->ngroups; i++) {
        if (warp->groups[i].op == op && warp->groups[i].mask == mask)
            return &warp->groups[i];
    }
    struct ex_warp_group *group = &warp->groups[warp->ngroups++];

    *group = (struct ex_warp_group){.op = op, .mask = mask};
    return group;
}

uint64_t gdaki_cpu_warp(enum gdaki_cpu_warp_op op, uint32_t mask, uint64_t value, uint32_t aux, const char *file, int line)
{
    if (!gdaki_cpu_tls.kernel)
        return value;
    struct ex_thread *thread = ex_current();
    struct ex_warp *warp = thread->warp;
    uint32_t self = 1u << lane_of(thread);
    struct ex_warp_group *group;

    if (!(mask & self)) {
        ex_report("%s at %s:%d: lane %u calls with mask 0x%08x, which does not name it", op_names[op], file, line,
                  lane_of(thread), mask);
        ex_stop(715 /* cudaErrorIllegalInstruction */);
    }
    if (thread->buffer)
        ex_buffer_release(thread, GDAKI_CPU_SCOPE_CTA);
    thread->value = value;
    thread->aux = aux;
    group = find_group(warp, op, mask);
    group->arrived |= self;
    if (group_complete(warp, group)) {
        finish_group(warp, group, self);
        return thread->value;
    }
    ex_park_prepare(thread, EX_IN_WARP_OP, op_names[op], file, line);
    ex_park(thread);
    return thread->value;
}

/* The line tells calls apart that the compiler has merged. */
static bool same_call(const struct ex_place *a, const struct ex_place *b)
{
    return a->address == b->address && a->line == b->line && a->file == b->file;
}

/* The lanes gathered at the lowest waiting lane's call, or under a seed a part of them. */
static uint32_t pick_gathered(struct ex_warp *warp)
{
    const struct ex_place *site = &warp->lanes[__builtin_ctz(warp->gathering)].place;
    struct ex_block *block = warp->lanes->block;
    uint32_t all = 0, part;

    for (uint32_t rest = warp->gathering; rest;) {
        unsigned lane = next_lane(&rest);

        all |= (uint32_t)same_call(&warp->lanes[lane].place, site) << lane;
    }
    if (!ex_env_values.seed || !ex_env_values.split || ex_random(block) % 3 == 0)
        return all;
    part = all & (uint32_t)ex_random(block);
    return part ? part : all;
}

/* Something changed in the warp: answers a gather when nobody else can arrive any more. */
void ex_warp_event(struct ex_warp *warp)
{
    uint32_t picked;

    if (!warp->gathering || (warp->exists & ~(warp->gone | warp->parked | warp->spinning)))
        return;
    picked = pick_gathered(warp);
    for (uint32_t rest = picked; rest;)
        warp->lanes[next_lane(&rest)].value = picked;
    warp->gathering &= ~picked;
    warp->epoch++;
    warp->spinning = 0;
    wake(warp, picked);
}

void ex_warp_gave_way(struct ex_thread *thread, unsigned turns)
{
    struct ex_warp *warp = thread->warp;

    if (thread->epoch != warp->epoch) {
        thread->epoch = warp->epoch;
        thread->turns = 0;
    }
    thread->turns += turns;
    if (thread->turns < EX_SPINNING)
        return;
    warp->spinning |= 1u << lane_of(thread);
    ex_warp_event(warp);
}

uint32_t gdaki_cpu_activemask(const char *file, int line)
{
    if (!gdaki_cpu_tls.kernel)
        return 1;
    struct ex_thread *thread = ex_current();
    struct ex_warp *warp = thread->warp;

    if (!warp->gathering) {
        warp->epoch++;
        warp->spinning = 0;
    }
    warp->spinning &= ~(1u << lane_of(thread));
    warp->gathering |= 1u << lane_of(thread);
    thread->place.address = __builtin_return_address(0);
    ex_park_prepare(thread, EX_IN_GATHER, "__activemask", file, line);
    ex_park(thread);
    return (uint32_t)thread->value;
}

void ex_warp_thread_gone(struct ex_thread *thread)
{
    struct ex_warp *warp = thread->warp;

    for (unsigned i = 0; i < warp->ngroups;) {
        if (group_complete(warp, &warp->groups[i]))
            finish_group(warp, &warp->groups[i], 0);
        else
            i++;
    }
    ex_warp_event(warp);
}
