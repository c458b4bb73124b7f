/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The software NIC's engine: objects, their life, and the entry points that drive them.
 *
 * Callers: prm/ and verbs/ (control path), port/ (who drives it), tests and simulations. The engine owns no thread, no
 * socket and no clock: time, doorbells and arriving bursts go in; bursts, memory accesses and completions come out.
 *
 * Concurrency: one sn_port is one lock domain. Every function below needs the port's lock (sn_port_lock) unless its
 * comment says otherwise; sn_port_run takes it by itself, with a try-lock. Several NICs in a port share the lock, so
 * that in-process delivery is a plain function call.
 *
 * Errors: 0 or negative errno. `struct sn_err` (errors.h) carries what was attempted, on which object, which value.
 */
#ifndef SOFTNIC_NIC_H
#define SOFTNIC_NIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "softnic/counters.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sn_port; /* NICs driven together: one lock, one thread at most */
struct sn_nic;  /* one device */
struct sn_wire; /* wire/wire.h */
struct sn_inproc; /* wire/inproc.h */
struct sn_asks; /* port/asks.h */
struct gdaki_gpu_ops; /* gpu/gpu.h */

enum sn_link { SN_LINK_ETHERNET = 0, SN_LINK_INFINIBAND = 1 };
enum sn_space { SN_SPACE_HOST = 0, SN_SPACE_GPU = 1 }; /* GPU: reached by the copy engine only */

/* A piece of memory that the NIC reaches. `addr` is what a WQE or the CPU would use. Ownership stays with the caller. */
struct sn_span {
    void *addr;
    size_t length; /* bytes */
    enum sn_space space;
};

/* ---- port ---------------------------------------------------------------------------------------------------- */

struct sn_port_config {
    uint64_t (*now)(void *arg); /* ns, monotonic; NULL: CLOCK_MONOTONIC. Simulations inject virtual time here */
    void *now_arg;
    bool no_thread; /* never start a thread: somebody calls sn_port_run (tests, simulation) */
    uint32_t burst_bytes; /* most payload of one burst; 0: 256 KiB. Simulations ask for one path MTU, to lose single packets */
    const struct gdaki_gpu_ops *gpu; /* copy engine; NULL: gdaki_gpu_current() when GPU memory first turns up */
    struct sn_lock *lock; /* the port's, for who must take it before knowing whether there is a port; NULL: its own */
    /*
     * Where bursts are built; empty between turns. NULL: the port's own. Simulations have one for all their ports, whose turns
     * follow each other in one thread: zeroed, and sn_inproc_destroy after the last port.
     */
    struct sn_inproc *bursts;
};

int sn_port_create(const struct sn_port_config *config, struct sn_port **out);
void sn_port_destroy(struct sn_port *port); /* all NICs destroyed before */
void sn_port_lock(struct sn_port *port);
void sn_port_unlock(struct sn_port *port);

/*
 * One bounded turn: looks at doorbells, executes WQEs, delivers bursts, fires timers. Takes the lock with a try-lock.
 * Returns the amount of work done (0: nothing to do), or -EBUSY when somebody else is driving. Call without the lock.
 */
int sn_port_run(struct sn_port *port);
int sn_port_run_locked(struct sn_port *port); /* the same with the lock held */

/* Wakes the port's thread if it sleeps; one relaxed load when it does not. Any thread, no lock. */
void sn_port_wake(struct sn_port *port);

/* The caller is about to sleep for an event: a thread that has stepped back goes on at once. Any thread, no lock. */
void sn_port_unattended(struct sn_port *port);

/* ---- device -------------------------------------------------------------------------------------------------- */

struct sn_nic_config {
    const char *name; /* "softnic0", copied */
    enum sn_link link;
    uint8_t gid_count;
    uint8_t slot;      /* process slot 1..255: the top 8 bits of every QPN of this process */
    uint16_t lid;
    uint8_t gid[4][16]; /* GID table, index 0.. ; network order */
    uint8_t mac[6];
    uint64_t seed;     /* of keys and QP numbers; 0: from getrandom */
    uint32_t max_uars; /* 0: 4096 */
};

