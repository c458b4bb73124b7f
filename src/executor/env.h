/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The environment variables of libgdaki_cpu, in one table: EX_ENV(field, name, default text, help). Read once, at the first
 * use; a value that cannot be understood is named on stderr and the default stands.
 */
#ifndef GDAKI_EXECUTOR_ENV_H
#define GDAKI_EXECUTOR_ENV_H

#include <stdint.h>

#define EX_ENV_TABLE(EX_ENV) \
    EX_ENV(workers, "GDAKI_CPU_WORKERS", "online cores", "host threads that run kernels (1 to 1024)") \
    EX_ENV(stack_kb, "GDAKI_CPU_STACK_KB", "64 (256 under a sanitizer)", "stack of a CUDA thread in KiB (16 to 65536)") \
    EX_ENV(seed, "GDAKI_CPU_SEED", "0", "not 0: order of threads, splits and the store buffer follow this seed; one worker runs") \
    EX_ENV(split, "GDAKI_CPU_SPLIT", "0", "1: under a seed, lanes at one __activemask are answered in random parts") \
    EX_ENV(store_buffer, "GDAKI_CPU_STORE_BUFFER", "0", "1: stores of device code drain late, in seeded order (seed 1 if none)") \
    EX_ENV(timeout_ms, "GDAKI_CPU_TIMEOUT_MS", "0", "a kernel that runs longer fails with a report; 0: never") \
    EX_ENV(preempt_us, "GDAKI_CPU_PREEMPT_US", "1000", "a thread in kernel code that never gives way is preempted; 0: never") \
    EX_ENV(check, "GDAKI_CPU_CHECK", "report", "off, report, or fatal: what a mistake found by the checker does")

struct ex_env {
#define EX_ENV_FIELD(field, name, value, help) uint64_t field;
    EX_ENV_TABLE(EX_ENV_FIELD)
#undef EX_ENV_FIELD
};

enum { EX_CHECK_OFF, EX_CHECK_REPORT, EX_CHECK_FATAL };

const struct ex_env *ex_env(void);
/* What ex_env returned, for code that runs after some call of it: kernels, workers. */
extern struct ex_env ex_env_values;

#endif
