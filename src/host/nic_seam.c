/* SPDX-License-Identifier: Apache-2.0 */
/* Fills and chooses the NIC tables. */
#include "host/nic_seam.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "gdaki/info.h"
#include "host/dmabuf_notes.h"
#include "host/env.h"
#include "host/log.h"

struct backend {
    pthread_once_t once;
    bool usable;
    char why[512];
    struct gdaki_nic_ops ops;
};

static struct backend rdma_core = {.once = PTHREAD_ONCE_INIT};
static struct backend softnic = {.once = PTHREAD_ONCE_INIT};
static atomic_bool softnic_ready; /* `softnic` is filled */
static const struct gdaki_nic_ops *test_ops;

/* ---- resolving --------------------------------------------------------------------------------------------------- */

struct wanted {
    const char *symbol;
    size_t offset; /* of the pointer in struct gdaki_nic_ops */
    bool required;
};

static const struct wanted ibv_wanted[] = {
#define X(symbol) {#symbol, offsetof(struct gdaki_nic_ops, symbol), true},
    GDAKI_IBV_REQUIRED(X)
#undef X
#define X(symbol) {#symbol, offsetof(struct gdaki_nic_ops, symbol), false},
    GDAKI_IBV_OPTIONAL(X)
#undef X
};

static const struct wanted mlx5dv_wanted[] = {
#define X(symbol) {#symbol, offsetof(struct gdaki_nic_ops, symbol), true},
    GDAKI_MLX5DV_REQUIRED(X)
#undef X
#define X(symbol) {#symbol, offsetof(struct gdaki_nic_ops, symbol), false},
    GDAKI_MLX5DV_OPTIONAL(X)
#undef X
};

static bool resolve(struct backend *b, void *lib, const char *prefix, const struct wanted *wanted, size_t count)
{
    char symbol[96];

    for (size_t i = 0; i < count; i++) {
        void *found;

        snprintf(symbol, sizeof(symbol), "%s%s", prefix, wanted[i].symbol);
        found = dlsym(lib, symbol);
        memcpy((char *)&b->ops + wanted[i].offset, &found, sizeof(found));
        if (found == NULL && wanted[i].required) {
            snprintf(b->why, sizeof(b->why), "%s is missing from %s", symbol, b->ops.name);
            return false;
        }
    }
    return true;
}

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- rdma-core ---------------------------------------------------------------------------------------------------- */

static void *open_first(const char *const *names, size_t count, char *why, size_t why_size)
{
    for (size_t i = 0; i < count; i++) {
        void *lib = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);

        if (lib != NULL)
            return lib;
        if (i == 0)
            snprintf(why, why_size, "%s", dlerror());
    }
    return NULL;
}

static void load_rdma_core(void)
{
    static const char *const verbs_names[] = {"libibverbs.so.1", "libibverbs.so"};
    static const char *const mlx5_names[] = {"libmlx5.so.1", "libmlx5.so"};
    struct backend *b = &rdma_core;
    void *verbs, *mlx5;

    b->ops.name = "rdma-core";
    b->ops.kind = GDAKI_NIC_RDMA_CORE;
    verbs = open_first(verbs_names, COUNT(verbs_names), b->why, sizeof(b->why));
    if (verbs == NULL)
        return;
    mlx5 = open_first(mlx5_names, COUNT(mlx5_names), b->why, sizeof(b->why));
    if (mlx5 == NULL)
        goto close_verbs;
    if (!resolve(b, verbs, "", ibv_wanted, COUNT(ibv_wanted)) ||
        !resolve(b, mlx5, "", mlx5dv_wanted, COUNT(mlx5dv_wanted)))
        goto close_mlx5;
    b->usable = true;
    return;
close_mlx5:
    dlclose(mlx5);
close_verbs:
    dlclose(verbs);
}