int sn_nic_create(struct sn_port *port, const struct sn_nic_config *config, struct sn_nic **out);
int sn_nic_destroy(struct sn_nic *nic); /* frees every object left; pending work is dropped */
struct sn_port *sn_nic_port(struct sn_nic *nic);
const struct sn_nic_config *sn_nic_get_config(const struct sn_nic *nic);
void sn_nic_get_counters(const struct sn_nic *nic, struct sn_counters *out);
const char *sn_counter_name(unsigned n); /* of the n-th field of struct sn_counters; NULL beyond the last */

/* ---- protection domains and memory keys ------------------------------------------------------------------------ */

int sn_pd_create(struct sn_nic *nic, uint32_t *pdn);
int sn_pd_destroy(struct sn_nic *nic, uint32_t pdn); /* -EBUSY while a key or queue uses it */

enum sn_access { /* same values as IBV_ACCESS_* */
    SN_ACCESS_LOCAL_WRITE = 1 << 0,
    SN_ACCESS_REMOTE_WRITE = 1 << 1,
    SN_ACCESS_REMOTE_READ = 1 << 2,
    SN_ACCESS_REMOTE_ATOMIC = 1 << 3,
    SN_ACCESS_MW_BIND = 1 << 4,
    /* Not one of verbs: a SEND with invalidate may end the key, as that of a type 2 window. No region of verbs has it. */
    SN_ACCESS_REMOTE_INVALIDATE = 1 << 30,
};

struct sn_mkey_attr {
    uint32_t pdn;
    uint32_t access;     /* enum sn_access; other IBV_ACCESS_* bits are ignored here */
    uint64_t iova;       /* address that WQEs use for the first byte */
    struct sn_span span; /* where the bytes are; length is the key's length */
};

/* One key serves as lkey and rkey, as on ConnectX. The value is unpredictable and never 0. */
int sn_mkey_create(struct sn_nic *nic, const struct sn_mkey_attr *attr, uint32_t *key);
uint32_t sn_port_keys_gone(const struct sn_port *port); /* moves whenever a key of a NIC of this port is destroyed */
/* The two keys stand for each other's memory, domain and rights from now on. -EBUSY: one is, or has, a window. */
int sn_mkey_exchange(struct sn_nic *nic, uint32_t a, uint32_t b);
int sn_mkey_destroy(struct sn_nic *nic, uint32_t key); /* waits until no access is in flight; -ENOENT, -EBUSY: windows */

/*
 * A memory window of type 1 or 2 (IBTA vol. 1, 10.6.7.2), bound to nothing: a key without rights. UMR WQEs bind it, and
 * change the low 8 bits of its key. sn_mkey_destroy, with the key that it has then, ends it in any state.
 */
int sn_mw_create(struct sn_nic *nic, uint32_t pdn, unsigned type, uint32_t *key);
/* The key that a window has now: that with the same upper 24 bits. -ENOENT: there is none. */
int sn_mw_key(struct sn_nic *nic, uint32_t key, uint32_t *now);

/* ---- doorbell registers ---------------------------------------------------------------------------------------- */

/*
 * A UAR: `reg` is the register that 8-byte doorbells and BlueFlame writes go to; `dbrless` is the register that QPs without
 * a doorbell record use (on a ConnectX: page base + 0x600). Several queues may share a register. All lie in one region, so
 * that looking at all of them is cheap.
 */
struct sn_uar {
    uint32_t index; /* the "page id" */
    void *reg;      /* 64 bytes may be written; 64-byte aligned, or 8-byte when packed; stable until sn_uar_free */
    void *dbrless;  /* takes stores of 8 bytes */
    void *base;     /* reg == base + 0x800 and dbrless == base + 0x600; NULL: the caller maps a page of its own if it wants one */
    int fd;         /* memfd of the region that holds both, owned by the NIC; its pages may be mapped again */
    size_t offset;  /* of dbrless in it; reg is 0x200 further on, in the same 1024-byte block */
};

