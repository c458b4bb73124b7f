/* SPDX-License-Identifier: Apache-2.0 */
/* Option values: what is taken, what is refused, and that a refusal names the value and changes nothing. */
#include "testing.h"

#include <errno.h>
#include <string.h>

#include "tool/parse.h"

static void numbers(void **state)
{
    static const struct {
        const char *text;
        uint64_t min, max;
        int rc;
        uint64_t value;
    } cases[] = {
        {"0", 0, 10, 0, 0},
        {"10", 0, 10, 0, 10},
        {"0x10", 0, 100, 0, 16},
        {"18446744073709551615", 0, UINT64_MAX, 0, UINT64_MAX},
        {"11", 0, 10, -ERANGE, 0},
        {"0", 1, 10, -ERANGE, 0},
        {"18446744073709551616", 0, UINT64_MAX, -ERANGE, 0},
        {"", 0, 10, -EINVAL, 0},
        {"-1", 0, 10, -EINVAL, 0},
        {"+1", 0, 10, -EINVAL, 0},
        {" 1", 0, 10, -EINVAL, 0},
        {"1 ", 0, 10, -EINVAL, 0},
        {"1x", 0, 10, -EINVAL, 0},
        {"ten", 0, 10, -EINVAL, 0},
        {"1.5", 0, 10, -EINVAL, 0},
    };
    (void)state;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char why[PARSE_WHY_SIZE] = "";
        uint64_t value = 77;

        assert_int_equal(parse_u64(cases[i].text, cases[i].min, cases[i].max, &value, why), cases[i].rc);
        assert_int_equal(value, cases[i].rc ? 77 : cases[i].value);
        if (cases[i].rc)
            assert_non_null(strstr(why, cases[i].text));
    }
}

static void sizes(void **state)
{
    static const struct {
        const char *text;
        int rc;
        uint64_t value;
    } cases[] = {
        {"8", 0, 8},          {"64K", 0, 65536},     {"1M", 0, 1 << 20},      {"1MiB", 0, 1 << 20},  {"2kB", 0, 2048},
        {"512B", 0, 512},     {"1G", 0, 1ull << 30}, {"2G", -ERANGE, 0},      {"64X", -EINVAL, 0},   {"K", -EINVAL, 0},
        {"64KK", -EINVAL, 0}, {"-8", -EINVAL, 0},    {"99999999999G", -ERANGE, 0}, {"", -EINVAL, 0},
    };
    (void)state;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char why[PARSE_WHY_SIZE] = "";
        uint64_t value = 77;

        assert_int_equal(parse_size(cases[i].text, 1, 1ull << 30, &value, why), cases[i].rc);
        assert_int_equal(value, cases[i].rc ? 77 : cases[i].value);
    }
}

static void size_lists(void **state)
{
    struct parse_sizes list = {0};
    char why[PARSE_WHY_SIZE];
    (void)state;

    assert_int_equal(parse_sizes("8,64,4K", 1, 1 << 20, &list, why), 0);
    assert_int_equal(list.count, 3);
    assert_int_equal(list.size[2], 4096);
    assert_int_equal(parse_sizes("8..1M", 1, 1 << 20, &list, why), 0);
    assert_int_equal(list.count, 18);
    assert_int_equal(list.size[0], 8);
    assert_int_equal(list.size[17], 1 << 20);
    assert_int_equal(parse_sizes("3..10", 1, 1 << 20, &list, why), 0); /* 3, 6, 10: both ends included */
    assert_int_equal(list.count, 3);
    assert_int_equal(list.size[1], 6);
    assert_int_equal(list.size[2], 10);
    assert_int_equal(parse_sizes("7..7", 1, 1 << 20, &list, why), 0);
    assert_int_equal(list.count, 1);
}

static void bad_size_lists(void **state)
{
    static const char *const cases[] = {"", ",", "8,,x", "8,,64", "8,", ",8", "64..8", "0..8", "8..", "..8", "8..2M", "8;16", "8,2M"};
    struct parse_sizes list = {.count = 42};
    char why[PARSE_WHY_SIZE];
    (void)state;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_not_equal(parse_sizes(cases[i], 1, 1 << 20, &list, why), 0);
        assert_int_equal(list.count, 42);
    }
}

static void too_many_sizes(void **state)
{
    struct parse_sizes list = {0};
    char why[PARSE_WHY_SIZE], text[4 * (PARSE_SIZES_MAX + 1) + 1] = "";
    (void)state;

    for (int i = 0; i <= PARSE_SIZES_MAX; i++)
        strcat(text, i ? ",8" : "8");
    assert_int_equal(parse_sizes(text, 1, 8, &list, why), -EINVAL);
}

static void seconds(void **state)
{
    uint64_t ns = 5;
    char why[PARSE_WHY_SIZE];
    (void)state;

    assert_int_equal(parse_seconds("1.5", 0.1, 10, &ns, why), 0);
    assert_int_equal(ns, 1500000000);
    assert_int_equal(parse_seconds("11", 0.1, 10, &ns, why), -ERANGE);
    assert_int_equal(parse_seconds("inf", 0.1, 10, &ns, why), -EINVAL);
    assert_int_equal(parse_seconds("1s", 0.1, 10, &ns, why), -EINVAL);
    assert_int_equal(parse_seconds("-1", 0.1, 10, &ns, why), -EINVAL);
    assert_int_equal(ns, 1500000000);
}

static void words(void **state)
{
    static const struct parse_word table[] = {{"thread", 0}, {"warp", 1}, {NULL, 0}};
    char why[PARSE_WHY_SIZE];
    int value = 9;
    (void)state;

    assert_int_equal(parse_word("warp", table, &value, why), 0);
    assert_int_equal(value, 1);
    assert_int_equal(parse_word("war", table, &value, why), -EINVAL);
    assert_string_equal(why, "'war' is not one of thread, warp");
    assert_int_equal(value, 1);
    assert_string_equal(parse_word_name(table, 0), "thread");
    assert_string_equal(parse_word_name(table, 5), "?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers),        cmocka_unit_test(sizes),          cmocka_unit_test(size_lists),
        cmocka_unit_test(bad_size_lists), cmocka_unit_test(too_many_sizes), cmocka_unit_test(seconds),
        cmocka_unit_test(words),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
