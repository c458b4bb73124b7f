/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of a simulation and what they ask of each other.
 *
 *   host (one NIC, its port, its application)  --link-->  switch  --link-->  host
 *   connection: an end on each of two hosts; an end has a queue pair, memory, and a model of that memory
 *
 * A packet has one owner: a stage, the event heap (between two stages), or a host's inbox. It belongs to a connection,
 * which is taken down when none of its packets is in the network any more.
 */
#ifndef GDAKI_SIM_INTERNAL_H
#define GDAKI_SIM_INTERNAL_H

#include <errno.h>

#include "sim/heap.h"
#include "sim/rng.h"
#include "sim/sim.h"
#include "softnic/nic.h"
#include "softnic/port/asks.h"
#include "softnic/wire/burst.h"
#include "softnic/wire/inproc.h"
#include "softnic/wire/wire.h"

struct sim_host;
struct sim_link;
struct sim_conn;

/* ---- packets (packet.c) -------------------------------------------------------------------------------------- */

struct sim_bytes { /* payload or frame; counted references, never changed while shared */
    struct sim_bytes *next; /* in the pool */
    struct sim_bytes *older; /* all that there are */
    uint32_t refs, length;
    uint8_t room;           /* log2 */
    uint8_t data[];
};

#define SIM_HEADER_SIZE offsetof(struct sn_burst, iov_count)

struct sim_packet { /* SIM_PACKET_SIZE bytes; what a switch looks at is one cache line */
    struct sim_packet *next;
    struct sim_conn *conn;
    struct sim_link *way;   /* that it takes next; NULL: it is on its last, or there is none */
    struct sim_bytes *bytes; /* NULL: no payload, or that: */
    const uint8_t *noise;    /* a payload that is never going to change: no copy is made */
    uint64_t ready;         /* ns: when the stage before has done with it */
    uint32_t target;        /* host */
    uint32_t host;          /* at the end of the cable that it is on; UINT32_MAX: a switch is there */
    uint32_t wire_bytes;    /* with preamble and gap: what a cable is busy with */
    uint32_t flow;          /* hash that chooses among equal paths */
    uint32_t source;        /* host */
    uint16_t ip_id;
    bool is_frame;          /* bytes is a whole Ethernet frame */
    struct sn_burst header; /* its first SIM_HEADER_SIZE bytes; the payload is in `bytes` */
};
#define SIM_PACKET_SIZE ((offsetof(struct sim_packet, header) + SIM_HEADER_SIZE + 63) / 64 * 64)

struct sim_pool {
    struct sim_packet *packets;
    struct sim_bytes *bytes[16]; /* by log2 of the size */
    struct sim_slab *packet_slabs; /* all, in use or not: a run that is broken off leaves some in use */
    struct sim_bytes *all_bytes;
    uint64_t packets_out, bytes_out;
};

struct sim_packet *sim_packet_new(struct sim *sim);
struct sim_packet *sim_packet_clone(struct sim *sim, const struct sim_packet *p); /* shares the bytes */
struct sim_bytes *sim_bytes_new(struct sim *sim, uint32_t length);
void sim_bytes_put(struct sim *sim, struct sim_bytes *bytes);
void sim_packet_free(struct sim *sim, struct sim_packet *p);
void sim_pool_free(struct sim_pool *pool);
/* Memory of connections, in powers of two; what was given back last is taken first. */
void *sim_block_take(struct sim *sim, size_t size);
void sim_block_give(struct sim *sim, void *block, size_t size);
void sim_blocks_free(struct sim *sim);
/* A piece of memory for SIM_SLAB objects of one kind, each in cache lines of its own; in a list of all. NULL: no memory. */
struct sim_slab {
    struct sim_slab *older;
    uint8_t object[] __attribute__((aligned(64)));
};
enum { SIM_SLAB = 32 };
uint8_t *sim_slab_new(struct sim_slab **slabs, size_t object_size);
void sim_slabs_free(struct sim_slab *slabs);
void sim_large_pages(uint32_t nics); /* pages.c: before they are made */
/* Turns a packet into the frame that it is on the wire. False: it has no wire form, or no memory. */
bool sim_packet_to_frame(struct sim *sim, struct sim_packet *p);
/* A frame's bytes that belong to this packet alone. */
bool sim_packet_own(struct sim *sim, struct sim_packet *p);
uint32_t sim_packet_wire_bytes(const struct sn_burst *b);
void sim_packet_burst(const struct sim_packet *p, struct sn_burst *out); /* payload by reference */
void sim_packet_mark(struct sim *sim, struct sim_packet *p); /* congestion experienced */

