/* SPDX-License-Identifier: Apache-2.0 */
/* Creation and destruction of CQs, QPs and receive memory pools (RMP: what a shared receive queue is). */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "format/prm.h"
#include "softnic/prm/cmd.h"
#include "softnic/prm/parse.h"

static void put_umems(const struct prm_env *env, struct prm_object *object)
{
    while (object->umem_count)
        env->umem_put(env->arg, object->umem[--object->umem_count]);
}

/* Resolves a umem range for `what` ("wq", "dbr", "cq") and keeps a reference on it in the object. */
static int take_span(const struct prm_env *env, const char *what, const struct prm_umem_ref *ref, uint64_t length,
                     unsigned alignment, struct prm_object *object, struct sn_span *out, struct prm_call *call)
{
    uint64_t size = 0;
    *out = (struct sn_span){0};
    if (!ref->valid)
        return 0;
    int rc = env->umem_get(env->arg, ref->id, ref->offset, length, out, &size);
    if (rc == -ENOENT)
        return prm_refuse(call, PRM_STATUS_BAD_RES, PRM_WHY_UMEM, "%s_umem_id = %u: no such umem", what, ref->id);
    if (rc)
        return prm_refuse(call, PRM_STATUS_BAD_PARAM, PRM_WHY_UMEM,
                          "%s: %" PRIu64 " bytes at offset %" PRIu64 " exceed umem %u of %" PRIu64 " bytes", what,
                          length, ref->offset, ref->id, size);
    object->umem[object->umem_count++] = ref->id;
    if ((uintptr_t)out->addr % alignment)
        return prm_refuse(call, PRM_STATUS_BAD_PARAM, PRM_WHY_ALIGNMENT, "%s: address %p is not a multiple of %u", what,
                          out->addr, alignment);
    return 0;
}

static int create_cq(const struct prm_env *env, const void *in, size_t inlen, struct prm_object *object,
                     struct prm_call *call)
{
    struct prm_cq_args a;
    int rc = prm_parse_create_cq(in, inlen, &a, call);
    if (rc)
        return rc;
    struct sn_cq_attr attr = {.log_size = a.log_size,
                              .cqe_size = a.cqe_bytes,
                              .collapsed = a.collapsed,
                              .overrun_ignore = a.overrun_ignore,
                              .uar = a.uar_page,
                              .eqn = a.eqn};
    object->kind = PRM_OBJECT_CQ;
    if ((rc = take_span(env, "cq", &a.ring, (uint64_t)a.cqe_bytes << a.log_size, 64, object, &attr.ring, call)) ||
        (rc = take_span(env, "dbr", &a.record, 8, 8, object, &attr.record, call)))
        return rc;
    rc = sn_cq_create(env->nic, &attr, &object->number);
    if (rc == -ENOENT || rc == -EINVAL)
        return prm_refuse(call, PRM_STATUS_BAD_RES, PRM_WHY_OBJECT, "uar_page = %u or log_cq_size = %u: %s", a.uar_page,
                          a.log_size, prm_engine_reason(rc));
    memcpy(object->context, PRM_CAT(in, create_cq_in, cq_context), sizeof(object->context));
    return rc ? prm_refuse_engine(call, rc, "completion queue") : 0;
}

/* The receive queue lies first in the umem, the send queue after it. */
static void split_wq(const struct prm_qp_args *a, struct sn_span wq, uint64_t rq_bytes, struct sn_qp_attr *attr)
{
    if (rq_bytes)
        attr->rq = (struct sn_span){wq.addr, rq_bytes, wq.space};
    if (!a->no_sq)
        attr->sq = (struct sn_span){(uint8_t *)wq.addr + rq_bytes, wq.length - rq_bytes, wq.space};
}

