/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A scenario: topology, links, faults, workload and seed. docs/simulation.md has the file format. Everything is checked
 * when it is parsed; sim_create takes a scenario as it is.
 */
#ifndef GDAKI_SIM_SCENARIO_H
#define GDAKI_SIM_SCENARIO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    SIM_MAX_NICS = 16384,
    SIM_MAX_SWITCHES = 4096,
    SIM_MAX_CABLES = 65536,
    SIM_MAX_RULES = 64,   /* `link` lines */
    SIM_MAX_FAULTS = 64,
    SIM_MAX_WORKLOADS = 16,
    SIM_MAX_DEPTH = 256,  /* WQEs outstanding on one queue pair */
    SIM_MAX_MESSAGE = 1 << 20,
    SIM_MAX_UNRELIABLE = 1024, /* messages of an unreliable connection: all of them are remembered */
    SIM_WHY_SIZE = 320,
};

enum sim_mode { SIM_MODE_PACKETS = 0, SIM_MODE_FRAMES = 1 };
enum sim_topology { SIM_PAIR = 0, SIM_STAR, SIM_CHAIN, SIM_FAT_TREE, SIM_GRAPH };

/* Which cables a line is about. NICS and SWITCHES: those that touch number first..last. */
enum sim_select { SIM_ON_ALL = 0, SIM_ON_HOST, SIM_ON_CORE, SIM_ON_NICS, SIM_ON_SWITCHES };
struct sim_selector {
    enum sim_select kind;
    uint32_t first, last;
};

struct sim_node_name {
    bool is_switch;
    uint32_t number;
};

struct sim_cable {
    struct sim_node_name a, b;
};

/* Probabilities are numbers of 2^-32 (rng.h). */
struct sim_link_params {
    uint64_t rate;       /* bits a second; 0: no limit */
    uint64_t delay;      /* ns, propagation */
    uint64_t jitter;     /* ns, at most; order is kept */
    uint64_t queue;      /* bytes that may wait; 0: no limit. NICs do not drop, they wait */
    uint64_t ecn;        /* bytes waiting from which packets are marked; 0: never */
    uint64_t loss;
    uint64_t loss_burst; /* mean number of packets lost in a row */
    uint64_t duplicate, corrupt, reorder;
    uint64_t reorder_by; /* ns that a packet is held back */
};

struct sim_rule {
    struct sim_selector on;
    uint32_t given; /* bit for each field of sim_link_params, in its order */
    struct sim_link_params p;
};

enum sim_fault_kind {
    SIM_FAULT_DROP = 0,
    SIM_FAULT_DUPLICATE,
    SIM_FAULT_CORRUPT,
    SIM_FAULT_DELAY,
    SIM_FAULT_DOWN,      /* the cable carries nothing */
    SIM_FAULT_FLAP,      /* down and up by turns */
    SIM_FAULT_PARTITION, /* nothing between the NICs named and the others */
};

enum sim_op_class { /* what `op=` selects: the packet's kind */
    SIM_CLASS_ANY = 0,
    SIM_CLASS_SEND,
    SIM_CLASS_WRITE,
    SIM_CLASS_READ_REQUEST,
    SIM_CLASS_READ_RESPONSE,
    SIM_CLASS_ACK, /* with NAK */
    SIM_CLASS_ATOMIC,
    SIM_CLASS_ATOMIC_ACK,
};

struct sim_fault {
    enum sim_fault_kind kind;
    struct sim_selector on;
    enum sim_op_class op;
    uint64_t at, length;  /* ns; length 0: to the end */
    uint64_t nth, count;  /* from the nth match on, this many; nth 0: all */
    uint64_t rate;        /* of those that match */
    uint64_t by;          /* ns: delay */
    uint64_t period, up;  /* flap: ns, and how much of it is up */
};

enum sim_service { SIM_RC = 0, SIM_UC = 1 };

struct sim_qp_params {
    enum sim_service service; /* of all queue pairs */
    uint64_t mtu;        /* bytes: 256..4096 */
    uint64_t timeout;    /* code 1..31: 4.096 us * 2^code */
    uint64_t retry, rnr_retry, min_rnr;
    uint64_t rd_atomic;  /* 1..128, a power of two */
    uint64_t psn;        /* first one; SIM_PSN_RANDOM */
};
#define SIM_PSN_RANDOM UINT64_MAX

