/* SPDX-License-Identifier: Apache-2.0 */
/* Export: which handler comes out, what the device struct holds, arrays and lists, register mappings, reset. */
#include "support.h"

#include <errno.h>
#include <string.h>

#include "fake_nic.h"
#include "host/export.h"
#include "host/uar.h"

#define AUTO   DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO
#define PROXY  DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY
#define DB     DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_DB
#define BF     DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_BF
#define NO_DBR DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_NO_DBR

#define VALID    DOCA_GPUNETIO_VERBS_SEND_DBR_MODE_EXT_VALID_DBR
#define HW       DOCA_GPUNETIO_VERBS_SEND_DBR_MODE_EXT_NO_DBR_HW
#define EMULATED DOCA_GPUNETIO_VERBS_SEND_DBR_MODE_EXT_NO_DBR_SW_EMULATED

static doca_dev_t *dev;
static doca_gpu_t *gpu;
static struct gdaki_gpu_ops deaf_gpu; /* maps no registers */

static int refuse_register(void *ptr, size_t size, unsigned flags, void **device_ptr)
{
    (void)ptr, (void)size, (void)flags, (void)device_ptr;
    return -EINVAL;
}

/* Memory can still be pinned; only the 8 bytes of a doorbell register cannot. */
static int register_memory_only(void *ptr, size_t size, unsigned flags, void **device_ptr)
{
    return size == 8 ? refuse_register(ptr, size, flags, device_ptr)
                     : gdaki_gpu_select("cpu", NULL)->host_register(ptr, size, flags, device_ptr);
}

static int setup(void **state)
{
    (void)state;
    fake_nic_install();
    deaf_gpu = *gdaki_gpu_select("cpu", NULL);
    deaf_gpu.host_register = register_memory_only;
    OK(doca_verbs_dev_open(&fake_pd, &dev));
    OK(doca_gpu_create("cpu", &gpu));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    OK(doca_gpu_destroy(gpu));
    OK(doca_verbs_dev_close(dev));
    assert_int_equal(fake_nic_alive(), 0);
    return 0;
}

static doca_error_t create_hl(enum doca_gpu_dev_verbs_nic_handler handler, enum doca_gpu_verbs_send_dbr_mode_ext mode,
                              bool collapsed, struct doca_gpu_verbs_qp_hl **hl)
{
    struct doca_gpu_verbs_qp_init_attr_hl a = {.gpu_dev = gpu,
                                               .net_dev = dev,
                                               .ibpd = &fake_pd,
                                               .sq_nwqe = 16,
                                               .nic_handler = handler,
                                               .send_dbr_mode_ext = mode,
                                               .cq_collapsed = collapsed};

    return doca_gpu_verbs_create_qp_hl(&a, hl);
}

/* ---- handlers -----------------------------------------------------------------------------------------------------
 */

