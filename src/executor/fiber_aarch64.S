/* SPDX-License-Identifier: Apache-2.0 */
/* AAPCS64: x19 to x30 and the low halves of v8 to v15 are the callee's to keep; sp is 16-byte aligned. */
    .text
    .hidden ex_switch
    .globl ex_switch
    .type ex_switch, %function
ex_switch:
    .cfi_startproc
    sub sp, sp, #160
    .cfi_adjust_cfa_offset 160
    stp x19, x20, [sp, #0]
    stp x21, x22, [sp, #16]
    stp x23, x24, [sp, #32]
    stp x25, x26, [sp, #48]
    stp x27, x28, [sp, #64]
    stp x29, x30, [sp, #80]
    stp d8, d9, [sp, #96]
    stp d10, d11, [sp, #112]
    stp d12, d13, [sp, #128]
    stp d14, d15, [sp, #144]
    mov x9, sp
    str x9, [x0]
    mov sp, x1
    ldp x19, x20, [sp, #0]
    ldp x21, x22, [sp, #16]
    ldp x23, x24, [sp, #32]
    ldp x25, x26, [sp, #48]
    ldp x27, x28, [sp, #64]
    ldp x29, x30, [sp, #80]
    ldp d8, d9, [sp, #96]
    ldp d10, d11, [sp, #112]
    ldp d12, d13, [sp, #128]
    ldp d14, d15, [sp, #144]
    add sp, sp, #160
    .cfi_adjust_cfa_offset -160
    ret
    .cfi_endproc
    .size ex_switch, .-ex_switch

/* First resume of a fiber: x19 holds the entry function, x20 its argument (see ex_switch_prepare). */
    .hidden ex_switch_start
    .globl ex_switch_start
    .type ex_switch_start, %function
ex_switch_start:
    .cfi_startproc
    .cfi_undefined x30
    mov x29, xzr
    mov x30, xzr
    mov x0, x20
    blr x19
    brk #1
    .cfi_endproc
    .size ex_switch_start, .-ex_switch_start
/* void ex_call_on(void *sp, void (*fn)(void *arg), void *arg): an ordinary call, on another stack below sp. */
    .hidden ex_call_on
    .globl ex_call_on
    .type ex_call_on, %function
ex_call_on:
    .cfi_startproc
    stp x29, x30, [sp, #-16]!
    .cfi_def_cfa_offset 16
    .cfi_offset 29, -16
    .cfi_offset 30, -8
    mov x29, sp
    .cfi_def_cfa_register 29
    and x9, x0, #-16
    mov sp, x9
    mov x0, x2
    blr x1
    mov sp, x29
    ldp x29, x30, [sp], #16
    .cfi_def_cfa 31, 0
    ret
    .cfi_endproc
    .size ex_call_on, .-ex_call_on
    .section .note.GNU-stack, "", %progbits
