/* SPDX-License-Identifier: Apache-2.0 */
/* The meaning of syndromes and vendor syndromes: one line each. Included by explain.c alone. */
#ifndef GDAKI_HOST_EXPLAIN_TABLE_H
#define GDAKI_HOST_EXPLAIN_TABLE_H

#include "gdaki/explain.h"
#include "softnic/exec/fault.h"

#define SYNDROME(code, name, cause, check) {0, code, name, cause, check}
#define VENDOR(code, name, cause, check)   {1, code, name, cause, check}
#define FAULT(fault, name, cause, check)   {1, SN_VENDOR_FAULT + SN_FAULT_##fault, name, cause, check}

static const struct gdaki_explain_entry table[] = {
    SYNDROME(SN_SYND_LOCAL_LENGTH, "local length error",
             "a message is longer than the queue, the receive buffer or the opcode allows",
             "the size that was posted, and the size of the posted receive at the other end"),
    SYNDROME(SN_SYND_LOCAL_QP_OP, "local QP operation error",
             "the NIC could not execute the WQE as it stands in the ring",
             "the WQE's opcode, segment count and index, and that it was written before its doorbell"),
    SYNDROME(SN_SYND_LOCAL_PROT, "local protection error",
             "a local buffer of the WQE is not covered by its lkey",
             "lkey (big-endian in the WQE), address and length of every gather or scatter entry, and the registration's flags"),
    SYNDROME(SN_SYND_FLUSH, "flushed",
             "the queue was in the error state when this WQE's turn came: it was not executed",
             "the first error of the queue, which this one only follows"),
    SYNDROME(SN_SYND_MW_BIND, "memory window bind error", "binding a memory window failed", "the window's key and region"),
    SYNDROME(SN_SYND_BAD_RESPONSE, "bad response",
             "the peer's answer does not fit the request: kind, length or PSN",
             "the peer's implementation; a capture of the exchange shows the packet"),
    SYNDROME(SN_SYND_LOCAL_ACCESS, "local access error",
             "the NIC could not reach local memory while it served a request of the peer",
             "that the memory of the registration is still mapped"),
    SYNDROME(SN_SYND_REMOTE_INVALID, "remote invalid request",
             "the peer refused the request as one that it does not take",
             "that the peer's queue allows the operation (remote write, read, atomic), has a receive queue for SEND and "
             "immediate, and enough responder resources (max_dest_rd_atomic); alignment of atomics"),
    SYNDROME(SN_SYND_REMOTE_ACCESS, "remote access error",
             "the peer refused the key: unknown or deregistered, of another protection domain, without the right, or the "
             "address range leaves the region",
             "rkey (big-endian in the WQE), remote address and size, and the access flags of the peer's registration"),
    SYNDROME(SN_SYND_REMOTE_OP, "remote operation error",
             "the peer met an error of its own while it executed the request",
             "the peer's side: its receive buffers and its queue's error"),
    SYNDROME(SN_SYND_RETRY_EXCEEDED, "transport retry counter exceeded",
             "the peer did not answer, or answered each time that a packet is missing (NAK sequence error), for as many retries as "
             "the queue has",
             "that the peer's queue is at least in RTR, with this queue's number and address; that its process lives; the path "
             "(firewall, MTU, loss); ack_timeout and retry_cnt. Whether the request was executed is not known"),
    SYNDROME(SN_SYND_RNR_EXCEEDED, "RNR retry counter exceeded",
             "the peer had no receive posted, for as many retries as the queue has",
             "that the peer posts receives in time; rnr_retry (7 is for ever) and the peer's min_rnr_timer"),
    SYNDROME(SN_SYND_ABORTED, "aborted by the remote", "the peer ended the operation", "the peer's side"),

    FAULT(OPCODE, "opcode that the NIC does not execute", "the control segment's opcode is none of the known ones",
          "the low byte of the WQE's first word, and byte order"),
    FAULT(OPMOD, "opcode modifier not modelled", "the control segment's top byte asks for a variant", "the opmod field"),
    FAULT(DS, "segment count does not fit", "ds is too small for the opcode's segments, or beyond the ring",
          "the low 6 bits of the control segment's second word"),
    FAULT(FENCE, "fence mode not known", "the fence bits of the control segment hold a reserved value", "fm_ce_se, bits 7 to 5"),
    FAULT(INLINE, "inline data does not fit", "inline data runs beyond the WQE, or the opcode takes none",
          "byte count of the inline segment beside ds"),
    FAULT(LENGTH, "message too long or buffer too short",
          "longer than the queue's log_msg_max, or an atomic's result buffer is smaller than its operand", "the byte counts"),
    FAULT(MISMATCH, "the announced WQE never showed up",
          "a doorbell or record announced a slot which did not show its own index and this queue's number in time",
          "that the WQE is stored before the doorbell with a release between (sync scope), and that indexes are not skipped"),
    FAULT(WAIT_CQ, "WAIT on a CQ that is not there",
          "the CQ number of a WAIT is unknown to the NIC, or that CQ has overrun and counts no more",
          "the CQ number in the WAIT, and that its CQ outlives the queue that waits"),
    FAULT(KEY, "no such key", "the lkey is unknown: never registered here, deregistered, or in the wrong byte order",
          "the key in the WQE, big-endian"),
    FAULT(PD, "key of another protection domain", "key and queue belong to different protection domains",
          "the ibv_pd of the registration and of the queue"),
    FAULT(ACCESS, "key without the right",
          "the registration lacks the access that the operation needs (local write, for reads and atomics)",
          "the access flags at ibv_reg_mr"),
    FAULT(RANGE, "outside the key's range", "address and length leave the registered region", "both, and the region's base"),
    FAULT(MEMORY, "memory could not be copied", "the copy engine failed on the WQE's memory",
          "that GPU memory named in the WQE is still allocated"),
    FAULT(STATE, "posted to a queue that nobody connected", "a doorbell came, but the queue did not reach RTS in time",
          "that the queue is moved to RTS before kernels post to it"),
    FAULT(AV, "datagram's address vector not usable", "the address vector has a wrong size, no GRH, or a source GID that is "
          "not there", "the address handle"),
    FAULT(BIND, "memory window not bound or invalidated", "the region's domain, range or flags do not allow it, or the window is "
          "of another queue pair, or bound (type 2) already", "IBV_ACCESS_MW_BIND and local write at ibv_reg_mr; the window's state"),

    VENDOR(SN_VENDOR_RETRY_EXCEEDED, "no acknowledgement in time", "the local ACK timeout fired once more than retry_cnt allows, "
           "or as many sequence NAKs came", "as for the syndrome"),
    VENDOR(SN_VENDOR_RNR_EXCEEDED, "receiver not ready too often", "more RNR NAKs than rnr_retry allows", "as for the syndrome"),
    VENDOR(SN_VENDOR_REMOTE_ACCESS, "NAK: remote access", "the peer's NAK says so", "as for the syndrome"),
    VENDOR(SN_VENDOR_REMOTE_OP, "NAK: remote operational error", "the peer's NAK says so", "as for the syndrome"),
    VENDOR(SN_VENDOR_REMOTE_INVALID, "NAK: invalid request", "the peer's NAK says so", "as for the syndrome"),
    VENDOR(SN_VENDOR_CQ_OVERRUN, "CQ overrun", "a completion found no room in the CQ (or a fault plan said so)",
           "the CQ's size beside the WQEs in flight, and that the consumer index is written or overrun is ignored"),
    VENDOR(SN_VENDOR_BAD_RESPONSE, "answer does not fit the request", "kind or length of a response is not what was asked for",
           "as for the syndrome"),
    VENDOR(SN_VENDOR_FLUSH, "flushed in the error state", "see the queue's first error", "as for the syndrome"),
};

static const struct {
    int opcode;
    const char *name;
} opcodes[] = {
    {0x00, "NOP"},        {0x01, "SEND_INVAL"}, {0x08, "RDMA_WRITE"}, {0x09, "RDMA_WRITE_IMM"},   {0x0a, "SEND"},
    {0x0b, "SEND_IMM"},   {0x0f, "WAIT"},       {0x10, "RDMA_READ"},  {0x11, "ATOMIC_CS"},        {0x12, "ATOMIC_FA"},
    {0x14, "ATOMIC_MASKED_CS"}, {0x15, "ATOMIC_MASKED_FA"}, {0x1b, "LOCAL_INVAL"}, {0x23, "DUMP"},
    {0x25, "UMR"},
};

#endif
