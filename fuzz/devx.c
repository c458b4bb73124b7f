/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command interface: mailboxes of any content and length, as a sequence of commands that create, move, query and destroy
 * objects. A refusal says why and changes nothing; at the end everything can be destroyed and no umem is held.
 */
#include <errno.h>
#include <string.h>

#include "format/prm.h"
#include "rig.h"
#include "softnic/prm/cmd.h"

enum { UMEMS = 4, UMEM_BYTES = 16384, OBJECTS = 12, MAILBOX = 1024 };

struct session {
    struct fuzz_world w;
    struct prm_env env;
    uint8_t *umem[UMEMS];
    unsigned references[UMEMS], expected;
    struct prm_object object[OBJECTS]; /* kind 0: free */
    struct sn_uar uar;
};

static int umem_get(void *arg, uint32_t id, uint64_t offset, uint64_t length, struct sn_span *out, uint64_t *size)
{
    struct session *s = arg;

    if (id == 0 || id > UMEMS)
        return -ENOENT;
    *size = UMEM_BYTES;
    if (offset > UMEM_BYTES || length > UMEM_BYTES - offset)
        return -ERANGE;
    s->references[id - 1]++;
    *out = (struct sn_span){s->umem[id - 1] + offset, length, SN_SPACE_HOST};
    return 0;
}

static void umem_put(void *arg, uint32_t id)
{
    struct session *s = arg;

    FUZZ_CHECK(id >= 1 && id <= UMEMS && s->references[id - 1] != 0, "umem %u is given back too often", id);
    s->references[id - 1]--;
}

static int gid_of_lid(void *arg, uint16_t lid, uint8_t gid[16])
{
    (void)arg;
    if (lid != 0x10)
        return -ENOENT;
    memcpy(gid, fuzz_attacker_gid, 16);
    return 0;
}

static unsigned held(const struct session *s)
{
    unsigned sum = 0;

    for (unsigned i = 0; i < UMEMS; i++)
        sum += s->references[i];
    return sum;
}

/* Called after each command: a verdict in the mailbox, in the call and in the return value are one. */
static void verdict(struct session *s, int rc, const struct prm_call *call, const uint8_t *out, size_t outlen)
{
    if (rc == 0) {
        FUZZ_CHECK(call->error == 0, "accepted with error %d", call->error);
        FUZZ_CHECK(outlen < PRM_SIZE_cmd_out || prm_get_cmd_out__status(out) == 0, "accepted with a bad status");
        return;
    }
    FUZZ_CHECK(rc < 0 && call->error > 0 && call->text[0] != '\0', "refused with %d, error %d, '%s'", rc, call->error, call->text);
    FUZZ_CHECK(outlen < PRM_SIZE_cmd_out || prm_get_cmd_out__status(out) != 0, "refused, and the mailbox says yes: %s", call->text);
    FUZZ_CHECK(held(s) == s->expected, "a refused command holds umems: %s", call->text);
}

/* ---- mailboxes that would be accepted; the input then changes bytes ------------------------------------------------ */

static uint32_t number_of(const struct session *s, enum prm_object_kind kind, uint8_t which)
{
    uint32_t found = 0;

    for (unsigned i = 0, n = 0; i < OBJECTS; i++)
        if (s->object[i].kind == kind && (found == 0 || n++ < which % 4u))
            found = s->object[i].number;
    return found;
}

