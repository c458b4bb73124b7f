/* SPDX-License-Identifier: Apache-2.0 */
/* Every field of the PRM tables against a reference that works bit by bit, and some against bytes written down by hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "format/prm.h"

struct row {
    const char *name;
    unsigned bit, width;
    size_t size;
    uint64_t (*get)(const void *);
    void (*set)(void *, uint64_t);
};

#define ONE(s, f, first, bits) {#s "." #f, first, bits, PRM_SIZE_##s, prm_get_##s##__##f, prm_set_##s##__##f},
static const struct row rows[] = {PRM_FIELDS(ONE)};

static uint64_t reference_get(const uint8_t *p, unsigned bit, unsigned width)
{
    uint64_t v = 0;
    for (unsigned i = bit; i < bit + width; i++)
        v = v << 1 | (p[i / 8] >> (7 - i % 8) & 1);
    return v;
}

static void check_background(const struct row *r, const uint8_t *p, unsigned background)
{
    for (unsigned i = 0; i < 8 * r->size; i++)
        if (i < r->bit || i >= r->bit + r->width)
            if ((unsigned)(p[i / 8] >> (7 - i % 8) & 1) != background)
                fail_msg("%s: bit 0x%x was changed", r->name, i);
}

static void fields_match_the_reference(void **state)
{
    (void)state;
    static uint8_t p[PRM_SIZE_query_hca_cap_out];
    const uint64_t pattern = 0xa5c3f00f5a3c9669ull;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct row *r = &rows[i];
        uint64_t mask = r->width == 64 ? UINT64_MAX : (1ull << r->width) - 1;
        for (unsigned background = 0; background < 2; background++) {
            memset(p, background ? 0xff : 0, sizeof(p));
            r->set(p, pattern); /* bits beyond the width must not leak */
            if (reference_get(p, r->bit, r->width) != (pattern & mask) || r->get(p) != (pattern & mask))
                fail_msg("%s reads back wrong", r->name);
            check_background(r, p, background);
        }
    }
}

/* Field, byte and value there when the field holds all ones: worked out by hand from the tables of the contract. */
static void known_bytes(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        size_t byte;
        uint8_t value;
    } known[] = {
        {"qpc.state", 0x000, 0xf0},
        {"qpc.pm_state", 0x002, 0x18},
        {"qpc.log_sq_size", 0x00a, 0x78},
        {"qpc.no_sq", 0x00a, 0x80},
        {"qpc.mtu", 0x008, 0xe0},
        {"qpc.log_msg_max", 0x008, 0x1f},
        {"qpc.rre", 0x092, 0x80},
        {"qpc.rwe", 0x092, 0x40},
        {"qpc.rae", 0x092, 0x20},
        {"qpc.atomic_mode", 0x091, 0x0f},
        {"qpc.log_rra_max", 0x091, 0xe0},
        {"qpc.rq_type", 0x0ac, 0x07},
        {"qpc.min_rnr_nak", 0x094, 0x1f},
        {"qpc.cd_master", 0x093, 0x01},
        {"qpc.dbr_umem_valid", 0x0d0, 0x10},
        {"ads.grh", 0x005, 0x80},
        {"ads.dscp", 0x021, 0x3f},
        {"ads.ack_timeout", 0x008, 0xf8},
        {"ads.sl", 0x024, 0x0f},
        {"cqc.cqe_sz", 0x001, 0xe0},
        {"cqc.cc", 0x001, 0x10},
        {"cqc.oi", 0x001, 0x02},
        {"cqc.log_cq_size", 0x00c, 0x1f},
        {"cqc.dbr_umem_valid", 0x000, 0x02},
        {"wq.log_wq_sz", 0x023, 0x1f},
        {"wq.log_wq_stride", 0x021, 0x0f},
        {"rmpc.state", 0x001, 0xf0},
        {"cmd_hca_cap.port_type", 0x036, 0x03},
        {"cmd_hca_cap.rc", 0x047, 0x01},
        {"cmd_hca_cap_2.send_dbr_mode_no_dbr_ext", 0x05c, 0x40},
    };
    static uint8_t p[PRM_SIZE_query_hca_cap_out];
    size_t found = 0;
    for (size_t k = 0; k < sizeof(known) / sizeof(known[0]); k++)
        for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
            if (!strcmp(rows[i].name, known[k].name)) {
                memset(p, 0, sizeof(p));
                rows[i].set(p, UINT64_MAX);
                if (p[known[k].byte] != known[k].value)
                    fail_msg("%s: byte 0x%zx is 0x%02x", known[k].name, known[k].byte, p[known[k].byte]);
                found++;
            }
    assert_int_equal(found, sizeof(known) / sizeof(known[0]));
}

/* Fields of one structure do not overlap. */
static void fields_are_disjoint(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        for (size_t j = i + 1; j < sizeof(rows) / sizeof(rows[0]); j++) {
            size_t n = (size_t)(strchr(rows[i].name, '.') - rows[i].name) + 1;
            if (strncmp(rows[i].name, rows[j].name, n))
                continue;
            if (rows[i].bit < rows[j].bit + rows[j].width && rows[j].bit < rows[i].bit + rows[i].width)
                fail_msg("%s and %s overlap", rows[i].name, rows[j].name);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_match_the_reference),
        cmocka_unit_test(known_bytes),
        cmocka_unit_test(fields_are_disjoint),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
