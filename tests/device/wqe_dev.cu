/* SPDX-License-Identifier: Apache-2.0 */
/* Public builders, called in a kernel: the same bytes as the host's, apart from the checker's mark in the signature byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
extern "C" {
#include <cmocka.h>
}

#include "doca_gpunetio_dev_verbs_onesided.cuh"

#include "golden.h"
#include "mini_nic.h"

typedef struct doca_gpu_dev_verbs_qp *qp_t;
typedef struct doca_gpu_dev_verbs_wqe *wqe_t;

struct bytes12 {
    uint8_t b[12];
};

__device__ static void build_write(qp_t qp, wqe_t w, uint32_t opcode, int flags, uint32_t imm, uint32_t bytes)
{
    doca_gpu_dev_verbs_wqe_prepare_write(qp, w, GOLDEN_INDEX, opcode, (enum doca_gpu_dev_verbs_wqe_ctrl_flags)flags, imm,
                                         GOLDEN_RADDR, GOLDEN_RKEY, GOLDEN_LADDR, GOLDEN_LKEY, bytes);
}

template <typename T>
__device__ static void build_value(qp_t qp, wqe_t w, const uint8_t *data)
{
    T value;
    memcpy(&value, data, sizeof(T));
    doca_gpu_dev_verbs_prepare_inl_rdma_write_wqe_header(qp, w, GOLDEN_INDEX, DOCA_GPUNETIO_MLX5_WQE_CTRL_CQ_UPDATE,
                                                         GOLDEN_RADDR, GOLDEN_RKEY, sizeof(T));
    doca_gpu_dev_verbs_prepare_inl_rdma_write_wqe_data<T>(qp, w, value);
}

template <enum doca_gpu_dev_verbs_atomic_ext_bytes bytes>
__device__ static void build_masked(qp_t qp, wqe_t w, uint32_t opcode)
{
    doca_gpu_dev_verbs_wqe_prepare_atomic_ext<bytes>(
        qp, w, w + 1, GOLDEN_INDEX, opcode, DOCA_GPUNETIO_IB_MLX5_WQE_CTRL_CQ_UPDATE, GOLDEN_RADDR, GOLDEN_RKEY,
        GOLDEN_LADDR, GOLDEN_LKEY, GOLDEN_ADD, GOLDEN_BOUNDARY, GOLDEN_SWAP, GOLDEN_COMPARE, GOLDEN_SWAP_MASK,
        GOLDEN_COMPARE_MASK);
}

__global__ void build_all(qp_t qp, wqe_t blocks, const uint8_t *data)
{
    const enum doca_gpu_dev_verbs_wqe_ctrl_flags on = DOCA_GPUNETIO_IB_MLX5_WQE_CTRL_CQ_UPDATE;
    wqe_t w = blocks + 2 * threadIdx.x;
    switch (threadIdx.x) {
    case GOLDEN_NOP:
        doca_gpu_dev_verbs_wqe_prepare_nop(qp, w, GOLDEN_INDEX, on);
        break;
    case GOLDEN_WRITE:
        build_write(qp, w, MLX5_OPCODE_RDMA_WRITE, on, 0, 0x1000);
        break;
    case GOLDEN_WRITE_FENCED:
        build_write(qp, w, DOCA_GPUNETIO_MLX5_OPCODE_RDMA_WRITE, DOCA_GPUNETIO_IB_MLX5_WQE_CTRL_CQ_UPDATE_FENCE, 0, 0x1000);
        break;
    case GOLDEN_WRITE_IMM:
        build_write(qp, w, MLX5_OPCODE_RDMA_WRITE_IMM, on | DOCA_GPUNETIO_MLX5_WQE_CTRL_SOLICITED, 0xaabbccdd, 0x1000);
        break;
    case GOLDEN_WRITE_2:
        doca_gpu_dev_verbs_wqe_prepare_write(qp, w, GOLDEN_INDEX, MLX5_OPCODE_RDMA_WRITE,
                                             DOCA_GPUNETIO_IB_MLX5_WQE_CTRL_CQ_ERROR_UPDATE, 0, GOLDEN_RADDR, GOLDEN_RKEY,
                                             GOLDEN_LADDR, GOLDEN_LKEY, 0x1000, GOLDEN_LADDR1, GOLDEN_LKEY, 0x20);
        break;
    case GOLDEN_WRITE_31_BITS:
        build_write(qp, w, MLX5_OPCODE_RDMA_WRITE, on, 0, 0xffffffff);
        break;
    case GOLDEN_INLINE_1:
        build_value<uint8_t>(qp, w, data);
        break;
    case GOLDEN_INLINE_4:
        build_value<uint32_t>(qp, w, data);
        break;
    case GOLDEN_INLINE_8:
        build_value<uint64_t>(qp, w, data);
        break;
    case GOLDEN_INLINE_12:
        build_value<bytes12>(qp, w, data);
        break;
    case GOLDEN_INLINE_13:
        doca_gpu_dev_verbs_wqe_prepare_write_inl(qp, w, GOLDEN_INDEX, on, GOLDEN_RADDR, GOLDEN_RKEY, (uint64_t)data, 13);
        break;
    case GOLDEN_INLINE_28:
        doca_gpu_dev_verbs_wqe_prepare_write_inl(qp, w, GOLDEN_INDEX, on, GOLDEN_RADDR, GOLDEN_RKEY, (uint64_t)data, 28);
        break;
    case GOLDEN_READ:
        doca_gpu_dev_verbs_wqe_prepare_read(qp, w, GOLDEN_INDEX, on, GOLDEN_RADDR, GOLDEN_RKEY, GOLDEN_LADDR, GOLDEN_LKEY,
                                            0x1000);
        break;
    case GOLDEN_READ_2:
        doca_gpu_dev_verbs_wqe_prepare_read(qp, w, GOLDEN_INDEX, on, GOLDEN_RADDR, GOLDEN_RKEY, GOLDEN_LADDR, GOLDEN_LKEY,
                                            0x1000, GOLDEN_LADDR1, GOLDEN_LKEY, 0x20);
        break;
    case GOLDEN_FETCH_ADD:
    case GOLDEN_CMP_SWAP:
        doca_gpu_dev_verbs_wqe_prepare_atomic(qp, w, GOLDEN_INDEX,
                                              threadIdx.x == GOLDEN_CMP_SWAP ? MLX5_OPCODE_ATOMIC_CS : MLX5_OPCODE_ATOMIC_FA,
                                              on, GOLDEN_RADDR, GOLDEN_RKEY, GOLDEN_LADDR, GOLDEN_LKEY, 8,
                                              GOLDEN_ATOMIC_ADD, GOLDEN_ATOMIC_SWAP);
        break;
    case GOLDEN_MASKED_FA_4:
        build_masked<DOCA_GPUNETIO_VERBS_ATOMIC_EXT_BYTES_4>(qp, w, MLX5_OPCODE_ATOMIC_MASKED_FA);
        break;
    case GOLDEN_MASKED_FA_8:
        build_masked<DOCA_GPUNETIO_VERBS_ATOMIC_EXT_BYTES_8>(qp, w, MLX5_OPCODE_ATOMIC_MASKED_FA);
        break;
    case GOLDEN_MASKED_CS_4:
        build_masked<DOCA_GPUNETIO_VERBS_ATOMIC_EXT_BYTES_4>(qp, w, MLX5_OPCODE_ATOMIC_MASKED_CS);
        break;
    case GOLDEN_MASKED_CS_8:
        build_masked<DOCA_GPUNETIO_VERBS_ATOMIC_EXT_BYTES_8>(qp, w, MLX5_OPCODE_ATOMIC_MASKED_CS);
        break;
    case GOLDEN_MASKED_BAD_OPCODE:
        build_masked<DOCA_GPUNETIO_VERBS_ATOMIC_EXT_BYTES_8>(qp, w, MLX5_OPCODE_ATOMIC_FA);
        break;
    case GOLDEN_WAIT:
        doca_gpu_dev_verbs_wqe_prepare_wait(qp, w, GOLDEN_INDEX, on, GOLDEN_WAIT_INDEX, GOLDEN_WAIT_CQN);
        break;
    case GOLDEN_DUMP:
        doca_gpu_dev_verbs_wqe_prepare_dump(qp, w, GOLDEN_INDEX, on, GOLDEN_LADDR, GOLDEN_LKEY, 1);
        break;
    }
    __threadfence_system();
}

static void device_builders(void **)
{
    qp_t qp = (qp_t)mini_alloc(sizeof(*qp));
    wqe_t blocks = (wqe_t)mini_alloc(128 * GOLDEN_COUNT);
    uint8_t *data = (uint8_t *)mini_alloc(29) + 1; /* not aligned */
    qp->sq_num = GOLDEN_QPN;
    for (uint32_t ds = 0; ds <= 5; ds++)
        (&qp->sq_num_shift8_be)[ds] = __builtin_bswap32(GOLDEN_QPN << 8 | ds);
    for (int i = 0; i < 28; i++)
        data[i] = (uint8_t)(0xa0 + i);
    memset((void *)blocks, 0xee, 128 * GOLDEN_COUNT);
    build_all<<<1, GOLDEN_COUNT>>>(qp, blocks, data);
    assert_int_equal(cudaDeviceSynchronize(), cudaSuccess);
    for (int c = 0; c < GOLDEN_COUNT; c++) {
        unsigned char expected[128], got[128];
        memset(expected, 0xee, sizeof(expected));
        golden_parse(golden_bytes[c], expected);
        memcpy(got, (void *)(blocks + 2 * c), sizeof(got));
        if (c != GOLDEN_MASKED_BAD_OPCODE) {
            assert_int_equal(got[8], 1); /* hand-built, says the checker; the device ignores the byte */
            got[8] = 0;
        }
        assert_memory_equal(got, expected, sizeof(expected));
    }
    cudaFreeHost(qp);
    cudaFreeHost(blocks);
    cudaFreeHost(data - 1);
}

