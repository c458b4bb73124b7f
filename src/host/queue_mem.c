/* SPDX-License-Identifier: Apache-2.0 */
#include "host/queue_mem.h"

#include <string.h>
#include <unistd.h>

#include "gdaki/info.h"
#include "host/env.h"
#include "host/gpu_mem.h"

static struct queue_mem_choice choose_auto(const struct gdaki_gpu_ops *gpu, enum gdaki_nic_kind nic)
{
    if (gpu_memory_is_host(gpu))
        return (struct queue_mem_choice){true, DOCA_GPU_MEM_TYPE_CPU_GPU, "the cpu executor's memory is host memory"};
    if (nic == GDAKI_NIC_SOFTNIC)
        return (struct queue_mem_choice){true, DOCA_GPU_MEM_TYPE_CPU_GPU, "softnic runs on the CPU and reads host memory"};
    return (struct queue_mem_choice){true, DOCA_GPU_MEM_TYPE_GPU, "the NIC reaches GPU memory"};
}

struct queue_mem_choice queue_mem_choose(const struct gdaki_gpu_ops *gpu, enum gdaki_nic_kind nic)
{
    const char *wish = env_get("GDAKI_QUEUE_MEM");

    if (wish == NULL || wish[0] == '\0' || strcmp(wish, "auto") == 0)
        return choose_auto(gpu, nic);
    if (strcmp(wish, "gpu") == 0)
        return (struct queue_mem_choice){true, DOCA_GPU_MEM_TYPE_GPU, "GDAKI_QUEUE_MEM=gpu"};
    if (strcmp(wish, "host") == 0)
        return (struct queue_mem_choice){true, DOCA_GPU_MEM_TYPE_CPU_GPU, "GDAKI_QUEUE_MEM=host"};
    HOST_LOG(LOG_ERR, "GDAKI_QUEUE_MEM=\"%s\" is not one of auto, gpu, host", wish);
    return (struct queue_mem_choice){false, DOCA_GPU_MEM_TYPE_GPU, "GDAKI_QUEUE_MEM is not one of auto, gpu, host"};
}

void gdaki_queue_mem_describe(struct gdaki_choice *out)
{
    const struct gdaki_nic_ops *nic = nic_current(NULL);
    struct queue_mem_choice choice =
        queue_mem_choose(gdaki_gpu_current(NULL), nic != NULL ? nic->kind : GDAKI_NIC_SOFTNIC);

    out->name = !choice.valid ? "none" : choice.type == DOCA_GPU_MEM_TYPE_GPU ? "gpu" : "host";
    out->why = choice.why;
}

static doca_error_t register_dmabuf(const struct queue_mem_maker *maker, void *memory, size_t size,
                                    doca_verbs_umem_t **umem)
{
    int fd = -1;
    doca_error_t err = doca_gpu_get_dmabuf_fd(maker->gpu, memory, size, &fd);

    if (err != DOCA_SUCCESS)
        return err;
    err = doca_verbs_umem_create(maker->dev, maker->gpu, memory, size, IBV_ACCESS_LOCAL_WRITE, fd, 0, umem);
    close(fd); /* the NIC keeps a reference of its own */
    return err;
}

static doca_error_t register_address(const struct queue_mem_maker *maker, void *memory, size_t size,
                                     doca_verbs_umem_t **umem)
{
    return doca_verbs_umem_create(maker->dev, maker->gpu, memory, size, IBV_ACCESS_LOCAL_WRITE,
                                  (int)DOCA_VERBS_DMABUF_INVALID_FD, 0, umem);
}

static doca_error_t register_piece(const struct queue_mem_maker *maker, enum doca_gpu_mem_type type, void *memory,
                                   size_t size, doca_verbs_umem_t **umem)
{
    doca_error_t err;

    if (type == DOCA_GPU_MEM_TYPE_CPU_GPU || gpu_memory_is_host(gpu_ops_of(maker->gpu)))
        return register_address(maker, memory, size, umem);
    switch (maker->mreg) {
    case DOCA_GPUNETIO_VERBS_MEM_REG_TYPE_CUDA_DMABUF:
        return register_dmabuf(maker, memory, size, umem);
    case DOCA_GPUNETIO_VERBS_MEM_REG_TYPE_CUDA_PEERMEM:
        return register_address(maker, memory, size, umem);
    default:
        err = register_dmabuf(maker, memory, size, umem);
        if (err == DOCA_SUCCESS)
            return err;
        HOST_LOG(LOG_INFO, "registering %zu bytes at %p through a DMA-BUF failed; trying peer memory", size, memory);
        return register_address(maker, memory, size, umem);
    }
}

doca_error_t queue_piece_create(const struct queue_mem_maker *maker, enum doca_gpu_mem_type type, size_t size,
                                struct queue_piece *out)
{
    size_t page = host_page_size();
    size_t bytes = align_up(size, page);
    size_t alignment = type == DOCA_GPU_MEM_TYPE_GPU && page < DOCA_GPUNETIO_VERBS_PAGE_SIZE ? DOCA_GPUNETIO_VERBS_PAGE_SIZE
                                                                                             : page;
    void *memory = NULL, *cpu = NULL;
    doca_error_t err = doca_gpu_mem_alloc(maker->gpu, bytes, alignment, type, &memory, &cpu);

    if (err != DOCA_SUCCESS)
        return err;
    if (type == DOCA_GPU_MEM_TYPE_CPU_GPU && memory != cpu) {
        err = HOST_ERR(DOCA_ERROR_NOT_SUPPORTED, "pinned host memory has GPU address %p and CPU address %p: queues need one",
                       memory, cpu);
        goto free_memory;
    }
    err = register_piece(maker, type, memory, bytes, &out->umem);
    if (err != DOCA_SUCCESS)
        goto free_memory;
    out->memory = memory;
    return DOCA_SUCCESS;
free_memory:
    doca_gpu_mem_free(maker->gpu, memory);
    return err;
}
