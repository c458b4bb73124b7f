/* SPDX-License-Identifier: Apache-2.0 */
#include "closure.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "elffile.h"
#include "plugins.h"

enum { FILE_MOST = 1 << 30, FOLDERS_MOST = 65536, LINE_MOST = 1024, INCLUDES_MOST = 8 };

/* Folders of /etc/ld.so.conf and the loader's own, separated by colons. */
struct folders {
    char text[FOLDERS_MOST];
    size_t used;
};

static void add_folder(struct folders *f, const char *folder)
{
    int n = snprintf(f->text + f->used, sizeof(f->text) - f->used, "%s%s", f->used ? ":" : "", folder);
    if (n > 0 && (size_t)n < sizeof(f->text) - f->used)
        f->used += (size_t)n;
    else
        f->text[f->used] = '\0'; /* a cut-off name would be another folder */
}

static void read_configuration(struct folders *f, const char *path, unsigned depth);

static void include(struct folders *f, const char *pattern, unsigned depth)
{
    glob_t g;
    if (glob(pattern, 0, NULL, &g))
        return;
    for (size_t i = 0; i < g.gl_pathc; i++)
        read_configuration(f, g.gl_pathv[i], depth + 1);
    globfree(&g);
}

static void read_configuration(struct folders *f, const char *path, unsigned depth)
{
    char line[LINE_MOST];
    FILE *file = depth < INCLUDES_MOST ? fopen(path, "re") : NULL;
    while (file && fgets(line, sizeof(line), file)) {
        char *text = line + strspn(line, " \t");
        text[strcspn(text, "#\n")] = '\0';
        for (size_t n = strlen(text); n && strchr(" \t", text[n - 1]); n--)
            text[n - 1] = '\0';
        if (!strncmp(text, "include", 7) && strchr(" \t", text[7]) && text[7])
            include(f, text + 8 + strspn(text + 8, " \t"), depth);
        else if (*text == '/')
            add_folder(f, text);
    }
    if (file)
        fclose(file);
}

static void system_folders(struct folders *f)
{
    static const char *const own[] = {
#if defined(__x86_64__)
        "/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu",
#elif defined(__aarch64__)
        "/lib/aarch64-linux-gnu", "/usr/lib/aarch64-linux-gnu",
#endif
        "/lib64", "/usr/lib64", "/lib", "/usr/lib"};
    read_configuration(f, "/etc/ld.so.conf", 0);
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
        add_folder(f, own[i]);
}

/* ---- one library ---------------------------------------------------------------------------------------------------- */

static Elf *open_elf(const char *path, int *fd)
{
    struct stat st;
    Elf *elf = NULL;
    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (*fd >= 0 && !fstat(*fd, &st) && S_ISREG(st.st_mode) && st.st_size <= FILE_MOST)
        elf = elf_file_begin(*fd);
    if (!elf && *fd >= 0)
        close(*fd);
    return elf;
}

/* The loader passes over files that it cannot use. */
static bool is_usable(const char *path)
{
    int fd;
    Elf *elf = open_elf(path, &fd);
    if (!elf)
        return false;
    bool fits = gelf_getclass(elf) == ELFCLASS64;
    elf_file_end(elf);
    close(fd);
    return fits;
}

/* `folder` with $ORIGIN replaced by where the asking object lies; false: it cannot be a folder. */
static bool expand(const char *folder, size_t length, const char *asker, char out[PATH_MAX])
{
    const char *slash = strrchr(asker, '/');
    size_t used = 0;
    for (size_t i = 0; i < length;) {
        size_t token = !strncmp(folder + i, "$ORIGIN", 7) ? 7 : !strncmp(folder + i, "${ORIGIN}", 9) ? 9 : 0;
        int n = token ? snprintf(out + used, PATH_MAX - used, "%.*s", slash ? (int)(slash - asker) : 0, asker)
                      : snprintf(out + used, PATH_MAX - used, "%c", folder[i]);
        if (n < 0 || (size_t)n >= PATH_MAX - used)
            return false;
        used += (size_t)n;
        i += token ? token : 1;
    }
    return used > 0;
}