/* ---- stages (stage.c): what a cable does to packets, in one direction ------------------------------------------ */

struct sim_stage;
/* What the stages of many links have in common. */
struct sim_stage_kind {
    struct sim_stage_kind *next;
    void (*in)(struct sim_stage *stage, struct sim_packet *p); /* takes the packet over */
    uint64_t a, b;  /* parameters: see the stage */
    uint32_t place; /* among the stages of its link */
};

struct sim_stage {
    const struct sim_stage_kind *kind;
    struct sim_rng rng;
    union {
        uint64_t at; /* ns. queue: free from then on; delay: the last packet's */
        bool bad;    /* loss: in a burst */
    };
};
enum { SIM_STAGES_MOST = 8 /* of a link */ };

/* One direction of a cable. With the usual four stages two cache lines: all that a packet touches there. */
struct sim_link {
    struct sim *sim;
    struct sim_fault_use *faults;
    uint32_t number;
    uint32_t from, to; /* host or switch number */
    bool from_host, to_host;
    bool queues;       /* the first stage is a queue */
    uint8_t stages;
    struct sim_stage stage[SIM_STAGES_MOST];
} __attribute__((aligned(128)));
enum { SIM_LINK_LINES = 128 /* bytes of it that are asked for */ };

static inline struct sim_link *sim_stage_link(const struct sim_stage *s)
{
    return (struct sim_link *)((uintptr_t)(s - s->kind->place) - offsetof(struct sim_link, stage));
}

static inline void sim_stage_forward(struct sim_stage *s, struct sim_packet *p)
{
    s[1].kind->in(&s[1], p);
}

/* Each adds a stage behind the others of the link that is being made. 0 or -ENOMEM. */
int sim_stage_loss(struct sim_link *link, uint64_t rate, uint64_t burst);
int sim_stage_corrupt(struct sim_link *link, uint64_t rate);
int sim_stage_duplicate(struct sim_link *link, uint64_t rate);
int sim_stage_queue(struct sim_link *link, uint64_t rate, uint64_t limit, uint64_t ecn); /* the first one */
int sim_stage_delay(struct sim_link *link, uint64_t delay, uint64_t jitter);
int sim_stage_reorder(struct sim_link *link, uint64_t rate, uint64_t by);
int sim_stage_faults(struct sim_link *link); /* fault.c: what `fault` lines ask of this cable */
int sim_stage_end(struct sim_link *link);    /* gives the packet to the node at the cable's end, when it is time */
int sim_stage_add(struct sim_link *link, void (*in)(struct sim_stage *, struct sim_packet *), uint64_t a, uint64_t b);
void sim_stage_kinds_free(struct sim *sim);
void sim_packet_arrive(void *packet, uint64_t sim); /* the event */
/*
 * What an event will touch, asked from the cache step by step (expect.c): first the event's object, then what that leads to.
 * `step` may be beyond the last one: then nothing is left to ask for.
 */
enum { SIM_EXPECTS = 10 };
void sim_packet_expect(struct sim *sim, const struct sim_packet *p, unsigned step);
void sim_host_expect(struct sim *sim, const struct sim_host *host, unsigned step);
void sim_packet_corrupt(struct sim *sim, struct sim_packet *p, struct sim_rng *rng);
void sim_packet_lose(struct sim *sim, struct sim_packet *p, enum sim_loss why);

/* ---- cables and switches (network.c) --------------------------------------------------------------------------- */

struct sim_switch {
    struct sim_link **out; /* to other switches; those to hosts: sim->down */
    uint32_t *to;          /* their other ends */
    uint32_t ports;
};

