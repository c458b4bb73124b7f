/* SPDX-License-Identifier: Apache-2.0 */
/* What will be executed, and whether the loader will listen to LD_PRELOAD when it is. */
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "elffile.h"
#include "run.h"

#if defined(__x86_64__)
#define OUR_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define OUR_MACHINE EM_AARCH64
#else
#error "softnic run: which ELF machine is this?"
#endif

/* ---- finding ---------------------------------------------------------------------------------------------------- */

static bool is_executable_file(const char *path)
{
    struct stat st;
    return !stat(path, &st) && S_ISREG(st.st_mode) && !access(path, X_OK);
}

/* As execvp: the first executable file wins; one that may not be executed is remembered for the message. */
static int search(const char *name, char out[PATH_MAX])
{
    const char *list = getenv("PATH");
    bool refused = false;
    char path[PATH_MAX];
    if (!list)
        list = "/bin:/usr/bin";
    for (;;) {
        int length = (int)strcspn(list, ":");
        int n = snprintf(path, sizeof(path), "%.*s%s%s", length, list, length ? "/" : "", name);
        if (n < (int)sizeof(path) && is_executable_file(path)) {
            strcpy(out, path);
            return 0;
        }
        refused |= n < (int)sizeof(path) && !access(path, F_OK);
        if (!list[length])
            break;
        list += length + 1;
    }
    run_say("%s: %s in PATH", name, refused ? "only found without permission to execute it" : "not found");
    return refused ? RUN_CANNOT_EXECUTE : RUN_NOT_FOUND;
}

static int locate(const char *name, bool only_look, char out[PATH_MAX])
{
    if (!*name || strlen(name) >= PATH_MAX) {
        run_say("'%.60s' is no program's name", name);
        return RUN_NOT_FOUND;
    }
    if (!strchr(name, '/'))
        return search(name, out);
    if (access(name, F_OK)) {
        run_say("%s: %s", name, strerror(errno));
        return errno == ENOENT || errno == ENOTDIR ? RUN_NOT_FOUND : RUN_CANNOT_EXECUTE;
    }
    if (!is_executable_file(name) && !(only_look && !access(name, R_OK))) {
        run_say("%s: not an executable file", name);
        return RUN_CANNOT_EXECUTE;
    }
    strcpy(out, name);
    return 0;
}

/* ---- looking ---------------------------------------------------------------------------------------------------- */

/* The kernel sets AT_SECURE for such a file, and the loader then drops what we have put into the environment. */
static bool changes_privileges(int fd)
{
    struct stat st;
    if (fstat(fd, &st))
        return false;
    if ((st.st_mode & S_ISUID) && st.st_uid != getuid())
        return true;
    if ((st.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) && st.st_gid != getgid())
        return true;
    return getuid() != 0 && fgetxattr(fd, "security.capability", NULL, 0) > 0;
}

static enum run_kind kind_of_elf(Elf *elf, bool *rpath)
{
    GElf_Ehdr header;
    struct elf_dynamic dynamic;
    if (gelf_getclass(elf) != ELFCLASS64)
        return RUN_OTHER_CLASS;
    if (!gelf_getehdr(elf, &header))
        return RUN_UNKNOWN;
    if (header.e_machine != OUR_MACHINE)
        return RUN_OTHER_MACHINE;
    elf_dynamic_read(elf, &dynamic);
    *rpath = dynamic.rpath && !dynamic.runpath;
    return dynamic.interpreter ? RUN_DYNAMIC : dynamic.dynamic && !dynamic.pie ? RUN_LIBRARY : RUN_STATIC;
}

/* "#!INTERPRETER [ARGUMENT]" */
static bool is_script(int fd, char interpreter[PATH_MAX])
{
    char line[PATH_MAX];
    ssize_t n = pread(fd, line, sizeof(line) - 1, 0);
    if (n < 3 || line[0] != '#' || line[1] != '!')
        return false;
    line[n] = '\0';
    line[strcspn(line, "\n")] = '\0';
    const char *from = line + 2 + strspn(line + 2, " \t");
    int length = (int)strcspn(from, " \t");
    snprintf(interpreter, PATH_MAX, "%.*s", length, from);
    return length > 0;
}

static enum run_kind look(const char *path, char *interpreter, bool *rpath)
{
    enum run_kind kind = RUN_UNKNOWN;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return RUN_UNKNOWN; /* may be executed, may not be read: no way to tell */
    Elf *elf = elf_file_begin(fd);
    if (elf)
        kind = kind_of_elf(elf, rpath);
    else if (interpreter && is_script(fd, interpreter))
        kind = look(interpreter, NULL, rpath);
    if (changes_privileges(fd) && (kind == RUN_DYNAMIC || kind == RUN_STATIC) && !(interpreter && *interpreter))
        kind = RUN_SETUID; /* the kernel ignores the bit on scripts */
    elf_file_end(elf);
    close(fd);
    return kind;
}

int run_target_find(const char *name, bool only_look, struct run_target *out)
{
    *out = (struct run_target){.kind = RUN_UNKNOWN};
    int rc = locate(name, only_look, out->path);
    if (rc)
        return rc;
    out->kind = look(out->path, out->interpreter, &out->rpath);
    return 0;
}

const char *run_kind_says(enum run_kind kind)
{
    switch (kind) {
    case RUN_STATIC:
        return "is statically linked: no library can be put under it; dynamic programs that it starts get softnic";
    case RUN_SETUID:
        return "changes its privileges (setuid, setgid or capabilities): the loader ignores LD_LIBRARY_PATH and "
               "LD_PRELOAD, so it runs without softnic";
    case RUN_OTHER_CLASS:
        return "is a 32-bit program: softnic's libraries are 64-bit, so it runs without them";
    case RUN_OTHER_MACHINE:
        return "is for another machine: softnic's libraries do not fit";
    default:
        return NULL;
    }
}
