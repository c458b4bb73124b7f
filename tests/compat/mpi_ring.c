/* SPDX-License-Identifier: Apache-2.0 */
/* An MPI program with checked data: a ring of messages of many sizes, collectives, and (unless --two-sided) one-sided
 * operations. Rank 0 prints "all correct: ..." when every rank found every byte right. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LARGEST = 1 << 22, ROUNDS = 200 };

static int rank, ranks;
static long errors;

static unsigned char pattern(int from, size_t size, size_t at)
{
    return (unsigned char)(from * 131 + (int)(size * 7) + (int)(at * 13) + (int)(at >> 8));
}

static void expect(const unsigned char *got, int from, size_t size, const char *what)
{
    for (size_t i = 0; i < size; i++) {
        if (got[i] == pattern(from, size, i))
            continue;
        if (errors++ < 5)
            fprintf(stderr, "rank %d: %s of %zu bytes from rank %d: byte %zu is %02x\n", rank, what, size, from, i, got[i]);
        return;
    }
}

static void ring(unsigned char *out, unsigned char *in)
{
    int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
    for (size_t size = 1; size <= LARGEST; size = size * 3 + 1) {
        for (size_t i = 0; i < size; i++)
            out[i] = pattern(rank, size, i);
        memset(in, 0, size);
        MPI_Sendrecv(out, (int)size, MPI_BYTE, next, 1, in, (int)size, MPI_BYTE, before, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        expect(in, before, size, "ring");
    }
}

static double latency(unsigned char *buffer)
{
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    for (int i = 0; i < ROUNDS; i++) {
        if (rank == 0) {
            MPI_Send(buffer, 8, MPI_BYTE, 1, 2, MPI_COMM_WORLD);
            MPI_Recv(buffer, 8, MPI_BYTE, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else if (rank == 1) {
            MPI_Recv(buffer, 8, MPI_BYTE, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(buffer, 8, MPI_BYTE, 0, 2, MPI_COMM_WORLD);
        }
    }
    return (MPI_Wtime() - start) * 1e6 / ROUNDS / 2;
}

static void collectives(void)
{
    enum { COUNT = 10000 };
    long *mine = malloc(COUNT * sizeof(long)), *all = malloc((size_t)ranks * COUNT * sizeof(long));
    if (!mine || !all)
        MPI_Abort(MPI_COMM_WORLD, 1);
    for (long i = 0; i < COUNT; i++)
        mine[i] = rank * 1000000L + i;
    MPI_Allgather(mine, COUNT, MPI_LONG, all, COUNT, MPI_LONG, MPI_COMM_WORLD);
    for (long i = 0; i < (long)ranks * COUNT; i++)
        errors += all[i] != i / COUNT * 1000000L + i % COUNT;
    MPI_Allreduce(mine, all, COUNT, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    for (long i = 0; i < COUNT; i++)
        errors += all[i] != (long)ranks * (ranks - 1) / 2 * 1000000L + i * ranks;
    for (int root = 0; root < ranks; root++) {
        long word = rank == root ? 4242 + root : 0;
        MPI_Bcast(&word, 1, MPI_LONG, root, MPI_COMM_WORLD);
        errors += word != 4242 + root;
    }
    free(mine);
    free(all);
}

static void one_sided(void)
{
    enum { WORDS = 1024 };
    long *base, one = 1, before;
    MPI_Win window;
    MPI_Win_allocate((WORDS + 1) * (MPI_Aint)sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &window);
    memset(base, 0, (WORDS + 1) * sizeof(long));
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, window);
    long put[WORDS], got[WORDS];
    int next = (rank + 1) % ranks;
    for (long i = 0; i < WORDS; i++)
        put[i] = rank * 77777L + i;
    MPI_Put(put, WORDS, MPI_LONG, next, 0, WORDS, MPI_LONG, window);
    MPI_Win_flush(next, window);
    MPI_Get(got, WORDS, MPI_LONG, next, 0, WORDS, MPI_LONG, window);
    MPI_Win_flush(next, window);
    for (long i = 0; i < WORDS; i++)
        errors += got[i] != put[i];
    for (int i = 0; i < ROUNDS; i++) /* everybody counts on rank 0 */
        MPI_Fetch_and_op(&one, &before, MPI_LONG, 0, WORDS, MPI_SUM, window);
    MPI_Win_flush(0, window);
    MPI_Win_unlock_all(window);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window);
        errors += base[WORDS] != (long)ranks * ROUNDS;
        MPI_Win_unlock(0, window);
    }
    MPI_Win_free(&window);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int two_sided = argc > 1 && !strcmp(argv[1], "--two-sided");
    unsigned char *out = malloc(LARGEST), *in = malloc(LARGEST);
    if (!out || !in || ranks < 2)
        MPI_Abort(MPI_COMM_WORLD, 1);
    ring(out, in);
    double us = latency(out);
    collectives();
    if (!two_sided)
        one_sided();
    long total = 0;
    MPI_Allreduce(&errors, &total, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0 && total)
        printf("%ld values are wrong\n", total);
    else if (rank == 0)
        printf("all correct: %d ranks, %.2f us for 8 B one way\n", ranks, us);
    free(out);
    free(in);
    MPI_Finalize();
    return total ? 1 : 0;
}