int sim_network_create(struct sim *sim, char *why);
void sim_network_free(struct sim *sim);
void sim_link_send(struct sim_link *link, struct sim_packet *p);
void sim_packet_deliver(struct sim *sim, struct sim_packet *p); /* at the cable's end */
struct sim_link *sim_link_way(const struct sim_link *link, const struct sim_packet *p); /* from there on */
uint64_t sim_link_backlog(const struct sim_link *link);             /* bytes that wait */
uint64_t sim_link_drained(const struct sim_link *link, uint64_t bytes); /* ns: when no more than that many will wait */
bool sim_selects(const struct sim_selector *on, const struct sim_link *link);

/* ---- faults (fault.c) ------------------------------------------------------------------------------------------- */

struct sim_fault_state { /* shared by all cables that a line names */
    const struct sim_fault *fault;
    uint64_t matched, done;
    struct sim_rng rng;
};
struct sim_fault_use {
    struct sim_fault_use *next;
    struct sim_fault_state *state;
};
int sim_faults_create(struct sim *sim);
int sim_faults_attach(struct sim *sim, struct sim_link *link);
void sim_faults_detach(struct sim_link *link);

/* ---- connections and their applications ------------------------------------------------------------------------ */

struct sim_wr { /* a request on its way */
    enum sim_op op;
    bool fenced;
    uint32_t length, local, remote; /* bytes; offsets in the requester's and the responder's memory */
    uint32_t imm;
    uint64_t operand, compare;
    uint64_t receive;        /* number of the receive that it uses */
    uint64_t posted_at;      /* ns */
};

struct sim_layout { /* of an end's memory; all offsets in bytes */
    uint32_t tx, tx_size;         /* source of what it sends; never changes */
    uint32_t rx, rx_size;         /* target of its peer's WRITEs */
    uint32_t words;               /* targets of its peer's atomics, SIM_WORDS of them */
    uint32_t read, read_size;     /* results of its READs */
    uint32_t results;             /* of its atomics, one a WQE outstanding */
    uint32_t recv, recv_size;     /* receive buffers */
    uint32_t size;                /* with a guard at each end and between what is reachable and what is not */
};
enum { SIM_GUARD = 64, SIM_WORDS = 8 };

/* Bytes of the largest message of each kind that an end sends. */
struct sim_needs {
    uint32_t write, send, read, read_back;
};

/* By cache lines: what names it; what is in its memory; where; how far it has got. */
struct sim_end {
    struct sim_host *host;
    struct sim_conn *conn;   /* NULL: free */
    struct sim_end *peer;
    uint8_t *mem;            /* its own, or where nothing may write, the piece of the noise itself */
    uint32_t qpn, number;
    uint32_t lkey, rkey;
    uint32_t pi, rq_pi;      /* running indices */
    uint32_t *record;        /* the host's */
    /* Rings, one block of memory with `wr`; sized for the largest workload. */
    uint8_t *sq, *rq;
    /* Requests are numbered; each is one basic block. Of those sent unreliably all are kept. */
    struct sim_wr *wr;
    struct sim_end *next;    /* free list */
    /* What ought to be in `mem`. */
    const uint8_t *model;    /* `own_model`, or else a piece of the noise, with one change at most: */
    uint8_t *own_model;
    const uint8_t *change;   /* what is at [change_at, change_at + change_size) instead: noise too, or `change_word` */
    uint32_t change_at, change_size;
    struct sim_layout at;
    struct sim_needs needs;
    bool mem_is_noise;
    bool failed, fence_next;
    uint8_t syndrome;
    uint64_t goal, posted, settled; /* [settled, posted) have had no CQE */
    uint64_t drawn;          /* what all before are, and how long, is known */
    uint64_t certain;        /* all before have succeeded; [certain, settled) ended in errors */
    uint64_t met;            /* all before that use a receive have met it */
    uint64_t receives_used;  /* by those posted */
    uint64_t seen;           /* service UC: all before have met a receive, or never will if order is kept */
    uint64_t received, receives_flushed; /* receive WQEs that have had their CQE */
    struct sim_rng rng;
    uint64_t change_word;
    /* Of an end that sends atomics. */
    uint64_t shadow[SIM_WORDS]; /* the peer's words when all that is posted has been executed */
} __attribute__((aligned(64)));

