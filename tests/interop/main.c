/* SPDX-License-Identifier: Apache-2.0 */
#include "exchange.h"

#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const char usage[] =
    "usage: exchange [OPTION...] serve PORT ADDRESS           answers clients, one after another (port 0: any)\n"
    "       exchange [OPTION...] ask HOST PORT ADDRESS        plays the table with the server at HOST, TCP port PORT\n"
    "ADDRESS is the RDMA device's own, IPv4 or IPv6. Options: --once (server: one client), --lossy (only what survives "
    "a\n"
    "lost packet), --only TEXT (cases with TEXT in their name), --not TEXT (those without), --seed N, --quiet "
    "(failures and\n"
    "the total only).\n";

struct options {
    bool once, lossy, quiet;
    const char *only, *but_not;
    uint32_t seed;
};

static bool swap_spec(int fd, struct spec *spec, bool send_it)
{
    uint32_t words[sizeof(*spec) / 4];

    if (send_it) {
        memcpy(words, spec, sizeof(words));
        for (size_t i = 0; i < sizeof(words) / 4; i++)
            words[i] = htonl(words[i]);
        return link_put(fd, words, sizeof(words));
    }
    if (!link_get(fd, words, sizeof(words)))
        return false;
    for (size_t i = 0; i < sizeof(words) / 4; i++)
        words[i] = ntohl(words[i]);
    memcpy(spec, words, sizeof(words));
    return true;
}

static void serve_one(const struct device *d, int fd)
{
    uint32_t mtu = htonl(d->mtu);
    struct spec spec;

    if (!link_put(fd, &mtu, sizeof(mtu)))
        return;
    while (swap_spec(fd, &spec, false)) {
        struct verdict v = play(d, fd, &spec, spec.server_asks);

        v.failed = htonl(v.failed);
        if (!link_put(fd, &v, sizeof(v)))
            return;
    }
}

static int serve(const struct options *o, const char *port, const char *address)
{
    int listening = link_listen(port), fd;
    struct device d;

    if (listening < 0 || !device_open(&d, address)) {
        fprintf(stderr, "exchange: cannot serve on port %s\n", port);
        return 3;
    }
    printf("serving on port %u\n", link_port(listening));
    fflush(stdout);
    do {
        fd = accept(listening, NULL, NULL);
        if (fd >= 0) {
            serve_one(&d, fd);
            close(fd);
        }
    } while (!o->once);
    device_close(&d);
    return 0;
}

/* 1: passed, 0: failed, -1: the server is gone. */
static int play_both(const struct device *d, int fd, const struct named_case *c, struct verdict *mine,
                     struct verdict *theirs)
{
    struct spec spec = c->spec;

    if (!swap_spec(fd, &spec, true))
        return -1;
    *mine = play(d, fd, &spec, !spec.server_asks);
    if (!link_get(fd, theirs, sizeof(*theirs)))
        return -1;
    theirs->failed = ntohl(theirs->failed);
    theirs->text[sizeof(theirs->text) - 1] = 0;
    return !mine->failed && !theirs->failed;
}

static int ask_all(const struct options *o, const char *host, const char *port, const char *address)
{
    unsigned passed = 0, failed = 0, skipped = 0;
    struct named_case *cases;
    struct device d;
    uint32_t mtu;
    size_t count;
    int fd;

    if (!device_open(&d, address))
        return 3;
    fd = link_connect(host, port);
    if (fd < 0 || !link_get(fd, &mtu, sizeof(mtu))) {
        fprintf(stderr, "exchange: nobody serves at %s port %s\n", host, port);
        return 3;
    }
    mtu = ntohl(mtu);
    cases = cases_make(mtu < d.mtu ? mtu : d.mtu, o->seed, &count);
    for (size_t i = 0; i < count; i++) {
        struct verdict mine = {0}, theirs = {0};
        int rc;

        if ((o->only && !strstr(cases[i].name, o->only)) || (o->but_not && strstr(cases[i].name, o->but_not)) ||
            (o->lossy && cases[i].needs_each)) {
            skipped++;
            continue;
        }
        rc = play_both(&d, fd, &cases[i], &mine, &theirs);
        if (rc < 0) {
            printf("FAILED  %s: the server has gone\n", cases[i].name);
            failed++;
            break;
        }
        passed += rc == 1;
        failed += rc == 0;
        if (rc == 0)
            printf("FAILED  %s: %s%s%s%s\n", cases[i].name, mine.failed ? "client: " : "", mine.text,
                   theirs.failed ? " server: " : "", theirs.text);
        else if (!o->quiet)
            printf("ok      %s\n", cases[i].name);
        fflush(stdout);
    }
    printf("%u passed, %u failed, %u not chosen\n", passed, failed, skipped);
    free(cases);
    close(fd);
    device_close(&d);
    return failed || !passed;
}

int main(int argc, char **argv)
{
    static const struct option known[] = {{"once", no_argument, NULL, 'o'},
                                          {"lossy", no_argument, NULL, 'l'},
                                          {"quiet", no_argument, NULL, 'q'},
                                          {"only", required_argument, NULL, 'n'},
                                          {"not", required_argument, NULL, 'x'},
                                          {"seed", required_argument, NULL, 's'},
                                          {NULL, 0, NULL, 0}};
    struct options o = {.seed = 1};
    int c;

    while ((c = getopt_long(argc, argv, "", known, NULL)) != -1) {
        switch (c) {
        case 'o':
            o.once = true;
            break;
        case 'l':
            o.lossy = true;
            break;
        case 'q':
            o.quiet = true;
            break;
        case 'n':
            o.only = optarg;
            break;
        case 'x':
            o.but_not = optarg;
            break;
        case 's':
            o.seed = (uint32_t)strtoul(optarg, NULL, 0);
            break;
        default:
            fputs(usage, stderr);
            return 2;
        }
    }
    argv += optind;
    argc -= optind;
    if (argc == 3 && !strcmp(argv[0], "serve"))
        return serve(&o, argv[1], argv[2]);
    if (argc == 4 && !strcmp(argv[0], "ask"))
        return ask_all(&o, argv[1], argv[2], argv[3]);
    fputs(usage, stderr);
    return 2;
}
