/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "gdaki/softnic.h"
#include "softnic/fault/describe.h"
#include "softnic/verbs/context.h"

int softnic_explain_qp(struct ibv_context *context, uint32_t qpn, char *out, size_t size)
{
    struct sv_context *ctx;
    int rc;

    if (!softnic_owns_context(context) || (out == NULL && size != 0))
        return -EINVAL;
    ctx = sv_context_of(context);
    sn_port_lock(ctx->port);
    rc = sn_qp_describe(ctx->nic, qpn, out, size);
    sn_port_unlock(ctx->port);
    return rc;
}
