/* SPDX-License-Identifier: Apache-2.0 */
#include "host/env.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "gdaki/info.h"

static const struct gdaki_env_entry table[] = {
    {"GDAKI_NIC", "auto", "NIC behind the verbs calls: auto (rdma-core if it lists an mlx5 device, else softnic), rdma-core, softnic"},
    {"GDAKI_GPU", "auto", "GPU: auto (cuda if its driver lists a device, else cpu), cuda, cpu"},
    {"GDAKI_QUEUE_MEM", "auto", "memory of rings and records made by the library: auto (what the NIC reaches), gpu, host"},
    {"GDAKI_SOFTNIC_PATH", "", "file or folder of libsoftnic.so; empty: loader's path, then beside this library"},
    {"GDAKI_PROXY_SPIN_US", "50", "how long an idle CPU-proxy service thread keeps looking before it starts to sleep, microseconds"},
    {"GDAKI_PROXY_SLEEP_US", "100", "longest sleep of an idle CPU-proxy service thread, microseconds"},
    {"GDAKI_DISABLE_GDRCOPY", "", "non-zero: do not look for GDRCopy"},
    {"DOCA_GPUNETIO_DISABLE_GDRCOPY", "", "the same under the original's name"},
    {"DOCA_GPUNETIO_LOG", "0", "messages up to this syslog level (0..8) go to stderr; 3 shows errors, 6 choices made, 7 all"},
    {"DOCA_SDK_LIB_PATH", "", "folder of the DOCA SDK's libraries; empty: the SDK is not used"},
};

size_t gdaki_env_count(void)
{
    return sizeof(table) / sizeof(table[0]);
}

const struct gdaki_env_entry *gdaki_env_at(size_t index)
{
    return index < gdaki_env_count() ? &table[index] : NULL;
}

static bool is_listed(const char *name)
{
    for (size_t i = 0; i < gdaki_env_count(); i++) {
        if (strcmp(table[i].name, name) == 0)
            return true;
    }
    return false;
}

const char *env_get(const char *name)
{
    assert(is_listed(name));
    (void)is_listed;
    return getenv(name);
}

bool env_flag(const char *name)
{
    const char *text = env_get(name);

    return text != NULL && strtol(text, NULL, 10) != 0;
}
