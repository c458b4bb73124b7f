/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program in the 2.0 spelling (DOCA_GPUNETIO_API 2) or the 1.x spelling (1), C and C++: opaque structs, contexts
 * instead of devices, values instead of out-pointers, a CQ record in a umem of its own. It runs over softnic, through
 * the shared library.
 */
#include "gdaki/verbs.h"
#include "doca_gpunetio_host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "line %d: failed: %s\n", __LINE__, #condition);                                            \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)
#define OK(call) CHECK((call) == DOCA_SUCCESS)
#define M(name)  DOCA_VERBS_QP_ATTR_##name

enum { ENTRIES = 32 };

struct low_level {
    struct doca_gpu *gpu;
    struct doca_verbs_umem *cq_ring, *cq_record, *qp_ring, *qp_record;
    struct doca_verbs_uar *uar;
    struct doca_verbs_cq *cq;
    struct doca_verbs_qp *qp;
    void *memory[4];
};

static void *make_umem(struct low_level *l, struct ibv_context *context, size_t size, struct doca_verbs_umem **umem)
{
    void *gpu_ptr = NULL, *cpu_ptr = NULL;

    OK(doca_gpu_mem_alloc(l->gpu, size, 4096, DOCA_GPU_MEM_TYPE_CPU_GPU, &gpu_ptr, &cpu_ptr));
    OK(doca_verbs_umem_create(context, gpu_ptr, size, IBV_ACCESS_LOCAL_WRITE, (int)DOCA_VERBS_DMABUF_INVALID_FD, 0,
                              umem));
    return gpu_ptr;
}

static void create_cq(struct low_level *l, struct ibv_context *context)
{
    struct doca_verbs_cq_attr *attr;
    uint32_t *ci, *arm, entries = 0;
    uint64_t *reg;
    void *ring;
    uint8_t size;

    l->memory[0] = make_umem(l, context, ENTRIES * 64, &l->cq_ring);
    l->memory[1] = make_umem(l, context, 4096, &l->cq_record);
    for (int i = 0; i < ENTRIES; i++)
        ((uint8_t *)l->memory[0])[i * 64 + 63] = 0xf1;
    OK(doca_verbs_cq_attr_create(&attr));
    OK(doca_verbs_cq_attr_set_cq_size(attr, ENTRIES));
    OK(doca_verbs_cq_attr_set_external_umem(attr, l->cq_ring, 0));
    CHECK(doca_verbs_cq_create(context, attr, &l->cq) == DOCA_ERROR_INVALID_VALUE); /* umems come in pairs */
    OK(doca_verbs_cq_attr_set_external_dbr_umem(attr, l->cq_record, 64));
    OK(doca_verbs_cq_attr_set_external_uar(attr, l->uar));
    OK(doca_verbs_cq_attr_set_cq_overrun(attr, DOCA_VERBS_CQ_ENABLE_OVERRUN));
    OK(doca_verbs_cq_create(context, attr, &l->cq));
    OK(doca_verbs_cq_attr_destroy(attr));
    CHECK(doca_verbs_cq_get_cqn(l->cq) != 0);
    doca_verbs_cq_get_wq(l->cq, &ring, &entries, &size);
    CHECK(ring == l->memory[0] && entries == ENTRIES && size == 64);
    doca_verbs_cq_get_dbr_addr(l->cq, &reg, &ci, &arm);
    CHECK((char *)ci == (char *)l->memory[1] + 64);
}

static void create_qp(struct low_level *l, struct ibv_context *context, struct ibv_pd *pd)
{
    struct doca_verbs_qp_init_attr *attr;

    l->memory[2] = make_umem(l, context, ENTRIES * 64, &l->qp_ring);
    l->memory[3] = make_umem(l, context, 4096, &l->qp_record);
    OK(doca_verbs_qp_init_attr_create(&attr));
    OK(doca_verbs_qp_init_attr_set_pd(attr, pd));
    CHECK(doca_verbs_qp_init_attr_get_pd(attr) == pd);
    OK(doca_verbs_qp_init_attr_set_send_cq(attr, l->cq));
    OK(doca_verbs_qp_init_attr_set_sq_wr(attr, ENTRIES));
    OK(doca_verbs_qp_init_attr_set_send_max_sges(attr, 1));
    OK(doca_verbs_qp_init_attr_set_external_umem(attr, l->qp_ring, 0));
    OK(doca_verbs_qp_init_attr_set_external_dbr_umem(attr, l->qp_record, 0));
    OK(doca_verbs_qp_init_attr_set_external_uar(attr, l->uar));
    CHECK(doca_verbs_qp_init_attr_get_send_dbr_mode(attr) == DOCA_VERBS_QP_SEND_DBR_MODE_DBR_VALID);
    CHECK(!doca_verbs_qp_init_attr_get_emulate_no_dbr_ext(attr));
    OK(doca_verbs_qp_create(context, attr, &l->qp));
    OK(doca_verbs_qp_init_attr_destroy(attr));
    CHECK(doca_verbs_qp_get_qpn(l->qp) != 0);
    CHECK(doca_verbs_qp_get_dbr_addr(l->qp) == l->memory[3]);
    CHECK(doca_verbs_qp_get_uar_addr(l->qp) != NULL);
}