static size_t create_cq(struct session *s, struct fuzz_in *in, uint8_t *box)
{
    uint8_t *cqc = PRM_AT(box, create_cq_in, cq_context), how = fuzz_u8(in);

    prm_set_create_cq_in__opcode(box, PRM_OP_CREATE_CQ);
    prm_set_create_cq_in__cq_umem_id(box, 1 + how % UMEMS);
    prm_set_create_cq_in__cq_umem_valid(box, 1);
    prm_set_cqc__oi(cqc, how >> 7);
    prm_set_cqc__cc(cqc, how >> 6 & 1);
    prm_set_cqc__cqe_sz(cqc, how >> 5 & 1);
    prm_set_cqc__log_cq_size(cqc, how >> 2 & 7);
    prm_set_cqc__uar_page(cqc, s->uar.index);
    prm_set_cqc__c_eqn(cqc, 1);
    prm_set_cqc__dbr_umem_valid(cqc, 1);
    prm_set_cqc__dbr_umem_id(cqc, 4);
    prm_set_cqc__dbr_addr(cqc, 64);
    return PRM_SIZE_create_cq_in;
}

static size_t create_qp(struct session *s, struct fuzz_in *in, uint8_t *box)
{
    uint8_t *qpc = PRM_AT(box, create_qp_in, qpc), how = fuzz_u8(in), size = fuzz_u8(in);

    prm_set_create_qp_in__opcode(box, PRM_OP_CREATE_QP);
    prm_set_create_qp_in__wq_umem_id(box, 1 + how % UMEMS);
    prm_set_create_qp_in__wq_umem_valid(box, 1);
    prm_set_qpc__st(qpc, how >> 2 & 3);
    prm_set_qpc__pd(qpc, s->w.pdn);
    prm_set_qpc__uar_page(qpc, s->uar.index);
    prm_set_qpc__cqn_snd(qpc, number_of(s, PRM_OBJECT_CQ, how));
    prm_set_qpc__cqn_rcv(qpc, number_of(s, PRM_OBJECT_CQ, size));
    prm_set_qpc__log_sq_size(qpc, size & 7);
    prm_set_qpc__rq_type(qpc, how >> 4 & 1 ? PRM_RQ_TYPE_SRQ : how >> 5 & 1 ? PRM_RQ_TYPE_REGULAR : PRM_RQ_TYPE_ZERO);
    prm_set_qpc__srqn_rmpn_xrqn(qpc, how >> 4 & 1 ? number_of(s, PRM_OBJECT_RMP, size) : 0);
    prm_set_qpc__log_rq_size(qpc, how >> 5 & 1 ? size >> 3 & 7 : 0);
    prm_set_qpc__log_rq_stride(qpc, how >> 5 & 1 ? size >> 6 : 0);
    prm_set_qpc__send_dbr_mode(qpc, how >> 6 & 1);
    prm_set_qpc__dbr_umem_valid(qpc, 1);
    prm_set_qpc__dbr_umem_id(qpc, 4);
    return PRM_SIZE_create_qp_in;
}

static size_t create_rmp(struct session *s, struct fuzz_in *in, uint8_t *box)
{
    uint8_t *rmpc = PRM_AT(box, create_rmp_in, ctx), *wq = PRM_AT(rmpc, rmpc, wq), how = fuzz_u8(in);

    prm_set_create_rmp_in__opcode(box, PRM_OP_CREATE_RMP);
    prm_set_rmpc__state(rmpc, PRM_RMP_STATE_READY);
    prm_set_rmpc__basic_cyclic_rcv_wqe(rmpc, how & 1);
    prm_set_wq__wq_type(wq, how & 1);
    prm_set_wq__pd(wq, s->w.pdn);
    prm_set_wq__log_wq_sz(wq, how >> 1 & 7);
    prm_set_wq__log_wq_stride(wq, 4 + (how >> 4 & 3));
    prm_set_wq__wq_umem_valid(wq, 1);
    prm_set_wq__wq_umem_id(wq, 1 + (how >> 6));
    prm_set_wq__dbr_umem_valid(wq, 1);
    prm_set_wq__dbr_umem_id(wq, 4);
    prm_set_wq__dbr_addr(wq, 128);
    return PRM_SIZE_create_rmp_in;
}