/* True when rdma-core lists a device that the mlx5 provider drives. */
static bool rdma_core_lists_mlx5(char *why, size_t why_size)
{
    const struct gdaki_nic_ops *ops = &rdma_core.ops;
    struct ibv_device **list;
    int count = 0, mlx5 = 0;

    list = ops->ibv_get_device_list(&count);
    for (int i = 0; list != NULL && i < count; i++) {
        const char *name = ops->ibv_get_device_name(list[i]);

        if (ops->mlx5dv_is_supported != NULL ? ops->mlx5dv_is_supported(list[i])
                                             : name != NULL && strncmp(name, "mlx5", 4) == 0)
            mlx5++;
    }
    if (list != NULL)
        ops->ibv_free_device_list(list);
    if (mlx5 == 0)
        snprintf(why, why_size, "rdma-core lists %d device(s), none of them mlx5", count);
    return mlx5 > 0;
}

/* ---- softnic ------------------------------------------------------------------------------------------------------ */

static const char *const softnic_names[] = {"libsoftnic.so.3", "libsoftnic.so.1", "libsoftnic.so.0", "libsoftnic.so"};

/* Handle of a copy that is in the process already (the program's own, or the drop-in's), so that there is one NIC. */
static void *softnic_loaded_handle(void)
{
    for (size_t i = 0; i < COUNT(softnic_names); i++) {
        void *lib = dlopen(softnic_names[i], RTLD_NOW | RTLD_NOLOAD);

        if (lib != NULL)
            return lib;
    }
    return NULL;
}

static void *open_in_folder(const char *folder)
{
    char path[PATH_MAX];

    for (size_t i = 0; i < COUNT(softnic_names); i++) {
        void *lib;

        if (snprintf(path, sizeof(path), "%s/%s", folder, softnic_names[i]) >= (int)sizeof(path))
            return NULL;
        lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (lib != NULL)
            return lib;
    }
    return NULL;
}

static void *open_beside_ourselves(void)
{
    char folder[PATH_MAX];
    Dl_info info;
    char *slash;
    void *lib;

    if (dladdr((void *)(uintptr_t)&gdaki_nic_describe, &info) == 0 || info.dli_fname == NULL)
        return NULL;
    snprintf(folder, sizeof(folder), "%s", info.dli_fname);
    slash = strrchr(folder, '/');
    if (slash == NULL)
        return NULL;
    *slash = '\0';
    lib = open_in_folder(folder);
    if (lib != NULL)
        return lib;
    /* The build tree's layout: our run path names it too, but a sanitizer's dlopen does not look there. */
    strncat(folder, "/../softnic", sizeof(folder) - strlen(folder) - 1);
    return open_in_folder(folder);
}

static void *open_softnic(char *why, size_t why_size)
{
    const char *given = env_get("GDAKI_SOFTNIC_PATH");
    struct stat st;
    void *lib = softnic_loaded_handle();

    if (lib != NULL)
        return lib;
    if (given != NULL && given[0] != '\0') {
        lib = stat(given, &st) == 0 && S_ISDIR(st.st_mode) ? open_in_folder(given) : dlopen(given, RTLD_NOW | RTLD_LOCAL);
        if (lib == NULL) {
            const char *reason = dlerror();

            snprintf(why, why_size, "GDAKI_SOFTNIC_PATH=\"%s\": %s", given, reason != NULL ? reason : "no libsoftnic there");
        }
        return lib;
    }
    lib = open_first(softnic_names, COUNT(softnic_names), why, why_size);
    return lib != NULL ? lib : open_beside_ourselves();
}

static const struct wanted extras_wanted[] = {
#define X(symbol) {#symbol, offsetof(struct gdaki_nic_ops, symbol), true},
    GDAKI_SOFTNIC_EXTRAS(X)
#undef X
};

static void fill_softnic(void *lib)
{
    struct backend *b = &softnic;

    b->usable = resolve(b, lib, "softnic_", ibv_wanted, COUNT(ibv_wanted)) &&
                resolve(b, lib, "softnic_", mlx5dv_wanted, COUNT(mlx5dv_wanted)) &&
                resolve(b, lib, "softnic_", extras_wanted, COUNT(extras_wanted));
}

