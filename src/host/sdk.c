/* SPDX-License-Identifier: Apache-2.0 */
/* Finds and opens the DOCA SDK. */
#include "host/sdk.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "gdaki/info.h"
#include "host/env.h"

struct sdk_gpu sdk_gpu_table;
struct sdk_dev sdk_dev_table;
struct sdk_umem sdk_umem_table;
struct sdk_uar sdk_uar_table;
struct sdk_cq sdk_cq_table;
struct sdk_qp sdk_qp_table;

enum library { COMMON, VERBS, GPUNETIO, LIBRARIES };
enum symbol_flag { USED, UNUSED, OPTIONAL };

static const char *const file_names[LIBRARIES] = {"libdoca_common.so", "libdoca_verbs.so", "libdoca_gpunetio.so"};

struct symbol {
    const char *name;
    size_t offset; /* of the pointer in the unit's table */
    enum library library;
    enum symbol_flag flag;
};

struct open_step {
    enum library library;
    int scope; /* RTLD_GLOBAL or RTLD_LOCAL */
};

struct unit {
    const char *name;
    void *table;
    const struct symbol *symbols;
    size_t symbol_count;
    struct open_step steps[3];
    size_t step_count;
    pthread_once_t once;
    bool in_use;
    char why[600];
};

#define ROW(type, library, flag, function) {#function, offsetof(struct type, function), library, flag},
#define GPU_ROW(library, flag, ret, function, params)  ROW(sdk_gpu, library, flag, function)
#define DEV_ROW(library, flag, ret, function, params)  ROW(sdk_dev, library, flag, function)
#define UMEM_ROW(library, flag, ret, function, params) ROW(sdk_umem, library, flag, function)
#define UAR_ROW(library, flag, ret, function, params)  ROW(sdk_uar, library, flag, function)
#define CQ_ROW(library, flag, ret, function, params)   ROW(sdk_cq, library, flag, function)
#define QP_ROW(library, flag, ret, function, params)   ROW(sdk_qp, library, flag, function)

static const struct symbol gpu_symbols[] = {GDAKI_SDK_GPU(GPU_ROW)};
static const struct symbol dev_symbols[] = {GDAKI_SDK_DEV(DEV_ROW)};
static const struct symbol umem_symbols[] = {GDAKI_SDK_UMEM(UMEM_ROW)};
static const struct symbol uar_symbols[] = {GDAKI_SDK_UAR(UAR_ROW)};
static const struct symbol cq_symbols[] = {GDAKI_SDK_CQ(CQ_ROW)};
static const struct symbol qp_symbols[] = {GDAKI_SDK_QP(QP_ROW)};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define UNIT(id, n, ...)                                                                                               \
    {                                                                                                                  \
        .name = #id, .table = &sdk_##id##_table, .symbols = id##_symbols, .symbol_count = COUNT(id##_symbols),         \
        .steps = {__VA_ARGS__}, .step_count = n, .once = PTHREAD_ONCE_INIT                                             \
    }

enum unit_index { UNIT_GPU, UNIT_DEV, UNIT_UMEM, UNIT_UAR, UNIT_CQ, UNIT_QP, UNITS };

static struct unit units[UNITS] = {
    [UNIT_GPU] = UNIT(gpu, 3, {COMMON, RTLD_GLOBAL}, {VERBS, RTLD_GLOBAL}, {GPUNETIO, RTLD_LOCAL}),
    [UNIT_DEV] = UNIT(dev, 2, {COMMON, RTLD_GLOBAL}, {VERBS, RTLD_LOCAL}),
    [UNIT_UMEM] = UNIT(umem, 2, {GPUNETIO, RTLD_GLOBAL}, {COMMON, RTLD_GLOBAL}),
    [UNIT_UAR] = UNIT(uar, 1, {COMMON, RTLD_GLOBAL}),
    [UNIT_CQ] = UNIT(cq, 2, {COMMON, RTLD_GLOBAL}, {VERBS, RTLD_LOCAL}),
    [UNIT_QP] = UNIT(qp, 2, {COMMON, RTLD_GLOBAL}, {VERBS, RTLD_LOCAL}),
};

