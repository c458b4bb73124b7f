/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of queues: whole pages, so that a GPU driver can register them. A forked child does not get them: the device
 * belongs to its parent.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "softnic/data/objects.h"
#include "softnic/dv/parent.h"

int sv_buf_alloc(struct ibv_pd *pd, size_t bytes, uint64_t resource, struct sv_buf *out)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), size = (bytes + page - 1) / page * page;
    void *p;

    *out = (struct sv_buf){.resource = resource};
    int rc = sv_parent_memory(pd, size, page, resource, &p);
    if (rc <= 0) {
        if (rc)
            return rc;
        memset(p, 0, size);
        out->allocator = pd;
        out->span = (struct sn_span){.addr = p, .length = size, .space = SN_SPACE_HOST};
        return 0;
    }
    p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return -errno;
    (void)madvise(p, size, MADV_DONTFORK);
    out->mapping = p;
    out->span = (struct sn_span){.addr = p, .length = size, .space = SN_SPACE_HOST};
    return 0;
}

void sv_buf_free(struct sv_buf *buf)
{
    if (buf->allocator)
        sv_parent_memory_free(buf->allocator, buf->span.addr, buf->resource);
    if (buf->mapping)
        munmap(buf->mapping, buf->span.length);
    *buf = (struct sv_buf){0};
}
