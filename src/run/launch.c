/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `softnic run`: prepares the environment and becomes the program, so that signals, the exit status and job control are
 * the program's own.
 */
#include <errno.h>
#include <libgen.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gdaki/softnic.h"
#include "run.h"
#include "softnic/verbs/exports.h"

int run_main(int argc, char **argv);

static void say_devices(struct ibv_device **list, int count)
{
    char names[1024] = "";
    for (int i = 0; i < count; i++) {
        size_t used = strlen(names);
        snprintf(names + used, sizeof(names) - used, " %s", softnic_ibv_get_device_name(list[i]));
    }
    run_say("%d device%s:%s; wire %s (%s)", count, count == 1 ? "" : "s", names, softnic_wire_name(), softnic_wire_says());
}

/* libsoftnic itself reads the configuration, and says what is wrong with it, before the program gets to see it. */
static int check_configuration(bool verbose)
{
    int count = 0;
    struct ibv_device **list = softnic_ibv_get_device_list(&count);
    if (!list) {
        const char *log = getenv("SOFTNIC_LOG");
        if (!*softnic_last_error() || (log && !strcmp(log, "off"))) /* else it has been said */
            run_say("%s", *softnic_last_error() ? softnic_last_error() : strerror(errno));
        return RUN_FAILED;
    }
    if (verbose)
        say_devices(list, count);
    softnic_ibv_free_device_list(list);
    return 0;
}

/*
 * A capture is opened with the first device, long after the program has started; whether it can be is looked at before. Nothing
 * is made or changed: a file that another process captures into is no obstacle, since a number goes behind the name.
 */
static int check_capture(void)
{
    const char *file = getenv("SOFTNIC_PCAP");
    char folder[PATH_MAX];
    struct stat st;
    if (!file || !*file)
        return 0;
    int error = access(file, W_OK) ? errno : !stat(file, &st) && S_ISDIR(st.st_mode) ? EISDIR : 0;
    if (error == ENOENT && strlen(file) < sizeof(folder)) {
        strcpy(folder, file);
        error = access(dirname(folder), W_OK | X_OK) ? errno : 0;
    }
    if (error)
        run_say("SOFTNIC_PCAP=%s: cannot capture into it: %s", file, strerror(error));
    return error ? RUN_FAILED : 0;
}

static void say_replaced(const struct run_options *o, const struct run_paths *p)
{
    run_say("RDMA libraries come from %s", p->libraries);
    if (o->sysfs && *p->preload)
        run_say("/sys/class/infiniband, its devices and /dev/infiniband are presented by %s%s", p->preload,
                o->peermem ? ", nvidia_peermem's files, too" : "");
    else
        run_say("/sys/class/infiniband is the machine's own%s", o->sysfs ? ": libsoftnic-preload.so is not there" : "");
    if (!*p->driver)
        run_say("no libcuda.so.1 on this machine: CUDA is left alone");
    else if (o->cuda && *p->cuda)
        run_say("%s stands before %s: registrations of softnic's doorbells lose IOMEMORY, DMA-BUF exports are noted",
                p->cuda, p->driver);
    else
        run_say("%s is left alone%s", p->driver, o->cuda ? ": cuda/libcuda.so.1 is not there" : "");
}

/* One line, whether asked for or not, where the program will not see what its user expects. */
static void warn(const struct run_target *target)
{
    const char *what = run_kind_says(target->kind);
    if (what)
        run_say("%s%s%s %s", target->path, *target->interpreter ? ": its interpreter " : "", target->interpreter, what);
    else if (target->rpath)
        run_say("%s has a DT_RPATH, which goes before LD_LIBRARY_PATH: it may bring RDMA libraries of its own",
                target->path);
}

static int become(const struct run_target *target, char **argv)
{
    execv(target->path, argv);
    if (errno == ENOEXEC && target->kind == RUN_UNKNOWN) { /* a script without #!: as execvp and the shell do */
        size_t count = 0;
        while (argv[count])
            count++;
        char *shell[count + 2];
        shell[0] = (char[]){"/bin/sh"};
        shell[1] = (char *)(uintptr_t)target->path;
        memcpy(shell + 2, argv + 1, count * sizeof(*argv)); /* with the NULL */
        execv(shell[0], shell);
    }
    run_say("%s: %s", target->path, strerror(errno));
    return errno == ENOENT ? RUN_NOT_FOUND : RUN_CANNOT_EXECUTE;
}

/* Each argument is looked into: a program's plugins can be named besides it. The worst status counts. */
static int check_all(const struct run_options *options, const struct run_paths *paths)
{
    int worst = 0;
    for (char **name = options->program; *name; name++) {
        struct run_target target;
        int rc = run_target_find(*name, true, &target);
        if (!rc)
            rc = run_check(&target, paths, options->verbose);
        worst = rc > worst ? rc : worst;
    }
    return run_said() ? worst : RUN_FAILED;
}

int run_main(int argc, char **argv)
{
    struct run_options options;
    struct run_paths paths;
    struct run_target target;
    int rc;
    run_options_parse(argc, argv, &options);
    if ((rc = run_paths_find(&paths)))
        return rc;
    if (options.check)
        return check_all(&options, &paths);
    if ((rc = run_target_find(options.program[0], false, &target)) ||
        (rc = run_environment_set(&options, &paths)) ||
        (rc = check_configuration(options.verbose)) || (rc = check_capture()))
        return rc;
    if (options.verbose)
        say_replaced(&options, &paths);
    warn(&target);
    return become(&target, options.program);
}
