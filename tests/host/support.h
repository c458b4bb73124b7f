/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of the host library share. */
#ifndef TESTS_HOST_SUPPORT_H
#define TESTS_HOST_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "doca_gpunetio_host.h"

#define OK(call)      assert_int_equal(call, DOCA_SUCCESS)
#define INVALID(call) assert_int_equal(call, DOCA_ERROR_INVALID_VALUE)
#define FAILS(call, code) assert_int_equal(call, code)

#endif
