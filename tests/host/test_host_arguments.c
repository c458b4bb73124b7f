/* SPDX-License-Identifier: Apache-2.0 */
/* NULL and bad values: each refused with the documented code, nothing changed; getters answer their default. */
#include "support.h"

#include <stdlib.h>
#include <string.h>

#include "fake_nic.h"
#include "gdaki/info.h"

static doca_dev_t *dev;
static doca_gpu_t *gpu;

static int setup(void **state)
{
    (void)state;
    fake_nic_install();
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

static void gpu_handles(void **state)
{
    static const char *const bad[] = {"",        "zz",  "0000:00", "0:0:0:0.0", "0000:17:00.0", "0000:17:00.8",
                                      "00:20.0", "cpu1"};
    doca_gpu_t *g = NULL;
    doca_gpu_t empty = {0};

    (void)state;
    FAILS(doca_gpu_create(NULL, &g), DOCA_ERROR_INITIALIZATION);
    FAILS(doca_gpu_create("cpu", NULL), DOCA_ERROR_INITIALIZATION);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        FAILS(doca_gpu_create(bad[i], &g), DOCA_ERROR_INITIALIZATION);
        assert_null(g);
    }
    INVALID(doca_gpu_destroy(NULL));
    INVALID(doca_gpu_destroy(&empty));
    OK(doca_gpu_create("FFFF:00:00.0", &g));
    assert_int_equal(g->type, DOCA_GPU_LIB_TYPE_OPEN);
    OK(doca_gpu_destroy(g));
}

/* The last error's text names the object and the value, printed or not, and the cause survives the callers above it. */
static void error_texts(void **state)
{
    struct doca_gpu_verbs_qp_init_attr_hl a = {.gpu_dev = gpu, .net_dev = dev, .ibpd = &fake_pd, .sq_nwqe = 10};
    struct doca_gpu_verbs_qp_hl *hl = NULL;
    doca_gpu_t *g = NULL;

    (void)state;
    FAILS(doca_gpu_create("12:34:56:78", &g), DOCA_ERROR_INITIALIZATION);
    assert_non_null(strstr(gdaki_host_last_error(), "12:34:56:78"));
    a.sq_nwqe = 32769;
    INVALID(doca_gpu_verbs_create_qp_hl(&a, &hl));
    assert_non_null(strstr(gdaki_host_last_error(), "32769"));
    a.sq_nwqe = 10;
    fake.attr.max_cqe = 8;
    FAILS(doca_gpu_verbs_create_qp_hl(&a, &hl), DOCA_ERROR_INITIALIZATION);
    assert_non_null(strstr(gdaki_host_last_error(), "size 16 is above the device's 8"));
}

/* A failure without a text of its own must not show that of an earlier one. */
static void stale_error_texts(void **state)
{
    static const enum doca_gpu_mem_type types[] = {DOCA_GPU_MEM_TYPE_GPU, DOCA_GPU_MEM_TYPE_GPU_CPU, DOCA_GPU_MEM_TYPE_CPU_GPU};
    static const size_t sizes[] = {SIZE_MAX - 100, (size_t)1 << 60};
    doca_gpu_t *g = NULL;
    void *p, *q;
    int fd;

    (void)state;
    for (unsigned i = 0; i < 6; i++) {
        FAILS(doca_gpu_create("12:34:56:78", &g), DOCA_ERROR_INITIALIZATION);
        FAILS(doca_gpu_mem_alloc(gpu, sizes[i % 2], 4096, types[i / 2], &p, &q), DOCA_ERROR_NO_MEMORY);
        assert_null(strstr(gdaki_host_last_error(), "12:34:56:78"));
        assert_null(strstr(gdaki_host_last_error(), "()"));
    }
    OK(doca_gpu_mem_alloc(gpu, 4096, 4096, DOCA_GPU_MEM_TYPE_GPU, &p, NULL));
    FAILS(doca_gpu_create("12:34:56:78", &g), DOCA_ERROR_INITIALIZATION);
    FAILS(doca_gpu_get_dmabuf_fd(gpu, p, 4096, &fd), DOCA_ERROR_NOT_SUPPORTED);
    assert_non_null(strstr(gdaki_host_last_error(), "DMA-BUF"));
    OK(doca_gpu_mem_free(gpu, p));
}