struct sim_conn { /* a cache line */
    struct sim_conn *next;   /* waiting for ends, or free */
    const struct sim_workload *workload;
    struct sim_lane *lane;
    uint64_t serial;
    uint32_t source, target; /* hosts */
    struct sim_end *end[2];
    uint32_t in_flight;      /* packets in the network */
    bool closing;            /* an event is to look at it */
    bool in_error;           /* both ends have been moved to ERR */
};
#define SIM_SHARED_IOVA 0x8000000000ull

/* One host's part of a workload: which connections it opens, and when. */
struct sim_lane {
    const struct sim_workload *workload;
    uint32_t host;
    uint64_t step, steps;
    uint32_t active;
    struct sim_rng rng;
};

int sim_lanes_create(struct sim *sim);
void sim_lane_fill(struct sim *sim, struct sim_lane *lane); /* opens connections up to the window */
const struct sim_host *sim_lane_next(struct sim *sim, const struct sim_lane *lane); /* whom it opens the next one to; NULL: none */

int sim_conn_open(struct sim *sim, struct sim_lane *lane, uint32_t source, uint32_t target);
void sim_conn_check(struct sim *sim, struct sim_conn *conn); /* over? then it is taken down by an event of its own */
int sim_end_open(struct sim_end *end, uint32_t first_psn, uint32_t peer_psn); /* end.c: to RTS, with memory and keys */
void sim_end_close(struct sim_end *end);
void sim_end_post(struct sim_end *end);       /* as many requests as may be outstanding */
struct sn_cqe64;
void sim_end_completed(struct sim_end *end, const struct sn_cqe64 *cqe, bool receive); /* complete.c */
void sim_end_plan(struct sim_end *end); /* op.c: what it will need, drawn in advance if it posts everything at once */
void sim_end_draw(struct sim_end *end, struct sim_wr *wr); /* the next request: op.c */
bool sim_op_receives(enum sim_op op);
struct sim_wr *sim_end_wr(struct sim_end *end, uint64_t number);
void sim_end_put_wqe(struct sim_end *end, const struct sim_wr *wr); /* wqe.c */
void sim_end_ring(struct sim_end *end);
void sim_end_put_recv(struct sim_end *end);
uint64_t sim_end_address(const struct sim_end *end, uint32_t offset); /* as its keys see it */

/* The model (model.c): what requests do to memory, and whether they did. */
enum { SIM_NOISE = 32768 };
int sim_model_create(struct sim *sim);
void sim_model_check_noise(struct sim *sim); /* nobody has written to it */
int sim_model_open(struct sim_end *end); /* both ends are planned */
void sim_model_close(struct sim_end *end);
void sim_model_apply(struct sim_end *end, const struct sim_wr *wr, uint64_t number); /* it has succeeded */
void sim_model_receive(struct sim_end *end, const struct sim_wr *wr, uint64_t number); /* it has met its receive at `end` */
void sim_model_check(struct sim_end *end); /* the connection is over */
void sim_unreliable_receive(struct sim_end *end, const struct sn_cqe64 *cqe); /* unreliable.c: the receive that just completed */
bool sim_unreliable_explains(struct sim_end *end, uint32_t at); /* a byte that something sent to it put there */

/* ---- hosts (host.c) --------------------------------------------------------------------------------------------- */

enum { SIM_FEW = 16 };
struct sim_host {
    struct sn_wire wire; /* first: the wire is the host */
    struct sim *sim;
    uint32_t number;
    bool run_queued, drain_queued, blocked;
    uint8_t log_cq;
    struct sn_port *port;
    struct sn_nic *nic;
    struct sim_link *out;
    struct sim_packet *inbox, **inbox_last;
    uint8_t *cq[2];      /* of requests, of receives */
    uint32_t *cq_record; /* four words before `records` */
    uint32_t ci[2];
    struct sim_end *end, *free_end; /* made when needed */
    uint32_t *by_qpn;    /* low half of the QPN << 16 | index of the end + 1: `few`, or memory of its own */
    uint32_t hash_mask;
    uint32_t ends, max_ends;
    uint32_t few[SIM_FEW];
    uint16_t ip_id;
    struct sim_conn *waiting, **waiting_last;
    uint64_t wake_at;    /* ns; UINT64_MAX: no event */
    uint64_t *reg;       /* uar's */
    uint64_t *shared;    /* the shared counter: one word with guards, and who has got which value */
    uint32_t shared_key;
    uint32_t pdn, cqn[2];
    uint64_t shared_done, shared_uncertain;
    uint8_t *shared_seen;
    uint64_t shared_room;
    uint32_t *records;   /* two words an end: looked at together when the register that all share is rung */
    struct sn_uar uar;
    struct sim_rng rng;
} __attribute__((aligned(64)));

