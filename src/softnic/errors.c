/* SPDX-License-Identifier: Apache-2.0 */
#include "softnic/errors.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static _Thread_local struct sn_err last_error;

int sn_fail(int code, const char *attempt, const char *object, uint64_t id, const char *reason, uint64_t value)
{
    last_error = (struct sn_err){
        .code = code, .attempt = attempt, .object = object, .id = id, .reason = reason, .value = value};
    return code;
}

const struct sn_err *sn_err_last(void)
{
    return &last_error;
}

int sn_err_format(const struct sn_err *err, char *out, size_t size)
{
    char object[64] = "";

    if (err->code == 0)
        return snprintf(out, size, "no error");
    if (err->object != NULL)
        snprintf(object, sizeof(object), "%s 0x%" PRIx64 ": ", err->object, err->id);
    return snprintf(out, size, "%s: %s%s (value 0x%" PRIx64 "): %s", err->attempt, object, err->reason, err->value,
                    strerror(-err->code));
}
