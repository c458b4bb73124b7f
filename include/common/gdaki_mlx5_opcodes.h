/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MLX5_OPCODE_*, which kernels in the SDK's spelling pass as opcode arguments: rdma-core's where it is installed, else an
 * enumeration of ours. Never macros, so that rdma-core's own header still compiles. GDAKI_NO_MLX5_OPCODES leaves both out.
 */
#ifndef GDAKI_MLX5_OPCODES_H
#define GDAKI_MLX5_OPCODES_H
#ifndef GDAKI_NO_MLX5_OPCODES

#if defined(__has_include)
#if __has_include(<infiniband/mlx5dv.h>)
#define GDAKI_HAVE_MLX5DV_H 1
#endif
#endif

#ifdef GDAKI_HAVE_MLX5DV_H
#include <infiniband/mlx5dv.h>
#else
enum {
    MLX5_OPCODE_NOP = 0x00,
    MLX5_OPCODE_SEND_INVAL = 0x01,
    MLX5_OPCODE_RDMA_WRITE = 0x08,
    MLX5_OPCODE_RDMA_WRITE_IMM = 0x09,
    MLX5_OPCODE_SEND = 0x0a,
    MLX5_OPCODE_SEND_IMM = 0x0b,
    MLX5_OPCODE_TSO = 0x0e,
    MLX5_OPCODE_RDMA_READ = 0x10,
    MLX5_OPCODE_ATOMIC_CS = 0x11,
    MLX5_OPCODE_ATOMIC_FA = 0x12,
    MLX5_OPCODE_ATOMIC_MASKED_CS = 0x14,
    MLX5_OPCODE_ATOMIC_MASKED_FA = 0x15,
    MLX5_OPCODE_FMR = 0x19,
    MLX5_OPCODE_LOCAL_INVAL = 0x1b,
    MLX5_OPCODE_CONFIG_CMD = 0x1f,
    MLX5_OPCODE_SET_PSV = 0x20,
    MLX5_OPCODE_UMR = 0x25,
    MLX5_OPCODE_TAG_MATCHING = 0x28,
    MLX5_OPCODE_FLOW_TBL_ACCESS = 0x2c,
    MLX5_OPCODE_MMO = 0x2f
};
#endif

#endif
#endif
