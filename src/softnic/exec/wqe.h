/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one parser of send WQEs. It reads a private copy (never the ring), checks everything that can be checked without
 * looking at keys, and says what is wrong as an enum sn_fault, which exec/fault.h turns into a syndrome.
 */
#ifndef SOFTNIC_EXEC_WQE_H
#define SOFTNIC_EXEC_WQE_H

#include "format/wqe.h"
#include "softnic/exec/fault.h"

/* What a WQE makes the NIC do. */
enum sn_op {
    SN_OP_NOP,
    SN_OP_WAIT,
    SN_OP_BIND,       /* a memory window, or the end of its binding */
    SN_OP_INVALIDATE, /* of a memory window of type 2 */
    SN_OP_DUMP,
    SN_OP_SEND,
    SN_OP_WRITE,
    SN_OP_READ,
    SN_OP_ATOMIC,
};

struct sn_wqe {
    uint8_t op;     /* enum sn_op */
    uint8_t opcode; /* enum sn_opcode */
    uint8_t ds;     /* segments of 16 bytes, control segment included */
    uint8_t blocks; /* basic blocks that the WQE takes in the ring */
    uint8_t fence;  /* enum sn_fence */
    uint8_t ce;     /* enum sn_ce */
    uint8_t solicited, has_imm, invalidate;
    uint8_t masked, atomic_size;
    uint8_t data_seg;   /* first segment of the scatter/gather list */
    uint8_t has_inline; /* at least one piece of the list is inline data */
    uint16_t index;     /* 16 bits, of the first basic block */
    uint32_t length;    /* bytes of the message */
    uint32_t imm;       /* bytes as given */
    uint32_t rkey;
    uint32_t wait_cqn, wait_index;
    uint32_t qkey, dqpn; /* datagrams; the rest of the address vector stays in the WQE: sn_wqe_av */
    uint64_t raddr;
    uint64_t swap_add, compare, swap_mask, compare_mask; /* host order; field boundary of a masked add: compare_mask */
    /* Bind: rkey, raddr (first address), compare (address in the region), swap_add (bytes; 0: of nothing), wait_cqn (key of
     * the region), dqpn (queue pair that may be asked through it, or SN_MKEY_ANY_QP). */
    uint8_t bind_access, bind_low; /* SN_MKEY_*; low bits of the key to come */
};

/* Services as in enum sn_service, and as the two top bits of a BTH opcode say them. */
enum { SN_WQE_RC = 0, SN_WQE_UC = 1, SN_WQE_UD = 3 };

/* One piece of a scatter/gather list. */
struct sn_piece {
    uint64_t addr; /* inline: offset from the start of the WQE */
    uint32_t lkey;
    uint32_t length;
    uint8_t is_inline;
    uint8_t next; /* segment after this piece */
};

/* The control segment's identity, enough to tell whether the slot holds the WQE that is due. */
SN_FN int sn_ctrl_matches(const struct sn_ctrl_seg *ctrl, uint32_t qpn, uint16_t index)
{
    return ((sn_get32(ctrl->opmod_idx_opcode) >> 8) & 0xffffu) == index && sn_get32(ctrl->qpn_ds) >> 8 == qpn;
}

SN_FN uint8_t sn_ctrl_ds(const struct sn_ctrl_seg *ctrl)
{
    return (uint8_t)(sn_get32(ctrl->qpn_ds) & 0x3fu);
}

SN_FN uint8_t sn_ctrl_opcode(const struct sn_ctrl_seg *ctrl)
{
    return (uint8_t)(sn_get32(ctrl->opmod_idx_opcode) & 0xffu);
}

/* Basic blocks of a WQE of ds segments; an invalid ds of 0 still takes its slot. */
SN_FN uint32_t sn_wqe_blocks(uint32_t ds)
{
    return ds == 0 ? 1 : (ds + 3) / 4;
}

/* Reads the piece at segment `seg`. The caller has checked that seg < ds. */
SN_FN enum sn_fault sn_wqe_piece(const uint8_t *raw, uint32_t seg, uint32_t ds, struct sn_piece *out)
{
    const struct sn_data_seg *data = (const struct sn_data_seg *)(const void *)(raw + seg * SN_WQE_SEG);
    uint32_t count = sn_get32(data->byte_count);
    uint32_t segments;

    if (!(count & SN_INLINE_SEG)) {
        out->addr = sn_get64(data->addr);
        out->lkey = sn_get32(data->lkey);
        out->length = count;
        out->is_inline = 0;
        out->next = (uint8_t)(seg + 1);
        return SN_FAULT_NONE;
    }
    count &= ~SN_INLINE_SEG;
    if (count > SN_WQE_MAX_DS * SN_WQE_SEG)
        return SN_FAULT_INLINE;
    segments = (count + 4 + SN_WQE_SEG - 1) / SN_WQE_SEG;
    if (seg + segments > ds)
        return SN_FAULT_INLINE;
    out->addr = seg * SN_WQE_SEG + 4;
    out->lkey = 0;
    out->length = count;
    out->is_inline = 1;
    out->next = (uint8_t)(seg + segments);
    return SN_FAULT_NONE;
}

