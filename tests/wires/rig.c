/* SPDX-License-Identifier: Apache-2.0 */
#include "rig.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "softnic/wire/raw.h"

enum { SECONDS = 60 /* a hang guard */ };

void skip_all(const char *reason, ...)
{
    va_list args;
    va_start(args, reason);
    printf("SKIP: ");
    vprintf(reason, args);
    printf("\n");
    va_end(args);
    exit(77);
}

bool sh(const char *command)
{
    return system(command) == 0;
}

static bool write_file(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    if (fd >= 0)
        close(fd);
    return ok;
}

bool own_network(void)
{
    char map[64];
    snprintf(map, sizeof(map), "0 %u 1", (unsigned)getuid());
    if (unshare(CLONE_NEWNET) != 0 &&
        (unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0 || !write_file("/proc/self/uid_map", map)))
        return false;
    return sh("ip link set lo up 2>/dev/null");
}

void gid_of(const char *address, uint8_t gid[16])
{
    memset(gid, 0, 16);
    if (inet_pton(AF_INET6, address, gid) == 1)
        return;
    gid[10] = gid[11] = 0xff;
    assert_int_equal(inet_pton(AF_INET, address, gid + 12), 1);
}

static void open_station(struct station *s, struct sn_backend *backend, const char *address, const struct options *o,
                         uint64_t seed, bool threads);

void datagram_pair(struct sn_backend **first, struct sn_backend **second)
{
    static const uint8_t mac_a[6] = {2, 0, 0, 0, 0, 1}, mac_b[6] = {2, 0, 0, 0, 0, 2};
    int fd[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fd), 0);
    assert_int_equal(sn_dgram_open_fd(fd[0], mac_a, first), 0);
    assert_int_equal(sn_dgram_open_fd(fd[1], mac_b, second), 0);
}

uint64_t (*station_now)(void *arg);

void station_open(struct station *s, struct sn_backend *backend, const char *address, const struct options *o)
{
    station_open_seeded(s, backend, address, o, 0);
}

void station_open_seeded(struct station *s, struct sn_backend *backend, const char *address, const struct options *o,
                         uint64_t seed)
{
    open_station(s, backend, address, o, seed, false);
}

void station_open_threaded(struct station *s, struct sn_backend *backend, const char *address, const struct options *o)
{
    open_station(s, backend, address, o, 0, true);
}

static void open_station(struct station *s, struct sn_backend *backend, const char *address, const struct options *o,
                         uint64_t seed, bool threads)
{
    struct sn_port_config config = {.no_thread = !threads, .burst_bytes = o->burst_bytes, .gpu = o->gpu,
                                    .now = station_now};
    struct sn_nic_config nic = {.name = "softnic", .gid_count = 1, .seed = seed};
    memset(s, 0, sizeof(*s));
    gid_of(address, nic.gid[0]);
    memcpy(nic.mac, backend->mac, 6);
    assert_int_equal(sn_port_create(&config, &s->w.port), 0);
    assert_int_equal(sn_packet_wire_create(s->w.port, backend, !threads, &s->wire), 0);
    sn_port_lock(s->w.port);
    sn_port_attach_wire(s->w.port, s->wire);
    sn_port_unlock(s->w.port);
    assert_int_equal(sn_packet_bind(s->wire, (const uint8_t(*)[16])nic.gid, 1, &nic.slot), 0);
    sn_port_lock(s->w.port);
    assert_int_equal(sn_nic_create(s->w.port, &nic, &s->w.nic[0]), 0);
    end_open(&s->e, &s->w, 0, o);
    sn_port_unlock(s->w.port);
}

void station_close(struct station *s)
{
    uint8_t gid[16];
    memcpy(gid, sn_nic_get_config(s->w.nic[0])->gid[0], 16);
    sn_port_lock(s->w.port);
    end_close(&s->e);
    sn_port_unlock(s->w.port);
    sn_packet_unbind(s->wire, gid);
    sn_port_lock(s->w.port);
    assert_int_equal(sn_nic_destroy(s->w.nic[0]), 0);
    sn_port_attach_wire(s->w.port, NULL);
    sn_port_unlock(s->w.port);
    s->wire->ops->destroy(s->wire);
    sn_port_destroy(s->w.port);
}

void stations_connect(struct station *a, struct station *b)
{
    ends_connect(&a->e, &b->e);
}

