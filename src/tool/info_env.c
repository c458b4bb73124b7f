/* SPDX-License-Identifier: Apache-2.0 */
/* Environment variables: the tables of the library, of softnic and of the executor, and what the tool itself sets. */
#include <dlfcn.h>
#include <stdlib.h>

#include <gdaki/info.h>
#include <gdaki/softnic.h>

#include "info.h"

static void add(json_t *list, const char *name, const char *default_value, const char *help)
{
    const char *value = getenv(name);
    json_t *object = json_pack("{s:s, s:s, s:s}", "name", name, "default", default_value ? default_value : "", "help",
                               help ? help : "");

    if (object && value)
        json_object_set_new(object, "value", json_string(value));
    json_array_append_new(list, object);
}

/* softnic's and the executor's tables have one layout; their libraries need not be linked. */
static void add_table(json_t *list, const char *const *libraries, const char *symbol)
{
    const struct softnic_env *(*table)(size_t *count) = NULL;
    size_t count = 0;
    const struct softnic_env *entries;

    for (; *libraries && !table; libraries++) {
        void *library = dlopen(*libraries, RTLD_NOW | RTLD_LOCAL);

        if (library)
            table = (const struct softnic_env *(*)(size_t *))dlsym(library, symbol);
    }
    if (!table)
        return;
    entries = table(&count);
    for (size_t i = 0; i < count; i++)
        add(list, entries[i].name, entries[i].default_value, entries[i].help);
}

json_t *info_environment(void)
{
    static const char *const softnic[] = {"libsoftnic.so.3", "libsoftnic.so", NULL};
    static const char *const executor[] = {"libgdaki_cpu.so.3", "libgdaki_cpu.so", NULL};
    json_t *list = json_array();

    for (size_t i = 0; i < gdaki_env_count(); i++) {
        const struct gdaki_env_entry *e = gdaki_env_at(i);

        add(list, e->name, e->default_value, e->help);
    }
    add_table(list, softnic, "softnic_env_table");
    add_table(list, executor, "gdaki_cpu_env_table");
    add(list, "CUDA_MODULE_LOADING", "EAGER (set by gdaki)",
        "CUDA's own: every kernel is loaded with the context, so that none waits behind one that runs");
    return list;
}
