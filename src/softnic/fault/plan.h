/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fault plans: what is to go wrong, for which packets, doorbells or completions, and when. Text in, rules out; docs/faults.md
 * is the reference of the language. Nothing here acts: inject.h does.
 *
 *   plan  = rule { ";" rule }
 *   rule  = action [ ":" key "=" value { "," key "=" value } ]
 */
#ifndef SOFTNIC_FAULT_PLAN_H
#define SOFTNIC_FAULT_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum sn_inject {
    SN_INJECT_DROP = 0,
    SN_INJECT_DUP,
    SN_INJECT_DELAY,
    SN_INJECT_REORDER,
    SN_INJECT_CORRUPT,
    SN_INJECT_LOSE_RESPONSE,
    SN_INJECT_RETRY_EXCEEDED,
    SN_INJECT_LINK_DOWN,
    SN_INJECT_NAK,
    SN_INJECT_RNR,
    SN_INJECT_CQ_OVERRUN,
    SN_INJECT_DOORBELL_LOST,
    SN_INJECT_DOORBELL_DELAYED,
    SN_INJECT_DOORBELL_MERGED,
    SN_INJECT_COUNT
};

/* Which packets: bit n is enum sn_kind n; acknowledgements that refuse have a bit of their own. */
#define SN_KINDS_NAK (1u << 31)

enum sn_part { SN_PART_ANY = 0, SN_PART_FIRST, SN_PART_MIDDLE, SN_PART_LAST, SN_PART_ONLY };

enum { SN_FAULT_RULES = 32, SN_FAULT_TEXT_MAX = 4096, SN_FAULT_RNR_OF_QP = 32 };

struct sn_fault_rule {
    enum sn_inject action;
    /* Selection. */
    uint32_t kinds;
    enum sn_part part;
    bool incoming;      /* packets that arrive; else those that leave */
    bool has_qpn;
    uint32_t qpn;       /* either end's */
    uint64_t nth;       /* from this matching one on, counted from 1; 0: by rate */
    uint64_t every;     /* and each so manieth after it; 0: each */
    uint64_t limit;     /* injections; UINT64_MAX: no limit */
    uint64_t threshold; /* rate as a fraction of 2^64; UINT64_MAX: all */
    uint64_t from_ns, until_ns; /* since the plan began; until: not any more */
    /* What is done. */
    uint64_t hold_ns;   /* delay, or the longest wait of what is held back */
    uint64_t gap;       /* packets or doorbells that go first */
    uint64_t down_ns;   /* link-down that is triggered by a packet: for how long */
    uint8_t code;       /* AETH syndrome; RNR: timer code, SN_FAULT_RNR_OF_QP: the queue's own */
};

struct sn_fault_plan {
    uint32_t count;
    struct sn_fault_rule rule[SN_FAULT_RULES];
};

/*
 * Reads a plan of `length` bytes (no terminator needed). 0, or -EINVAL: `why` says which rule and value, and *out is
 * untouched. An empty text is refused: no faults is no plan.
 */
int sn_fault_parse(const char *text, size_t length, struct sn_fault_plan *out, char *why, size_t why_size);

/* A link-down that is about every packet of the port. */
bool sn_fault_rule_is_link(const struct sn_fault_rule *rule);

const char *sn_inject_name(enum sn_inject action); /* as in a plan; NULL beyond the last */

#ifdef __cplusplus
}
#endif
#endif
