/* SPDX-License-Identifier: Apache-2.0 */
/* atomicAdd and its family, each with the _block and _system variants. Relaxed, as in CUDA; the plain name has GPU scope. */
#ifndef GDAKI_CPU_ATOMICS_HPP
#define GDAKI_CPU_ATOMICS_HPP
#pragma GCC system_header

#include <string.h>

#include "gdaki_cpu.h"

namespace gdaki_cpu
{
template <class T>
inline uint64_t to_bits(T value)
{
    uint64_t bits = 0;

    memcpy(&bits, &value, sizeof(T));
    return bits;
}

template <class T>
inline T from_bits(uint64_t bits)
{
    T value;

    memcpy(&value, &bits, sizeof(T));
    return value;
}

template <class T>
inline T atomic_rmw(gdaki_cpu_atomic_op op, T *ptr, T value, gdaki_cpu_scope scope)
{
    return from_bits<T>(gdaki_cpu_atomic(op, ptr, sizeof(T), to_bits(value), 0, GDAKI_CPU_RELAXED, scope));
}

template <class T>
inline T atomic_cas(T *ptr, T expected, T desired, gdaki_cpu_scope scope)
{
    return from_bits<T>(
        gdaki_cpu_atomic(GDAKI_CPU_CAS, ptr, sizeof(T), to_bits(expected), to_bits(desired), GDAKI_CPU_RELAXED, scope));
}

/* What is not one operation of the executor: new = f(old), by compare-and-swap. */
template <class T, class F>
inline T atomic_update(T *ptr, gdaki_cpu_scope scope, F f)
{
    T seen = from_bits<T>(gdaki_cpu_load(ptr, sizeof(T), GDAKI_CPU_RELAXED, scope));

    for (;;) {
        T old = atomic_cas(ptr, seen, f(seen), scope);

        if (to_bits(old) == to_bits(seen))
            return old;
        seen = old;
    }
}
} // namespace gdaki_cpu

