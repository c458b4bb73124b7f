/* SPDX-License-Identifier: Apache-2.0 */
/* Captures in memory, frame by frame, each taken apart. */
#ifndef TESTS_WIRE_VECTOR_H
#define TESTS_WIRE_VECTOR_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "softnic/nic.h"
#include "softnic/wire/frame.h"

struct vector_frame {
    uint8_t *bytes; /* exactly as many as there are: a read beyond is seen by ASan */
    size_t length;
    uint64_t ns;
    struct sn_burst packet; /* payload within bytes */
    struct sn_frame_path path;
};

struct vector {
    char name[256]; /* of the file */
    struct vector_frame *frame;
    unsigned count;
};

/* Every frame is parsed with its CRC; a file or frame that is not taken fails the test. */
void vector_load(struct vector *v, const char *path);
void vector_free(struct vector *v);

/* Every *.pcap of a folder, sorted by name; fails the test when there is none. */
void vector_each(const char *folder, void (*fn)(struct vector *v, void *arg), void *arg);

/* The folder that a test is about: its argument, else the one in the tree. */
const char *vector_folder(int argc, char **argv);

/* splitmix64: a small generator that can be repeated. */
uint64_t vector_random(uint64_t *state);

#endif
