/* SPDX-License-Identifier: Apache-2.0 */
/* Devices, queries, objects and their life, through the exported functions. */
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rig.h"

/* What the header's inline functions fall back to when a context lacks an op: ours must not. */
int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
    (void)context, (void)attr;
    abort();
}

int(ibv_query_port)(struct ibv_context *context, uint8_t port, struct _compat_ibv_port_attr *attr)
{
    (void)context, (void)port, (void)attr;
    abort();
}

static void devices_and_names(void **state)
{
    (void)state;
    int n;
    setenv("SOFTNIC_DEVICES", "3", 1);
    struct ibv_device **list = softnic_ibv_get_device_list(&n);
    assert_int_equal(n, 3);
    assert_string_equal(softnic_ibv_get_device_name(list[2]), "softnic2");
    assert_true(softnic_ibv_get_device_guid(list[0]) != softnic_ibv_get_device_guid(list[1]));
    assert_true(softnic_mlx5dv_is_supported(list[0]));
    assert_null(list[3]);
    softnic_ibv_free_device_list(list);
    unsetenv("SOFTNIC_DEVICES");
    struct ibv_device foreign = {0};
    assert_false(softnic_mlx5dv_is_supported(&foreign));
    assert_null(softnic_ibv_open_device(&foreign));
    assert_int_equal(errno, ENODEV);
}

static void wrong_environment(void **state)
{
    (void)state;
    static const struct {
        const char *name, *value;
    } rows[] = {{"SOFTNIC_DEVICES", "0"},      {"SOFTNIC_DEVICES", "x"},     {"SOFTNIC_DEVICES", "65"},
                {"SOFTNIC_LINK", "roce"},      {"SOFTNIC_LOG", "loud"},      {"SOFTNIC_WIRE", "tcp"},
                {"SOFTNIC_SHM_RING", "70000"}, {"SOFTNIC_SHM_RING", "1024"}, {"SOFTNIC_THREAD", "2"},
                {"SOFTNIC_SEED", "-1"}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        int n = 7;
        setenv(rows[i].name, rows[i].value, 1);
        assert_null(softnic_ibv_get_device_list(&n));
        assert_int_equal(errno, EINVAL);
        assert_int_equal(n, 0);
        assert_non_null(strstr(softnic_last_error(), rows[i].name));
        assert_non_null(strstr(softnic_last_error(), rows[i].value));
        unsetenv(rows[i].name);
    }
    setenv("SOFTNIC_LOG", "off", 1);
    size_t count;
    const struct softnic_env *env = softnic_env_table(&count);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        bool listed = false;
        for (size_t k = 0; k < count; k++)
            listed |= !strcmp(env[k].name, rows[i].name) && env[k].help[0];
        assert_true(listed);
    }
}

static void device_and_port_queries(void **state)
{
    (void)state;
    struct rig r;
    struct ibv_device_attr d;
    struct ibv_port_attr p;
    struct ibv_device_attr_ex ex;
    rig_open(&r, 0);
    assert_int_equal(softnic_ibv_query_device(r.context, &d), 0);
    assert_int_equal(d.phys_port_cnt, 1);
    assert_true(d.max_qp_wr >= 32768 && d.max_cqe >= 32768 && d.max_qp >= 1024 && d.max_pkeys == 1);
    /* The inline functions of the header reach our op table. */
    assert_int_equal(ibv_query_device_ex(r.context, NULL, &ex), 0);
    assert_int_equal(ex.orig_attr.max_qp, d.max_qp);
    assert_int_equal(ibv_query_port(r.context, 1, &p), 0);
    assert_int_equal(p.link_layer, IBV_LINK_LAYER_ETHERNET);
    assert_int_equal(p.state, IBV_PORT_ACTIVE);
    assert_int_equal(p.gid_tbl_len, 2);
    assert_int_equal(ibv_query_port(r.context, 2, &p), EINVAL);
    struct ibv_gid_entry e[4];
    assert_int_equal(softnic__ibv_query_gid_table(r.context, e, 4, 0, sizeof(e[0])), 2);
    assert_int_equal(e[0].gid_type, IBV_GID_TYPE_ROCE_V2);
    union ibv_gid g;
    assert_int_equal(softnic_ibv_query_gid(r.context, 1, 1, &g), 0);
    assert_memory_equal(g.raw, e[1].gid.raw, 16);
    assert_int_equal(softnic_ibv_query_gid(r.context, 1, 2, &g), -1);
    __be16 pkey;
    assert_int_equal(softnic_ibv_query_pkey(r.context, 1, 0, &pkey), 0);
    assert_int_equal(pkey, 0xffff);
    rig_close(&r);
}

/* The old function of that name must not write behind `flags`. */
static void short_port_attributes(void **state)
{
    (void)state;
    struct rig r;
    struct ibv_port_attr p;
    rig_open(&r, 0);
    memset(&p, 0x5a, sizeof(p));
    assert_int_equal((softnic_ibv_query_port)(r.context, 1, (struct _compat_ibv_port_attr *)&p), 0);
    assert_int_equal(p.port_cap_flags2, 0x5a5a);
    rig_close(&r);
}

