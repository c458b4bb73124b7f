/* SPDX-License-Identifier: Apache-2.0 */
#include "rewrite.h"

int lint(const char *name, const char *source, size_t size, FILE *errors)
{
    (void)name;
    (void)source;
    (void)size;
    (void)errors;
    return 0;
}