int sn_uar_alloc(struct sn_nic *nic, struct sn_uar *out);
/*
 * For very many UARs: beyond 64 of a NIC up to 8 share a cache line. Doorbells of 8 bytes are what they are elsewhere; after a
 * BlueFlame write the NIC goes by the record, and sees it when the record is there or with the doorbell that follows.
 */
int sn_uar_alloc_packed(struct sn_nic *nic, struct sn_uar *out);
/*
 * Its queues may also be rung at reg ^ 0x100: clients that know the two BlueFlame buffers of a ConnectX's register take turns.
 * The other address may be another UAR's register, which goes on working.
 */
int sn_uar_use_both(struct sn_nic *nic, uint32_t index);
int sn_uar_free(struct sn_nic *nic, uint32_t index); /* legal while queues use it: they keep it alive */

/* ---- completion queues ----------------------------------------------------------------------------------------- */

struct sn_cq_attr {
    struct sn_span ring;     /* 2^log_size entries of cqe_size bytes */
    uint8_t log_size;
    uint16_t cqe_size;       /* 64 or 128 */
    bool collapsed;          /* cc: every CQE is written to slot 0 */
    bool overrun_ignore;     /* oi: the consumer index is not looked at */
    struct sn_span record;   /* 8 bytes: word 0 consumer index, word 1 arm; may be empty (length 0) with overrun_ignore */
    uint32_t uar;
    uint32_t eqn;
    bool timestamps;         /* somebody reads them: the clock is read in each turn that writes a CQE */
};

int sn_cq_create(struct sn_nic *nic, const struct sn_cq_attr *attr, uint32_t *cqn);
int sn_cq_destroy(struct sn_nic *nic, uint32_t cqn); /* -EBUSY while a QP uses it */
/* Another ring; CQEs that were not read yet move to it. Consumers are kept away by the caller. */
int sn_cq_resize(struct sn_nic *nic, uint32_t cqn, const struct sn_span *ring, uint8_t log_size);
/* CQEs written since creation (32 bits): what WAIT compares with. */
int sn_cq_producer(struct sn_nic *nic, uint32_t cqn, uint32_t *count);

/* ---- queue pairs and shared receive queues ----------------------------------------------------------------------- */

enum sn_qp_state { SN_QP_RST = 0, SN_QP_INIT = 1, SN_QP_RTR = 2, SN_QP_RTS = 3, SN_QP_SQER = 4, SN_QP_SQD = 5, SN_QP_ERR = 6 };
enum sn_service {
    SN_SERVICE_RC = 0,
    SN_SERVICE_UC = 1,
    SN_SERVICE_UD = 3,
    SN_SERVICE_DC = 6, /* as a control object only: has a number and states, each WQE fails, no packet is taken */
};

struct sn_qp_attr {
    enum sn_service service;
    uint32_t pdn;
    uint32_t user_index; /* 24 bits */
    bool no_sq;
    uint8_t log_sq_size; /* log2 of 64-byte WQE basic blocks */
    struct sn_span sq;   /* 2^log_sq_size * 64 bytes */
    uint32_t cqn_snd;
    enum { SN_RQ_NONE, SN_RQ_REGULAR, SN_RQ_SRQ } rq_kind;
    uint8_t log_rq_size;   /* log2 entries */
    uint8_t log_rq_stride; /* log2 bytes, >= 4 */
    struct sn_span rq;
    uint32_t cqn_rcv;
    uint32_t srqn;
    struct sn_span record; /* 8 bytes: word 0 receive counter, word 1 send counter (BE32 of index & 0xffff) */
    bool no_send_record;   /* send_dbr_mode 1: the producer index comes from the dbrless register only */
    uint32_t uar;
    uint32_t *failed; /* a word of the host that the engine sets to 1 in ERR and to 0 in RST; NULL: nobody looks */
};