/* Adds up the scatter/gather list from data_seg on. */
SN_FN enum sn_fault sn_wqe_measure(const uint8_t *raw, struct sn_wqe *w, int inline_allowed, uint32_t max_message)
{
    uint64_t total = 0;
    uint32_t seg = w->data_seg;

    while (seg < w->ds) {
        struct sn_piece piece;
        enum sn_fault fault = sn_wqe_piece(raw, seg, w->ds, &piece);
        if (fault != SN_FAULT_NONE)
            return fault;
        if (piece.is_inline && !inline_allowed)
            return SN_FAULT_INLINE;
        w->has_inline |= piece.is_inline;
        total += piece.length;
        seg = piece.next;
    }
    if (total > max_message)
        return SN_FAULT_LENGTH;
    w->length = (uint32_t)total;
    return SN_FAULT_NONE;
}

SN_FN void sn_wqe_raddr(const uint8_t *raw, struct sn_wqe *w)
{
    const struct sn_raddr_seg *r = (const struct sn_raddr_seg *)(const void *)(raw + SN_WQE_SEG);
    w->raddr = sn_get64(r->raddr);
    w->rkey = sn_get32(r->rkey);
}

SN_FN void sn_wqe_masked_operands(const uint8_t *seg, struct sn_wqe *w)
{
    if (w->opcode == SN_OPCODE_ATOMIC_MASKED_FA && w->atomic_size == 4) {
        const struct sn_masked_fa32_seg *a = (const struct sn_masked_fa32_seg *)(const void *)seg;
        w->swap_add = sn_get32(a->add);
        w->compare_mask = sn_get32(a->boundary);
    } else if (w->opcode == SN_OPCODE_ATOMIC_MASKED_FA) {
        const struct sn_masked_fa64_seg *a = (const struct sn_masked_fa64_seg *)(const void *)seg;
        w->swap_add = sn_get64(a->add);
        w->compare_mask = sn_get64(a->boundary);
    } else if (w->atomic_size == 4) {
        const struct sn_masked_cs32_seg *a = (const struct sn_masked_cs32_seg *)(const void *)seg;
        w->swap_add = sn_get32(a->swap);
        w->compare = sn_get32(a->compare);
        w->swap_mask = sn_get32(a->swap_mask);
        w->compare_mask = sn_get32(a->compare_mask);
    } else {
        const struct sn_masked_cs64_seg *a = (const struct sn_masked_cs64_seg *)(const void *)seg;
        w->swap_add = sn_get64(a[0].swap);
        w->compare = sn_get64(a[0].compare);
        w->swap_mask = sn_get64(a[1].swap);
        w->compare_mask = sn_get64(a[1].compare);
    }
}

SN_FN enum sn_fault sn_wqe_atomic(const uint8_t *raw, uint8_t opmod, struct sn_wqe *w, uint32_t max_message)
{
    uint32_t operands = 1;

    w->op = SN_OP_ATOMIC;
    w->masked = w->opcode == SN_OPCODE_ATOMIC_MASKED_CS || w->opcode == SN_OPCODE_ATOMIC_MASKED_FA;
    w->atomic_size = 8;
    if (w->masked && opmod != SN_OPMOD_MASKED_4 && opmod != SN_OPMOD_MASKED_8)
        return SN_FAULT_OPMOD;
    if (!w->masked && opmod != 0)
        return SN_FAULT_OPMOD;
    if (w->masked && opmod == SN_OPMOD_MASKED_4)
        w->atomic_size = 4;
    if (w->opcode == SN_OPCODE_ATOMIC_MASKED_CS && w->atomic_size == 8)
        operands = 2;
    w->data_seg = (uint8_t)(2 + operands);
    if (w->ds != w->data_seg + 1)
        return SN_FAULT_DS;
    sn_wqe_raddr(raw, w);
    if (w->masked) {
        sn_wqe_masked_operands(raw + 2 * SN_WQE_SEG, w);
    } else {
        const struct sn_atomic_seg *a = (const struct sn_atomic_seg *)(const void *)(raw + 2 * SN_WQE_SEG);
        /* A fetch-add takes its operand from the first word, a compare-swap the value to store. */
        w->swap_add = sn_get64(a->swap_add);
        w->compare = sn_get64(a->compare);
    }
    enum sn_fault fault = sn_wqe_measure(raw, w, 0, max_message);
    if (fault != SN_FAULT_NONE)
        return fault;
    if (w->length < w->atomic_size)
        return SN_FAULT_LENGTH;
    w->length = w->atomic_size;
    return SN_FAULT_NONE;
}