/* A queue of either record mode, exported anew for each row. */
static void handler_table(void **state)
{
    static const struct {
        bool qp_without_record, gpu_maps;
        enum doca_gpu_dev_verbs_nic_handler handler;
        enum doca_gpu_verbs_send_dbr_mode_ext mode;
        doca_error_t code;
        enum doca_gpu_dev_verbs_nic_handler resolved;
        bool cpu_proxy, full_proxy;
    } table[] = {
        {false, true, AUTO, VALID, DOCA_SUCCESS, DB, false, false},
        {false, false, AUTO, VALID, DOCA_SUCCESS, PROXY, true, true},
        {false, true, PROXY, VALID, DOCA_SUCCESS, PROXY, true, true},
        {false, true, DB, VALID, DOCA_SUCCESS, DB, false, false},
        {false, true, BF, VALID, DOCA_SUCCESS, BF, false, false},
        {false, false, DB, VALID, DOCA_ERROR_DRIVER, 0, false, false},
        {false, false, BF, VALID, DOCA_ERROR_DRIVER, 0, false, false},
        {false, true, NO_DBR, VALID, DOCA_ERROR_INVALID_VALUE, 0, false, false},
        {false, true, AUTO, EMULATED, DOCA_SUCCESS, NO_DBR, true, false},
        {false, true, NO_DBR, EMULATED, DOCA_SUCCESS, NO_DBR, true, false},
        {false, true, DB, EMULATED, DOCA_SUCCESS, DB, true, false},
        {false, true, PROXY, EMULATED, DOCA_SUCCESS, PROXY, true, true},
        {false, false, AUTO, EMULATED, DOCA_SUCCESS, PROXY, true, true},
        {false, true, AUTO, HW, DOCA_ERROR_INVALID_VALUE, 0, false, false},
        {true, true, AUTO, HW, DOCA_SUCCESS, NO_DBR, false, false},
        {true, true, NO_DBR, HW, DOCA_SUCCESS, NO_DBR, false, false},
        {true, true, PROXY, HW, DOCA_SUCCESS, PROXY, true, true},
        {true, false, NO_DBR, HW, DOCA_ERROR_DRIVER, 0, false, false},
        {true, true, AUTO, VALID, DOCA_ERROR_INVALID_VALUE, 0, false, false},
        {true, true, AUTO, EMULATED, DOCA_ERROR_INVALID_VALUE, 0, false, false},
        {false, true, (enum doca_gpu_dev_verbs_nic_handler)5, VALID, DOCA_ERROR_INVALID_VALUE, 0, false, false},
        {false, true, AUTO, (enum doca_gpu_verbs_send_dbr_mode_ext)3, DOCA_ERROR_INVALID_VALUE, 0, false, false},
    };
    struct doca_gpu_verbs_qp_hl *queues[2];
    const struct gdaki_gpu_ops *cpu = gpu->open->ops;

    (void)state;
    OK(create_hl(PROXY, VALID, false, &queues[0])); /* its own export maps no register */
    OK(create_hl(PROXY, HW, false, &queues[1]));
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        struct doca_gpu_verbs_qp_hl *hl = queues[table[i].qp_without_record];
        struct doca_gpu_verbs_qp *out = NULL;

        gpu->open->ops = table[i].gpu_maps ? cpu : &deaf_gpu;
        if (doca_gpu_verbs_export_qp(gpu, hl->qp, table[i].handler, NULL, hl->cq_sq, table[i].mode, &out) !=
            table[i].code)
            fail_msg("row %zu", i);
        if (table[i].code == DOCA_SUCCESS) {
            assert_int_equal(out->qp_cpu->nic_handler, table[i].resolved);
            assert_int_equal(out->cpu_proxy, table[i].cpu_proxy);
            assert_int_equal(exported_of(out)->full_proxy, table[i].full_proxy);
            OK(doca_gpu_verbs_unexport_qp(gpu, out));
        } else {
            assert_null(out);
        }
        gpu->open->ops = cpu;
    }
    OK(doca_gpu_verbs_destroy_qp_hl(queues[0]));
    OK(doca_gpu_verbs_destroy_qp_hl(queues[1]));
}

/* The high level resolves before it creates, since the record's place depends on it. */
static void high_level_handlers(void **state)
{
    static const struct {
        bool gpu_maps;
        enum doca_gpu_dev_verbs_nic_handler handler;
        enum doca_gpu_verbs_send_dbr_mode_ext mode;
        enum doca_gpu_dev_verbs_nic_handler resolved;
        enum doca_verbs_uar_allocation_type uar;
    } table[] = {
        {true, AUTO, VALID, DB, DOCA_VERBS_UAR_ALLOCATION_TYPE_NONCACHE_DEDICATED},
        {false, AUTO, VALID, PROXY, DOCA_VERBS_UAR_ALLOCATION_TYPE_NONCACHE_DEDICATED},
        {true, AUTO, HW, NO_DBR, DOCA_VERBS_UAR_ALLOCATION_TYPE_NONCACHE_DEDICATED},
        {true, AUTO, EMULATED, NO_DBR, DOCA_VERBS_UAR_ALLOCATION_TYPE_NONCACHE_DEDICATED},
        {true, DB, HW, NO_DBR, DOCA_VERBS_UAR_ALLOCATION_TYPE_NONCACHE_DEDICATED},
        {true, PROXY, HW, PROXY, DOCA_VERBS_UAR_ALLOCATION_TYPE_NONCACHE_DEDICATED},
        {true, BF, VALID, BF, DOCA_VERBS_UAR_ALLOCATION_TYPE_BLUEFLAME},
    };
    const struct gdaki_gpu_ops *cpu = gpu->open->ops;

    (void)state;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        struct doca_gpu_verbs_qp_hl *hl;

        gpu->open->ops = table[i].gpu_maps ? cpu : &deaf_gpu;
        OK(create_hl(table[i].handler, table[i].mode, false, &hl));
        assert_int_equal(hl->nic_handler, table[i].resolved);
        assert_int_equal(hl->qp_gverbs->qp_cpu->nic_handler, table[i].resolved);
        assert_int_equal(hl->external_uar->allocation_type, table[i].uar);
        OK(doca_gpu_verbs_destroy_qp_hl(hl));
        gpu->open->ops = cpu;
    }
}

