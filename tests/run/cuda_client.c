/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs under `softnic run` where libcuda.so.1 is the fake. Built twice: linked to the driver, and opening it at run time.
 * All ways to a driver function have to lead to the same one, and all others to the driver.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <dlfcn.h>
#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fake_cuda.h"

enum { PORTABLE = 1, DEVICEMAP = 2, IOMEMORY = 4, INVALID_VALUE = 1 };

typedef int register_fn(void *from, size_t size, unsigned flags);
static void *driver; /* as the program under test opens it */
static unsigned (*last_flags)(void);
static struct ibv_context *context;
static struct mlx5dv_devx_uar *uar;

static void *symbol(void *library, const char *name)
{
    void *found = dlsym(library, name);
    if (!found)
        fail_msg("%s", dlerror());
    return found;
}

static int set_up(void **state)
{
    (void)state;
    driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    void *verbs = dlopen("libibverbs.so.1", RTLD_NOW | RTLD_LOCAL), *mlx5 = dlopen("libmlx5.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!driver || !verbs || !mlx5)
        return -1;
    last_flags = (unsigned (*)(void))symbol(driver, "fake_last_flags");
    struct ibv_device **list = ((struct ibv_device * *(*)(int *)) symbol(verbs, "ibv_get_device_list"))(NULL);
    context = list ? ((struct ibv_context * (*)(struct ibv_device *)) symbol(verbs, "ibv_open_device"))(list[0]) : NULL;
    uar = context ? ((struct mlx5dv_devx_uar * (*)(struct ibv_context *, uint32_t)) symbol(mlx5, "mlx5dv_devx_alloc_uar"))(
                        context, 0)
                  : NULL;
    return uar ? 0 : -1;
}

/* The doorbell goes through without IOMEMORY; what is no doorbell is refused by the driver as ever. */
static void check_register(register_fn *fn)
{
    static _Alignas(4096) char page[4096];
    assert_int_equal(fn(uar->reg_addr, 8, DEVICEMAP | PORTABLE | IOMEMORY), 0);
    assert_int_equal(last_flags(), DEVICEMAP | PORTABLE);
    assert_int_equal(fn((char *)uar->base_addr + 0x600, 8, IOMEMORY), 0);
    assert_int_equal(fn((void *)((uintptr_t)uar->reg_addr & ~(uintptr_t)4095), 4096, IOMEMORY), 0);
    assert_int_equal(last_flags(), 0);
    assert_int_equal(fn(page, 4096, IOMEMORY), INVALID_VALUE);
    assert_int_equal(last_flags(), IOMEMORY);
    assert_int_equal(fn(page, 4096, PORTABLE), 0);
    assert_int_equal(last_flags(), PORTABLE);
    assert_int_equal(fn(uar->reg_addr, 8, PORTABLE), 0);
}

static void test_dlsym(void **state)
{
    (void)state;
    check_register((register_fn *)symbol(driver, "cuMemHostRegister_v2"));
    check_register((register_fn *)symbol(RTLD_DEFAULT, "cuMemHostRegister_v2"));
    check_register((register_fn *)symbol(dlopen(NULL, RTLD_NOW), "cuMemHostRegister_v2"));
    assert_ptr_equal(dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD), driver);
}

/* The driver's own file, opened by its path. */
static void test_dlsym_path(void **state)
{
    Dl_info info;
    (void)state;
    assert_true(dladdr(symbol(driver, "fake_calls"), &info) != 0);
    assert_non_null(strstr(info.dli_fname, "libcuda.so.1"));
    void *file = dlopen(info.dli_fname, RTLD_NOW);
    assert_non_null(file);
    assert_ptr_not_equal(file, driver);
    check_register((register_fn *)symbol(file, "cuMemHostRegister_v2"));
    assert_ptr_equal(symbol(file, "cuInit"), symbol(driver, "cuInit"));
}

static void test_get_proc_address(void **state)
{
    int (*v2)(const char *, void **, int, uint64_t, int *) =
        (int (*)(const char *, void **, int, uint64_t, int *))symbol(driver, "cuGetProcAddress_v2");
    int (*v1)(const char *, void **, int, uint64_t) =
        (int (*)(const char *, void **, int, uint64_t))symbol(driver, "cuGetProcAddress");
    void *fn, *again;
    int status = -1;
    (void)state;
    assert_int_equal(v2("cuMemHostRegister", &fn, 12000, 0, &status), 0);
    assert_int_equal(status, 0);
    check_register((register_fn *)fn);
    assert_int_equal(v1("cuMemHostRegister", &again, 11080, 0), 0);
    assert_ptr_equal(again, fn);
    /* It gives itself, in the version that fits. */
    assert_int_equal(v2("cuGetProcAddress", &fn, 12000, 0, NULL), 0);
    assert_ptr_equal(fn, (void *)v2);
    assert_int_equal(v2("cuGetProcAddress", &fn, 11080, 0, NULL), 0);
    assert_ptr_equal(fn, (void *)v1);
    assert_int_equal(v2("cuDriverGetVersion", &fn, 12000, 0, NULL), 0);
    assert_ptr_equal(fn, symbol(driver, "cuDriverGetVersion"));
    assert_int_equal(v2("cuNoSuchFunction", &fn, 12000, 0, &status), 500);
    assert_null(fn);
    assert_int_equal(v1("cuMemHostRegister", &fn, 1000, 0), 500);
}

