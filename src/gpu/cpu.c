/* SPDX-License-Identifier: Apache-2.0 */
/* The `cpu` table: one device whose memory is host memory, whose kernels are run by the executor. */
#include "gpu/internal.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <unistd.h>

#define CPU_BUS_ID "ffff:00:00.0" /* domain ffff is not assigned to PCI host bridges, so no real GPU has it */
#define CPU_ALIGN 256
#define CPU_FILE_MIN 65536 /* allocations from here on lie in a memory file of their own */

/* A range that this table knows: an allocation, or a registered host range. */
struct range {
    char *base;
    size_t size;
    int fd; /* of an allocation that is a memory file; else -1 */
    struct range *next;
};

static pthread_mutex_t ranges_lock = PTHREAD_MUTEX_INITIALIZER;
static struct range *allocations;
static struct range *registrations;

static struct range **find_exact(struct range **head, const void *base)
{
    struct range **at = head;

    while (*at != NULL && (*at)->base != base)
        at = &(*at)->next;
    return *at != NULL ? at : NULL;
}

static bool overlaps_any(const struct range *head, const char *base, size_t size)
{
    for (; head != NULL; head = head->next) {
        if (base < head->base + head->size && head->base < base + size)
            return true;
    }
    return false;
}

static int push(struct range **head, void *base, size_t size)
{
    struct range *r = malloc(sizeof(*r));

    if (r == NULL)
        return -ENOMEM;
    *r = (struct range){.base = base, .size = size, .fd = -1, .next = *head};
    *head = r;
    return 0;
}

static int remove_exact(struct range **head, const void *base, struct range *was)
{
    struct range **at;
    struct range *found;

    pthread_mutex_lock(&ranges_lock);
    at = find_exact(head, base);
    found = at != NULL ? *at : NULL;
    if (found != NULL)
        *at = found->next;
    pthread_mutex_unlock(&ranges_lock);
    if (found != NULL && was != NULL)
        *was = *found;
    free(found);
    return found != NULL ? 0 : -ENOENT;
}

static int check_device(int device)
{
    return device == 0 ? 0 : gdaki_gpu_fail(-ENODEV, "cpu: device %d does not exist, there is only device 0", device);
}

static int cpu_device_count(int *count)
{
    *count = 1;
    return 0;
}

static int cpu_device_name(int device, char *out, size_t size)
{
    int err = check_device(device);

    if (err == 0)
        snprintf(out, size, "gdaki CPU executor");
    return err;
}

static int cpu_device_bus_id(int device, char *out, size_t size)
{
    int err = check_device(device);

    if (err == 0)
        snprintf(out, size, "%s", CPU_BUS_ID);
    return err;
}

static int cpu_device_by_bus_id(const char *bus_id, int *device)
{
    struct gdaki_bus_id id;

    if (strcasecmp(bus_id, "cpu") == 0 || strcasecmp(bus_id, "cpu0") == 0) {
        *device = 0;
        return 0;
    }
    if (gdaki_bus_id_parse(bus_id, &id) != 0)
        return gdaki_gpu_fail(-EINVAL, "cpu: \"%s\" is not a PCI bus id ([domain:]bus:device[.function]), \"cpu\" or \"cpu0\"",
                              bus_id);
    if (id.domain != 0xffff || id.bus != 0 || id.device != 0 || id.function != 0)
        return gdaki_gpu_fail(-ENODEV, "cpu: no GPU at \"%s\"; the cpu device is " CPU_BUS_ID " (or \"cpu\")", bus_id);
    *device = 0;
    return 0;
}

static int cpu_device_attr(int device, enum gdaki_gpu_attr attr, int *value)
{
    int err = check_device(device);

    if (err != 0)
        return err;
    switch (attr) {
    case GDAKI_GPU_ATTR_COMPUTE_MAJOR:
        *value = 9;
        return 0;
    case GDAKI_GPU_ATTR_COMPUTE_MINOR:
        *value = 0;
        return 0;
    case GDAKI_GPU_ATTR_SM_COUNT:
        *value = (int)sysconf(_SC_NPROCESSORS_ONLN);
        return 0;
    case GDAKI_GPU_ATTR_DMA_BUF_SUPPORTED:
        *value = 0;
        return 0;
    case GDAKI_GPU_ATTR_RDMA_WRITES_ORDERING:
        *value = 200; /* visible to all: the NIC's writes are the CPU's own stores */
        return 0;
    case GDAKI_GPU_ATTR_HOST_NATIVE_ATOMIC:
        *value = 1;
        return 0;
    }
    return gdaki_gpu_fail(-EINVAL, "cpu: unknown device attribute %d", (int)attr);
}

/*
 * Memory that other processes can be shown: a file without a name that cannot shrink. softnic finds it by the mapping, and
 * its shared-memory wire then moves long messages with one copy. The sanitizer's own allocator is left alone, since it puts
 * red zones around. NULL: none to be had; ordinary memory does as well.
 */
static void *map_file(size_t size, int *fd)
{
#ifdef __SANITIZE_ADDRESS__
    (void)size;
    (void)fd;
    return NULL;
#else
    void *p;
    int file = size < CPU_FILE_MIN ? -1 : memfd_create("gdaki-gpu", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    if (file < 0)
        return NULL;
    if (ftruncate(file, (off_t)size) != 0 || fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0 ||
        (p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)) == MAP_FAILED) {
        close(file);
        return NULL;
    }
    *fd = file;
    return p;
#endif
}

