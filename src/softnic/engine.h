/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine's objects, shared by queue/, transport/, memory/ and port/; nobody outside includes this.
 *
 * Everything here is protected by the port's lock (one lock domain) unless a field says otherwise.
 *
 *   port --- nic --- uar (doorbell registers), pd, mkeys, cq, srq, qp
 *   qp   --- sq (ring, doorbells)  tx (WQEs in flight)  rx (responder)  rq (receive ring)
 */
#ifndef SOFTNIC_ENGINE_H
#define SOFTNIC_ENGINE_H

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "format/bth.h"
#include "softnic/errors.h"
#include "softnic/exec/cqe.h"
#include "softnic/exec/mkey.h"
#include "softnic/exec/wqe.h"
#include "softnic/memory/xfer.h"
#include "softnic/nic.h"
#include "softnic/port/lock.h"
#include "softnic/transport/wheel.h"
#include "softnic/wire/burst.h"
#include "softnic/wire/inproc.h"
#include "softnic/wire/wire.h"

#define SN_CACHE_LINE 64
#define SN_ALIGNED    __attribute__((aligned(SN_CACHE_LINE)))

enum {
    SN_TX_ENTRIES = 64,      /* WQEs in flight of one QP, at most */
    SN_TURN_WQES = 32,       /* WQEs that one QP may start in a turn */
    SN_HOT_UARS = 64,        /* registers looked at in each turn */
    SN_LOOK_LINES = 2048,    /* cache lines of registers that the sleeping thread looks at in one turn */
    SN_HOT_IDLE_TURNS = 2048,/* turns without a doorbell after which a register cools down */
    SN_RX_QUEUE_MAX = 1024,  /* bursts waiting behind a copy of the copy engine */
    SN_RX_QUEUE_BYTES = 8 << 20, /* and their payload, where it had to be copied */
    SN_LOG_RING_MAX = 15, /* indices have 16 bits, and a full ring must differ from an empty one */
    SN_LOG_CQ_MAX = 22,
    SN_SPARE_KEYS = 16, /* destroyed keys of a NIC whose memory is kept */
};
#define SN_MESSAGE_MAX   (1u << 30)
#define SN_BURST_BYTES   (256u << 10) /* payload of one burst, default */
#define SN_TURN_BYTES    (512u << 10) /* bytes that one QP may send in a turn */
#define SN_MISMATCH_NS   10000000ull  /* how long a slot may lag behind its doorbell */
#define SN_CONNECT_NS    2000000000ull /* how long a doorbell may come before its queue is connected */

/* ---- small containers ---------------------------------------------------------------------------------------- */

/* Zeroed memory in cache lines of its own. NULL: there is none. */
static inline void *sn_lines(size_t size)
{
    size_t whole = (size + SN_CACHE_LINE - 1) / SN_CACHE_LINE * SN_CACHE_LINE;
    void *memory = aligned_alloc(SN_CACHE_LINE, whole);

    return memory == NULL ? NULL : memset(memory, 0, whole);
}

/* Objects by small number. Slot 0 is never used. */
struct sn_table {
    void **slot;
    uint32_t size; /* slots */
    uint32_t next; /* where to look first */
    uint32_t used;
};

int sn_table_add(struct sn_table *t, void *object, uint32_t limit, uint32_t *id);
void sn_table_remove(struct sn_table *t, uint32_t id);
void sn_table_free(struct sn_table *t);

static inline void *sn_table_get(const struct sn_table *t, uint32_t id)
{
    return id < t->size ? t->slot[id] : NULL;
}

/*
 * Objects by a random 32-bit number: open addressing, at most half full. Small while there are few (a NIC with six queue
 * pairs looks at one or two cache lines), and free of marks for what has gone.
 */
struct sn_map {
    struct sn_map_slot {
        uint32_t number;
        void *object; /* NULL: empty */
    } *slot;
    uint32_t mask; /* slots - 1 */
    uint32_t used;
};

int sn_map_room(struct sn_map *m); /* for one more: 0 or -ENOMEM */
void sn_map_add(struct sn_map *m, uint32_t number, void *object); /* after sn_map_room; `number` is not in it */
void sn_map_remove(struct sn_map *m, uint32_t number);
void sn_map_free(struct sn_map *m);

