/* SPDX-License-Identifier: Apache-2.0 */
/* The GPU seam: both tables, `cuda` over a driver of the test's own. */
#include "support.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include "gpu/gpu.h"
#include "gpu/internal.h"

static const struct gdaki_gpu_ops *table(const char *name)
{
    const char *why = NULL;
    const struct gdaki_gpu_ops *ops = gdaki_gpu_select(name, &why);

    if (ops == NULL)
        fail_msg("%s: %s", name, why);
    return ops;
}

static void bus_ids(void **state)
{
    static const struct {
        const char *text;
        int code;
        unsigned domain, bus, device, function;
    } rows[] = {
        {"0000:17:00.0", 0, 0, 0x17, 0, 0},
        {"17:00.0", 0, 0, 0x17, 0, 0},
        {"17:1f", 0, 0, 0x17, 0x1f, 0},
        {"FFFF:a:b.7", 0, 0xffff, 10, 11, 7},
        {"00010000:01:00.0", 0, 0x10000, 1, 0, 0},
        {"", -EINVAL, 0, 0, 0, 0},
        {"17", -EINVAL, 0, 0, 0, 0},
        {"17:", -EINVAL, 0, 0, 0, 0},
        {":17:0", -EINVAL, 0, 0, 0, 0},
        {"1:2:3:4", -EINVAL, 0, 0, 0, 0},
        {"100:20", -EINVAL, 0, 0, 0, 0},
        {"00:20.0", -EINVAL, 0, 0, 0, 0},
        {"00:00.8", -EINVAL, 0, 0, 0, 0},
        {"00:00.0 ", -EINVAL, 0, 0, 0, 0},
        {"00:00.", -EINVAL, 0, 0, 0, 0},
        {"0x17:00.0", -EINVAL, 0, 0, 0, 0},
        {"000000000:00:00.0", -EINVAL, 0, 0, 0, 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct gdaki_bus_id id = {0};

        if (gdaki_bus_id_parse(rows[i].text, &id) != rows[i].code)
            fail_msg("\"%s\"", rows[i].text);
        assert_int_equal(id.domain, rows[i].domain);
        assert_int_equal(id.bus, rows[i].bus);
        assert_int_equal(id.device, rows[i].device);
        assert_int_equal(id.function, rows[i].function);
    }
}

static void selection(void **state)
{
    const char *why = NULL;

    (void)state;
    assert_string_equal(table("cpu")->name, "cpu");
    assert_string_equal(table("cuda")->name, "cuda");
    assert_string_equal(table("auto")->name, "cuda"); /* the test's driver lists a device */
    assert_null(gdaki_gpu_select("rocm", &why));
    assert_non_null(strstr(why, "rocm"));
}

/* What both tables do alike. */
static void common(void **state)
{
    static const char *const names[] = {"cpu", "cuda"};

    (void)state;
    for (size_t n = 0; n < 2; n++) {
        const struct gdaki_gpu_ops *ops = table(names[n]);
        static uint64_t word[4] __attribute__((aligned(64)));
        char text[64], in[300], out[300];
        void *device = NULL, *mapped = NULL;
        enum gdaki_gpu_space space;
        struct gdaki_gpu_copy copy;
        int value = 0, index = -1, turns = 0, code;

        assert_int_equal(ops->device_count(&value), 0);
        assert_int_equal(value, 1);
        assert_int_equal(ops->device_bus_id(0, text, sizeof(text)), 0);
        assert_int_equal(ops->device_by_bus_id(text, &index), 0);
        assert_int_equal(index, 0);
        assert_int_equal(ops->device_by_bus_id("0001:02:03.4", &index), -ENODEV);
        assert_true(strlen(ops->last_error()) > 0);
        assert_int_equal(ops->device_by_bus_id("nonsense", &index), -EINVAL);
        assert_int_equal(ops->device_name(0, text, sizeof(text)), 0);
        assert_int_not_equal(ops->device_name(5, text, sizeof(text)), 0);
        assert_int_equal(ops->device_attr(0, GDAKI_GPU_ATTR_COMPUTE_MAJOR, &value), 0);
        assert_int_equal(value, 9);
        assert_int_equal(ops->device_attr(0, (enum gdaki_gpu_attr)99, &value), -EINVAL);
        for (int i = 0; i < 300; i++)
            in[i] = (char)i;
        assert_int_equal(ops->alloc(0, sizeof(in), &device), 0);
        assert_int_equal((uintptr_t)device % 256, 0);
        assert_int_equal(ops->copy(device, in, sizeof(in)), 0);
        assert_int_equal(ops->copy(out, device, sizeof(out)), 0);
        assert_memory_equal(in, out, sizeof(in));
        assert_int_equal(ops->fill(device, 0x5a, 100), 0);
        assert_int_equal(ops->copy_start(out, device, sizeof(out), &copy), 0);
        while ((code = ops->copy_done(&copy)) == 0)
            turns++;
        assert_int_equal(code, 1);
        assert_int_equal(turns > 0, n == 1); /* the test's driver finishes late, cpu at once */
        assert_int_equal(out[99], 0x5a);
        assert_int_equal(out[100], in[100]);
        assert_int_equal(ops->copy_start(out, device, 0, &copy), 0);
        assert_int_equal(ops->copy_done(&copy), 1);
        assert_int_equal(ops->pointer_space(device, &space), 0);
        assert_int_equal(space, n == 1 ? GDAKI_GPU_SPACE_DEVICE : GDAKI_GPU_SPACE_HOST);
        assert_int_equal(ops->pointer_space(in, &space), 0);
        assert_int_equal(space, GDAKI_GPU_SPACE_HOST);
        assert_int_equal(ops->host_register(word, 8, 0, &mapped), 0);
        assert_ptr_equal(mapped, word);
        mapped = NULL;
        assert_int_equal(ops->host_register(word, 8, 0, &mapped), -EEXIST);
        assert_ptr_equal(mapped, word);
        assert_int_equal(ops->host_register(word + 1, 8, 0, NULL), 0); /* 8-byte ranges of one page */
        assert_int_equal(ops->host_unregister(word + 1), 0);
        assert_int_equal(ops->host_unregister(word), 0);
        assert_int_equal(ops->host_unregister(word), -ENOENT);
        assert_int_equal(ops->synchronize(), 0);
        assert_int_equal(ops->free(device), 0);
        assert_int_equal(ops->free(in), -EINVAL);
    }
}

static void cuda_only(void **state)
{
    const struct gdaki_gpu_ops *ops = table("cuda");
    static char memory[64];
    void *device = NULL, *mapped = NULL;
    int fd = -1;

    (void)state;
    assert_int_equal(ops->alloc(0, 1u << 30, &device), -ENOMEM);
    assert_null(device);
    assert_int_equal(ops->alloc(3, 64, &device), -ENODEV);
    assert_int_equal(ops->host_register(memory, 8, GDAKI_GPU_REGISTER_IOMEMORY, &mapped), -EINVAL);
    assert_null(mapped);
    assert_non_null(strstr(ops->last_error(), "IOMEMORY"));
    assert_int_equal(ops->dmabuf_fd((void *)0x1000, 4096, &fd), 0);
    assert_int_equal(fd, 123);
    assert_int_equal(ops->dmabuf_fd((void *)0x1001, 4096, &fd), -EOPNOTSUPP);
    assert_int_equal(table("cpu")->dmabuf_fd(memory, 64, &fd), -EOPNOTSUPP);
}

/* However many copies are in flight, they share four streams, so that none takes the channel of a resident kernel. */
static void streams_are_few(void **state)
{
    const struct gdaki_gpu_ops *ops = table("cuda");
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    int *streams = driver != NULL ? dlsym(driver, "fake_cuda_streams") : NULL;
    struct gdaki_gpu_copy copies[40];
    char in[40], out[40];
    void *device = NULL;

    (void)state;
    assert_non_null(streams);
    assert_int_equal(ops->alloc(0, sizeof(in), &device), 0);
    for (int i = 0; i < 40; i++)
        in[i] = (char)(i + 1);
    assert_int_equal(ops->copy(device, in, sizeof(in)), 0);
    memset(out, 0, sizeof(out));
    for (int i = 0; i < 40; i++)
        assert_int_equal(ops->copy_start(out + i, (char *)device + i, 1, &copies[i]), 0);
    for (int i = 0; i < 40; i++)
        while (ops->copy_done(&copies[i]) == 0)
            ;
    assert_memory_equal(in, out, sizeof(in));
    assert_int_equal(*streams, 4);
    assert_int_equal(ops->free(device), 0);
    dlclose(driver);
}

/* GPU handles over the `cuda` table: the three memory types, DMA-BUF. */
static void handles_over_cuda(void **state)
{
    doca_gpu_t *gpu = NULL;
    void *g = NULL, *c = NULL;
    int fd = -1;

    (void)state;
    OK(doca_gpu_create("17:00.0", &gpu));
    OK(doca_gpu_mem_alloc(gpu, 5000, 65536, DOCA_GPU_MEM_TYPE_GPU, &g, &c));
    assert_int_equal((uintptr_t)g % 65536, 0);
    assert_null(c);
    OK(doca_gpu_get_dmabuf_fd(gpu, g, 8192, &fd));
    assert_int_equal(fd, 123);
    FAILS(doca_gpu_get_dmabuf_fd(gpu, (char *)g + 8, 8192, &fd), DOCA_ERROR_NOT_SUPPORTED);
    OK(doca_gpu_mem_free(gpu, g));
    OK(doca_gpu_mem_alloc(gpu, 100, 0, DOCA_GPU_MEM_TYPE_GPU_CPU, &g, &c)); /* no GDRCopy here: pinned host memory */
    assert_ptr_equal(g, c);
    OK(doca_gpu_mem_free(gpu, g));
    OK(doca_gpu_mem_alloc(gpu, 100, 0, DOCA_GPU_MEM_TYPE_CPU_GPU, &g, &c));
    assert_ptr_equal(g, c);
    OK(doca_gpu_mem_free(gpu, g));
    FAILS(doca_gpu_mem_alloc(gpu, 1u << 30, 0, DOCA_GPU_MEM_TYPE_GPU, &g, &c), DOCA_ERROR_NO_MEMORY);
    OK(doca_gpu_destroy(gpu));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(bus_ids), cmocka_unit_test(selection), cmocka_unit_test(common),
                                       cmocka_unit_test(cuda_only), cmocka_unit_test(streams_are_few),
                                       cmocka_unit_test(handles_over_cuda)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
