/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The DOCA SDK by dlopen, against the stub. One scenario a process, since a unit's outcome is kept: the first argument
 * names it, DOCA_SDK_LIB_PATH is set by the test's environment. Linked to the shared library, whose names are those of
 * the SDK.
 */
#include "support.h"

#include <dlfcn.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gdaki/info.h"

static struct ibv_context context;
static struct ibv_pd pd = {.context = &context};
static char buffer[8192] __attribute__((aligned(4096)));

static struct {
    void (*fail_next)(const char *function, doca_error_t code);
    unsigned (*count)(const char *function);
    unsigned (*alive)(void);
    unsigned (*strangers)(void);
} stub;

/* The stub's bookkeeping, once the library has opened it. */
static void find_stub(void)
{
    char path[4096];
    void *lib;

    snprintf(path, sizeof(path), "%s/libdoca_common.so", getenv("DOCA_SDK_LIB_PATH"));
    lib = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
    assert_non_null(lib);
    *(void **)&stub.fail_next = dlsym(lib, "stub_fail_next");
    *(void **)&stub.count = dlsym(lib, "stub_count");
    *(void **)&stub.alive = dlsym(lib, "stub_alive");
    *(void **)&stub.strangers = dlsym(lib, "stub_strangers");
    assert_non_null(stub.strangers);
}

static bool unit_in_use(const char *name)
{
    struct gdaki_sdk_unit units[8];
    size_t count = gdaki_sdk_describe(units, 8);

    for (size_t i = 0; i < count; i++) {
        if (strcmp(units[i].name, name) == 0)
            return units[i].in_use;
    }
    fail_msg("no unit %s", name);
    return false;
}

/* ---- not there ----------------------------------------------------------------------------------------------------
 */

/* Everything stays ours: variable unset, empty, or a folder without an SDK. */
static void absent(void **state)
{
    static const char *const units[] = {"gpu", "dev", "umem", "uar", "cq", "qp"};
    doca_verbs_qp_init_attr_t *init;
    doca_verbs_cq_attr_t *cq_attr;
    doca_gpu_t *gpu;

    (void)state;
    for (size_t i = 0; i < 6; i++)
        assert_false(unit_in_use(units[i]));
    OK(doca_gpu_create("cpu", &gpu));
    assert_int_equal(gpu->type, DOCA_GPU_LIB_TYPE_OPEN);
    OK(doca_gpu_destroy(gpu));
    OK(doca_verbs_cq_attr_create(&cq_attr));
    assert_int_equal(cq_attr->type, DOCA_VERBS_SDK_LIB_TYPE_OPEN);
    OK(doca_verbs_cq_attr_destroy(cq_attr));
    OK(doca_verbs_qp_init_attr_create(&init));
    assert_int_equal(init->type, DOCA_VERBS_SDK_LIB_TYPE_OPEN);
    FAILS(doca_verbs_qp_init_attr_set_ordering_semantic(init, DOCA_VERBS_QP_ORDERING_SEMANTIC_OOO_ALL),
          DOCA_ERROR_NOT_SUPPORTED);
    OK(doca_verbs_qp_init_attr_destroy(init));
}

/* ---- there --------------------------------------------------------------------------------------------------------
 */

struct objects {
    doca_gpu_t *gpu;
    doca_dev_t *dev;
    doca_verbs_umem_t *umem, *gpu_umem;
    doca_verbs_uar_t *uar;
    doca_verbs_cq_attr_t *cq_attr;
    doca_verbs_cq_t *cq;
    doca_verbs_qp_init_attr_t *init;
    doca_verbs_qp_attr_t *attr;
    doca_verbs_ah_attr_t *ah;
    doca_verbs_qp_t *qp;
};