static inline void *sn_map_get(const struct sn_map *m, uint32_t number)
{
    if (m->used == 0)
        return NULL;
    for (uint32_t i = number & m->mask;; i = (i + 1) & m->mask)
        if (m->slot[i].number == number || m->slot[i].object == NULL)
            return m->slot[i].object;
}

/* ---- memory keys --------------------------------------------------------------------------------------------- */

static inline struct sn_mkey *sn_mkey_find(const struct sn_map *keys, uint32_t key)
{
    return sn_map_get(keys, key);
}

/* The keys that a QP used last; valid while `generation` equals the NIC's. */
struct sn_key_cache {
    struct sn_mkey *key;
    uint32_t value;
    uint32_t generation;
};

/* ---- doorbell registers -------------------------------------------------------------------------------------- */

enum sn_reg_kind { SN_REG_PLAIN = 0, SN_REG_DBRLESS = 1 };

/* Where registers lie: queue/regs.c. They are looked at in groups of 8 cache lines. */
struct sn_regs {
    uint8_t *at;
    size_t size;
    int fd;
    struct sn_table wide, packed;      /* by position + 1 */
    uint32_t wide_blocks, wide_most;   /* of 1024 bytes: in use from the first, and room for them */
    uint32_t packed_blocks, packed_most; /* the same, behind those */
    uint32_t *users;                   /* queues without a record in each packed block, 8 entries each: regs.c */
    uint32_t blocks_in_use;            /* that have such */
    uint64_t empty;                    /* what an empty packed register holds; 0: there is none yet */
    uint32_t groups, lines;            /* in a sweep: groups that are passed, lines that are looked at */
};

struct sn_uar_object {
    /* One cache line: what a turn looks at. */
    struct sn_nic *nic;
    void *reg[2];    /* by enum sn_reg_kind */
    uint64_t empty;  /* what the plain one holds when nothing is rung; the other one 0 */
    uint64_t *other; /* sn_uar_use_both: what else is rung for its queues; NULL: nothing */
    struct sn_qp *qps;       /* by qp->uar_next */
    uint32_t idle_turns; /* since the last doorbell, while hot */
    bool freed, hot;
    bool packed;     /* the plain register shares its line */
    uint32_t refs;   /* queues on it, and 1 until it is freed */
    uint32_t block;  /* among those of its kind */
    /* Rest. */
    uint32_t position; /* the same */
    uint32_t index;
};

/* ---- completion queues --------------------------------------------------------------------------------------- */

struct sn_cq {
    /* One cache line: what each CQE looks at. */
    uint8_t *ring;
    uint32_t mask, stride;
    uint32_t producer;  /* CQEs written since creation */
    uint32_t consumer;  /* last seen, when overrun matters */
    uint32_t assigned;  /* slots given out; == producer when nothing is pending */
    uint8_t log_size, cqe_offset;
    bool collapsed, overrun_ignore, failed, gpu;
    bool arms;                 /* somebody wants completions: its record is looked at */
    bool timestamps;           /* attr's */
    struct sn_nic *nic;
    struct sn_qp *waiters;     /* WAITs blocked on it, by qp->wait_next */
    const void *consumer_record; /* the record's word in host memory; NULL: it is in GPU memory */
    /* Rest. */
    uint32_t number;
    uint32_t users;
    struct sn_cq_pending *pending, **pending_tail; /* CQEs on their way to GPU memory */
    struct sn_uar_object *uar;
    /* Events; queue/event.c. */
    struct sn_watch *watches;
    uint8_t fired;             /* number of the request that the last event answered */
    bool has_notable;
    uint32_t notified;         /* CQEs written when the last event was raised */
    uint32_t notable;          /* the last CQE that is an error or was solicited */
    struct sn_cq *unarmed_next, **unarmed_link; /* link != NULL: wrote CQEs and was not armed */
    struct sn_cq_attr attr;
};

static inline uint8_t *sn_cq_slot(const struct sn_cq *cq, uint32_t counter)
{
    uint32_t slot = cq->collapsed ? 0 : counter & cq->mask;
    return cq->ring + (size_t)slot * cq->stride + cq->cqe_offset;
}

/* Writes a CQE. False: the CQ has overrun (now or before) and the queue has to fail. */
bool sn_cq_push(struct sn_cq *cq, const struct sn_cqe_info *info);

/* ---- receive queues ------------------------------------------------------------------------------------------ */

