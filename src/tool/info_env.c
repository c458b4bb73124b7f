/* SPDX-License-Identifier: Apache-2.0 */
/* Environment variables: the tables of the library, of softnic and of the executor, and what the tool itself sets. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include <gdaki/info.h>
#include <gdaki/softnic.h>

#include "cpu/gdaki_cpu.h"

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

static void add_softnic(json_t *list)
{
    struct gdaki_choice nic;
    const struct softnic_env *entries;
    size_t count = 0;

    gdaki_nic_describe(&nic); /* loads the library if it is the NIC in use, from wherever it is found */
    if (strcmp(nic.name, "softnic"))
        (void)dlopen("libsoftnic.so.1", RTLD_NOW | RTLD_LOCAL); /* for the table alone; stays */
    const struct softnic_env *(*table)(size_t *count) =
        (const struct softnic_env *(*)(size_t *))info_softnic_symbol("softnic_env_table");
    if (!table)
        return;
    entries = table(&count);
    for (size_t i = 0; i < count; i++)
        add(list, entries[i].name, entries[i].default_value, entries[i].help);
}

static void add_executor(json_t *list)
{
    const struct gdaki_cpu_env *entries;
    size_t count = 0;

    entries = gdaki_cpu_env_table(&count);
    for (size_t i = 0; i < count; i++)
        add(list, entries[i].name, entries[i].default_value, entries[i].help);
}

json_t *info_environment(void)
{
    json_t *list = json_array();

    for (size_t i = 0; i < gdaki_env_count(); i++) {
        const struct gdaki_env_entry *e = gdaki_env_at(i);

        add(list, e->name, e->default_value, e->help);
    }
    add_softnic(list);
    add_executor(list);
    add(list, "CUDA_MODULE_LOADING", "EAGER (set by gdaki)",
        "CUDA's own: every kernel is loaded with the context, so that none waits behind one that runs");
    add(list, "CUDA_DEVICE_MAX_CONNECTIONS", "32 (set by gdaki)",
        "CUDA's own: hardware channels for streams; with too few a copy can wait behind a kernel that waits for it");
    return list;
}