int sn_qp_create(struct sn_nic *nic, const struct sn_qp_attr *attr, uint32_t *qpn); /* state RST */
int sn_qp_destroy(struct sn_nic *nic, uint32_t qpn);

/* What the state commands carry; `mask` says which fields are given. PRM names. */
enum sn_qp_field {
    SN_QPF_PKEY_INDEX = 1 << 0,
    SN_QPF_PORT = 1 << 1,
    SN_QPF_RWE = 1 << 2,
    SN_QPF_RRE = 1 << 3,
    SN_QPF_RAE = 1 << 4, /* rae and atomic_mode */
    SN_QPF_MTU = 1 << 5,
    SN_QPF_RCV_PSN = 1 << 6,
    SN_QPF_SND_PSN = 1 << 7,
    SN_QPF_REMOTE = 1 << 8, /* remote_qpn */
    SN_QPF_PATH = 1 << 9,   /* address path */
    SN_QPF_MIN_RNR = 1 << 10,
    SN_QPF_ACK_TIMEOUT = 1 << 11,
    SN_QPF_RETRY = 1 << 12,
    SN_QPF_RNR_RETRY = 1 << 13,
    SN_QPF_SRA = 1 << 14, /* log_sra_max: reads/atomics as initiator */
    SN_QPF_RRA = 1 << 15, /* log_rra_max: reads/atomics as responder */
    SN_QPF_MSG_MAX = 1 << 16,
    SN_QPF_QKEY = 1 << 17, /* datagrams */
    SN_QPF_SQD_EVENT = 1 << 18, /* to SQD: an event when it has drained (params.sqd_event) */
};

struct sn_path {
    uint8_t dgid[16];
    uint8_t sgid_index;
    uint8_t hop_limit, traffic_class, dscp, sl, stat_rate;
    uint32_t flow_label;
    uint16_t rlid, udp_sport;
    uint8_t rmac[6];
    bool grh;
};

struct sn_qp_params {
    uint16_t pkey_index;
    uint8_t port;
    bool rwe, rre, rae;
    uint8_t atomic_mode;
    uint8_t mtu; /* 1..5: 256..4096 */
    uint8_t log_msg_max;
    uint32_t rcv_psn, snd_psn; /* 24 bits */
    uint32_t remote_qpn;
    uint32_t qkey;
    struct sn_path path;
    uint8_t min_rnr, ack_timeout, retry_count, rnr_retry, log_sra_max, log_rra_max;
    bool sqd_event;
};

/* Runs a transition; -EINVAL for a pair of states that the specification does not allow (IBTA vol. 1, 10.3.1). */
int sn_qp_modify(struct sn_nic *nic, uint32_t qpn, enum sn_qp_state to, const struct sn_qp_params *params, uint32_t mask);

/* First error of a QP since it last left RST; has_error false: none. Kept until the next move to RST. */
struct sn_qp_error {
    bool has_error;
    uint8_t syndrome, vendor_err_synd, hw_err_synd, hw_synd_type;
    uint8_t opcode;       /* of the WQE, or of the packet at the responder */
    uint16_t wqe_counter;
    bool responder;       /* seen on the receive side */
};

int sn_qp_query(struct sn_nic *nic, uint32_t qpn, enum sn_qp_state *state, struct sn_qp_params *params,
                struct sn_qp_attr *attr, struct sn_qp_error *error); /* any out pointer may be NULL */

/* In SQD: is something that was begun before still under way? (verbs: sq_draining) */
int sn_qp_draining(struct sn_nic *nic, uint32_t qpn, bool *draining);

struct sn_srq_attr {
    uint32_t pdn;
    uint8_t log_size;   /* log2 entries */
    uint8_t log_stride; /* log2 bytes */
    bool cyclic;        /* contiguous ring; false: linked list (first 16 bytes of a WQE name the next) */
    struct sn_span ring;
    struct sn_span record; /* 4 bytes: receive counter */
};

