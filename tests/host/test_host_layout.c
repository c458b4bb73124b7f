/* SPDX-License-Identifier: Apache-2.0 */
/* Layouts and values that programs compiled elsewhere rely on: all checked when this file is compiled. */
#include "support.h"

#define SIZE(type, bytes)       _Static_assert(sizeof(type) == (bytes), #type)
#define AT(type, field, offset) _Static_assert(offsetof(type, field) == (offset), #type "." #field)
#define VALUE(name, value)      _Static_assert((long long)(name) == (value), #name)

SIZE(doca_gpu_t, 16);
AT(doca_gpu_t, type, 0);
AT(doca_gpu_t, sdk, 8);
AT(doca_gpu_t, open, 8);
SIZE(doca_dev_t, 16);
AT(doca_dev_t, type, 0);
AT(doca_dev_t, sdk, 8);
AT(doca_dev_t, open, 8);
SIZE(doca_verbs_qp_init_attr_t, 16);
AT(doca_verbs_qp_init_attr_t, type, 0);
AT(doca_verbs_qp_init_attr_t, sdk, 8);
AT(doca_verbs_qp_init_attr_t, open, 8);
SIZE(doca_verbs_qp_attr_t, 16);
AT(doca_verbs_qp_attr_t, type, 0);
AT(doca_verbs_qp_attr_t, sdk, 8);
AT(doca_verbs_qp_attr_t, open, 8);
SIZE(doca_verbs_qp_t, 16);
AT(doca_verbs_qp_t, type, 0);
AT(doca_verbs_qp_t, sdk, 8);
AT(doca_verbs_qp_t, open, 8);
SIZE(doca_verbs_cq_attr_t, 16);
AT(doca_verbs_cq_attr_t, type, 0);
AT(doca_verbs_cq_attr_t, sdk, 8);
AT(doca_verbs_cq_attr_t, open, 8);
SIZE(doca_verbs_cq_t, 16);
AT(doca_verbs_cq_t, type, 0);
AT(doca_verbs_cq_t, sdk, 8);
AT(doca_verbs_cq_t, open, 8);
SIZE(doca_verbs_ah_attr_t, 16);
AT(doca_verbs_ah_attr_t, type, 0);
AT(doca_verbs_ah_attr_t, sdk, 8);
AT(doca_verbs_ah_attr_t, open, 8);
SIZE(doca_verbs_umem_t, 16);
AT(doca_verbs_umem_t, type, 0);
AT(doca_verbs_umem_t, sdk, 8);
AT(doca_verbs_umem_t, open, 8);
SIZE(doca_verbs_uar_t, 16);
AT(doca_verbs_uar_t, type, 0);
AT(doca_verbs_uar_t, sdk, 8);
AT(doca_verbs_uar_t, open, 8);
AT(doca_verbs_uar_t, allocation_type, 4);

SIZE(struct doca_gpu_verbs_qp, 88);
AT(struct doca_gpu_verbs_qp, gpu_dev, 0);
AT(struct doca_gpu_verbs_qp, qp, 8);
AT(struct doca_gpu_verbs_qp, cpu_db, 16);
AT(struct doca_gpu_verbs_qp, sq_wqe_pi_last, 24);
AT(struct doca_gpu_verbs_qp, sq_db, 32);
AT(struct doca_gpu_verbs_qp, sq_dbrec, 40);
AT(struct doca_gpu_verbs_qp, cpu_proxy, 48);
AT(struct doca_gpu_verbs_qp, sq_num_shift8_be, 52);
AT(struct doca_gpu_verbs_qp, send_dbr_mode_ext, 56);
AT(struct doca_gpu_verbs_qp, qp_cpu, 64);
AT(struct doca_gpu_verbs_qp, qp_gpu, 72);
AT(struct doca_gpu_verbs_qp, qp_gpu_h, 80);

SIZE(struct doca_gpu_verbs_qp_error_info, 24);
AT(struct doca_gpu_verbs_qp_error_info, has_error, 0);
AT(struct doca_gpu_verbs_qp_error_info, syndrome, 4);
AT(struct doca_gpu_verbs_qp_error_info, vendor_err_synd, 8);
AT(struct doca_gpu_verbs_qp_error_info, hw_err_synd, 12);
AT(struct doca_gpu_verbs_qp_error_info, hw_synd_type, 16);
AT(struct doca_gpu_verbs_qp_error_info, wqe_counter, 20);

