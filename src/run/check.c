/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `softnic run --check`: which functions of rdma-core's libraries the program and its libraries name, and what softnic
 * answers to each. Nothing is run and nothing is loaded. What is looked up by name at run time (dlsym) is found among the
 * strings of objects that also name such a library.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "closure.h"
#include "elffile.h"
#include "gdaki/softnic.h"
#include "run.h"
#include "symbols.h"

enum answer { CARRIED, REFUSED, MISSING, UNKNOWN, ANSWERS };
enum how { LINKED, WEAK, BY_NAME };

struct wanted {
    char name[ELF_NAME_MOST + 1], version[ELF_NAME_MOST + 1];
    enum how how;
    size_t asker; /* object of the closure that names it first */
    enum answer answer;
};

struct list {
    struct wanted *items;
    size_t count, room;
    bool full;
};

struct look {
    struct list *wanted, *own; /* of all objects; of this one, each name once */
    size_t asker;
    bool names_library; /* the object contains the name of a library of rdma-core's */
};

enum { WANTED_MOST = 20000 };

/* ---- what is asked for ----------------------------------------------------------------------------------------------- */

static const char *const prefixes[] = {"ibv_", "_ibv_", "mlx5dv_", "_mlx5dv_", "efadv_", "rdma_", "umad_", "verbs_", "__verbs_"};
static const char *const libraries[] = {"libibverbs.so.1", "libmlx5.so.1", "libefa.so.1", "librdmacm.so.1"};

static bool has_prefix(const char *name)
{
    for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
        if (!strncmp(name, prefixes[i], strlen(prefixes[i])))
            return true;
    return false;
}

static bool is_identifier(const char *text)
{
    return !text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")];
}

static void want(struct list *l, const char *name, const char *version, enum how how, size_t asker)
{
    for (size_t i = 0; i < l->count; i++)
        if (!strcmp(l->items[i].name, name) && (how == BY_NAME || !strcmp(l->items[i].version, version)))
            return;
    if (l->count == l->room) {
        size_t room = l->room ? 2 * l->room : 64;
        struct wanted *grown = room > WANTED_MOST ? NULL : realloc(l->items, room * sizeof(*grown));
        l->full |= !grown;
        if (!grown)
            return;
        l->items = grown;
        l->room = room;
    }
    struct wanted *w = &l->items[l->count++];
    *w = (struct wanted){.how = how, .asker = asker, .answer = UNKNOWN};
    strcpy(w->name, name);
    strcpy(w->version, version);
}

static void take_symbol(void *arg, const struct elf_symbol *s)
{
    struct look *look = arg;
    if (s->defined || !has_prefix(s->name))
        return;
    want(look->wanted, s->name, s->version, s->weak ? WEAK : LINKED, look->asker);
    want(look->own, s->name, "", BY_NAME, look->asker);
}

static void notice_library(void *arg, const char *text)
{
    struct look *look = arg;
    look->names_library |= !strncmp(text, "libibverbs.so", 13) || !strncmp(text, "libmlx5.so", 10) ||
                           !strncmp(text, "librdmacm.so", 12) || !strncmp(text, "libefa.so", 9);
}

static void take_string(void *arg, const char *text)
{
    struct look *look = arg;
    if (!has_prefix(text) || !is_identifier(text))
        return;
    want(look->wanted, text, "", BY_NAME, look->asker);
    want(look->own, text, "", BY_NAME, look->asker);
}

static Elf *open_object(const char *path, int *fd)
{
    *fd = open(path, O_RDONLY | O_CLOEXEC);
    Elf *elf = *fd < 0 ? NULL : elf_file_begin(*fd);
    if (!elf && *fd >= 0)
        close(*fd);
    return elf;
}

/* False: the file has no symbol table that can be read. */
static bool look_into(const char *path, struct look *look)
{
    int fd;
    Elf *elf = open_object(path, &fd);
    if (!elf)
        return false;
    bool readable = elf_symbols(elf, take_symbol, look);
    elf_strings(elf, notice_library, look);
    if (look->names_library)
        elf_strings(elf, take_string, look);
    elf_file_end(elf);
    close(fd);
    return readable;
}