static void infiniband_link(void **state)
{
    (void)state;
    struct rig r;
    struct ibv_port_attr p;
    uint8_t in[16] = {0}, out[PRM_SIZE_query_hca_cap_out];
    setenv("SOFTNIC_LINK", "ib", 1);
    rig_open(&r, 0);
    assert_int_equal(ibv_query_port(r.context, 1, &p), 0);
    assert_int_equal(p.link_layer, IBV_LINK_LAYER_INFINIBAND);
    assert_int_not_equal(p.lid, 0);
    prm_set_cmd_in__opcode(in, PRM_OP_QUERY_HCA_CAP);
    prm_set_cmd_in__op_mod(in, 1);
    assert_int_equal(softnic_mlx5dv_devx_general_cmd(r.context, in, sizeof(in), out, sizeof(out)), 0);
    assert_int_equal(prm_get_cmd_hca_cap__port_type(PRM_CAT(out, query_hca_cap_out, capability)), 0);
    prm_set_cmd_in__opcode(in, PRM_OP_QUERY_ROCE_ADDRESS);
    prm_set_cmd_in__op_mod(in, 0);
    assert_int_equal(softnic_mlx5dv_devx_general_cmd(r.context, in, sizeof(in), out, 48), EREMOTEIO);
    rig_close(&r);
    unsetenv("SOFTNIC_LINK");
}

static void capabilities(void **state)
{
    (void)state;
    struct rig r;
    uint8_t in[16] = {0}, out[PRM_SIZE_query_hca_cap_out];
    const uint8_t *cap = PRM_CAT(out, query_hca_cap_out, capability);
    rig_open(&r, 0);
    prm_set_cmd_in__opcode(in, PRM_OP_QUERY_HCA_CAP);
    prm_set_cmd_in__op_mod(in, 1);
    assert_int_equal(softnic_mlx5dv_devx_general_cmd(r.context, in, sizeof(in), out, sizeof(out)), 0);
    assert_int_equal(prm_get_cmd_hca_cap__port_type(cap), 1);
    assert_int_equal(prm_get_cmd_hca_cap__rc(cap), 1);
    assert_true(prm_get_cmd_hca_cap__log_max_qp_sz(cap) >= 15);
    assert_true(prm_get_cmd_hca_cap__max_wqe_sz_sq(cap) >= 64 && prm_get_cmd_hca_cap__max_wqe_sz_rq(cap) >= 16);
    assert_int_equal(prm_get_cmd_hca_cap__hca_cap_2(cap), 1);
    prm_set_cmd_in__op_mod(in, 9);
    assert_int_equal(softnic_mlx5dv_devx_general_cmd(r.context, in, sizeof(in), out, sizeof(out)), 0);
    assert_true(prm_get_roce_cap__r_roce_max_src_udp_port(cap) > prm_get_roce_cap__r_roce_min_src_udp_port(cap));
    assert_int_equal(prm_get_roce_cap__roce_address_table_size(cap), 2);
    prm_set_cmd_in__op_mod(in, 0x41);
    assert_int_equal(softnic_mlx5dv_devx_general_cmd(r.context, in, sizeof(in), out, sizeof(out)), 0);
    assert_int_equal(prm_get_cmd_hca_cap_2__send_dbr_mode_no_dbr_ext(cap), 1);
    assert_int_equal(softnic_mlx5dv_devx_general_cmd(r.context, in, sizeof(in), out, sizeof(out)), 0);
    prm_set_cmd_in__op_mod(in, PRM_CAP_ATOMIC << 1 | 1);
    assert_int_equal(softnic_mlx5dv_devx_general_cmd(r.context, in, sizeof(in), out, sizeof(out)), 0);
    assert_int_equal(prm_get_atomic_caps__atomic_operations(cap), 0xf);
    assert_int_equal(prm_get_atomic_caps__atomic_size_qp(cap), 4 | 8);
    prm_set_cmd_in__op_mod(in, 0xf << 1 | 1); /* device memory */
    assert_int_equal(softnic_mlx5dv_devx_general_cmd(r.context, in, sizeof(in), out, sizeof(out)), 0);
    for (size_t i = 0; i < PRM_SIZE_cmd_hca_cap; i++)
        assert_int_equal(cap[i], 0);
    prm_set_cmd_in__op_mod(in, 0x40 << 1 | 1);
    assert_int_equal(softnic_mlx5dv_devx_general_cmd(r.context, in, sizeof(in), out, sizeof(out)), EREMOTEIO);
    assert_int_equal(prm_get_cmd_out__status(out), PRM_STATUS_BAD_PARAM);
    assert_non_null(strstr(softnic_last_error(), "QUERY_HCA_CAP"));
    prm_set_cmd_in__op_mod(in, 1);
    assert_int_equal(softnic_mlx5dv_devx_general_cmd(r.context, in, sizeof(in), out, 100), EREMOTEIO);
    assert_int_equal(prm_get_cmd_out__status(out), PRM_STATUS_BAD_OUTPUT_LEN);
    memset(in, 0, sizeof(in));
    prm_set_cmd_in__opcode(in, PRM_OP_QUERY_ROCE_ADDRESS);
    prm_set_query_roce_address_in__roce_address_index(in, 1);
    assert_int_equal(softnic_mlx5dv_devx_general_cmd(r.context, in, sizeof(in), out, 48), 0);
    assert_int_equal(prm_get_roce_addr_layout__roce_version(PRM_CAT(out, query_roce_address_out, roce_address)), 2);
    prm_set_query_roce_address_in__roce_address_index(in, 2);
    assert_int_equal(softnic_mlx5dv_devx_general_cmd(r.context, in, sizeof(in), out, 48), EREMOTEIO);
    prm_set_cmd_in__opcode(in, 0x805); /* a register access: not modelled */
    assert_int_equal(softnic_mlx5dv_devx_general_cmd(r.context, in, sizeof(in), out, 48), EREMOTEIO);
    assert_int_equal(prm_get_cmd_out__status(out), PRM_STATUS_BAD_OP);
    rig_close(&r);
}

