/* SPDX-License-Identifier: Apache-2.0 */
/* Streams: order within, concurrency between, the default stream, events, host functions. */
#include "kernel_test.h"

#include <pthread.h>
#include <unistd.h>

__global__ void resident(unsigned *flag)
{
    while (!atomicAdd(flag, 0))
        __nanosleep(100);
}

__global__ void append(unsigned *list, unsigned *count, unsigned value)
{
    list[atomicAdd(count, 1)] = value;
}

static cudaStream_t own_stream()
{
    cudaStream_t stream;

    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    return stream;
}

/* A kernel that waits in one stream, copies and kernels in another: they let the first go on. */
static void a_resident_kernel_and_another_stream(void **)
{
    unsigned *mem = managed<unsigned>(4), one = 1, seen = 0;
    cudaStream_t first = own_stream(), second = own_stream();

    resident<<<3, 64, 0, first>>>(mem);
    CHECK(cudaGetLastError());
    append<<<1, 1, 0, second>>>(mem + 2, mem + 1, 77);
    CHECK(cudaMemcpyAsync(&seen, mem + 2, sizeof(seen), cudaMemcpyDeviceToHost, second));
    CHECK(cudaStreamSynchronize(second));
    assert_int_equal(seen, 77);
    assert_int_equal(cudaStreamQuery(first), cudaErrorNotReady);
    CHECK(cudaMemcpyAsync(mem, &one, sizeof(one), cudaMemcpyHostToDevice, second));
    CHECK(cudaStreamSynchronize(first));
    CHECK(cudaStreamQuery(first));
    CHECK(cudaStreamDestroy(first));
    CHECK(cudaStreamDestroy(second));
    cudaFree(mem);
}

static void work_of_a_stream_is_in_order(void **)
{
    unsigned *mem = managed<unsigned>(201), *list = mem + 1;
    cudaStream_t stream = own_stream();

    for (unsigned i = 0; i < 200; i++)
        append<<<1, 1, 0, stream>>>(list, mem, i);
    CHECK(cudaStreamSynchronize(stream));
    for (unsigned i = 0; i < 200; i++)
        assert_int_equal(list[i], i);
    CHECK(cudaStreamDestroy(stream));
    cudaFree(mem);
}

static void note(void *arg)
{
    unsigned *mem = static_cast<unsigned *>(arg);

    mem[1 + mem[0]++] = 1000;
}

static void host_functions_are_in_order(void **)
{
    unsigned *mem = managed<unsigned>(8);
    cudaStream_t stream = own_stream();

    append<<<1, 1, 0, stream>>>(mem + 1, mem, 1);
    CHECK(cudaLaunchHostFunc(stream, note, mem));
    append<<<1, 1, 0, stream>>>(mem + 1, mem, 2);
    CHECK(cudaStreamSynchronize(stream));
    assert_int_equal(mem[1], 1);
    assert_int_equal(mem[2], 1000);
    assert_int_equal(mem[3], 2);
    CHECK(cudaStreamDestroy(stream));
    cudaFree(mem);
}

/* The legacy default stream waits for blocking streams and they for it; a non-blocking stream does neither. */
static void the_default_stream_joins_blocking_ones(void **)
{
    unsigned *mem = managed<unsigned>(8), *flag = mem, *count = mem + 1, *list = mem + 2;
    cudaStream_t blocking, apart = own_stream();

    CHECK(cudaStreamCreate(&blocking));
    resident<<<1, 1, 0, blocking>>>(flag);
    append<<<1, 1>>>(list, count, 1);              /* waits for the resident kernel */
    append<<<1, 1, 0, blocking>>>(list, count, 2); /* waits for the default stream */
    append<<<1, 1, 0, apart>>>(list, count, 3);    /* waits for nobody */
    CHECK(cudaStreamSynchronize(apart));
    assert_int_equal(*count, 1);
    assert_int_equal(list[0], 3);
    __atomic_store_n(flag, 1, __ATOMIC_RELEASE);
    CHECK(cudaDeviceSynchronize());
    assert_int_equal(list[1], 1);
    assert_int_equal(list[2], 2);
    CHECK(cudaStreamDestroy(blocking));
    CHECK(cudaStreamDestroy(apart));
    cudaFree(mem);
}

