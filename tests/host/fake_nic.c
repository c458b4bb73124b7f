/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_nic.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define UAR_PAGE 4096u

struct fake_nic fake;
struct ibv_context fake_context;
struct ibv_pd fake_pd = {.context = &fake_context};

static uint32_t next_number;

/* Every call that may fail passes here. */
static bool fails(void)
{
    if (++fake.calls != fake.fail_at)
        return false;
    errno = EREMOTEIO;
    return true;
}

static int fake_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
    (void)context;
    if (fails())
        return EIO;
    *attr = fake.attr;
    return 0;
}

static struct ibv_ah *fake_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
    struct ibv_ah *ah;

    (void)attr;
    if (fails())
        return NULL;
    ah = calloc(1, sizeof(*ah));
    if (ah == NULL)
        return NULL;
    ah->context = pd->context;
    fake.ahs++;
    return ah;
}

static int fake_destroy_ah(struct ibv_ah *ah)
{
    free(ah);
    fake.ahs--;
    return 0;
}

static int fake_init_obj(struct mlx5dv_obj *obj, uint64_t type)
{
    static struct mlx5_wqe_av av = {.rmac = {2, 0, 0, 1, 2, 3}};

    if (fails())
        return EINVAL;
    if (type & MLX5DV_OBJ_PD)
        obj->pd.out->pdn = 7;
    if (type & MLX5DV_OBJ_AH)
        obj->ah.out->av = &av;
    return 0;
}

static void answer_caps(unsigned page, uint8_t *cap)
{
    if (page == PRM_CAP_GENERAL) {
        prm_set_cmd_hca_cap__hca_cap_2(cap, 1);
        prm_set_cmd_hca_cap__rc(cap, 1);
        prm_set_cmd_hca_cap__port_type(cap, fake.ethernet ? PRM_PORT_TYPE_ETH : PRM_PORT_TYPE_IB);
        prm_set_cmd_hca_cap__gid_table_size(cap, 1);
        prm_set_cmd_hca_cap__rts2rts_qp_dscp(cap, 1);
        prm_set_cmd_hca_cap__max_wqe_sz_sq(cap, fake.max_wqe_sz_sq);
        prm_set_cmd_hca_cap__max_wqe_sz_rq(cap, fake.max_wqe_sz_rq);
        prm_set_cmd_hca_cap__log_max_qp_sz(cap, fake.log_max_qp_sz);
    } else if (page == PRM_CAP_GENERAL_2) {
        prm_set_cmd_hca_cap_2__send_dbr_mode_no_dbr_ext(cap, fake.no_dbr_ext);
    } else {
        prm_set_roce_cap__roce_address_table_size(cap, 4);
        prm_set_roce_cap__r_roce_min_src_udp_port(cap, 0xc000);
        prm_set_roce_cap__r_roce_max_src_udp_port(cap, 0xffff);
    }
}

static int fake_general_cmd(struct ibv_context *context, const void *in, size_t inlen, void *out, size_t outlen)
{
    unsigned opcode = (unsigned)prm_get_cmd_in__opcode(in);

    (void)context, (void)inlen, (void)outlen;
    if (fails()) {
        prm_set_cmd_out__syndrome(out, 0x1234);
        return EREMOTEIO;
    }
    if (opcode == PRM_OP_QUERY_HCA_CAP)
        answer_caps((unsigned)prm_get_cmd_in__op_mod(in) >> 1, PRM_AT(out, query_hca_cap_out, capability));
    else if (opcode == PRM_OP_QUERY_ROCE_ADDRESS)
        prm_set_roce_addr_layout__roce_version(PRM_AT(out, query_roce_address_out, roce_address), PRM_ROCE_V2);
    else
        return EOPNOTSUPP;
    return 0;
}

static struct mlx5dv_devx_obj *fake_obj_create(struct ibv_context *context, const void *in, size_t inlen, void *out,
                                               size_t outlen)
{
    struct fake_object *o;

    (void)context, (void)outlen;
    if (fails())
        return NULL;
    o = calloc(1, sizeof(*o));
    if (o == NULL)
        return NULL;
    o->opcode = (unsigned)prm_get_cmd_in__opcode(in);
    o->number = ++next_number;
    memcpy(o->create, in, inlen < sizeof(o->create) ? inlen : sizeof(o->create));
    prm_set_cmd_out__object_id(out, o->number);
    fake.objects++;
    fake.last = o;
    return (struct mlx5dv_devx_obj *)o;
}

static int fake_obj_destroy(struct mlx5dv_devx_obj *obj)
{
    if (fails())
        return EBUSY;
    if (fake.last == (struct fake_object *)obj)
        fake.last = NULL;
    free(obj);
    fake.objects--;
    return 0;
}

static int fake_obj_query(struct mlx5dv_devx_obj *obj, const void *in, size_t inlen, void *out, size_t outlen)
{
    struct fake_object *o = (struct fake_object *)obj;
    uint8_t *qpc = PRM_AT(out, query_qp_out, qpc);

    (void)inlen, (void)outlen;
    if (fails())
        return EREMOTEIO;
    if (prm_get_cmd_in__opcode(in) == PRM_OP_QUERY_CQ) {
        prm_set_cqc__producer_counter(PRM_AT(out, query_cq_out, cq_context), o->producer);
        return fake.answers_query_cq ? 0 : EOPNOTSUPP;
    }
    memcpy(qpc, PRM_AT(o->modify, qp_state_in, qpc), PRM_SIZE_qpc);
    prm_set_qpc__state(qpc, o->state);
    prm_set_qpc__mtu(qpc, fake.query_mtu);
    return 0;
}

