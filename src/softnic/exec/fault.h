/* SPDX-License-Identifier: Apache-2.0 */
/* What can be wrong with a WQE or an access, and which syndromes a ConnectX shows for it. */
#ifndef SOFTNIC_EXEC_FAULT_H
#define SOFTNIC_EXEC_FAULT_H

#include "format/cqe.h"

enum sn_fault {
    SN_FAULT_NONE = 0,
    SN_FAULT_OPCODE,      /* not one that softnic executes */
    SN_FAULT_OPMOD,
    SN_FAULT_DS,          /* segment count does not fit the opcode or the ring */
    SN_FAULT_FENCE,
    SN_FAULT_INLINE,      /* inline data beyond the WQE, or where the opcode takes none */
    SN_FAULT_LENGTH,      /* message too long, atomic's buffer too short */
    SN_FAULT_MISMATCH,    /* the slot never showed the WQE that the doorbell announced */
    SN_FAULT_WAIT_CQ,     /* WAIT on a CQ that does not exist */
    SN_FAULT_KEY,         /* no such key */
    SN_FAULT_PD,          /* key of another protection domain */
    SN_FAULT_ACCESS,      /* key without the access flag */
    SN_FAULT_RANGE,       /* beyond the key's range */
    SN_FAULT_MEMORY,      /* the copy engine failed */
    SN_FAULT_STATE,       /* posted to a queue that nobody connects */
    SN_FAULT_AV,          /* datagram: address vector not of 48 bytes, without GRH on Ethernet, or of a GID that is not there */
    SN_FAULT_BIND,        /* memory window: what it is to stand for, or the state that it is in, does not allow it */
    SN_FAULT_COUNT
};

/* Syndrome of a fault at the requester. */
SN_FN uint8_t sn_fault_syndrome(enum sn_fault fault)
{
    switch (fault) {
    case SN_FAULT_NONE:
        return SN_SYND_OK;
    case SN_FAULT_LENGTH:
        return SN_SYND_LOCAL_LENGTH;
    case SN_FAULT_KEY:
    case SN_FAULT_PD:
    case SN_FAULT_ACCESS:
    case SN_FAULT_RANGE:
    case SN_FAULT_MEMORY:
        return SN_SYND_LOCAL_PROT;
    case SN_FAULT_BIND:
        return SN_SYND_MW_BIND;
    default:
        return SN_SYND_LOCAL_QP_OP;
    }
}

/*
 * Vendor syndromes. Those above 0x50 are what ConnectX cards are commonly seen to report; below, softnic's own code for
 * the fault (0x10 + enum sn_fault), finer than the hardware's.
 */
enum {
    SN_VENDOR_FAULT = 0x10,
    SN_VENDOR_RETRY_EXCEEDED = 0x81,
    SN_VENDOR_RNR_EXCEEDED = 0x87,
    SN_VENDOR_REMOTE_ACCESS = 0x88,
    SN_VENDOR_REMOTE_OP = 0x89,
    SN_VENDOR_REMOTE_INVALID = 0x8a,
    SN_VENDOR_CQ_OVERRUN = 0x30,
    SN_VENDOR_BAD_RESPONSE = 0x31,
    SN_VENDOR_FLUSH = 0xf9,
};

#endif
