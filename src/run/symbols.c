/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols.h"

#include <stddef.h>
#include <string.h>

enum { VERSION_LOCAL = 0, VERSION_GLOBAL = 1, VERSION_HIDDEN = 0x8000, CHAIN_MOST = 4096 };

struct section {
    Elf_Scn *scn;
    GElf_Shdr header;
    Elf_Data *data;
};

static bool find_section(Elf *elf, GElf_Word type, struct section *out)
{
    *out = (struct section){0};
    while ((out->scn = elf_nextscn(elf, out->scn)))
        if (gelf_getshdr(out->scn, &out->header) && out->header.sh_type == type)
            return (out->data = elf_getdata(out->scn, NULL)) != NULL;
    return false;
}

/* libelf gives strings that end inside their section, or NULL. Long ones are nobody's symbol. */
static const char *string_at(Elf *elf, size_t section, size_t offset)
{
    const char *text = elf_strptr(elf, section, offset);
    return text && strnlen(text, ELF_NAME_MOST + 1) <= ELF_NAME_MOST ? text : NULL;
}

/* ---- versions ------------------------------------------------------------------------------------------------------ */

/* Name of version `index` among those that are asked of others. */
static const char *needed_version(Elf *elf, const struct section *s, unsigned index)
{
    GElf_Verneed need;
    GElf_Vernaux aux;
    size_t at = 0;
    for (unsigned n = 0; n < CHAIN_MOST && gelf_getverneed(s->data, (int)at, &need); n++) {
        size_t entry = at + need.vn_aux;
        for (unsigned i = 0; i < need.vn_cnt && i < CHAIN_MOST && gelf_getvernaux(s->data, (int)entry, &aux); i++) {
            if ((aux.vna_other & ~VERSION_HIDDEN) == (int)index)
                return string_at(elf, s->header.sh_link, aux.vna_name);
            if (!aux.vna_next)
                break;
            entry += aux.vna_next;
        }
        if (!need.vn_next)
            break;
        at += need.vn_next;
    }
    return NULL;
}

/* The same among those that the file defines. */
static const char *defined_version(Elf *elf, const struct section *s, unsigned index)
{
    GElf_Verdef def;
    GElf_Verdaux aux;
    size_t at = 0;
    for (unsigned n = 0; n < CHAIN_MOST && gelf_getverdef(s->data, (int)at, &def); n++) {
        if ((def.vd_ndx & ~VERSION_HIDDEN) == (int)index)
            return gelf_getverdaux(s->data, (int)(at + def.vd_aux), &aux) ? string_at(elf, s->header.sh_link, aux.vda_name)
                                                                          : NULL;
        if (!def.vd_next)
            break;
        at += def.vd_next;
    }
    return NULL;
}

struct tables {
    struct section symbols, versym, verneed, verdef;
    bool has_versym, has_verneed, has_verdef;
};

static const char *version_of(Elf *elf, const struct tables *t, int n, bool defined)
{
    GElf_Versym v;
    const char *name = NULL;
    if (!t->has_versym || !gelf_getversym(t->versym.data, n, &v))
        return "";
    unsigned index = v & ~(unsigned)VERSION_HIDDEN;
    if (index == VERSION_LOCAL || index == VERSION_GLOBAL)
        return "";
    if (defined && t->has_verdef)
        name = defined_version(elf, &t->verdef, index);
    else if (!defined && t->has_verneed)
        name = needed_version(elf, &t->verneed, index);
    return name ? name : "";
}

bool elf_symbols(Elf *elf, void (*fn)(void *arg, const struct elf_symbol *symbol), void *arg)
{
    struct tables t;
    GElf_Sym sym;
    if (!find_section(elf, SHT_DYNSYM, &t.symbols))
        return false;
    t.has_versym = find_section(elf, SHT_GNU_versym, &t.versym);
    t.has_verneed = find_section(elf, SHT_GNU_verneed, &t.verneed);
    t.has_verdef = find_section(elf, SHT_GNU_verdef, &t.verdef);
    for (int n = 1; gelf_getsym(t.symbols.data, n, &sym); n++) {
        const char *name = string_at(elf, t.symbols.header.sh_link, sym.st_name);
        struct elf_symbol s = {.name = name,
                               .defined = sym.st_shndx != SHN_UNDEF,
                               .weak = GELF_ST_BIND(sym.st_info) == STB_WEAK};
        if (!name || !*name)
            continue;
        s.version = version_of(elf, &t, n, s.defined);
        fn(arg, &s);
    }
    return true;
}

/* ---- strings -------------------------------------------------------------------------------------------------------- */

static bool is_printable(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (text[i] < ' ' || text[i] > '~')
            return false;
    return length > 0;
}

static void strings_of(const Elf_Data *data, void (*fn)(void *arg, const char *text), void *arg)
{
    const char *at = data->d_buf, *end = at ? at + data->d_size : NULL;
    while (at && at < end) {
        const char *nul = memchr(at, '\0', (size_t)(end - at));
        if (!nul)
            return;
        if (nul - at <= ELF_NAME_MOST && is_printable(at, (size_t)(nul - at)))
            fn(arg, at);
        at = nul + 1;
    }
}

void elf_strings(Elf *elf, void (*fn)(void *arg, const char *text), void *arg)
{
    GElf_Shdr header;
    for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn));) {
        if (!gelf_getshdr(scn, &header) || header.sh_type != SHT_PROGBITS || !(header.sh_flags & SHF_ALLOC) ||
            header.sh_flags & SHF_EXECINSTR)
            continue;
        Elf_Data *data = elf_getdata(scn, NULL);
        if (data)
            strings_of(data, fn, arg);
    }
}