static void gpu_memory(void **state)
{
    void *p = NULL, *c = NULL;
    int fd = -1;

    (void)state;
    INVALID(doca_gpu_mem_alloc(NULL, 64, 0, DOCA_GPU_MEM_TYPE_GPU, &p, &c));
    INVALID(doca_gpu_mem_alloc(gpu, 64, 0, DOCA_GPU_MEM_TYPE_GPU, NULL, &c));
    INVALID(doca_gpu_mem_alloc(gpu, 0, 0, DOCA_GPU_MEM_TYPE_GPU, &p, &c));
    INVALID(doca_gpu_mem_alloc(gpu, 64, 3, DOCA_GPU_MEM_TYPE_GPU, &p, &c));
    INVALID(doca_gpu_mem_alloc(gpu, 64, 0, (enum doca_gpu_mem_type)3, &p, &c));
    INVALID(doca_gpu_mem_alloc(gpu, 64, 0, DOCA_GPU_MEM_TYPE_GPU_CPU, &p, NULL));
    INVALID(doca_gpu_mem_alloc(gpu, 64, 0, DOCA_GPU_MEM_TYPE_CPU_GPU, &p, NULL));
    assert_null(p);
    FAILS(doca_gpu_mem_alloc(gpu, SIZE_MAX - 100, 0, DOCA_GPU_MEM_TYPE_GPU, &p, &c), DOCA_ERROR_NO_MEMORY);
    FAILS(doca_gpu_mem_alloc(gpu, SIZE_MAX - 100, 0, DOCA_GPU_MEM_TYPE_CPU_GPU, &p, &c), DOCA_ERROR_NO_MEMORY);
    for (int type = 0; type < 3; type++) {
        c = &c;
        OK(doca_gpu_mem_alloc(gpu, 100, 8192, (enum doca_gpu_mem_type)type, &p, &c));
        assert_int_equal((uintptr_t)p % 8192, 0);
        if (type == 0)
            assert_null(c);
        else
            assert_non_null(c);
        if (type == 2) {
            for (int i = 0; i < 100; i++)
                assert_int_equal(((char *)c)[i], 0);
        }
        memset(p, 1, 100);
        INVALID(doca_gpu_mem_free(gpu, (char *)p + 1));
        INVALID(doca_gpu_destroy(gpu)); /* an allocation lives: the handle stays usable */
        OK(doca_gpu_mem_free(gpu, p));
        INVALID(doca_gpu_mem_free(gpu, p));
    }
    OK(doca_gpu_mem_alloc(gpu, 64, 0, DOCA_GPU_MEM_TYPE_GPU, &p, NULL));
    assert_int_equal((uintptr_t)p % 4096, 0);
    INVALID(doca_gpu_get_dmabuf_fd(NULL, p, 64, &fd));
    INVALID(doca_gpu_get_dmabuf_fd(gpu, p, 64, NULL));
    INVALID(doca_gpu_get_dmabuf_fd(gpu, NULL, 64, &fd));
    INVALID(doca_gpu_get_dmabuf_fd(gpu, p, 0, &fd));
    FAILS(doca_gpu_get_dmabuf_fd(gpu, p, 64, &fd), DOCA_ERROR_NOT_SUPPORTED); /* cpu memory is no DMA-BUF */
    FAILS(doca_gpu_dmabuf_fd(gpu, p, 64, &fd), DOCA_ERROR_NOT_SUPPORTED);
    INVALID(doca_gpu_mem_free(NULL, p));
    INVALID(doca_gpu_mem_free(gpu, NULL));
    OK(doca_gpu_mem_free(gpu, p));
}

static void devices_and_umems(void **state)
{
    struct ibv_pd orphan = {0};
    doca_dev_t empty = {0};
    doca_dev_t *d = NULL;
    doca_verbs_umem_t *u = NULL;
    doca_verbs_uar_t *uar = NULL;
    char buffer[64];
    uint32_t id = 0;
    size_t size = 0;
    void *address = NULL;

    (void)state;
    INVALID(doca_verbs_dev_open(NULL, &d));
    INVALID(doca_verbs_dev_open(&fake_pd, NULL));
    INVALID(doca_verbs_dev_open(&orphan, &d));
    INVALID(doca_verbs_dev_close(NULL));
    INVALID(doca_verbs_dev_close(&empty));
    INVALID(doca_verbs_umem_create(NULL, gpu, buffer, 64, 1, -1, 0, &u));
    INVALID(doca_verbs_umem_create(&empty, gpu, buffer, 64, 1, -1, 0, &u));
    INVALID(doca_verbs_umem_create(dev, gpu, NULL, 64, 1, -1, 0, &u));
    INVALID(doca_verbs_umem_create(dev, gpu, buffer, 0, 1, -1, 0, &u));
    INVALID(doca_verbs_umem_create(dev, gpu, buffer, 64, 1, -1, 0, NULL));
    OK(doca_verbs_umem_create(dev, NULL, buffer, 64, 1, (int)DOCA_VERBS_DMABUF_INVALID_FD, 0, &u));
    INVALID(doca_verbs_umem_get_id(NULL, &id));
    INVALID(doca_verbs_umem_get_id(u, NULL));
    INVALID(doca_verbs_umem_get_size(NULL, &size));
    INVALID(doca_verbs_umem_get_size(u, NULL));
    INVALID(doca_verbs_umem_get_address(NULL, &address));
    INVALID(doca_verbs_umem_get_address(u, NULL));
    OK(doca_verbs_umem_get_size(u, &size));
    OK(doca_verbs_umem_get_address(u, &address));
    OK(doca_verbs_umem_get_id(u, &id));
    assert_int_equal(size, 64);
    assert_ptr_equal(address, buffer);
    assert_int_not_equal(id, 0);
    OK(doca_verbs_umem_destroy(u));
    INVALID(doca_verbs_umem_destroy(NULL));
    INVALID(doca_verbs_uar_create(NULL, DOCA_VERBS_UAR_ALLOCATION_TYPE_NONCACHE, &uar));
    INVALID(doca_verbs_uar_create(dev, DOCA_VERBS_UAR_ALLOCATION_TYPE_NONCACHE, NULL));
    FAILS(doca_verbs_uar_create(dev, (enum doca_verbs_uar_allocation_type)3, &uar), DOCA_ERROR_INITIALIZATION);
    OK(doca_verbs_uar_create(dev, DOCA_VERBS_UAR_ALLOCATION_TYPE_NONCACHE, &uar));
    assert_int_equal(uar->allocation_type, DOCA_VERBS_UAR_ALLOCATION_TYPE_NONCACHE);
    INVALID(doca_verbs_uar_id_get(NULL, &id));
    INVALID(doca_verbs_uar_id_get(uar, NULL));
    INVALID(doca_verbs_uar_reg_addr_get(NULL, &address));
    INVALID(doca_verbs_uar_reg_addr_get(uar, NULL));
    INVALID(doca_verbs_uar_dbr_less_addr_get(NULL, &address));
    INVALID(doca_verbs_uar_dbr_less_addr_get(uar, NULL));
    OK(doca_verbs_uar_dbr_less_addr_get(uar, &address));
    assert_int_equal((uintptr_t)address & 0xfff, 0x600);
    OK(doca_verbs_uar_destroy(uar));
    INVALID(doca_verbs_uar_destroy(NULL));
}

