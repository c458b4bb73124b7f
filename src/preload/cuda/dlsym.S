/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dlsym in front of the C library's. What is not ours is jumped to, not called: RTLD_NEXT means "behind the caller", and
 * the C library knows the caller by the return address.
 */
    .text
    .globl dlsym
    .type dlsym, %function
    .p2align 4
dlsym:
    .cfi_startproc
#if defined(__x86_64__)
    endbr64
    pushq %rdi
    .cfi_adjust_cfa_offset 8
    pushq %rsi
    .cfi_adjust_cfa_offset 8
    subq $8, %rsp /* calls want a multiple of 16 */
    .cfi_adjust_cfa_offset 8
    call shim_choose
    addq $8, %rsp
    .cfi_adjust_cfa_offset -8
    popq %rsi
    .cfi_adjust_cfa_offset -8
    popq %rdi
    .cfi_adjust_cfa_offset -8
    testq %rax, %rax
    jz 1f
    xorl %ecx, %ecx
    cmpq $-1, %rax /* SHIM_ABSENT */
    cmoveq %rcx, %rax
    ret
1:  movq shim_libc_dlsym(%rip), %r11
    jmpq *%r11
#elif defined(__aarch64__)
    hint #34 /* bti c */
    stp x29, x30, [sp, #-32]!
    .cfi_adjust_cfa_offset 32
    .cfi_rel_offset x29, 0
    .cfi_rel_offset x30, 8
    mov x29, sp
    stp x0, x1, [sp, #16]
    bl shim_choose
    mov x9, x0
    ldp x0, x1, [sp, #16]
    ldp x29, x30, [sp], #32
    .cfi_adjust_cfa_offset -32
    .cfi_restore x29
    .cfi_restore x30
    cbz x9, 1f
    cmn x9, #1 /* SHIM_ABSENT */
    csel x0, xzr, x9, eq
    ret
1:  adrp x16, shim_libc_dlsym
    ldr x16, [x16, :lo12:shim_libc_dlsym]
    br x16
#else
#error "dlsym.S: which machine is this?"
#endif
    .cfi_endproc
    .size dlsym, .-dlsym
    .section .note.GNU-stack, "", %progbits
