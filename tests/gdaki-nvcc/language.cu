/* SPDX-License-Identifier: Apache-2.0 */
/* CUDA C++ as people write it, run: launch forms, parameters, built-ins, bit functions, atomics, printf. */
#include <cuda/atomic>

#include <cstdio>

#include "executor/kernel_test.h"

struct point {
    float x, y;
    int tag[3];
};

__global__ void by_value(point p, float scale, const char *text, point *out)
{
    p.x *= scale; /* the thread's own copy */
    p.y += (float)text[0];
    if (threadIdx.x == 3)
        *out = p;
}

static void parameters_are_copied(void **)
{
    point *out = managed<point>(1), p = {1.5f, 2, {1, 2, 3}};
    double scale = 2; /* converts to the parameter's type */

    by_value<<<1, 4>>>(p, scale, "A", out);
    p.x = 100;
    CHECK(cudaDeviceSynchronize());
    assert_true(out->x == 3.0f && out->y == 67.0f && out->tag[2] == 3);
    cudaFree(out);
}

template <typename T, int N = 2>
__global__ void set(T *out, T value)
{
    out[threadIdx.x] = value * N;
}

namespace deep
{
struct holder {
    template <class T>
    static __global__ void add(T *out, T value)
    {
        atomicAdd(out, value);
    }
};
} // namespace deep

#define LAUNCH(kernel, n, ...) kernel<<<1, n>>>(__VA_ARGS__)
#define DECLARE_TILE(type, n) __shared__ type tile[n]

__global__ void macro_shared(int *out)
{
    DECLARE_TILE(int, 32);

    tile[threadIdx.x] = (int)threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = tile[31 - threadIdx.x];
}

template <class F>
static void launch_generic(F kernel, int *out)
{
    kernel<<<1, 8>>>(out, 5);
}

static void launches_of_all_forms(void **)
{
    int *out = managed<int>(32);
    void (*table[])(int *, int) = {set<int, 3>, set<int>};
    cudaStream_t stream;

    CHECK(cudaStreamCreate(&stream));
    set<int, 7><<<1, 8, 0, stream>>>(out, 1);
    CHECK(cudaStreamSynchronize(stream));
    assert_int_equal(out[7], 7);
    set<<<dim3(1), dim3(8)>>>(out, 4);
    CHECK(cudaDeviceSynchronize());
    assert_int_equal(out[7], 8);
    table[0]<<<1, 8>>>(out, 5);
    CHECK(cudaDeviceSynchronize());
    assert_int_equal(out[7], 15);
    LAUNCH((set<int, 9>), 8, out, 1);
    CHECK(cudaDeviceSynchronize());
    assert_int_equal(out[7], 9);
    launch_generic(set<int, 4>, out);
    CHECK(cudaDeviceSynchronize());
    assert_int_equal(out[0], 20);
    deep::holder::add<int><<<
        1, /* a comment with >>>( in it */
        8>>>(out, 1);
    CHECK(cudaDeviceSynchronize());
    assert_int_equal(out[0], 28);
    macro_shared<<<1, 32>>>(out);
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < 32; i++)
        assert_int_equal(out[i], 31 - i);
    CHECK(cudaStreamDestroy(stream));
    cudaFree(out);
}

__constant__ int coefficients[4];
__device__ int counter = 5;

__global__ void use_symbols(int *out)
{
    out[threadIdx.x] = coefficients[threadIdx.x] + counter;
}

static void symbols_are_copied(void **)
{
    int *out = managed<int>(4), values[4] = {10, 20, 30, 40}, seen = 0;

    CHECK(cudaMemcpyToSymbol(coefficients, values, sizeof(values)));
    use_symbols<<<1, 4>>>(out);
    CHECK(cudaDeviceSynchronize());
    assert_int_equal(out[3], 45);
    CHECK(cudaMemcpyFromSymbol(&seen, counter, sizeof(seen)));
    assert_int_equal(seen, 5);
    assert_int_equal(cudaMemcpyToSymbol(counter, values, 8), cudaErrorInvalidValue);
    cudaFree(out);
}

