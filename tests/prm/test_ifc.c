/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two descriptions of the command mailboxes against each other: the structures with which the library builds commands
 * (include/host/mlx5_ifc.h, an array element a bit) and the tables with which softnic reads them (src/format/prm.h). They
 * were written apart, so that what one has wrong the other shows. The rows are made from the header itself: a field that
 * is added there and has no counterpart fails the test.
 *
 * And the completion's layout against <infiniband/mlx5dv.h>, which has neither of them as its source.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <infiniband/mlx5dv.h>

#include "format/cqe.h"
#include "format/prm.h"
#include "host/mlx5_prm.h"

struct piece {
    const char *structure, *name;
    size_t bit, width;
};

/* The library's. */
static const struct piece fields[] = {
#define STRUCTURE(s)
#define FIELD(s, f)  {#s, #f, offsetof(struct mlx5_ifc_##s##_bits, f), sizeof(((struct mlx5_ifc_##s##_bits *)0)->f)},
#define AREA(s, f)   FIELD(s, f)
#define OPCODE(name)
#include "ifc_rows.inc"
#undef STRUCTURE
#undef FIELD
#undef AREA
#undef OPCODE
};

static const struct piece sizes[] = {
#define STRUCTURE(s) {#s, "", 0, sizeof(struct mlx5_ifc_##s##_bits)},
#define FIELD(s, f)
#define AREA(s, f)
#define OPCODE(name)
#include "ifc_rows.inc"
#undef STRUCTURE
#undef FIELD
#undef AREA
#undef OPCODE
};

static const struct {
    const char *name;
    unsigned library, device;
} opcodes[] = {
#define STRUCTURE(s)
#define FIELD(s, f)
#define AREA(s, f)
#define OPCODE(name) {#name, MLX5_CMD_OP_##name, PRM_OP_##name},
#include "ifc_rows.inc"
#undef STRUCTURE
#undef FIELD
#undef AREA
#undef OPCODE
};

/* softnic's. */
static const struct piece device[] = {
#define ROW(s, f, bit, width) {#s, #f, bit, width},
    PRM_FIELDS(ROW)
#undef ROW
#define ROW(s, a, byte, bytes) {#s, #a, (byte) * 8, (bytes) * 8},
    PRM_AREAS(ROW)
#undef ROW
#define ROW(s, bytes) {#s, "", 0, (bytes) * 8},
    PRM_STRUCTS(ROW)
#undef ROW
};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* softnic has one table for structures that are alike. */
static const struct {
    const char *library, *device;
} alike[] = {
    {"rst2init_qp_in", "qp_state_in"}, {"init2rtr_qp_in", "qp_state_in"},      {"rtr2rts_qp_in", "qp_state_in"},
    {"qp_2err_in", "qp_2any_in"},      {"init2init_qp_in", "qp_state_long_in"}, {"rts2rts_qp_in", "qp_state_long_in"},
    {"qp_2rst_in", "qp_2any_in"},      {"nop_out", "cmd_out"},
};

static const struct piece *find(const char *structure, const char *name)
{
    for (size_t i = 0; i < COUNT(device); i++)
        if (strcmp(device[i].structure, structure) == 0 && strcmp(device[i].name, name) == 0)
            return &device[i];
    return NULL;
}

static const char *alike_of(const char *structure)
{
    for (size_t i = 0; i < COUNT(alike); i++)
        if (strcmp(alike[i].library, structure) == 0)
            return alike[i].device;
    return structure;
}

static int ends_in(const char *text, const char *end)
{
    return strlen(text) > strlen(end) && strcmp(text + strlen(text) - strlen(end), end) == 0;
}

/* Under the structure's own name, that of those that are alike, or what all commands have in common. */
static const struct piece *counterpart(const struct piece *p)
{
    const char *other = alike_of(p->structure);
    const struct piece *d = find(other, p->name);

    if (d == NULL && strcmp(other, "qp_state_long_in") == 0)
        d = find("qp_state_in", p->name);
    if (d == NULL)
        d = find(ends_in(p->structure, "_out") ? "cmd_out" : "cmd_in", p->name);
    return d;
}

static void fields_are_where_the_device_looks(void **state)
{
    (void)state;
    assert_true(COUNT(fields) > 150);
    for (size_t i = 0; i < COUNT(fields); i++) {
        const struct piece *f = &fields[i], *d = counterpart(f);
        if (d == NULL)
            fail_msg("%s.%s: softnic's tables have no such field", f->structure, f->name);
        if (d->bit != f->bit || d->width != f->width)
            fail_msg("%s.%s: bits 0x%zx, %zu of them; softnic's %s.%s: 0x%zx, %zu", f->structure, f->name, f->bit, f->width,
                     d->structure, d->name, d->bit, d->width);
    }
}

static void structures_are_as_large(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(sizes); i++) {
        const struct piece *d = find(alike_of(sizes[i].structure), "");
        if (d == NULL)
            fail_msg("%s: softnic's tables have no such structure", sizes[i].structure);
        if (d->width != sizes[i].width)
            fail_msg("%s: %zu bytes; softnic's %s: %zu", sizes[i].structure, sizes[i].width / 8, d->structure, d->width / 8);
    }
}

