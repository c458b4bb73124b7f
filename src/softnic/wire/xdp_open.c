/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An AF_XDP socket and the program that feeds it, through the kernel's own interface: libxdp would bring libbpf, libelf
 * and zlib into every program that runs on softnic, for the few calls below. The program hangs on a descriptor, so the
 * kernel takes it off the interface when the process ends, however it ends.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/if_link.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "softnic/wire/xdp.h"

static int bpf(int command, union bpf_attr *attr)
{
    int rc = (int)syscall(SYS_bpf, command, attr, sizeof(*attr));
    return rc < 0 ? -errno : rc;
}

static int make_map(void)
{
    union bpf_attr a = {.map_type = BPF_MAP_TYPE_XSKMAP, .key_size = 4, .value_size = 4, .max_entries = 1};
    return bpf(BPF_MAP_CREATE, &a);
}

static int put_in_map(int map, int socket)
{
    uint32_t queue = 0;
    union bpf_attr a = {.map_fd = (uint32_t)map, .key = (uintptr_t)&queue, .value = (uintptr_t)&socket};
    return bpf(BPF_MAP_UPDATE_ELEM, &a);
}

/* ---- the program ---- */

#define LOAD(size, dst, src, at)    {BPF_LDX | BPF_MEM | (size), dst, src, at, 0}
#define MOVE(dst, src)              {BPF_ALU64 | BPF_MOV | BPF_X, dst, src, 0, 0}
#define SET(dst, value)             {BPF_ALU64 | BPF_MOV | BPF_K, dst, 0, 0, value}
#define JUMP(op, dst, value, steps) {BPF_JMP | (op) | BPF_K, dst, 0, steps, value}

enum { R0, R1, R2, R3, R4, R5, R6 };

/* UDP to port 4791 that is no later fragment goes to the socket of queue 0; all else to the kernel. */
static int load_program(int map)
{
    const uint16_t ipv4 = htons(0x0800), ipv6 = htons(0x86dd), port = htons(SN_ROCE_PORT), offset = htons(0x1fff);
    const struct bpf_insn code[] = {
        MOVE(R6, R1),
        LOAD(BPF_W, R2, R1, 0), /* data */
        LOAD(BPF_W, R3, R1, 4), /* data_end */
        MOVE(R4, R2),
        {BPF_ALU64 | BPF_ADD | BPF_K, R4, 0, 0, 58}, /* what is read below; a RoCEv2 frame is no shorter */
        {BPF_JMP | BPF_JGT | BPF_X, R4, R3, 23, 0},
        LOAD(BPF_H, R5, R2, 12),
        JUMP(BPF_JEQ, R5, ipv4, 6),
        JUMP(BPF_JNE, R5, ipv6, 20),
        LOAD(BPF_B, R5, R2, 14 + 6),
        JUMP(BPF_JNE, R5, 17, 18),
        LOAD(BPF_H, R5, R2, 14 + 40 + 2),
        JUMP(BPF_JEQ, R5, port, 10),
        {BPF_JMP | BPF_JA, 0, 0, 15, 0},
        /* 14: IPv4 */
        LOAD(BPF_B, R5, R2, 14),
        JUMP(BPF_JNE, R5, 0x45, 13),
        LOAD(BPF_B, R5, R2, 14 + 9),
        JUMP(BPF_JNE, R5, 17, 11),
        LOAD(BPF_H, R5, R2, 14 + 20 + 2),
        JUMP(BPF_JNE, R5, port, 9),
        LOAD(BPF_H, R5, R2, 14 + 6),
        {BPF_ALU64 | BPF_AND | BPF_K, R5, 0, 0, offset},
        JUMP(BPF_JNE, R5, 0, 6),
        /* 23: ours */
        LOAD(BPF_W, R2, R6, 16), /* rx_queue_index */
        {BPF_LD | BPF_DW | BPF_IMM, R1, BPF_PSEUDO_MAP_FD, 0, map},
        {0, 0, 0, 0, 0},
        SET(R3, XDP_PASS), /* if there is no socket for that queue */
        {BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_redirect_map},
        {BPF_JMP | BPF_EXIT, 0, 0, 0, 0},
        /* 29: not ours */
        SET(R0, XDP_PASS),
        {BPF_JMP | BPF_EXIT, 0, 0, 0, 0},
    };
    union bpf_attr a = {.prog_type = BPF_PROG_TYPE_XDP,
                        .insns = (uintptr_t)code,
                        .insn_cnt = sizeof(code) / sizeof(code[0]),
                        .license = (uintptr_t) "Apache-2.0",
                        .expected_attach_type = BPF_XDP};
    return bpf(BPF_PROG_LOAD, &a);
}

static int attach(int program, int interface)
{
    union bpf_attr a = {0};
    a.link_create.prog_fd = (uint32_t)program;
    a.link_create.target_ifindex = (uint32_t)interface;
    a.link_create.attach_type = BPF_XDP;
    return bpf(BPF_LINK_CREATE, &a);
}

/* ---- the socket ---- */

static int map_ring(int fd, struct xdp_ring *r, const struct xdp_ring_offset *at, uint32_t size, size_t entry,
                    uint64_t page_offset)
{
    r->map_bytes = at->desc + size * entry;
    r->map = mmap(NULL, r->map_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, (off_t)page_offset);
    if (r->map == MAP_FAILED) {
        r->map = NULL;
        return -errno;
    }
    uint8_t *base = r->map;
    r->producer = (uint32_t *)(void *)(base + at->producer);
    r->consumer = (uint32_t *)(void *)(base + at->consumer);
    r->entries = base + at->desc;
    r->size = size;
    return 0;
}

