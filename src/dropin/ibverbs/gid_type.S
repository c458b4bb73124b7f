/* SPDX-License-Identifier: Apache-2.0 */
/* The one private function that tools need, in the private nodes of rdma-core 44 to 55 (34), 58 to 63 (59) and 64. */
#include "dropin/jump.h"

JUMP_TO(gid_type_34, softnic_ibv_query_gid_type)
JUMP_TO(gid_type_59, softnic_ibv_query_gid_type)
JUMP_TO(gid_type_64, softnic_ibv_query_gid_type)

.symver gid_type_34, ibv_query_gid_type@@IBVERBS_PRIVATE_34
.symver gid_type_59, ibv_query_gid_type@IBVERBS_PRIVATE_59
.symver gid_type_64, ibv_query_gid_type@IBVERBS_PRIVATE_64

END_OF_JUMPS