/* Both RQ and SRQ. Indices are modulo 2^16. */
struct sn_rq {
    struct sn_span ring, record;
    uint8_t log_size, log_stride;
    bool linked;      /* an SRQ whose WQEs name their successor */
    uint16_t taken;   /* receive WQEs used */
    uint16_t posted;  /* counter of the record when last looked at */
    uint16_t head;    /* linked: slot of the next WQE */
};

struct sn_srq {
    struct sn_rq rq;
    struct sn_nic *nic;
    uint32_t number, pdn, users;
    uint32_t limit; /* an event when fewer receives are left; 0: none is asked for */
    struct sn_watch *watches;
    struct sn_srq_attr attr;
};

/* Takes the next posted receive WQE into `wqe` (1 << log_stride bytes). 0, -EAGAIN: none posted, -EIO: copy failed. */
int sn_rq_take(struct sn_port *port, struct sn_rq *rq, uint8_t *wqe, uint16_t *index);

/* ---- queue pairs --------------------------------------------------------------------------------------------- */

/* A send WQE from fetch to completion. */
struct sn_entry {
    struct sn_wqe w;
    uint32_t psn, packets; /* PSNs taken; 0 for local operations */
    uint32_t sent;         /* packets handed to the wire */
    uint32_t arrived;      /* packets of the response */
    bool local;            /* takes no PSN: NOP, WAIT, DUMP, or a WQE that failed before it was sent */
    bool done;             /* local: executed; READ and ATOMIC: answered */
    bool issued;           /* counted as an outstanding read or atomic */
    uint8_t syndrome, vendor; /* != 0: ends in an error CQE */
    uint8_t *raw;          /* the WQE's private copy */
    uint8_t *big;          /* room for WQEs beyond 64 bytes, kept for reuse */
    uint64_t small[SN_WQE_BB / 8];
};

/* Send ring: what is posted, what is fetched. Knows no transport. */
struct sn_sq {
    uint8_t *ring;       /* where WQEs are read: the ring itself, or the mirror of one in GPU memory */
    const void *record;  /* send word in host memory, or NULL */
    uint32_t blocks;     /* power of two */
    uint16_t fetched;    /* index of the next WQE to fetch */
    uint16_t posted;     /* furthest accepted producer index */
    uint16_t hint;       /* from the register */
    bool has_hint;
    bool doorbell;       /* rung since the last look */
    bool gpu_ring, gpu_record;
    bool fetching;       /* GPU: a copy is under way */
    bool record_ready;   /* GPU: record_copy has been fetched since the doorbell */
    uint16_t mirrored;   /* GPU: the mirror is good up to here */
    uint8_t *mirror;
    uint64_t record_copy;
    uint64_t mismatch_since; /* ns; 0: the slot matched */
};

struct sn_tx {
    struct sn_entry *table; /* mask + 1, allocated at the first WQE */
    uint32_t mask;          /* of SN_TX_ENTRIES, or where the ring has fewer blocks of those: no more can be in flight */
    uint32_t head, next, tail; /* oldest incomplete, next to send, end; running counts */
    uint32_t psn;       /* of the next new request */
    uint32_t una;       /* oldest unacknowledged */
    uint32_t high;      /* first PSN that has never been sent: what was sent before going back may still be answered */
    uint32_t reads;     /* outstanding reads and atomics */
    uint32_t drain;     /* SQD: entries before this one had begun, and go on */
    uint32_t unasked;   /* packets since the last that asked for an acknowledgement */
    bool gap;           /* a skipped answer has been asked for again: those still under way say nothing new */
    bool stop;          /* an entry failed: fetch nothing more */
    bool rnr_wait, waiting_cq;
    bool unconnected;   /* the first WQE flushed ends in SN_FAULT_STATE */
    uint8_t retries, rnr_retries; /* left */
};

/* Saved for duplicates and for responses in progress (IBTA 9.4.4, 9.7.5.1.4). */
struct sn_rd_slot {
    uint32_t psn, packets, sent;
    /* READ: a part of it is being repeated, up to this many packets and bytes from its start; then it goes on at `resume`. 0: none. */
    uint32_t until, until_bytes, resume;
    uint8_t kind; /* enum sn_kind of the request */
    bool valid, answered; /* answered: in full, once at least */
    uint32_t rkey, length;
    uint64_t va, orig;
    uint32_t msn;
};

