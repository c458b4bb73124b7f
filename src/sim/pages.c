/* SPDX-License-Identifier: Apache-2.0 */
/*
 * With many NICs each event goes to another one's memory, and the translation of its address costs as much as the access.
 * So the heap that they are made on is asked to be of large pages, where the kernel gives them to those who ask (madvise).
 */
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sim/internal.h"

enum {
    FEW = 16,             /* NICs that fit a cache anyway */
    MOST = 8192,
    NIC_BYTES = 160 << 10, /* about what one costs, with its queue pairs */
    PIECE = 100 << 10,    /* below malloc's threshold for a mapping of its own */
    PIECES = 4,           /* more than malloc keeps in reserve */
};
#define LARGE_PAGE ((uintptr_t)2 << 20)

/* Grows the heap once by what is going to be used; what of it has not been touched yet will come in large pages. */
void sim_large_pages(uint32_t nics)
{
    uintptr_t begin = (uintptr_t)sbrk(0), end;
    void *piece[PIECES];

    if (nics <= FEW || mallopt(M_TOP_PAD, (nics < MOST ? (int)nics : MOST) * NIC_BYTES) != 1)
        return;
    for (unsigned i = 0; i < PIECES; i++)
        piece[i] = malloc(PIECE);
    for (unsigned i = 0; i < PIECES; i++)
        free(piece[i]);
    end = (uintptr_t)sbrk(0) & ~(LARGE_PAGE - 1);
    begin = (begin + LARGE_PAGE - 1) & ~(LARGE_PAGE - 1);
    if (begin < end)
        (void)madvise((void *)begin, end - begin, MADV_HUGEPAGE); /* a wish: without it, all works as well */
}
