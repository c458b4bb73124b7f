/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the engine reads what a producer writes beside it, and the reverse. Everything here is called by the engine only.
 *
 *   producer                               engine
 *   WQE bytes, payload (plain stores)
 *   release (SYS scope)
 *   doorbell register / record store  -->  sn_take_register / sn_load_acquire32   orders the doorbell before the WQE
 *                                          sn_fetch                               the WQE, copied once, then checked
 *   consumer                               engine
 *                                          sn_dma_copy                            payload; its last word is a release
 *                                          sn_store_release64                     last 8 bytes of the CQE
 *   poll of op_own, acquire           <--
 *
 * The producer's bytes may still change while they are read (a doorbell can overtake its WQE, a merged one names slots
 * that are being filled), so they are fetched with loads that the sanitizer does not judge: what counts is that the copy
 * is checked, and taken again when it does not match.
 */
#ifndef SOFTNIC_EXEC_ORDER_H
#define SOFTNIC_EXEC_ORDER_H

#include "format/hd.h"
#ifndef __CUDACC__
#include <string.h>
#endif

#if defined(__SANITIZE_THREAD__)
#define SN_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SN_TSAN 1
#endif
#endif

#ifdef SN_TSAN
#ifdef __cplusplus
extern "C" {
#endif
void __tsan_acquire(void *addr);
void __tsan_release(void *addr);
#ifdef __cplusplus
}
#endif
#define SN_UNJUDGED __attribute__((no_sanitize("thread"), noinline, unused))
#else
#define SN_UNJUDGED inline
#endif

#ifdef __CUDACC__

SN_FN uint32_t sn_load_acquire32(const void *p)
{
    uint32_t v = *(const volatile uint32_t *)p;
#ifdef __CUDA_ARCH__
    __threadfence_system();
#else
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
#endif
    return v;
}

SN_FN void sn_store_release64(void *p, uint64_t v)
{
#ifdef __CUDA_ARCH__
    __threadfence_system();
#else
    __atomic_thread_fence(__ATOMIC_RELEASE);
#endif
    *(volatile uint64_t *)p = v;
}

#else /* CPU */

/* Orders this load before every later one: what the other side released before its store is seen. */
static inline uint32_t sn_load_acquire32(const void *p)
{
    return __atomic_load_n((const uint32_t *)p, __ATOMIC_ACQUIRE);
}

static inline uint64_t sn_load_relaxed64(const void *p)
{
    return __atomic_load_n((const uint64_t *)p, __ATOMIC_RELAXED);
}

static inline void sn_store_relaxed64(void *p, uint64_t v)
{
    __atomic_store_n((uint64_t *)p, v, __ATOMIC_RELAXED);
}

/*
 * Orders every earlier store before this one. For the last word of a CQE: readers look at byte 63, at the word at 60 or at
 * all 8 bytes, and at the fields beside it with plain loads. Each is an address of its own to TSan, so the release is
 * announced for all of them and the store itself is not judged.
 */
#ifdef SN_TSAN
static SN_UNJUDGED void sn_store64_unjudged(void *p, uint64_t v)
{
    __atomic_store_n((uint64_t *)p, v, __ATOMIC_RELEASE);
}
#endif

static inline void sn_store_release64(void *p, uint64_t v)
{
#ifdef SN_TSAN
    __tsan_release(p);
    __tsan_release((uint8_t *)p + 4);
    __tsan_release((uint8_t *)p + 7);
    sn_store64_unjudged(p, v);
#else
    __atomic_store_n((uint64_t *)p, v, __ATOMIC_RELEASE);
#endif
}

static inline void sn_store_release32(void *p, uint32_t v)
{
    __atomic_store_n((uint32_t *)p, v, __ATOMIC_RELEASE);
}

/*
 * Consumes a doorbell register: returns its value and leaves it empty, so that no later doorbell can look like one already
 * seen. A store that lands in between makes the exchange fail and is taken instead. Returns `empty` for an empty one.
 */
static inline uint64_t sn_take_register(void *p, uint64_t empty)
{
    uint64_t *reg = (uint64_t *)p;
    uint64_t v = __atomic_load_n(reg, __ATOMIC_ACQUIRE);

    while (v != empty && !__atomic_compare_exchange_n(reg, &v, empty, 0, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE))
        ;
    return v;
}

