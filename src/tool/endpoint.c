/* SPDX-License-Identifier: Apache-2.0 */
/* Opening and closing one end; queues and their connection are in endpoint_queues.c. */
#include "endpoint.h"

#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include <gdaki/info.h>
#include <gdaki/verbs.h>

#include "doca_gpunetio_host.h"
#include "endpoint_internal.h"
#include "gpu/gpu.h"
#include "kernels.h"
#include "tool.h"

#define DATA_ALIGNMENT 65536 /* what DMA-BUF exports ask for */
#define ACCESS_ALL                                                                                                     \
    (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)

int endpoint_fail(struct endpoint *ep, int exit_code, int rc, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(ep->why, sizeof(ep->why), format, args);
    va_end(args);
    ep->exit_code = exit_code;
    return rc;
}

void endpoint_environment(const struct perf_options *options)
{
    if (options->gpu_backend)
        setenv("GDAKI_GPU", options->gpu_backend, 1);
    if (options->nic)
        setenv("GDAKI_NIC", options->nic, 1);
    if (options->queue_mem)
        setenv("GDAKI_QUEUE_MEM", options->queue_mem, 1);
    if (options->pcap)
        setenv("SOFTNIC_PCAP", options->pcap, 1);
    /* A kernel that is loaded late waits for ever behind one that runs: everything is loaded with the context. */
    setenv("CUDA_MODULE_LOADING", "EAGER", 0);
    /* Streams beyond the hardware's channels share them: a copy then waits behind a kernel that waits for the copy. */
    setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
}

/* ---- GPU -------------------------------------------------------------------------------------------------------- */

int endpoint_pick_gpu(const char *wanted, const struct gdaki_gpu_ops *ops, int *index, char *why)
{
    char wrong[PARSE_WHY_SIZE];
    uint64_t number = 0;
    int count = 0;

    if (ops->device_count(&count) || count < 1) {
        snprintf(why, PARSE_WHY_SIZE, "the GPU back-end %s has no device", ops->name);
        return TOOL_FAILED;
    }
    if (wanted && (strchr(wanted, ':') || !isdigit((unsigned char)wanted[0]))) { /* also "cpu", the executor's other name */
        if (!ops->device_by_bus_id(wanted, index))
            return TOOL_OK;
        snprintf(why, PARSE_WHY_SIZE, "--gpu: no device of the back-end %s has the bus id '%s'", ops->name, wanted);
        return TOOL_USAGE;
    }
    if (wanted && parse_u64(wanted, 0, 1023, &number, wrong)) {
        snprintf(why, PARSE_WHY_SIZE, "--gpu: %.*s", PARSE_WHY_SIZE - 16, wrong);
        return TOOL_USAGE;
    }
    if (number >= (uint64_t)count) {
        snprintf(why, PARSE_WHY_SIZE, "--gpu: '%s' is out of range: the back-end %s has %d device%s", wanted, ops->name,
                 count, count == 1 ? "" : "s");
        return TOOL_USAGE;
    }
    *index = (int)number;
    return TOOL_OK;
}

static int open_gpu(struct endpoint *ep)
{
    const char *why = "";
    const struct gdaki_gpu_ops *ops = gdaki_gpu_select(NULL, &why);
    char load_why[PARSE_WHY_SIZE];
    doca_error_t status;
    int rc;

    if (!ops)
        return endpoint_fail(ep, TOOL_FAILED, -ENODEV, "no GPU back-end: %s", why);
    ep->gpu_backend = ops->name;
    rc = endpoint_pick_gpu(ep->options->gpu, ops, &ep->gpu_index, load_why);
    if (rc)
        return endpoint_fail(ep, rc, -ENODEV, "%s", load_why);
    ops->device_name(ep->gpu_index, ep->gpu_name, sizeof(ep->gpu_name));
    ops->device_bus_id(ep->gpu_index, ep->gpu_bus_id, sizeof(ep->gpu_bus_id));
    ep->kernels = kernels_load(ops->name, load_why);
    if (!ep->kernels)
        return endpoint_fail(ep, TOOL_FAILED, -ENOENT, "%s", load_why);
    rc = ep->kernels->open(ep->gpu_index);
    if (rc)
        return endpoint_fail(ep, TOOL_FAILED, rc, "cannot use GPU %d (%s): %s", ep->gpu_index, ep->gpu_name,
                             ep->kernels->error_text());
    status = doca_gpu_create(ep->gpu_bus_id, (doca_gpu_t **)&ep->gpu);
    if (status != DOCA_SUCCESS)
        return endpoint_fail(ep, TOOL_FAILED, -EIO, "doca_gpu_create(%s): error %d: %s", ep->gpu_bus_id, (int)status,
                             gdaki_host_last_error());
    return 0;
}