SIZE(struct doca_gpu_verbs_qp_init_attr_hl, 64);
AT(struct doca_gpu_verbs_qp_init_attr_hl, gpu_dev, 0);
AT(struct doca_gpu_verbs_qp_init_attr_hl, net_dev, 8);
AT(struct doca_gpu_verbs_qp_init_attr_hl, ibpd, 16);
AT(struct doca_gpu_verbs_qp_init_attr_hl, sq_nwqe, 24);
AT(struct doca_gpu_verbs_qp_init_attr_hl, reserved1, 26);
AT(struct doca_gpu_verbs_qp_init_attr_hl, nic_handler, 28);
AT(struct doca_gpu_verbs_qp_init_attr_hl, mreg_type, 32);
AT(struct doca_gpu_verbs_qp_init_attr_hl, send_dbr_mode_ext, 36);
AT(struct doca_gpu_verbs_qp_init_attr_hl, cq_collapsed, 40);
AT(struct doca_gpu_verbs_qp_init_attr_hl, reserved2, 41);
AT(struct doca_gpu_verbs_qp_init_attr_hl, ordering_semantic, 44);
AT(struct doca_gpu_verbs_qp_init_attr_hl, reserved3, 48);

SIZE(struct doca_gpu_verbs_qp_hl, 96);
AT(struct doca_gpu_verbs_qp_hl, gpu_dev, 0);
AT(struct doca_gpu_verbs_qp_hl, cq_sq, 8);
AT(struct doca_gpu_verbs_qp_hl, cq_sq_umem_gpu_ptr, 16);
AT(struct doca_gpu_verbs_qp_hl, cq_sq_umem, 24);
AT(struct doca_gpu_verbs_qp_hl, qp, 32);
AT(struct doca_gpu_verbs_qp_hl, qp_umem_gpu_ptr, 40);
AT(struct doca_gpu_verbs_qp_hl, qp_umem, 48);
AT(struct doca_gpu_verbs_qp_hl, qp_umem_dbr_gpu_ptr, 56);
AT(struct doca_gpu_verbs_qp_hl, qp_umem_dbr, 64);
AT(struct doca_gpu_verbs_qp_hl, external_uar, 72);
AT(struct doca_gpu_verbs_qp_hl, nic_handler, 80);
AT(struct doca_gpu_verbs_qp_hl, send_dbr_mode_ext, 84);
AT(struct doca_gpu_verbs_qp_hl, qp_gverbs, 88);

SIZE(struct doca_gpu_verbs_qp_group_hl, 192);
AT(struct doca_gpu_verbs_qp_group_hl, qp_main, 0);
AT(struct doca_gpu_verbs_qp_group_hl, qp_companion, 96);

SIZE(struct doca_verbs_gid, 16);
AT(struct doca_verbs_gid, raw, 0);
SIZE(struct doca_gpu_dev_verbs_qp, 296);
SIZE(struct doca_gpu_dev_verbs_cq, 64);