static void connect_qp(struct doca_verbs_qp *qp, struct ibv_context *context, const union ibv_gid *gid)
{
    struct doca_verbs_qp_attr *attr;
    struct doca_verbs_ah_attr *ah;
    struct doca_verbs_gid to;

    memcpy(to.raw, gid->raw, sizeof(to.raw));
    OK(doca_verbs_ah_attr_create(context, &ah));
    OK(doca_verbs_ah_attr_set_gid(ah, to));
    OK(doca_verbs_ah_attr_set_hop_limit(ah, 99));
    OK(doca_verbs_qp_attr_create(&attr));
    OK(doca_verbs_qp_attr_set_next_state(attr, DOCA_VERBS_QP_STATE_INIT));
    OK(doca_verbs_qp_attr_set_allow_remote_write(attr, 1));
    OK(doca_verbs_qp_attr_set_allow_remote_atomic(attr, DOCA_VERBS_QP_ATOMIC_MODE_IB_SPEC)); /* no mask bit in 2.0 */
    OK(doca_verbs_qp_attr_set_port_num(attr, 1));
    OK(doca_verbs_qp_modify(
        qp, attr, M(NEXT_STATE) | M(ALLOW_REMOTE_WRITE) | M(ALLOW_REMOTE_READ) | M(PORT_NUM) | M(PKEY_INDEX)));
    OK(doca_verbs_qp_attr_set_next_state(attr, DOCA_VERBS_QP_STATE_RTR));
    OK(doca_verbs_qp_attr_set_path_mtu(attr, DOCA_VERBS_MTU_SIZE_1K_BYTES));
    OK(doca_verbs_qp_attr_set_dest_qp_num(attr, doca_verbs_qp_get_qpn(qp)));
    OK(doca_verbs_qp_attr_set_ah_attr(attr, ah));
    OK(doca_verbs_qp_modify(qp, attr,
                            M(NEXT_STATE) | M(RQ_PSN) | M(DEST_QP_NUM) | M(PATH_MTU) | M(AH_ATTR) | M(MIN_RNR_TIMER)));
    OK(doca_verbs_qp_attr_set_next_state(attr, DOCA_VERBS_QP_STATE_RTS));
    OK(doca_verbs_qp_attr_set_ack_timeout(attr, 14));
    OK(doca_verbs_qp_attr_set_retry_cnt(attr, 7));
    OK(doca_verbs_qp_attr_set_rnr_retry(attr, 1));
    OK(doca_verbs_qp_modify(qp, attr, M(NEXT_STATE) | M(SQ_PSN) | M(ACK_TIMEOUT) | M(RETRY_CNT) | M(RNR_RETRY)));
    OK(doca_verbs_qp_attr_destroy(attr));
    OK(doca_verbs_ah_attr_destroy(ah));
}

/* A query fills the attribute objects and, as 2.0 did, the address handle that the attribute was given. */
static void query(struct doca_verbs_qp *qp, struct ibv_context *context, const union ibv_gid *gid)
{
    struct doca_verbs_qp_init_attr *init;
    struct doca_verbs_qp_attr *attr;
    struct doca_verbs_ah_attr *ah;

    OK(doca_verbs_ah_attr_create(context, &ah));
    OK(doca_verbs_qp_attr_create(&attr));
    OK(doca_verbs_qp_init_attr_create(&init));
    OK(doca_verbs_qp_attr_set_ah_attr(attr, ah));
    OK(doca_verbs_qp_query(qp, attr, init));
    CHECK(doca_verbs_qp_attr_get_current_state(attr) == DOCA_VERBS_QP_STATE_RTS);
    CHECK(doca_verbs_qp_attr_get_dest_qp_num(attr) == doca_verbs_qp_get_qpn(qp));
    CHECK(doca_verbs_qp_attr_get_path_mtu(attr) == DOCA_VERBS_MTU_SIZE_1K_BYTES);
    CHECK(doca_verbs_qp_attr_get_allow_remote_atomic(attr) == DOCA_VERBS_QP_ATOMIC_MODE_IB_SPEC);
    CHECK(doca_verbs_ah_get_hop_limit(ah) == 99);
    CHECK(memcmp(doca_verbs_ah_get_gid(ah).raw, gid->raw, 16) == 0);
    CHECK(doca_verbs_qp_init_attr_get_sq_wr(init) == ENTRIES);
    OK(doca_verbs_qp_init_attr_destroy(init));
    OK(doca_verbs_qp_attr_destroy(attr));
    OK(doca_verbs_ah_attr_destroy(ah));
}