#define SETTER(call_null, call_ok)                                                                                     \
    do {                                                                                                               \
        INVALID(call_null);                                                                                            \
        OK(call_ok);                                                                                                   \
    } while (0)

static void init_attributes(void **state)
{
    doca_verbs_qp_init_attr_t *a = NULL;
    enum doca_verbs_qp_send_dbr_mode mode;
    enum doca_verbs_qp_ordering_semantic ordering;
    doca_verbs_umem_t *umem;
    uint64_t offset;
    doca_verbs_uar_t *uar;
    bool flag;

    (void)state;
    INVALID(doca_verbs_qp_init_attr_create(NULL));
    INVALID(doca_verbs_qp_init_attr_destroy(NULL));
    OK(doca_verbs_qp_init_attr_create(&a));
    INVALID(doca_verbs_qp_init_attr_set_pd(NULL, dev));
    INVALID(doca_verbs_qp_init_attr_set_pd(a, NULL));
    SETTER(doca_verbs_qp_init_attr_set_sq_sig_all(NULL, 1), doca_verbs_qp_init_attr_set_sq_sig_all(a, 1));
    SETTER(doca_verbs_qp_init_attr_set_sq_wr(NULL, 1), doca_verbs_qp_init_attr_set_sq_wr(a, 17));
    SETTER(doca_verbs_qp_init_attr_set_rq_wr(NULL, 1), doca_verbs_qp_init_attr_set_rq_wr(a, 18));
    SETTER(doca_verbs_qp_init_attr_set_send_max_sges(NULL, 1), doca_verbs_qp_init_attr_set_send_max_sges(a, 2));
    SETTER(doca_verbs_qp_init_attr_set_receive_max_sges(NULL, 1), doca_verbs_qp_init_attr_set_receive_max_sges(a, 3));
    SETTER(doca_verbs_qp_init_attr_set_max_inline_data(NULL, 1), doca_verbs_qp_init_attr_set_max_inline_data(a, 4));
    SETTER(doca_verbs_qp_init_attr_set_user_index(NULL, 1), doca_verbs_qp_init_attr_set_user_index(a, 0xffffff));
    INVALID(doca_verbs_qp_init_attr_set_user_index(a, 0x1000000));
    SETTER(doca_verbs_qp_init_attr_set_qp_type(NULL, 0), doca_verbs_qp_init_attr_set_qp_type(a, 9));
    SETTER(doca_verbs_qp_init_attr_set_core_direct_master(NULL, 1),
           doca_verbs_qp_init_attr_set_core_direct_master(a, 1));
    INVALID(doca_verbs_qp_init_attr_set_core_direct_master(a, 2));
    SETTER(doca_verbs_qp_init_attr_set_send_dbr_mode(NULL, DOCA_VERBS_QP_SEND_DBR_MODE_NO_DBR_EXT),
           doca_verbs_qp_init_attr_set_send_dbr_mode(a, DOCA_VERBS_QP_SEND_DBR_MODE_NO_DBR_EXT));
    INVALID(doca_verbs_qp_init_attr_set_send_dbr_mode(a, (enum doca_verbs_qp_send_dbr_mode)2));
    SETTER(doca_verbs_qp_init_attr_set_emulate_no_dbr_ext(NULL, true),
           doca_verbs_qp_init_attr_set_emulate_no_dbr_ext(a, true));
    SETTER(doca_verbs_qp_init_attr_set_qp_context(NULL, &dev), doca_verbs_qp_init_attr_set_qp_context(a, &dev));
    INVALID(doca_verbs_qp_init_attr_set_qp_context(a, NULL));
    INVALID(doca_verbs_qp_init_attr_set_send_cq(a, NULL));
    INVALID(doca_verbs_qp_init_attr_set_receive_cq(a, NULL));
    INVALID(doca_verbs_qp_init_attr_set_external_umem(a, NULL, 0));
    INVALID(doca_verbs_qp_init_attr_set_external_umem_dbr(a, NULL, 0));
    INVALID(doca_verbs_qp_init_attr_set_external_dbr_umem(a, NULL, 0));
    INVALID(doca_verbs_qp_init_attr_set_external_uar(a, NULL));
    INVALID(doca_verbs_qp_init_attr_set_srq(a, NULL));
    INVALID(doca_verbs_qp_init_attr_set_srq(NULL, NULL));
    FAILS(doca_verbs_qp_init_attr_set_ordering_semantic(a, DOCA_VERBS_QP_ORDERING_SEMANTIC_IBTA),
          DOCA_ERROR_NOT_SUPPORTED);
    FAILS(doca_verbs_qp_init_attr_get_ordering_semantic(a, &ordering), DOCA_ERROR_NOT_SUPPORTED);
    INVALID(doca_verbs_qp_init_attr_set_ordering_semantic(NULL, DOCA_VERBS_QP_ORDERING_SEMANTIC_IBTA));
    INVALID(doca_verbs_qp_init_attr_get_ordering_semantic(a, NULL));
    assert_int_equal(doca_verbs_qp_init_attr_get_sq_sig_all(a), 1);
    assert_int_equal(doca_verbs_qp_init_attr_get_sq_wr(a), 17);
    assert_int_equal(doca_verbs_qp_init_attr_get_rq_wr(a), 18);
    assert_int_equal(doca_verbs_qp_init_attr_get_send_max_sges(a), 2);
    assert_int_equal(doca_verbs_qp_init_attr_get_receive_max_sges(a), 3);
    assert_int_equal(doca_verbs_qp_init_attr_get_max_inline_data(a), 4);
    assert_int_equal(doca_verbs_qp_init_attr_get_user_index(a), 0xffffff);
    assert_int_equal(doca_verbs_qp_init_attr_get_qp_type(a), 9);
    assert_int_equal(doca_verbs_qp_init_attr_get_core_direct_master(a), 1);
    assert_ptr_equal(doca_verbs_qp_init_attr_get_qp_context(a), &dev);
    OK(doca_verbs_qp_init_attr_get_send_dbr_mode(a, &mode));
    assert_int_equal(mode, DOCA_VERBS_QP_SEND_DBR_MODE_NO_DBR_EXT);
    INVALID(doca_verbs_qp_init_attr_get_send_dbr_mode(a, NULL));
    OK(doca_verbs_qp_init_attr_get_emulate_no_dbr_ext(a, &flag));
    assert_true(flag);
    INVALID(doca_verbs_qp_init_attr_get_emulate_no_dbr_ext(a, NULL));
    OK(doca_verbs_qp_init_attr_get_external_umem(a, &umem, &offset));
    assert_null(umem);
    INVALID(doca_verbs_qp_init_attr_get_external_umem(a, NULL, &offset));
    INVALID(doca_verbs_qp_init_attr_get_external_umem(a, &umem, NULL));
    OK(doca_verbs_qp_init_attr_get_external_uar(a, &uar));
    assert_null(uar);
    INVALID(doca_verbs_qp_init_attr_get_external_uar(a, NULL));
    assert_null(doca_verbs_qp_init_attr_get_pd(NULL));
    assert_null(doca_verbs_qp_init_attr_get_send_cq(NULL));
    assert_null(doca_verbs_qp_init_attr_get_receive_cq(NULL));
    assert_null(doca_verbs_qp_init_attr_get_srq(NULL));
    assert_null(doca_verbs_qp_init_attr_get_qp_context(NULL));
    assert_int_equal(doca_verbs_qp_init_attr_get_sq_wr(NULL), 0);
    OK(doca_verbs_qp_init_attr_destroy(a));
}