__global__ void small_functions(uint64_t *out, uint64_t *copies)
{
    uint64_t *a = copies, *b = copies + 16;
    out[0] = doca_gpu_dev_verbs_bswap64(0x0102030405060708ull);
    out[1] = doca_gpu_dev_verbs_bswap32(0x01020304u);
    out[2] = doca_gpu_dev_verbs_bswap16(0x0102u);
    out[3] = doca_gpu_dev_verbs_div_ceil_aligned_pow2((1ull << 40) + 1, 30);
    out[4] = doca_gpu_dev_verbs_div_ceil_aligned_pow2_32bits(3ull << 30, 30);
    out[5] = doca_gpu_dev_verbs_isaligned((void *)0x1008, 8) + 2 * doca_gpu_dev_verbs_isaligned((void *)0x1004, 8);
    out[6] = doca_gpu_dev_verbs_cqe_idx_inc_mask(0xffffff, 2);
    out[7] = doca_gpu_dev_verbs_prepare_dbr(0x123456);
    out[8] = doca_gpu_dev_common_prepare_db(0x00efcdab, 0x123456);
    doca_gpu_dev_verbs_memcpy_data(b, a, 31);
    doca_gpu_dev_verbs_memcpy_data((uint8_t *)(b + 4) + 1, (uint8_t *)a + 3, 19); /* bytes only */
    doca_gpu_dev_verbs_memcpy_aligned_data(b + 8, a, 7);
    doca_gpu_dev_verbs_memcpy_inl_aligned_data<uint64_t>(b + 12, a, 21);
    __threadfence_system();
}

