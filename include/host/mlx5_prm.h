/* SPDX-License-Identifier: Apache-2.0 */
/* What host code needs of the device's data formats beyond mlx5_ifc.h and the structures shared with device code. */
#ifndef DOCA_GPUNETIO_HOST_MLX5_PRM_H
#define DOCA_GPUNETIO_HOST_MLX5_PRM_H

#include <stdint.h>
#include <linux/types.h>

#include "mlx5_ifc.h"

/* Error CQE, with the two syndrome bytes that <infiniband/mlx5dv.h> leaves reserved. */
struct mlx5_err_cqe_ex {
    uint8_t rsvd0[32];
    __be32 srqn;
    uint8_t rsvd1[16];
    uint8_t hw_err_synd;
    uint8_t hw_synd_type;
    uint8_t vendor_err_synd;
    uint8_t syndrome;
    __be32 s_wqe_opcode_qpn;
    __be16 wqe_counter;
    uint8_t signature;
    uint8_t op_own;
};

#endif
