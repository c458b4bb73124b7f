/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside of libgdaki_cpu: kernels as sets of fibers.
 *
 * A worker is an OS thread. It holds resident blocks; a block stays on the worker that started it. Each CUDA thread of a
 * block is an ex_thread, started on a pooled stack when it is first scheduled. A block's runnable threads form a ring and
 * switch directly to each other; a worker comes back to its own stack (worker.c) when a block has no runnable thread or when
 * every runnable one has given way once (a pass), and there turns to its other blocks, starts a further one, or drives the
 * NIC through the idle hook.
 *
 * Everything of a block is touched by its worker only; no locks. What crosses workers: the pool of launches (pool.c, one
 * mutex), streams (stream.c, one mutex), and the few atomic fields named so.
 */
#ifndef GDAKI_EXECUTOR_EXEC_H
#define GDAKI_EXECUTOR_EXEC_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cpu/gdaki_cpu.h"
#include "cpu/gdaki_cpu_launch.h"
#include "executor/fiber.h"

#define EX_LANES 32u
#define EX_MAX_THREADS 1024u
#define EX_BARRIERS 16u
#define EX_SHARED_MAX (227u * 1024u)

struct ex_block;
struct ex_warp;
struct ex_launch;
struct ex_store_buffer;

/* How much a turn says that a thread spins: a call to relax twice, a run of polled accesses many times. */
enum { EX_SPINNING = 4096, EX_TURN_RELAX = 2048, EX_TURN_POLLS = 256, EX_TURN_BUFFERED = 8 };

enum { EX_ASKED_PREEMPTED = 50 }; /* what a preemption adds to a worker's `asked` */

enum ex_state { EX_READY, EX_IN_BARRIER, EX_IN_WARP_OP, EX_IN_GATHER, EX_GONE };

/* Where a thread waits or was last seen; file is NULL when only an address is known. */
struct ex_place {
    const char *what;
    const char *file;
    int line;
    const void *address;
};

struct ex_thread {
    struct gdaki_cpu_thread_view view; /* first: what kernel code sees through gdaki_cpu_tls.thread */
    struct ex_thread *prev, *next;     /* the block's ring, or the list of a barrier */
    struct ex_block *block;
    struct ex_warp *warp;
    struct ex_stack *stack; /* NULL: not started yet, or gone */
    struct ex_store_buffer *buffer;
    enum ex_state state;
    unsigned barrier;
    unsigned epoch, turns; /* turns: how much it gave way since the warp's gather `epoch` began (EX_TURN_*) */
    struct ex_place place;
    uint64_t value; /* operand in, result out, of a warp operation */
    uint32_t aux;
};

/* Lanes that wait for each other in one warp operation. */
struct ex_warp_group {
    unsigned op;
    uint32_t mask, arrived;
};

struct ex_warp {
    uint32_t exists, gone; /* lanes of the block that there are; that have left the kernel */
    uint32_t parked;       /* in a barrier, warp operation or gather */
    uint32_t spinning;     /* gave way EX_SPINNING or more since the gather began */
    uint32_t gathering;
    unsigned epoch;
    unsigned ngroups;
    struct ex_warp_group groups[EX_LANES];
    struct ex_thread *lanes; /* of lane 0 */
};

struct ex_barrier {
    unsigned arrived, expected; /* expected 0: the whole block */
    unsigned count, all, any;   /* of the predicates */
    unsigned results[3];        /* of the last round: count, all, any. The next one ends only after all have taken them */
    struct ex_thread *waiting;  /* ring */
};

struct ex_block {
    struct gdaki_cpu_block_view view;
    struct ex_launch *launch;
    struct ex_worker *worker;
    struct ex_block *next; /* worker's residents, circular */
    struct ex_thread *ring; /* the thread to run next; NULL: none runnable */
    unsigned runnable, live, nthreads, nwarps;
    unsigned given_way; /* since the pass began */
    uint64_t random;
    uint64_t acquired; /* store buffer: when the block last acquired at GPU or SYS scope */
    struct ex_barrier barriers[EX_BARRIERS];
    struct ex_thread *threads;
    struct ex_warp *warps;
    void **slots;
    unsigned nslots;
    size_t slot_bytes;
};

/* Why a block's fibers came back: all runnable ones gave way, none is runnable, the monitor asked. */
enum ex_reason { EX_PASS, EX_EMPTY, EX_ASKED };