static void create_all(struct objects *o)
{
    OK(doca_gpu_create("0000:17:00.0", &o->gpu));
    OK(doca_verbs_dev_open(&pd, &o->dev));
    OK(doca_verbs_umem_create(o->dev, NULL, buffer, sizeof(buffer), 1, (int)DOCA_VERBS_DMABUF_INVALID_FD, 0, &o->umem));
    OK(doca_verbs_umem_create(o->dev, o->gpu, buffer, sizeof(buffer), 1, 5, 0, &o->gpu_umem));
    OK(doca_verbs_uar_create(o->dev, DOCA_VERBS_UAR_ALLOCATION_TYPE_NONCACHE, &o->uar));
    OK(doca_verbs_cq_attr_create(&o->cq_attr));
    OK(doca_verbs_cq_create(o->dev, o->cq_attr, &o->cq));
    OK(doca_verbs_qp_init_attr_create(&o->init));
    OK(doca_verbs_qp_attr_create(&o->attr));
    OK(doca_verbs_ah_attr_create(o->dev, &o->ah));
    OK(doca_verbs_qp_create(o->dev, o->init, &o->qp));
}

static void destroy_all(struct objects *o)
{
    OK(doca_verbs_qp_destroy(o->qp));
    OK(doca_verbs_ah_attr_destroy(o->ah));
    OK(doca_verbs_qp_attr_destroy(o->attr));
    OK(doca_verbs_qp_init_attr_destroy(o->init));
    OK(doca_verbs_cq_destroy(o->cq));
    OK(doca_verbs_cq_attr_destroy(o->cq_attr));
    OK(doca_verbs_uar_destroy(o->uar));
    OK(doca_verbs_umem_destroy(o->gpu_umem));
    OK(doca_verbs_umem_destroy(o->umem));
    OK(doca_verbs_dev_close(o->dev));
    OK(doca_gpu_destroy(o->gpu));
}