int sn_srq_create(struct sn_nic *nic, const struct sn_srq_attr *attr, uint32_t *srqn);
int sn_srq_destroy(struct sn_nic *nic, uint32_t srqn); /* -EBUSY while a QP uses it */

/*
 * One SN_EVENT_SRQ_LIMIT when fewer than `limit` receives are left, now or later; then the limit is 0 again. 0: none.
 * -EINVAL beyond the ring.
 */
int sn_srq_set_limit(struct sn_nic *nic, uint32_t srqn, uint32_t limit);
int sn_srq_limit(struct sn_nic *nic, uint32_t srqn, uint32_t *limit);

/*
 * Looks at a queue pair's records now, for what rings no register: receive WQEs posted to a queue in ERR (they end in
 * flush CQEs), or a send queue whose record is known to have moved.
 */
int sn_qp_kick(struct sn_nic *nic, uint32_t qpn);

/* ---- events ------------------------------------------------------------------------------------------------------ */

enum sn_event_type {
    SN_EVENT_COMPLETION = 0, /* CQ: a CQE that its record asked for (queue/event.c says how) */
    SN_EVENT_CQ_ERROR,       /* CQ: it has overrun */
    SN_EVENT_QP_ESTABLISHED, /* QP: the first packet came in RTR */
    SN_EVENT_QP_DRAINED,     /* QP: in SQD, all that had begun is done (asked for by SN_QPF_SQD_EVENT) */
    SN_EVENT_QP_REQUEST,     /* QP: as responder it met an invalid request, and no receive of its own tells */
    SN_EVENT_QP_ACCESS,      /* QP: the same for a request that violates a key */
    SN_EVENT_QP_FATAL,       /* QP: an error that no completion could tell */
    SN_EVENT_QP_LAST_WQE,    /* QP with an SRQ, in ERR: it will complete no more receives */
    SN_EVENT_SRQ_LIMIT,
    SN_EVENT_SRQ_ERROR,      /* SRQ: its ring or record cannot be read */
    SN_EVENT_PORT_DOWN,      /* number: of the port, 1 */
    SN_EVENT_PORT_UP,
};

struct sn_event {
    enum sn_event_type type;
    uint32_t number; /* of the object */
    uint8_t syndrome; /* enum sn_syndrome where there is one */
};

/*
 * Somebody who hears of an object's events. Memory of the watcher, zeroed at first; it watches until sn_unwatch or until the
 * object is destroyed. Several may watch one object. `fn` runs inside the engine: it may do no more than note the event and
 * wake somebody, and of the engine call sn_unwatch of its own watch only.
 */
struct sn_watch {
    void (*fn)(struct sn_watch *w, const struct sn_event *event);
    uint32_t without;              /* 1 << enum sn_event_type: not wanted. A CQ nobody wants completions of costs less */
    struct sn_watch *next, **link; /* link == NULL: watches nothing */
};

int sn_cq_watch(struct sn_nic *nic, uint32_t cqn, struct sn_watch *w);
int sn_qp_watch(struct sn_nic *nic, uint32_t qpn, struct sn_watch *w);
int sn_srq_watch(struct sn_nic *nic, uint32_t srqn, struct sn_watch *w);
void sn_nic_watch(struct sn_nic *nic, struct sn_watch *w); /* of its port */
void sn_unwatch(struct sn_watch *w);

/* The record's request word is made to say "none yet", unless it holds a request already. For CQs whose record is all zeros. */
void sn_cq_unask(struct sn_nic *nic, uint32_t cqn);

/* The record of a watched CQ has been given a request: looks at it now, without waiting for a CQE or an idle turn. */
int sn_cq_look_arm(struct sn_nic *nic, uint32_t cqn);

bool sn_nic_link_up(const struct sn_nic *nic); /* false: a fault plan holds the whole link down */