struct ex_worker {
    struct ex_stack own;
    pthread_t thread;
    unsigned number;
    struct ex_block *current; /* resident, circular; NULL: none */
    unsigned residents, resident_threads;
    enum ex_reason reason; /* why the fibers came back */
    struct ex_stack *stacks;
    unsigned pooled;
    unsigned idle_turns, waited_passes, asked; /* asked: times since a block started or ended */
    uintptr_t text_low, text_high; /* the current block's launch's; read by the signal handler */
    bool no_preempt;       /* inside a hook on a fiber's stack */
    uint64_t progress;     /* atomic: counts switches, for the monitor */
    uint64_t seen;         /* monitor's own: progress when it last changed, */
    uint64_t seen_cpu_ns;  /* the thread's processor time then, */
    bool spinner;          /* and whether it had to be interrupted lately */
    bool busy;             /* atomic: runs kernel code */
    bool give_way;         /* atomic: monitor asks for a turn of the other blocks */
};

extern __thread struct ex_worker *ex_self __attribute__((tls_model("initial-exec")));

static inline struct ex_thread *ex_current(void)
{
    return (struct ex_thread *)(uintptr_t)gdaki_cpu_tls.thread;
}

/* ---- sched.c: rings, switching, giving way ---- */
void ex_ring_insert(struct ex_block *block, struct ex_thread *thread);
void ex_ring_splice(struct ex_block *block, struct ex_thread *list, unsigned count);
void ex_list_append(struct ex_thread **list, struct ex_thread *thread);
void ex_list_remove(struct ex_thread **list, struct ex_thread *thread);
/* The running thread leaves the ring until somebody inserts it again. Put it on a list before, with park_prepare. */
void ex_park_prepare(struct ex_thread *thread, enum ex_state state, const char *what, const char *file, int line);
void ex_park(struct ex_thread *thread);
/* The running thread lets others run; back when its turn comes. */
void ex_give_way(struct ex_thread *thread, unsigned turns);
/* From the worker's stack: runs the block's fibers until they come back. */
enum ex_reason ex_block_run(struct ex_worker *worker, struct ex_block *block);
/* The launch has failed: the running fiber is left for good. */
void ex_abandon(void) __attribute__((noreturn));
/* The running fiber's launch fails with this cudaError_t, reported by the caller. */
void ex_stop(int error) __attribute__((noreturn));
uint64_t ex_random(struct ex_block *block);

/* ---- barrier.c, warp.c: events that they must hear of ---- */
void ex_barrier_thread_gone(struct ex_block *block);
void ex_warp_thread_gone(struct ex_thread *thread);
void ex_warp_event(struct ex_warp *warp);
void ex_warp_gave_way(struct ex_thread *thread, unsigned turns);

/* ---- block.c ---- */
struct ex_block *ex_block_create(struct ex_worker *worker, struct ex_launch *launch, uint64_t number);
void ex_block_destroy(struct ex_block *block);
struct ex_stack *ex_stack_get(struct ex_worker *worker);
void ex_stack_put(struct ex_worker *worker, struct ex_stack *stack, bool dirty);

/* ---- pool.c: workers and launches ---- */
struct ex_launch {
    struct gdaki_cpu_launch_config config;
    const char *name;
    void (*kernel)(void *closure);
    void (*destroy)(void *closure);
    void *closure;
    uintptr_t text_low, text_high; /* where kernel code lies: preemption happens only there */
    uint64_t blocks, next_block, done_blocks; /* under the pool's lock */
    uint64_t started_ns;
    uint64_t grid_arrived, grid_turn; /* atomic: of the grid barrier */
    int error;   /* atomic cudaError_t; not 0: its blocks are abandoned */
    bool doomed; /* atomic: the monitor found it running too long */
    struct ex_launch *next, *next_running;
    struct ex_op *op; /* of the stream; told at the end */
};
int ex_pool_start(void);
/* Whether a grid of so many threads can be resident as a whole. */
bool ex_pool_holds(uint64_t threads);
void ex_pool_submit(struct ex_launch *launch);
/* False when it already had failed. */
bool ex_launch_fail(struct ex_launch *launch, int error);
uint64_t ex_now_ns(void);

/* ---- preempt.c ---- */
int ex_monitor_start(void);
void ex_monitor_wake(void);
extern struct ex_pool {
    pthread_mutex_t lock;
    pthread_cond_t work, monitor;
    struct ex_launch *head, *tail; /* with blocks not started */
    struct ex_launch *running;     /* not finished */
    unsigned idle;                 /* atomic: workers asleep */
    uint64_t pending;              /* atomic: blocks not started */
    unsigned resident_threads;     /* atomic */
    unsigned nworkers;
    struct ex_worker *workers;
} ex_pool;

/* ---- hooks.c ---- */
int ex_idle_hook(void);
/* Nobody of the worker can do more than look again: the NIC has a turn, or other processes have. arg: the worker. */
void ex_idle_turn(void *arg);

/* ---- report.c ---- */
void ex_report_deadlock(struct ex_block *block);
void ex_report_runaway(struct ex_block *block);
void ex_report(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- stream.c ---- */
void ex_stream_op_done(struct ex_op *op, int error);

#endif