struct sn_rx {
    uint32_t epsn, msn;
    bool nak_sent;      /* one NAK a gap: nothing is said until the expected PSN comes */
    bool refused;       /* a request was refused for good: no other is looked at */
    bool ack_due;
    uint32_t unacked;   /* packets since the last acknowledgement */
    uint8_t ack_syndrome;
    uint32_t ack_psn, ack_msn; /* as they were when it became due: an answer tells of nothing behind its request */
    /* The message in progress. */
    uint8_t kind;       /* SN_KIND_COUNT: none */
    uint64_t va;
    uint32_t rkey, left, placed;
    uint32_t total;     /* WRITE: bytes of the whole message, from its RETH */
    bool has_wqe;
    uint16_t wqe_index;
    uint8_t *wqe;       /* private copy of the receive WQE */
    /* Reads and atomics: a ring of 1 << log_rra_max. */
    struct sn_rd_slot *rd;
    uint32_t rd_mask, rd_tail, rd_next; /* next to answer == tail: nothing to send */
    bool rd_around;     /* all of them have been used */
};

struct sn_rx_burst; /* a burst that waits for the copy engine; memory/ */

struct sn_qp {
    /* One cache line, up to the middle of `sq`: what a doorbell for any queue of the same register looks at. */
    struct sn_nic *nic;
    struct sn_port *port;
    struct sn_qp *uar_next;
    uint32_t qpn;
    uint8_t state; /* enum sn_qp_state */
    uint8_t mtu;
    bool active, on_ack_list;
    struct sn_sq sq;
    /* Looked at for each WQE. */
    struct sn_tx tx;
    struct sn_cq *send_cq, *recv_cq;
    struct sn_nic *peer;     /* in process; NULL: by wire */
    uint32_t route_generation;
    uint32_t near_generation; /* of `near`: transport/near.c */
    struct sn_qp *near;      /* the other end, when it is in this port and connected to this one; NULL: not so */
    bool far;                /* it is behind a wire that takes short messages: transport/far.c */
    uint32_t far_generation; /* of `far` */
    struct sn_route route;   /* the wire's */
    uint32_t read_limit;     /* 1 << log_sra_max */
    bool fault_hole; /* a fault plan swallows its requests until the next move from RST */
    struct sn_key_cache lkey_cache, rkey_cache;
    struct sn_qp *active_next, *active_prev, *ack_next;
    struct sn_rx rx;
    struct sn_rq rq;
    struct sn_srq *srq;
    /* Rest. */
    struct sn_uar_object *uar;
    struct sn_qp *wait_next;
    struct sn_cq *waits_on;
    struct sn_timer timer;   /* acknowledgement timeout, or RNR wait; before RTS: a doorbell that came early */
    uint32_t timer_una;      /* una when the timer was armed: the deadline moves lazily */
    uint32_t timer_turns;    /* of the peer's process then */
    bool timer_turns_known;
    uint16_t timer_looks;    /* times that it fired while answers lay on the wire */
    uint64_t starved_since;  /* ns; 0: the peer is not known to be without a processor */
    struct sn_rx_burst *rx_first, **rx_last; /* the first waits for a copy, the others for it */
    uint32_t rx_count;
    uint32_t rx_bytes;       /* of payload kept with them */
    uint32_t rx_phase;       /* copies that the burst in hand has behind it */
    int rx_error;            /* of the last of them */
    struct sn_qp_params params;
    bool tell_drained;   /* SQD: an event is due when all that has begun is done */
    bool tell_last_wqe;  /* ERR with an SRQ: an event is due when it takes no more from it */
    bool established;    /* RTR: the first packet has come */
    struct sn_qp_error error;
    struct sn_watch *watches;
    struct sn_qp_attr attr;
    /* Seldom used. */
    uint64_t cnp_after;      /* ns: no CNP before (A17.9.3) */
    uint64_t gpu_word;       /* an atomic's word in GPU memory passes through here */
    const struct sn_gsi_user *gsi; /* queue pair 1: who takes what arrives; others: NULL */
    uint8_t grh[40];         /* of the datagram in hand */
    struct sn_burst header SN_ALIGNED; /* addressing of everything that this QP sends: two cache lines of it */
};

