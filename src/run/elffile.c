/* SPDX-License-Identifier: Apache-2.0 */
#include "elffile.h"

#include <string.h>

#ifndef DF_1_PIE
#define DF_1_PIE 0x08000000
#endif

enum { DYNAMIC_MOST = 1 << 16, STRING_MOST = 1 << 16 }; /* far beyond any real file */

Elf *elf_file_begin(int fd)
{
    if (elf_version(EV_CURRENT) == EV_NONE)
        return NULL;
    Elf *elf = elf_begin(fd, ELF_C_READ, NULL); /* read, not mapped: a file cut off while we look is an error, not SIGBUS */
    if (elf && elf_kind(elf) == ELF_K_ELF)
        return elf;
    elf_end(elf);
    return NULL;
}

void elf_file_end(Elf *elf)
{
    elf_end(elf);
}

/* Where the bytes of [address, address + size) lie in the file. */
static bool file_offset(Elf *elf, GElf_Addr address, size_t size, GElf_Off *offset)
{
    size_t count;
    GElf_Phdr p;
    if (elf_getphdrnum(elf, &count))
        return false;
    for (size_t i = 0; i < count; i++) {
        if (!gelf_getphdr(elf, (int)i, &p) || p.p_type != PT_LOAD || address < p.p_vaddr)
            continue;
        GElf_Xword inside = address - p.p_vaddr;
        if (inside < p.p_filesz && size <= p.p_filesz - inside && p.p_offset + inside >= p.p_offset) {
            *offset = p.p_offset + inside;
            return true;
        }
    }
    return false;
}

const void *elf_at(Elf *elf, GElf_Addr address, size_t size)
{
    size_t length;
    GElf_Off offset;
    const char *raw = elf_rawfile(elf, &length);
    if (!raw || !size || !file_offset(elf, address, size, &offset) || offset > length || size > length - offset)
        return NULL;
    return raw + offset;
}

const char *elf_string(Elf *elf, const struct elf_dynamic *d, GElf_Xword offset)
{
    if (offset >= d->strtab_size)
        return NULL;
    size_t room = d->strtab_size - offset < STRING_MOST ? (size_t)(d->strtab_size - offset) : STRING_MOST;
    const char *text = elf_at(elf, d->strtab + offset, room);
    return text && memchr(text, '\0', room) ? text : NULL;
}

/* The n-th entry of PT_DYNAMIC in host form. */
static bool dynamic_entry(Elf *elf, const GElf_Phdr *p, size_t n, GElf_Dyn *out)
{
    Elf64_Dyn raw; /* of our class and byte order: others were turned away */
    if (n >= DYNAMIC_MOST || n >= p->p_filesz / sizeof(raw))
        return false;
    size_t length;
    const char *file = elf_rawfile(elf, &length);
    GElf_Off at = p->p_offset + n * sizeof(raw);
    if (!file || at < p->p_offset || at > length || sizeof(raw) > length - at)
        return false;
    memcpy(&raw, file + at, sizeof(raw));
    *out = raw;
    return raw.d_tag != DT_NULL;
}

static bool find_dynamic(Elf *elf, GElf_Phdr *out)
{
    size_t count;
    if (elf_getphdrnum(elf, &count))
        return false;
    for (size_t i = 0; i < count; i++)
        if (gelf_getphdr(elf, (int)i, out) && out->p_type == PT_DYNAMIC)
            return true;
    return false;
}

static bool has_interpreter(Elf *elf)
{
    size_t count;
    GElf_Phdr p;
    if (elf_getphdrnum(elf, &count))
        return false;
    for (size_t i = 0; i < count; i++)
        if (gelf_getphdr(elf, (int)i, &p) && p.p_type == PT_INTERP)
            return true;
    return false;
}

static void take_addresses(struct elf_dynamic *d, const GElf_Dyn *e)
{
    switch (e->d_tag) {
    case DT_STRTAB: d->strtab = e->d_un.d_ptr; break;
    case DT_STRSZ: d->strtab_size = e->d_un.d_val; break;
    case DT_SYMTAB: d->symtab = e->d_un.d_ptr; break;
    case DT_SYMENT: d->syment = e->d_un.d_val; break;
    case DT_HASH: d->hash = e->d_un.d_ptr; break;
    case DT_GNU_HASH: d->gnu_hash = e->d_un.d_ptr; break;
    case DT_VERSYM: d->versym = e->d_un.d_ptr; break;
    case DT_VERNEED: d->verneed = e->d_un.d_ptr; break;
    case DT_VERNEEDNUM: d->verneed_count = e->d_un.d_val; break;
    case DT_NEEDED: d->needed_count++; break;
    case DT_FLAGS_1: d->pie = e->d_un.d_val & DF_1_PIE; break;
    }
}

void elf_dynamic_read(Elf *elf, struct elf_dynamic *out)
{
    GElf_Phdr p;
    GElf_Dyn e;
    *out = (struct elf_dynamic){.interpreter = has_interpreter(elf)};
    if (!find_dynamic(elf, &p))
        return;
    out->dynamic = true;
    for (size_t i = 0; dynamic_entry(elf, &p, i, &e); i++)
        take_addresses(out, &e);
    for (size_t i = 0; dynamic_entry(elf, &p, i, &e); i++) {
        const char **to = e.d_tag == DT_SONAME    ? &out->soname
                          : e.d_tag == DT_RPATH   ? &out->rpath
                          : e.d_tag == DT_RUNPATH ? &out->runpath
                                                  : NULL;
        if (to)
            *to = elf_string(elf, out, e.d_un.d_val);
    }
}

const char *elf_needed(Elf *elf, const struct elf_dynamic *d, size_t n)
{
    GElf_Phdr p;
    GElf_Dyn e;
    if (!find_dynamic(elf, &p))
        return NULL;
    for (size_t i = 0; dynamic_entry(elf, &p, i, &e); i++)
        if (e.d_tag == DT_NEEDED && n-- == 0)
            return elf_string(elf, d, e.d_un.d_val);
    return NULL;
}
