/* SPDX-License-Identifier: Apache-2.0 */
/* softnic: one program with sub-commands. */
#include <stdio.h>
#include <string.h>

#include "run.h"

#ifndef SOFTNIC_VERSION
#define SOFTNIC_VERSION "unknown"
#endif

int run_main(int argc, char **argv);

static void usage(FILE *to)
{
    fputs("Usage: softnic run [OPTION...] [--] PROGRAM [ARGUMENT...]\n"
          "       softnic run --check PROGRAM\n"
          "Runs an unmodified program with software ConnectX NICs as its RDMA devices.\n\n"
          "`softnic run --help` lists the options.\n",
          to);
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "run"))
        return run_main(argc - 1, argv + 1);
    if (argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-?"))) {
        usage(stdout);
        return run_said() ? RUN_OK : RUN_FAILED;
    }
    if (argc > 1 && (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V"))) {
        puts("softnic " SOFTNIC_VERSION);
        return run_said() ? RUN_OK : RUN_FAILED;
    }
    if (argc > 1)
        run_say("'%s' is no command: expected run", argv[1]);
    usage(stderr);
    return RUN_FAILED;
}