VALUE(DOCA_SUCCESS, 0);
VALUE(DOCA_ERROR_UNKNOWN, 1);
VALUE(DOCA_ERROR_NOT_PERMITTED, 2);
VALUE(DOCA_ERROR_IN_USE, 3);
VALUE(DOCA_ERROR_NOT_SUPPORTED, 4);
VALUE(DOCA_ERROR_AGAIN, 5);
VALUE(DOCA_ERROR_INVALID_VALUE, 6);
VALUE(DOCA_ERROR_NO_MEMORY, 7);
VALUE(DOCA_ERROR_INITIALIZATION, 8);
VALUE(DOCA_ERROR_TIME_OUT, 9);
VALUE(DOCA_ERROR_SHUTDOWN, 10);
VALUE(DOCA_ERROR_CONNECTION_RESET, 11);
VALUE(DOCA_ERROR_CONNECTION_ABORTED, 12);
VALUE(DOCA_ERROR_CONNECTION_INPROGRESS, 13);
VALUE(DOCA_ERROR_NOT_CONNECTED, 14);
VALUE(DOCA_ERROR_NO_LOCK, 15);
VALUE(DOCA_ERROR_NOT_FOUND, 16);
VALUE(DOCA_ERROR_IO_FAILED, 17);
VALUE(DOCA_ERROR_BAD_STATE, 18);
VALUE(DOCA_ERROR_UNSUPPORTED_VERSION, 19);
VALUE(DOCA_ERROR_OPERATING_SYSTEM, 20);
VALUE(DOCA_ERROR_DRIVER, 21);
VALUE(DOCA_ERROR_UNEXPECTED, 22);
VALUE(DOCA_ERROR_ALREADY_EXIST, 23);
VALUE(DOCA_ERROR_FULL, 24);
VALUE(DOCA_ERROR_EMPTY, 25);
VALUE(DOCA_ERROR_IN_PROGRESS, 26);
VALUE(DOCA_ERROR_TOO_BIG, 27);
VALUE(DOCA_ERROR_AUTHENTICATION, 28);
VALUE(DOCA_ERROR_BAD_CONFIG, 29);
VALUE(DOCA_ERROR_SKIPPED, 30);
VALUE(DOCA_ERROR_DEVICE_FATAL_ERROR, 31);
VALUE(DOCA_VERBS_QP_STATE_RST, 0);
VALUE(DOCA_VERBS_QP_STATE_INIT, 1);
VALUE(DOCA_VERBS_QP_STATE_RTR, 2);
VALUE(DOCA_VERBS_QP_STATE_RTS, 3);
VALUE(DOCA_VERBS_QP_STATE_ERR, 4);
VALUE(DOCA_VERBS_ADDR_TYPE_IPv4, 0);
VALUE(DOCA_VERBS_ADDR_TYPE_IPv6, 1);
VALUE(DOCA_VERBS_ADDR_TYPE_IB_GRH, 2);
VALUE(DOCA_VERBS_ADDR_TYPE_IB_NO_GRH, 3);
VALUE(DOCA_VERBS_MTU_SIZE_256_BYTES, 0);
VALUE(DOCA_VERBS_MTU_SIZE_512_BYTES, 1);
VALUE(DOCA_VERBS_MTU_SIZE_1K_BYTES, 2);
VALUE(DOCA_VERBS_MTU_SIZE_2K_BYTES, 3);
VALUE(DOCA_VERBS_MTU_SIZE_4K_BYTES, 4);
VALUE(DOCA_VERBS_MTU_SIZE_RAW_ETHERNET, 5);
VALUE(DOCA_VERBS_UAR_ALLOCATION_TYPE_BLUEFLAME, 0);
VALUE(DOCA_VERBS_UAR_ALLOCATION_TYPE_NONCACHE, 1);
VALUE(DOCA_VERBS_UAR_ALLOCATION_TYPE_NONCACHE_DEDICATED, 2);
VALUE(DOCA_VERBS_CQ_DISABLE_OVERRUN, 0);
VALUE(DOCA_VERBS_CQ_ENABLE_OVERRUN, 1);
VALUE(DOCA_VERBS_SRQ_TYPE_LINKED_LIST, 0);
VALUE(DOCA_VERBS_SRQ_TYPE_CONTIGUOUS, 1);
VALUE(DOCA_VERBS_QP_ATOMIC_MODE_NONE, 0);
VALUE(DOCA_VERBS_QP_ATOMIC_MODE_IB_SPEC, 1);
VALUE(DOCA_VERBS_QP_ATOMIC_MODE_UP_TO_8BYTES, 3);
VALUE(DOCA_VERBS_QP_SEND_DBR_MODE_DBR_VALID, 0);
VALUE(DOCA_VERBS_QP_SEND_DBR_MODE_NO_DBR_EXT, 1);
VALUE(DOCA_GPU_MEM_TYPE_GPU, 0);
VALUE(DOCA_GPU_MEM_TYPE_GPU_CPU, 1);
VALUE(DOCA_GPU_MEM_TYPE_CPU_GPU, 2);
VALUE(DOCA_GPUNETIO_VERBS_MEM_REG_TYPE_DEFAULT, 0);
VALUE(DOCA_GPUNETIO_VERBS_MEM_REG_TYPE_CUDA_DMABUF, 1);
VALUE(DOCA_GPUNETIO_VERBS_MEM_REG_TYPE_CUDA_PEERMEM, 2);
VALUE(DOCA_GPUNETIO_VERBS_MEM_REG_TYPE_MAX, 3);
VALUE(DOCA_VERBS_QP_ATTR_ALLOW_REMOTE_WRITE, 1 << 0);
VALUE(DOCA_VERBS_QP_ATTR_ALLOW_REMOTE_READ, 1 << 1);
VALUE(DOCA_VERBS_QP_ATTR_PKEY_INDEX, 1 << 2);
VALUE(DOCA_VERBS_QP_ATTR_MIN_RNR_TIMER, 1 << 3);
VALUE(DOCA_VERBS_QP_ATTR_PORT_NUM, 1 << 4);
VALUE(DOCA_VERBS_QP_ATTR_NEXT_STATE, 1 << 5);
VALUE(DOCA_VERBS_QP_ATTR_CURRENT_STATE, 1 << 6);
VALUE(DOCA_VERBS_QP_ATTR_PATH_MTU, 1 << 7);
VALUE(DOCA_VERBS_QP_ATTR_RQ_PSN, 1 << 8);
VALUE(DOCA_VERBS_QP_ATTR_SQ_PSN, 1 << 9);
VALUE(DOCA_VERBS_QP_ATTR_DEST_QP_NUM, 1 << 10);
VALUE(DOCA_VERBS_QP_ATTR_ACK_TIMEOUT, 1 << 11);
VALUE(DOCA_VERBS_QP_ATTR_RETRY_CNT, 1 << 12);
VALUE(DOCA_VERBS_QP_ATTR_RNR_RETRY, 1 << 13);
VALUE(DOCA_VERBS_QP_ATTR_AH_ATTR, 1 << 14);
VALUE(DOCA_VERBS_QP_ATTR_MAX_QP_RD_ATOMIC, 1 << 16);
VALUE(DOCA_VERBS_QP_ATTR_MAX_DEST_RD_ATOMIC, 1 << 17);
VALUE(DOCA_VERBS_QP_ATTR_ATOMIC_MODE, 1 << 15);
VALUE(DOCA_GPU_LIB_TYPE_OPEN, 0);
VALUE(DOCA_GPU_LIB_TYPE_SDK, 1);
VALUE(DOCA_VERBS_SDK_LIB_TYPE_OPEN, 0);
VALUE(DOCA_VERBS_SDK_LIB_TYPE_SDK, 1);
VALUE(DOCA_VERBS_QP_ORDERING_SEMANTIC_IBTA, 0);
VALUE(DOCA_VERBS_QP_ORDERING_SEMANTIC_OOO_RW, 1);
VALUE(DOCA_VERBS_QP_ORDERING_SEMANTIC_OOO_ALL, 2);
VALUE(DOCA_SDK_WRAPPER_SUCCESS, 0);
VALUE(DOCA_SDK_WRAPPER_NOT_FOUND, 1);
VALUE(DOCA_SDK_WRAPPER_NOT_SUPPORTED, 2);
VALUE(DOCA_SDK_WRAPPER_API_ERROR, 3);
VALUE(DOCA_SDK_WRAPPER_API_INVALID_VALUE, 4);
VALUE(DOCA_VERBS_QP_ATOMIC_MODE_ONLY_8BYTES, 2);
VALUE(DOCA_VERBS_QP_ATOMIC_MODE_UP_TO_16BYTES, 4);
VALUE(DOCA_VERBS_QP_ATOMIC_MODE_UP_TO_32BYTES, 5);
VALUE(DOCA_VERBS_QP_ATOMIC_MODE_UP_TO_64BYTES, 6);
VALUE(DOCA_VERBS_QP_ATOMIC_MODE_UP_TO_128BYTES, 7);
VALUE(DOCA_VERBS_QP_ATOMIC_MODE_UP_TO_256BYTES, 8);
VALUE(DOCA_VERBS_GID_BYTE_LENGTH, 16);
VALUE(DOCA_VERBS_DMABUF_INVALID_FD, 0xFFFFFFFFll);
VALUE(DOCA_VERBS_QP_TYPE_RC, 0);
VALUE(DOCA_GPUNETIO_VERSION, 0x030000);

