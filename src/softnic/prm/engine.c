/* SPDX-License-Identifier: Apache-2.0 */
/* The engine's refusals in the command interface's words. */
#include <errno.h>
#include <string.h>

#include "format/prm.h"
#include "softnic/errors.h"
#include "softnic/prm/refuse.h"

const char *prm_engine_reason(int error)
{
    static _Thread_local char text[160];
    const struct sn_err *last = sn_err_last();
    if (!last || last->code != error)
        return strerror(-error);
    sn_err_format(last, text, sizeof(text));
    return text;
}

int prm_refuse_engine(struct prm_call *call, int error, const char *what)
{
    int e = -error;
    switch (e) {
    case EBUSY:
        return prm_refuse(call, PRM_STATUS_RES_BUSY, PRM_WHY_BUSY, "%s: still in use", what);
    case ENOENT:
        return prm_refuse(call, PRM_STATUS_BAD_RES, PRM_WHY_OBJECT, "%s: no such object", what);
    case ENOMEM:
    case ENOSPC:
        return prm_refuse(call, PRM_STATUS_NO_RESOURCES, PRM_WHY_RESOURCES, "%s: %s", what, prm_engine_reason(error));
    case EOPNOTSUPP:
        return prm_refuse(call, PRM_STATUS_BAD_PARAM, PRM_WHY_VALUE, "%s: not modelled: %s", what,
                          prm_engine_reason(error));
    default:
        return prm_refuse(call, PRM_STATUS_BAD_PARAM, PRM_WHY_ENGINE, "%s: %s", what, prm_engine_reason(error));
    }
}
