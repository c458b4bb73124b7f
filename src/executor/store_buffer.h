/* SPDX-License-Identifier: Apache-2.0 */
/* The store buffer of CUDA threads; see store_buffer.c for the model. Calls are for a thread that has one. */
#ifndef GDAKI_EXECUTOR_STORE_BUFFER_H
#define GDAKI_EXECUTOR_STORE_BUFFER_H

#include "executor/exec.h"

int ex_buffer_attach(struct ex_thread *thread);
/* The thread has left the kernel (or was abandoned): everything drains. */
void ex_buffer_detach(struct ex_thread *thread);
/* Older stores become visible to readers of that scope. */
void ex_buffer_release(struct ex_thread *thread, enum gdaki_cpu_scope scope);
/* Later loads of the thread's block see what was released at that scope. */
void ex_buffer_acquire(struct ex_thread *thread, enum gdaki_cpu_scope scope);
/* Time passes: some stores may drain by themselves, in seeded order. */
void ex_buffer_step(struct ex_thread *thread);
/* strong: an atomic store, which becomes visible in the end without a release. */
void ex_buffer_store(struct ex_thread *thread, void *ptr, const void *src, size_t size, bool strong);
/* strong loads of GPU or SYS scope see all that has GPU visibility; others what their block has acquired. */
void ex_buffer_load(struct ex_thread *thread, void *dst, const void *ptr, size_t size, bool strong,
                    enum gdaki_cpu_scope scope);
/* Whatever is buffered for these bytes, by any thread, goes to memory: before a read-modify-write or a register store. */
void ex_buffer_flush_bytes(const void *ptr, size_t size);

#endif
