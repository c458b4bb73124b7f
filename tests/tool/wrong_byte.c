/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loaded before a program (LD_PRELOAD): a byte of each large payload that softnic moves is changed, as a NIC that is wrong would
 * do. Nothing below notices: there is no CRC inside a host. When it has happened, the file that WRONG_BYTE_TOLD names
 * exists.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LARGE = 4096 /* payload, not a header or a ring's entry */ };

static bool is_softnic(const void *caller)
{
    Dl_info info;

    return dladdr(caller, &info) != 0 && info.dli_fname != NULL && strstr(info.dli_fname, "libsoftnic.so") != NULL;
}

static void change(unsigned char *bytes, size_t length)
{
    static atomic_bool done;
    const char *told = getenv("WRONG_BYTE_TOLD");
    int fd;

    bytes[length / 2] ^= 0x10;
    if (told == NULL || atomic_exchange(&done, true))
        return;
    fd = open(told, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd >= 0)
        close(fd);
}

/* By hand: the library's own would be this one. */
static void move(unsigned char *to, const unsigned char *from, size_t length)
{
    if ((size_t)(to - from) >= length) /* also where `to` is below */
        for (size_t i = 0; i < length; i++)
            ((volatile unsigned char *)to)[i] = from[i];
    else
        while (length-- != 0)
            ((volatile unsigned char *)to)[length] = from[length];
}

__attribute__((visibility("default"))) void *memmove(void *to, const void *from, size_t length)
{
    move(to, from, length);
    if (length >= LARGE && is_softnic(__builtin_return_address(0)))
        change(to, length);
    return to;
}
