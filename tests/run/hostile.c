/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ELF files that are cut off, or have bytes changed where it hurts: whatever softnic run makes of them, it comes to an
 * end and stays within the file. Seeded, so that a failure can be repeated.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "closure.h"
#include "elffile.h"
#include "symbols.h"

enum { SAMPLE_MOST = 4 << 20, ROUNDS = 400 };

static const char *sample_path;

static uint8_t sample[SAMPLE_MOST];
static size_t sample_size;
static uint64_t seed = 20240601;

static uint64_t next_random(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    return seed ^= seed << 17;
}

static int load(void **state)
{
    (void)state;
    int fd = open(sample_path, O_RDONLY);
    ssize_t n = fd < 0 ? -1 : read(fd, sample, sizeof(sample));
    close(fd);
    sample_size = n > 0 ? (size_t)n : 0;
    return sample_size > 4096 ? 0 : -1;
}

static size_t symbols_seen, strings_seen;

static void see_symbol(void *arg, const struct elf_symbol *s)
{
    (void)arg;
    assert_true(strlen(s->name) <= ELF_NAME_MOST && strlen(s->version) <= ELF_NAME_MOST);
    symbols_seen++;
}

static void see_string(void *arg, const char *text)
{
    (void)arg;
    assert_true(strlen(text) <= ELF_NAME_MOST);
    strings_seen++;
}

static int file_of(const uint8_t *bytes, size_t size)
{
    int fd = memfd_create("hostile", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, size), size);
    return fd;
}

static void look(const uint8_t *bytes, size_t size)
{
    struct elf_dynamic d;
    int fd = file_of(bytes, size);
    Elf *elf = elf_file_begin(fd);
    if (elf && gelf_getclass(elf) == ELFCLASS64) {
        elf_dynamic_read(elf, &d);
        for (size_t n = 0; n < d.needed_count && n < 64; n++) {
            const char *name = elf_needed(elf, &d, n);
            assert_true(!name || strlen(name) < size);
        }
        elf_symbols(elf, see_symbol, NULL);
        elf_strings(elf, see_string, NULL);
    }
    elf_file_end(elf);
    close(fd);
}

/* So that the rest means something. */
static void test_sound(void **state)
{
    (void)state;
    symbols_seen = strings_seen = 0;
    look(sample, sample_size);
    assert_true(symbols_seen > 20);
    assert_true(strings_seen > 10);
}

static void test_cut_off(void **state)
{
    (void)state;
    for (size_t size = 0; size < 2048; size += 13)
        look(sample, size);
    for (int i = 0; i < 200; i++)
        look(sample, (size_t)(next_random() % sample_size));
}

/* Bytes of headers and tables more often than others; values at the edges more often than any. */
static void spoil(uint8_t *bytes)
{
    static const uint64_t edges[] = {0, 1, UINT64_MAX, INT64_MAX, UINT32_MAX, 0x7fffffff, 0x80000000, 4096};
    const Elf64_Ehdr *header = (const void *)sample;
    uint64_t where = next_random() % 4, at;
    switch (where) {
    case 0: at = 16 + next_random() % 48; break;                                           /* ELF header */
    case 1: at = header->e_phoff + next_random() % (header->e_phnum * sizeof(Elf64_Phdr)); break;
    case 2: at = header->e_shoff + next_random() % (header->e_shnum * sizeof(Elf64_Shdr)); break;
    default: at = next_random() % 16384; break; /* dynamic symbols, versions and strings come early */
    }
    uint64_t value = next_random() % 3 ? edges[next_random() % 8] : next_random();
    size_t width = 1u << next_random() % 4;
    if (at + width <= sample_size)
        memcpy(bytes + at, &value, width);
}

static void test_spoiled(void **state)
{
    static uint8_t bytes[SAMPLE_MOST];
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        memcpy(bytes, sample, sample_size);
        for (uint64_t n = 1 + next_random() % 6; n; n--)
            spoil(bytes);
        look(bytes, sample_size);
    }
}

/* Libraries of libraries: a program that needs itself, one that needs a device, one with spoiled tables. */
static void test_closure(void **state)
{
    struct closure c;
    char path[64];
    (void)state;
    static uint8_t bytes[SAMPLE_MOST];
    for (int round = 0; round < 40; round++) {
        memcpy(bytes, sample, sample_size);
        for (uint64_t n = next_random() % 6; round && n; n--)
            spoil(bytes);
        int fd = file_of(bytes, sample_size);
        snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        assert_int_equal(closure_build(path, "/no/such/folder", &c), 0);
        assert_in_range(c.count, 1, CLOSURE_MOST);
        assert_true(round || c.count > 2);
        closure_free(&c);
        close(fd);
    }
    assert_int_equal(closure_build("/dev/zero", "/", &c), 0);
    assert_int_equal(c.count, 1);
    closure_free(&c);
}

int main(int argc, char **argv)
{
    sample_path = argc > 1 ? argv[1] : "/proc/self/exe";
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_sound), cmocka_unit_test(test_cut_off),
                                       cmocka_unit_test(test_spoiled), cmocka_unit_test(test_closure)};
    return cmocka_run_group_tests(tests, load, NULL);
}