static void memory_keys(void **state)
{
    (void)state;
    struct rig r;
    rig_open(&r, 0);
    assert_int_equal(r.mr->lkey, r.mr->rkey);
    assert_int_not_equal(r.mr->lkey, 0);
    assert_null(softnic_ibv_reg_mr_iova2(NULL, r.data, 64, 0, 1));
    assert_null((softnic_ibv_reg_mr)(r.pd, r.data, 0, 1));
    assert_int_equal(errno, EINVAL);
    void *hole = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap((uint8_t *)hole + 4096, 4096);
    assert_null((softnic_ibv_reg_mr)(r.pd, hole, 8192, IBV_ACCESS_LOCAL_WRITE));
    assert_int_equal(errno, EFAULT);
    mprotect(hole, 4096, PROT_READ);
    assert_null((softnic_ibv_reg_mr)(r.pd, hole, 4096, IBV_ACCESS_LOCAL_WRITE));
    struct ibv_mr *ro = (softnic_ibv_reg_mr)(r.pd, hole, 4096, IBV_ACCESS_REMOTE_READ);
    assert_non_null(ro);
    assert_int_equal(softnic_ibv_dereg_mr(ro), 0);
    munmap(hole, 4096);
    assert_null((softnic_ibv_reg_mr)(r.pd, r.data, 64, IBV_ACCESS_REMOTE_WRITE)); /* needs local write too */
    assert_int_equal(errno, EINVAL);
    assert_null((softnic_ibv_reg_mr)(r.pd, r.data, 64, IBV_ACCESS_ON_DEMAND));
    assert_int_equal(errno, EOPNOTSUPP);
    assert_null(softnic_ibv_reg_dmabuf_mr(NULL, 0, 0, 0, -1, 0)); /* the probe that clients make */
    assert_int_equal(errno, EBADF);
    assert_int_equal(softnic_ibv_dealloc_pd(r.pd), EBUSY);
    rig_close(&r);
}

static void dmabufs(void **state)
{
    (void)state;
    struct rig r;
    rig_open(&r, 0);
    int fd = memfd_create("test", MFD_CLOEXEC);
    assert_int_equal(ftruncate(fd, 16384), 0);
    struct ibv_mr *mr = softnic_ibv_reg_dmabuf_mr(r.pd, 4096, 8192, 0, fd, IBV_ACCESS_LOCAL_WRITE);
    assert_non_null(mr); /* mapped by the NIC */
    assert_int_equal(softnic_ibv_dereg_mr(mr), 0);
    assert_null(softnic_ibv_reg_dmabuf_mr(r.pd, 4096, 16384, 0, fd, IBV_ACCESS_LOCAL_WRITE));
    assert_int_equal(errno, EINVAL);
    /* Noted: stands for memory elsewhere. The range of the note is what counts then. */
    assert_int_equal(softnic_dmabuf_note(fd, r.data, 65536), 0);
    struct mlx5dv_devx_umem_in in = {.addr = (void *)4096,
                                     .size = 61440,
                                     .access = 1,
                                     .pgsz_bitmap = 4096,
                                     .comp_mask = MLX5DV_UMEM_MASK_DMABUF,
                                     .dmabuf_fd = fd};
    struct mlx5dv_devx_umem *u = softnic_mlx5dv_devx_umem_reg_ex(r.context, &in);
    assert_non_null(u);
    close(fd); /* the umem does not need it any more */
    assert_int_equal(softnic_mlx5dv_devx_umem_dereg(u), 0);
    softnic_dmabuf_forget(r.data);
    in.dmabuf_fd = 9999;
    assert_null(softnic_mlx5dv_devx_umem_reg_ex(r.context, &in));
    assert_int_equal(errno, EBADF);
    in.comp_mask = 2;
    assert_null(softnic_mlx5dv_devx_umem_reg_ex(r.context, &in));
    assert_int_equal(errno, EOPNOTSUPP);
    rig_close(&r);
}