static size_t state_command(struct session *s, struct fuzz_in *in, uint8_t *box, uint32_t qpn)
{
    static const uint16_t opcodes[] = {PRM_OP_RST2INIT_QP, PRM_OP_INIT2RTR_QP, PRM_OP_RTR2RTS_QP, PRM_OP_RTS2RTS_QP,
                                       PRM_OP_2ERR_QP, PRM_OP_2RST_QP, PRM_OP_INIT2INIT_QP, 0x506};
    uint8_t *qpc = PRM_AT(box, qp_state_in, qpc), *ads = PRM_AT(qpc, qpc, primary_address_path);
    uint16_t opcode = opcodes[fuzz_u8(in) % 8];

    (void)s;
    prm_set_qp_state_in__opcode(box, opcode);
    prm_set_qp_state_in__qpn(box, qpn);
    if (opcode == PRM_OP_2ERR_QP || opcode == PRM_OP_2RST_QP)
        return PRM_SIZE_qp_2any_in;
    if (opcode == PRM_OP_RST2INIT_QP) {
        prm_set_qpc__pm_state(qpc, PRM_PM_MIGRATED);
        prm_set_qpc__rwe(qpc, 1);
        prm_set_ads__vhca_port_num(ads, 1);
    } else if (opcode == PRM_OP_INIT2RTR_QP) {
        prm_set_qpc__mtu(qpc, 3);
        prm_set_qpc__log_msg_max(qpc, 30);
        prm_set_qpc__remote_qpn(qpc, 0x990001);
        memcpy(PRM_AT(ads, ads, rgid_rip), fuzz_attacker_gid, 16);
        prm_set_ads__grh(ads, 1);
    } else if (opcode == PRM_OP_RTR2RTS_QP) {
        prm_set_ads__ack_timeout(ads, 8);
        prm_set_qpc__retry_count(qpc, 2);
    }
    return PRM_SIZE_qp_state_in;
}

static void patch(struct fuzz_in *in, uint8_t *box, size_t *length)
{
    for (uint8_t n = fuzz_u8(in) % 5; n != 0; n--) {
        uint16_t at = fuzz_u16(in);
        if (at & 0x8000)
            *length = at % MAILBOX;
        else
            box[at % MAILBOX] ^= fuzz_u8(in);
    }
}

/* ---- commands -------------------------------------------------------------------------------------------------- */

static struct prm_object *pick(struct session *s, uint8_t which, bool free)
{
    for (unsigned i = 0; i < OBJECTS; i++) {
        struct prm_object *o = &s->object[(which + i) % OBJECTS];
        if ((o->kind == 0) == free)
            return o;
    }
    return NULL;
}

static void create(struct session *s, struct fuzz_in *in, uint8_t kind)
{
    uint8_t box[MAILBOX] = {0}, out[64] = {0};
    struct prm_object *o = pick(s, 0, true), before;
    struct prm_call call;
    size_t length, outlen = sizeof(out);

    if (o == NULL)
        return;
    length = kind == 0 ? create_cq(s, in, box) : kind == 1 ? create_qp(s, in, box) : kind == 2 ? create_rmp(s, in, box)
                                                                                              : fuzz_bytes(in, box, fuzz_u8(in) * 4u);
    patch(in, box, &length);
    if (length == MAILBOX - 1)
        outlen = box[7] % 32;
    before = *o;
    int rc = prm_object_create(&s->env, box, length, out, outlen, o, &call);
    if (rc == 0)
        s->expected += o->umem_count;
    verdict(s, rc, &call, out, outlen);
    if (rc != 0)
        FUZZ_CHECK(memcmp(&before, o, sizeof(before)) == 0, "a refused creation fills the object");
    else
        FUZZ_CHECK(o->kind != 0 && prm_get_cmd_out__object_id(out) == o->number, "object 0x%x", o->number);
}

static void modify(struct session *s, struct fuzz_in *in)
{
    uint8_t box[MAILBOX] = {0}, out[16] = {0};
    struct prm_object *o = pick(s, fuzz_u8(in), false);
    struct prm_call call;
    size_t length;

    if (o == NULL)
        return;
    length = state_command(s, in, box, o->number);
    patch(in, box, &length);
    int rc = prm_object_modify(&s->env, o, box, length, out, sizeof(out), &call);
    verdict(s, rc, &call, out, sizeof(out));
}

