/* SPDX-License-Identifier: Apache-2.0 */
/* GPU_CPU memory where there is GDRCopy: whole GPU pages are mapped, and they belong to the allocation. */
#include "support.h"

#include <string.h>

#include "gdaki/info.h"

enum { GPU_PAGE = 65536 };

static void whole_pages_of_its_own(void **state)
{
    static const size_t sizes[] = {1, 100, GPU_PAGE - 1, GPU_PAGE, GPU_PAGE + 1};
    struct gdaki_choice choice;
    doca_gpu_t *gpu = NULL;

    (void)state;
    gdaki_gdrcopy_describe(&choice);
    if (choice.name == NULL || strcmp(choice.name, "gdrcopy") != 0)
        fail_msg("the test's libgdrapi.so.2 was not used: %s", choice.why);
    OK(doca_gpu_create("17:00.0", &gpu));
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        size_t mapped = (sizes[i] + GPU_PAGE - 1) / GPU_PAGE * GPU_PAGE;
        void *g = NULL, *c = NULL, *next = NULL;

        OK(doca_gpu_mem_alloc(gpu, sizes[i], 0, DOCA_GPU_MEM_TYPE_GPU_CPU, &g, &c));
        assert_int_equal((uintptr_t)g % GPU_PAGE, 0);
        assert_ptr_equal(c, g); /* what the test's GDRCopy maps */
        OK(doca_gpu_mem_alloc(gpu, 256, 256, DOCA_GPU_MEM_TYPE_GPU, &next, NULL)); /* the driver's next free bytes */
        assert_true((uintptr_t)next >= (uintptr_t)g + mapped);
        OK(doca_gpu_mem_free(gpu, next));
        OK(doca_gpu_mem_free(gpu, g));
    }
    OK(doca_gpu_destroy(gpu));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(whole_pages_of_its_own)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