struct sn_qp *sn_qp_find(const struct sn_nic *nic, uint32_t qpn);
struct sn_cq *sn_cq_find(const struct sn_nic *nic, uint32_t cqn);

/* ---- device and port ----------------------------------------------------------------------------------------- */

struct sn_pd {
    uint32_t users;
};

struct sn_nic {
    /* What each packet looks at. */
    struct sn_port *port;
    struct sn_nic *next;
    uint64_t random; /* state of the generator of keys and QP numbers */
    bool seeded;
    bool uses_both;          /* some UAR has an `other` */
    uint32_t recordless_users; /* QPs without a send record */
    struct sn_map qps;       /* by QPN */
    struct sn_map mkeys;     /* by value */
    /* What keys are made and destroyed with. */
    struct sn_map windows;   /* memory windows, by the upper 24 bits of their keys */
    struct sn_mkey *free_keys; /* `spare_keys` destroyed ones, each with the next as its `addr` */
    uint32_t spare_keys;
    uint32_t key_generation; /* bumped when a key goes */
    uint32_t first_pdn;      /* 0: none; most NICs have one domain, and it is found here */
    struct sn_pd first_pd;
    struct sn_watch *watches; /* of the port */
    uint32_t cursor;    /* cold sweep: the next group */
    struct sn_nic_config config SN_ALIGNED;
    struct sn_counters counters;
    /* Rest. */
    struct sn_regs regs;
    struct sn_table pds, cqs, srqs, uars;
    struct sn_resting *resting; /* numbers of queue pairs that have gone; NULL: they do not rest */
    char name[64];
};

static inline struct sn_pd *sn_pd_find(const struct sn_nic *nic, uint32_t pdn)
{
    if (pdn != 0 && pdn == nic->first_pdn)
        return (struct sn_pd *)(uintptr_t)&nic->first_pd;
    return sn_table_get(&nic->pds, pdn);
}

struct sn_port {
    /* Looked at in each turn: four cache lines, up to the first of `hot`. */
    struct sn_lock *lock;
    struct sn_port_config config;
    uint64_t turn;
    uint64_t now_ns;    /* sampled at most once a turn */
    bool now_valid;
    bool wire_put_off;  /* the last turn did not look at the wire */
    bool thread_looks;  /* the turn is a look of the sleeping thread */
    bool was_idle;      /* the last turn found nothing */
    bool answers_now;   /* what arrives is acknowledged at once: it is alone */
    bool sweep_idled;   /* the sweep had slices of idle turns among them */
    uint8_t at_once; /* registers of this turn whose whole announcement has left already */
    uint8_t put_off; /* turns in a row that have left out the cold registers, and the wire or work */
    uint32_t active_count;
    struct sn_qp *active_first, *active_last;
    struct sn_qp *ack_first;
    struct sn_inproc *inproc; /* own_inproc, or the configuration's */
    struct sn_wire *wire;
    uint64_t effort;    /* ns since the last look at cold registers, guessed */
    struct sn_nic *nics;
    uint32_t topology; /* routes are looked up again when it moves: with NICs, the wire, and every QP's connection */
    uint32_t reg_lines; /* cache lines of registers that a sweep looks at, of all NICs */
    uint32_t uar_count; /* of all NICs: when all are hot, nothing is cold */
    uint32_t swept;     /* lines seen since the sweep over the cold ones began */
    uint64_t sweep_owed; /* lines times guessed ns: work done for which the sweep has not moved on yet */
    struct sn_xfer *xfers; /* copies under way */
    struct sn_faults *faults; /* fault/inject.h; NULL: no plan is active */
    struct sn_cq *unarmed; /* CQs that wrote CQEs while nobody had asked for an event */
    void (*capture)(void *arg, const struct sn_burst *burst); /* NULL: nobody looks */
    uint32_t burst_most;  /* payload of a burst: what was configured, and the wire's limit */
    uint32_t burst_bytes; /* the same, or while a fault plan is active 1: the transport rounds up to one path MTU */
    uint32_t keys_gone;  /* keys destroyed */
    bool payload_stays; /* the burst in hand comes from this port: its payload is pinned until the acknowledgement */
    bool link_down;           /* a fault plan holds the whole link down */
    unsigned hot_count;
    struct sn_uar_object *hot[SN_HOT_UARS];
    /* Seldom. */
    struct sn_lock own_lock; /* unless the configuration brings one */
    struct sn_nic *sweep_nic;
    uint64_t sweep_begun; /* ns; 0: not known */
    uint32_t sweep_effort; /* guessed ns in which all are seen; follows the clock */
    uint64_t cold_found; /* doorbells found by the sweep */
    uint64_t silent_until; /* ns: until then the sleeping thread expects doorbells that nobody announces */
    const struct gdaki_gpu_ops *gpu;
    bool gpu_looked_up, gpu_is_host;
    const void *gpu_atomic;  /* QP that is changing a word in GPU memory */
    int (*tap)(void *arg, const struct sn_burst *burst);
    void *tap_arg;
    void *capture_arg;
    struct sn_cq *unarmed_cursor;
    /* The thread; see port/thread.c. */
    pthread_t thread;
    bool thread_started;
    atomic_bool thread_stop;
    atomic_int asleep; /* 1: a doorbell has to wake the thread */
    atomic_uint unattended;  /* turns of others that do not count as driving: somebody is about to sleep for an event */
    atomic_int stepped_back; /* 1: the thread sleeps because others drive */
    atomic_uint wire_look_ns; /* the wire's look_ns */
    atomic_uint foreign_turns;
    /* Arrays, of which most ports use the beginning, each behind what says how much of it is in use. */
    struct sn_inproc own_inproc;
    struct sn_wheel wheel SN_ALIGNED;
};