static void state_attributes(void **state)
{
    doca_verbs_qp_attr_t *a = NULL;
    enum doca_verbs_qp_state current;

    (void)state;
    INVALID(doca_verbs_qp_attr_create(NULL));
    INVALID(doca_verbs_qp_attr_destroy(NULL));
    OK(doca_verbs_qp_attr_create(&a));
    SETTER(doca_verbs_qp_attr_set_next_state(NULL, 1), doca_verbs_qp_attr_set_next_state(a, DOCA_VERBS_QP_STATE_RTS));
    SETTER(doca_verbs_qp_attr_set_current_state(NULL, 1),
           doca_verbs_qp_attr_set_current_state(a, DOCA_VERBS_QP_STATE_RTR));
    SETTER(doca_verbs_qp_attr_set_path_mtu(NULL, 1), doca_verbs_qp_attr_set_path_mtu(a, DOCA_VERBS_MTU_SIZE_2K_BYTES));
    SETTER(doca_verbs_qp_attr_set_rq_psn(NULL, 1), doca_verbs_qp_attr_set_rq_psn(a, 1));
    SETTER(doca_verbs_qp_attr_set_sq_psn(NULL, 1), doca_verbs_qp_attr_set_sq_psn(a, 2));
    SETTER(doca_verbs_qp_attr_set_dest_qp_num(NULL, 1), doca_verbs_qp_attr_set_dest_qp_num(a, 3));
    SETTER(doca_verbs_qp_attr_set_allow_remote_write(NULL, 1), doca_verbs_qp_attr_set_allow_remote_write(a, 1));
    SETTER(doca_verbs_qp_attr_set_allow_remote_read(NULL, 1), doca_verbs_qp_attr_set_allow_remote_read(a, 1));
    SETTER(doca_verbs_qp_attr_set_pkey_index(NULL, 1), doca_verbs_qp_attr_set_pkey_index(a, 4));
    SETTER(doca_verbs_qp_attr_set_port_num(NULL, 1), doca_verbs_qp_attr_set_port_num(a, 5));
    SETTER(doca_verbs_qp_attr_set_ack_timeout(NULL, 1), doca_verbs_qp_attr_set_ack_timeout(a, 31));
    INVALID(doca_verbs_qp_attr_set_ack_timeout(a, 32));
    SETTER(doca_verbs_qp_attr_set_retry_cnt(NULL, 1), doca_verbs_qp_attr_set_retry_cnt(a, 7));
    INVALID(doca_verbs_qp_attr_set_retry_cnt(a, 8));
    SETTER(doca_verbs_qp_attr_set_rnr_retry(NULL, 1), doca_verbs_qp_attr_set_rnr_retry(a, 6));
    INVALID(doca_verbs_qp_attr_set_rnr_retry(a, 8));
    SETTER(doca_verbs_qp_attr_set_min_rnr_timer(NULL, 1), doca_verbs_qp_attr_set_min_rnr_timer(a, 12));
    INVALID(doca_verbs_qp_attr_set_min_rnr_timer(a, 32));
    SETTER(doca_verbs_qp_attr_set_max_rd_atomic(NULL, 1), doca_verbs_qp_attr_set_max_rd_atomic(a, 128));
    INVALID(doca_verbs_qp_attr_set_max_rd_atomic(a, 0));
    INVALID(doca_verbs_qp_attr_set_max_rd_atomic(a, 3));
    SETTER(doca_verbs_qp_attr_set_max_dest_rd_atomic(NULL, 1), doca_verbs_qp_attr_set_max_dest_rd_atomic(a, 1));
    INVALID(doca_verbs_qp_attr_set_max_dest_rd_atomic(a, 0));
    INVALID(doca_verbs_qp_attr_set_max_dest_rd_atomic(a, 6));
    SETTER(doca_verbs_qp_attr_set_atomic_mode(NULL, 1), doca_verbs_qp_attr_set_atomic_mode(a, 8));
    INVALID(doca_verbs_qp_attr_set_atomic_mode(a, 9));
    SETTER(doca_verbs_qp_attr_set_allow_remote_atomic(NULL, 1), doca_verbs_qp_attr_set_allow_remote_atomic(a, 3));
    INVALID(doca_verbs_qp_attr_set_ah_attr(NULL, NULL));
    INVALID(doca_verbs_qp_attr_set_ah_attr(a, NULL));
    INVALID(doca_verbs_qp_attr_get_current_state(NULL, &current));
    INVALID(doca_verbs_qp_attr_get_current_state(a, NULL));
    OK(doca_verbs_qp_attr_get_current_state(a, &current));
    assert_int_equal(current, DOCA_VERBS_QP_STATE_RTR);
    assert_int_equal(doca_verbs_qp_attr_get_next_state(a), DOCA_VERBS_QP_STATE_RTS);
    assert_int_equal(doca_verbs_qp_attr_get_path_mtu(a), DOCA_VERBS_MTU_SIZE_2K_BYTES);
    assert_int_equal(doca_verbs_qp_attr_get_rq_psn(a), 1);
    assert_int_equal(doca_verbs_qp_attr_get_sq_psn(a), 2);
    assert_int_equal(doca_verbs_qp_attr_get_dest_qp_num(a), 3);
    assert_int_equal(doca_verbs_qp_attr_get_pkey_index(a), 4);
    assert_int_equal(doca_verbs_qp_attr_get_port_num(a), 5);
    assert_int_equal(doca_verbs_qp_attr_get_ack_timeout(a), 31);
    assert_int_equal(doca_verbs_qp_attr_get_retry_cnt(a), 7);
    assert_int_equal(doca_verbs_qp_attr_get_rnr_retry(a), 6);
    assert_int_equal(doca_verbs_qp_attr_get_min_rnr_timer(a), 12);
    assert_int_equal(doca_verbs_qp_attr_get_allow_remote_write(a), 1);
    assert_int_equal(doca_verbs_qp_attr_get_allow_remote_read(a), 1);
    assert_int_equal(doca_verbs_qp_attr_get_allow_remote_atomic(a), 3);
    assert_null(doca_verbs_qp_attr_get_ah_attr(a));
    assert_int_equal(doca_verbs_qp_attr_get_allow_remote_write(NULL), -1);
    assert_int_equal(doca_verbs_qp_attr_get_allow_remote_read(NULL), -1);
    assert_int_equal(doca_verbs_qp_attr_get_rq_psn(NULL), 0);
    OK(doca_verbs_qp_attr_destroy(a));
}

