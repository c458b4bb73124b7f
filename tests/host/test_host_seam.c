/* SPDX-License-Identifier: Apache-2.0 */
/* Choosing the NIC and the GPU: each case in a child process, since a choice is made once. */
#include "support.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gdaki/info.h"
#include "gdaki/verbs.h"
#include "gpu/gpu.h"
#include "host/nic_seam.h"

static const char *softnic_path; /* the build's libsoftnic, from the environment */

struct expectation {
    const char *nic, *path, *gpu, *queue_mem; /* environment; NULL: unset */
    const char *nic_name, *gpu_name, *queue_name;
    const char *why; /* part of the NIC's reason, or NULL */
};

static void set_or_unset(const char *name, const char *value)
{
    if (value != NULL)
        setenv(name, value, 1);
    else
        unsetenv(name);
}

static int child(const struct expectation *e)
{
    struct gdaki_choice nic, gpu, queue;

    set_or_unset("GDAKI_NIC", e->nic);
    set_or_unset("GDAKI_SOFTNIC_PATH", e->path);
    set_or_unset("GDAKI_GPU", e->gpu);
    set_or_unset("GDAKI_QUEUE_MEM", e->queue_mem);
    gdaki_nic_describe(&nic);
    gdaki_gpu_describe(&gpu);
    gdaki_queue_mem_describe(&queue);
    if (strcmp(nic.name, e->nic_name) != 0 || strcmp(gpu.name, e->gpu_name) != 0 ||
        strcmp(queue.name, e->queue_name) != 0 || (e->why != NULL && strstr(nic.why, e->why) == NULL)) {
        fprintf(stderr, "nic %s (%s), gpu %s (%s), queues %s\n", nic.name, nic.why, gpu.name, gpu.why, queue.name);
        return 1;
    }
    if (strcmp(nic.name, "none") == 0) {
        int count = 5;

        errno = 0;
        if (ibv_get_device_list(&count) != NULL || errno != ENOSYS || count != 0)
            return 2;
    }
    return 0;
}

static void choices(void **state)
{
    const struct expectation table[] = {
        {"softnic", softnic_path, "cpu", NULL, "softnic", "cpu", "host", NULL},
        {"softnic", "/nowhere/libsoftnic.so", "cpu", NULL, "none", "cpu", "host", "/nowhere/libsoftnic.so"},
        {"bluefield", NULL, "cpu", NULL, "none", "cpu", "host", "bluefield"},
        {"softnic", softnic_path, "tpu", NULL, "softnic", "none", "host", NULL},
        {"softnic", softnic_path, "cpu", "gpu", "softnic", "cpu", "gpu", NULL},
        {"softnic", softnic_path, "cpu", "host", "softnic", "cpu", "host", NULL},
        {"softnic", softnic_path, "cpu", "moon", "softnic", "cpu", "none", NULL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        pid_t pid = fork();
        int status = -1;

        assert_true(pid >= 0);
        if (pid == 0)
            _exit(child(&table[i]));
        assert_int_equal(waitpid(pid, &status, 0), pid);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
            fail_msg("row %zu: status 0x%x", i, status);
    }
}

/* Without a visible mlx5 device, auto takes softnic and says why; with one it takes rdma-core. */
static void automatic(void **state)
{
    struct gdaki_choice nic;

    (void)state;
    setenv("GDAKI_NIC", "auto", 1);
    setenv("GDAKI_SOFTNIC_PATH", softnic_path, 1);
    gdaki_nic_describe(&nic);
    if (strcmp(nic.name, "softnic") == 0)
        assert_true(strlen(nic.why) > 0);
    else
        assert_string_equal(nic.name, "rdma-core");
}

/* Contexts go to the backend that opened them; calls without an object fail cleanly. */
static void calls(void **state)
{
    struct ibv_port_attr port;
    struct ibv_device_attr attr;
    struct ibv_device **list;
    struct ibv_context *context;
    struct ibv_context stranger = {0};
    struct ibv_pd *pd;
    struct ibv_mr *mr;
    union ibv_gid gid;
    static char buffer[4096];
    int count = 0;

    (void)state;
    if (nic_current(NULL)->kind != GDAKI_NIC_SOFTNIC)
        skip();
    list = ibv_get_device_list(&count);
    assert_true(count > 0);
    assert_non_null(ibv_get_device_name(list[0]));
    context = ibv_open_device(list[0]);
    ibv_free_device_list(list);
    assert_non_null(context);
    assert_ptr_equal(nic_of_context(context), nic_softnic_if_loaded());
    assert_ptr_not_equal(nic_of_context(&stranger), nic_softnic_if_loaded());
    assert_int_equal(ibv_query_device(context, &attr), 0);
    assert_true(attr.max_qp > 0);
    assert_int_equal(ibv_query_port(context, 1, &port), 0);
    assert_int_equal(port.state, IBV_PORT_ACTIVE);
    assert_int_not_equal(ibv_query_port(context, 9, &port), 0);
    assert_int_equal(ibv_query_gid(context, 1, 0, &gid), 0);
    pd = ibv_alloc_pd(context);
    assert_non_null(pd);
    mr = ibv_reg_mr(pd, buffer, sizeof(buffer), IBV_ACCESS_LOCAL_WRITE);
    assert_non_null(mr);
    assert_int_equal(ibv_dereg_mr(mr), 0);
    mr = ibv_reg_mr_iova2(pd, buffer, sizeof(buffer), 0, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_RELAXED_ORDERING);
    assert_non_null(mr);
    assert_int_equal(ibv_dereg_mr(mr), 0);
    errno = 0;
    assert_null(ibv_reg_mr(NULL, buffer, 1, 0));
    assert_int_equal(errno, EINVAL);
    assert_null(ibv_alloc_pd(NULL));
    assert_null(ibv_open_device(NULL));
    assert_int_equal(ibv_close_device(NULL), EINVAL);
    assert_int_equal(ibv_dealloc_pd(NULL), EINVAL);
    assert_int_equal(ibv_dereg_mr(NULL), EINVAL);
    assert_int_equal(ibv_dealloc_pd(pd), 0);
    assert_int_equal(ibv_close_device(context), 0);
}

static void environment_table(void **state)
{
    bool seen_nic = false;

    (void)state;
    assert_true(gdaki_env_count() >= 9);
    for (size_t i = 0; i < gdaki_env_count(); i++) {
        const struct gdaki_env_entry *e = gdaki_env_at(i);

        assert_true(strncmp(e->name, "GDAKI_", 6) == 0 || strncmp(e->name, "DOCA_", 5) == 0);
        assert_true(strlen(e->help) > 10);
        seen_nic |= strcmp(e->name, "GDAKI_NIC") == 0;
    }
    assert_true(seen_nic);
    assert_null(gdaki_env_at(gdaki_env_count()));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(choices), cmocka_unit_test(automatic), cmocka_unit_test(calls),
                                       cmocka_unit_test(environment_table)};

    softnic_path = getenv("TEST_SOFTNIC");
    if (softnic_path == NULL) {
        fprintf(stderr, "TEST_SOFTNIC must name libsoftnic.so\n");
        return 2;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