/* ns; one clock reading a turn. */
uint64_t sn_port_now(struct sn_port *port);

void sn_qp_activate(struct sn_qp *qp);
void sn_qp_deactivate(struct sn_qp *qp);
void sn_qp_unwait(struct sn_qp *qp); /* off the list of the CQ that a WAIT is about */

/* queue/uar.c */
struct sn_uar_object *sn_uar_get(struct sn_nic *nic, uint32_t index);
void sn_uar_put(struct sn_uar_object *uar);
unsigned sn_uar_look(struct sn_uar_object *uar); /* doorbells taken */
void sn_uar_attach(struct sn_uar_object *uar, struct sn_qp *qp);
void sn_uar_detach(struct sn_uar_object *uar, struct sn_qp *qp);
void sn_uar_forget(const struct sn_qp *qp); /* drops a doorbell of this QP that nobody has seen */
void sn_uar_cool(struct sn_uar_object *uar);
void sn_uar_rung(struct sn_uar_object *uar, enum sn_reg_kind kind, uint64_t value); /* a value that was taken earlier */

/* queue/event.c */
void sn_watch_tell(struct sn_watch *list, enum sn_event_type type, uint32_t number, uint8_t syndrome);
void sn_watch_end(struct sn_watch *list);
void sn_cq_arm_init(struct sn_cq *cq);
void sn_cq_arm_end(struct sn_cq *cq);
bool sn_cq_check_arm(struct sn_cq *cq);
unsigned sn_port_look_arms(struct sn_port *port); /* requests that nobody announced; events raised */
void sn_port_tell_link(struct sn_port *port, bool up);
static inline void sn_qp_tell(struct sn_qp *qp, enum sn_event_type type, uint8_t syndrome)
{
    if (qp->watches != NULL)
        sn_watch_tell(qp->watches, type, qp->qpn, syndrome);
}

/* queue/rq.c: after a receive WQE was taken from an SRQ, or a limit was set. */
void sn_srq_check_limit(struct sn_srq *srq);

/* queue/sq.c */
void sn_sq_reset(struct sn_qp *qp);
bool sn_sq_look(struct sn_qp *qp); /* true: something is posted beyond `fetched` */
bool sn_sq_may_be_posted(const struct sn_qp *qp); /* false: both register and record, in host memory, say that nothing is */
enum sn_sq_fetch { SN_SQ_EMPTY, SN_SQ_LATER, SN_SQ_WQE, SN_SQ_MISMATCH };
enum sn_sq_fetch sn_sq_fetch(struct sn_qp *qp, struct sn_entry *e);
void sn_sq_advance(struct sn_qp *qp, uint32_t blocks);
int sn_sq_mirror_create(struct sn_qp *qp);

