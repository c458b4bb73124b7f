/* SPDX-License-Identifier: Apache-2.0 */
/* assert in kernels: the launch fails with cudaErrorAssert, as on a GPU; on the host it aborts as always. No include guard:
 * assert.h may be included again with another NDEBUG. */
#include_next <assert.h>
#if defined(__cplusplus) && !defined(NDEBUG)
extern "C" void gdaki_cpu_assert_fail(const char *expression, const char *file, int line) __attribute__((noreturn));
#undef assert
#define assert(expression) \
    (static_cast<bool>(expression) ? (void)0 : gdaki_cpu_assert_fail(#expression, __FILE__, __LINE__))
#endif
