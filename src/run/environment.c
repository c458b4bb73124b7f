/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run.h"

static int set(const char *name, const char *value)
{
    if (!setenv(name, value, 1))
        return 0;
    run_say("cannot set %s: out of memory", name);
    return RUN_FAILED;
}

static int set_if(const char *name, const char *value)
{
    return value ? set(name, value) : 0;
}

static int set_default(const char *name, const char *value)
{
    const char *now = getenv(name);
    return now && *now ? 0 : set(name, value);
}

/* The loader splits LD_PRELOAD and LD_LIBRARY_PATH at these, and there is no quoting. */
static bool has_separator(const char *path, const char *separators)
{
    return path[strcspn(path, separators)] != '\0';
}

/* True if `entry` is among the parts of `list`. */
static bool contains(const char *list, const char *separators, const char *entry)
{
    size_t length = strlen(entry);
    while (*list) {
        size_t part = strcspn(list, separators);
        if (part == length && !strncmp(list, entry, part))
            return true;
        list += part;
        list += strspn(list, separators);
    }
    return false;
}

/* Puts `entry` first unless it is there already. */
static int prepend(const char *name, const char *separators, const char *entry)
{
    const char *now = getenv(name);
    char *text;
    if (has_separator(entry, separators)) {
        run_say("%s cannot go into %s: the loader would split it", entry, name);
        return RUN_FAILED;
    }
    if (!now || !*now)
        return set(name, entry);
    if (contains(now, separators, entry))
        return 0;
    if (asprintf(&text, "%s:%s", entry, now) < 0) {
        run_say("cannot set %s: out of memory", name);
        return RUN_FAILED;
    }
    int rc = set(name, text);
    free(text);
    return rc;
}

/* --pcap FILE means this folder, wherever the program goes. */
static int set_capture(const char *file)
{
    char folder[PATH_MAX], path[2 * PATH_MAX];
    if (!file || *file == '/' || !*file || !getcwd(folder, sizeof(folder)))
        return set_if("SOFTNIC_PCAP", file);
    snprintf(path, sizeof(path), "%s/%s", folder, file);
    return set("SOFTNIC_PCAP", path);
}

/* Wires of frames take their addresses in their own text. */
static int set_addresses(const char *gid, const char *wire)
{
    char text[1024];
    if (!wire)
        wire = getenv("SOFTNIC_WIRE");
    if (!gid || !wire || !*wire || !strcmp(wire, "shm") || !strcmp(wire, "none")) {
        int rc = set_if("SOFTNIC_GID", gid);
        return rc || !wire ? rc : set("SOFTNIC_WIRE", wire);
    }
    if (snprintf(text, sizeof(text), "%s%c%s", wire, strchr(wire, ':') ? ',' : ':', gid) >= (int)sizeof(text)) {
        run_say("--gid %s is too long", gid);
        return RUN_FAILED;
    }
    return set("SOFTNIC_WIRE", text);
}

/* In the loader's order of search: the last that is put in front goes first. */
static int set_preload(const struct run_options *o, const struct run_paths *p)
{
    static const char separators[] = ": ";
    int rc = 0;
    if (o->cuda && *p->cuda && *p->driver)
        rc = (rc = prepend("LD_PRELOAD", separators, p->driver)) ? rc : prepend("LD_PRELOAD", separators, p->cuda);
    if (!rc && o->sysfs && *p->preload)
        rc = prepend("LD_PRELOAD", separators, p->preload);
#ifdef SOFTNIC_SANITIZER_RUNTIME /* of a build with a sanitizer: it insists on being first */
    if (!rc)
        rc = prepend("LD_PRELOAD", separators, SOFTNIC_SANITIZER_RUNTIME);
#endif
    return rc;
}

int run_environment_set(const struct run_options *o, const struct run_paths *p)
{
    int rc;
    if ((rc = set_if("SOFTNIC_DEVICES", o->devices)) || (rc = set_if("SOFTNIC_LINK", o->link)) ||
        (rc = o->names && *o->names ? set("SOFTNIC_NAMES", o->names) : set_default("SOFTNIC_NAMES", "mlx5_")) ||
        (rc = set_addresses(o->gid, o->wire)) || (rc = set_if("SOFTNIC_FAULTS", o->faults)) ||
        (rc = set_if("SOFTNIC_FAULT_SEED", o->fault_seed)) || (rc = set_if("SOFTNIC_SEED", o->seed)) ||
        (rc = set_capture(o->pcap)) || (rc = set_if("SOFTNIC_LOG", o->log)) ||
        (rc = set_if("SOFTNIC_PEERMEM", o->peermem ? "1" : NULL)) ||
        (rc = prepend("LD_LIBRARY_PATH", ":;", p->libraries)))
        return rc;
    return set_preload(o, p);
}