static void test_others(void **state)
{
    int version = 0;
    Dl_info info;
    (void)state;
    assert_int_equal(((int (*)(int *))symbol(driver, "cuDriverGetVersion"))(&version), 0);
    assert_int_equal(version, 13000);
    assert_null(dlsym(driver, "cuNoSuchFunction"));
    const char *why = dlerror();
    assert_non_null(why);
    assert_non_null(strstr(why, "cuNoSuchFunction"));
    assert_null(dlsym(driver, "cuMemHostRegister")); /* this driver has no such version */
    assert_null(dlsym(driver, "ibv_open_device"));
    assert_true(dladdr(symbol(driver, "cuMemHostRegister_v2"), &info) != 0);
    assert_string_equal(info.dli_sname, "cuMemHostRegister_v2");
    /* dlsym is still one that knows its caller, and dlvsym knows versions. */
    assert_ptr_equal(dlsym(RTLD_NEXT, "malloc"), dlsym(RTLD_DEFAULT, "malloc"));
    assert_null(dlsym(RTLD_NEXT, "main"));
    void *plugin = dlopen(RUN_PLUGIN, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(plugin);
    assert_int_equal(((int (*)(void))symbol(plugin, "run_next_of_plugin"))(), 0);
    assert_non_null(dlvsym(RTLD_DEFAULT, "memcpy",
#ifdef __x86_64__
                           "GLIBC_2.14"
#else
                           "GLIBC_2.17"
#endif
                           ));
    assert_null(dlvsym(driver, "cuInit", "NO_SUCH_VERSION"));
}

/* What a DMA-BUF names is known, until it is freed. */
static void test_dmabuf(void **state)
{
    static const size_t size = 65536;
    void *verbs = dlopen("libibverbs.so.1", RTLD_NOW);
    struct ibv_pd *pd = ((struct ibv_pd * (*)(struct ibv_context *)) symbol(verbs, "ibv_alloc_pd"))(context);
    struct ibv_mr *(*reg)(struct ibv_pd *, uint64_t, size_t, uint64_t, int, int) =
        (struct ibv_mr * (*)(struct ibv_pd *, uint64_t, size_t, uint64_t, int, int)) symbol(verbs, "ibv_reg_dmabuf_mr");
    int (*dereg)(struct ibv_mr *) = (int (*)(struct ibv_mr *))symbol(verbs, "ibv_dereg_mr");
    int (*export)(void *, cu_deviceptr, size_t, int, unsigned long long) =
        (int (*)(void *, cu_deviceptr, size_t, int, unsigned long long))symbol(driver, "cuMemGetHandleForAddressRange");
    cu_deviceptr memory;
    int fd = -1, unnoted[2];
    (void)state;
    assert_non_null(pd);
    assert_int_equal(((int (*)(cu_deviceptr *, size_t))symbol(driver, "cuMemAlloc_v2"))(&memory, size), 0);
    assert_int_equal(export(&fd, memory + 4096, size - 4096, 1, 0), 0);
    assert_int_equal(pipe(unnoted), 0);
    assert_null(reg(pd, 0, 4096, 0, unnoted[0], IBV_ACCESS_LOCAL_WRITE)); /* so it is the note that makes the difference */
    struct ibv_mr *mr = reg(pd, 0, size - 4096, memory + 4096, fd, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    assert_non_null(mr);
    assert_int_equal(dereg(mr), 0);
    assert_null(reg(pd, 4096, size - 4096, 0, fd, IBV_ACCESS_LOCAL_WRITE)); /* beyond its end */
    assert_int_equal(((int (*)(cu_deviceptr))symbol(driver, "cuMemFree_v2"))(memory), 0);
    assert_null(reg(pd, 0, 4096, 0, fd, IBV_ACCESS_LOCAL_WRITE));
    close(fd);
}

#ifdef RUN_LINKED
static void test_linked(void **state)
{
    int version = 0;
    void *fn = NULL;
    (void)state;
    check_register(cuMemHostRegister_v2);
    assert_int_equal(cuDriverGetVersion(&version), 0);
    assert_int_equal(version, 13000);
    assert_int_equal(cuGetProcAddress_v2("cuMemHostRegister", &fn, 13000, 0, NULL), 0);
    assert_ptr_equal(fn, (void *)cuMemHostRegister_v2);
    assert_ptr_equal((void *)cuMemHostRegister_v2, symbol(driver, "cuMemHostRegister_v2"));
    assert_ptr_equal((void *)fake_calls, symbol(driver, "fake_calls"));
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dlsym),  cmocka_unit_test(test_dlsym_path), cmocka_unit_test(test_get_proc_address),
        cmocka_unit_test(test_others), cmocka_unit_test(test_dmabuf),
#ifdef RUN_LINKED
        cmocka_unit_test(test_linked),
#endif
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