extern const struct sn_wire_ops sim_wire_ops;
int sim_host_create(struct sim *sim, uint32_t number, char *why);
void sim_host_destroy(struct sim_host *host);
void sim_host_receive(struct sim_host *host, struct sim_packet *p);
void sim_host_run_soon(struct sim_host *host);
void sim_host_run(struct sim_host *host);
void sim_host_wake(void *host, uint64_t time); /* the event of its next timer */
struct sim_end *sim_host_take_end(struct sim_host *host);
void sim_host_give_end(struct sim_end *end);
struct sim_end *sim_host_find_end(struct sim_host *host, uint32_t qpn);
void sim_host_shared_result(struct sim_host *host, uint64_t value); /* an old value of the shared counter: each once */
void sim_host_shared_check(struct sim_host *host);
void sim_host_gid(uint32_t number, uint8_t gid[16]);
void sim_host_mac(uint32_t number, uint8_t mac[6]);
bool sim_host_of_gid(const struct sim *sim, const uint8_t gid[16], uint32_t *number);

/* ---- the whole ----------------------------------------------------------------------------------------------------- */

struct sim {
    struct sim_scenario sc;
    uint64_t now;
    struct sim_heap heap;
    struct sim_host *host;
    struct sim_switch *sw;
    struct sim_link *link;
    uint32_t links;
    uint16_t *distance;  /* between switches, [to * switches + from] */
    struct sim_link **down; /* from its switch to each host */
    uint32_t *home;      /* switch of each host; UINT32_MAX: none (a pair) */
    struct sim_fault_state *fault;
    struct sim_lane *lane;
    uint32_t lanes;
    struct sim_conn *free_conns;
    struct sim_slab *conn_slabs;
    uint64_t conns_open, conns_made;
    uint32_t depth, receives, wrs; /* the largest of all workloads, up to a power of two; wrs: of an end's requests kept */
    bool disorder;           /* cables may deliver twice, or not in order */
    uint64_t last_close; /* ns */
    uint64_t stages;     /* made: numbers their random streams */
    struct sim_stage_kind *stage_kinds;
    struct sim_pool pool;
    struct sn_inproc bursts; /* of all ports */
    struct sn_asks asks;     /* what the next events will touch */
    void *blocks[32];    /* by log2 of the size; each begins with a pointer to the next */
    uint8_t *noise; /* SIM_NOISE random bytes; nothing changes them */
    struct sim_result r;
    uint64_t *latency;
    size_t latencies, latency_room;
    sim_capture_fn capture[2];
    void *capture_arg[2];
    uint64_t plant_count;
    bool planted;
    int error;           /* why it cannot go on */
};

void sim_at(struct sim *sim, uint64_t time, void (*fire)(void *object, uint64_t arg), void *object, uint64_t arg);
void sim_trace(struct sim *sim, uint64_t a, uint64_t b);
void sim_violation(struct sim *sim, const char *format, ...) __attribute__((format(printf, 2, 3)));
void sim_latency_add(struct sim *sim, uint64_t ns);
/* True when this is the occasion of a planted bug of that kind. */
bool sim_plant_now(struct sim *sim, enum sim_plant plant);
void sim_capture_packet(struct sim *sim, const struct sim_packet *p, bool received);

static inline bool sim_is_noise(const struct sim *sim, const void *memory)
{
    return (uintptr_t)memory - (uintptr_t)sim->noise < SIM_NOISE;
}

#endif