static int set_size(int fd, int option, uint32_t size)
{
    return setsockopt(fd, SOL_XDP, option, &size, sizeof(size)) ? -errno : 0;
}

static int make_rings(struct xdp *x)
{
    struct xdp_mmap_offsets at;
    socklen_t bytes = sizeof(at);
    int rc;
    if ((rc = set_size(x->fd, XDP_UMEM_FILL_RING, XSK_RX)) ||
        (rc = set_size(x->fd, XDP_UMEM_COMPLETION_RING, XSK_TX)) ||
        (rc = set_size(x->fd, XDP_RX_RING, XSK_RX)) || (rc = set_size(x->fd, XDP_TX_RING, XSK_TX)))
        return rc;
    if (getsockopt(x->fd, SOL_XDP, XDP_MMAP_OFFSETS, &at, &bytes))
        return -errno;
    if ((rc = map_ring(x->fd, &x->fill, &at.fr, XSK_RX, sizeof(uint64_t), XDP_UMEM_PGOFF_FILL_RING)) ||
        (rc = map_ring(x->fd, &x->completion, &at.cr, XSK_TX, sizeof(uint64_t), XDP_UMEM_PGOFF_COMPLETION_RING)) ||
        (rc = map_ring(x->fd, &x->rx, &at.rx, XSK_RX, sizeof(struct xdp_desc), XDP_PGOFF_RX_RING)) ||
        (rc = map_ring(x->fd, &x->tx, &at.tx, XSK_TX, sizeof(struct xdp_desc), XDP_PGOFF_TX_RING)))
        return rc;
    return 0;
}

static const size_t memory_bytes = (size_t)(XSK_RX + XSK_TX) * XSK_CHUNK;

/* The kernel counts it as locked by this user, with what other sockets have, and says ENOBUFS when that is too much. */
bool sn_xdp_explain(int error, uint64_t limit, char *text, size_t size)
{
    if (error != -ENOBUFS)
        return false;
    snprintf(text, size,
             " (%zu bytes for packets count as locked memory, of which this user may have %llu in all, other sockets' included: "
             "`ulimit -l %zu` or more, or CAP_IPC_LOCK)",
             memory_bytes, (unsigned long long)limit, memory_bytes / 1024);
    return true;
}

static int register_memory(struct xdp *x)
{
    size_t bytes = memory_bytes;
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return -errno;
    madvise(p, bytes, MADV_DONTFORK);
    x->memory = p;
    struct xdp_umem_reg r = {.addr = (uintptr_t)p, .len = bytes, .chunk_size = XSK_CHUNK};
    return setsockopt(x->fd, SOL_XDP, XDP_UMEM_REG, &r, sizeof(r)) ? -errno : 0;
}

/* All chunks of the first part are the kernel's to fill, those of the second are ours to send. */
static void hand_out_chunks(struct xdp *x)
{
    uint64_t *fill = x->fill.entries;
    for (uint32_t i = 0; i < XSK_RX; i++)
        fill[i] = (uint64_t)i * XSK_CHUNK;
    __atomic_store_n(x->fill.producer, XSK_RX, __ATOMIC_RELEASE);
    for (uint32_t i = 0; i < XSK_TX; i++)
        x->free_tx[x->free_count++] = (uint64_t)(XSK_RX + i) * XSK_CHUNK;
}

int xdp_socket_open(struct xdp *x, const char *interface)
{
    struct sockaddr_xdp a = {.sxdp_family = AF_XDP, .sxdp_flags = XDP_COPY};
    int rc;
    a.sxdp_ifindex = if_nametoindex(interface);
    if (!a.sxdp_ifindex)
        return -ENODEV;
    x->fd = socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0);
    if (x->fd < 0)
        return -errno;
    sn_fd_track(x->fd);
    if ((rc = register_memory(x)) || (rc = make_rings(x)))
        return rc;
    hand_out_chunks(x);
    if (bind(x->fd, (struct sockaddr *)&a, sizeof(a)))
        return -errno;
    int *steps[] = {&x->map_fd, &x->program_fd, &x->link_fd};
    for (int i = 0; i < 3; i++) {
        rc = i == 0 ? make_map() : i == 1 ? load_program(x->map_fd) : attach(x->program_fd, (int)a.sxdp_ifindex);
        if (rc < 0)
            return rc;
        *steps[i] = rc;
        sn_fd_track(rc);
        if (i == 0 && (rc = put_in_map(x->map_fd, x->fd)) != 0)
            return rc;
    }
    return 0;
}

void xdp_socket_close(struct xdp *x)
{
    struct xdp_ring *rings[] = {&x->fill, &x->completion, &x->rx, &x->tx};
    int fds[] = {x->link_fd, x->program_fd, x->map_fd, x->fd};
    for (int i = 0; i < 4; i++)
        sn_fd_close(fds[i]);
    for (int i = 0; i < 4; i++)
        if (rings[i]->map)
            munmap(rings[i]->map, rings[i]->map_bytes);
    if (x->memory)
        munmap(x->memory, memory_bytes);
}
