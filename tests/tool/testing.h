/* SPDX-License-Identifier: Apache-2.0 */
/* What cmocka wants included first, in its order. */
#ifndef GDAKI_TESTS_TOOL_TESTING_H
#define GDAKI_TESTS_TOOL_TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