SN_FN enum sn_fault sn_wqe_wait(const uint8_t *raw, uint8_t opmod, struct sn_wqe *w)
{
    const struct sn_wait_seg *seg = (const struct sn_wait_seg *)(const void *)(raw + SN_WQE_SEG);

    w->op = SN_OP_WAIT;
    if (opmod != 0)
        return SN_FAULT_OPMOD;
    if (w->ds != 2)
        return SN_FAULT_DS;
    w->wait_index = sn_get32(seg->max_index);
    w->wait_cqn = sn_get32(seg->cqn) & 0xffffffu;
    return SN_FAULT_NONE;
}

/* Of all that a UMR can say: bind a memory window to one piece of one region, or to nothing (the context is free). */
SN_FN enum sn_fault sn_wqe_umr(const uint8_t *raw, uint8_t opmod, struct sn_wqe *w)
{
    const struct sn_umr_ctrl_seg *umr = (const struct sn_umr_ctrl_seg *)(const void *)(raw + SN_WQE_SEG);
    const struct sn_mkey_seg *key = (const struct sn_mkey_seg *)(const void *)(raw + 4 * SN_WQE_SEG);
    const struct sn_klm_seg *klm = (const struct sn_klm_seg *)(const void *)(raw + 8 * SN_WQE_SEG);

    if (opmod != 0)
        return SN_FAULT_OPMOD;
    if (w->ds != SN_UMR_DS || !(umr->flags & SN_UMR_INLINE) || sn_get16(umr->klm_octowords) != 4)
        return SN_FAULT_DS;
    if (sn_get64(umr->mkey_mask) != SN_UMR_MASK_BIND)
        return SN_FAULT_OPCODE; /* a UMR for something else */
    w->op = SN_OP_BIND;
    w->rkey = sn_swap32(w->imm);
    w->bind_low = (uint8_t)sn_get32(key->qpn_mkey);
    w->dqpn = sn_get32(key->qpn_mkey) >> 8;
    w->bind_access = key->access;
    w->raddr = sn_get64(key->start_addr);
    w->swap_add = key->free & SN_MKEY_FREE ? 0 : sn_get64(key->len);
    w->compare = sn_get64(klm->address);
    w->wait_cqn = sn_get32(klm->mkey);
    return w->swap_add != 0 && w->swap_add != sn_get32(klm->byte_count) ? SN_FAULT_BIND : SN_FAULT_NONE;
}

/* Segments before the scatter/gather list of a message, 0 for no such opcode. */
SN_FN uint8_t sn_wqe_message(uint8_t opcode, uint8_t *op, uint8_t *has_imm)
{
    *has_imm = opcode == SN_OPCODE_RDMA_WRITE_IMM || opcode == SN_OPCODE_SEND_IMM;
    switch (opcode) {
    case SN_OPCODE_RDMA_WRITE:
    case SN_OPCODE_RDMA_WRITE_IMM:
        *op = SN_OP_WRITE;
        return 2;
    case SN_OPCODE_RDMA_READ:
        *op = SN_OP_READ;
        return 2;
    case SN_OPCODE_SEND:
    case SN_OPCODE_SEND_IMM:
    case SN_OPCODE_SEND_INVAL: /* the key in the immediate's place */
        *op = SN_OP_SEND;
        return 1;
    case SN_OPCODE_DUMP:
        *op = SN_OP_DUMP;
        return 1;
    default:
        return 0;
    }
}

/* What a service has of the opcodes: unreliable ones answer nothing, and a datagram has no remote memory (10.8.2). */
SN_FN int sn_wqe_service_has(unsigned service, uint8_t opcode)
{
    switch (opcode) {
    case SN_OPCODE_NOP:
    case SN_OPCODE_WAIT:
    case SN_OPCODE_DUMP:
    case SN_OPCODE_SEND:
    case SN_OPCODE_SEND_IMM:
        return 1;
    case SN_OPCODE_RDMA_WRITE:
    case SN_OPCODE_RDMA_WRITE_IMM:
    case SN_OPCODE_UMR:
    case SN_OPCODE_LOCAL_INVAL:
        return service != SN_WQE_UD;
    default:
        return service == SN_WQE_RC;
    }
}

SN_FN const struct sn_av_seg *sn_wqe_av(const uint8_t *raw)
{
    return (const struct sn_av_seg *)(const void *)(raw + SN_WQE_SEG);
}

SN_FN int sn_av_has_grh(const struct sn_av_seg *av)
{
    return (sn_get32(av->grh_gid_fl) & SN_AV_GRH) != 0;
}

