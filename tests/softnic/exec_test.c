/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of exec, compiled as C and as C++. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "exec_table.h"

void exec_table_run_cxx(struct exec_table_result *r);

static void verdict(const struct exec_table_result *r)
{
    print_message("  %u checks\n", r->checks);
    if (r->failed != 0)
        fail_msg("%u of %u checks failed, the first at exec_table.h:%u", r->failed, r->checks, r->first_line);
    assert_true(r->checks > 1000);
}

static void test_c(void **state)
{
    struct exec_table_result r;
    (void)state;
    exec_table_run(&r);
    verdict(&r);
}

static void test_cxx(void **state)
{
    struct exec_table_result r;
    (void)state;
    exec_table_run_cxx(&r);
    verdict(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_c), cmocka_unit_test(test_cxx)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