/* The AH is copied: it may change or go away after it was set. */
static void address_handles(void **state)
{
    struct doca_verbs_gid gid = {{1, 2, 3}};
    doca_verbs_ah_attr_t *ah = NULL;
    doca_verbs_qp_attr_t *attr;

    (void)state;
    INVALID(doca_verbs_ah_attr_create(NULL, &ah));
    INVALID(doca_verbs_ah_attr_create(dev, NULL));
    INVALID(doca_verbs_ah_attr_destroy(NULL));
    OK(doca_verbs_ah_attr_create(dev, &ah));
    assert_int_equal(doca_verbs_ah_get_addr_type(ah), DOCA_VERBS_ADDR_TYPE_IPv4);
    SETTER(doca_verbs_ah_attr_set_gid(NULL, gid), doca_verbs_ah_attr_set_gid(ah, gid));
    SETTER(doca_verbs_ah_attr_set_addr_type(NULL, 0),
           doca_verbs_ah_attr_set_addr_type(ah, DOCA_VERBS_ADDR_TYPE_IB_GRH));
    INVALID(doca_verbs_ah_attr_set_addr_type(ah, (enum doca_verbs_addr_type)4));
    SETTER(doca_verbs_ah_attr_set_dlid(NULL, 1), doca_verbs_ah_attr_set_dlid(ah, 0x12345));
    SETTER(doca_verbs_ah_attr_set_sl(NULL, 1), doca_verbs_ah_attr_set_sl(ah, 2));
    SETTER(doca_verbs_ah_attr_set_sgid_index(NULL, 1), doca_verbs_ah_attr_set_sgid_index(ah, 3));
    SETTER(doca_verbs_ah_attr_set_static_rate(NULL, 1), doca_verbs_ah_attr_set_static_rate(ah, 4));
    SETTER(doca_verbs_ah_attr_set_hop_limit(NULL, 1), doca_verbs_ah_attr_set_hop_limit(ah, 5));
    SETTER(doca_verbs_ah_attr_set_traffic_class(NULL, 1), doca_verbs_ah_attr_set_traffic_class(ah, 6));
    assert_memory_equal(doca_verbs_ah_get_gid(ah).raw, gid.raw, 16);
    assert_int_equal(doca_verbs_ah_get_addr_type(ah), DOCA_VERBS_ADDR_TYPE_IB_GRH);
    assert_int_equal(doca_verbs_ah_get_dlid(ah), 0x12345);
    assert_int_equal(doca_verbs_ah_get_sl(ah), 2);
    assert_int_equal(doca_verbs_ah_get_sgid_index(ah), 3);
    assert_int_equal(doca_verbs_ah_get_static_rate(ah), 4);
    assert_int_equal(doca_verbs_ah_get_hop_limit(ah), 5);
    assert_int_equal(doca_verbs_ah_get_traffic_class(ah), 6);
    assert_int_equal(doca_verbs_ah_get_gid(NULL).raw[0], 0);
    assert_int_equal(doca_verbs_ah_get_sl(NULL), 0);
    OK(doca_verbs_qp_attr_create(&attr));
    OK(doca_verbs_qp_attr_set_ah_attr(attr, ah));
    OK(doca_verbs_ah_attr_destroy(ah));
    assert_int_equal(doca_verbs_ah_get_hop_limit(doca_verbs_qp_attr_get_ah_attr(attr)), 5);
    OK(doca_verbs_qp_attr_destroy(attr));
}