static void query(struct session *s, struct fuzz_in *in)
{
    uint8_t box[MAILBOX] = {0}, out[PRM_SIZE_query_hca_cap_out] = {0}, how = fuzz_u8(in);
    struct prm_object *o = pick(s, how, false);
    size_t length = PRM_SIZE_query_qp_in, outlen = how & 0x40 ? fuzz_u16(in) % sizeof(out) : sizeof(out);
    struct prm_call call;
    int rc;

    if (how & 0x80 || o == NULL) {
        prm_set_cmd_in__opcode(box, how & 1 ? PRM_OP_QUERY_HCA_CAP : PRM_OP_QUERY_ROCE_ADDRESS);
        patch(in, box, &length);
        rc = prm_general(&s->env, box, length, out, outlen, &call);
    } else {
        prm_set_query_qp_in__opcode(box, o->kind == PRM_OBJECT_QP ? PRM_OP_QUERY_QP : PRM_OP_QUERY_CQ);
        prm_set_query_qp_in__qpn(box, o->number);
        patch(in, box, &length);
        rc = prm_object_query(&s->env, o, box, length, out, outlen, &call);
    }
    verdict(s, rc, &call, out, outlen);
}

static bool destroy(struct session *s, struct prm_object *o)
{
    unsigned umems = o->umem_count;
    struct prm_call call;
    int rc = prm_object_destroy(&s->env, o, &call);

    if (rc == 0) {
        o->kind = 0;
        s->expected -= umems;
    }
    verdict(s, rc, &call, NULL, 0);
    return rc == 0;
}

static void step(struct session *s, struct fuzz_in *in)
{
    uint8_t op = fuzz_u8(in);
    struct prm_object *o;

    switch (op % 9) {
    case 0:
    case 1:
    case 2:
    case 3:
        create(s, in, op % 9);
        break;
    case 4:
    case 5:
        modify(s, in);
        break;
    case 6:
        query(s, in);
        break;
    case 7:
        if ((o = pick(s, op >> 4, false)) != NULL)
            (void)destroy(s, o);
        break;
    default:
        fuzz_run(&s->w, op >> 4);
        break;
    }
}

static void destroy_all(struct session *s)
{
    static const enum prm_object_kind order[] = {PRM_OBJECT_QP, PRM_OBJECT_RMP, PRM_OBJECT_CQ};

    for (unsigned k = 0; k < 3; k++)
        for (unsigned i = 0; i < OBJECTS; i++)
            if (s->object[i].kind == order[k])
                FUZZ_CHECK(destroy(s, &s->object[i]), "object 0x%x cannot be destroyed", s->object[i].number);
    FUZZ_CHECK(held(s) == 0, "%u references to umems are left", held(s));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct session s;
    static uint8_t memory[UMEMS][UMEM_BYTES] __attribute__((aligned(4096)));
    struct fuzz_in in = {data, size};

    if (size > 4096)
        return 0;
    memset(&s, 0, sizeof(s));
    memset(memory, 0, sizeof(memory));
    fuzz_world_open(&s.w, 0);
    for (unsigned i = 0; i < UMEMS; i++)
        s.umem[i] = memory[i];
    s.env = (struct prm_env){
        .nic = s.w.nic[0], .arg = &s, .umem_get = umem_get, .umem_put = umem_put, .gid_of_lid = gid_of_lid};
    FUZZ_CHECK(sn_uar_alloc(s.w.nic[0], &s.uar) == 0, "UAR");
    while (in.left != 0)
        step(&s, &in);
    destroy_all(&s);
    FUZZ_CHECK(sn_uar_free(s.w.nic[0], s.uar.index) == 0, "UAR");
    fuzz_world_close(&s.w);
    return 0;
}