static void small_ones(void **)
{
    uint64_t *out = (uint64_t *)mini_alloc(128), *copies = (uint64_t *)mini_alloc(256);
    uint8_t *a = (uint8_t *)copies, *b = a + 128;
    for (int i = 0; i < 128; i++)
        a[i] = (uint8_t)(i + 1);
    small_functions<<<1, 1>>>(out, copies);
    assert_int_equal(cudaDeviceSynchronize(), cudaSuccess);
    assert_int_equal(out[0], 0x0807060504030201ull);
    assert_int_equal(out[1], 0x04030201u);
    assert_int_equal(out[2], 0x0201u);
    assert_int_equal(out[3], 1025);
    assert_int_equal(out[4], 3);
    assert_int_equal(out[5], 1);
    assert_int_equal(out[6], 1);
    assert_int_equal(out[7], 0x56340000u);
    assert_int_equal(out[8], 0x00efcdab00563412ull);
    assert_memory_equal(b, a, 31);
    assert_int_equal(b[31], 0);
    assert_memory_equal(b + 33, a + 3, 19);
    assert_memory_equal(b + 64, a, 7);
    assert_int_equal(b[71], 0);
    assert_memory_equal(b + 96, a, 21);
    assert_int_equal(b[117], 0);
    cudaFreeHost(out);
    cudaFreeHost(copies);
}

__global__ void atomics(uint64_t *words, int *lock, unsigned rounds)
{
    const enum doca_gpu_dev_verbs_resource_sharing_mode gpu = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU;
    uint64_t id = blockIdx.x * blockDim.x + threadIdx.x;
    for (unsigned i = 0; i < rounds; i++) {
        doca_gpu_dev_verbs_atomic_add<uint64_t, gpu>(&words[0], 1);
        doca_gpu_dev_verbs_atomic_add<uint32_t, gpu>((uint32_t *)&words[1], 1);
        doca_gpu_dev_verbs_atomic_max<uint64_t, gpu, true>(&words[2], id * rounds + i);
        doca_gpu_dev_verbs_atomic_max<int, gpu>((int *)&words[3], (int)(id + i));
        doca_gpu_dev_verbs_lock<gpu>(lock);
        words[4]++; /* protected by the lock alone */
        doca_gpu_dev_verbs_unlock<gpu>(lock);
    }
}

static void atomics_and_locks(void **)
{
    uint64_t *words = (uint64_t *)mini_alloc(64);
    int *lock = (int *)mini_alloc(4);
    *(int *)&words[3] = -5;
    atomics<<<4, 64>>>(words, lock, 10);
    assert_int_equal(cudaDeviceSynchronize(), cudaSuccess);
    assert_int_equal(words[0], 2560);
    assert_int_equal(words[1], 2560);
    assert_int_equal(words[2], 2559);
    assert_int_equal(*(int *)&words[3], 264);
    assert_int_equal(words[4], 2560);
    assert_int_equal(*lock, 0);
    cudaFreeHost(words);
    cudaFreeHost(lock);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(device_builders), cmocka_unit_test(small_ones),
                                       cmocka_unit_test(atomics_and_locks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
