/* SPDX-License-Identifier: Apache-2.0 */
/* The store buffer of a CUDA thread; see store_buffer.c for the model. */
#ifndef GDAKI_EXECUTOR_STORE_BUFFER_H
#define GDAKI_EXECUTOR_STORE_BUFFER_H

#include "executor/exec.h"

void ex_buffer_attach(struct ex_thread *thread);
/* The thread has left the kernel (or was abandoned): everything drains. */
void ex_buffer_detach(struct ex_thread *thread);
/* Older stores become visible to readers of that scope. */
void ex_buffer_release(struct ex_thread *thread, enum gdaki_cpu_scope scope);
/* Time passes: some stores may drain by themselves, in seeded order. */
void ex_buffer_step(struct ex_thread *thread);

#endif
