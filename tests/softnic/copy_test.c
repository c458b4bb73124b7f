/* SPDX-License-Identifier: Apache-2.0 */
/* sn_dma_copy against a copy byte by byte: every distance of source and destination that it treats apart, and overlaps. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "softnic/exec/order.h"

enum { ROOM = 3 * 65536 };

static uint8_t block[ROOM] __attribute__((aligned(4096))), expected[ROOM], before[ROOM];

static void check(size_t to, size_t from, size_t length)
{
    for (size_t i = 0; i < ROOM; i++)
        block[i] = (uint8_t)(i * 131 + (i >> 8) * 7);
    memcpy(before, block, ROOM);
    memcpy(expected, block, ROOM);
    for (size_t i = 0; i < length; i++)
        expected[to + i] = before[from + i];
    sn_dma_copy(block + to, block + from, length);
    if (memcmp(block, expected, ROOM) != 0)
        fail_msg("%zu bytes from %zu to %zu", length, from, to);
}

static void test_distances(void **state)
{
    static const size_t length[] = {1, 2, 3, 4, 7, 8, 9, 64, 2047, 2048, 2049, 2057, 3072, 3080, 4096, 20000, 65536};

    (void)state;
    for (size_t l = 0; l < sizeof(length) / sizeof(length[0]); l++)
        for (size_t beyond = 0; beyond < 34; beyond++) {
            check(65536 + 4096 + beyond, 4096, length[l]);
            check(beyond, 65536 + 8192, length[l]);
        }
}

static void test_overlaps(void **state)
{
    static const size_t distance[] = {1, 5, 31, 32, 4097, 4100, 8192 + 31};

    (void)state;
#ifdef SN_TSAN
    skip(); /* there it goes upwards word by word, as a device would */
#endif
    for (size_t d = 0; d < sizeof(distance) / sizeof(distance[0]); d++) {
        check(4096 + distance[d], 4096, 20000);
        check(4096, 4096 + distance[d], 20000);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_distances), cmocka_unit_test(test_overlaps)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