static void export_low_level(struct low_level *l)
{
    struct doca_gpu_verbs_qp *exported;
    struct doca_gpu_dev_verbs_qp *device;

#if DOCA_GPUNETIO_API == 1
    OK(doca_gpu_verbs_export_qp(l->gpu, l->qp, DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY, l->memory[2], l->cq,
                                &exported));
    OK(doca_gpu_verbs_cpu_proxy_progress(exported));
#else
    bool progressed = true;

    OK(doca_gpu_verbs_export_qp(l->gpu, l->qp, DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY, l->memory[2], l->cq,
                                DOCA_GPUNETIO_VERBS_SEND_DBR_MODE_EXT_VALID_DBR, &exported));
    OK(doca_gpu_verbs_cpu_proxy_progress(exported, &progressed));
    CHECK(!progressed);
#endif
    OK(doca_gpu_verbs_get_qp_dev(exported, &device));
    OK(doca_gpu_verbs_unexport_qp(l->gpu, exported));
}

static void high_level(struct doca_gpu *gpu, struct ibv_pd *pd)
{
    struct doca_gpu_verbs_qp_init_attr_hl attr;
    struct doca_gpu_verbs_qp_hl *qp;
    int fd = -1;

    memset(&attr, 0, sizeof(attr));
    attr.gpu_dev = gpu;
    attr.ibpd = pd; /* no net_dev in 2.0 */
    attr.sq_nwqe = 48;
    OK(doca_gpu_verbs_create_qp_hl(&attr, &qp));
    CHECK(attr.sq_nwqe == 64);
    CHECK(qp->cq_sq_umem_dbr == qp->cq_sq_umem); /* one umem holds both now */
    CHECK(doca_gpu_dmabuf_fd(gpu, qp->qp_umem_gpu_ptr, 4096, &fd) == DOCA_ERROR_NOT_SUPPORTED);
    OK(doca_gpu_verbs_destroy_qp_hl(qp));
}

static void versions(void)
{
#if DOCA_GPUNETIO_API == 2
    CHECK(DOCA_GPUNETIO_VERSION == 0x020000);
    OK(doca_gpu_verbs_check_device_code_compatibility(DOCA_GPUNETIO_DEVICE_CODE_VERSION));
    OK(doca_gpu_verbs_check_host_code_compatibility(DOCA_GPUNETIO_HOST_CODE_VERSION));
#endif
}

static void destroy(struct low_level *l)
{
    OK(doca_verbs_qp_destroy(l->qp));
    OK(doca_verbs_cq_destroy(l->cq));
    OK(doca_verbs_umem_destroy(l->cq_ring));
    OK(doca_verbs_umem_destroy(l->cq_record));
    OK(doca_verbs_umem_destroy(l->qp_ring));
    OK(doca_verbs_umem_destroy(l->qp_record));
    OK(doca_verbs_uar_destroy(l->uar));
    for (int i = 0; i < 4; i++)
        OK(doca_gpu_mem_free(l->gpu, l->memory[i]));
    OK(doca_gpu_destroy(l->gpu));
}

int main(void)
{
    struct low_level l;
    struct ibv_device **list;
    struct ibv_context *context;
    struct ibv_pd *pd;
    union ibv_gid gid;

    memset(&l, 0, sizeof(l));
    versions();
    list = ibv_get_device_list(NULL);
    CHECK(list != NULL && list[0] != NULL);
    context = ibv_open_device(list[0]);
    CHECK(context != NULL);
    ibv_free_device_list(list);
    pd = ibv_alloc_pd(context);
    CHECK(pd != NULL && ibv_query_gid(context, 1, 0, &gid) == 0);
    OK(doca_gpu_create("cpu", &l.gpu));
    OK(doca_verbs_uar_create(context, DOCA_VERBS_UAR_ALLOCATION_TYPE_NONCACHE, &l.uar));
    CHECK(doca_verbs_uar_create(context, (enum doca_verbs_uar_allocation_type)9, &l.uar) == DOCA_ERROR_DRIVER);
    create_cq(&l, context);
    create_qp(&l, context, pd);
    connect_qp(l.qp, context, &gid);
    query(l.qp, context, &gid);
    export_low_level(&l);
    high_level(l.gpu, pd);
    destroy(&l);
    CHECK(ibv_dealloc_pd(pd) == 0);
    CHECK(ibv_close_device(context) == 0);
    printf("API %d: ok\n", DOCA_GPUNETIO_API);
    return 0;
}
