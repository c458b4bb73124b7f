/* SPDX-License-Identifier: Apache-2.0 */
#include "softnic/wire/capture.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "softnic/engine.h"
#include "softnic/wire/pcap.h"

enum { FILES_MOST = 255 }; /* as many as there are process slots */

struct sn_capture {
    struct sn_port *port;
    struct sn_pcap *pcap;
};

/* ---- which file ------------------------------------------------------------------------------------------------- */

/* -ERANGE: the name is too long. */
static int name_of(const char *path, unsigned n, char *out, size_t size)
{
    static const char ending[] = ".pcap";
    size_t length = strlen(path), stem = length;
    int written;

    if (length > strlen(ending) && strcmp(path + length - strlen(ending), ending) == 0)
        stem = length - strlen(ending);
    written =
        n == 1 ? snprintf(out, size, "%s", path) : snprintf(out, size, "%.*s.%u%s", (int)stem, path, n, path + stem);
    return written < 0 || (size_t)written >= size ? -ERANGE : 0;
}

/* -EWOULDBLOCK: somebody else's. */
static int take_file(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666), ret = 0;

    if (fd < 0)
        return -errno;
    if (flock(fd, LOCK_EX | LOCK_NB) != 0 && (errno == EWOULDBLOCK || errno == EINTR))
        ret = -EWOULDBLOCK; /* a file system without locks, or a pipe: there is no telling, and it is used */
    else if (ftruncate(fd, 0) != 0 && errno != EINVAL)
        ret = -errno; /* EINVAL: a pipe or a device */
    if (ret == 0)
        return fd;
    close(fd);
    return ret;
}

static int choose_file(const char *path, char *actual, size_t size)
{
    int ret = -EWOULDBLOCK;

    for (unsigned n = 1; ret == -EWOULDBLOCK && n <= FILES_MOST; n++) {
        ret = name_of(path, n, actual, size);
        if (ret == 0)
            ret = take_file(actual);
    }
    return ret;
}

/* ---- the port's traffic -------------------------------------------------------------------------------------------
 */

static uint64_t clock_ns(clockid_t id)
{
    struct timespec ts;

    clock_gettime(id, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Not the port's sample, which is one a turn. */
static uint64_t now(struct sn_port *port)
{
    return port->config.now != NULL ? port->config.now(port->config.now_arg) : clock_ns(CLOCK_MONOTONIC);
}

static int copy_gpu(void *arg, void *dst, const void *src, size_t length)
{
    return sn_mem_copy_now(arg, dst, src, length, SN_SPACE_GPU);
}

/* Written out at once: a program that is killed leaves what it sent before. */
static void take(void *arg, const struct sn_burst *burst)
{
    struct sn_capture *c = arg;

    sn_pcap_burst(c->pcap, now(c->port), burst, copy_gpu, c->port);
    sn_pcap_flush(c->pcap);
}

int sn_capture_start(struct sn_port *port, const char *path, char *actual, size_t size, struct sn_capture **out)
{
    struct sn_capture *c = calloc(1, sizeof(*c));
    int fd, ret;

    if (c == NULL)
        return -ENOMEM;
    fd = choose_file(path, actual, size);
    ret = fd < 0 ? fd : sn_pcap_create_fd(fd, &c->pcap);
    if (ret != 0) {
        free(c);
        return ret;
    }
    c->port = port;
    if (port->config.now == NULL)
        sn_pcap_set_offset(c->pcap, (int64_t)(clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_MONOTONIC)));
    sn_port_lock(port);
    sn_port_set_capture(port, take, c);
    sn_port_unlock(port);
    *out = c;
    return 0;
}

int sn_capture_stop(struct sn_capture *capture)
{
    int ret;

    if (capture == NULL)
        return 0;
    sn_port_lock(capture->port);
    sn_port_set_capture(capture->port, NULL, NULL);
    sn_port_unlock(capture->port);
    ret = sn_pcap_close(capture->pcap);
    free(capture);
    return ret;
}
