/* SPDX-License-Identifier: Apache-2.0 */
/* GDRCopy by dlopen: CPU mappings of GPU memory. */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "gdaki/info.h"
#include "host/env.h"
#include "host/gpu_mem.h"

/* The library's ABI, as its public header has it. */
typedef struct gdr_opaque *gdr_t;
typedef struct gdr_handle {
    unsigned long h;
} gdr_mh_t;

static struct {
    gdr_t (*open)(void);
    int (*close)(gdr_t gdr);
    int (*pin_buffer)(gdr_t gdr, unsigned long addr, size_t size, uint64_t token, uint32_t va_space, gdr_mh_t *handle);
    int (*unpin_buffer)(gdr_t gdr, gdr_mh_t handle);
    int (*map)(gdr_t gdr, gdr_mh_t handle, void **va, size_t size);
    int (*unmap)(gdr_t gdr, gdr_mh_t handle, void *va, size_t size);
} gdr;

static pthread_once_t open_once = PTHREAD_ONCE_INIT;
static gdr_t driver;
static char open_why[256];

struct gdr_mapping {
    gdr_mh_t handle;
    void *va;
    size_t size;
};

static bool resolve(void *lib)
{
    const struct {
        void **slot;
        const char *symbol;
    } wanted[] = {
        {(void **)&gdr.open, "gdr_open"},           {(void **)&gdr.close, "gdr_close"},
        {(void **)&gdr.pin_buffer, "gdr_pin_buffer"}, {(void **)&gdr.unpin_buffer, "gdr_unpin_buffer"},
        {(void **)&gdr.map, "gdr_map"},             {(void **)&gdr.unmap, "gdr_unmap"},
    };

    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        *wanted[i].slot = dlsym(lib, wanted[i].symbol);
        if (*wanted[i].slot == NULL) {
            snprintf(open_why, sizeof(open_why), "libgdrapi lacks %s", wanted[i].symbol);
            return false;
        }
    }
    return true;
}

static void open_gdrcopy(void)
{
    void *lib;

    if (env_flag("DOCA_GPUNETIO_DISABLE_GDRCOPY") || env_flag("GDAKI_DISABLE_GDRCOPY")) {
        snprintf(open_why, sizeof(open_why), "disabled by the environment");
        return;
    }
    lib = dlopen("libgdrapi.so.2", RTLD_NOW | RTLD_LOCAL);
    if (lib == NULL) {
        snprintf(open_why, sizeof(open_why), "%s", dlerror());
        return;
    }
    if (!resolve(lib))
        goto close;
    driver = gdr.open();
    if (driver != NULL)
        return;
    snprintf(open_why, sizeof(open_why), "gdr_open failed: is the gdrdrv kernel module loaded?");
close:
    dlclose(lib);
}

bool gdrcopy_available(const char **why)
{
    pthread_once(&open_once, open_gdrcopy);
    if (why != NULL)
        *why = open_why;
    return driver != NULL;
}

int gdrcopy_map(void *device, size_t size, void **cpu, void **mapping)
{
    struct gdr_mapping *m;

    if (!gdrcopy_available(NULL))
        return -ENOSYS;
    m = calloc(1, sizeof(*m));
    if (m == NULL)
        return -ENOMEM;
    m->size = size;
    if (gdr.pin_buffer(driver, (unsigned long)(uintptr_t)device, size, 0, 0, &m->handle) != 0)
        goto free_mapping;
    if (gdr.map(driver, m->handle, &m->va, size) != 0)
        goto unpin;
    *cpu = m->va;
    *mapping = m;
    return 0;
unpin:
    gdr.unpin_buffer(driver, m->handle);
free_mapping:
    free(m);
    return -EIO;
}

void gdrcopy_unmap(void *mapping)
{
    struct gdr_mapping *m = mapping;

    gdr.unmap(driver, m->handle, m->va, m->size);
    gdr.unpin_buffer(driver, m->handle);
    free(m);
}

void gdaki_gdrcopy_describe(struct gdaki_choice *out)
{
    const char *why = "";
    bool available = gdrcopy_available(&why);

    *out = (struct gdaki_choice){.name = available ? "gdrcopy" : "none", .why = why};
}
