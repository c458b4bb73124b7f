/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fuzz target without libFuzzer, for every compiler: plays each file of the corpus, then seeded mutations of them.
 *
 *   replay CORPUS [MUTATIONS [SEED]]      a failing input is written to crash-TARGET-N.bin, where the run is
 *   replay FILE                           plays that file
 */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rig.h"

enum { MOST = 4096, FILES = 4096 };

struct input {
    uint8_t *bytes;
    size_t size;
};

static struct input corpus[FILES];
static unsigned files;
static uint8_t current[MOST];
static size_t current_size;
static const char *target = "fuzz";
static uint64_t x;

static uint32_t rnd(uint32_t n)
{
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return n == 0 ? 0 : (uint32_t)(x >> 24) % n;
}

static void load(const char *path)
{
    struct input *in = &corpus[files];
    FILE *f = fopen(path, "rb");

    if (f == NULL || files == FILES) {
        fprintf(stderr, "%s: %s\n", path, f == NULL ? "cannot be read" : "too many files");
        exit(2);
    }
    in->bytes = malloc(MOST);
    in->size = in->bytes == NULL ? 0 : fread(in->bytes, 1, MOST, f);
    fclose(f);
    files++;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static void load_folder(const char *folder)
{
    struct dirent **list;
    int n = scandir(folder, &list, NULL, by_name);

    if (n < 0) {
        perror(folder);
        exit(2);
    }
    for (int i = 0; i < n; i++) {
        char path[4096];
        snprintf(path, sizeof(path), "%s/%s", folder, list[i]->d_name);
        if (list[i]->d_name[0] != '.')
            load(path);
        free(list[i]);
    }
    free(list);
}

static void play(void)
{
    uint8_t *exact = malloc(current_size != 0 ? current_size : 1); /* exact: a sanitizer sees reads past the end */

    if (exact == NULL)
        exit(2);
    memcpy(exact, current, current_size);
    LLVMFuzzerTestOneInput(exact, current_size);
    free(exact);
}

static void keep(void)
{
    static char name[64];
    static volatile sig_atomic_t once;
    FILE *f;

    if (once++ != 0)
        return;
    snprintf(name, sizeof(name), "crash-%s-%ld.bin", target, (long)getpid());
    f = fopen(name, "wb");
    if (f != NULL) {
        fwrite(current, 1, current_size, f);
        fclose(f);
        fprintf(stderr, "the input is in %s\n", name);
    }
}

static void crashed(int signal)
{
    keep();
    raise(signal); /* the handler is gone: SA_RESETHAND */
}

extern void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

static void mutate_once(void)
{
    uint32_t at = rnd((uint32_t)current_size), n = 1 + rnd(16);

    switch (rnd(8)) {
    case 0:
        current[at] ^= (uint8_t)(1u << rnd(8));
        break;
    case 1:
        current[at] = (uint8_t)rnd(256);
        break;
    case 2:
        current[at] = (uint8_t)(rnd(2) ? 0xff : 0);
        break;
    case 3: /* a piece goes */
        n = n > current_size - at ? (uint32_t)current_size - at : n;
        if (n == current_size)
            return;
        memmove(current + at, current + at + n, current_size - at - n);
        current_size -= n;
        break;
    case 4: /* a piece comes */
        if (current_size + n > MOST)
            return;
        memmove(current + at + n, current + at, current_size - at);
        for (uint32_t i = 0; i < n; i++)
            current[at + i] = (uint8_t)rnd(256);
        current_size += n;
        break;
    case 5: { /* the end of another */
        const struct input *other = &corpus[rnd(files)];
        size_t from = rnd((uint32_t)other->size), take = other->size - from;
        take = take > MOST - at ? MOST - at : take;
        memcpy(current + at, other->bytes + from, take);
        current_size = at + take;
        break;
    }
    case 6:
        current[at] = (uint8_t)(current[at] + rnd(9) - 4);
        break;
    default: { /* a piece twice */
        if (n > current_size - at || current_size + n > MOST)
            return;
        memmove(current + at + n, current + at, current_size - at);
        current_size += n;
        break;
    }
    }
}

static void mutations(unsigned long count)
{
    for (unsigned long i = 0; i < count; i++) {
        const struct input *from = &corpus[rnd(files)];
        memcpy(current, from->bytes, from->size);
        current_size = from->size;
        for (unsigned n = 1 + rnd(6); n != 0; n--) {
            if (current_size == 0)
                current[current_size++] = 0;
            mutate_once();
        }
        play();
    }
}

int main(int argc, char **argv)
{
    struct stat st;
    const int signals[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL};

    if (argc < 2 || stat(argv[1], &st) != 0) {
        fprintf(stderr, "usage: %s CORPUS [MUTATIONS [SEED]]\n", argv[0]);
        return 2;
    }
    target = strrchr(argv[0], '/') != NULL ? strrchr(argv[0], '/') + 1 : argv[0];
    if (__sanitizer_set_death_callback != NULL) /* its report comes first, and on faults too */
        __sanitizer_set_death_callback(keep);
    for (size_t i = 0; i < (__sanitizer_set_death_callback != NULL ? 1 : sizeof(signals) / sizeof(signals[0])); i++)
        sigaction(signals[i], &(struct sigaction){.sa_handler = crashed, .sa_flags = SA_RESETHAND}, NULL);
    if (S_ISDIR(st.st_mode))
        load_folder(argv[1]);
    else
        load(argv[1]);
    if (files == 0) {
        fprintf(stderr, "%s: no files\n", argv[1]);
        return 2;
    }
    unsigned long count = argc > 2 ? strtoul(argv[2], NULL, 0) : 0;
    uint64_t seed = argc > 3 ? strtoull(argv[3], NULL, 0) : 1;
    x = seed * 0x9e3779b97f4a7c15ull + 1;
    for (unsigned i = 0; i < files; i++) {
        memcpy(current, corpus[i].bytes, corpus[i].size);
        current_size = corpus[i].size;
        play();
    }
    mutations(count);
    printf("%s: %u files, %lu mutations (seed %llu)\n", target, files, count, (unsigned long long)seed);
    for (unsigned i = 0; i < files; i++)
        free(corpus[i].bytes);
    return 0;
}
