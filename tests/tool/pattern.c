/* SPDX-License-Identifier: Apache-2.0 */
/* The data pattern: every byte is found wrong when it is wrong, at any alignment. */
#include "testing.h"

#include <stdlib.h>
#include <string.h>

#include "tool/pattern.h"

static void fill_then_check(void **state)
{
    uint8_t buffer[301];
    size_t first = 0;
    (void)state;

    for (uint64_t position = 0; position < 20; position++) {
        for (size_t length = 0; length < 60; length++) {
            memset(buffer, 0, sizeof(buffer));
            pattern_fill(buffer, length, 7, position);
            assert_int_equal(pattern_check(buffer, length, 7, position, &first), 0);
            for (size_t i = 0; i < length; i++)
                assert_int_equal(buffer[i], pattern_byte(7, position + i));
            assert_int_equal(buffer[length], 0);
        }
    }
}

static void each_wrong_byte_counts(void **state)
{
    uint8_t buffer[100];
    size_t first;
    (void)state;

    for (size_t at = 0; at < sizeof(buffer); at++) {
        first = 999;
        pattern_fill(buffer, sizeof(buffer), 3, 5);
        buffer[at] ^= 1;
        assert_int_equal(pattern_check(buffer, sizeof(buffer), 3, 5, &first), 1);
        assert_int_equal(first, at);
    }
}

static void scrubbed_bytes_never_match(void **state)
{
    uint8_t buffer[1000];
    size_t first = 0;
    (void)state;

    pattern_scrub(buffer, sizeof(buffer), 11, 3);
    assert_int_equal(pattern_check(buffer, sizeof(buffer), 11, 3, &first), sizeof(buffer));
    assert_int_equal(first, 0);
}

static void position_and_seed_matter(void **state)
{
    uint8_t buffer[4096];
    size_t first = 0;
    (void)state;

    pattern_fill(buffer, sizeof(buffer), 1, 0);
    assert_true(pattern_check(buffer, sizeof(buffer), 2, 0, &first) > sizeof(buffer) * 9 / 10);
    assert_true(pattern_check(buffer, sizeof(buffer), 1, 8, &first) > sizeof(buffer) * 9 / 10);
    assert_true(pattern_check(buffer + 64, sizeof(buffer) - 64, 1, 0, &first) > sizeof(buffer) * 8 / 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fill_then_check),
        cmocka_unit_test(each_wrong_byte_counts),
        cmocka_unit_test(scrubbed_bytes_never_match),
        cmocka_unit_test(position_and_seed_matter),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