static void versions(void **state)
{
    uint32_t version = 0;

    (void)state;
    OK(doca_gpu_verbs_get_library_version(&version));
    assert_int_equal(version, 0x030000);
    INVALID(doca_gpu_verbs_get_library_version(NULL));
    OK(doca_gpu_verbs_check_device_code_compatibility(0x020000));
    OK(doca_gpu_verbs_check_device_code_compatibility(0x020002));
    OK(doca_gpu_verbs_check_device_code_compatibility(DOCA_GPUNETIO_DEVICE_CODE_VERSION));
    FAILS(doca_gpu_verbs_check_device_code_compatibility(0x01ffff), DOCA_ERROR_NOT_SUPPORTED);
    FAILS(doca_gpu_verbs_check_device_code_compatibility(0x030001), DOCA_ERROR_NOT_SUPPORTED);
    OK(doca_gpu_verbs_check_host_code_compatibility(0x020000));
    OK(doca_gpu_verbs_check_host_code_compatibility(DOCA_GPUNETIO_HOST_CODE_VERSION));
    FAILS(doca_gpu_verbs_check_host_code_compatibility(0x010500), DOCA_ERROR_NOT_SUPPORTED);
    FAILS(doca_gpu_verbs_check_host_code_compatibility(0xffffffff), DOCA_ERROR_NOT_SUPPORTED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(versions)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