/* ---- device struct -------------------------------------------------------------------------------------------------
 */

static void device_struct(void **state)
{
    struct doca_gpu_verbs_qp_hl *hl;
    struct doca_gpu_dev_verbs_qp *d = NULL, *again = NULL;
    uint32_t qpn, cqn;
    void *record, *reg;

    (void)state;
    for (int collapsed = 0; collapsed < 2; collapsed++) {
        OK(create_hl(DB, VALID, collapsed, &hl));
        OK(doca_verbs_qp_get_qpn(hl->qp, &qpn));
        OK(doca_verbs_cq_get_cqn(hl->cq_sq, &cqn));
        OK(doca_verbs_qp_get_dbr_addr(hl->qp, &record));
        OK(doca_verbs_qp_get_uar_addr(hl->qp, &reg));
        INVALID(doca_gpu_verbs_get_qp_dev(hl->qp_gverbs, NULL));
        OK(doca_gpu_verbs_get_qp_dev(hl->qp_gverbs, &d));
        OK(doca_gpu_verbs_get_qp_dev(hl->qp_gverbs, &again));
        assert_ptr_equal(d, again);
        assert_int_equal(d->sq_num, qpn);
        assert_int_equal(d->sq_num_shift8, qpn << 8);
        assert_int_equal(d->sq_num_shift8_be, __builtin_bswap32(qpn << 8));
        assert_int_equal(d->sq_num_shift8_be_3ds, __builtin_bswap32(qpn << 8 | 3));
        assert_int_equal(d->sq_num_shift8_be_5ds, __builtin_bswap32(qpn << 8 | 5));
        assert_int_equal(d->sq_wqe_num, 16);
        assert_int_equal(d->sq_wqe_mask, 15);
        assert_ptr_equal(d->sq_wqe_daddr, hl->qp_umem_gpu_ptr);
        assert_ptr_equal(d->sq_dbrec, (uint32_t *)record + 1);
        assert_ptr_equal(d->sq_db, reg);
        assert_int_equal(d->mem_type, DOCA_GPUNETIO_VERBS_MEM_TYPE_HOST);
        assert_int_equal(d->cq_sq.cq_num, cqn);
        assert_int_equal(d->cq_sq.cqe_num, 16);
        assert_int_equal(d->cq_sq.cqe_mask, 15);
        assert_int_equal(d->cq_sq.cqe_size, 64);
        assert_int_equal(d->cq_sq.gdaki_kind, collapsed ? GDAKI_CQ_KIND_COLLAPSED : GDAKI_CQ_KIND_REGULAR);
        for (int i = 0; i < 16; i++)
            assert_int_equal(d->cq_sq.cqe_daddr[i * 64 + 63], 0xf1);
        OK(doca_gpu_verbs_destroy_qp_hl(hl));
    }
}

