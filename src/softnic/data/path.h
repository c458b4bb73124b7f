/* SPDX-License-Identifier: Apache-2.0 */
/* Where an address handle's attributes lead: the path of a connection, or the address vector of datagrams. */
#ifndef SOFTNIC_DATA_PATH_H
#define SOFTNIC_DATA_PATH_H

#include "softnic/verbs/context.h"

/* 0, or a positive errno with the reason logged under the name `what`. */
int sv_path_of_ah(const struct sv_context *ctx, const char *what, const struct ibv_ah_attr *attr, struct sn_path *out);

#endif
