/* SPDX-License-Identifier: Apache-2.0 */
/* How the two ends come to be: server, client, two threads of one process, two processes. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "floor.h"
#include "perf_run.h"
#include "report.h"
#include "tool.h"

static int run_server(const struct perf_options *options)
{
    char why[OOB_WHY_SIZE];
    struct oob oob;
    int listen_fd, rc;

    if (options->oob_fd >= 0) {
        oob_init(&oob, options->oob_fd);
        rc = perf_server(options, &oob);
        oob_close(&oob);
        return rc;
    }
    if (oob_listen(options->bind_address, options->port, &listen_fd, why)) {
        tool_error("%s", why);
        return TOOL_FAILED;
    }
    if (!options->quiet)
        tool_note("server: waiting for a client on %s port %u", options->bind_address, options->port);
    if (oob_accept(listen_fd, &oob)) {
        tool_error("%s", oob.why);
        close(listen_fd);
        return TOOL_FAILED;
    }
    close(listen_fd);
    rc = perf_server(options, &oob);
    oob_close(&oob);
    return rc;
}

static int run_client(const struct perf_options *options)
{
    struct oob oob;
    int rc;

    if (oob_connect(options->host, options->port, 10000, &oob)) {
        tool_error("%s", oob.why);
        return TOOL_FAILED;
    }
    rc = perf_client(options, &oob);
    oob_close(&oob);
    return rc;
}

struct thread_end {
    const struct perf_options *options;
    struct oob oob;
    int rc;
};

static void *serve_thread(void *arg)
{
    struct thread_end *end = arg;

    end->rc = perf_server(end->options, &end->oob);
    oob_close(&end->oob); /* a waiting client sees the end at once */
    return NULL;
}

static int run_local(const struct perf_options *options)
{
    struct thread_end server = {.options = options};
    struct oob oob;
    pthread_t thread;
    int fds[2], rc;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds)) {
        tool_error("cannot make a socket pair: %s", strerror(errno));
        return TOOL_FAILED;
    }
    oob_init(&server.oob, fds[0]);
    oob_init(&oob, fds[1]);
    if (pthread_create(&thread, NULL, serve_thread, &server)) {
        tool_error("cannot start the server's thread");
        close(fds[0]);
        close(fds[1]);
        return TOOL_FAILED;
    }
    rc = perf_client(options, &oob);
    oob_close(&oob);
    pthread_join(thread, NULL);
    return rc == TOOL_OK ? server.rc : rc;
}

/* Capture file of a pair's server: NAME.server.pcap for NAME.pcap, else FILE.server; empty without --pcap. */
static void server_pcap(const struct perf_options *o, char *out, size_t size)
{
    const char *end = o->pcap ? strrchr(o->pcap, '.') : NULL;

    out[0] = 0;
    if (o->pcap && end && !strcmp(end, ".pcap"))
        snprintf(out, size, "%.*s.server.pcap", (int)(end - o->pcap), o->pcap);
    else if (o->pcap)
        snprintf(out, size, "%s.server", o->pcap);
}

/* Command line of a pair's server: this end's own options; the rest comes from the client. */
static void server_arguments(const struct perf_options *o, int fd, const char **argv, char *fd_text, size_t size,
                             char *gid_text, size_t gid_size, const char *pcap)
{
    const struct {
        const char *option, *value;
    } own[] = {{"--device", o->device}, {"--gpu", o->gpu}, {"--gpu-backend", o->gpu_backend}, {"--nic", o->nic},
               {"--queue-mem", o->queue_mem}, {"--mem", o->mem == PERF_MEM_HOST ? "host" : "gpu"},
               {"--gid-index", o->gid_given ? gid_text : NULL}, {"--pcap", pcap}, {"--oob-fd", fd_text}};
    int n = 0;

    snprintf(fd_text, size, "%d", fd);
    snprintf(gid_text, gid_size, "%u", o->gid_index);
    argv[n++] = "gdaki";
    argv[n++] = "perf";
    argv[n++] = parse_word_name(perf_tests, o->plan.test);
    argv[n++] = "--quiet";
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
        if (own[i].value) {
            argv[n++] = own[i].option;
            argv[n++] = own[i].value;
        }
    }
    argv[n] = NULL;
}

static int reap(pid_t child)
{
    int status = 0;

    while (waitpid(child, &status, 0) < 0) {
        if (errno != EINTR)
            return TOOL_FAILED;
    }
    if (WIFEXITED(status))
        return WEXITSTATUS(status);
    tool_error("the server process was ended by signal %d", WTERMSIG(status));
    return TOOL_FAILED;
}

static int run_pair(const struct perf_options *options)
{
    const char *argv[32];
    char fd_text[16], gid_text[16], pcap[4096];
    struct oob oob;
    int fds[2], rc, server_rc;
    pid_t child;

    if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds)) {
        tool_error("cannot make a socket pair: %s", strerror(errno));
        return TOOL_FAILED;
    }
    fcntl(fds[1], F_SETFD, FD_CLOEXEC);
    server_pcap(options, pcap, sizeof(pcap));
    server_arguments(options, fds[0], argv, fd_text, sizeof(fd_text), gid_text, sizeof(gid_text), *pcap ? pcap : NULL);
    child = fork();
    if (child < 0) {
        tool_error("cannot start the server process: %s", strerror(errno));
        return TOOL_FAILED;
    }
    if (child == 0) {
        if (options->pin && floor_pin(1))
            _exit(TOOL_FAILED);
        execv("/proc/self/exe", (char *const *)argv);
        _exit(TOOL_FAILED);
    }
    close(fds[0]);
    oob_init(&oob, fds[1]);
    rc = options->pin ? floor_pin(0) : 0;
    if (rc)
        tool_error("--pin: %s", rc == -ENODEV ? "this process may use one CPU only" : strerror(-rc));
    rc = rc ? TOOL_FAILED : perf_client(options, &oob);
    oob_close(&oob);
    server_rc = reap(child);
    return rc == TOOL_OK ? server_rc : rc;
}

int perf_run(const struct perf_options *options)
{
    signal(SIGPIPE, SIG_IGN);
    endpoint_environment(options);
    if (report_check(options))
        return TOOL_FAILED;
    switch (options->role) {
    case PERF_CLIENT: return run_client(options);
    case PERF_LOCAL: return run_local(options);
    case PERF_PAIR: return run_pair(options);
    default: return run_server(options);
    }
}
