/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two ports of one process over the shared-memory wire, driven by hand: bursts that are longer than the ring and are
 * refused on their way, and datagrams.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "datagram.h"
#include "harness.h"
#include "softnic/wire/shm.h"

enum { RING = 65536, LENGTH = 1 << 20 };

struct side {
    struct world w; /* its second NIC is nobody's */
    struct sn_wire *wire;
    struct end e;
};

/* World without NICs of the harness's numbers: the wire gives the slot. */
static void side_open(struct side *s, struct options *o, uint8_t host)
{
    struct sn_shm_config config = {.ring_bytes = RING, .passive = true};
    uint8_t gid[1][16] = {{0xfd, 0x77, [14] = host}}, slot;

    gid[0][8] = (uint8_t)(getpid() >> 8);
    gid[0][9] = (uint8_t)getpid();
    memset(s, 0, sizeof(*s));
    world_open(&s->w, o);
    assert_int_equal(sn_shm_create(s->w.port, &config, &s->wire), 0);
    assert_int_equal(sn_shm_bind(s->wire, gid, 1, &slot), 0);
    struct sn_nic_config nic = {.name = "softnic9", .gid_count = 1, .slot = slot, .seed = 5};
    memcpy(nic.gid[0], gid[0], 16);
    assert_int_equal(sn_nic_destroy(s->w.nic[0]), 0);
    assert_int_equal(sn_nic_create(s->w.port, &nic, &s->w.nic[0]), 0);
    sn_port_attach_wire(s->w.port, s->wire);
    end_open(&s->e, &s->w, 0, o);
}

static void side_close(struct side *s)
{
    sn_port_lock(s->w.port); /* the wire's helper thread may just be told that the other side is gone */
    end_close(&s->e);
    sn_port_attach_wire(s->w.port, NULL);
    sn_port_unlock(s->w.port);
    s->wire->ops->destroy(s->wire);
    world_close(&s->w);
}

/* Turns of both, in virtual time; the connection is made by the wire's helper threads, in real time. */
static void turns(struct side *a, struct side *b, int n, uint64_t ns)
{
    const struct timespec moment = {.tv_nsec = 50000};

    for (int i = 0; i < n; i++) {
        a->w.now += ns;
        b->w.now += ns;
        sn_port_run(a->w.port);
        sn_port_run(b->w.port);
        if (i % 16 == 0)
            nanosleep(&moment, NULL);
    }
}

static const struct sn_cqe64 *wait_cqe(struct side *a, struct side *b, struct side *whose, bool receive, uint64_t ns)
{
    for (int i = 0; i < 20000; i++) {
        const struct sn_cqe64 *c = receive ? next_rcqe(&whose->e) : next_cqe(&whose->e);
        if (c != NULL)
            return c;
        turns(a, b, 4, ns);
    }
    fail_msg("no completion");
    return NULL;
}

/*
 * A SEND that does not fit the ring is refused for want of a receive while half of it is in the ring. When it is sent
 * again, it is sent from its start: with not one retry to spare, anything else ends in "retry exceeded".
 */
static void test_refused_on_its_way(void **state)
{
    struct options o = defaults;
    struct side a, b;
    (void)state;

    o.retry = 0;
    o.rnr_retry = 7;
    o.min_rnr = 1;
    o.ack_timeout = 0;
    side_open(&a, &o, 1);
    side_open(&b, &o, 2);
    ends_connect(&a.e, &b.e);
    fill(a.e.mem, LENGTH, 4);
    for (int round = 0; round < 4; round++) {
        uint64_t naks = 0;
        struct wr wr = wr_send(&a.e, 0, LENGTH);
        uint32_t index = post(&a.e, &wr);
        for (int i = 0; i < 2000 && naks < 3; i++) {
            struct sn_counters c;
            turns(&a, &b, 1 + i % 3, 1000);
            sn_nic_get_counters(a.e.nic, &c);
            naks = c.rnr_nak_retry_err - 3u * (unsigned)round;
        }
        assert_true(naks >= 3);
        memset(b.e.mem, 0, LENGTH);
        post_recv(&b.e, b.e.mem, LENGTH, b.e.mkey);
        const struct sn_cqe64 *c = wait_cqe(&a, &b, &a, false, 10000);
        if (cqe_opcode(c) != SN_CQE_REQ)
            fail_msg("WQE %u: syndrome 0x%02x", index, cqe_syndrome(c));
        c = wait_cqe(&a, &b, &b, true, 10000);
        assert_int_equal(cqe_opcode(c), SN_CQE_RESP_SEND);
        assert_int_equal(sn_get32(c->byte_cnt), LENGTH);
        assert_memory_equal(b.e.mem, a.e.mem, LENGTH);
        struct sn_counters after;
        sn_nic_get_counters(a.e.nic, &after);
        assert_int_equal(after.packet_seq_err, 0);
        if (after.rnr_nak_retry_err != 3u * (unsigned)(round + 1))
            break; /* a further NAK was on its way: the count of the next round would be off */
    }
    side_close(&a);
    side_close(&b);
}