static void shared_receive_queues(void **state)
{
    struct doca_verbs_srq_init_attr *a = NULL;
    struct doca_verbs_srq *srq = NULL;
    doca_verbs_umem_t *umem;
    uint64_t offset;
    uint32_t entries, bytes;
    void *ring;

    (void)state;
    INVALID(doca_verbs_srq_init_attr_create(NULL));
    INVALID(doca_verbs_srq_init_attr_destroy(NULL));
    OK(doca_verbs_srq_init_attr_create(&a));
    INVALID(doca_verbs_srq_create(&fake_context, a, &srq)); /* no PD, no counts */
    SETTER(doca_verbs_srq_init_attr_set_srq_wr(NULL, 1), doca_verbs_srq_init_attr_set_srq_wr(a, 100));
    INVALID(doca_verbs_srq_init_attr_set_srq_wr(a, 0));
    SETTER(doca_verbs_srq_init_attr_set_receive_max_sges(NULL, 1), doca_verbs_srq_init_attr_set_receive_max_sges(a, 3));
    INVALID(doca_verbs_srq_init_attr_set_receive_max_sges(a, 0));
    SETTER(doca_verbs_srq_init_attr_set_type(NULL, 1),
           doca_verbs_srq_init_attr_set_type(a, DOCA_VERBS_SRQ_TYPE_CONTIGUOUS));
    INVALID(doca_verbs_srq_init_attr_set_type(a, (enum doca_verbs_srq_type)2));
    SETTER(doca_verbs_srq_init_attr_set_pd(NULL, &fake_pd), doca_verbs_srq_init_attr_set_pd(a, &fake_pd));
    INVALID(doca_verbs_srq_init_attr_set_pd(a, NULL));
    INVALID(doca_verbs_srq_init_attr_set_external_umem(a, NULL, 0));
    OK(doca_verbs_srq_init_attr_get_external_umem(a, &umem, &offset));
    assert_null(umem);
    INVALID(doca_verbs_srq_init_attr_get_external_umem(NULL, &umem, &offset));
    assert_int_equal(doca_verbs_srq_init_attr_get_srq_wr(a), 100);
    assert_int_equal(doca_verbs_srq_init_attr_get_receive_max_sges(a), 3);
    assert_int_equal(doca_verbs_srq_init_attr_get_type(a), DOCA_VERBS_SRQ_TYPE_CONTIGUOUS);
    assert_ptr_equal(doca_verbs_srq_init_attr_get_pd(a), &fake_pd);
    INVALID(doca_verbs_srq_create(NULL, a, &srq));
    INVALID(doca_verbs_srq_create(&fake_context, NULL, &srq));
    INVALID(doca_verbs_srq_create(&fake_context, a, NULL));
    OK(doca_verbs_srq_create(&fake_context, a, &srq));
    doca_verbs_srq_get_wq(srq, &ring, &entries, &bytes);
    assert_int_equal(bytes, 64); /* 3 SGEs of 16 bytes, to a power of two */
    assert_int_equal(entries, 128);
    assert_int_equal((uint8_t *)doca_verbs_srq_get_dbr_addr(srq) - (uint8_t *)ring, 128 * 64);
    assert_int_not_equal(doca_verbs_srq_get_srqn(srq), 0);
    OK(doca_verbs_srq_destroy(srq));
    OK(doca_verbs_srq_init_attr_set_type(a, DOCA_VERBS_SRQ_TYPE_LINKED_LIST));
    OK(doca_verbs_srq_init_attr_set_receive_max_sges(a, 1));
    OK(doca_verbs_srq_create(&fake_context, a, &srq));
    doca_verbs_srq_get_wq(srq, NULL, NULL, &bytes);
    assert_int_equal(bytes, 32);
    OK(doca_verbs_srq_destroy(srq));
    OK(doca_verbs_srq_init_attr_set_receive_max_sges(a, 9));
    FAILS(doca_verbs_srq_create(&fake_context, a, &srq), DOCA_ERROR_NOT_SUPPORTED);
    OK(doca_verbs_srq_init_attr_set_receive_max_sges(a, 1));
    OK(doca_verbs_srq_init_attr_set_srq_wr(a, 4097));
    FAILS(doca_verbs_srq_create(&fake_context, a, &srq), DOCA_ERROR_NOT_SUPPORTED);
    INVALID(doca_verbs_srq_destroy(NULL));
    doca_verbs_srq_get_wq(NULL, &ring, &entries, &bytes);
    assert_null(ring);
    assert_null(doca_verbs_srq_get_dbr_addr(NULL));
    assert_int_equal(doca_verbs_srq_get_srqn(NULL), 0);
    OK(doca_verbs_srq_init_attr_destroy(a));
}

