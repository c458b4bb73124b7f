/* SPDX-License-Identifier: Apache-2.0 */
#include "softnic/prm/refuse.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "format/prm.h"

static void fill(struct prm_call *call, unsigned status, int error, enum prm_reason why, const char *format,
                 va_list args)
{
    call->status = (uint8_t)status;
    call->syndrome = 0x5fu << 24 | (uint32_t)(call->opcode & 0xffff) << 8 | (uint32_t)why;
    call->error = error;
    const char *name = prm_opcode_name(call->opcode);
    int n = name ? snprintf(call->text, sizeof(call->text), "%s: ", name)
                 : snprintf(call->text, sizeof(call->text), "command 0x%x: ", call->opcode);
    vsnprintf(call->text + n, sizeof(call->text) - (size_t)n, format, args);
}

int prm_refuse(struct prm_call *call, unsigned status, enum prm_reason why, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fill(call, status, EREMOTEIO, why, format, args);
    va_end(args);
    return -EREMOTEIO;
}

int prm_refuse_errno(struct prm_call *call, int error, enum prm_reason why, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fill(call, PRM_STATUS_BAD_PARAM, error, why, format, args);
    va_end(args);
    return -error;
}

void prm_write_status(const struct prm_call *call, void *out, size_t outlen)
{
    if (!out || outlen < 8)
        return;
    prm_set_cmd_out__status(out, call->status);
    prm_set_cmd_out__syndrome(out, call->syndrome);
}
