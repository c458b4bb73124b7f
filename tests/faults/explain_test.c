/* SPDX-License-Identifier: Apache-2.0 */
/* Every syndrome and vendor syndrome that softnic can show has a name, a cause and something to check. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "gdaki/explain.h"
#include "softnic/exec/fault.h"

static void explained(int syndrome, int vendor)
{
    char text[1024], small[16];
    size_t n = gdaki_explain_syndrome(syndrome, vendor, 0x08, text, sizeof(text));

    if (n >= sizeof(text) || n != strlen(text) || strncmp(text, "RDMA_WRITE: ", 12) != 0 ||
        strstr(text, "likely cause: ") == NULL || strstr(text, "check: ") == NULL)
        fail_msg("0x%02x, 0x%02x: %s", (unsigned)syndrome, (unsigned)vendor, text);
    assert_int_equal(gdaki_explain_syndrome(syndrome, vendor, 0x08, small, sizeof(small)), n);
    assert_int_equal(strlen(small), sizeof(small) - 1);
    assert_int_equal(gdaki_explain_syndrome(syndrome, vendor, 0x08, NULL, 0), n);
}

static void test_syndromes(void **state)
{
    static const int all[] = {SN_SYND_LOCAL_LENGTH,   SN_SYND_LOCAL_QP_OP,     SN_SYND_LOCAL_PROT,   SN_SYND_FLUSH,
                              SN_SYND_MW_BIND,        SN_SYND_BAD_RESPONSE,    SN_SYND_LOCAL_ACCESS, SN_SYND_REMOTE_INVALID,
                              SN_SYND_REMOTE_ACCESS,  SN_SYND_REMOTE_OP,       SN_SYND_RETRY_EXCEEDED,
                              SN_SYND_RNR_EXCEEDED,   SN_SYND_ABORTED};
    (void)state;
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        assert_non_null(gdaki_explain_syndrome_name(all[i]));
        explained(all[i], -1);
        explained(all[i], all[i]); /* a responder's */
    }
    assert_null(gdaki_explain_syndrome_name(0x77));
}

static void test_vendor_syndromes(void **state)
{
    static const struct {
        int syndrome, vendor;
    } all[] = {{SN_SYND_RETRY_EXCEEDED, SN_VENDOR_RETRY_EXCEEDED}, {SN_SYND_RNR_EXCEEDED, SN_VENDOR_RNR_EXCEEDED},
               {SN_SYND_REMOTE_ACCESS, SN_VENDOR_REMOTE_ACCESS},   {SN_SYND_REMOTE_OP, SN_VENDOR_REMOTE_OP},
               {SN_SYND_REMOTE_INVALID, SN_VENDOR_REMOTE_INVALID}, {SN_SYND_LOCAL_QP_OP, SN_VENDOR_CQ_OVERRUN},
               {SN_SYND_BAD_RESPONSE, SN_VENDOR_BAD_RESPONSE},     {SN_SYND_FLUSH, SN_VENDOR_FLUSH}};
    char text[1024];

    (void)state;
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        const char *name = gdaki_explain_vendor_name(all[i].vendor);
        assert_non_null(name);
        explained(all[i].syndrome, all[i].vendor);
        gdaki_explain_syndrome(all[i].syndrome, all[i].vendor, -1, text, sizeof(text));
        assert_non_null(strstr(text, name));
    }
    for (int fault = SN_FAULT_NONE + 1; fault < SN_FAULT_COUNT; fault++) { /* a new fault needs a line */
        if (gdaki_explain_vendor_name(SN_VENDOR_FAULT + fault) == NULL)
            fail_msg("fault %d has no text", fault);
        explained(sn_fault_syndrome((enum sn_fault)fault), SN_VENDOR_FAULT + fault);
    }
    assert_null(gdaki_explain_vendor_name(0));
}

static void test_table(void **state)
{
    size_t n = 0;

    (void)state;
    for (const struct gdaki_explain_entry *e; (e = gdaki_explain_at(n)) != NULL; n++) {
        assert_true(strlen(e->name) > 3 && strlen(e->cause) > 3 && strlen(e->check) > 3);
        for (size_t k = 0; k < n; k++) {
            const struct gdaki_explain_entry *other = gdaki_explain_at(k);
            assert_false(other->vendor == e->vendor && other->code == e->code);
        }
    }
    assert_true(n > 30);
    assert_null(gdaki_explain_at(n + 1000));
}

/* The finer text wins where softnic knows more than the syndrome says. */
static void test_what_is_said(void **state)
{
    char text[1024];

    (void)state;
    gdaki_explain_syndrome(SN_SYND_LOCAL_PROT, SN_VENDOR_FAULT + SN_FAULT_PD, -1, text, sizeof(text));
    assert_non_null(strstr(text, "different protection domains"));
    assert_null(strstr(text, "not covered by its lkey"));
    gdaki_explain_syndrome(SN_SYND_REMOTE_ACCESS, SN_VENDOR_REMOTE_ACCESS, 0x99, text, sizeof(text));
    assert_int_equal(strncmp(text, "remote access error (syndrome 0x13, vendor syndrome 0x88", 56), 0);
    gdaki_explain_syndrome(0x77, 0x55, -1, text, sizeof(text));
    assert_non_null(strstr(text, "not in the table (syndrome 0x77, vendor syndrome 0x55)"));
    assert_int_equal(gdaki_explain_qp_error(NULL, text, sizeof(text)), 0);
    assert_int_equal(gdaki_explain_qp(NULL, text, sizeof(text)), 0);
    assert_string_equal(text, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_syndromes),
        cmocka_unit_test(test_vendor_syndromes),
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_what_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