static void registers(void **state)
{
    (void)state;
    struct rig r;
    struct mlx5dv_devx_uar *nc[2], *own[20];
    rig_open(&r, 0);
    nc[0] = softnic_mlx5dv_devx_alloc_uar(r.context, 1);
    nc[1] = softnic_mlx5dv_devx_alloc_uar(r.context, 1);
    assert_ptr_equal(nc[0], nc[1]); /* one for the context */
    softnic_mlx5dv_devx_free_uar(nc[0]);
    for (int i = 0; i < 20; i++) {
        own[i] = softnic_mlx5dv_devx_alloc_uar(r.context, i % 2 ? 1u << 31 : 0);
        assert_non_null(own[i]);
        assert_ptr_equal(own[i]->reg_addr, (uint8_t *)own[i]->base_addr + 0x800);
        assert_int_equal((uintptr_t)own[i]->reg_addr % 64, 0);
        for (int k = 0; k < i; k++) {
            assert_int_not_equal(own[i]->page_id, own[k]->page_id);
            assert_ptr_not_equal(own[i]->reg_addr, own[k]->reg_addr);
            if (!RIG_TSAN) /* a page of its own each: a GPU driver registers a page once */
                assert_int_not_equal((uintptr_t)own[i]->reg_addr >> 12, (uintptr_t)own[k]->reg_addr >> 12);
        }
    }
    assert_true(softnic_owns_register(own[3]->reg_addr));
    assert_true(softnic_owns_register((uint8_t *)own[3]->base_addr + 0x600));
    assert_true(softnic_owns_register((uint8_t *)own[3]->reg_addr + 63));
    assert_false(softnic_owns_register(own));
    assert_true(softnic_worst_wake_ns() >= 1000000);
    for (int i = 0; i < 20; i++)
        softnic_mlx5dv_devx_free_uar(own[i]);
    assert_null(softnic_mlx5dv_devx_alloc_uar(r.context, 2));
    assert_int_equal(errno, EOPNOTSUPP);
    softnic_mlx5dv_devx_free_uar(NULL);
    rig_close(&r);
}

/* So many that registers share cache lines: writes of 64 bytes to each, and requests for events, stay in its own pages. */
static void many_registers(void **state)
{
    (void)state;
    enum { MANY = 1200 };
    static struct mlx5dv_devx_uar *uar[MANY];
    static const uint64_t wqe[8] = {1, 2, 3, 0, 5, 6, 7, 8};
    struct rig r;
    rig_open(&r, 0);
    for (int i = 0; i < MANY; i++) {
        uar[i] = softnic_mlx5dv_devx_alloc_uar(r.context, 1u << 31);
        assert_non_null(uar[i]);
        assert_ptr_equal(uar[i]->reg_addr, (uint8_t *)uar[i]->base_addr + 0x800);
        if (!RIG_TSAN)
            assert_true(i == 0 || (uintptr_t)uar[i]->reg_addr >> 12 != (uintptr_t)uar[i - 1]->reg_addr >> 12);
    }
    for (int i = 0; i < MANY; i++) {
        assert_true(softnic_owns_register(uar[i]->reg_addr));
        assert_int_equal(((uintptr_t)uar[i]->reg_addr + 63) >> 12, (uintptr_t)uar[i]->reg_addr >> 12);
        for (int k = 0; k < 8; k++)
            __atomic_store_n((uint64_t *)uar[i]->reg_addr + k, wqe[k], __ATOMIC_RELEASE);
        if (!RIG_TSAN) /* which has no page before the engine's registers */
            __atomic_store_n((uint64_t *)(void *)((uint8_t *)uar[i]->base_addr + 0x20), wqe[i % 8], __ATOMIC_RELEASE);
        __atomic_store_n((uint64_t *)(void *)((uint8_t *)uar[i]->base_addr + 0x600), wqe[i % 8], __ATOMIC_RELEASE);
    }
    struct mlx5dv_devx_uar *blueflame = softnic_mlx5dv_devx_alloc_uar(r.context, 0);
    assert_int_equal((uintptr_t)blueflame->reg_addr % 64, 0); /* room for wide stores, however many others there are */
    softnic_mlx5dv_devx_free_uar(blueflame);
    for (int i = 0; i < MANY; i++)
        softnic_mlx5dv_devx_free_uar(uar[i]);
    rig_close(&r);
}

static void umems_and_references(void **state)
{
    (void)state;
    struct rig r;
    struct rig_qp q;
    rig_open(&r, 0);
    rig_qp_create(&q, &r);
    assert_int_equal(softnic_mlx5dv_devx_umem_dereg(q.ring_umem), EBUSY);
    assert_int_equal(softnic_mlx5dv_devx_umem_dereg(q.record_umem), EBUSY);
    assert_int_equal(softnic_mlx5dv_devx_obj_destroy(q.cq), EREMOTEIO); /* the QP uses it */
    assert_int_equal(softnic_ibv_dealloc_pd(r.pd), EBUSY);
    rig_qp_destroy(&q);
    assert_null(softnic_mlx5dv_devx_umem_reg(r.context, (void *)4096, 4096, 0));
    assert_int_equal(errno, EFAULT);
    assert_null(softnic_mlx5dv_devx_umem_reg(r.context, r.data, 0, 0));
    rig_close(&r);
}