/* ---- what there is ---------------------------------------------------------------------------------------------------- */

struct offer {
    struct list *wanted;
    bool own; /* libsoftnic itself: softnic_NAME, weak where it only refuses */
};

static bool same_symbol(const struct wanted *w, const char *name, const char *version)
{
    return !strcmp(w->name, name) && (!*w->version || !strcmp(w->version, version));
}

static void offer_symbol(void *arg, const struct elf_symbol *s)
{
    struct offer *offer = arg;
    static const char own[] = "softnic_";
    if (!s->defined || (offer->own && strncmp(s->name, own, strlen(own)) != 0))
        return;
    for (size_t i = 0; i < offer->wanted->count; i++) {
        struct wanted *w = &offer->wanted->items[i];
        if (!offer->own && same_symbol(w, s->name, s->version))
            w->answer = CARRIED;
        else if (offer->own && w->answer == CARRIED && s->weak && !strcmp(w->name, s->name + strlen(own)))
            w->answer = REFUSED;
    }
}

static bool offer_library(const char *path, bool own, struct list *wanted)
{
    int fd;
    struct offer offer = {.wanted = wanted, .own = own};
    Elf *elf = open_object(path, &fd);
    if (!elf)
        return false;
    elf_symbols(elf, offer_symbol, &offer);
    elf_file_end(elf);
    close(fd);
    return true;
}

/* What none of our libraries has is missing, unless it belongs to a library that we do not stand in for. */
static void settle(struct list *l, bool cm)
{
    for (size_t i = 0; i < l->count; i++) {
        struct wanted *w = &l->items[i];
        if (w->answer == UNKNOWN && strncmp(w->name, "umad_", 5) != 0 && (cm || strncmp(w->name, "rdma_", 5) != 0))
            w->answer = MISSING;
    }
}

static void answer_all(const struct run_paths *paths, struct list *wanted)
{
    char path[2 * PATH_MAX];
    Dl_info info;
    bool cm = true; /* connection management is ours, too */
    for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++) {
        snprintf(path, sizeof(path), "%s/%s", paths->libraries, libraries[i]);
        bool there = offer_library(path, false, wanted);
        cm &= there || strcmp(libraries[i], "librdmacm.so.1") != 0;
    }
    if (dladdr((void *)(uintptr_t)&softnic_stats, &info))
        offer_library(info.dli_fname, true, wanted);
    settle(wanted, cm);
}

/* ---- saying it -------------------------------------------------------------------------------------------------------- */

static const char *const answers[ANSWERS] = {"carried", "refused", "missing", "the machine's"};
static const char *const hows[] = {"", " (weak)", " (by name)"};

static int by_answer(const void *a, const void *b)
{
    const struct wanted *x = a, *y = b;
    return x->answer != y->answer ? (int)x->answer - (int)y->answer : strcmp(x->name, y->name);
}

static void print_libraries(const struct closure *c, bool verbose)
{
    for (size_t i = 1; i < c->count; i++) {
        const struct closure_object *o = &c->objects[i];
        if (!*o->path && (verbose || !o->optional))
            printf("  %-28s not found (wanted by %s)\n", o->name, c->objects[o->loader].name);
        else if (*o->path && !o->plugin && (o->ours || verbose))
            printf("  %-28s %s%s\n", o->name, o->path, o->ours ? " (softnic's)" : "");
    }
}

static const char *lacks(const struct closure *c, size_t plugin)
{
    for (size_t i = 1; i < c->count; i++)
        if (c->objects[i].loader == plugin && !c->objects[i].plugin && !*c->objects[i].path)
            return c->objects[i].name;
    return NULL;
}

/* What a plugin will ask for, whatever else asks for the same. Those that have nothing to do with RDMA only if asked to. */
static void print_plugin(const struct closure *c, size_t index, struct list *own, const struct run_paths *paths, bool verbose)
{
    const struct closure_object *o = &c->objects[index];
    const char *missing = lacks(c, index);
    size_t count[ANSWERS] = {0};
    if (!own->count && !verbose)
        return;
    answer_all(paths, own);
    for (size_t i = 0; i < own->count; i++)
        count[own->items[i].answer]++;
    printf("  plugin %s (opened by %s): ", o->path, c->objects[o->loader].name);
    if (own->count)
        printf("%zu carried, %zu refused, %zu missing", count[CARRIED], count[REFUSED], count[MISSING]);
    else
        printf("names no function of RDMA libraries");
    printf(missing ? "; does not load without %s\n" : "\n", missing);
}

