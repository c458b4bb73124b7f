/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libsoftnic: a software ConnectX behind rdma-core's API.
 *
 * The verbs themselves are exported as softnic_ibv_* and softnic_mlx5dv_* with the prototypes of <infiniband/verbs.h>
 * and <infiniband/mlx5dv.h>; a program finds them with dlsym, so that the system's libibverbs and this library can live
 * in one process. What stands here is what a software NIC needs beyond them: somebody to drive it, and ways to look
 * inside.
 *
 * Everything may be called from any thread, before a device is opened and after the last one is closed.
 */
#ifndef GDAKI_SOFTNIC_H
#define GDAKI_SOFTNIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

struct ibv_context;

/*
 * One bounded turn of the NIC, for whoever would otherwise wait: looks at doorbells, executes work, delivers, fires
 * timers. Returns the amount of work done, 0 if there was none (or no device is open), -EBUSY if somebody else is
 * driving.
 */
int softnic_drive(void);

/* Tells a sleeping NIC thread that a doorbell was rung by a CPU. Costs one load while it is awake. */
void softnic_wake(void);

/* True for a context that softnic_ibv_open_device made in this process (not one inherited through fork). */
bool softnic_owns_context(const struct ibv_context *context);

/* True for an address inside a doorbell register of an open context. Takes locks: not for a fast path. */
bool softnic_owns_register(const void *address);

/* True for memory that touches a page with doorbell registers of an open context, as GPU drivers register it. Takes locks. */
bool softnic_owns_doorbells(const void *from, size_t size);

/*
 * ns that a doorbell rung by somebody who cannot call softnic_wake (a GPU) may stay unseen in the worst case, while
 * nobody else drives. UINT64_MAX: for ever (SOFTNIC_THREAD=0).
 */
uint64_t softnic_worst_wake_ns(void);

/* First error of a QP since it last left RST. */
struct softnic_qp_error {
    bool has_error;
    uint8_t syndrome, vendor_err_synd, hw_err_synd, hw_synd_type;
    uint8_t opcode;       /* of the WQE, or of the packet at the responder */
    uint16_t wqe_counter; /* of the failed WQE */
    bool responder;       /* seen on the receive side */
};

/* 0, -EINVAL (not our context), -ENOENT (no such QP). */
int softnic_query_qp_error(struct ibv_context *context, uint32_t qpn, struct softnic_qp_error *error);

/*
 * What a QP is doing and what it waits for, in words, for hangs: state, PSNs, retries left, timers, WAIT, RNR, fences,
 * limits, a doorbell that was not seen. Lines of text; at most `size` bytes with the terminator. Returns the length of all
 * of it (as snprintf), -EINVAL (not our context) or -ENOENT (no such QP).
 */
int softnic_explain_qp(struct ibv_context *context, uint32_t qpn, char *out, size_t size);

/* Counters of this process since its first device was opened. New members go to the end. */
struct softnic_stats {
    uint64_t commands, refused; /* verbs and DEVX calls that reached the NIC; those among them that it refused */
    uint64_t shm_bursts_sent, shm_bytes_sent;
    uint64_t shm_bursts_received, shm_bytes_received;
    uint64_t shm_wakes;       /* times that a sleeping peer was woken */
    uint64_t shm_connections; /* now open */
    uint64_t shm_peers_lost;  /* hang-ups */
    uint64_t shm_bad_records; /* connections closed because of what they carried */
    /* Wires of RoCEv2 frames. */
    uint64_t frames_sent, frame_bytes_sent, frame_calls; /* calls: system calls that sent them */
    uint64_t frames_received, frame_bytes_received;
    uint64_t frames_not_roce, frames_short, frames_bad_ip, frames_bad_length, frames_bad_bth, frames_bad_payload,
        frames_bad_icrc;        /* refused, by reason */
    uint64_t frames_partly;     /* taken with 15 of 32 bits of the invariant CRC checked: UDP over IPv4 */
    uint64_t frames_for_nobody; /* no NIC, or no process, with that address and QP number */
    uint64_t frames_passed_on, frames_passed_to_us; /* between processes that share an address */
    uint64_t frames_lost;       /* could not be sent: too long for the interface, no route, nobody takes them */
    uint64_t bursts_waited, bursts_unresolved; /* no room or window; no MAC address found */
    uint64_t frame_wakes;       /* of a sleeping port by an arrival */
};

