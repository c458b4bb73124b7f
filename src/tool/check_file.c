/* SPDX-License-Identifier: Apache-2.0 */
/* Can a file of results be written? Known before a run that takes minutes, instead of after it. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tool.h"

/* A file that is there is opened without touching it, one that is not there is made and taken away again. */
static int try_file(const char *path)
{
    struct stat st;
    bool there = stat(path, &st) == 0;
    int fd, rc;

    /* Opening a pipe and closing it would tell its reader that there is nothing to come. */
    if (there && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
        return access(path, W_OK) ? -errno : 0;
    fd = open(path, O_WRONLY | O_CLOEXEC | (there ? 0 : O_CREAT | O_EXCL), 0666);
    rc = fd >= 0 ? 0 : -errno;
    if (fd >= 0)
        close(fd);
    if (fd >= 0 && !there)
        unlink(path);
    return rc;
}

int tool_check_file(const char *path)
{
    int rc = path && strcmp(path, "-") ? try_file(path) : 0;

    if (rc)
        tool_error("cannot write %s: %s", path, strerror(-rc));
    return rc;
}