static bool try_folders(const char *list, const char *name, const char *asker, char out[PATH_MAX])
{
    char folder[PATH_MAX], path[PATH_MAX + CLOSURE_NAME];
    while (list && *list) {
        size_t length = strcspn(list, ":");
        if (length && expand(list, length, asker, folder)) {
            snprintf(path, sizeof(path), "%s/%s", folder, name);
            if (strlen(path) < PATH_MAX && is_usable(path)) {
                strcpy(out, path);
                return true;
            }
        }
        list += length + (list[length] == ':');
    }
    return false;
}

struct search {
    struct closure *closure;
    const char *first;
    struct folders *system;
};

static bool already_there(const struct closure *c, const char *name)
{
    for (size_t i = 0; i < c->count; i++)
        if (!strcmp(c->objects[i].name, name))
            return true;
    return false;
}

static void locate(const struct search *s, const struct closure_object *asker, const struct elf_dynamic *d,
                   struct closure_object *o)
{
    char path[PATH_MAX];
    if (strchr(o->name, '/')) {
        if (expand(o->name, strlen(o->name), asker->path, path) && is_usable(path))
            strcpy(o->path, path);
        return;
    }
    if (!(!d->runpath && try_folders(d->rpath, o->name, asker->path, o->path)) &&
        !try_folders(s->first, o->name, "", o->path) && !try_folders(getenv("LD_LIBRARY_PATH"), o->name, "", o->path) &&
        !try_folders(d->runpath, o->name, asker->path, o->path))
        try_folders(s->system->text, o->name, "", o->path);
    o->ours = !strncmp(o->path, s->first, strlen(s->first)) && o->path[strlen(s->first)] == '/';
}

/* Room for one more, or NULL. */
static struct closure_object *add(struct closure *c, const char *name, size_t loader)
{
    if (c->count == CLOSURE_MOST) {
        c->complete = false;
        return NULL;
    }
    struct closure_object *o = &c->objects[c->count++];
    *o = (struct closure_object){.loader = loader, .optional = c->objects[loader].optional};
    strcpy(o->name, name);
    return o;
}

static void add_needed(struct search *s, size_t index)
{
    struct closure *c = s->closure;
    struct elf_dynamic d;
    int fd;
    Elf *elf = *c->objects[index].path ? open_elf(c->objects[index].path, &fd) : NULL;
    if (!elf)
        return;
    elf_dynamic_read(elf, &d);
    for (size_t n = 0; n < d.needed_count && n < CLOSURE_MOST; n++) {
        const char *name = elf_needed(elf, &d, n);
        if (!name || !*name || strlen(name) >= CLOSURE_NAME || already_there(c, name))
            continue;
        struct closure_object *o = add(c, name, index);
        if (!o)
            break;
        locate(s, &c->objects[index], &d, o);
    }
    elf_file_end(elf);
    close(fd);
}

struct opener {
    struct closure *closure;
    size_t index;
};

static void add_plugin(void *arg, const char *path)
{
    const struct opener *opener = arg;
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    if (strlen(name) >= CLOSURE_NAME || already_there(opener->closure, name) || !is_usable(path))
        return;
    struct closure_object *o = add(opener->closure, name, opener->index);
    if (!o)
        return;
    strcpy(o->path, path);
    o->plugin = o->optional = true;
}

/* First all that has to be there, then plugins: what both need is no matter of the plugin. */
static void fill(struct search *s)
{
    struct closure *c = s->closure;
    size_t needs = 0, opens = 0;
    while (needs < c->count || opens < c->count) {
        for (; needs < c->count; needs++)
            add_needed(s, needs);
        struct opener opener = {.closure = c, .index = opens};
        if (*c->objects[opens].path)
            plugins_of(c->objects[opens].name, c->objects[opens].path, add_plugin, &opener);
        opens++;
    }
}

int closure_build(const char *program, const char *first, struct closure *out)
{
    struct folders *system = calloc(1, sizeof(*system));
    *out = (struct closure){.objects = calloc(CLOSURE_MOST, sizeof(*out->objects)), .count = 1, .complete = true};
    if (!system || !out->objects) {
        free(system);
        free(out->objects);
        return -ENOMEM;
    }
    struct search s = {.closure = out, .first = first, .system = system};
    const char *slash = strrchr(program, '/');
    system_folders(system);
    snprintf(out->objects[0].path, PATH_MAX, "%s", program);
    snprintf(out->objects[0].name, CLOSURE_NAME, "%s", slash ? slash + 1 : program);
    fill(&s);
    free(system);
    return 0;
}

void closure_free(struct closure *c)
{
    free(c->objects);
}
