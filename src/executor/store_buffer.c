/* SPDX-License-Identifier: Apache-2.0 */
#include "executor/store_buffer.h"

void ex_buffer_attach(struct ex_thread *thread)
{
    (void)thread;
}

void ex_buffer_detach(struct ex_thread *thread)
{
    (void)thread;
}

void ex_buffer_release(struct ex_thread *thread, enum gdaki_cpu_scope scope)
{
    (void)thread;
    (void)scope;
}

void ex_buffer_step(struct ex_thread *thread)
{
    (void)thread;
}