enum sim_pattern { SIM_ALL_TO_ALL = 0, SIM_PAIRS, SIM_RING, SIM_INCAST, SIM_RANDOM };

enum sim_op {
    SIM_OP_WRITE = 0,
    SIM_OP_WRITE_IMM,
    SIM_OP_SEND,
    SIM_OP_SEND_IMM,
    SIM_OP_READ,       /* of what never changes */
    SIM_OP_READ_BACK,  /* of what was written before; the next one is fenced */
    SIM_OP_FETCH_ADD,
    SIM_OP_CMP_SWAP,
    SIM_OP_SHARED_ADD, /* fetch-and-add of 1 to a counter that all connections to a NIC share */
    SIM_OPS
};

struct sim_workload {
    enum sim_pattern pattern;
    uint64_t messages;      /* of each requester of a connection */
    uint64_t size_min, size_max; /* bytes */
    uint64_t depth;         /* WQEs outstanding */
    uint64_t connections;   /* of each NIC, one after the other; all-to-all: rounds */
    uint64_t window;        /* connections of each NIC at a time */
    bool both_ways;         /* both ends request */
    uint64_t receives;      /* receive WQEs posted at a time */
    uint64_t receive_delay; /* ns until a used one is posted again */
    uint32_t mix[SIM_OPS];  /* weights */
};

/* Bugs put in on purpose, to see that the checks can fail. */
enum sim_plant {
    SIM_PLANT_NONE = 0,
    SIM_PLANT_MODIFY,    /* a payload byte changes and the CRC is right */
    SIM_PLANT_STRAY,     /* a byte beside the region changes */
    SIM_PLANT_SOURCE,    /* a byte of a message changes at its source */
    SIM_PLANT_REPEAT,    /* an atomic is executed twice */
    SIM_PLANT_TWICE,     /* a completion is seen twice */
    SIM_PLANT_FORGET,    /* a completion is not seen */
    SIM_PLANT_LEAK,      /* a packet is never released */
};

enum sim_expect { SIM_EXPECT_ALL = 0, SIM_EXPECT_ANY = 1 }; /* ANY: connections may end in retry errors */

struct sim_scenario {
    uint64_t seed, duration; /* ns */
    enum sim_mode mode;
    enum sim_expect expect;
    enum sim_topology topology;
    uint32_t nics, k, switches;
    bool spray;            /* each packet its own path */
    uint64_t nic_buffer;   /* bytes that a NIC gives to a busy cable before it waits */
    struct sim_qp_params qp;
    struct sim_rule rule[SIM_MAX_RULES];
    uint32_t rules;
    struct sim_fault fault[SIM_MAX_FAULTS];
    uint32_t faults;
    struct sim_workload workload[SIM_MAX_WORKLOADS];
    uint32_t workloads;
    struct sim_cable *cable; /* owned; GRAPH only */
    uint32_t cables;
    enum sim_plant plant;
    uint64_t plant_nth;
};

void sim_scenario_init(struct sim_scenario *sc); /* defaults: two NICs, one cable, no workload */
void sim_scenario_free(struct sim_scenario *sc);

/*
 * Parses a scenario's text. 0, -EINVAL or -ENOMEM; `why` (SIM_WHY_SIZE bytes) then says "NAME:LINE: key 'loss': value
 * '2x': ...". `sc` needs sim_scenario_free in any case.
 */
int sim_scenario_parse(const char *name, const char *text, size_t length, struct sim_scenario *sc, char *why);
int sim_scenario_load(const char *path, struct sim_scenario *sc, char *why);

/* Writes a file that parses to the same scenario. */
void sim_scenario_print(const struct sim_scenario *sc, FILE *out);

/* A small scenario drawn under a seed; always valid. */
void sim_scenario_random(uint64_t seed, struct sim_scenario *sc);

const char *sim_op_name(enum sim_op op);

#ifdef __cplusplus
}
#endif
#endif