/* Copies bytes that somebody may be writing; 8-byte aligned on both sides, length a multiple of 8. */
static SN_UNJUDGED void sn_fetch(void *dst, const void *src, size_t length)
{
    const volatile sn_word *s = (const volatile sn_word *)src;
    sn_word *d = (sn_word *)dst;
#pragma GCC unroll 8
    for (size_t i = 0; i < length / 8; i++)
        d[i] = s[i];
}

/* The first 56 bytes of a CQE; its last 8 go by sn_store_release64. */
static SN_UNJUDGED void sn_put_cqe_body(void *dst, const void *src)
{
    volatile sn_word *d = (volatile sn_word *)dst;
    const sn_word *s = (const sn_word *)src;
#pragma GCC unroll 7
    for (int i = 0; i < 7; i++)
        d[i] = s[i];
}

#ifdef SN_TSAN
static SN_UNJUDGED void sn_copy_unjudged(void *dst, const void *src, size_t length)
{
    volatile uint8_t *d = (volatile uint8_t *)dst;
    const volatile uint8_t *s = (const volatile uint8_t *)src;
    size_t i = 0;
    if ((((uintptr_t)d | (uintptr_t)s) & 7) == 0)
        for (; i + 8 <= length; i += 8)
            *(volatile uint64_t *)(d + i) = *(const volatile uint64_t *)(s + i);
    for (; i < length; i++)
        d[i] = s[i];
}
#endif

/*
 * memmove, but for one case that some x86 processors are 10 to 20 times slower at: `rep movsb`, which the C library takes
 * for lengths like these, where the destination lies up to 31 bytes beyond the source within a page. Short pieces avoid it.
 */
static inline void sn_move(uint8_t *d, const uint8_t *s, size_t length)
{
#if defined(__x86_64__)
    const size_t piece = 1024, beyond = ((uintptr_t)d - (uintptr_t)s) & 4095;
    if (length > 2 * piece && beyond - 1 < 31 && (uintptr_t)d - (uintptr_t)s >= length &&
        (uintptr_t)s - (uintptr_t)d >= length)
        for (; length > piece; length -= piece, d += piece, s += piece)
            memcpy(d, s, piece);
#endif
    memmove(d, s, length);
}

/*
 * Moves payload in host memory, as a device would: ascending, and the last (up to 8) bytes not before the others, since
 * programs poll on the last byte of a message. Overlap is allowed. TSan does not see it, as it would not see a device;
 * what the bytes are ordered with is the CQE, or that last word.
 */
static inline void sn_dma_copy(void *dst, const void *src, size_t length)
{
    uint8_t *d = (uint8_t *)dst;
    const uint8_t *s = (const uint8_t *)src;
    if (length == 0)
        return;
#ifdef SN_TSAN
    if (length > 8)
        sn_copy_unjudged(d, s, length - 8);
    __tsan_release(d + length - 1);
    if (length >= 8)
        __tsan_release(d + length - 8);
    if (length >= 4)
        __tsan_release(d + length - 4);
    sn_copy_unjudged(length > 8 ? d + length - 8 : d, length > 8 ? s + length - 8 : s, length > 8 ? 8 : length);
#else
    if (length >= 8 && (((uintptr_t)d + length) & 7) == 0) {
        uint64_t last;
        memcpy(&last, s + length - 8, 8);
        if (length > 8)
            sn_move(d, s, length - 8);
        __atomic_store_n((uint64_t *)(void *)(d + length - 8), last, __ATOMIC_RELEASE);
    } else if (length == 4 && ((uintptr_t)d & 3) == 0) {
        uint32_t word;
        memcpy(&word, s, 4);
        __atomic_store_n((uint32_t *)(void *)d, word, __ATOMIC_RELEASE);
    } else if (length > 1) {
        uint8_t last = s[length - 1];
        sn_move(d, s, length - 1);
        __atomic_store_n(d + length - 1, last, __ATOMIC_RELEASE);
    } else {
        __atomic_store_n(d, *s, __ATOMIC_RELEASE);
    }
#endif
}

/* Takes payload out of host memory into memory of our own. Nor does TSan see this: a program may know by other ways than the
 * CQE, an answer of its peer's for instance, that its bytes have left. */
static inline void sn_dma_read(void *dst, const void *src, size_t length)
{
#ifdef SN_TSAN
    sn_copy_unjudged(dst, src, length);
#else
    memcpy(dst, src, length);
#endif
}

#endif /* CPU */
#endif