/* Datagrams: Q_Key, sender, traffic class, flow label and hop limit come across. */
static void test_datagram(void **state)
{
    struct options o = defaults;
    struct side a, b;
    (void)state;

    o.service = SN_SERVICE_UD;
    o.qkey = 0x1234567;
    side_open(&a, &o, 1);
    side_open(&b, &o, 2);
    ends_connect(&a.e, &b.e);
    fill(a.e.mem, 4096, 5);
    for (uint32_t k = 0; k < 4; k++) {
        uint32_t length = k == 0 ? 5 : 1000;
        struct datagram d = {.qpn = b.e.qpn,
                             .qkey = k == 3 ? 0x80000000 : o.qkey,
                             .length = length,
                             .tclass = 0x44,
                             .hops = 9,
                             .flow = 0x54321};
        memcpy(d.gid, sn_nic_get_config(b.e.nic)->gid[0], 16);
        post_recv(&b.e, b.e.mem, 2048, b.e.mkey);
        put_datagram(&a.e, &d);
        ring(&a.e);
        const struct sn_cqe64 *c = wait_cqe(&a, &b, &a, false, 1000);
        assert_int_equal(cqe_opcode(c), SN_CQE_REQ);
        c = wait_cqe(&a, &b, &b, true, 1000);
        assert_int_equal(cqe_opcode(c), SN_CQE_RESP_SEND);
        assert_int_equal(sn_get32(c->byte_cnt), 40 + length);
        assert_int_equal(sn_get32(c->flags_rqpn) & 0xffffff, a.e.qpn);
        assert_memory_equal(b.e.mem + 40, a.e.mem, length);
        assert_memory_equal(b.e.mem, ((uint8_t[]){0x64, 0x45, 0x43, 0x21}), 4);
        assert_int_equal(b.e.mem[7], 9);
        assert_memory_equal(b.e.mem + 8, sn_nic_get_config(a.e.nic)->gid[0], 16);
    }
    side_close(&a);
    side_close(&b);
}

/* ---- payload by reference ------------------------------------------------------------------------------------------ */

enum { FILE_BYTES = 1 << 21 };