static void give_back(void *p, size_t size, int fd)
{
    if (fd < 0) {
        free(p);
        return;
    }
    munmap(p, size);
    close(fd);
}

static int cpu_alloc(int device, size_t size, void **ptr)
{
    void *p = NULL;
    int fd = -1, err = check_device(device);

    if (err != 0)
        return err;
    if (size == 0)
        return gdaki_gpu_fail(-EINVAL, "cpu: allocation of 0 bytes");
    p = map_file(size, &fd);
    if (p == NULL && posix_memalign(&p, CPU_ALIGN, size) != 0)
        return gdaki_gpu_fail(-ENOMEM, "cpu: allocation of %zu bytes failed", size);
    pthread_mutex_lock(&ranges_lock);
    err = push(&allocations, p, size);
    if (err == 0)
        allocations->fd = fd;
    pthread_mutex_unlock(&ranges_lock);
    if (err != 0) {
        give_back(p, size, fd);
        return gdaki_gpu_fail(err, "cpu: no memory to track an allocation");
    }
    *ptr = p;
    return 0;
}

static int cpu_free(void *ptr)
{
    struct range was;

    if (remove_exact(&allocations, ptr, &was) != 0)
        return gdaki_gpu_fail(-EINVAL, "cpu: free of %p, which is not an allocation of this device", ptr);
    give_back(ptr, was.size, was.fd);
    return 0;
}

static int cpu_host_register(void *ptr, size_t size, unsigned flags, void **device_ptr)
{
    int err;

    (void)flags;
    if (ptr == NULL || size == 0)
        return gdaki_gpu_fail(-EINVAL, "cpu: registration of %zu bytes at %p", size, ptr);
    pthread_mutex_lock(&ranges_lock);
    err = overlaps_any(registrations, ptr, size) ? -EEXIST : push(&registrations, ptr, size);
    pthread_mutex_unlock(&ranges_lock);
    if (err != 0)
        gdaki_gpu_fail(err, "cpu: registration of %zu bytes at %p: %s", size, ptr, strerror(-err));
    if ((err == 0 || err == -EEXIST) && device_ptr != NULL)
        *device_ptr = ptr;
    return err;
}

static int cpu_host_unregister(void *ptr)
{
    if (remove_exact(&registrations, ptr, NULL) != 0)
        return gdaki_gpu_fail(-ENOENT, "cpu: %p is not registered", ptr);
    return 0;
}

static int cpu_copy(void *dst, const void *src, size_t size)
{
    memmove(dst, src, size);
    return 0;
}

static int cpu_copy_start(void *dst, const void *src, size_t size, struct gdaki_gpu_copy *copy)
{
    memmove(dst, src, size);
    copy->opaque[0] = copy->opaque[1] = NULL;
    return 0;
}

static int cpu_copy_done(struct gdaki_gpu_copy *copy)
{
    (void)copy;
    return 1;
}

static int cpu_fill(void *dst, uint8_t value, size_t size)
{
    memset(dst, value, size);
    return 0;
}

static int cpu_pointer_space(const void *ptr, enum gdaki_gpu_space *space)
{
    (void)ptr;
    *space = GDAKI_GPU_SPACE_HOST; /* the CPU reaches all of it directly */
    return 0;
}

static int cpu_dmabuf_fd(void *ptr, size_t size, int *fd)
{
    (void)fd;
    return gdaki_gpu_fail(-EOPNOTSUPP, "cpu: no DMA-BUF for %zu bytes at %p: the cpu device has host memory only", size, ptr);
}

/* The executor may not be in the process at all; then no kernel can be running. */
static int cpu_synchronize(void)
{
    int (*device_synchronize)(void);

    if (dlsym(RTLD_DEFAULT, "gdaki_cpu_set_idle_hook") == NULL)
        return 0;
    *(void **)&device_synchronize = dlsym(RTLD_DEFAULT, "cudaDeviceSynchronize");
    if (device_synchronize == NULL)
        return 0;
    /* The code of a failed kernel is the launch's to report; here only the waiting matters. */
    (void)device_synchronize();
    return 0;
}

static const struct gdaki_gpu_ops cpu_ops = {
    .name = "cpu",
    .device_count = cpu_device_count,
    .device_name = cpu_device_name,
    .device_bus_id = cpu_device_bus_id,
    .device_by_bus_id = cpu_device_by_bus_id,
    .device_attr = cpu_device_attr,
    .alloc = cpu_alloc,
    .free = cpu_free,
    .host_register = cpu_host_register,
    .host_unregister = cpu_host_unregister,
    .copy = cpu_copy,
    .copy_start = cpu_copy_start,
    .copy_done = cpu_copy_done,
    .fill = cpu_fill,
    .pointer_space = cpu_pointer_space,
    .dmabuf_fd = cpu_dmabuf_fd,
    .synchronize = cpu_synchronize,
    .last_error = gdaki_gpu_last_error,
};

const struct gdaki_gpu_ops *gdaki_gpu_cpu_ops(void)
{
    return &cpu_ops;
}