/* memory/mkey.c */
struct sn_mkey *sn_qp_key_look_up(struct sn_qp *qp, struct sn_key_cache *cache, uint32_t key);
/* Looks a key up through the QP's cache of the last one. */
static inline struct sn_mkey *sn_qp_key(struct sn_qp *qp, struct sn_key_cache *cache, uint32_t key)
{
    if (cache->key != NULL && cache->value == key && cache->generation == qp->nic->key_generation)
        return cache->key;
    return sn_qp_key_look_up(qp, cache, key);
}
struct sn_mkey *sn_mkey_new(struct sn_nic *nic); /* zeroed; NULL: no memory */
void sn_mkeys_free(struct sn_nic *nic);
/* Remote invalidation; -EACCES: no such key, another domain or queue pair, or a key that does not allow it. */
int sn_mkey_invalidate(struct sn_qp *qp, uint32_t key);

/* memory/mw.c */
bool sn_mw_owns(const struct sn_nic *nic, uint32_t key); /* it is, or may become, the key of a window */
bool sn_mw_serves(const struct sn_mkey *k, const struct sn_qp *qp, bool local);
void sn_mw_end(struct sn_nic *nic, struct sn_mkey *k);
void sn_mw_qp_gone(struct sn_nic *nic, uint32_t qpn);
void sn_mw_region_gone(struct sn_nic *nic, const struct sn_mkey *region);
enum sn_fault sn_mw_bind(struct sn_qp *qp, const struct sn_wqe *w);
enum sn_fault sn_mw_invalidate(struct sn_qp *qp, uint32_t key);

uint64_t sn_nic_random(struct sn_nic *nic);

/* transport/requester.c */
unsigned sn_rc_transmit(struct sn_qp *qp); /* one bounded turn; returns work done */
bool sn_rc_send_at_once(struct sn_qp *qp); /* the short way of the next WQE, if there is one now and nothing stands before it */
static inline struct sn_entry *sn_tx_at(struct sn_qp *qp, uint32_t n)
{
    return &qp->tx.table[n & qp->tx.mask];
}
uint32_t sn_qp_max_message(const struct sn_qp *qp); /* bytes */
uint32_t sn_tx_limit(struct sn_qp *qp); /* first PSN that has not been sent */
void sn_tx_check_drained(struct sn_qp *qp); /* SQD: is it time for the event? */

/* transport/answer.c: what the requester does with answers. bool: false means "goes on when the copy engine is done" */
void sn_rc_acknowledged(struct sn_qp *qp, uint32_t psn, uint8_t syndrome);
void sn_rc_progress(struct sn_qp *qp, uint32_t una);
bool sn_rc_response(struct sn_qp *qp, const struct sn_burst *b);

/* transport/responder.c, read.c */
bool sn_rc_request(struct sn_qp *qp, const struct sn_burst *b);
void sn_rc_ack_due(struct sn_qp *qp, uint8_t syndrome, uint32_t psn);
void sn_rc_nak_fatal(struct sn_qp *qp, const struct sn_burst *b, uint8_t syndrome, uint8_t cqe_syndrome);
void sn_rc_nak(struct sn_qp *qp, uint8_t syndrome);
void sn_rc_rx_progress(struct sn_qp *qp);
bool sn_rc_rx_read(struct sn_qp *qp, const struct sn_burst *b);
bool sn_rc_rx_atomic(struct sn_qp *qp, const struct sn_burst *b);
void sn_rc_rx_duplicate(struct sn_qp *qp, const struct sn_burst *b);
unsigned sn_rc_respond(struct sn_qp *qp); /* read and atomic responses that are due */
void sn_rc_ack_again(struct sn_qp *qp); /* it is due and has not left yet */
void sn_rc_send_acks(struct sn_port *port);
bool sn_rc_acknowledge_before(struct sn_qp *qp, uint32_t psn);

/* transport/unreliable.c */
void sn_unreliable_sent(struct sn_qp *qp); /* what has been sent is done */
bool sn_unreliable_receive(struct sn_qp *qp, const struct sn_burst *b);
bool sn_ud_reaches(const struct sn_qp *qp, const struct sn_entry *e); /* false: its address vector leads nowhere */
void sn_ud_address(struct sn_qp *qp, const struct sn_entry *e, struct sn_burst *b);

/* transport/number.c */
int sn_numbers_rest(struct sn_nic *nic); /* from now on */
void sn_numbers_free(struct sn_nic *nic);
int sn_number_pick(struct sn_nic *nic, uint32_t *qpn); /* -ENOSPC: too many are in use */
void sn_number_gone(struct sn_nic *nic, uint32_t qpn);