static void device_attributes(void **state)
{
    struct doca_verbs_device_attr *a = NULL;

    (void)state;
    INVALID(doca_verbs_query_device(NULL, &a));
    INVALID(doca_verbs_query_device(&fake_context, NULL));
    INVALID(doca_verbs_device_attr_free(NULL));
    OK(doca_verbs_query_device(&fake_context, &a));
    assert_int_equal(doca_verbs_device_attr_get_max_qp(a), 1000);
    assert_int_equal(doca_verbs_device_attr_get_max_qp_wr(a), 32768);
    assert_int_equal(doca_verbs_device_attr_get_max_sge(a), 30);
    assert_int_equal(doca_verbs_device_attr_get_max_cq(a), 1001);
    assert_int_equal(doca_verbs_device_attr_get_max_cqe(a), 65536);
    assert_int_equal(doca_verbs_device_attr_get_max_mr(a), 1002);
    assert_int_equal(doca_verbs_device_attr_get_max_pd(a), 1003);
    assert_int_equal(doca_verbs_device_attr_get_max_ah(a), 1004);
    assert_int_equal(doca_verbs_device_attr_get_max_srq(a), 1005);
    assert_int_equal(doca_verbs_device_attr_get_max_srq_wr(a), 4096);
    assert_int_equal(doca_verbs_device_attr_get_max_srq_sge(a), 8);
    assert_int_equal(doca_verbs_device_attr_get_max_pkeys(a), 128);
    assert_int_equal(doca_verbs_device_attr_get_send_dbr_mode_no_dbr_ext(a), 1);
    assert_int_equal(doca_verbs_device_attr_get_max_qp_rd_atom(a), 16);
    assert_int_equal(doca_verbs_device_attr_get_max_qp_init_rd_atom(a), 8);
    OK(doca_verbs_device_attr_get_is_qp_type_supported(a, DOCA_VERBS_QP_TYPE_RC));
    INVALID(doca_verbs_device_attr_get_is_qp_type_supported(a, 3));
    INVALID(doca_verbs_device_attr_get_is_qp_type_supported(NULL, 0));
    assert_int_equal(doca_verbs_device_attr_get_max_qp(NULL), 0);
    OK(doca_verbs_device_attr_free(a));
}

static void exported_queues(void **state)
{
    struct doca_gpu_verbs_qp *exported = NULL;
    struct doca_gpu_dev_verbs_qp *device = NULL;
    struct doca_gpu_verbs_qp_error_info info;
    struct doca_gpu_verbs_qp no_qp = {0};
    struct doca_gpu_verbs_qp_hl *hl = NULL;
    struct doca_gpu_verbs_qp_group_hl *group = NULL;
    struct doca_gpu_verbs_qp_init_attr_hl attr = {0};
    doca_gpu_verbs_service_t service = NULL;
    doca_verbs_qp_t empty_qp = {0};
    doca_verbs_cq_t empty_cq = {0};
    uint64_t *mapped;
    bool flag;

    (void)state;
    INVALID(doca_gpu_verbs_export_qp(NULL, &empty_qp, 0, NULL, &empty_cq, 0, &exported));
    INVALID(doca_gpu_verbs_export_qp(gpu, NULL, 0, NULL, &empty_cq, 0, &exported));
    INVALID(doca_gpu_verbs_export_qp(gpu, &empty_qp, 0, NULL, NULL, 0, &exported));
    INVALID(doca_gpu_verbs_export_qp(gpu, &empty_qp, 0, NULL, &empty_cq, 0, &exported));
    INVALID(doca_gpu_verbs_get_qp_dev(NULL, &device));
    INVALID(doca_gpu_verbs_unexport_qp(gpu, NULL));
    INVALID(doca_gpu_verbs_export_multi_qps_dev(gpu, NULL, 1, &device));
    INVALID(doca_gpu_verbs_export_multi_qps_dev(gpu, &exported, 0, &device));
    INVALID(doca_gpu_verbs_export_multi_qps_dev(gpu, &exported, 1, &device)); /* an element is NULL */
    INVALID(doca_gpu_verbs_unexport_multi_qps_dev(gpu, NULL, 1, device));
    INVALID(doca_gpu_verbs_can_gpu_register_uar(&flag, NULL));
    INVALID(doca_gpu_verbs_export_uar(NULL, &mapped));
    INVALID(doca_gpu_verbs_unexport_uar(NULL));
    INVALID(doca_gpu_verbs_cpu_proxy_progress(NULL, &flag));
    INVALID(doca_gpu_verbs_create_service(NULL));
    INVALID(doca_gpu_verbs_service_monitor_qp(NULL, NULL));
    INVALID(doca_gpu_verbs_destroy_service(NULL));
    setenv("GDAKI_PROXY_SPIN_US", "-3", 1);
    FAILS(doca_gpu_verbs_create_service(&service), DOCA_ERROR_BAD_CONFIG);
    setenv("GDAKI_PROXY_SPIN_US", "10", 1);
    OK(doca_gpu_verbs_create_service(&service));
    INVALID(doca_gpu_verbs_service_monitor_qp(service, NULL));
    OK(doca_gpu_verbs_destroy_service(service));
    INVALID(doca_gpu_verbs_query_last_error(NULL, &info));
    INVALID(doca_gpu_verbs_query_last_error(&no_qp, &info));
    INVALID(doca_gpu_verbs_reset_tracking_and_memory(NULL));
    INVALID(doca_gpu_verbs_create_qp_hl(NULL, &hl));
    INVALID(doca_gpu_verbs_create_qp_hl(&attr, NULL));
    INVALID(doca_gpu_verbs_create_qp_hl(&attr, &hl)); /* nothing set */
    INVALID(doca_gpu_verbs_destroy_qp_hl(NULL));
    INVALID(doca_gpu_verbs_create_qp_group_hl(NULL, &group));
    INVALID(doca_gpu_verbs_create_qp_group_hl(&attr, &group));
    INVALID(doca_gpu_verbs_destroy_qp_group_hl(NULL));
    INVALID(doca_gpu_verbs_qp_flat_list_create_hl(NULL, 1, &device));
    INVALID(doca_gpu_verbs_qp_flat_list_create_hl(&hl, 0, &device));
    INVALID(doca_gpu_verbs_qp_flat_list_create_hl(&hl, 1, NULL));
    INVALID(doca_gpu_verbs_qp_flat_list_create_hl(&hl, 1, &device)); /* an element is NULL */
    INVALID(doca_gpu_verbs_qp_flat_list_destroy_hl(NULL));
}