static const char *sdk_folder(void)
{
    const char *folder = env_get("DOCA_SDK_LIB_PATH");

    return folder != NULL && folder[0] != '\0' ? folder : NULL;
}

/*
 * The SDK's libraries call doca_* functions across each other, and ours has the same names in the global scope, ahead
 * of theirs: DEEPBIND makes each look in its own dependencies first. The sanitizers' dlopen refuses the flag.
 */
static int deepbind(void)
{
    static const char *const sanitizers[] = {"__asan_init", "__tsan_init", "__msan_init"};

    for (size_t i = 0; i < sizeof(sanitizers) / sizeof(sanitizers[0]); i++) {
        if (dlsym(RTLD_DEFAULT, sanitizers[i]) != NULL)
            return 0;
    }
    return RTLD_DEEPBIND;
}

/* Our libdoca_gpunetio.so carries the SDK's name; a folder that holds it must not make us call ourselves. */
static bool is_our_own_file(const char *path)
{
    struct stat candidate, ours;
    Dl_info info;

    if (dladdr((void *)(uintptr_t)&gdaki_sdk_describe, &info) == 0 || info.dli_fname == NULL)
        return false;
    return stat(path, &candidate) == 0 && stat(info.dli_fname, &ours) == 0 && candidate.st_dev == ours.st_dev &&
           candidate.st_ino == ours.st_ino;
}

static void *open_library(struct unit *u, const char *folder, enum library library, int scope)
{
    char path[PATH_MAX];
    void *lib;

    if (snprintf(path, sizeof(path), "%s/%s", folder, file_names[library]) >= 2048) {
        snprintf(u->why, sizeof(u->why), "DOCA_SDK_LIB_PATH is longer than 2047 characters with the file name");
        return NULL;
    }
    if (is_our_own_file(path)) {
        snprintf(u->why, sizeof(u->why), "%.500s is this library itself", path);
        return NULL;
    }
    lib = dlopen(path, RTLD_NOW | scope | deepbind());
    if (lib == NULL) {
        snprintf(u->why, sizeof(u->why), "%.590s", dlerror());
        return NULL;
    }
    if (dlsym(lib, "gdaki_sdk_describe") != NULL) { /* a copy of us under another inode */
        snprintf(u->why, sizeof(u->why), "%.500s is a copy of this library", path);
        dlclose(lib);
        return NULL;
    }
    return lib;
}

static bool resolve(struct unit *u, void *const libraries[LIBRARIES])
{
    for (size_t i = 0; i < u->symbol_count; i++) {
        const struct symbol *s = &u->symbols[i];
        void *found = dlsym(libraries[s->library], s->name);

        if (found == NULL && s->flag != OPTIONAL) {
            snprintf(u->why, sizeof(u->why), "%s lacks %s", file_names[s->library], s->name);
            return false;
        }
        if (found == NULL)
            HOST_LOG(LOG_WARNING, "the DOCA SDK's %s lacks %s", file_names[s->library], s->name);
        memcpy((char *)u->table + s->offset, &found, sizeof(found));
    }
    return true;
}

static void load_unit(struct unit *u)
{
    void *libraries[LIBRARIES] = {NULL};
    const char *folder = sdk_folder();
    size_t opened = 0;

    if (folder == NULL) {
        snprintf(u->why, sizeof(u->why), "DOCA_SDK_LIB_PATH was unset while the unit was loaded");
        return;
    }
    for (; opened < u->step_count; opened++) {
        void *lib = open_library(u, folder, u->steps[opened].library, u->steps[opened].scope);

        if (lib == NULL)
            goto close;
        libraries[u->steps[opened].library] = lib;
    }
    if (!resolve(u, libraries))
        goto close;
    u->in_use = true;
    snprintf(u->why, sizeof(u->why), "%.590s", folder);
    HOST_LOG(LOG_INFO, "DOCA SDK unit %s: from %s", u->name, folder);
    return;
close:
    while (opened-- > 0)
        dlclose(libraries[u->steps[opened].library]);
    HOST_LOG(LOG_WARNING, "DOCA SDK unit %s is not usable, our own is used: %s", u->name, u->why);
}