static void opcodes_are_the_same(void **state)
{
    (void)state;
    assert_true(COUNT(opcodes) > 10);
    for (size_t i = 0; i < COUNT(opcodes); i++)
        if (opcodes[i].library != opcodes[i].device)
            fail_msg("%s: 0x%x, softnic's 0x%x", opcodes[i].name, opcodes[i].library, opcodes[i].device);
}

/* rdma-core's macros on these structures write what softnic reads. */
static void macros_of_the_header_agree(void **state)
{
    uint8_t in[PRM_SIZE_create_qp_in] = {0};
    uint8_t *qpc = PRM_AT(in, create_qp_in, qpc);

    (void)state;
    DEVX_SET(create_qp_in, in, opcode, MLX5_CMD_OP_CREATE_QP);
    DEVX_SET(create_qp_in, in, qpc.log_sq_size, 11);
    DEVX_SET(create_qp_in, in, qpc.uar_page, 0xabcdef);
    DEVX_SET(create_qp_in, in, qpc.primary_address_path.udp_sport, 0xc123);
    DEVX_SET64(create_qp_in, in, qpc.dbr_addr, 0x1122334455667788ull);
    DEVX_SET64(create_qp_in, in, wq_umem_offset, 0x8877665544332211ull);
    assert_int_equal(prm_get_create_qp_in__opcode(in), PRM_OP_CREATE_QP);
    assert_int_equal(prm_get_qpc__log_sq_size(qpc), 11);
    assert_int_equal(prm_get_qpc__uar_page(qpc), 0xabcdef);
    assert_int_equal(prm_get_ads__udp_sport(PRM_AT(qpc, qpc, primary_address_path)), 0xc123);
    assert_true(prm_get_qpc__dbr_addr(qpc) == 0x1122334455667788ull);
    assert_true(prm_get_create_qp_in__wq_umem_offset(in) == 0x8877665544332211ull);
    prm_set_qpc__cqn_snd(qpc, 0x123456);
    assert_int_equal(DEVX_GET(create_qp_in, in, qpc.cqn_snd), 0x123456);
}

#define SAME(a, af, b, bf)                                                                                             \
    do {                                                                                                               \
        assert_int_equal(offsetof(struct a, af), offsetof(struct b, bf));                                              \
        assert_int_equal(sizeof(((struct a *)0)->af), sizeof(((struct b *)0)->bf));                                    \
    } while (0)

static void completions_are_laid_out_as_in_the_header(void **state)
{
    (void)state;
    assert_int_equal(sizeof(struct mlx5_err_cqe_ex), sizeof(struct mlx5_err_cqe));
    SAME(mlx5_err_cqe_ex, srqn, mlx5_err_cqe, srqn);
    SAME(mlx5_err_cqe_ex, vendor_err_synd, mlx5_err_cqe, vendor_err_synd);
    SAME(mlx5_err_cqe_ex, syndrome, mlx5_err_cqe, syndrome);
    SAME(mlx5_err_cqe_ex, s_wqe_opcode_qpn, mlx5_err_cqe, s_wqe_opcode_qpn);
    SAME(mlx5_err_cqe_ex, wqe_counter, mlx5_err_cqe, wqe_counter);
    SAME(mlx5_err_cqe_ex, op_own, mlx5_err_cqe, op_own);
    SAME(mlx5_err_cqe_ex, hw_err_synd, sn_err_cqe, hw_err_synd); /* which the header leaves reserved */
    SAME(mlx5_err_cqe_ex, hw_synd_type, sn_err_cqe, hw_synd_type);
    SAME(sn_err_cqe, syndrome, mlx5_err_cqe, syndrome);
    SAME(sn_err_cqe, vendor_err_synd, mlx5_err_cqe, vendor_err_synd);
    SAME(sn_err_cqe, wqe_counter, mlx5_err_cqe, wqe_counter);
    SAME(sn_cqe64, byte_cnt, mlx5_cqe64, byte_cnt);
    SAME(sn_cqe64, srqn_uidx, mlx5_cqe64, srqn_uidx);
    SAME(sn_cqe64, imm, mlx5_cqe64, imm_inval_pkey);
    SAME(sn_cqe64, timestamp, mlx5_cqe64, timestamp);
    SAME(sn_cqe64, sop_drop_qpn, mlx5_cqe64, sop_drop_qpn);
    SAME(sn_cqe64, wqe_counter, mlx5_cqe64, wqe_counter);
    SAME(sn_cqe64, op_own, mlx5_cqe64, op_own);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_are_where_the_device_looks), cmocka_unit_test(structures_are_as_large),
        cmocka_unit_test(opcodes_are_the_same),              cmocka_unit_test(macros_of_the_header_agree),
        cmocka_unit_test(completions_are_laid_out_as_in_the_header),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