static int fake_obj_modify(struct mlx5dv_devx_obj *obj, const void *in, size_t inlen, void *out, size_t outlen)
{
    static const struct {
        unsigned opcode, state;
    } results[] = {
        {PRM_OP_RST2INIT_QP, PRM_QP_INIT}, {PRM_OP_INIT2INIT_QP, PRM_QP_INIT}, {PRM_OP_INIT2RTR_QP, PRM_QP_RTR},
        {PRM_OP_RTR2RTS_QP, PRM_QP_RTS},   {PRM_OP_RTS2RTS_QP, PRM_QP_RTS},    {PRM_OP_2ERR_QP, PRM_QP_ERR},
        {PRM_OP_2RST_QP, PRM_QP_RST},
    };
    struct fake_object *o = (struct fake_object *)obj;

    (void)outlen;
    if (fails()) {
        prm_set_cmd_out__syndrome(out, 0x4321);
        return EREMOTEIO;
    }
    memset(o->modify, 0, sizeof(o->modify));
    memcpy(o->modify, in, inlen);
    for (size_t i = 0; i < sizeof(results) / sizeof(results[0]); i++) {
        if (results[i].opcode == prm_get_cmd_in__opcode(in))
            o->state = results[i].state;
    }
    return 0;
}

static int fake_query_eqn(struct ibv_context *context, uint32_t vector, uint32_t *eqn)
{
    (void)context, (void)vector;
    *eqn = 3;
    return fails() ? EINVAL : 0;
}

static struct mlx5dv_devx_umem *fake_umem_reg_ex(struct ibv_context *context, struct mlx5dv_devx_umem_in *in)
{
    struct mlx5dv_devx_umem *umem;

    (void)context, (void)in;
    if (fails())
        return NULL;
    umem = calloc(1, sizeof(*umem));
    if (umem == NULL)
        return NULL;
    umem->umem_id = ++next_number;
    fake.umems++;
    return umem;
}

static int fake_umem_dereg(struct mlx5dv_devx_umem *umem)
{
    if (fails())
        return EBUSY;
    free(umem);
    fake.umems--;
    return 0;
}

static unsigned type_bit(uint32_t type)
{
    return type == 0 ? 1u << 0 : type == 1 ? 1u << 1 : 1u << 2;
}

static struct mlx5dv_devx_uar *fake_alloc_uar(struct ibv_context *context, uint32_t type)
{
    struct mlx5dv_devx_uar *uar;
    void *page = NULL;

    (void)context;
    if (fails() || (fake.refused_uar_types & type_bit(type))) {
        errno = EOPNOTSUPP;
        return NULL;
    }
    uar = calloc(1, sizeof(*uar));
    if (uar == NULL || posix_memalign(&page, UAR_PAGE, UAR_PAGE) != 0) {
        free(uar);
        return NULL;
    }
    memset(page, 0, UAR_PAGE);
    uar->base_addr = page;
    uar->reg_addr = (char *)page + 0x800;
    uar->page_id = ++next_number;
    fake.uars++;
    return uar;
}

static void fake_free_uar(struct mlx5dv_devx_uar *uar)
{
    free(uar->base_addr);
    free(uar);
    fake.uars--;
}

static int fake_drive(void)
{
    __atomic_fetch_add(&fake.drives, 1, __ATOMIC_RELAXED);
    return 0;
}

static void fake_wake(void)
{
    __atomic_fetch_add(&fake.wakes, 1, __ATOMIC_RELAXED);
}

static int fake_query_qp_error(struct ibv_context *context, uint32_t qpn, struct softnic_qp_error *error)
{
    (void)context, (void)qpn;
    *error = fake.qp_error;
    return 0;
}

static const struct gdaki_nic_ops fake_ops = {
    .name = "fake",
    .kind = GDAKI_NIC_SOFTNIC,
    .ibv_query_device = fake_query_device,
    .ibv_create_ah = fake_create_ah,
    .ibv_destroy_ah = fake_destroy_ah,
    .mlx5dv_init_obj = fake_init_obj,
    .mlx5dv_devx_general_cmd = fake_general_cmd,
    .mlx5dv_devx_obj_create = fake_obj_create,
    .mlx5dv_devx_obj_destroy = fake_obj_destroy,
    .mlx5dv_devx_obj_query = fake_obj_query,
    .mlx5dv_devx_obj_modify = fake_obj_modify,
    .mlx5dv_devx_query_eqn = fake_query_eqn,
    .mlx5dv_devx_umem_reg_ex = fake_umem_reg_ex,
    .mlx5dv_devx_umem_dereg = fake_umem_dereg,
    .mlx5dv_devx_alloc_uar = fake_alloc_uar,
    .mlx5dv_devx_free_uar = fake_free_uar,
    .drive = fake_drive,
    .wake = fake_wake,
    .query_qp_error = fake_query_qp_error,
};

void fake_nic_install(void)
{
    fake = (struct fake_nic){
        .ethernet = true,
        .no_dbr_ext = true,
        .query_mtu = 1,
        .max_wqe_sz_sq = 512,
        .max_wqe_sz_rq = 256,
        .log_max_qp_sz = 15,
        .attr = {.max_qp = 1000,
                 .max_qp_wr = 32768,
                 .max_sge = 30,
                 .max_cq = 1001,
                 .max_cqe = 65536,
                 .max_mr = 1002,
                 .max_pd = 1003,
                 .max_ah = 1004,
                 .max_srq = 1005,
                 .max_srq_wr = 4096,
                 .max_srq_sge = 8,
                 .max_pkeys = 128,
                 .phys_port_cnt = 1,
                 .max_qp_rd_atom = 16,
                 .max_qp_init_rd_atom = 8},
    };
    nic_test_override(&fake_ops);
}

unsigned fake_nic_alive(void)
{
    return fake.objects + fake.umems + fake.uars + fake.ahs;
}