/* Every call that has an SDK counterpart reaches it; nothing strays into our functions of the same names. */
static void every_call(void **state)
{
    struct objects o;
    struct doca_verbs_gid gid = {{1}};
    enum doca_verbs_qp_state current;
    enum doca_verbs_qp_send_dbr_mode mode;
    enum doca_verbs_qp_ordering_semantic ordering;
    uint32_t number, entries, *ci, *arm;
    uint64_t *reg;
    uint8_t entry;
    void *p, *q;
    size_t size;
    int fd = 0, mask = 0;
    bool flag;

    (void)state;
    create_all(&o);
    find_stub();
    assert_int_equal(o.gpu->type, DOCA_GPU_LIB_TYPE_SDK);
    assert_int_equal(o.dev->type, DOCA_VERBS_SDK_LIB_TYPE_SDK);
    assert_int_equal(o.umem->type, DOCA_VERBS_SDK_LIB_TYPE_SDK);
    assert_int_equal(o.uar->type, DOCA_VERBS_SDK_LIB_TYPE_SDK);
    assert_int_equal(o.cq->type, DOCA_VERBS_SDK_LIB_TYPE_SDK);
    assert_int_equal(o.qp->type, DOCA_VERBS_SDK_LIB_TYPE_SDK);
    assert_int_equal(stub.count("doca_umem_gpu_create"), 1);
    OK(doca_gpu_mem_alloc(o.gpu, 64, 0, DOCA_GPU_MEM_TYPE_CPU_GPU, &p, &q));
    OK(doca_gpu_get_dmabuf_fd(o.gpu, p, 64, &fd));
    assert_int_equal(fd, 77);
    assert_int_equal(stub.count("doca_gpu_dmabuf_fd"), 1);
    OK(doca_gpu_mem_free(o.gpu, p));
    OK(doca_verbs_umem_get_id(o.umem, &number));
    OK(doca_verbs_umem_get_size(o.umem, &size));
    OK(doca_verbs_umem_get_address(o.umem, &p));
    assert_ptr_equal(p, buffer);
    assert_int_equal(size, sizeof(buffer));
    OK(doca_verbs_uar_id_get(o.uar, &number));
    OK(doca_verbs_uar_reg_addr_get(o.uar, &p));
    OK(doca_verbs_uar_dbr_less_addr_get(o.uar, &q));
    assert_ptr_equal(p, q); /* the SDK names one register */
    OK(doca_verbs_cq_attr_set_cq_size(o.cq_attr, 64));
    OK(doca_verbs_cq_attr_set_cq_context(o.cq_attr, NULL));
    OK(doca_verbs_cq_attr_set_external_umem(o.cq_attr, o.umem, 0));
    assert_int_equal(stub.count("doca_verbs_cq_attr_set_external_datapath_en"), 1);
    OK(doca_verbs_cq_attr_set_external_uar(o.cq_attr, o.uar));
    OK(doca_verbs_cq_attr_set_cq_overrun(o.cq_attr, DOCA_VERBS_CQ_ENABLE_OVERRUN));
    OK(doca_verbs_cq_attr_set_cq_collapsed(o.cq_attr, 0));
    FAILS(doca_verbs_cq_attr_set_external_dbr_umem(o.cq_attr, o.umem, 0), DOCA_ERROR_NOT_SUPPORTED);
    OK(doca_verbs_cq_get_wq(o.cq, &p, &entries, &entry));
    OK(doca_verbs_cq_get_dbr_addr(o.cq, &reg, &ci, &arm));
    OK(doca_verbs_cq_get_cqn(o.cq, &number));
    assert_int_not_equal(number, 0);
    OK(doca_verbs_qp_init_attr_set_pd(o.init, o.dev));
    OK(doca_verbs_qp_init_attr_set_send_cq(o.init, o.cq));
    OK(doca_verbs_qp_init_attr_set_receive_cq(o.init, o.cq));
    OK(doca_verbs_qp_init_attr_set_sq_sig_all(o.init, 1));
    OK(doca_verbs_qp_init_attr_set_sq_wr(o.init, 1));
    OK(doca_verbs_qp_init_attr_set_rq_wr(o.init, 1));
    OK(doca_verbs_qp_init_attr_set_send_max_sges(o.init, 1));
    OK(doca_verbs_qp_init_attr_set_receive_max_sges(o.init, 1));
    OK(doca_verbs_qp_init_attr_set_max_inline_data(o.init, 1));
    OK(doca_verbs_qp_init_attr_set_user_index(o.init, 1));
    OK(doca_verbs_qp_init_attr_set_qp_type(o.init, 0));
    OK(doca_verbs_qp_init_attr_set_external_umem(o.init, o.umem, 0));
    OK(doca_verbs_qp_init_attr_set_external_umem_dbr(o.init, o.umem, 0));
    assert_int_equal(stub.count("doca_verbs_qp_init_attr_set_external_datapath_en"), 2);
    assert_int_equal(stub.count("doca_verbs_qp_init_attr_set_external_dbr_umem"), 1);
    OK(doca_verbs_qp_init_attr_set_external_uar(o.init, o.uar));
    OK(doca_verbs_qp_init_attr_set_qp_context(o.init, buffer));
    OK(doca_verbs_qp_init_attr_set_core_direct_master(o.init, 1));
    OK(doca_verbs_qp_init_attr_set_send_dbr_mode(o.init, DOCA_VERBS_QP_SEND_DBR_MODE_DBR_VALID));
    OK(doca_verbs_qp_init_attr_get_send_dbr_mode(o.init, &mode));
    OK(doca_verbs_qp_init_attr_set_ordering_semantic(o.init, DOCA_VERBS_QP_ORDERING_SEMANTIC_OOO_ALL));
    OK(doca_verbs_qp_init_attr_get_ordering_semantic(o.init, &ordering));
    assert_int_equal(ordering, DOCA_VERBS_QP_ORDERING_SEMANTIC_OOO_ALL);
    INVALID(doca_verbs_qp_init_attr_set_emulate_no_dbr_ext(o.init, true));
    INVALID(doca_verbs_qp_init_attr_get_emulate_no_dbr_ext(o.init, &flag));
    INVALID(doca_verbs_qp_init_attr_set_srq(o.init, (struct doca_verbs_srq *)(void *)buffer));
    assert_false(doca_verbs_qp_get_emulate_no_dbr_ext(o.qp));
    OK(doca_verbs_qp_attr_set_next_state(o.attr, DOCA_VERBS_QP_STATE_INIT));
    OK(doca_verbs_qp_attr_set_current_state(o.attr, DOCA_VERBS_QP_STATE_RST));
    OK(doca_verbs_qp_attr_set_path_mtu(o.attr, DOCA_VERBS_MTU_SIZE_1K_BYTES));
    OK(doca_verbs_qp_attr_set_rq_psn(o.attr, 1));
    OK(doca_verbs_qp_attr_set_sq_psn(o.attr, 1));
    OK(doca_verbs_qp_attr_set_dest_qp_num(o.attr, 1));
    OK(doca_verbs_qp_attr_set_allow_remote_write(o.attr, 1));
    OK(doca_verbs_qp_attr_set_allow_remote_read(o.attr, 1));
    OK(doca_verbs_qp_attr_set_atomic_mode(o.attr, DOCA_VERBS_QP_ATOMIC_MODE_IB_SPEC));
    OK(doca_verbs_qp_attr_set_allow_remote_atomic(o.attr, DOCA_VERBS_QP_ATOMIC_MODE_IB_SPEC));
    assert_int_equal(stub.count("doca_verbs_qp_attr_set_atomic_mode"), 2);
    OK(doca_verbs_qp_attr_set_ah_attr(o.attr, o.ah));
    OK(doca_verbs_qp_attr_set_pkey_index(o.attr, 1));
    OK(doca_verbs_qp_attr_set_port_num(o.attr, 1));
    OK(doca_verbs_qp_attr_set_ack_timeout(o.attr, 1));
    OK(doca_verbs_qp_attr_set_retry_cnt(o.attr, 1));
    OK(doca_verbs_qp_attr_set_rnr_retry(o.attr, 1));
    OK(doca_verbs_qp_attr_set_min_rnr_timer(o.attr, 1));
    OK(doca_verbs_qp_attr_set_max_rd_atomic(o.attr, 1));
    OK(doca_verbs_qp_attr_set_max_dest_rd_atomic(o.attr, 1));
    OK(doca_verbs_qp_attr_get_current_state(o.attr, &current));
    assert_int_equal(current, DOCA_VERBS_QP_STATE_RTS);
    OK(doca_verbs_ah_attr_set_gid(o.ah, gid));
    OK(doca_verbs_ah_attr_set_addr_type(o.ah, DOCA_VERBS_ADDR_TYPE_IPv6));
    OK(doca_verbs_ah_attr_set_dlid(o.ah, 1));
    OK(doca_verbs_ah_attr_set_sl(o.ah, 1));
    OK(doca_verbs_ah_attr_set_sgid_index(o.ah, 1));
    OK(doca_verbs_ah_attr_set_static_rate(o.ah, 1));
    OK(doca_verbs_ah_attr_set_hop_limit(o.ah, 1));
    OK(doca_verbs_ah_attr_set_traffic_class(o.ah, 1));
    OK(doca_verbs_qp_modify(o.qp, o.attr, 0));
    OK(doca_verbs_qp_query(o.qp, o.attr, o.init, &mask));
    assert_int_equal(mask, 0x20);
    OK(doca_verbs_qp_get_wq(o.qp, &p, &entries, NULL, NULL, NULL));
    OK(doca_verbs_qp_get_dbr_addr(o.qp, &p));
    OK(doca_verbs_qp_get_uar_addr(o.qp, &p));
    OK(doca_verbs_qp_get_qpn(o.qp, &number));
    assert_int_not_equal(number, 0);
    destroy_all(&o);
    assert_int_equal(stub.alive(), 0);
    assert_int_equal(stub.strangers(), 0);
}

