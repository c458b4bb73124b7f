/* SPDX-License-Identifier: Apache-2.0 */
#include "softnic/wire/shm_process.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { THREADS_MOST = 512 /* one is some 10 us of system calls */ };

/* "pid (name) S ...": the name may hold anything, parentheses too, so the last one ends it. */
static char state_of(int tasks, const char *thread)
{
    char path[64], text[256];
    const char *end;
    ssize_t n;
    int fd;

    snprintf(path, sizeof(path), "%.32s/stat", thread);
    fd = openat(tasks, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return '\0';
    n = read(fd, text, sizeof(text) - 1);
    close(fd);
    if (n <= 0)
        return '\0';
    text[n] = '\0';
    end = strrchr(text, ')');
    return end != NULL && end[1] == ' ' ? end[2] : '\0';
}

/*
 * Where the last call broke off: process << 32 | position in its list, 0 for no process. One place for all callers; who finds
 * another process there begins at the start of its own.
 */
static _Atomic uint64_t left_off;

bool sn_process_wants_cpu_among(int pid, unsigned threads)
{
    uint64_t from = atomic_load_explicit(&left_off, memory_order_relaxed);
    bool wants = false, again = from >> 32 == (unsigned)pid, round = again;
    char path[64];
    DIR *tasks;

    if (pid <= 0)
        return false;
    snprintf(path, sizeof(path), "/proc/%d/task", pid);
    tasks = opendir(path);
    if (tasks == NULL)
        return false;
    if (again)
        seekdir(tasks, (long)(uint32_t)from); /* proc counts threads: the position means the same in another stream */
    for (unsigned looked = 0; !wants && looked < threads;) {
        const struct dirent *e = readdir(tasks);
        if (e == NULL && !round)
            break;
        if (e == NULL) { /* from the start, once */
            round = false;
            rewinddir(tasks);
        } else if (e->d_name[0] != '.') {
            char state = state_of(dirfd(tasks), e->d_name);
            wants = state == 'R' || state == 'D';
            looked++;
        }
    }
    atomic_store_explicit(&left_off, (uint64_t)(unsigned)pid << 32 | (uint32_t)telldir(tasks), memory_order_relaxed);
    closedir(tasks);
    return wants;
}

bool sn_process_wants_cpu(int pid)
{
    return sn_process_wants_cpu_among(pid, THREADS_MOST);
}