static void load_softnic(void)
{
    struct backend *b = &softnic;
    void *lib;

    b->ops.name = "softnic";
    b->ops.kind = GDAKI_NIC_SOFTNIC;
    lib = open_softnic(b->why, sizeof(b->why));
    if (lib != NULL)
        fill_softnic(lib);
    if (b->usable)
        dmabuf_notes_hand_over(&b->ops);
    atomic_store_explicit(&softnic_ready, b->usable, memory_order_release);
}

static struct backend *use(struct backend *b, void (*load)(void))
{
    pthread_once(&b->once, load);
    return b;
}

/* ---- choosing ----------------------------------------------------------------------------------------------------- */

static pthread_once_t current_once = PTHREAD_ONCE_INIT;
static const struct gdaki_nic_ops *current;
static char current_why[2048];

static void choose_auto(void)
{
    char listed[128] = "";
    struct backend *real = use(&rdma_core, load_rdma_core);
    struct backend *soft;

    if (real->usable && rdma_core_lists_mlx5(listed, sizeof(listed))) {
        current = &real->ops;
        return;
    }
    soft = use(&softnic, load_softnic);
    if (soft->usable)
        current = &soft->ops;
    snprintf(current_why, sizeof(current_why), "%s%s%s", real->usable ? listed : real->why, soft->usable ? "" : "; softnic: ",
             soft->usable ? "" : soft->why);
}

static void choose_named(struct backend *b)
{
    if (b->usable)
        current = &b->ops;
    else
        snprintf(current_why, sizeof(current_why), "%s was asked for: %s", b->ops.name, b->why);
}

static void choose(void)
{
    const char *name = env_get("GDAKI_NIC");

    if (name == NULL || name[0] == '\0' || strcmp(name, "auto") == 0)
        choose_auto();
    else if (strcmp(name, "rdma-core") == 0)
        choose_named(use(&rdma_core, load_rdma_core));
    else if (strcmp(name, "softnic") == 0)
        choose_named(use(&softnic, load_softnic));
    else
        snprintf(current_why, sizeof(current_why), "GDAKI_NIC=\"%s\": not one of auto, rdma-core, softnic", name);
    if (current == NULL)
        HOST_LOG(LOG_ERR, "no NIC backend: %s", current_why);
    else
        HOST_LOG(LOG_INFO, "NIC backend %s%s%s", current->name, current_why[0] != '\0' ? ", because " : "", current_why);
}

const struct gdaki_nic_ops *nic_current(const char **why)
{
    if (test_ops != NULL) {
        if (why != NULL)
            *why = "a test's table";
        return test_ops;
    }
    pthread_once(&current_once, choose);
    if (why != NULL)
        *why = current_why;
    return current;
}

const struct gdaki_nic_ops *nic_softnic_if_loaded(void)
{
    void *lib;

    if (test_ops != NULL)
        return test_ops;
    if (atomic_load_explicit(&softnic_ready, memory_order_acquire))
        return &softnic.ops;
    lib = softnic_loaded_handle();
    if (lib == NULL)
        return NULL;
    dlclose(lib); /* only the reference: `use` takes one of its own */
    return use(&softnic, load_softnic)->usable ? &softnic.ops : NULL;
}

const struct gdaki_nic_ops *nic_of_context(const struct ibv_context *context)
{
    const struct gdaki_nic_ops *soft;

    if (test_ops != NULL)
        return test_ops;
    soft = nic_softnic_if_loaded();
    if (soft != NULL && soft->owns_context(context))
        return soft;
    return use(&rdma_core, load_rdma_core)->usable ? &rdma_core.ops : NULL;
}

const char *nic_reason(const struct gdaki_nic_ops *ops)
{
    static _Thread_local char text[256];
    const char *last = ops != NULL && ops->last_error != NULL ? ops->last_error() : "";

    text[0] = '\0';
    if (last != NULL && last[0] != '\0')
        snprintf(text, sizeof(text), ": %s", last);
    return text;
}

void nic_test_override(const struct gdaki_nic_ops *ops)
{
    test_ops = ops;
}

void gdaki_nic_describe(struct gdaki_choice *out)
{
    const char *why = "";
    const struct gdaki_nic_ops *ops = nic_current(&why);

    *out = (struct gdaki_choice){.name = ops != NULL ? ops->name : "none", .why = why};
}