bool stations_run(struct station *a, struct station *b, bool (*done)(void *arg), void *arg)
{
    time_t end = time(NULL) + SECONDS;
    while (!done(arg)) {
        int work = sn_port_run(a->w.port) + sn_port_run(b->w.port);
        if (work == 0 && time(NULL) > end)
            return false;
    }
    return true;
}

static const struct sn_cqe64 *got;

static bool has_cqe(void *arg)
{
    got = next_cqe(arg);
    return got != NULL;
}

void station_expect(struct station *a, struct station *b, uint32_t index)
{
    if (!stations_run(a, b, has_cqe, &a->e))
        fail_msg("WQE %u: no completion", index);
    if (cqe_opcode(got) != SN_CQE_REQ)
        fail_msg("WQE %u: opcode 0x%x syndrome 0x%02x", index, cqe_opcode(got), cqe_syndrome(got));
    assert_int_equal(sn_get16(got->wqe_counter), index & 0xffff);
}

static bool has_rcqe(void *arg)
{
    got = next_rcqe(arg);
    return got != NULL;
}

/* ---- every operation -------------------------------------------------------------------------------------------- */

enum { COUNTER = MEM_SIZE - 64, RESULT = MEM_SIZE - 128, HALF = MEM_SIZE / 2, MOST = 1 << 17 };

static void do_write(struct station *a, struct station *b, uint32_t length, uint32_t seed)
{
    fill(a->e.mem, length, seed);
    struct wr wr = wr_write(&a->e, &b->e, 0, HALF + seed % 7, length);
    b->e.mem[HALF + seed % 7 + length] = 0x5a;
    station_expect(a, b, post(&a->e, &wr));
    assert_memory_equal(a->e.mem, b->e.mem + HALF + seed % 7, length);
    assert_int_equal(b->e.mem[HALF + seed % 7 + length], 0x5a);
}

static void do_read(struct station *a, struct station *b, uint32_t length, uint32_t seed)
{
    fill(b->e.mem, length, seed);
    struct wr wr = wr_read(&a->e, &b->e, HALF, 0, length);
    station_expect(a, b, post(&a->e, &wr));
    assert_memory_equal(a->e.mem + HALF, b->e.mem, length);
}

static void do_send(struct station *a, struct station *b, uint32_t length, uint32_t seed)
{
    fill(a->e.mem, length, seed);
    post_recv(&b->e, b->e.mem + HALF, MOST, b->e.mkey);
    struct wr wr = wr_send(&a->e, 0, length);
    uint32_t index = post(&a->e, &wr);
    assert_true(stations_run(a, b, has_rcqe, &b->e));
    assert_int_equal(sn_get32(got->byte_cnt), length);
    station_expect(a, b, index);
    assert_memory_equal(a->e.mem, b->e.mem + HALF, length);
}

static void do_add(struct station *a, struct station *b, uint64_t add)
{
    uint64_t before, after, result;
    memcpy(&before, b->e.mem + COUNTER, 8);
    struct wr wr = wr_fetch_add(&a->e, &b->e, RESULT, COUNTER, add);
    station_expect(a, b, post(&a->e, &wr));
    memcpy(&after, b->e.mem + COUNTER, 8);
    memcpy(&result, a->e.mem + RESULT, 8);
    assert_int_equal(after, before + add);
    assert_int_equal(result, before);
}

void exercise(struct station *a, struct station *b, unsigned rounds, uint32_t seed)
{
    uint32_t mtu = 128u << a->e.o.mtu;
    const uint32_t edge[] = {0, 1, 3, 8, mtu - 1, mtu, mtu + 1, 2 * mtu, 3 * mtu + 5, 64 * mtu, MOST};
    for (unsigned i = 0; i < rounds; i++) {
        struct station *from = i & 1 ? b : a, *to = i & 1 ? a : b;
        uint32_t length, pick = seed + i;
        fill((uint8_t *)&pick, sizeof(pick), seed + i);
        length = i < sizeof(edge) / sizeof(edge[0]) ? edge[i] : pick >> 8 & (MOST - 1);
        length = length > MOST ? MOST : length;
        do_write(from, to, length, seed + i);
        do_read(from, to, length, seed + i * 3);
        do_send(from, to, length, seed + i * 5);
        do_add(from, to, pick);
    }
}
