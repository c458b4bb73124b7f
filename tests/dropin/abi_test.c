/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The drop-ins as clients open them: by dlopen and dlsym or dlvsym. DROPIN_FOLDER says where they are. Where the packaged
 * library is installed, pure functions are compared with it.
 */
#include <dlfcn.h>
#include <errno.h>
#include <infiniband/efadv.h>
#include <infiniband/mlx5dv.h>
#include <infiniband/sa.h>
#include <infiniband/verbs.h>
#include <rdma/ib_user_sa.h>
#include <rdma/ib_user_verbs.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void *verbs, *mlx5, *efa, *packaged;

/* A function of a library, with the type of the header's. */
#define GET(lib, name) ((__typeof__(&name))dlsym(lib, #name))

/* The inline ibv_query_device_ex names it, for contexts without the operation. */
int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
    return GET(verbs, ibv_query_device)(context, attr);
}

static void *open_in(const char *folder, const char *name)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!lib)
        print_message("%s\n", dlerror());
    return lib;
}

static int open_all(void **state)
{
    (void)state;
    verbs = open_in(DROPIN_FOLDER, "libibverbs.so"); /* the unversioned names are there, too */
    mlx5 = open_in(DROPIN_FOLDER, "libmlx5.so");
    efa = open_in(DROPIN_FOLDER, "libefa.so.1");
    packaged = PACKAGED_VERBS[0] ? dlopen(PACKAGED_VERBS, RTLD_NOW | RTLD_LOCAL) : NULL;
    return verbs && mlx5 && efa ? 0 : -1;
}

