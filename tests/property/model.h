/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reference model: memory as arrays, one queue's operations applied one after the other in ticket order.
 *
 * It knows nothing of WQEs, packets or threads. What it relies on is what the API promises: operations of one queue take
 * effect in the order of their tickets, an operation that fails has no effect, and none after it has any. One liberty is
 * the specification's: a READ is not ordered before a later WRITE of its queue unless that one is fenced (IBTA vol. 1,
 * 10.8.3.3, work request ordering table), so a byte that was read may be the one before or after such a WRITE. Another is
 * the library's: a put with a signal is two WQEs, and when its queue fails between the two reservations it has no ticket,
 * but its put may have been made.
 */
#ifndef GDAKI_TESTS_PROPERTY_MODEL_H
#define GDAKI_TESTS_PROPERTY_MODEL_H

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "program.cuh"

namespace gdaki_test
{

inline bool is_bad(uint8_t kind)
{
    return kind == STEP_BAD_KEY || kind == STEP_BAD_RANGE || kind == STEP_BAD_LOCAL;
}

/* Syndrome that the CQE of a failing step carries (Programmer's Reference Manual, "CQE syndromes"). */
inline int syndrome_of(uint8_t kind)
{
    return kind == STEP_BAD_LOCAL ? 0x04 : 0x13;
}

struct queue_model {
    std::vector<uint8_t> target;
    std::vector<std::vector<uint8_t>> written; /* by offset: every value stored there, in order */
    std::vector<std::vector<uint8_t>> halves;  /* by offset: values of puts that may have been made, at a time unknown */
    struct pending_get {
        const struct step *step;
        std::vector<uint8_t> before;  /* the bytes when the READ's turn came */
        std::vector<size_t> position; /* length of written[] then */
    };
    std::vector<pending_get> gets;
    std::vector<uint64_t> words;
    const uint8_t *source = nullptr;
    const struct step *failed = nullptr; /* the step that put the queue into error, if any */

    void store(uint32_t offset, const void *bytes, size_t length)
    {
        for (size_t i = 0; i < length; ++i) {
            target[offset + i] = ((const uint8_t *)bytes)[i];
            written[offset + i].push_back(target[offset + i]);
        }
    }

    void remember_get(const struct step &step)
    {
        pending_get get;
        get.step = &step;
        for (uint32_t i = 0; i < step.length; ++i) {
            get.before.push_back(target[step.target + i]);
            get.position.push_back(written[step.target + i].size());
        }
        gets.push_back(get);
    }

    /* The step has no ticket: its queue failed before all of it was posted. */
    void remember_half(const struct step &step)
    {
        const uint8_t *bytes = step.kind == STEP_PUT_SIGNAL ? source + step.source : (const uint8_t *)&step.value;
        const size_t length = step.kind == STEP_PUT_SIGNAL ? step.length : step.kind == STEP_P_SIGNAL ? 8 : 0;
        for (size_t i = 0; i < length; ++i)
            halves[step.target + i].push_back(bytes[i]);
    }

    bool half_made(size_t offset, uint8_t byte) const
    {
        return std::find(halves[offset].begin(), halves[offset].end(), byte) != halves[offset].end();
    }

    /* After the last step: is what the target holds possible? */
    bool may_hold(size_t offset, uint8_t byte) const
    {
        return byte == target[offset] || half_made(offset, byte);
    }

    /* After the last step: is what a READ returned possible? */
    bool may_read(const pending_get &get, const uint8_t *result) const
    {
        for (uint32_t i = 0; i < get.step->length; ++i) {
            const std::vector<uint8_t> &later = written[get.step->target + i];
            if (result[i] != get.before[i] &&
                std::find(later.begin() + (long)get.position[i], later.end(), result[i]) == later.end() &&
                !half_made(get.step->target + i, result[i]))
                return false;
        }
        return true;
    }

    /* What the step leaves in its result slot; returns the number of bytes that are defined at once. */
    size_t apply(const struct step &step, uint8_t *result)
    {
        uint64_t old = words[step.word];
        switch (step.kind) {
        case STEP_PUT:
        case STEP_WRITE_2:
        case STEP_WRITE_INLINE:
            store(step.target, source + step.source, step.length);
            return 0;
        case STEP_P:
            store(step.target, &step.value, 8);
            return 0;
        case STEP_GET:
            remember_get(step);
            return 0;
        case STEP_PUT_SIGNAL:
            store(step.target, source + step.source, step.length);
            break;
        case STEP_P_SIGNAL:
            store(step.target, &step.value, 8);
            break;
        case STEP_COMPARE_SWAP:
            if (old == step.length)
                words[step.word] = step.value;
            memcpy(result, &old, 8);
            return 8;
        case STEP_MASKED_ADD_4: {
            uint32_t low;
            memcpy(&low, &words[step.word], 4);
            low += (uint32_t)step.value;
            memcpy(&words[step.word], &low, 4);
            memcpy(result, &old, 4);
            return 4;
        }
        default:
            break;
        }
        words[step.word] += step.value; /* SIGNAL and its combinations */
        memcpy(result, &old, 8);
        return 8;
    }
};

/* A counted step, from what its addition found there. */
struct addition {
    uint64_t found, value;
    bool operator<(const addition &other) const
    {
        return found < other.found;
    }
};

/* Additions in the order that they must have had, each made once: every one found what those before it had left. */
inline bool adds_up(std::vector<addition> list, uint64_t end)
{
    uint64_t sum = 0;
    std::sort(list.begin(), list.end());
    for (const addition &a : list) {
        if (a.found != sum)
            return false;
        sum += a.value;
    }
    return sum == end;
}

/* Steps of one queue in ticket order. */
inline std::vector<const struct step *> in_order(const std::vector<struct step> &steps, int queue)
{
    std::vector<const struct step *> order;
    for (const struct step &step : steps)
        if (step.posted && step.queue == queue && step.kind != STEP_PUT_COUNTER && step.kind != STEP_PUT_SIGNAL_COUNTER)
            order.push_back(&step);
    std::stable_sort(order.begin(), order.end(), [](const struct step *a, const struct step *b) { return a->ticket < b->ticket; });
    return order;
}

} // namespace gdaki_test

#endif