/* Export and the high level run our code on the SDK's handles, AUTO included. */
static void export_of_sdk_queues(void **state)
{
    struct doca_gpu_verbs_qp_init_attr_hl a = {.ibpd = &pd, .sq_nwqe = 64};
    struct doca_gpu_verbs_qp_group_hl *group;
    struct doca_gpu_verbs_qp_error_info info;
    struct doca_gpu_dev_verbs_qp *d;
    struct doca_gpu_verbs_qp_hl *hl;
    struct doca_gpu_verbs_qp *q;
    struct objects o;

    (void)state;
    create_all(&o);
    find_stub();
    OK(doca_gpu_verbs_export_qp(o.gpu, o.qp, DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO, NULL, o.cq, 0, &q));
    OK(doca_gpu_verbs_get_qp_dev(q, &d));
    assert_int_equal(d->sq_wqe_num, 64);
    OK(doca_gpu_verbs_query_last_error(q, &info));
    assert_false(info.has_error);
    OK(doca_gpu_verbs_unexport_qp(o.gpu, q));
    a.gpu_dev = o.gpu;
    a.net_dev = o.dev;
    OK(doca_gpu_verbs_create_qp_hl(&a, &hl));
    assert_int_equal(hl->qp->type, DOCA_VERBS_SDK_LIB_TYPE_SDK);
    OK(doca_gpu_verbs_destroy_qp_hl(hl));
    a.ordering_semantic = DOCA_VERBS_QP_ORDERING_SEMANTIC_OOO_RW;
    OK(doca_gpu_verbs_create_qp_group_hl(&a, &group));
    assert_int_equal(stub.count("doca_verbs_qp_init_attr_set_ordering_semantic"), 2);
    OK(doca_gpu_verbs_destroy_qp_group_hl(group));
    destroy_all(&o);
    assert_int_equal(stub.alive(), 0);
    assert_int_equal(stub.strangers(), 0);
}