static void arrays(void **state)
{
    struct doca_gpu_verbs_qp_hl *hl[3];
    struct doca_gpu_verbs_qp *qps[3];
    struct doca_gpu_dev_verbs_qp *array = NULL, *flat = NULL, *one = NULL;

    (void)state;
    for (int i = 0; i < 3; i++) {
        OK(create_hl(i == 1 ? AUTO : DB, i == 1 ? EMULATED : VALID, false, &hl[i]));
        qps[i] = hl[i]->qp_gverbs;
    }
    OK(doca_gpu_verbs_export_multi_qps_dev(gpu, qps, 3, &array));
    assert_int_equal((uintptr_t)array % 65536, 0);
    for (int i = 0; i < 3; i++) {
        assert_ptr_equal(qps[i]->qp_gpu, array + i);
        assert_int_equal(array[i].sq_num, qps[i]->qp_cpu->sq_num);
        OK(doca_gpu_verbs_get_qp_dev(qps[i], &one));
        assert_ptr_equal(one, array + i);
    }
    assert_ptr_equal(qps[1]->cpu_db, &array[1].sq_wqe_pi); /* the proxy of an emulated queue follows the array */
    INVALID(doca_gpu_verbs_export_multi_qps_dev(gpu, qps, 3, &array)); /* they have copies already */
    INVALID(doca_gpu_verbs_unexport_qp(gpu, qps[0]));                  /* interior pointer */
    INVALID(doca_gpu_verbs_destroy_qp_hl(hl[0]));
    INVALID(doca_gpu_verbs_unexport_multi_qps_dev(gpu, qps, 3, array + 1));
    INVALID(doca_gpu_verbs_unexport_multi_qps_dev(gpu, qps, 3, NULL));
    OK(doca_gpu_verbs_unexport_multi_qps_dev(gpu, qps, 3, array));
    assert_null(qps[2]->qp_gpu);
    INVALID(doca_gpu_verbs_unexport_multi_qps_dev(gpu, qps, 3, array));
    FAILS(doca_gpu_verbs_qp_flat_list_create_hl(hl, 3, &flat), DOCA_ERROR_NOT_SUPPORTED); /* one is emulated */
    OK(doca_gpu_verbs_qp_flat_list_create_hl(hl, 1, &flat));
    assert_int_equal(flat[0].sq_num, qps[0]->qp_cpu->sq_num);
    OK(doca_gpu_verbs_qp_flat_list_destroy_hl(flat));
    INVALID(doca_gpu_verbs_qp_flat_list_destroy_hl(flat));
    for (int i = 0; i < 3; i++)
        OK(doca_gpu_verbs_destroy_qp_hl(hl[i]));
}

static void groups_share_a_register(void **state)
{
    struct doca_gpu_verbs_qp_init_attr_hl a = {.gpu_dev = gpu, .net_dev = dev, .ibpd = &fake_pd, .sq_nwqe = 16};
    struct doca_gpu_verbs_qp_group_hl *g;
    void *main_reg, *companion_reg;
    unsigned uars = fake.uars;

    (void)state;
    OK(doca_gpu_verbs_create_qp_group_hl(&a, &g));
    assert_int_equal(fake.uars, uars + 1);
    assert_int_equal(prm_get_qpc__cd_master(PRM_CAT(fake.last->create, create_qp_in, qpc)), 1);
    OK(doca_verbs_qp_get_uar_addr(g->qp_main.qp, &main_reg));
    OK(doca_verbs_qp_get_uar_addr(g->qp_companion.qp, &companion_reg));
    assert_ptr_equal(main_reg, companion_reg);
    assert_ptr_equal(g->qp_main.qp_gverbs->qp_cpu->sq_db, g->qp_companion.qp_gverbs->qp_cpu->sq_db);
    OK(doca_gpu_verbs_destroy_qp_group_hl(g));
}

/* ---- registers ----------------------------------------------------------------------------------------------------
 */

static void register_mappings(void **state)
{
    static uint64_t words[32] __attribute__((aligned(64)));
    uint64_t *first = NULL, *second = NULL, *other = NULL;
    bool can = false;

    (void)state;
    OK(doca_gpu_verbs_export_uar(&words[0], &first));
    OK(doca_gpu_verbs_export_uar(&words[0], &second));
    OK(doca_gpu_verbs_export_uar(&words[8], &other));
    assert_ptr_equal(first, second);
    assert_ptr_not_equal(first, other);
    OK(doca_gpu_verbs_can_gpu_register_uar(&words[0], &can)); /* mapped already: the probe must not take it away */
    assert_true(can);
    OK(doca_gpu_verbs_can_gpu_register_uar(NULL, &can));
    assert_true(can);
    OK(doca_gpu_verbs_unexport_uar(first));
    OK(doca_gpu_verbs_unexport_uar(second));
    INVALID(doca_gpu_verbs_unexport_uar(first));
    OK(doca_gpu_verbs_unexport_uar(other));
    OK(doca_gpu_verbs_export_uar(&words[0], &first)); /* unregistered for good, so it can be registered again */
    OK(doca_gpu_verbs_unexport_uar(first));
}

static unsigned seen_flags;

