/* SPDX-License-Identifier: Apache-2.0 */
/* Preloaded beside perftest, which seeds rand() with the time in seconds and fills its buffers with it: two processes of one
 * second would hold the same bytes before anything is sent. Here each process has its own. */
#include <dlfcn.h>
#include <unistd.h>

void srand(unsigned seed); /* the prototype of <stdlib.h>, without its attributes */

void srand(unsigned seed)
{
    void (*real)(unsigned) = (void (*)(unsigned))dlsym(RTLD_NEXT, "srand");
    if (real)
        real(seed ^ (unsigned)getpid() * 2654435761u);
}