/* transport/gsi.c */
void sn_gsi_receive(struct sn_qp *qp, const struct sn_burst *b);

/* transport/near.c: all of the WRITE that is next in the ring, when nothing is in flight. False: nothing is done. */
bool sn_near_write(struct sn_qp *qp, uint32_t *bytes);
static inline bool sn_may_be_near(const struct sn_qp *qp) /* false: it is known not to be */
{
    return qp->near != NULL || qp->near_generation != qp->port->topology;
}

/* transport/far.c: short messages of and for a queue pair of another process. False: nothing is done. */
bool sn_far_write(struct sn_qp *qp, uint32_t *bytes); /* sends the WRITE that is next in the ring; nothing else waits to be sent */
bool sn_far_acknowledge(struct sn_qp *qp);            /* sends what is due */
struct sn_nic *sn_port_find_peer(struct sn_port *port, const uint8_t gid[16], uint32_t qpn); /* port/route.c */

/* transport/retry.c */
void sn_rc_go_back(struct sn_qp *qp, uint32_t psn);
void sn_rc_retry(struct sn_qp *qp); /* timeout, sequence NAK, lost response: one retry less */
void sn_rc_rnr(struct sn_qp *qp, uint8_t code);
void sn_rc_arm(struct sn_qp *qp);
void sn_rc_timer(struct sn_timer *timer);

/* transport/complete.c */
void sn_rc_complete(struct sn_qp *qp); /* pops finished WQEs, writes their CQEs */
void sn_rc_popped(struct sn_qp *qp);   /* what follows that */
unsigned sn_rc_flush_sends(struct sn_qp *qp);
unsigned sn_rc_flush(struct sn_qp *qp); /* in ERR: what is posted ends in flush CQEs */
void sn_rc_fail(struct sn_qp *qp, struct sn_entry *e, uint8_t syndrome, uint8_t vendor);
void sn_qp_error_enter(struct sn_qp *qp);
void sn_qp_send_error(struct sn_qp *qp); /* a send failed: RC to ERR, UC and UD to SQER */
void sn_ud_complete(struct sn_qp *qp, uint32_t bytes, const struct sn_burst *b, uint8_t flags, uint16_t slid);
void sn_qp_error_note(struct sn_qp *qp, bool responder, uint8_t syndrome, uint8_t vendor, uint8_t opcode, uint16_t index);
void sn_rq_complete(struct sn_qp *qp, uint8_t cqe_opcode, uint8_t syndrome, uint32_t bytes, uint32_t imm, bool solicited);

/* transport/arrive.c */
void sn_qp_receive(struct sn_qp *qp, const struct sn_burst *b);
void sn_qp_drop_pending(struct sn_qp *qp);

/* memory/place.c: moves a burst's payload to where it belongs, piece by piece. */
struct sn_placing {
    struct sn_qp *qp;
    const struct sn_burst *b;
    uint32_t iov;  /* cursor in the payload */
    size_t offset;
    size_t staged; /* bytes of xfer->buffer in use */
    struct sn_xfer *xfer;
};
void sn_place_begin(struct sn_placing *p, struct sn_qp *qp, const struct sn_burst *b, size_t skip);
void sn_place(struct sn_placing *p, void *dst, uint32_t space, size_t length);
/* True: everything is in place. False: sn_qp_receive runs the burst again, with rx_phase raised, when it is. */
bool sn_place_end(struct sn_placing *p);
/* A copy that the burst in hand waits for (then as above). */
void sn_qp_wait_copy(struct sn_qp *qp, struct sn_xfer *xfer);

/* port/route.c: where this QP's bursts go. */
enum sn_sent { SN_SENT = 0, SN_SENT_FULL = 1 };
struct sn_burst *sn_port_burst(struct sn_qp *qp, bool request); /* NULL: no room now; addressing is filled in */
enum sn_sent sn_port_send(struct sn_qp *qp, struct sn_burst *b);
/* A burst has come for a NIC: shown to the capture unless this port sent it, and showed it then. */
void sn_port_capture_arrival(struct sn_port *port, const struct sn_qp *qp, const struct sn_burst *b);
enum sn_sent sn_port_forward(struct sn_port *port, const struct sn_burst *b); /* one that is nobody's any more */

#endif