/* ---- NIC -------------------------------------------------------------------------------------------------------- */

static void list_names(struct ibv_device **list, int count, char *out, size_t size)
{
    size_t used = 0;

    out[0] = 0;
    for (int i = 0; i < count && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%s", i ? ", " : "", ibv_get_device_name(list[i]));
}

static int open_nic(struct endpoint *ep)
{
    struct gdaki_choice nic;
    struct ibv_device **list;
    struct ibv_device *device = NULL;
    char names[256];
    int count = 0;

    gdaki_nic_describe(&nic);
    if (ep->options->pcap && strcmp(nic.name, "softnic") && strcmp(nic.name, "none"))
        return endpoint_fail(ep, TOOL_USAGE, -EOPNOTSUPP, "--pcap: only softnic shows its packets; the NIC back-end is %s",
                             nic.name);
    errno = 0;
    list = ibv_get_device_list(&count);
    if (!list || !count) {
        const char *reason = list || !errno ? "it lists none" : strerror(errno);

        if (list)
            ibv_free_device_list(list);
        if (!strcmp(nic.name, "none"))
            return endpoint_fail(ep, TOOL_FAILED, -ENODEV, "no NIC back-end: %s", nic.why);
        return endpoint_fail(ep, TOOL_FAILED, -ENODEV, "the NIC back-end %s has no device: %s%s%s", nic.name, reason,
                             nic.why[0] ? "; chosen because " : "", nic.why);
    }
    for (int i = 0; i < count && !device; i++) {
        if (!ep->options->device || !strcmp(ep->options->device, ibv_get_device_name(list[i])))
            device = list[i];
    }
    if (device) {
        snprintf(ep->nic_name, sizeof(ep->nic_name), "%s", ibv_get_device_name(device));
        ep->context = ibv_open_device(device);
    }
    list_names(list, count, names, sizeof(names));
    ibv_free_device_list(list);
    if (!device)
        return endpoint_fail(ep, TOOL_USAGE, -ENODEV, "--device: '%s' is no device of the NIC back-end %s, which has %s",
                             ep->options->device, nic.name, names);
    if (!ep->context)
        return endpoint_fail(ep, TOOL_FAILED, -errno, "cannot open NIC %s: %s", ep->nic_name, strerror(errno));
    ep->pd = ibv_alloc_pd(ep->context);
    if (!ep->pd)
        return endpoint_fail(ep, TOOL_FAILED, -errno, "cannot allocate a protection domain on %s: %s", ep->nic_name,
                             strerror(errno));
    if (doca_verbs_dev_open(ep->pd, (doca_dev_t **)&ep->dev) != DOCA_SUCCESS)
        return endpoint_fail(ep, TOOL_FAILED, -EIO, "doca_verbs_dev_open failed on %s: %s", ep->nic_name,
                             gdaki_host_last_error());
    return 0;
}

/* RoCE type of a GID where the kernel tells it; true where it does not (softnic has RoCEv2 only). */
static bool gid_is_roce_v2(const char *nic, uint32_t index)
{
    char path[160], type[32] = "";
    FILE *file;

    snprintf(path, sizeof(path), "/sys/class/infiniband/%s/ports/1/gid_attrs/types/%u", nic, index);
    file = fopen(path, "re");
    if (!file)
        return true;
    if (!fgets(type, sizeof(type), file))
        type[0] = 0;
    fclose(file);
    return strncmp(type, "RoCE v2", 7) == 0;
}

static bool gid_is_zero(const union ibv_gid *gid)
{
    static const union ibv_gid zero;

    return !memcmp(gid, &zero, sizeof(zero));
}

static bool gid_is_ipv4(const union ibv_gid *gid)
{
    static const uint8_t prefix[12] = {[10] = 0xff, [11] = 0xff};

    return !memcmp(gid->raw, prefix, sizeof(prefix));
}

/* The one asked for; else the first RoCEv2 GID of an IPv4 address, else the first that is set. */
static int pick_gid(struct endpoint *ep, uint32_t table, union ibv_gid *gid)
{
    int best = -1;

    if (ep->options->gid_given) {
        ep->gid_index = ep->options->gid_index;
        if (ep->gid_index >= table || ibv_query_gid(ep->context, 1, (int)ep->gid_index, gid) || gid_is_zero(gid))
            return endpoint_fail(ep, TOOL_USAGE, -EINVAL, "--gid-index: %u is not set on %s (its table has %u entries)",
                                 ep->gid_index, ep->nic_name, table);
        return 0;
    }
    for (uint32_t i = 0; i < table && i < 256; i++) {
        union ibv_gid candidate;

        if (ibv_query_gid(ep->context, 1, (int)i, &candidate) || gid_is_zero(&candidate) ||
            !gid_is_roce_v2(ep->nic_name, i))
            continue;
        if (best < 0 || (gid_is_ipv4(&candidate) && !gid_is_ipv4(gid))) {
            best = (int)i;
            *gid = candidate;
        }
    }
    if (best < 0)
        return endpoint_fail(ep, TOOL_FAILED, -EADDRNOTAVAIL, "no usable GID on %s", ep->nic_name);
    ep->gid_index = (uint32_t)best;
    return 0;
}

static int query_port(struct endpoint *ep)
{
    struct ibv_port_attr port = {0};
    union ibv_gid gid = {0};
    bool infiniband;
    uint32_t mtu;
    int rc;

    if (ibv_query_port(ep->context, 1, &port))
        return endpoint_fail(ep, TOOL_FAILED, -EIO, "cannot query port 1 of %s", ep->nic_name);
    if (port.state != IBV_PORT_ACTIVE)
        return endpoint_fail(ep, TOOL_FAILED, -ENETDOWN, "port 1 of %s is not active (state %d%s)%s", ep->nic_name,
                             (int)port.state, port.state == IBV_PORT_DOWN ? ", down" : "",
                             getenv("SOFTNIC_FAULTS") ? "; a link-down of SOFTNIC_FAULTS would do that" : "");
    rc = pick_gid(ep, (uint32_t)port.gid_tbl_len, &gid);
    if (rc)
        return rc;
    infiniband = port.link_layer == IBV_LINK_LAYER_INFINIBAND;
    mtu = 128u << port.active_mtu; /* enum ibv_mtu: 1 is 256 */
    if (ep->plan->mtu > mtu)
        return endpoint_fail(ep, TOOL_USAGE, -EINVAL, "--mtu %u is above %u, what port 1 of %s has", ep->plan->mtu, mtu,
                             ep->nic_name);
    memcpy(ep->local.gid, gid.raw, 16);
    ep->local.lid = port.lid;
    ep->local.link = infiniband ? 2 : 1;
    ep->local.mtu = ep->plan->mtu ? ep->plan->mtu : mtu;
    if (getrandom(&ep->local.psn, sizeof(ep->local.psn), 0) != sizeof(ep->local.psn))
        return endpoint_fail(ep, TOOL_FAILED, -errno, "cannot draw a packet sequence number");
    ep->local.psn &= 0xffffff;
    return 0;
}

/* ---- memory ----------------------------------------------------------------------------------------------------- */

static uint64_t largest_span(const struct perf_plan *plan)
{
    struct perf_layout layout;
    uint64_t span = 0;

    for (uint32_t i = 0; i < plan->sizes.count; i++) {
        perf_layout_of(plan, plan->sizes.size[i], &layout);
        if (layout.span > span)
            span = layout.span;
    }
    return (span + 4095) & ~4095ull;
}

/* GPU memory through a DMA-BUF where the NIC is a real one, else plainly. */
static struct ibv_mr *register_data(struct endpoint *ep)
{
    struct gdaki_choice nic;
    struct ibv_mr *mr = NULL;
    int fd = -1;

    gdaki_nic_describe(&nic);
    if (ep->options->mem == PERF_MEM_GPU && !strcmp(nic.name, "rdma-core") &&
        doca_gpu_get_dmabuf_fd(ep->gpu, ep->data, ep->data_size, &fd) == DOCA_SUCCESS) {
        mr = ibv_reg_dmabuf_mr(ep->pd, 0, ep->data_size, (uint64_t)(uintptr_t)ep->data, fd, ACCESS_ALL);
        close(fd);
    }
    return mr ? mr : ibv_reg_mr(ep->pd, ep->data, ep->data_size, ACCESS_ALL);
}

static int make_memory(struct endpoint *ep)
{
    bool host = ep->options->mem == PERF_MEM_HOST;
    void *cpu = NULL;
    doca_error_t status;

    ep->span = largest_span(ep->plan);
    ep->data_size = 2 * ep->span + ENDPOINT_TAIL;
    ep->data_size = (ep->data_size + DATA_ALIGNMENT - 1) & ~(size_t)(DATA_ALIGNMENT - 1);
    status = doca_gpu_mem_alloc(ep->gpu, ep->data_size, DATA_ALIGNMENT,
                                host ? DOCA_GPU_MEM_TYPE_CPU_GPU : DOCA_GPU_MEM_TYPE_GPU, &ep->data, &cpu);
    if (status != DOCA_SUCCESS) {
        ep->data = NULL;
        return endpoint_fail(ep, TOOL_FAILED, -ENOMEM, "cannot allocate %zu bytes of %s memory: error %d: %s",
                             ep->data_size, host ? "host" : "GPU", (int)status, gdaki_host_last_error());
    }
    ep->staging = malloc(ep->data_size);
    if (!ep->staging)
        return endpoint_fail(ep, TOOL_FAILED, -ENOMEM, "cannot allocate %zu bytes", ep->data_size);
    memset(ep->staging, 0, ep->data_size);
    ep->mr = register_data(ep);
    if (!ep->mr)
        return endpoint_fail(ep, TOOL_FAILED, -errno, "cannot register %zu bytes of %s memory with %s: %s",
                             ep->data_size, host ? "host" : "GPU", ep->nic_name, strerror(errno));
    ep->local.send_addr = (uint64_t)(uintptr_t)ep->data;
    ep->local.recv_addr = ep->local.send_addr + ep->span;
    ep->local.flag_addr = ep->local.send_addr + 2 * ep->span + ENDPOINT_FLAG;
    ep->local.span = ep->span;
    ep->local.rkey = ep->mr->rkey;
    return 0;
}

/* Latency samples: room for half a million, spread over the threads. */
static int make_bookkeeping(struct endpoint *ep)
{
    const struct gdaki_kernels *k = ep->kernels;
    uint64_t threads = (uint64_t)ep->plan->ctas * ep->plan->threads;
    uint64_t each = (512u << 10) / threads;
    int rc = k->stream_create(&ep->stream);

    ep->sample_count = (each ? each : 1) * threads;
    if (!rc)
        rc = k->device_alloc(sizeof(*ep->result), (void **)&ep->result);
    if (!rc)
        rc = k->device_alloc(ep->sample_count * sizeof(uint64_t), (void **)&ep->samples);
    return rc ? endpoint_fail(ep, TOOL_FAILED, rc, "%s", k->error_text()) : 0;
}

int endpoint_write(struct endpoint *ep, uint64_t offset, const void *from, size_t size)
{
    int rc = ep->kernels->copy((uint8_t *)ep->data + offset, from, size, ep->stream);

    return rc ? endpoint_fail(ep, TOOL_FAILED, rc, "cannot write %zu bytes of data: %s", size,
                              ep->kernels->error_text()) : 0;
}

int endpoint_read(struct endpoint *ep, uint64_t offset, void *to, size_t size)
{
    int rc = ep->kernels->copy(to, (uint8_t *)ep->data + offset, size, ep->stream);

    return rc ? endpoint_fail(ep, TOOL_FAILED, rc, "cannot read %zu bytes of data: %s", size,
                              ep->kernels->error_text()) : 0;
}

int endpoint_open(struct endpoint *ep, const struct perf_options *options, const struct perf_plan *plan)
{
    int (*const steps[])(struct endpoint *) = {open_gpu, open_nic, query_port, make_memory, make_bookkeeping,
                                               endpoint_make_queues};
    int rc = 0;

    memset(ep, 0, sizeof(*ep));
    ep->options = options;
    ep->plan = plan;
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]) && !rc; i++)
        rc = steps[i](ep);
    return rc;
}

void endpoint_close(struct endpoint *ep)
{
    endpoint_destroy_queues(ep);
    if (ep->samples)
        ep->kernels->device_free(ep->samples);
    if (ep->result)
        ep->kernels->device_free(ep->result);
    if (ep->stream)
        ep->kernels->stream_destroy(ep->stream);
    if (ep->mr)
        ibv_dereg_mr(ep->mr);
    if (ep->data)
        doca_gpu_mem_free(ep->gpu, ep->data);
    free(ep->staging);
    if (ep->dev)
        doca_verbs_dev_close(ep->dev);
    if (ep->pd)
        ibv_dealloc_pd(ep->pd);
    if (ep->context)
        ibv_close_device(ep->context);
    if (ep->gpu)
        doca_gpu_destroy(ep->gpu);
    ep->samples = NULL;
    ep->result = NULL;
    ep->stream = NULL;
    ep->mr = NULL;
    ep->data = NULL;
    ep->staging = NULL;
    ep->dev = ep->gpu = NULL;
    ep->pd = NULL;
    ep->context = NULL;
}