#define GDAKI_CPU_SCOPES(define, name, T) \
    define(name, T, GDAKI_CPU_SCOPE_GPU) define(name##_block, T, GDAKI_CPU_SCOPE_CTA) define(name##_system, T, GDAKI_CPU_SCOPE_SYS)

#define GDAKI_CPU_INTEGERS(define, name) \
    GDAKI_CPU_SCOPES(define, name, int) \
    GDAKI_CPU_SCOPES(define, name, unsigned int) \
    GDAKI_CPU_SCOPES(define, name, long long) \
    GDAKI_CPU_SCOPES(define, name, unsigned long long)

#define GDAKI_CPU_ATOMIC_ADD(name, T, scope) \
    inline T name(T *ptr, T value) { return ::gdaki_cpu::atomic_rmw(GDAKI_CPU_ADD, ptr, value, scope); }
GDAKI_CPU_SCOPES(GDAKI_CPU_ATOMIC_ADD, atomicAdd, int)
GDAKI_CPU_SCOPES(GDAKI_CPU_ATOMIC_ADD, atomicAdd, unsigned int)
GDAKI_CPU_SCOPES(GDAKI_CPU_ATOMIC_ADD, atomicAdd, unsigned long long)

#define GDAKI_CPU_ATOMIC_ADD_FLOAT(name, T, scope) \
    inline T name(T *ptr, T value) { return ::gdaki_cpu::atomic_update(ptr, scope, [=](T old) { return old + value; }); }
GDAKI_CPU_SCOPES(GDAKI_CPU_ATOMIC_ADD_FLOAT, atomicAdd, float)
GDAKI_CPU_SCOPES(GDAKI_CPU_ATOMIC_ADD_FLOAT, atomicAdd, double)

#define GDAKI_CPU_ATOMIC_SUB(name, T, scope) \
    inline T name(T *ptr, T value) { return ::gdaki_cpu::atomic_rmw(GDAKI_CPU_ADD, ptr, (T)(0u - (unsigned)value), scope); }
GDAKI_CPU_SCOPES(GDAKI_CPU_ATOMIC_SUB, atomicSub, int)
GDAKI_CPU_SCOPES(GDAKI_CPU_ATOMIC_SUB, atomicSub, unsigned int)

#define GDAKI_CPU_ATOMIC_EXCH(name, T, scope) \
    inline T name(T *ptr, T value) { return ::gdaki_cpu::atomic_rmw(GDAKI_CPU_EXCH, ptr, value, scope); }
GDAKI_CPU_INTEGERS(GDAKI_CPU_ATOMIC_EXCH, atomicExch)
GDAKI_CPU_SCOPES(GDAKI_CPU_ATOMIC_EXCH, atomicExch, float)

#define GDAKI_CPU_ATOMIC_CAS(name, T, scope) \
    inline T name(T *ptr, T expected, T desired) { return ::gdaki_cpu::atomic_cas(ptr, expected, desired, scope); }
GDAKI_CPU_INTEGERS(GDAKI_CPU_ATOMIC_CAS, atomicCAS)
GDAKI_CPU_SCOPES(GDAKI_CPU_ATOMIC_CAS, atomicCAS, unsigned short int)

#define GDAKI_CPU_ATOMIC_AND(name, T, scope) \
    inline T name(T *ptr, T value) { return ::gdaki_cpu::atomic_rmw(GDAKI_CPU_AND, ptr, value, scope); }
#define GDAKI_CPU_ATOMIC_OR(name, T, scope) \
    inline T name(T *ptr, T value) { return ::gdaki_cpu::atomic_rmw(GDAKI_CPU_OR, ptr, value, scope); }
#define GDAKI_CPU_ATOMIC_XOR(name, T, scope) \
    inline T name(T *ptr, T value) { return ::gdaki_cpu::atomic_rmw(GDAKI_CPU_XOR, ptr, value, scope); }
GDAKI_CPU_INTEGERS(GDAKI_CPU_ATOMIC_AND, atomicAnd)
GDAKI_CPU_INTEGERS(GDAKI_CPU_ATOMIC_OR, atomicOr)
GDAKI_CPU_INTEGERS(GDAKI_CPU_ATOMIC_XOR, atomicXor)

/* The executor's own minimum and maximum are unsigned. */
#define GDAKI_CPU_ATOMIC_MAX(name, T, scope) \
    inline T name(T *ptr, T value) { return ::gdaki_cpu::atomic_rmw(GDAKI_CPU_MAX, ptr, value, scope); }
#define GDAKI_CPU_ATOMIC_MIN(name, T, scope) \
    inline T name(T *ptr, T value) { return ::gdaki_cpu::atomic_rmw(GDAKI_CPU_MIN, ptr, value, scope); }
#define GDAKI_CPU_ATOMIC_MAX_SIGNED(name, T, scope) \
    inline T name(T *ptr, T value) \
    { \
        return ::gdaki_cpu::atomic_update(ptr, scope, [=](T old) { return old < value ? value : old; }); \
    }
#define GDAKI_CPU_ATOMIC_MIN_SIGNED(name, T, scope) \
    inline T name(T *ptr, T value) \
    { \
        return ::gdaki_cpu::atomic_update(ptr, scope, [=](T old) { return value < old ? value : old; }); \
    }
GDAKI_CPU_SCOPES(GDAKI_CPU_ATOMIC_MAX, atomicMax, unsigned int)
GDAKI_CPU_SCOPES(GDAKI_CPU_ATOMIC_MAX, atomicMax, unsigned long long)
GDAKI_CPU_SCOPES(GDAKI_CPU_ATOMIC_MIN, atomicMin, unsigned int)
GDAKI_CPU_SCOPES(GDAKI_CPU_ATOMIC_MIN, atomicMin, unsigned long long)
GDAKI_CPU_SCOPES(GDAKI_CPU_ATOMIC_MAX_SIGNED, atomicMax, int)
GDAKI_CPU_SCOPES(GDAKI_CPU_ATOMIC_MAX_SIGNED, atomicMax, long long)
GDAKI_CPU_SCOPES(GDAKI_CPU_ATOMIC_MIN_SIGNED, atomicMin, int)
GDAKI_CPU_SCOPES(GDAKI_CPU_ATOMIC_MIN_SIGNED, atomicMin, long long)

#define GDAKI_CPU_ATOMIC_INC(name, T, scope) \
    inline T name(T *ptr, T limit) \
    { \
        return ::gdaki_cpu::atomic_update(ptr, scope, [=](T old) { return old >= limit ? (T)0 : old + 1; }); \
    }
#define GDAKI_CPU_ATOMIC_DEC(name, T, scope) \
    inline T name(T *ptr, T limit) \
    { \
        return ::gdaki_cpu::atomic_update(ptr, scope, [=](T old) { return old == 0 || old > limit ? limit : old - 1; }); \
    }
GDAKI_CPU_SCOPES(GDAKI_CPU_ATOMIC_INC, atomicInc, unsigned int)
GDAKI_CPU_SCOPES(GDAKI_CPU_ATOMIC_DEC, atomicDec, unsigned int)

#undef GDAKI_CPU_ATOMIC_ADD
#undef GDAKI_CPU_ATOMIC_ADD_FLOAT
#undef GDAKI_CPU_ATOMIC_SUB
#undef GDAKI_CPU_ATOMIC_EXCH
#undef GDAKI_CPU_ATOMIC_CAS
#undef GDAKI_CPU_ATOMIC_AND
#undef GDAKI_CPU_ATOMIC_OR
#undef GDAKI_CPU_ATOMIC_XOR
#undef GDAKI_CPU_ATOMIC_MAX
#undef GDAKI_CPU_ATOMIC_MIN
#undef GDAKI_CPU_ATOMIC_MAX_SIGNED
#undef GDAKI_CPU_ATOMIC_MIN_SIGNED
#undef GDAKI_CPU_ATOMIC_INC
#undef GDAKI_CPU_ATOMIC_DEC
#undef GDAKI_CPU_INTEGERS
#undef GDAKI_CPU_SCOPES
#endif