/* A create that the SDK refuses is INITIALIZATION, with no fallback and no handle. */
static void creates_refused(void **state)
{
    struct objects o, n = {0};
    unsigned alive;

    (void)state;
    create_all(&o);
    find_stub();
    alive = stub.alive();
#define REFUSED(function, call, handle)                                                                                \
    do {                                                                                                               \
        stub.fail_next(function, DOCA_ERROR_IO_FAILED);                                                                \
        FAILS(call, DOCA_ERROR_INITIALIZATION);                                                                        \
        assert_null(handle);                                                                                           \
        assert_int_equal(stub.alive(), alive);                                                                         \
    } while (0)
    REFUSED("doca_gpu_create", doca_gpu_create("cpu", &n.gpu), n.gpu);
    REFUSED("doca_rdma_bridge_open_dev_from_pd", doca_verbs_dev_open(&pd, &n.dev), n.dev);
    REFUSED("doca_umem_create", doca_verbs_umem_create(o.dev, NULL, buffer, 64, 1, -1, 0, &n.umem), n.umem);
    REFUSED("doca_umem_gpu_create", doca_verbs_umem_create(o.dev, o.gpu, buffer, 64, 1, 5, 0, &n.gpu_umem), n.gpu_umem);
    REFUSED("doca_uar_create", doca_verbs_uar_create(o.dev, DOCA_VERBS_UAR_ALLOCATION_TYPE_NONCACHE, &n.uar), n.uar);
    REFUSED("doca_verbs_cq_attr_create", doca_verbs_cq_attr_create(&n.cq_attr), n.cq_attr);
    REFUSED("doca_verbs_cq_create", doca_verbs_cq_create(o.dev, o.cq_attr, &n.cq), n.cq);
    REFUSED("doca_verbs_bridge_verbs_context_import", doca_verbs_cq_create(o.dev, o.cq_attr, &n.cq), n.cq);
    REFUSED("doca_rdma_bridge_get_dev_pd", doca_verbs_qp_create(o.dev, o.init, &n.qp), n.qp);
    REFUSED("doca_verbs_qp_init_attr_create", doca_verbs_qp_init_attr_create(&n.init), n.init);
    REFUSED("doca_verbs_qp_attr_create", doca_verbs_qp_attr_create(&n.attr), n.attr);
    REFUSED("doca_verbs_ah_attr_create", doca_verbs_ah_attr_create(o.dev, &n.ah), n.ah);
    REFUSED("doca_verbs_qp_create", doca_verbs_qp_create(o.dev, o.init, &n.qp), n.qp);
    /* GPU memory needs the SDK's GPU handle */
    FAILS(doca_verbs_umem_create(o.dev, NULL, buffer, 64, 1, 5, 0, &n.umem), DOCA_ERROR_INITIALIZATION);
    destroy_all(&o);
    assert_int_equal(stub.strangers(), 0);
}

