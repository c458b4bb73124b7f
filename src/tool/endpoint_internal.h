/* SPDX-License-Identifier: Apache-2.0 */
/* What the two files of an endpoint share. */
#ifndef GDAKI_TOOL_ENDPOINT_INTERNAL_H
#define GDAKI_TOOL_ENDPOINT_INTERNAL_H

#include "endpoint.h"

/* Records why and exit_code, returns rc. */
int endpoint_fail(struct endpoint *ep, int exit_code, int rc, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
int endpoint_make_queues(struct endpoint *ep);
void endpoint_destroy_queues(struct endpoint *ep);

#endif
