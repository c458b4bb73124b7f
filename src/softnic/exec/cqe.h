/* SPDX-License-Identifier: Apache-2.0 */
/* Builds CQEs. The caller owns where they go and the order in which the bytes become visible. */
#ifndef SOFTNIC_EXEC_CQE_H
#define SOFTNIC_EXEC_CQE_H

#include "format/cqe.h"

/* Owner bit of the n-th CQE ever written: pass k over the ring has k & 1. */
SN_FN uint8_t sn_cqe_owner(uint32_t counter, uint8_t log_size)
{
    return (uint8_t)((counter >> log_size) & 1);
}

struct sn_cqe_info {
    uint8_t cqe_opcode;  /* enum sn_cqe_opcode */
    uint8_t wqe_opcode;  /* of the send WQE; 0 on the receive side */
    uint8_t syndrome, vendor, hw_synd, hw_type; /* error CQEs only */
    uint8_t solicited;
    uint16_t wqe_counter;
    uint32_t qpn, user_index, srqn;
    uint32_t byte_count;
    uint32_t imm;   /* bytes as sent */
    uint32_t rqpn;  /* source QP, receive side of datagrams */
    uint8_t flags;  /* of datagrams: SN_CQE_GRH, SN_CQE_L3_* */
    uint16_t slid;  /* of datagrams on InfiniBand */
    uint64_t timestamp; /* ns */
};

SN_FN int sn_cqe_is_error(uint8_t cqe_opcode)
{
    return cqe_opcode == SN_CQE_REQ_ERR || cqe_opcode == SN_CQE_RESP_ERR;
}

/* 64 bytes with the owner bit in place; `out` is 8-byte aligned. */
SN_FN void sn_cqe_build(const struct sn_cqe_info *in, uint8_t owner, struct sn_cqe64 *out)
{
    sn_word *words = (sn_word *)(void *)out;
    for (int i = 0; i < 8; i++)
        words[i] = 0;
    if (sn_cqe_is_error(in->cqe_opcode)) {
        struct sn_err_cqe *err = (struct sn_err_cqe *)(void *)out;
        err->srqn = sn_put32(in->srqn);
        err->hw_err_synd = in->hw_synd;
        err->hw_synd_type = in->hw_type;
        err->vendor_err_synd = in->vendor;
        err->syndrome = in->syndrome;
    } else {
        out->flags_rqpn = sn_put32((uint32_t)in->flags << 24 | (in->rqpn & 0xffffffu));
        out->slid = sn_put16(in->slid);
        out->srqn_uidx = sn_put32(in->user_index);
        out->imm = in->imm;
        out->byte_cnt = sn_put32(in->byte_count);
        out->timestamp = sn_put64(in->timestamp);
    }
    out->sop_drop_qpn = sn_put32(((uint32_t)in->wqe_opcode << 24) | (in->qpn & 0xffffffu));
    out->wqe_counter = sn_put16(in->wqe_counter);
    out->op_own = (uint8_t)((in->cqe_opcode << 4) | (in->solicited ? SN_CQE_SOLICITED : 0) | owner);
}

/*
 * The same for the most frequent one, word by word: of a send WQE that went well and brought no bytes back. Filling in a
 * sn_cqe_info, most of it zero, takes longer than all of this.
 */
SN_FN void sn_cqe_build_sent(uint8_t wqe_opcode, uint16_t wqe_counter, uint32_t qpn, uint32_t user_index, uint64_t timestamp,
                             uint8_t owner, sn_word out[8])
{
    out[0] = out[1] = out[2] = out[3] = out[5] = 0;
    out[4] = sn_swap32(user_index);
    out[6] = sn_swap64(timestamp);
    out[7] = sn_swap32((uint32_t)wqe_opcode << 24 | (qpn & 0xffffffu)) | (uint64_t)sn_swap16(wqe_counter) << 32 |
             (uint64_t)(SN_CQE_REQ << 4 | owner) << 56;
}

/* WAIT for index L is over when more than L CQEs have been written, around 2^32. */
SN_FN int sn_wait_is_over(uint32_t cqes_written, uint32_t index)
{
    return (int32_t)(cqes_written - index) > 0;
}

#endif