static void events_order_streams(void **)
{
    unsigned *mem = managed<unsigned>(8), *flag = mem, *count = mem + 1, *list = mem + 2;
    cudaStream_t a = own_stream(), b = own_stream();
    cudaEvent_t start, end;
    float ms = -1;

    CHECK(cudaEventCreate(&start));
    CHECK(cudaEventCreate(&end));
    CHECK(cudaEventQuery(start));
    assert_int_equal(cudaEventElapsedTime(&ms, start, end), cudaErrorInvalidResourceHandle);
    cudaGetLastError();
    CHECK(cudaEventRecord(start, a));
    resident<<<1, 1, 0, a>>>(flag);
    append<<<1, 1, 0, a>>>(list, count, 1);
    CHECK(cudaEventRecord(end, a));
    CHECK(cudaStreamWaitEvent(b, end));
    append<<<1, 1, 0, b>>>(list, count, 2);
    assert_int_equal(cudaEventQuery(end), cudaErrorNotReady);
    assert_int_equal(cudaEventElapsedTime(&ms, start, end), cudaErrorNotReady);
    assert_int_equal(cudaStreamQuery(b), cudaErrorNotReady);
    __atomic_store_n(flag, 1, __ATOMIC_RELEASE);
    CHECK(cudaEventSynchronize(end));
    CHECK(cudaStreamSynchronize(b));
    assert_int_equal(list[0], 1);
    assert_int_equal(list[1], 2);
    CHECK(cudaEventElapsedTime(&ms, start, end));
    assert_true(ms >= 0);
    CHECK(cudaEventDestroy(start));
    CHECK(cudaEventDestroy(end));
    CHECK(cudaStreamDestroy(a));
    CHECK(cudaStreamDestroy(b));
    cudaFree(mem);
}

/* Destroying a stream or event with work in it is allowed: the work is done. */
static void destroying_does_not_lose_work(void **)
{
    unsigned *mem = managed<unsigned>(4);
    cudaStream_t stream = own_stream();
    cudaEvent_t event;

    CHECK(cudaEventCreate(&event));
    resident<<<1, 1, 0, stream>>>(mem);
    append<<<1, 1, 0, stream>>>(mem + 2, mem + 1, 5);
    CHECK(cudaEventRecord(event, stream));
    CHECK(cudaEventDestroy(event));
    CHECK(cudaStreamDestroy(stream));
    assert_int_equal(cudaStreamQuery(stream), cudaErrorInvalidResourceHandle);
    cudaGetLastError();
    __atomic_store_n(mem, 1, __ATOMIC_RELEASE);
    CHECK(cudaDeviceSynchronize());
    assert_int_equal(mem[2], 5);
    cudaFree(mem);
}

static unsigned shared_count;

static void *launcher(void *arg)
{
    cudaStream_t stream = own_stream();

    for (unsigned i = 0; i < 50; i++)
        append<<<2, 32, 0, stream>>>(static_cast<unsigned *>(arg), &shared_count, i);
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaStreamDestroy(stream));
    return NULL;
}

static void host_threads_launch_at_once(void **)
{
    unsigned *list = managed<unsigned>(4 * 50 * 64);
    pthread_t threads[4];

    for (pthread_t &thread : threads)
        assert_int_equal(pthread_create(&thread, NULL, launcher, list), 0);
    for (pthread_t &thread : threads)
        pthread_join(thread, NULL);
    assert_int_equal(shared_count, 4 * 50 * 64);
    cudaFree(list);
}

int main()
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_resident_kernel_and_another_stream),
        cmocka_unit_test(work_of_a_stream_is_in_order),
        cmocka_unit_test(host_functions_are_in_order),
        cmocka_unit_test(the_default_stream_joins_blocking_ones),
        cmocka_unit_test(events_order_streams),
        cmocka_unit_test(destroying_does_not_lose_work),
        cmocka_unit_test(host_threads_launch_at_once),
    };

    return cmocka_run_group_tests_name("streams", tests, NULL, NULL);
}