/* CREATE_CQ and CREATE_QP against objects: each wrong reference is refused, named, and nothing is left behind. */
static void wrong_references(void **state)
{
    (void)state;
    struct rig r;
    struct rig_qp q;
    rig_open(&r, 0);
    rig_qp_create(&q, &r);
    uint32_t ring = q.ring_umem->umem_id, rec = q.record_umem->umem_id, cqr = q.cq_umem->umem_id, uar = q.uar->page_id;
    const struct {
        bool qp;
        uint32_t ring, record, uar, pd, cqn;
        unsigned log;
        const char *names;
    } rows[] = {
        {false, 999, rec, uar, 0, 0, 4, "cq_umem_id = 999"},
        {false, cqr, 998, uar, 0, 0, 4, "dbr_umem_id = 998"},
        {false, cqr, rec, uar, 0, 0, 9, "exceed umem"},
        {false, cqr, rec, 0xfffff, 0, 0, 4, "uar_page"},
        {false, 0, rec, uar, 0, 0, 4, "cq_umem_id = 0"},
        {true, 997, rec, uar, r.pdn, q.cqn, 4, "wq_umem_id = 997"},
        {true, ring, rec, uar, r.pdn, q.cqn, 12, "exceed umem"},
        {true, ring, rec, uar, 0xfffff, q.cqn, 4, "pd = "},
        {true, ring, rec, uar, r.pdn, 0xabcdef, 4, "cqn_snd"},
        {true, ring, rec, 0xfffff, r.pdn, q.cqn, 4, "uar_page"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint8_t in[272], out[16];
        if (rows[i].qp)
            rig_mailbox_qp(in, rows[i].ring, rows[i].record, rows[i].uar, rows[i].pd, rows[i].cqn, rows[i].log);
        else
            rig_mailbox_cq(in, rows[i].ring, rows[i].record, rows[i].uar, rows[i].log);
        assert_null(softnic_mlx5dv_devx_obj_create(r.context, in, sizeof(in), out, sizeof(out)));
        assert_int_equal(errno, EREMOTEIO);
        assert_int_not_equal(prm_get_cmd_out__status(out), 0);
        if (!strstr(softnic_last_error(), rows[i].names))
            fail_msg("row %zu: '%s' lacks '%s'", i, softnic_last_error(), rows[i].names);
    }
    rig_qp_destroy(&q); /* no reference was left on the umems */
    rig_close(&r);
}

static void queue_states(void **state)
{
    (void)state;
    struct rig r;
    struct rig_qp q;
    uint8_t qpc[PRM_SIZE_qpc];
    rig_open(&r, 0);
    rig_qp_create(&q, &r);
    struct rig_address self = rig_address_of(&q);
    assert_int_equal(rig_state(&q, qpc), PRM_QP_RST);
    unsigned mtu = (unsigned)prm_get_qpc__mtu(qpc);
    assert_true((mtu >= 1 && mtu <= 5) || mtu == 7); /* right after creation, too */
    assert_int_equal(prm_get_qpc__user_index(qpc), 0x123456);
    assert_int_equal(rig_to_rtr(&q, &self), EREMOTEIO); /* from RST */
    assert_int_equal(rig_to_rts(&q), EREMOTEIO);
    assert_non_null(strstr(softnic_last_error(), "is in state 0"));
    assert_int_equal(rig_to_init(&q), 0);
    assert_int_equal(rig_to_init(&q), EREMOTEIO);
    struct rig_address nobody = self;
    memset(nobody.gid, 0, 16);
    assert_int_equal(rig_to_rtr(&q, &nobody), EREMOTEIO);
    assert_int_equal(rig_to_rtr(&q, &self), 0);
    assert_int_equal(rig_to_rts(&q), 0);
    assert_int_equal(rig_state(&q, qpc), PRM_QP_RTS);
    const uint8_t *ads = PRM_CAT(qpc, qpc, primary_address_path);
    assert_int_equal(prm_get_qpc__mtu(qpc), 5);
    assert_int_equal(prm_get_qpc__remote_qpn(qpc), q.qpn);
    assert_int_equal(prm_get_qpc__rwe(qpc), 1);
    assert_int_equal(prm_get_qpc__retry_count(qpc), 7);
    assert_int_equal(prm_get_ads__ack_timeout(ads), 18);
    assert_int_equal(prm_get_ads__hop_limit(ads), 64);
    assert_memory_equal(PRM_CAT(ads, ads, rgid_rip), self.gid, 16);
    assert_int_equal(rig_to(&q, PRM_OP_2ERR_QP), 0);
    assert_int_equal(rig_state(&q, NULL), PRM_QP_ERR);
    assert_int_equal(rig_to(&q, PRM_OP_2RST_QP), 0);
    assert_int_equal(rig_state(&q, NULL), PRM_QP_RST);
    rig_connect(&q, &self);
    uint8_t in[16] = {0}, out[PRM_SIZE_query_cq_out];
    prm_set_query_cq_in__opcode(in, PRM_OP_QUERY_CQ);
    prm_set_query_cq_in__cqn(in, q.cqn);
    assert_int_equal(softnic_mlx5dv_devx_obj_query(q.cq, in, sizeof(in), out, sizeof(out)), 0);
    assert_int_equal(prm_get_cqc__log_cq_size(PRM_CAT(out, query_cq_out, cq_context)), RIG_LOG_CQ);
    assert_int_equal(prm_get_cqc__producer_counter(PRM_CAT(out, query_cq_out, cq_context)), 0);
    assert_int_equal(softnic_mlx5dv_devx_obj_query(q.qp, in, sizeof(in), out, sizeof(out)), EREMOTEIO);
    rig_qp_destroy(&q);
    rig_close(&r);
}

/* RTS2RTS: one mailbox longer than the others, and only what the mask names changes. */
static void change_in_rts(void **state)
{
    (void)state;
    struct rig r;
    struct rig_qp q;
    uint8_t in[PRM_SIZE_qp_state_long_in] = {0}, out[16], before[PRM_SIZE_qpc], after[PRM_SIZE_qpc];
    uint8_t *qpc = PRM_AT(in, qp_state_in, qpc), *ads = PRM_AT(qpc, qpc, primary_address_path);
    rig_open(&r, 0);
    rig_qp_create(&q, &r);
    struct rig_address self = rig_address_of(&q);
    rig_connect(&q, &self);
    rig_state(&q, before);
    prm_set_qp_state_in__opcode(in, PRM_OP_RTS2RTS_QP);
    prm_set_qp_state_in__qpn(in, q.qpn);
    prm_set_qp_state_in__opt_param_mask(in, PRM_OPT_SGID_INDEX | PRM_OPT_DSCP | PRM_OPT_RWE | PRM_OPT_MIN_RNR_NAK);
    prm_set_ads__src_addr_index(ads, 1);
    prm_set_ads__dscp(ads, 26);
    prm_set_ads__hop_limit(ads, 99); /* not in the mask */
    prm_set_qpc__min_rnr_nak(qpc, 20);
    prm_set_qpc__mtu(qpc, 1); /* nor this */
    assert_int_equal(softnic_mlx5dv_devx_obj_modify(q.qp, in, sizeof(in), out, sizeof(out)), 0);
    assert_int_equal(rig_state(&q, after), PRM_QP_RTS);
    uint8_t *path = PRM_AT(after, qpc, primary_address_path);
    assert_int_equal(prm_get_ads__src_addr_index(path), 1);
    assert_int_equal(prm_get_ads__dscp(path), 26);
    assert_int_equal(prm_get_qpc__rwe(after), 0);
    assert_int_equal(prm_get_qpc__min_rnr_nak(after), 20);
    prm_set_ads__src_addr_index(path, 0); /* apart from these four, nothing changed */
    prm_set_ads__dscp(path, prm_get_ads__dscp(PRM_AT(before, qpc, primary_address_path)));
    prm_set_qpc__rwe(after, 1);
    prm_set_qpc__min_rnr_nak(after, prm_get_qpc__min_rnr_nak(before));
    assert_memory_equal(before, after, sizeof(before));
    prm_set_ads__src_addr_index(ads, 2);
    assert_int_equal(softnic_mlx5dv_devx_obj_modify(q.qp, in, sizeof(in), out, sizeof(out)), EREMOTEIO);
    assert_int_equal(prm_get_cmd_out__status(out), PRM_STATUS_BAD_INDEX);
    prm_set_qp_state_in__qpn(in, q.qpn + 1); /* somebody else's */
    assert_int_equal(softnic_mlx5dv_devx_obj_modify(q.qp, in, sizeof(in), out, sizeof(out)), EREMOTEIO);
    assert_int_equal(prm_get_cmd_out__status(out), PRM_STATUS_BAD_RES);
    assert_int_equal(softnic_mlx5dv_devx_obj_modify(q.cq, in, sizeof(in), out, sizeof(out)), EREMOTEIO);
    prm_set_qp_state_in__qpn(in, q.qpn);
    prm_set_ads__src_addr_index(ads, 0); /* back: the responder expects the connection's address */
    assert_int_equal(softnic_mlx5dv_devx_obj_modify(q.qp, in, sizeof(in), out, sizeof(out)), 0);
    rig_post_rdma(&q, RIG_WRITE, &self, 64, 0, 8);     /* rwe is off now */
    assert_int_equal(rig_wait(&q, 60).syndrome, 0x12); /* remote invalid request */
    rig_qp_destroy(&q);
    rig_close(&r);
}

static void shared_receive_queues(void **state)
{
    (void)state;
    struct rig r;
    uint8_t in[PRM_SIZE_create_rmp_in] = {0}, out[16], *ctx = PRM_AT(in, create_rmp_in, ctx),
            *wq = PRM_AT(ctx, rmpc, wq);
    rig_open(&r, 0);
    uint8_t *pages = rig_pages(8192);
    struct mlx5dv_devx_umem *u = softnic_mlx5dv_devx_umem_reg(r.context, pages, 8192, 0);
    prm_set_cmd_in__opcode(in, PRM_OP_CREATE_RMP);
    prm_set_rmpc__state(ctx, 1);
    prm_set_rmpc__basic_cyclic_rcv_wqe(ctx, 1);
    prm_set_wq__wq_type(wq, 1);
    prm_set_wq__pd(wq, r.pdn);
    prm_set_wq__log_wq_sz(wq, 4);
    prm_set_wq__log_wq_stride(wq, 6);
    prm_set_wq__end_padding_mode(wq, 1);
    prm_set_wq__wq_umem_valid(wq, 1);
    prm_set_wq__wq_umem_id(wq, u->umem_id);
    prm_set_wq__dbr_umem_valid(wq, 1);
    prm_set_wq__dbr_umem_id(wq, u->umem_id);
    prm_set_wq__dbr_addr(wq, 4096);
    struct mlx5dv_devx_obj *rmp = softnic_mlx5dv_devx_obj_create(r.context, in, sizeof(in), out, sizeof(out));
    assert_non_null(rmp);
    assert_int_not_equal(prm_get_create_rmp_out__rmpn(out), 0);
    assert_int_equal(softnic_mlx5dv_devx_umem_dereg(u), EBUSY);
    assert_int_equal(softnic_mlx5dv_devx_obj_destroy(rmp), 0);
    prm_set_wq__pd(wq, 0xfffff);
    assert_null(softnic_mlx5dv_devx_obj_create(r.context, in, sizeof(in), out, sizeof(out)));
    assert_int_equal(softnic_mlx5dv_devx_umem_dereg(u), 0);
    rig_close(&r);
    free(pages);
}

static void address_handles(void **state)
{
    (void)state;
    struct rig r;
    rig_open(&r, 0);
    for (int i = 0; i < 2; i++) {
        struct ibv_ah_attr a = {.port_num = 1, .is_global = 1};
        a.grh.hop_limit = 64;
        assert_int_equal(softnic_ibv_query_gid(r.context, 1, i, &a.grh.dgid), 0);
        struct ibv_ah *ah = softnic_ibv_create_ah(r.pd, &a);
        assert_non_null(ah);
        struct mlx5dv_ah dv;
        struct mlx5dv_obj obj = {.ah = {ah, &dv}};
        assert_int_equal(softnic_mlx5dv_init_obj(&obj, MLX5DV_OBJ_AH), 0);
        const uint8_t prefix[2] = {0x02, 0x5f};
        assert_memory_equal(dv.av->rmac, prefix, 2); /* the same MAC for both of a device's GIDs */
        assert_memory_equal(dv.av->rgid, a.grh.dgid.raw, 16);
        assert_int_equal(softnic_ibv_destroy_ah(ah), 0);
    }
    struct ibv_ah_attr far = {.port_num = 1, .is_global = 1};
    far.grh.dgid.raw[0] = 0x20;
    assert_null(softnic_ibv_create_ah(r.pd, &far));
    assert_int_equal(errno, EHOSTUNREACH);
    struct ibv_ah_attr port = {.port_num = 2, .is_global = 1};
    assert_null(softnic_ibv_create_ah(r.pd, &port));
    struct mlx5dv_obj obj = {0};
    assert_int_equal(softnic_mlx5dv_init_obj(&obj, MLX5DV_OBJ_CQ), EINVAL);
    assert_int_equal(softnic_mlx5dv_init_obj(&obj, MLX5DV_OBJ_DM), EOPNOTSUPP);
    uint32_t eqn;
    assert_int_equal(softnic_mlx5dv_devx_query_eqn(r.context, 0, &eqn), 0);
    assert_int_equal(softnic_mlx5dv_devx_query_eqn(r.context, 1, &eqn), EINVAL);
    rig_close(&r);
}

static void what_is_not_modelled_is_refused(void **state)
{
    (void)state;
    struct rig r;
    struct softnic_stats before, after;
    rig_open(&r, 0);
    softnic_stats(&before, sizeof(before));
    errno = 0;
    assert_null(ibv_alloc_dm(r.context, &(struct ibv_alloc_dm_attr){.length = 64})); /* inline operations */
    assert_int_equal(errno, EOPNOTSUPP);
    assert_non_null(strstr(softnic_last_error(), "ibv_alloc_dm"));
    assert_null(ibv_create_wq(r.context, &(struct ibv_wq_init_attr){0}));
    assert_null(ibv_create_counters(r.context, &(struct ibv_counters_init_attr){0}));
    assert_null(ibv_open_xrcd(r.context, &(struct ibv_xrcd_init_attr){0}));
    softnic_stats(&after, sizeof(after));
    assert_int_equal(after.refused - before.refused, 4);
    assert_true(softnic_owns_context(r.context));
    struct ibv_context foreign = {0};
    assert_false(softnic_owns_context(&foreign));
    assert_false(softnic_owns_context(NULL));
    rig_close(&r);
}

static void closing_frees_what_is_left(void **state)
{
    (void)state;
    struct rig r;
    struct rig_qp q[3];
    rig_open(&r, 0);
    for (int i = 0; i < 3; i++) {
        rig_qp_create(&q[i], &r);
        struct rig_address self = rig_address_of(&q[i]);
        rig_connect(&q[i], &self);
    }
    assert_non_null(softnic_mlx5dv_devx_alloc_uar(r.context, 1));
    assert_int_equal(softnic_ibv_close_device(r.context), 0);
    for (int i = 0; i < 3; i++) {
        free(q[i].ring);
        free(q[i].cqes);
        free(q[i].records);
    }
    free(r.data);
}

static void one_cycle(void)
{
    struct rig r;
    struct rig_qp q;
    rig_open(&r, 0);
    rig_qp_create(&q, &r);
    struct rig_address self = rig_address_of(&q);
    rig_connect(&q, &self);
    rig_post_rdma(&q, RIG_WRITE, &self, 64, 0, 8);
    assert_int_equal(rig_wait(&q, 60).opcode, 0);
    rig_qp_destroy(&q);
    rig_close(&r);
}

static size_t mappings(void)
{
    size_t n = 0;
    int c;
    FILE *f = fopen("/proc/self/maps", "re");
    while (f && (c = fgetc(f)) != EOF)
        n += c == '\n';
    if (f)
        fclose(f);
    return n;
}

static void cycles_leak_nothing(void **state)
{
    (void)state;
    for (int i = 0; i < 5; i++)
        one_cycle();
    int fds = rig_open_fds();
    size_t maps = mappings();
    struct mallinfo2 before = mallinfo2();
    for (int i = 0; i < 100; i++)
        one_cycle();
    struct mallinfo2 after = mallinfo2();
    assert_int_equal(rig_open_fds(), fds);
    assert_true(mappings() <= maps + 8); /* the allocator may split or merge a few of its own */
    /* Sanitizers replace malloc and report zeros here; their leak check does the work then. */
    if (after.uordblks > before.uordblks + 16384)
        fail_msg("%zu bytes more in use", after.uordblks - before.uordblks);
}

static void a_child_must_not_touch_it(void **state)
{
    (void)state;
    struct rig r;
    struct rig_qp q;
    rig_open(&r, 0);
    rig_qp_create(&q, &r);
    struct rig_address self = rig_address_of(&q);
    rig_connect(&q, &self);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (!pid) { /* no assertions here: they would jump back into the parent's test */
        struct ibv_device_attr a;
        int bad = 0;
        bad |= (softnic_ibv_query_device(r.context, &a) != ENODEV) << 0;
        bad |= (softnic_ibv_alloc_pd(r.context) != NULL) << 1;
        bad |= (softnic_mlx5dv_devx_obj_destroy(q.qp) != ENODEV) << 2;
        bad |= !strstr(softnic_last_error(), "parent") << 3;
        bad |= softnic_owns_context(r.context) << 4;
        bad |= (softnic_drive() != 0) << 5;
        int n;
        struct ibv_device **list = softnic_ibv_get_device_list(&n);
        struct ibv_context *own = NULL;
        if (list && !RIG_TSAN) /* one of its own it may have */
            own = softnic_ibv_open_device(list[0]);
        bad |= (!own && !RIG_TSAN) << 6;
        softnic_ibv_free_device_list(list);
        if (own)
            bad |= (softnic_ibv_close_device(own) != 0) << 7;
        _exit(bad);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    rig_post_rdma(&q, RIG_WRITE, &self, 64, 0, 8); /* and the parent's goes on */
    assert_int_equal(rig_wait(&q, 60).opcode, 0);
    rig_qp_destroy(&q);
    rig_close(&r);
}

int main(void)
{
    setenv("SOFTNIC_LOG", "off", 1); /* refusals are the subject here */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(devices_and_names),
        cmocka_unit_test(wrong_environment),
        cmocka_unit_test(device_and_port_queries),
        cmocka_unit_test(short_port_attributes),
        cmocka_unit_test(infiniband_link),
        cmocka_unit_test(capabilities),
        cmocka_unit_test(memory_keys),
        cmocka_unit_test(dmabufs),
        cmocka_unit_test(registers), cmocka_unit_test(many_registers),
        cmocka_unit_test(umems_and_references),
        cmocka_unit_test(wrong_references),
        cmocka_unit_test(queue_states),
        cmocka_unit_test(change_in_rts),
        cmocka_unit_test(shared_receive_queues),
        cmocka_unit_test(address_handles),
        cmocka_unit_test(what_is_not_modelled_is_refused),
        cmocka_unit_test(closing_frees_what_is_left),
        cmocka_unit_test(cycles_leak_nothing),
        cmocka_unit_test(a_child_must_not_touch_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