/* Fills at most `size` bytes; returns sizeof(struct softnic_stats) of the library. */
size_t softnic_stats(struct softnic_stats *stats, size_t size);

struct softnic_env {
    const char *name, *default_value, *help;
};

/* The SOFTNIC_* environment variables. The table is static and has *count entries. */
const struct softnic_env *softnic_env_table(size_t *count);

/*
 * Says that DMA-BUF `fd` stands for `size` bytes at `base` (GPU memory): a real DMA-BUF names no address, and a
 * software NIC needs one. To be called right after the export; the fd may be closed afterwards. 0 or negative errno.
 */
int softnic_dmabuf_note(int fd, void *base, size_t size);

/* Forgets what was noted for memory at `base`; to be called before that memory is freed. */
void softnic_dmabuf_forget(void *base);

/* Text of this thread's last refused call ("CREATE_QP: st = 3 is not modelled (0: RC)"), or "". */
const char *softnic_last_error(void);

/*
 * For libraries on top of this one that refuse a call of theirs: errno, text, log and count as for a refused verb.
 * Returns EOPNOTSUPP.
 */
int softnic_refuse(const char *function, const char *reason);

/*
 * Faults on purpose, below the verbs: packets, refusals, completions, doorbells. docs/faults.md has the language of plans
 * ("drop:rate=0.01;lose-response:kind=atomic,nth=1"). One plan a process: softnic_fault_set takes the place of the active
 * one, also of SOFTNIC_FAULTS, and stays when devices are closed and opened; softnic_fault_clear ends it (what is held
 * back is delivered). 0, -EINVAL (softnic_last_error says which rule and value) or -ENOMEM.
 */
int softnic_fault_set(const char *plan, uint64_t seed);
int softnic_fault_clear(void);

/* What the active plan, or else the last one, has done. New members go to the end. */
struct softnic_fault_stats {
    uint64_t packets_seen, doorbells_seen, completions_seen; /* looked at while it was active */
    uint64_t dropped, duplicated, delayed, reordered;
    uint64_t corrupted, corrupted_passed; /* passed: hit where no CRC covers */
    uint64_t responses_lost;
    uint64_t retry_exceeded; /* requests swallowed for it */
    uint64_t link_down;      /* packets lost to it */
    uint64_t naks, rnr_naks, cq_overruns;
    uint64_t doorbells_lost, doorbells_delayed, doorbells_merged;
    uint64_t held;           /* packets and doorbells held back now */
    uint64_t overflow;       /* packets lost because no more could be held back */
};

/* Fills at most `size` bytes; returns sizeof(struct softnic_fault_stats) of the library. */
size_t softnic_fault_stats(struct softnic_fault_stats *stats, size_t size);

/*
 * What Linux would show of these devices in sysfs and /dev/infiniband, for whoever presents it to programs. `path` is
 * absolute and plain: no "//", ".", ".." or trailing slash.
 */
enum softnic_sysfs_kind { SOFTNIC_SYSFS_NONE, SOFTNIC_SYSFS_FOLDER, SOFTNIC_SYSFS_FILE, SOFTNIC_SYSFS_LINK, SOFTNIC_SYSFS_NODE };
enum softnic_sysfs_kind softnic_sysfs_kind(const char *path);

/*
 * Content of a file, target of a link, or names in a folder, a line each; also what belongs into a folder that is not
 * ours, such as /sys/class. Cut off at `size` - 1 bytes, terminated. Length, or what reading gives: -ENOENT, -EINVAL (an
 * empty table entry), -ENXIO (a device node). Counters are those of the NIC that this process runs.
 */
long softnic_sysfs_read(const char *path, char *out, size_t size);

/* "shm", "none", "udp", "packet", "xdp", "tap", "dgram" or "pcap": what carries messages to other processes. */
const char *softnic_wire_name(void);

/* A line about it: who is reached, and which checks it cannot make. */
const char *softnic_wire_says(void);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif
#endif