__global__ void bits(unsigned *wrong)
{
    unsigned w = 0;

    w |= (__popc(0xf0f0u) != 8 || __popcll(~0ull) != 64) << 0;
    w |= (__ffs(0) != 0 || __ffs(8) != 4 || __ffsll(1ll << 40) != 41) << 1;
    w |= (__clz(0) != 32 || __clz(1) != 31 || __clzll(1) != 63) << 2;
    w |= (__brev(1) != 0x80000000u || __brev(0x12345678) != 0x1e6a2c48 || __brevll(1) != 1ull << 63) << 3;
    w |= (__byte_perm(0x33221100, 0x77665544, 0x7140) != 0x77114400) << 4;
    w |= (__byte_perm(0x80u, 0, 0x8888) != 0xffffffffu) << 5;
    w |= (__funnelshift_l(0x80000000u, 1, 1) != 3 || __funnelshift_r(1, 1, 1) != 0x80000000u) << 6;
    w |= (__umulhi(0x80000000u, 6) != 3 || __umul64hi(1ull << 63, 6) != 3 || __mulhi(-1, 1) != -1) << 7;
    w |= (__float_as_uint(1.0f) != 0x3f800000u || __int_as_float(0x40000000) != 2.0f) << 8;
    w |= (min(3, 4) != 3 || max(3u, 4u) != 4 || max(1.5, 2.5) != 2.5 || min(5ull, 4ull) != 4) << 9;
    w |= (warpSize != 32) << 10;
    *wrong = w;
}

static void bit_functions(void **)
{
    unsigned *out = managed<unsigned>(1);

    bits<<<1, 1>>>(out);
    CHECK(cudaDeviceSynchronize());
    assert_int_equal(*out, 0);
    cudaFree(out);
}

struct cells {
    int i, least, most, hash;
    unsigned u, wrap, down, mask;
    unsigned long long big;
    float f;
    double d;
};

__global__ void atomics(cells *c)
{
    int t = (int)threadIdx.x;

    atomicAdd(&c->i, t);
    atomicSub(&c->i, 1);
    atomicMin(&c->least, -t);
    atomicMax_system(&c->most, t - 100);
    atomicXor_block(&c->hash, 1 << t % 31);
    atomicAdd(&c->u, 1u);
    atomicInc(&c->wrap, 9u);
    atomicDec(&c->down, 9u);
    atomicOr(&c->mask, 1u << t % 32);
    atomicAdd_system(&c->big, 1ull << 33);
    atomicAdd(&c->f, 0.5f);
    atomicAdd(&c->d, 0.25);
}

static void atomics_of_all_kinds(void **)
{
    cells *c = managed<cells>(1);

    c->most = -1000;
    atomics<<<2, 64>>>(c);
    CHECK(cudaDeviceSynchronize());
    assert_int_equal(c->i, 2 * 63 * 64 / 2 - 128);
    assert_int_equal(c->least, -63);
    assert_int_equal(c->most, -37);
    assert_int_equal(c->hash, 0);
    assert_int_equal(c->u, 128);
    assert_int_equal(c->wrap, 128 % 10);
    assert_int_equal(c->down, (1000 - 128) % 10);
    assert_int_equal(c->mask, 0xffffffffu);
    assert_true(c->big == 128ull << 33);
    assert_true(c->f == 64.0f && c->d == 32.0);
    cudaFree(c);
}

__global__ void scoped(int *word, cuda::atomic<unsigned, cuda::thread_scope_device> *sum, int *wrong)
{
    cuda::atomic_ref<int, cuda::thread_scope_system> ref(*word);
    int expected = -1;

    ref.fetch_add(2, cuda::memory_order_relaxed);
    sum->fetch_add(threadIdx.x, cuda::std::memory_order_acq_rel);
    (*sum)++;
    cuda::atomic_thread_fence(cuda::memory_order_release, cuda::thread_scope_device);
    if (ref.compare_exchange_strong(expected, 7) || expected < 2)
        atomicAdd(wrong, 1);
    if (ref.load(cuda::memory_order_acquire) < 2)
        atomicAdd(wrong, 1);
    ref.fetch_max(1);
}

static void scoped_atomics(void **)
{
    int *word = managed<int>(2);
    auto *sum = managed<cuda::atomic<unsigned, cuda::thread_scope_device>>(1);

    scoped<<<1, 100>>>(word, sum, word + 1);
    CHECK(cudaDeviceSynchronize());
    assert_int_equal(*word, 200);
    assert_int_equal(sum->load(), 99 * 50 + 100);
    assert_int_equal(word[1], 0);
    cudaFree(word);
    cudaFree(sum);
}

__global__ void prints()
{
    printf("%d of %u\n", (int)threadIdx.x, blockDim.x);
}

