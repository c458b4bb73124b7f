/* SPDX-License-Identifier: Apache-2.0 */
/* A build without libxdp: SOFTNIC_WIRE=xdp:... is refused with that reason. */
#include <errno.h>

#include "softnic/wire/raw.h"

int sn_xdp_open(const char *interface, struct sn_backend **out)
{
    (void)interface;
    (void)out;
    return -EOPNOTSUPP;
}

bool sn_xdp_built(void)
{
    return false;
}
