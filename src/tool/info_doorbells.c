/* SPDX-License-Identifier: Apache-2.0 */
/* Which doorbell modes work: a queue is really made in each. */
#include <string.h>

#include <gdaki/info.h>
#include <gdaki/verbs.h>

#include "doca_gpunetio_host.h"
#include "gpu/gpu.h"
#include "info.h"

struct bench {
    struct ibv_context *context;
    struct ibv_pd *pd;
    doca_gpu_t *gpu;
    doca_dev_t *dev;
    const char *missing; /* what could not be had; NULL: all there */
};

static struct ibv_context *open_first(void)
{
    int count = 0;
    struct ibv_device **list = ibv_get_device_list(&count);
    struct ibv_context *context = list && count ? ibv_open_device(list[0]) : NULL;

    if (list)
        ibv_free_device_list(list);
    return context;
}

static void open_bench(struct bench *b)
{
    const char *why = "";
    const struct gdaki_gpu_ops *ops = gdaki_gpu_select(NULL, &why);
    char bus_id[32];

    memset(b, 0, sizeof(*b));
    b->missing = "no GPU";
    if (!ops || ops->device_bus_id(0, bus_id, sizeof(bus_id)) || doca_gpu_create(bus_id, &b->gpu) != DOCA_SUCCESS)
        return;
    b->missing = "no NIC";
    b->context = open_first();
    b->pd = b->context ? ibv_alloc_pd(b->context) : NULL;
    if (b->pd && doca_verbs_dev_open(b->pd, &b->dev) == DOCA_SUCCESS)
        b->missing = NULL;
}

static void close_bench(struct bench *b)
{
    if (b->dev)
        doca_verbs_dev_close(b->dev);
    if (b->pd)
        ibv_dealloc_pd(b->pd);
    if (b->context)
        ibv_close_device(b->context);
    if (b->gpu)
        doca_gpu_destroy(b->gpu);
}

struct mode {
    const char *name;
    enum doca_gpu_dev_verbs_nic_handler handler;
    enum doca_gpu_verbs_send_dbr_mode_ext record;
};

static const char *resolved_name(enum doca_gpu_dev_verbs_nic_handler handler)
{
    switch (handler) {
    case DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY: return "becomes cpu-proxy";
    case DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_DB: return "becomes gpu-db";
    case DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_NO_DBR: return "becomes gpu-no-dbr";
    case DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_BF: return "becomes gpu-bf";
    default: return "";
    }
}

static bool nic_has_no_record_mode(struct ibv_context *context)
{
    struct doca_verbs_device_attr *attr = NULL;
    bool has = false;

    if (doca_verbs_query_device(context, &attr) == DOCA_SUCCESS && attr) {
        has = doca_verbs_device_attr_get_send_dbr_mode_no_dbr_ext(attr);
        doca_verbs_device_attr_free(attr);
    }
    return has;
}

/* True if the GPU can map a doorbell register of this NIC. */
static bool gpu_maps_register(struct bench *b)
{
    doca_verbs_uar_t *uar = NULL;
    void *reg = NULL;
    bool can = false;

    if (doca_verbs_uar_create(b->dev, DOCA_VERBS_UAR_ALLOCATION_TYPE_NONCACHE, &uar) != DOCA_SUCCESS || !uar)
        return false;
    if (doca_verbs_uar_reg_addr_get(uar, &reg) == DOCA_SUCCESS)
        doca_gpu_verbs_can_gpu_register_uar(reg, &can);
    doca_verbs_uar_destroy(uar);
    return can;
}

static const char *reason(struct bench *b, const struct mode *mode)
{
    static char text[256];

    snprintf(text, sizeof(text), "%s", gdaki_host_last_error()); /* the probes below would replace it */
    if (mode->record == DOCA_GPUNETIO_VERBS_SEND_DBR_MODE_EXT_NO_DBR_HW && !nic_has_no_record_mode(b->context))
        return "the NIC has no queues without doorbell record";
    if (mode->handler != DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY && !gpu_maps_register(b))
        return "the GPU cannot map the NIC's doorbell register";
    return text;
}

static json_t *try_mode(struct bench *b, const struct mode *mode)
{
    struct doca_gpu_verbs_qp_init_attr_hl attr;
    struct doca_gpu_verbs_qp_hl *queue = NULL;
    const char *detail = "";

    if (b->missing)
        return json_pack("{s:s, s:b, s:s}", "mode", mode->name, "usable", 0, "detail", b->missing);
    memset(&attr, 0, sizeof(attr));
    attr.gpu_dev = b->gpu;
    attr.net_dev = b->dev;
    attr.ibpd = b->pd;
    attr.sq_nwqe = 64;
    attr.nic_handler = mode->handler;
    attr.send_dbr_mode_ext = mode->record;
    if (doca_gpu_verbs_create_qp_hl(&attr, &queue) != DOCA_SUCCESS)
        return json_pack("{s:s, s:b, s:s}", "mode", mode->name, "usable", 0, "detail", reason(b, mode));
    if (mode->handler == DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO)
        detail = resolved_name(queue->nic_handler);
    doca_gpu_verbs_destroy_qp_hl(queue);
    return json_pack("{s:s, s:b, s:s}", "mode", mode->name, "usable", 1, "detail", detail);
}

json_t *info_doorbells(void)
{
    static const struct mode modes[] = {
        {"auto", DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO, DOCA_GPUNETIO_VERBS_SEND_DBR_MODE_EXT_VALID_DBR},
        {"gpu-db", DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_DB, DOCA_GPUNETIO_VERBS_SEND_DBR_MODE_EXT_VALID_DBR},
        {"gpu-no-dbr", DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_DB, DOCA_GPUNETIO_VERBS_SEND_DBR_MODE_EXT_NO_DBR_HW},
        {"gpu-bf", DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_BF, DOCA_GPUNETIO_VERBS_SEND_DBR_MODE_EXT_VALID_DBR},
        {"cpu-proxy", DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY, DOCA_GPUNETIO_VERBS_SEND_DBR_MODE_EXT_VALID_DBR},
    };
    json_t *list = json_array();
    struct bench bench;

    open_bench(&bench);
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
        json_array_append_new(list, try_mode(&bench, &modes[i]));
    close_bench(&bench);
    return list;
}
