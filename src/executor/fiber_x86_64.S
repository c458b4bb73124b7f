/* SPDX-License-Identifier: Apache-2.0 */
/* System V AMD64 ABI: rbx, rbp, r12 to r15 are the callee's to keep; rsp is 16-byte aligned before a call. */
    .text
    .hidden ex_switch
    .globl ex_switch
    .type ex_switch, @function
ex_switch:
    .cfi_startproc
    pushq %rbp
    .cfi_adjust_cfa_offset 8
    pushq %rbx
    .cfi_adjust_cfa_offset 8
    pushq %r12
    .cfi_adjust_cfa_offset 8
    pushq %r13
    .cfi_adjust_cfa_offset 8
    pushq %r14
    .cfi_adjust_cfa_offset 8
    pushq %r15
    .cfi_adjust_cfa_offset 8
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    .cfi_adjust_cfa_offset -48
    ret
    .cfi_endproc
    .size ex_switch, .-ex_switch

/* First resume of a fiber: r12 holds the entry function, r13 its argument (see ex_switch_prepare). */
    .hidden ex_switch_start
    .globl ex_switch_start
    .type ex_switch_start, @function
ex_switch_start:
    .cfi_startproc
    .cfi_undefined %rip
    xorl %ebp, %ebp
    movq %r13, %rdi
    callq *%r12
    ud2
    .cfi_endproc
    .size ex_switch_start, .-ex_switch_start
/* void ex_call_on(void *sp, void (*fn)(void *arg), void *arg): an ordinary call, on another stack below sp. */
    .hidden ex_call_on
    .globl ex_call_on
    .type ex_call_on, @function
ex_call_on:
    .cfi_startproc
    pushq %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset %rbp, -16
    movq %rsp, %rbp
    .cfi_def_cfa_register %rbp
    andq $-16, %rdi
    movq %rdi, %rsp
    movq %rdx, %rdi
    callq *%rsi
    movq %rbp, %rsp
    popq %rbp
    .cfi_def_cfa %rsp, 8
    ret
    .cfi_endproc
    .size ex_call_on, .-ex_call_on
    .section .note.GNU-stack, "", @progbits
