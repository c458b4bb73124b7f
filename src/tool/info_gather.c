/* SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include <gdaki/info.h>
#include <gdaki/softnic.h>
#include <gdaki/verbs.h>

#include "doca_gpunetio_host.h"
#include "gpu/gpu.h"
#include "info.h"
#include "kernels.h"

/* ---- choices -------------------------------------------------------------------------------------------------------- */

static void add_choice(json_t *choices, const char *key, const char *name, const char *why)
{
    json_object_set_new(choices, key, json_pack("{s:s, s:s}", "name", name ? name : "none", "why", why ? why : ""));
}

void *info_softnic_symbol(const char *symbol)
{
    static const char *const names[] = {"libsoftnic.so", "libsoftnic.so.3", "libsoftnic.so.1", "libsoftnic.so.0"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        void *library = dlopen(names[i], RTLD_NOW | RTLD_NOLOAD);
        void *found = library ? dlsym(library, symbol) : NULL;

        if (library)
            dlclose(library); /* stays loaded: its owner holds it */
        if (found)
            return found;
    }
    return dlsym(RTLD_DEFAULT, symbol);
}

static void add_softnic(json_t *choices)
{
    uint64_t (*worst)(void) = (uint64_t(*)(void))info_softnic_symbol("softnic_worst_wake_ns");
    const char *(*wire)(void) = (const char *(*)(void))info_softnic_symbol("softnic_wire_name");
    const char *(*says)(void) = (const char *(*)(void))info_softnic_symbol("softnic_wire_says");
    char text[96];

    if (worst)
        snprintf(text, sizeof(text), "%.3f ms", (double)worst() / 1e6);
    else
        snprintf(text, sizeof(text), "unknown");
    add_choice(choices, "softnic wake", text,
               "the longest that a doorbell stored by a GPU stays unseen while an idle softnic sleeps; stores by a CPU wake it");
    if (wire)
        add_choice(choices, "softnic wire", wire(), says ? says() : "");
}

static void add_sdk(json_t *choices)
{
    struct gdaki_sdk_unit units[16];
    size_t count = gdaki_sdk_describe(units, 16);
    char key[64];

    for (size_t i = 0; i < count && i < 16; i++) {
        snprintf(key, sizeof(key), "SDK %s", units[i].name);
        add_choice(choices, key, units[i].in_use ? "DOCA SDK" : "own", units[i].why);
    }
}

static void add_kernels(json_t *choices, const char *backend)
{
    char path[512], key[64];
    bool there = kernels_present(backend, path, sizeof(path));

    snprintf(key, sizeof(key), "kernels %s", backend);
    add_choice(choices, key, there ? path : "none", there ? "" : "gdaki perf cannot use this GPU back-end here");
}

json_t *info_choices(void)
{
    json_t *choices = json_object();
    struct gdaki_choice c;
    uint32_t version = 0;
    char text[32];

    doca_gpu_verbs_get_library_version(&version);
    snprintf(text, sizeof(text), "%u.%u.%u", version >> 16, version >> 8 & 0xff, version & 0xff);
    add_choice(choices, "library", text, "");
    gdaki_gpu_describe(&c);
    add_choice(choices, "GPU", c.name, c.why);
    gdaki_nic_describe(&c);
    add_choice(choices, "NIC", c.name, c.why);
    if (c.name && !strcmp(c.name, "softnic"))
        add_softnic(choices);
    gdaki_queue_mem_describe(&c);
    add_choice(choices, "queue memory", c.name, c.why);
    gdaki_gdrcopy_describe(&c);
    add_choice(choices, "GDRCopy", c.name, c.why);
    add_kernels(choices, "cpu");
    add_kernels(choices, "cuda");
    add_sdk(choices);
    return choices;
}

/* ---- GPUs ----------------------------------------------------------------------------------------------------------- */