static int create_qp(const struct prm_env *env, const void *in, size_t inlen, struct prm_object *object,
                     struct prm_call *call)
{
    struct prm_qp_args a;
    int rc = prm_parse_create_qp(in, inlen, &a, call);
    if (rc)
        return rc;
    struct sn_qp_attr attr = {.service = a.service,
                              .pdn = a.pd,
                              .user_index = a.user_index,
                              .no_sq = a.no_sq,
                              .log_sq_size = a.no_sq ? 0 : a.log_sq_size,
                              .cqn_snd = a.cqn_snd,
                              .rq_kind = a.rq_type == PRM_RQ_TYPE_REGULAR ? SN_RQ_REGULAR
                                         : a.rq_type == PRM_RQ_TYPE_SRQ   ? SN_RQ_SRQ
                                                                          : SN_RQ_NONE,
                              .cqn_rcv = a.cqn_rcv,
                              .no_send_record = a.no_send_record,
                              .uar = a.uar_page};
    uint64_t rq_bytes = 0, sq_bytes = a.no_sq ? 0 : 64ull << a.log_sq_size;
    if (attr.rq_kind == SN_RQ_REGULAR) {
        attr.log_rq_size = a.log_rq_size;
        attr.log_rq_stride = a.log_rq_stride;
        rq_bytes = 1ull << (a.log_rq_size + a.log_rq_stride);
    }
    if (attr.rq_kind == SN_RQ_SRQ)
        attr.srqn = a.srqn;
    object->kind = PRM_OBJECT_QP;
    struct sn_span wq;
    if ((rc = take_span(env, "wq", &a.wq, rq_bytes + sq_bytes, 64, object, &wq, call)) ||
        (rc = take_span(env, "dbr", &a.record, 8, 4, object, &attr.record, call)))
        return rc;
    split_wq(&a, wq, rq_bytes, &attr);
    rc = sn_qp_create(env->nic, &attr, &object->number);
    if (rc == -ENOENT || rc == -EINVAL)
        return prm_refuse(call, PRM_STATUS_BAD_RES, PRM_WHY_OBJECT,
                          "one of pd = %u, cqn_snd = 0x%x, cqn_rcv = 0x%x, srqn = 0x%x, uar_page = %u: %s", a.pd,
                          a.cqn_snd, a.cqn_rcv, a.srqn, a.uar_page, prm_engine_reason(rc));
    return rc ? prm_refuse_engine(call, rc, "queue pair") : 0;
}

static int create_rmp(const struct prm_env *env, const void *in, size_t inlen, struct prm_object *object,
                      struct prm_call *call)
{
    struct prm_rmp_args a;
    int rc = prm_parse_create_rmp(in, inlen, &a, call);
    if (rc)
        return rc;
    struct sn_srq_attr attr = {.pdn = a.pd, .log_size = a.log_size, .log_stride = a.log_stride, .cyclic = a.cyclic};
    object->kind = PRM_OBJECT_RMP;
    if ((rc = take_span(env, "wq", &a.wq, 1ull << (a.log_size + a.log_stride), 16, object, &attr.ring, call)) ||
        (rc = take_span(env, "dbr", &a.record, 4, 4, object, &attr.record, call)))
        return rc;
    rc = sn_srq_create(env->nic, &attr, &object->number);
    if (rc == -ENOENT || rc == -EINVAL)
        return prm_refuse(call, PRM_STATUS_BAD_RES, PRM_WHY_OBJECT, "pd = %u: %s", a.pd, prm_engine_reason(rc));
    return rc ? prm_refuse_engine(call, rc, "receive memory pool") : 0;
}

int prm_object_create(const struct prm_env *env, const void *in, size_t inlen, void *out, size_t outlen,
                      struct prm_object *object, struct prm_call *call)
{
    struct prm_object o = {0};
    int rc = prm_begin(call, in, inlen, out, outlen, PRM_SIZE_cmd_out);
    if (rc)
        return prm_end(call, out, outlen, rc);
    switch (call->opcode) {
    case PRM_OP_CREATE_CQ:
        rc = create_cq(env, in, inlen, &o, call);
        break;
    case PRM_OP_CREATE_QP:
        rc = create_qp(env, in, inlen, &o, call);
        break;
    case PRM_OP_CREATE_RMP:
        rc = create_rmp(env, in, inlen, &o, call);
        break;
    default:
        rc = prm_refuse(call, PRM_STATUS_BAD_OP, PRM_WHY_OPCODE, "not modelled as a creating command");
    }
    if (rc) {
        put_umems(env, &o);
        return prm_end(call, out, outlen, rc);
    }
    prm_set_cmd_out__object_id(out, o.number);
    *object = o;
    return 0;
}

int prm_object_destroy(const struct prm_env *env, struct prm_object *object, struct prm_call *call)
{
    int rc;
    const char *what;
    *call = (struct prm_call){0};
    if (object->kind == PRM_OBJECT_CQ) {
        call->opcode = PRM_OP_DESTROY_CQ;
        what = "completion queue";
        rc = sn_cq_destroy(env->nic, object->number);
    } else if (object->kind == PRM_OBJECT_QP) {
        call->opcode = PRM_OP_DESTROY_QP;
        what = "queue pair";
        rc = sn_qp_destroy(env->nic, object->number);
    } else {
        call->opcode = PRM_OP_DESTROY_RMP;
        what = "receive memory pool";
        rc = sn_srq_destroy(env->nic, object->number);
    }
    if (rc)
        return prm_refuse_engine(call, rc, what);
    put_umems(env, object);
    return 0;
}