/* An operation that the SDK refuses is UNEXPECTED, and a refused destruction keeps the handle. */
static void operations_refused(void **state)
{
    struct objects o;
    uint32_t id;

    (void)state;
    create_all(&o);
    find_stub();
#define UNEXPECTED(function, call)                                                                                     \
    do {                                                                                                               \
        stub.fail_next(function, DOCA_ERROR_BAD_STATE);                                                                \
        FAILS(call, DOCA_ERROR_UNEXPECTED);                                                                            \
    } while (0)
    UNEXPECTED("doca_umem_get_id", doca_verbs_umem_get_id(o.umem, &id));
    UNEXPECTED("doca_uar_id_get", doca_verbs_uar_id_get(o.uar, &id));
    UNEXPECTED("doca_verbs_cq_attr_set_cq_size", doca_verbs_cq_attr_set_cq_size(o.cq_attr, 1));
    UNEXPECTED("doca_verbs_qp_init_attr_set_sq_wr", doca_verbs_qp_init_attr_set_sq_wr(o.init, 1));
    UNEXPECTED("doca_verbs_qp_init_attr_set_ordering_semantic",
               doca_verbs_qp_init_attr_set_ordering_semantic(o.init, DOCA_VERBS_QP_ORDERING_SEMANTIC_IBTA));
    UNEXPECTED("doca_verbs_qp_attr_set_port_num", doca_verbs_qp_attr_set_port_num(o.attr, 1));
    UNEXPECTED("doca_verbs_ah_attr_set_sl", doca_verbs_ah_attr_set_sl(o.ah, 1));
    UNEXPECTED("doca_verbs_qp_modify", doca_verbs_qp_modify(o.qp, o.attr, 0));
    UNEXPECTED("doca_verbs_qp_query", doca_verbs_qp_query(o.qp, o.attr, o.init, NULL));
    UNEXPECTED("doca_verbs_qp_destroy", doca_verbs_qp_destroy(o.qp));
    UNEXPECTED("doca_verbs_cq_destroy", doca_verbs_cq_destroy(o.cq));
    UNEXPECTED("doca_umem_destroy", doca_verbs_umem_destroy(o.umem));
    UNEXPECTED("doca_uar_destroy", doca_verbs_uar_destroy(o.uar));
    UNEXPECTED("doca_dev_close", doca_verbs_dev_close(o.dev));
    UNEXPECTED("doca_gpu_destroy", doca_gpu_destroy(o.gpu));
    destroy_all(&o);
    assert_int_equal(stub.alive(), 0);
}

/* Objects of the SDK stay the SDK's when the variable goes away; new ones are ours, and the two do not mix. */
static void variable_goes_away(void **state)
{
    doca_verbs_cq_attr_t *ours;
    doca_verbs_cq_t *cq = NULL;
    struct objects o;

    (void)state;
    create_all(&o);
    find_stub();
    unsetenv("DOCA_SDK_LIB_PATH");
    OK(doca_verbs_cq_attr_create(&ours));
    assert_int_equal(ours->type, DOCA_VERBS_SDK_LIB_TYPE_OPEN);
    FAILS(doca_verbs_cq_create(o.dev, ours, &cq), DOCA_ERROR_INITIALIZATION);
    INVALID(doca_verbs_cq_attr_set_external_umem(ours, o.umem, 0));
    OK(doca_verbs_cq_attr_destroy(ours));
    OK(doca_verbs_qp_modify(o.qp, o.attr, 0));
    assert_int_equal(stub.count("doca_verbs_qp_modify"), 1);
    destroy_all(&o);
    assert_int_equal(stub.alive(), 0);
}

/* ---- partly there -------------------------------------------------------------------------------------------------
 */

