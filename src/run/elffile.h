/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading ELF files through libelf. Files may be anybody's, cut off or hostile: whatever is out of range is taken for
 * absent.
 */
#ifndef SOFTNIC_RUN_ELFFILE_H
#define SOFTNIC_RUN_ELFFILE_H

#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>

/* NULL: no ELF file. The descriptor stays the caller's and must outlive it. */
Elf *elf_file_begin(int fd);
void elf_file_end(Elf *elf);

/* From the program headers, so that files without sections are understood. Strings live as long as the file. */
struct elf_dynamic {
    bool interpreter; /* has PT_INTERP: the loader starts it */
    bool dynamic;     /* has PT_DYNAMIC */
    bool pie;         /* a program, though it is of the kind of libraries (DF_1_PIE) */
    const char *soname, *rpath, *runpath;
    GElf_Addr strtab, symtab, versym, verneed, hash, gnu_hash;
    GElf_Xword strtab_size, verneed_count, syment;
    size_t needed_count;
};

void elf_dynamic_read(Elf *elf, struct elf_dynamic *out);

/* Name of the n-th DT_NEEDED, or NULL. */
const char *elf_needed(Elf *elf, const struct elf_dynamic *dynamic, size_t n);

/* `size` bytes of the image at that virtual address as they lie in the file, or NULL. */
const void *elf_at(Elf *elf, GElf_Addr address, size_t size);

/* A string of the dynamic string table that ends inside it, or NULL. */
const char *elf_string(Elf *elf, const struct elf_dynamic *dynamic, GElf_Xword offset);

#endif