static void device_printf(void **)
{
    fflush(stdout);
    prints<<<1, 2>>>();
    CHECK(cudaDeviceSynchronize());
}

__global__ void clocks(long long *out)
{
    long long start = clock64();
    uint64_t wall = gdaki_cpu_globaltimer();

    __nanosleep(2000);
    out[0] = clock64() - start;
    out[1] = (long long)(gdaki_cpu_globaltimer() - wall);
}

static void clocks_go_on(void **)
{
    long long *out = managed<long long>(2);

    clocks<<<1, 1>>>(out);
    CHECK(cudaDeviceSynchronize());
    assert_true(out[0] >= 2000 && out[1] > 0);
    cudaFree(out);
}

static void memory_and_device_queries(void **)
{
    cudaPointerAttributes attributes;
    cudaDeviceProp prop;
    char bus[32], plain[64];
    int device = -1, value = 0;
    unsigned flags = 0;
    void *p, *q;

    CHECK(cudaGetDeviceCount(&value));
    assert_int_equal(value, 1);
    for (const char *name : {"cpu", "cpu0", "ffff:00:00.0", "FFFF:00:00.0"}) {
        CHECK(cudaDeviceGetByPCIBusId(&device, name));
        assert_int_equal(device, 0);
    }
    assert_int_equal(cudaDeviceGetByPCIBusId(&device, "0000:01:00.0"), cudaErrorInvalidDevice);
    CHECK(cudaDeviceGetPCIBusId(bus, sizeof(bus), 0));
    assert_string_equal(bus, "ffff:00:00.0");
    assert_int_equal(cudaSetDevice(1), cudaErrorInvalidDevice);
    CHECK(cudaGetDeviceProperties(&prop, 0));
    assert_string_equal(prop.name, "gdaki CPU executor");
    assert_int_equal(prop.major, 9);
    CHECK(cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, 0));
    assert_int_equal(value, 32);

    CHECK(cudaMalloc(&p, 1000));
    CHECK(cudaPointerGetAttributes(&attributes, (char *)p + 999));
    assert_int_equal(attributes.type, cudaMemoryTypeDevice);
    CHECK(cudaPointerGetAttributes(&attributes, plain));
    assert_int_equal(attributes.type, cudaMemoryTypeUnregistered);
    CHECK(cudaHostRegister(plain, sizeof(plain), cudaHostRegisterMapped));
    assert_int_equal(cudaHostRegister(plain + 8, 8, 0), cudaErrorHostMemoryAlreadyRegistered);
    CHECK(cudaHostGetDevicePointer(&q, plain, 0));
    assert_ptr_equal(q, plain);
    CHECK(cudaHostGetFlags(&flags, plain));
    assert_int_equal(flags, cudaHostRegisterMapped);
    CHECK(cudaHostUnregister(plain));
    assert_int_equal(cudaHostUnregister(plain), cudaErrorHostMemoryNotRegistered);
    assert_int_equal(cudaFree((char *)p + 8), cudaErrorInvalidValue);
    assert_int_equal(cudaFreeHost(p), cudaErrorInvalidValue);
    CHECK(cudaMemset(p, 7, 1000));
    CHECK(cudaMemcpy(plain, p, sizeof(plain), cudaMemcpyDeviceToHost));
    assert_int_equal(plain[63], 7);
    assert_int_equal(cudaMemcpy(NULL, p, 8, cudaMemcpyDefault), cudaErrorInvalidValue);
    CHECK(cudaFree(p));
    assert_int_equal(cudaFree(p), cudaErrorInvalidValue);
    CHECK(cudaFree(NULL));
    assert_string_equal(cudaGetErrorName(cudaErrorInvalidValue), "cudaErrorInvalidValue");
    assert_string_equal(cudaGetErrorString(cudaErrorInvalidValue), "invalid argument");
    assert_int_equal(cudaGetLastError(), cudaErrorInvalidValue);
    CHECK(cudaGetLastError());
}

int main()
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parameters_are_copied),
        cmocka_unit_test(launches_of_all_forms),
        cmocka_unit_test(symbols_are_copied),
        cmocka_unit_test(bit_functions),
        cmocka_unit_test(atomics_of_all_kinds),
        cmocka_unit_test(scoped_atomics),
        cmocka_unit_test(device_printf),
        cmocka_unit_test(clocks_go_on),
        cmocka_unit_test(memory_and_device_queries),
    };

    return cmocka_run_group_tests_name("language", tests, NULL, NULL);
}
