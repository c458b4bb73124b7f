/* SPDX-License-Identifier: Apache-2.0 */
/* A library that stands before another function itself: RTLD_NEXT has to start behind it, not behind whoever passes on. */
#include <dlfcn.h>

int run_next_of_plugin(void);
int cuDriverGetVersion(int *version);

int cuDriverGetVersion(int *version)
{
    *version = -1;
    return 0;
}

/* Opened locally, it is in nobody's order: nothing comes behind it. Its own symbol is not "next", either. */
int run_next_of_plugin(void)
{
    void *next = dlsym(RTLD_NEXT, "cuDriverGetVersion");
    return next == (void *)cuDriverGetVersion;
}
