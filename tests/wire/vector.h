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
    unsigned others; /* frames of other protocols, left out */
    enum sn_layer layer;
};

/*
 * Every RoCEv2 frame is parsed with its CRC. False: `why` says what is wrong with the file or with which frame; what was
 * read before that is there, and to be freed.
 */
bool vector_read(struct vector *v, const char *path, char why[256]);

/* A file or frame that is not taken, or is of another protocol, fails the test. */
void vector_load(struct vector *v, const char *path);
void vector_free(struct vector *v);

/* Paths of every *.pcap of a folder, sorted by name, or of the one file; the number. Freed by the caller, each and all. */
unsigned vector_paths(const char *folder, char ***paths);

/* Each of them; fails the test when there is none. */
void vector_each(const char *folder, void (*fn)(struct vector *v, void *arg), void *arg);

/* The folder that a test is about: its argument, else the one in the tree. */
const char *vector_folder(int argc, char **argv);

/* splitmix64: a small generator that can be repeated. */
uint64_t vector_random(uint64_t *state);

#endif