static int note_flags(void *ptr, size_t size, unsigned flags, void **device_ptr)
{
    if (size == 8)
        seen_flags = flags;
    return gdaki_gpu_select("cpu", NULL)->host_register(ptr, size, flags, device_ptr);
}

/* softnic's registers are memory, others are I/O. */
static void register_flags(void **state)
{
    static uint64_t word;
    struct gdaki_gpu_ops ops = deaf_gpu;
    doca_verbs_uar_t *uar;
    uint64_t *mapped;
    void *reg;

    (void)state;
    ops.host_register = note_flags;
    OK(doca_verbs_uar_create(dev, DOCA_VERBS_UAR_ALLOCATION_TYPE_NONCACHE_DEDICATED, &uar));
    OK(doca_verbs_uar_reg_addr_get(uar, &reg));
    OK(uar_map(&ops, reg, &mapped));
    assert_int_equal(seen_flags, 0);
    OK(uar_unmap(mapped));
    OK(doca_verbs_uar_dbr_less_addr_get(uar, &reg));
    OK(uar_map(&ops, reg, &mapped));
    assert_int_equal(seen_flags, 0);
    OK(uar_unmap(mapped));
    OK(doca_verbs_uar_destroy(uar));
    OK(uar_map(&ops, &word, &mapped));
    assert_int_equal(seen_flags, GDAKI_GPU_REGISTER_IOMEMORY);
    OK(uar_unmap(mapped));
}

/* ---- reset --------------------------------------------------------------------------------------------------------
 */

/* What a device-side poll asks: is CQE number `index` in its slot? */
static bool slot_holds(const struct doca_gpu_dev_verbs_cq *cq, uint64_t index)
{
    uint8_t op_own = cq->cqe_daddr[(index & cq->cqe_mask) * 64 + 63];

    return op_own >> 4 != 15 && (op_own & 1u) == ((index & cq->cqe_num) != 0);
}

/* The NIC writes CQE number `index`. */
static void produce(const struct doca_gpu_dev_verbs_cq *cq, uint64_t index)
{
    cq->cqe_daddr[(index & cq->cqe_mask) * 64 + 63] = (index & cq->cqe_num) != 0;
}

/* Several lives of a queue, with ring wraps and unsignalled WQEs, with and without a device that answers QUERY_CQ. */
static void resets(void **state)
{
    static const unsigned posted[] = {3, 16, 37, 1, 5, 100};
    static const unsigned completed[] = {3, 16, 37, 1, 5, 100};

    (void)state;
    for (int answers = 0; answers < 2; answers++) {
        struct doca_gpu_verbs_qp_hl *hl;
        struct doca_gpu_dev_verbs_qp *d;
        struct fake_object *cq_object;
        uint64_t produced = 0;

        fake.answers_query_cq = answers != 0;
        OK(create_hl(PROXY, VALID, false, &hl));
        cq_object = (struct fake_object *)hl->cq_sq->open->obj;
        OK(doca_gpu_verbs_get_qp_dev(hl->qp_gverbs, &d));
        for (size_t life = 0; life < sizeof(posted) / sizeof(posted[0]); life++) {
            /* Two of three WQEs are signalled in the second run, which only the device's word can tell over wraps. */
            unsigned made = answers ? completed[life] * 2 / 3 : completed[life];

            for (unsigned i = 0; i < made; i++)
                produce(&d->cq_sq, produced + i);
            produced += made;
            cq_object->producer = (uint32_t)produced & 0xffffff;
            d->sq_rsvd_index = d->sq_ready_index = d->sq_wqe_pi = posted[life];
            d->cq_sq.cqe_ci = posted[life];
            d->cq_sq.gdaki_error = 1 | 5 << 8;
            d->sq_lock = 1;
            ((uint32_t *)hl->qp_umem_dbr_gpu_ptr)[1] = 0x1234;
            *hl->qp_gverbs->cpu_db = posted[life];
            hl->qp_gverbs->sq_wqe_pi_last = posted[life];
            OK(doca_gpu_verbs_reset_tracking_and_memory(hl->qp_gverbs));
            assert_int_equal(d->cq_sq.cqe_rsvd, produced);
            assert_int_equal(
                d->sq_rsvd_index | d->sq_ready_index | d->sq_wqe_pi | d->cq_sq.cqe_ci | (uint64_t)d->sq_lock, 0);
            assert_int_equal(d->cq_sq.gdaki_error, 0);
            assert_int_equal(((uint32_t *)hl->qp_umem_dbr_gpu_ptr)[1], 0);
            assert_int_equal(*hl->qp_gverbs->cpu_db, 0);
            assert_int_equal(hl->qp_gverbs->sq_wqe_pi_last, 0);
            for (unsigned i = 0; i < 16; i++)
                assert_false(slot_holds(&d->cq_sq, produced + i));
            /* Whoever looks at the owner bit alone must not be misled either. */
            for (unsigned i = 0; i < 16; i++) {
                uint64_t index = produced + i;

                assert_int_not_equal(d->cq_sq.cqe_daddr[(index & 15) * 64 + 63] & 1, (index & 16) != 0);
            }
        }
        OK(doca_gpu_verbs_destroy_qp_hl(hl));
    }
}