static void without_ordering(void **state)
{
    enum doca_verbs_qp_ordering_semantic ordering;
    doca_verbs_qp_init_attr_t *init;

    (void)state;
    assert_true(unit_in_use("qp"));
    OK(doca_verbs_qp_init_attr_create(&init));
    assert_int_equal(init->type, DOCA_VERBS_SDK_LIB_TYPE_SDK);
    FAILS(doca_verbs_qp_init_attr_set_ordering_semantic(init, DOCA_VERBS_QP_ORDERING_SEMANTIC_IBTA),
          DOCA_ERROR_NOT_SUPPORTED);
    FAILS(doca_verbs_qp_init_attr_get_ordering_semantic(init, &ordering), DOCA_ERROR_NOT_SUPPORTED);
    OK(doca_verbs_qp_init_attr_destroy(init));
}

/* A unit that lacks one function is ours as a whole; the others decide by themselves. */
static void one_unit_missing(void **state)
{
    doca_verbs_qp_init_attr_t *init;
    doca_verbs_qp_t *qp = NULL;
    doca_dev_t *dev;

    (void)state;
    assert_false(unit_in_use("qp"));
    assert_true(unit_in_use("cq"));
    assert_true(unit_in_use("dev"));
    assert_true(unit_in_use("umem"));
    OK(doca_verbs_dev_open(&pd, &dev));
    assert_int_equal(dev->type, DOCA_VERBS_SDK_LIB_TYPE_SDK);
    OK(doca_verbs_qp_init_attr_create(&init));
    assert_int_equal(init->type, DOCA_VERBS_SDK_LIB_TYPE_OPEN);
    INVALID(doca_verbs_qp_init_attr_set_pd(init, dev));
    FAILS(doca_verbs_qp_create(dev, init, &qp), DOCA_ERROR_INITIALIZATION);
    assert_null(qp);
    OK(doca_verbs_qp_init_attr_destroy(init));
    OK(doca_verbs_dev_close(dev));
}

/* Our own file under the SDK's name is not opened as the SDK. */
static void our_own_file(void **state)
{
    struct gdaki_sdk_unit units[8];
    doca_gpu_t *gpu;

    (void)state;
    gdaki_sdk_describe(units, 8);
    assert_string_equal(units[0].name, "gpu");
    assert_false(units[0].in_use);
    assert_non_null(strstr(units[0].why, "this library"));
    assert_false(unit_in_use("umem")); /* opens gpunetio too */
    assert_true(unit_in_use("cq"));
    OK(doca_gpu_create("cpu", &gpu));
    assert_int_equal(gpu->type, DOCA_GPU_LIB_TYPE_OPEN);
    OK(doca_gpu_destroy(gpu));
}

static bool sanitizer_refuses_deepbind(void)
{
    return dlsym(RTLD_DEFAULT, "__asan_init") != NULL || dlsym(RTLD_DEFAULT, "__tsan_init") != NULL;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void **state);
        bool needs_deepbind; /* the stub's calls across its libraries would reach ours */
    } scenarios[] = {
        {"absent", absent, false},
        {"every_call", every_call, true},
        {"export", export_of_sdk_queues, true},
        {"creates_refused", creates_refused, true},
        {"operations_refused", operations_refused, true},
        {"variable_goes_away", variable_goes_away, true},
        {"without_ordering", without_ordering, false},
        {"one_unit_missing", one_unit_missing, false},
        {"our_own_file", our_own_file, false},
    };

    for (size_t i = 0; argc > 1 && i < sizeof(scenarios) / sizeof(scenarios[0]); i++) {
        const struct CMUnitTest test = {.name = scenarios[i].name, .test_func = scenarios[i].run};

        if (strcmp(argv[1], scenarios[i].name) != 0)
            continue;
        if (scenarios[i].needs_deepbind && sanitizer_refuses_deepbind()) {
            printf("SKIP: this sanitizer's dlopen refuses RTLD_DEEPBIND\n");
            return 77;
        }
        return _cmocka_run_group_tests(scenarios[i].name, &test, 1, NULL, NULL);
    }
    fprintf(stderr, "usage: %s scenario\n", argv[0]);
    return 2;
}