/* ---- queue pair 1 ------------------------------------------------------------------------------------------------ */

/* A management datagram, with the addresses as this side sees them. */
struct sn_gsi_mad {
    uint8_t local[16], remote[16]; /* GIDs */
    uint32_t remote_qpn;
    uint8_t bytes[256];
};

struct sn_gsi_user { /* stays the caller's, as long as it is set */
    void (*receive)(void *arg, struct sn_nic *nic, const struct sn_gsi_mad *mad); /* lock held; must not send */
    void *arg;
};

int sn_nic_set_gsi(struct sn_nic *nic, const struct sn_gsi_user *user); /* -EBUSY: there is one. NULL ends it */
/* 0: sent, or lost; -EAGAIN: no room now, offer it again after a turn; -ENOTCONN: no QP 1 */
int sn_gsi_send(struct sn_nic *nic, const struct sn_gsi_mad *mad);
void sn_gsi_show(struct sn_nic *nic, const struct sn_gsi_mad *mad); /* to the capture: it came through another process */

/* ---- wires ----------------------------------------------------------------------------------------------------- */

struct sn_burst; /* wire/burst.h */

/*
 * A burst for a QP of `nic` has arrived (addressing already checked by the wire against the NIC's GIDs). Everything in
 * *burst is untrusted and is checked here. Payload references stay valid until the call returns.
 */
void sn_nic_receive(struct sn_nic *nic, const struct sn_burst *burst);

/*
 * A burst for this QP will soon be received, and the port then run: notes what of the cache that touches. Step 0 (the
 * NIC), some time later step 1 (its port, where to find what is named), 2 (that) and 3 (what that leads to). For whoever
 * drives so many NICs that they do not stay in the cache.
 */
enum { SN_EXPECT_STEPS = 4, SN_EXPECT_KEYS = 2 };
struct sn_expected {
    uint32_t qpn;
    uint32_t keys, key[SN_EXPECT_KEYS]; /* memory keys that will be used */
    bool creates; /* as many keys will be created */
    bool rings;   /* a doorbell will be rung */
    bool ends;    /* the queue pair will be moved to ERR */
};
void sn_nic_expect(struct sn_asks *asks, const struct sn_nic *nic, const struct sn_expected *what, unsigned step);

/* Wire for destinations outside this port. In-process destinations never reach it. NULL detaches. */
void sn_port_attach_wire(struct sn_port *port, struct sn_wire *wire);

/* A peer process died (its wire hung up): QPs connected to its slot retry and then fail, as if cables were cut. */
void sn_port_peer_gone(struct sn_port *port, const uint8_t gid[16], uint8_t slot);

/*
 * Fault injection below the queues: sees each burst that is about to be delivered inside the port. `fn` may change it
 * through a copy of its own and deliver that with sn_nic_receive. NULL ends it.
 */
enum sn_tap_verdict { SN_TAP_PASS = 0, SN_TAP_DROP = 1, SN_TAP_DUPLICATE = 2 };
void sn_port_set_tap(struct sn_port *port, int (*fn)(void *arg, const struct sn_burst *burst), void *arg);

/*
 * Sees each burst that a queue pair of this port sends, once, and each that arrives from outside the port (wire/capture.h
 * makes a capture file of them). Lock held. NULL ends it.
 */
void sn_port_set_capture(struct sn_port *port, void (*fn)(void *arg, const struct sn_burst *burst), void *arg);

/* ns of the earliest timer, UINT64_MAX for none: how far a simulation may move its clock. */
uint64_t sn_port_next_deadline(struct sn_port *port);
uint64_t sn_port_next_deadline_before(struct sn_port *port, uint64_t when); /* UINT64_MAX: none before `when` */

/* NIC of this port that owns a GID, or NULL. */
struct sn_nic *sn_port_find_nic(struct sn_port *port, const uint8_t gid[16]);

#ifdef __cplusplus
}
#endif
#endif
