/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mlx5dv_init_obj at two versions. Programs of before rdma-core 13 bind MLX5_1.0, whose mlx5dv_cq has a void ** where
 * cq_uar is now.
 */
#include "dropin/jump.h"

JUMP_TO(init_obj_1_2, softnic_mlx5dv_init_obj)
JUMP_TO(init_obj_1_0, softnic_mlx5dv_init_obj_1_0)

.symver init_obj_1_2, mlx5dv_init_obj@@MLX5_1.2
.symver init_obj_1_0, mlx5dv_init_obj@MLX5_1.0

END_OF_JUMPS
