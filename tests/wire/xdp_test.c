/* SPDX-License-Identifier: Apache-2.0 */
/* What the XDP wire says when it may not lock enough memory; no interface is needed for that. */
#include <errno.h>

#include "softnic/wire/raw.h"
#include "vector.h"

static void too_little_locked_memory(void **state)
{
    char text[256] = "";

    (void)state;
    assert_true(sn_xdp_explain(-ENOBUFS, 65536, text, sizeof(text)));
    assert_non_null(strstr(text, "10485760 bytes"));
    assert_non_null(strstr(text, "65536"));
    assert_non_null(strstr(text, "`ulimit -l 10240`")); /* which counts in KiB */
    assert_true(strlen(text) < sizeof(text) - 1);
    assert_true(sn_xdp_explain(-ENOBUFS, UINT64_MAX, text, sizeof(text)));
    assert_true(strlen(text) < sizeof(text) - 1);
}

static void other_failures(void **state)
{
    static const int errors[] = {0, -EPERM, -EBUSY, -ENODEV, -ENOMEM, -EINVAL};
    char text[8] = "as is";

    (void)state;
    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
        assert_false(sn_xdp_explain(errors[i], 0, text, sizeof(text)));
    assert_string_equal(text, "as is");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(too_little_locked_memory),
        cmocka_unit_test(other_failures),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