/* A mapped memory file, at `at` unless that is NULL. */
static uint8_t *map_file(uint8_t *at, int seals, int *fd)
{
    *fd = memfd_create("test-window", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    assert_true(*fd >= 0);
    assert_int_equal(ftruncate(*fd, FILE_BYTES), 0);
    if (seals != 0)
        assert_int_equal(fcntl(*fd, F_ADD_SEALS, seals), 0);
    uint8_t *p = mmap(at, FILE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | (at != NULL ? MAP_FIXED : 0), *fd, 0);
    assert_true(p != MAP_FAILED);
    return p;
}

static uint64_t by_reference(void)
{
    struct sn_shm_counters c;

    sn_shm_count(&c);
    return c.bytes_by_reference;
}

static uint32_t new_key(struct side *s, uint8_t *at)
{
    sn_port_lock(s->w.port);
    uint32_t key = end_key(&s->e, at, FILE_BYTES, (uintptr_t)at, 0);
    sn_port_unlock(s->w.port);
    return key;
}

static void drop_key(struct side *s, uint32_t key)
{
    sn_port_lock(s->w.port);
    assert_int_equal(sn_mkey_destroy(s->e.nic, key), 0);
    sn_port_unlock(s->w.port);
}

/* WRITE of `length` bytes from the file; every byte is compared. Returns how many went by reference. */
static uint64_t write_from(struct side *a, struct side *b, const uint8_t *from, uint32_t key, uint32_t length)
{
    struct wr wr = wr_write(&a->e, &b->e, 0, 64, length);
    uint64_t before = by_reference();

    wr.sge[0].addr = (uintptr_t)from;
    wr.sge[0].lkey = key;
    memset(b->e.mem, 0, MEM_SIZE);
    uint32_t index = post(&a->e, &wr);
    const struct sn_cqe64 *c = wait_cqe(a, b, a, false, 1000);
    if (cqe_opcode(c) != SN_CQE_REQ)
        fail_msg("WQE %u: syndrome 0x%02x", index, cqe_syndrome(c));
    assert_memory_equal(b->e.mem + 64, from, length);
    for (uint32_t i = 0; i < 64; i++)
        assert_int_equal(b->e.mem[i] | b->e.mem[64 + length + i], 0);
    return by_reference() - before;
}

static void let_it_look_again(void)
{
    const struct timespec moment = {.tv_nsec = 15000000}; /* /proc is read every 10 ms at most */

    nanosleep(&moment, NULL);
}

/*
 * Memory files that cannot shrink are shown to the peer, others are not, and both arrive. After a key has gone, another file
 * may lie at the same address: its bytes arrive, not those of the first one.
 */
static void test_by_reference(void **state)
{
    struct options o = defaults;
    struct side a, b;
    int fd[3];
    uint8_t *at;
    uint32_t key;
    (void)state;

    side_open(&a, &o, 1);
    side_open(&b, &o, 2);
    ends_connect(&a.e, &b.e);
    at = map_file(NULL, F_SEAL_SHRINK, &fd[0]);
    fill(at, FILE_BYTES, 11);
    key = new_key(&a, at);
    write_from(&a, &b, at, key, 8); /* makes the connection */
    assert_int_equal(write_from(&a, &b, at, key, 65536), 65536);
    assert_int_equal(write_from(&a, &b, at + 4095, key, 16384), 16384);
    assert_int_equal(write_from(&a, &b, at + 77, key, 1000000), 1000000 / 262144 * 262144 + 1000000 % 262144);
    assert_int_equal(write_from(&a, &b, at + FILE_BYTES - 65536, key, 65536), 65536); /* to its very end */
    assert_int_equal(write_from(&a, &b, at, key, 1000), 0);                           /* too short to be worth it */
    let_it_look_again();
    assert_int_equal(write_from(&a, &b, a.e.mem, a.e.mkey, 65536), 0); /* no file at all */

    drop_key(&a, key);
    at = map_file(at, F_SEAL_SHRINK, &fd[1]);
    fill(at, FILE_BYTES, 12);
    key = new_key(&a, at);
    write_from(&a, &b, at, key, 65536); /* by the ring, or by the new window: never the old file's bytes */
    let_it_look_again();
    write_from(&a, &b, at, key, 65536);
    let_it_look_again();
    assert_int_equal(write_from(&a, &b, at + 128, key, 65536), 65536);

    drop_key(&a, key);
    at = map_file(at, 0, &fd[2]); /* could be cut short under the peer's reads */
    fill(at, FILE_BYTES, 13);
    key = new_key(&a, at);
    for (int i = 0; i < 3; i++) {
        let_it_look_again();
        assert_int_equal(write_from(&a, &b, at + 64, key, 65536), 0);
    }
    drop_key(&a, key);
    side_close(&a);
    side_close(&b);
    munmap(at, FILE_BYTES);
    for (int i = 0; i < 3; i++)
        close(fd[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_refused_on_its_way), cmocka_unit_test(test_datagram),
                                       cmocka_unit_test(test_by_reference)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