/* ---- errors -------------------------------------------------------------------------------------------------------
 */

static void put_error_cqe(struct doca_gpu_dev_verbs_qp *d, unsigned slot, uint8_t syndrome, uint16_t counter)
{
    uint8_t *cqe = d->cq_sq.cqe_daddr + slot * 64;

    cqe[52] = 0x11;
    cqe[53] = 0x22;
    cqe[54] = 0x33;
    cqe[55] = syndrome;
    cqe[60] = (uint8_t)(counter >> 8);
    cqe[61] = (uint8_t)counter;
    cqe[63] = 0xd0;
}

static void last_errors(void **state)
{
    struct doca_gpu_verbs_qp_error_info info;
    struct doca_gpu_verbs_qp_hl *hl;
    struct doca_gpu_dev_verbs_qp *d;
    struct fake_object *qp_object;

    (void)state;
    OK(create_hl(DB, VALID, false, &hl));
    qp_object = (struct fake_object *)hl->qp->open->obj;
    OK(doca_gpu_verbs_get_qp_dev(hl->qp_gverbs, &d));
    memset(&info, 0xff, sizeof(info));
    OK(doca_gpu_verbs_query_last_error(hl->qp_gverbs, &info));
    assert_false(info.has_error);
    assert_int_equal(info.syndrome, 0);
    INVALID(doca_gpu_verbs_query_last_error(hl->qp_gverbs, NULL));
    /* from the ring: the cause, not what was flushed because of it */
    qp_object->state = PRM_QP_ERR;
    put_error_cqe(d, 4, 0x05, 5);
    put_error_cqe(d, 3, 0x13, 0x1234);
    put_error_cqe(d, 2, 0x05, 6);
    OK(doca_gpu_verbs_query_last_error(hl->qp_gverbs, &info));
    assert_true(info.has_error);
    assert_int_equal(info.syndrome, 0x13);
    assert_int_equal(info.hw_err_synd, 0x11);
    assert_int_equal(info.hw_synd_type, 0x22);
    assert_int_equal(info.vendor_err_synd, 0x33);
    assert_int_equal(info.wqe_counter, 0x1234);
    /* softnic knows better */
    fake.qp_error = (struct softnic_qp_error){.has_error = true, .syndrome = 4, .vendor_err_synd = 7, .wqe_counter = 9};
    OK(doca_gpu_verbs_query_last_error(hl->qp_gverbs, &info));
    assert_int_equal(info.syndrome, 4);
    assert_int_equal(info.vendor_err_synd, 7);
    assert_int_equal(info.wqe_counter, 9);
    /* what a kernel saw is what its waits return */
    d->cq_sq.gdaki_error = 1 | 0x15u << 8 | 0x68u << 16 | 0x01u << 24 | 2ull << 32 | 77ull << 48;
    OK(doca_gpu_verbs_query_last_error(hl->qp_gverbs, &info));
    assert_int_equal(info.syndrome, 0x15);
    assert_int_equal(info.vendor_err_synd, 0x68);
    assert_int_equal(info.hw_err_synd, 1);
    assert_int_equal(info.hw_synd_type, 2);
    assert_int_equal(info.wqe_counter, 77);
    OK(doca_gpu_verbs_destroy_qp_hl(hl));
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        CASE(handler_table),
        CASE(high_level_handlers),
        CASE(device_struct),
        CASE(arrays),
        CASE(groups_share_a_register),
        CASE(register_mappings),
        CASE(register_flags),
        CASE(resets),
        CASE(last_errors),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