static void print_symbols(const struct list *l, const struct closure *c)
{
    for (size_t i = 0; i < l->count; i++) {
        const struct wanted *w = &l->items[i];
        char symbol[2 * ELF_NAME_MOST + 4];
        snprintf(symbol, sizeof(symbol), "%s%s%s", w->name, *w->version ? "@" : "", w->version);
        printf("  %-14s %-48s %s%s\n", answers[w->answer], symbol, c->objects[w->asker].name, hows[w->how]);
    }
}

/* Nothing starts without a library or a symbol that it is linked to; what is looked up by name may be done without. */
static int verdict(const struct list *l, const struct closure *c, const char *helpless)
{
    size_t count[ANSWERS] = {0}, absent = 0, unlinked = 0;
    for (size_t i = 0; i < l->count; i++) {
        count[l->items[i].answer]++;
        unlinked += l->items[i].answer == MISSING && l->items[i].how == LINKED && !c->objects[l->items[i].asker].optional;
    }
    for (size_t i = 1; i < c->count; i++)
        absent += !*c->objects[i].path && !c->objects[i].optional;
    printf("%zu carried, %zu refused, %zu missing", count[CARRIED], count[REFUSED], count[MISSING]);
    if (count[MISSING] > unlinked)
        printf(" (%zu of them looked up by name, weak or of plugins)", count[MISSING] - unlinked);
    printf(absent ? ", %zu libraries not found\n" : "\n", absent);
    if (!l->count)
        printf("The program names no function of RDMA libraries; libraries that it opens by other names were not looked at.\n");
    return unlinked || absent || helpless || l->full || !c->complete;
}

static int check_closure(const char *path, const char *helpless, const struct run_paths *paths, bool verbose)
{
    struct closure c;
    struct list wanted = {0};
    if (closure_build(path, paths->libraries, &c)) {
        run_say("out of memory");
        return RUN_FAILED;
    }
    for (size_t i = 0; i < c.count; i++) {
        struct list own = {0};
        struct look look = {.wanted = &wanted, .own = &own, .asker = i};
        if (!c.objects[i].ours && *c.objects[i].path && !look_into(c.objects[i].path, &look) && !i && !helpless) {
            helpless = "cannot be read";
            printf("  no table of its dynamic symbols can be read: what it asks for is not known\n");
        }
        if (c.objects[i].plugin)
            print_plugin(&c, i, &own, paths, verbose);
        free(own.items);
    }
    answer_all(paths, &wanted);
    if (wanted.count)
        qsort(wanted.items, wanted.count, sizeof(*wanted.items), by_answer);
    print_libraries(&c, verbose);
    print_symbols(&wanted, &c);
    if (!c.complete || wanted.full)
        printf("  there is more than was looked at\n");
    int rc = verdict(&wanted, &c, helpless);
    free(wanted.items);
    closure_free(&c);
    return rc;
}

int run_check(const struct run_target *target, const struct run_paths *paths, bool verbose)
{
    const char *helpless = run_kind_says(target->kind), *path = target->path;
    if (*target->interpreter) {
        printf("%s: a script of %s\n", target->path, target->interpreter);
        path = target->interpreter;
    } else {
        printf("%s: %s\n", target->path,
               helpless                       ? helpless
               : target->kind == RUN_DYNAMIC  ? "dynamically linked"
               : target->kind == RUN_LIBRARY  ? "a library"
                                              : "no program that can be looked into");
    }
    if (*target->interpreter && helpless)
        printf("  the interpreter %s\n", helpless);
    if (target->rpath)
        printf("  has a DT_RPATH, which goes before LD_LIBRARY_PATH\n");
    if (target->kind == RUN_OTHER_CLASS || target->kind == RUN_OTHER_MACHINE || target->kind == RUN_UNKNOWN)
        return 1;
    return check_closure(path, helpless, paths, verbose);
}