SN_FN uint32_t sn_av_sgid_index(const struct sn_av_seg *av)
{
    return (sn_get32(av->grh_gid_fl) >> 20) & 0xffu;
}

/* The address vector of a datagram; then the gather list. */
SN_FN enum sn_fault sn_wqe_datagram(const uint8_t *raw, struct sn_wqe *w, uint32_t max_message)
{
    const struct sn_av_seg *av = sn_wqe_av(raw);

    w->data_seg = 1 + sizeof(struct sn_av_seg) / SN_WQE_SEG;
    if (w->ds < w->data_seg)
        return SN_FAULT_DS;
    if (!(sn_get32(av->dqp_dct) & SN_AV_EXTENDED))
        return SN_FAULT_AV;
    w->qkey = sn_get32(av->qkey);
    w->dqpn = sn_get32(av->dqp_dct) & 0xffffffu;
    return sn_wqe_measure(raw, w, 1, max_message);
}

/*
 * Parses the WQE at `raw`, a private, 8-byte aligned copy of at least ds * 16 bytes. The caller has matched the control
 * segment (sn_ctrl_matches). On a fault `out` still holds what identifies the WQE: opcode, index, ds, blocks, ce.
 */
SN_FN enum sn_fault sn_wqe_parse_for(unsigned service, const uint8_t *raw, uint32_t ring_blocks, uint32_t max_message,
                                     struct sn_wqe *out)
{
    const struct sn_ctrl_seg *ctrl = (const struct sn_ctrl_seg *)(const void *)raw;
    uint32_t word0 = sn_get32(ctrl->opmod_idx_opcode);
    uint8_t opmod = (uint8_t)(word0 >> 24);

    out->op = SN_OP_NOP;
    out->opcode = (uint8_t)word0;
    out->index = (uint16_t)(word0 >> 8);
    out->ds = sn_ctrl_ds(ctrl);
    out->blocks = (uint8_t)sn_wqe_blocks(out->ds);
    out->fence = ctrl->fm_ce_se >> 5;
    out->ce = (ctrl->fm_ce_se >> 2) & 3;
    out->solicited = (ctrl->fm_ce_se & SN_WQE_SOLICITED) != 0;
    out->imm = ctrl->imm;
    out->masked = out->atomic_size = out->has_inline = out->has_imm = 0;
    out->invalidate = out->opcode == SN_OPCODE_SEND_INVAL;
    out->length = 0;

    if (out->ds == 0 || out->blocks > ring_blocks)
        return SN_FAULT_DS;
    if (out->fence > SN_FENCE_READS_SMALL)
        return SN_FAULT_FENCE;
    if (service != SN_WQE_RC && !sn_wqe_service_has(service, out->opcode))
        return SN_FAULT_OPCODE;
    switch (out->opcode) {
    case SN_OPCODE_NOP:
        return SN_FAULT_NONE;
    case SN_OPCODE_WAIT:
        return sn_wqe_wait(raw, opmod, out);
    case SN_OPCODE_UMR:
        return sn_wqe_umr(raw, opmod, out);
    case SN_OPCODE_LOCAL_INVAL:
        out->op = SN_OP_INVALIDATE;
        out->rkey = sn_swap32(out->imm);
        return opmod != 0 ? SN_FAULT_OPMOD : out->ds != 1 ? SN_FAULT_DS : SN_FAULT_NONE;
    case SN_OPCODE_ATOMIC_CS:
    case SN_OPCODE_ATOMIC_FA:
    case SN_OPCODE_ATOMIC_MASKED_CS:
    case SN_OPCODE_ATOMIC_MASKED_FA:
        return sn_wqe_atomic(raw, opmod, out, max_message);
    default:
        break;
    }
    out->data_seg = sn_wqe_message(out->opcode, &out->op, &out->has_imm);
    if (out->data_seg == 0)
        return SN_FAULT_OPCODE;
    if (out->op == SN_OP_DUMP && opmod != 0)
        return SN_FAULT_OPMOD;
    if (out->ds < out->data_seg || (out->op == SN_OP_DUMP && out->ds != 2))
        return SN_FAULT_DS;
    if (service == SN_WQE_UD && out->op == SN_OP_SEND)
        return sn_wqe_datagram(raw, out, max_message);
    if (out->data_seg == 2)
        sn_wqe_raddr(raw, out);
    return sn_wqe_measure(raw, out, out->op == SN_OP_WRITE || out->op == SN_OP_SEND, max_message);
}

SN_FN enum sn_fault sn_wqe_parse(const uint8_t *raw, uint32_t ring_blocks, uint32_t max_message, struct sn_wqe *out)
{
    return sn_wqe_parse_for(SN_WQE_RC, raw, ring_blocks, max_message, out);
}

#endif
