/* SPDX-License-Identifier: Apache-2.0 */
/* JUMP(name): an exported function `name` that goes on in softnic_name, arguments and return address as they are. */
#ifndef DROPIN_JUMP_H
#define DROPIN_JUMP_H

#if defined(__x86_64__)
#define JUMP_BODY(target)                                                                                              \
    endbr64;                                                                                                           \
    jmp target@PLT
#elif defined(__aarch64__)
#define JUMP_BODY(target)                                                                                              \
    hint 34;        /* bti c; the PLT may change x16 and x17 only */\
    b target
#else
#error "no jump for this processor"
#endif

#define JUMP_TO(name, target)                                                                                          \
    .globl name;                                                                                                       \
    .type name, %function;                                                                                             \
    .balign 16;                                                                                                        \
    name:                                                                                                              \
    JUMP_BODY(target);                                                                                                 \
    .size name, . - name
#define JUMP(name) JUMP_TO(name, softnic_##name)

#define END_OF_JUMPS .section .note.GNU-stack, "", %progbits

    .text
#endif