/* Each field of the high-level attributes alone. */
static void high_level_attributes(void **state)
{
    const struct doca_gpu_verbs_qp_init_attr_hl good = {
        .gpu_dev = gpu, .net_dev = dev, .ibpd = &fake_pd, .sq_nwqe = 10};
    struct doca_gpu_verbs_qp_init_attr_hl a;
    struct doca_gpu_verbs_qp_hl *hl = NULL;
    struct doca_gpu_verbs_qp_group_hl *group = NULL;

    (void)state;
#define WITH_FIELD(assignment, call, code)                                                                             \
    do {                                                                                                               \
        a = good;                                                                                                      \
        a.assignment;                                                                                                  \
        FAILS(call, code);                                                                                             \
        assert_int_equal(fake_nic_alive(), 0);                                                                         \
    } while (0)
#define BAD(assignment) WITH_FIELD(assignment, doca_gpu_verbs_create_qp_hl(&a, &hl), DOCA_ERROR_INVALID_VALUE)
    BAD(gpu_dev = NULL);
    BAD(ibpd = NULL);
    BAD(sq_nwqe = 0);
    BAD(sq_nwqe = 32769);
    BAD(nic_handler = DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_NO_DBR);
    BAD(nic_handler = (enum doca_gpu_dev_verbs_nic_handler)7);
    BAD(mreg_type = DOCA_GPUNETIO_VERBS_MEM_REG_TYPE_MAX);
    BAD(send_dbr_mode_ext = (enum doca_gpu_verbs_send_dbr_mode_ext)3);
    BAD(ordering_semantic = (enum doca_verbs_qp_ordering_semantic)3);
    WITH_FIELD(ordering_semantic = DOCA_VERBS_QP_ORDERING_SEMANTIC_OOO_RW, doca_gpu_verbs_create_qp_hl(&a, &hl),
               DOCA_ERROR_NOT_SUPPORTED);
    WITH_FIELD(nic_handler = DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_BF, doca_gpu_verbs_create_qp_group_hl(&a, &group),
               DOCA_ERROR_INVALID_VALUE);
    assert_null(hl);
    a = good;
    OK(doca_gpu_verbs_create_qp_hl(&a, &hl));
    assert_int_equal(a.sq_nwqe, 16);
    OK(doca_gpu_verbs_destroy_qp_hl(hl));
    setenv("GDAKI_QUEUE_MEM", "moon", 1);
    WITH_FIELD(sq_nwqe = 1, doca_gpu_verbs_create_qp_hl(&a, &hl), DOCA_ERROR_BAD_CONFIG);
    assert_non_null(strstr(gdaki_host_last_error(), "moon"));
    setenv("GDAKI_QUEUE_MEM", "gpu", 1);
    a = good;
    OK(doca_gpu_verbs_create_qp_hl(&a, &hl));
    OK(doca_gpu_verbs_destroy_qp_hl(hl));
    unsetenv("GDAKI_QUEUE_MEM");
    a = good;
    a.net_dev = NULL; /* 2.0's spelling: a device is opened from the PD */
    OK(doca_gpu_verbs_create_qp_hl(&a, &hl));
    OK(doca_gpu_verbs_destroy_qp_hl(hl));
    OK(doca_gpu_verbs_create_qp_group_hl(&a, &group));
    OK(doca_gpu_verbs_destroy_qp_group_hl(group));
    fake.refused_uar_types = 7;
    WITH_FIELD(sq_nwqe = 1, doca_gpu_verbs_create_qp_hl(&a, &hl), DOCA_ERROR_INITIALIZATION);
    fake.refused_uar_types = 4; /* no dedicated one: the shared one does */
    a = good;
    OK(doca_gpu_verbs_create_qp_hl(&a, &hl));
    assert_int_equal(hl->external_uar->allocation_type, DOCA_VERBS_UAR_ALLOCATION_TYPE_NONCACHE);
    OK(doca_gpu_verbs_destroy_qp_hl(hl));
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        CASE(gpu_handles), CASE(stale_error_texts), CASE(error_texts),           CASE(gpu_memory),        CASE(devices_and_umems),
        CASE(init_attributes),       CASE(state_attributes),  CASE(address_handles),
        CASE(shared_receive_queues), CASE(device_attributes), CASE(exported_queues),
        CASE(high_level_attributes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