static json_t *gpu_json(const struct gdaki_gpu_ops *ops, int device)
{
    static const struct {
        const char *name;
        enum gdaki_gpu_attr attr;
    } attrs[] = {{"compute major", GDAKI_GPU_ATTR_COMPUTE_MAJOR},
                 {"compute minor", GDAKI_GPU_ATTR_COMPUTE_MINOR},
                 {"multiprocessors", GDAKI_GPU_ATTR_SM_COUNT},
                 {"DMA-BUF export", GDAKI_GPU_ATTR_DMA_BUF_SUPPORTED},
                 {"RDMA writes ordering", GDAKI_GPU_ATTR_RDMA_WRITES_ORDERING},
                 {"host native atomics", GDAKI_GPU_ATTR_HOST_NATIVE_ATOMIC}};
    char name[96] = "", bus_id[32] = "";
    json_t *object;

    ops->device_name(device, name, sizeof(name));
    ops->device_bus_id(device, bus_id, sizeof(bus_id));
    object = json_pack("{s:s, s:s, s:i, s:s}", "name", name, "backend", ops->name, "index", device, "bus id", bus_id);
    for (size_t i = 0; object && i < sizeof(attrs) / sizeof(attrs[0]); i++) {
        int value = 0;

        if (!ops->device_attr(device, attrs[i].attr, &value))
            json_object_set_new(object, attrs[i].name, json_integer(value));
    }
    return object;
}

json_t *info_gpus(void)
{
    const char *why = NULL;
    const struct gdaki_gpu_ops *ops = gdaki_gpu_select(NULL, &why);
    json_t *list = json_array();
    int count = 0;

    if (!ops || ops->device_count(&count))
        return list;
    for (int i = 0; i < count; i++)
        json_array_append_new(list, gpu_json(ops, i));
    return list;
}

/* ---- NICs ----------------------------------------------------------------------------------------------------------- */

static void add_gids(json_t *object, struct ibv_context *context, int table)
{
    json_t *list = json_array();

    for (int i = 0; i < table && i < 256; i++) {
        static const union ibv_gid zero;
        union ibv_gid gid;
        char text[64];
        size_t used = (size_t)snprintf(text, sizeof(text), "%d:", i);

        if (ibv_query_gid(context, 1, i, &gid) || !memcmp(&gid, &zero, sizeof(gid)))
            continue;
        for (int b = 0; b < 16; b += 2)
            used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%02x%02x", b ? ":" : "", gid.raw[b],
                                     gid.raw[b + 1]);
        json_array_append_new(list, json_string(text));
    }
    json_object_set_new(object, "GIDs", list);
}

static void add_port(json_t *object, struct ibv_context *context)
{
    struct ibv_port_attr port;

    memset(&port, 0, sizeof(port));
    if (ibv_query_port(context, 1, &port))
        return;
    json_object_set_new(object, "link", json_string(port.link_layer == IBV_LINK_LAYER_INFINIBAND ? "InfiniBand"
                                                                                                : "Ethernet"));
    json_object_set_new(object, "state", json_string(port.state == IBV_PORT_ACTIVE ? "active" : "not active"));
    json_object_set_new(object, "MTU", json_integer(128 << port.active_mtu));
    if (port.lid)
        json_object_set_new(object, "LID", json_integer(port.lid));
    add_gids(object, context, port.gid_tbl_len);
}

static void add_limits(json_t *object, struct ibv_context *context)
{
    struct ibv_device_attr a;

    memset(&a, 0, sizeof(a));
    if (ibv_query_device(context, &a))
        return;
    json_object_set_new(object, "firmware", json_string(a.fw_ver));
    json_object_set_new(object, "max queue pairs", json_integer(a.max_qp));
    json_object_set_new(object, "max WQEs of a queue", json_integer(a.max_qp_wr));
    json_object_set_new(object, "max completion queues", json_integer(a.max_cq));
    json_object_set_new(object, "max CQEs of a queue", json_integer(a.max_cqe));
    json_object_set_new(object, "max memory regions", json_integer(a.max_mr));
    json_object_set_new(object, "reads in flight", json_integer(a.max_qp_rd_atom));
}

json_t *info_nics(void)
{
    json_t *list = json_array();
    int count = 0;
    struct ibv_device **devices = ibv_get_device_list(&count);

    for (int i = 0; devices && i < count; i++) {
        json_t *object = json_pack("{s:s}", "name", ibv_get_device_name(devices[i]));
        struct ibv_context *context = ibv_open_device(devices[i]);

        if (!object)
            continue;
        if (context) {
            add_port(object, context);
            add_limits(object, context);
            ibv_close_device(context);
        } else {
            json_object_set_new(object, "state", json_string("cannot be opened"));
        }
        json_array_append_new(list, object);
    }
    if (devices)
        ibv_free_device_list(devices);
    return list;
}