#define LOADER(index, id)                                                                                              \
    static void load_##id(void)                                                                                        \
    {                                                                                                                  \
        load_unit(&units[index]);                                                                                      \
    }                                                                                                                  \
    const struct sdk_##id *sdk_##id(void)                                                                              \
    {                                                                                                                  \
        if (sdk_folder() == NULL)                                                                                      \
            return NULL;                                                                                               \
        pthread_once(&units[index].once, load_##id);                                                                   \
        return units[index].in_use ? &sdk_##id##_table : NULL;                                                         \
    }

LOADER(UNIT_GPU, gpu)
LOADER(UNIT_DEV, dev)
LOADER(UNIT_UMEM, umem)
LOADER(UNIT_UAR, uar)
LOADER(UNIT_CQ, cq)
LOADER(UNIT_QP, qp)

doca_error_t sdk_result(doca_error_t code, const char *function)
{
    if (code == DOCA_SUCCESS)
        return DOCA_SUCCESS;
    return HOST_ERR(DOCA_ERROR_UNEXPECTED, "the DOCA SDK's %s failed: %s (%d)", function, host_error_name(code), (int)code);
}

doca_error_t sdk_create_result(doca_error_t code, const char *function)
{
    if (code == DOCA_SUCCESS)
        return DOCA_SUCCESS;
    return HOST_ERR(DOCA_ERROR_INITIALIZATION,
                    "the DOCA SDK's %s failed: %s (%d); there is no fallback while DOCA_SDK_LIB_PATH is set", function,
                    host_error_name(code), (int)code);
}

doca_error_t sdk_device_pd(const doca_dev_t *net_dev, struct ibv_pd **pd)
{
    const struct sdk_qp *qp = sdk_qp();
    const struct sdk_cq *cq = qp == NULL ? sdk_cq() : NULL;
    doca_error_t code;

    if (qp == NULL && cq == NULL)
        return HOST_ERR(DOCA_ERROR_NOT_SUPPORTED, "device %p is the DOCA SDK's, but the SDK has no queues", (void *)net_dev);
    code = qp != NULL ? qp->doca_rdma_bridge_get_dev_pd(net_dev->sdk, pd) : cq->doca_rdma_bridge_get_dev_pd(net_dev->sdk, pd);
    return sdk_create_result(code, "doca_rdma_bridge_get_dev_pd");
}

doca_error_t sdk_device_context(const doca_dev_t *net_dev, void **verbs_context)
{
    const struct sdk_qp *qp = sdk_qp();
    struct ibv_pd *pd = NULL;
    doca_error_t err = sdk_device_pd(net_dev, &pd);

    if (err != DOCA_SUCCESS)
        return err;
    if (pd == NULL)
        return HOST_ERR(DOCA_ERROR_INITIALIZATION, "the DOCA SDK's device %p has no protection domain", (void *)net_dev);
    err = qp != NULL ? qp->doca_verbs_bridge_verbs_context_import(pd->context, 0, verbs_context)
                     : sdk_cq()->doca_verbs_bridge_verbs_context_import(pd->context, 0, verbs_context);
    return sdk_create_result(err, "doca_verbs_bridge_verbs_context_import");
}

size_t gdaki_sdk_describe(struct gdaki_sdk_unit *out, size_t max)
{
    const bool wanted = sdk_folder() != NULL;

    if (wanted) {
        sdk_gpu();
        sdk_dev();
        sdk_umem();
        sdk_uar();
        sdk_cq();
        sdk_qp();
    }
    for (size_t i = 0; i < UNITS && i < max; i++) {
        out[i].name = units[i].name;
        out[i].in_use = wanted && units[i].in_use;
        out[i].why = wanted ? units[i].why : "DOCA_SDK_LIB_PATH is not set";
    }
    return UNITS;
}
