/* SPDX-License-Identifier: Apache-2.0 */
#include "softnic/wire/shm_process.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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

bool sn_process_wants_cpu(int pid)
{
    char path[64];
    bool wants = false;
    DIR *tasks;

    if (pid <= 0)
        return false;
    snprintf(path, sizeof(path), "/proc/%d/task", pid);
    tasks = opendir(path);
    if (tasks == NULL)
        return false;
    for (const struct dirent *e; !wants && (e = readdir(tasks)) != NULL;) {
        char state = e->d_name[0] == '.' ? '\0' : state_of(dirfd(tasks), e->d_name);
        wants = state == 'R' || state == 'D';
    }
    closedir(tasks);
    return wants;
}