static void versions(void **state)
{
    static const struct {
        const char *name, *version;
    } rows[] = {
        {"ibv_get_device_list", "IBVERBS_1.1"}, {"ibv_post_nothing", NULL},
        {"ibv_create_comp_channel", "IBVERBS_1.0"}, {"ibv_reg_mr_iova2", "IBVERBS_1.8"},
        {"ibv_reg_dmabuf_mr", "IBVERBS_1.12"}, {"ibv_query_ece", "IBVERBS_1.10"},
        {"_ibv_query_gid_ex", "IBVERBS_1.11"}, {"ibv_qp_to_qp_ex", "IBVERBS_1.6"},
        {"ibv_query_port_speed", "IBVERBS_1.16"},
        {"ibv_query_gid_type", "IBVERBS_PRIVATE_34"}, {"ibv_query_gid_type", "IBVERBS_PRIVATE_59"},
        {"ibv_query_gid_type", "IBVERBS_PRIVATE_64"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (rows[i].version)
            assert_non_null(dlvsym(verbs, rows[i].name, rows[i].version));
        else
            assert_null(dlsym(verbs, rows[i].name));
    assert_ptr_equal(dlsym(verbs, "ibv_open_device"), dlvsym(verbs, "ibv_open_device", "IBVERBS_1.1"));
    assert_null(dlvsym(verbs, "ibv_open_device", "IBVERBS_1.0")); /* another ABI, of before 2007 */
    assert_null(dlvsym(verbs, "ibv_open_device", "IBVERBS_1.5"));
    assert_non_null(dlvsym(mlx5, "mlx5dv_is_supported", "MLX5_1.8"));
    assert_non_null(dlvsym(mlx5, "mlx5dv_reg_dmabuf_mr", "MLX5_1.25"));
    assert_ptr_equal(dlsym(mlx5, "mlx5dv_init_obj"), dlvsym(mlx5, "mlx5dv_init_obj", "MLX5_1.2"));
    assert_non_null(dlvsym(mlx5, "mlx5dv_init_obj", "MLX5_1.0"));
    assert_ptr_not_equal(dlsym(mlx5, "mlx5dv_init_obj"), dlvsym(mlx5, "mlx5dv_init_obj", "MLX5_1.0"));
}

static void one_state_and_it_stays(void **state)
{
    (void)state;
    int count;
    struct ibv_device **list = GET(verbs, ibv_get_device_list)(&count);
    assert_non_null(list);
    assert_true(GET(mlx5, mlx5dv_is_supported)(list[0]));
    GET(verbs, ibv_free_device_list)(list);
    for (int i = 0; i < 3; i++)
        dlclose(verbs);
    assert_non_null(dlopen(DROPIN_FOLDER "/libibverbs.so.1", RTLD_NOW | RTLD_NOLOAD));
    verbs = open_in(DROPIN_FOLDER, "libibverbs.so.1");
    list = GET(verbs, ibv_get_device_list)(&count);
    assert_non_null(list);
    GET(verbs, ibv_free_device_list)(list);
}

static struct ibv_context *open_first(void)
{
    int count;
    struct ibv_device **list = GET(verbs, ibv_get_device_list)(&count);
    assert_true(list && count > 0);
    struct ibv_context *context = GET(verbs, ibv_open_device)(list[0]);
    assert_non_null(context);
    GET(verbs, ibv_free_device_list)(list);
    return context;
}

/* What the inline functions of <infiniband/verbs.h> rely on. */
static void context_layout(void **state)
{
    (void)state;
    struct ibv_context *context = open_first();
    struct verbs_context *v = verbs_get_ctx(context);
    assert_non_null(v);
    assert_int_equal(v->sz, sizeof(struct verbs_context));
    assert_ptr_equal(&v->context, context);
    assert_ptr_equal(context->abi_compat, __VERBS_ABI_IS_EXTENDED);
    assert_true(context->num_comp_vectors >= 1 && context->async_fd >= 0);
    assert_non_null(context->device);
    struct ibv_device_attr_ex ex = {0};
    assert_int_equal(ibv_query_device_ex(context, NULL, &ex), 0);
    assert_int_equal(ex.orig_attr.vendor_id, 0x02c9);
    assert_int_equal(ex.orig_attr.vendor_part_id, 4129);
    struct ibv_device_attr plain;
    assert_int_equal(GET(verbs, ibv_query_device)(context, &plain), 0);
    assert_memory_equal(&plain, &ex.orig_attr, sizeof(plain));
    struct ibv_td *td = ibv_alloc_td(context, &(struct ibv_td_init_attr){0});
    assert_non_null(td);
    assert_int_equal(ibv_dealloc_td(td), 0);
    assert_int_equal(GET(verbs, ibv_close_device)(context), 0);
}

/* The function fills the structure of before 1.8, whatever its caller has. */
static void short_port_attr(void **state)
{
    (void)state;
    struct ibv_context *context = open_first();
    struct ibv_port_attr attr;
    memset(&attr, 0xa5, sizeof(attr));
    int (*query)(struct ibv_context *, uint8_t, struct _compat_ibv_port_attr *) =
        (int (*)(struct ibv_context *, uint8_t, struct _compat_ibv_port_attr *))dlsym(verbs, "ibv_query_port");
    assert_int_equal(query(context, 1, (struct _compat_ibv_port_attr *)&attr), 0);
    assert_int_equal(attr.state, IBV_PORT_ACTIVE);
    const uint8_t *rest = (const uint8_t *)&attr + offsetof(struct ibv_port_attr, flags) + sizeof(attr.flags);
    while (rest < (const uint8_t *)(&attr + 1))
        assert_int_equal(*rest++, 0xa5);
    assert_int_equal(GET(verbs, ibv_close_device)(context), 0);
}

/* Newer than the packaged headers; NCCL 2.30 asks it and warns where it fails. */
static void port_speed(void **state)
{
    (void)state;
    struct ibv_context *context = open_first();
    int (*query)(struct ibv_context *, uint32_t, uint64_t *) =
        (int (*)(struct ibv_context *, uint32_t, uint64_t *))dlvsym(verbs, "ibv_query_port_speed", "IBVERBS_1.16");
    uint64_t speed = 7;
    assert_non_null(query);
    assert_int_equal(query(context, 1, &speed), 0);
    assert_int_equal(speed, 1000); /* 4 lanes of 25 Gbit/s, in units of 100 Mbit/s */
    speed = 7;
    assert_int_equal(query(context, 2, &speed), EINVAL);
    assert_int_equal(query(context, 1, NULL), EINVAL);
    assert_int_equal(speed, 7);
    assert_int_equal(GET(verbs, ibv_close_device)(context), 0);
}

/* What there is to make a name resolve, and nothing else, says no with EOPNOTSUPP. */
static void refusals(void **state)
{
    static const char *const pointers[] = {"mlx5dv_dr_domain_create", "mlx5dv_create_flow", "mlx5dv_alloc_dm",
                                           "mlx5dv_pp_alloc",         "mlx5dv_dek_create",  "mlx5dv_create_wq"};
    (void)state;
    for (size_t i = 0; i < sizeof(pointers) / sizeof(pointers[0]); i++) {
        void *(*call)(void *, void *) = (void *(*)(void *, void *))dlsym(mlx5, pointers[i]);
        assert_non_null(call);
        errno = 0;
        assert_null(call(NULL, NULL));
        assert_int_equal(errno, EOPNOTSUPP);
    }
    int (*login)(void *, void *) = (int (*)(void *, void *))dlsym(mlx5, "mlx5dv_crypto_login");
    assert_int_equal(login(NULL, NULL), EOPNOTSUPP);
    struct ibv_context *(*import)(int) = (struct ibv_context * (*)(int)) dlsym(verbs, "ibv_import_device");
    assert_null(import(3));
    assert_int_equal(errno, EOPNOTSUPP);
    struct efadv_device_attr attr;
    assert_int_equal(GET(efa, efadv_query_device)(NULL, &attr, sizeof(attr)), EOPNOTSUPP);
    /* NCCL's probe for DMA-BUF: it must be called through, and be told that the descriptor is bad. */
    errno = 0;
    assert_null(GET(verbs, ibv_reg_dmabuf_mr)(NULL, 0, 0, 0, -1, 0));
    assert_int_equal(errno, EBADF);
    void (*registering)(const void *) = (void (*)(const void *))dlsym(verbs, "verbs_register_driver_34");
    registering(NULL);
}

/* ---- against the packaged library -------------------------------------------------------------------------------- */

static void same_numbers(void **state)
{
    (void)state;
    if (!packaged)
        skip();
    for (int i = -2; i < 40; i++) {
        enum ibv_rate rate = (enum ibv_rate)i;
        assert_int_equal(GET(verbs, ibv_rate_to_mult)(rate), GET(packaged, ibv_rate_to_mult)(rate));
        assert_int_equal(GET(verbs, ibv_rate_to_mbps)(rate), GET(packaged, ibv_rate_to_mbps)(rate));
        int mbps = GET(packaged, ibv_rate_to_mbps)(rate);
        assert_int_equal(GET(verbs, mbps_to_ibv_rate)(mbps), GET(packaged, mbps_to_ibv_rate)(mbps));
    }
    for (int i = -1; i < 600; i++)
        assert_int_equal(GET(verbs, mult_to_ibv_rate)(i), GET(packaged, mult_to_ibv_rate)(i));
}

static void same_names(void **state)
{
    (void)state;
    if (!packaged)
        skip();
    for (int i = -2; i < 12; i++) {
        assert_string_equal(GET(verbs, ibv_node_type_str)((enum ibv_node_type)i),
                            GET(packaged, ibv_node_type_str)((enum ibv_node_type)i));
        assert_string_equal(GET(verbs, ibv_port_state_str)((enum ibv_port_state)i),
                            GET(packaged, ibv_port_state_str)((enum ibv_port_state)i));
    }
    for (int i = 0; i < 30; i++) {
        assert_string_equal(GET(verbs, ibv_wc_status_str)((enum ibv_wc_status)i),
                            GET(packaged, ibv_wc_status_str)((enum ibv_wc_status)i));
        assert_string_equal(GET(verbs, ibv_event_type_str)((enum ibv_event_type)i),
                            GET(packaged, ibv_event_type_str)((enum ibv_event_type)i));
    }
}

static void fill(void *at, size_t size, unsigned seed)
{
    for (size_t i = 0; i < size; i++)
        ((uint8_t *)at)[i] = (uint8_t)(seed = seed * 1103515245u + 12345u) >> 1;
}

/* Fields are compared, not padding, which either side may leave as it was: both start from the same bytes. */
static void same_kernel_structures(void **state)
{
    (void)state;
    if (!packaged)
        skip();
    typedef void copy(void *to, void *from);
    for (unsigned seed = 1; seed < 50; seed++) {
        struct ib_uverbs_qp_attr from;
        struct ibv_qp_attr a, b;
        fill(&from, sizeof(from), seed);
        memset(&a, 0x5a, sizeof(a));
        memset(&b, 0x5a, sizeof(b));
        ((copy *)dlsym(verbs, "ibv_copy_qp_attr_from_kern"))(&a, &from);
        ((copy *)dlsym(packaged, "ibv_copy_qp_attr_from_kern"))(&b, &from);
        assert_memory_equal(&a, &b, sizeof(a));
        struct ib_user_path_rec wire, w1, w2;
        struct ibv_sa_path_rec p1, p2;
        fill(&wire, sizeof(wire), seed);
        memset(&p1, 0x5a, sizeof(p1));
        memset(&p2, 0x5a, sizeof(p2));
        ((copy *)dlsym(verbs, "ibv_copy_path_rec_from_kern"))(&p1, &wire);
        ((copy *)dlsym(packaged, "ibv_copy_path_rec_from_kern"))(&p2, &wire);
        assert_memory_equal(&p1, &p2, sizeof(p1));
        memset(&w1, 0x5a, sizeof(w1));
        memset(&w2, 0x5a, sizeof(w2));
        ((copy *)dlsym(verbs, "ibv_copy_path_rec_to_kern"))(&w1, &p1);
        ((copy *)dlsym(packaged, "ibv_copy_path_rec_to_kern"))(&w2, &p1);
        assert_memory_equal(&w1, &w2, sizeof(w1));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(versions),        cmocka_unit_test(one_state_and_it_stays), cmocka_unit_test(context_layout),
        cmocka_unit_test(short_port_attr),
        cmocka_unit_test(port_speed), cmocka_unit_test(refusals),               cmocka_unit_test(same_numbers),
        cmocka_unit_test(same_names),      cmocka_unit_test(same_kernel_structures),
    };
    setenv("SOFTNIC_LOG", "off", 1);
    return cmocka_run_group_tests(tests, open_all, NULL);
}
