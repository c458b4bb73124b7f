/* SPDX-License-Identifier: Apache-2.0 */
/* Dynamic symbols of an ELF file, through libelf's sections. */
#ifndef SOFTNIC_RUN_SYMBOLS_H
#define SOFTNIC_RUN_SYMBOLS_H

#include <gelf.h>
#include <stdbool.h>

struct elf_symbol {
    const char *name;    /* at most ELF_NAME_MOST bytes */
    const char *version; /* "" where there is none */
    bool defined, weak;
};

enum { ELF_NAME_MOST = 200 };

/* Calls fn for each dynamic symbol with a name. False: there is no symbol table that can be read. */
bool elf_symbols(Elf *elf, void (*fn)(void *arg, const struct elf_symbol *symbol), void *arg);

/* Calls fn for each string of the file's constant data, printable and at most ELF_NAME_MOST bytes long. */
void elf_strings(Elf *elf, void (*fn)(void *arg, const char *text), void *arg);

#endif
