/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Errors and hangs in words. An error CQE has two numbers, syndrome and vendor syndrome; what they mean, what the usual
 * cause is and where to look stands in one table, which `gdaki explain --list` prints.
 *
 * All functions may be called from any thread, and while kernels run. Those that write text write at most `size` bytes with
 * the terminator and return the length of all of it, as snprintf does.
 */
#ifndef GDAKI_EXPLAIN_H
#define GDAKI_EXPLAIN_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct doca_gpu_verbs_qp;

/* Short names ("remote access error", "key of another protection domain"); NULL: not in the table. */
const char *gdaki_explain_syndrome_name(int syndrome);
const char *gdaki_explain_vendor_name(int vendor_syndrome);
const char *gdaki_explain_opcode_name(int opcode); /* of a send WQE: "RDMA_WRITE" */

struct gdaki_explain_entry {
    int vendor; /* 0: `code` is a syndrome; 1: a vendor syndrome */
    int code;
    const char *name, *cause, *check;
};

/* The table, by index; NULL past the end. */
const struct gdaki_explain_entry *gdaki_explain_at(size_t index);

/* Name, likely cause and what to check, in lines. vendor_syndrome or opcode -1: not known. */
size_t gdaki_explain_syndrome(int syndrome, int vendor_syndrome, int opcode, char *out, size_t size);

/*
 * The first error of an exported queue: number, WQE index, operation (read back from the ring where the slot still holds
 * that WQE), then as above. Empty if the queue is in no error, or cannot be asked.
 */
size_t gdaki_explain_qp_error(struct doca_gpu_verbs_qp *qp, char *out, size_t size);

/*
 * For hangs: how far kernel, records and NIC have got, and on softnic what the queue waits for. Followed by the error, if
 * there is one.
 */
size_t gdaki_explain_qp(struct doca_gpu_verbs_qp *qp, char *out, size_t size);

#ifdef __cplusplus
}
#endif
#endif
