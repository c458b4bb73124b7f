/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ports with threads of their own: the wire's helper wakes a port that sleeps when frames arrive, and both drive it.
 * The test only posts, and waits for completions.
 */
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

#include "rig.h"
#include "softnic/wire/raw.h"
#include "softnic/wire/udp.h"

static struct station a, b;

static void nap(long us)
{
    nanosleep(&(struct timespec){.tv_nsec = us * 1000}, NULL);
}

static void wait_ok(struct station *s, uint32_t index)
{
    const struct sn_cqe64 *c;
    time_t end = time(NULL) + 60;
    while ((c = next_cqe(&s->e)) == NULL) {
        assert_true(time(NULL) <= end);
        sched_yield();
    }
    if (cqe_opcode(c) != SN_CQE_REQ)
        fail_msg("WQE %u: syndrome 0x%02x", index, cqe_syndrome(c));
    assert_int_equal(sn_get16(c->wqe_counter), index & 0xffff);
}

/* Longer and longer rests in between: both ends are asleep in most of them. */
static void talk(void)
{
    for (unsigned i = 0; i < 120; i++) {
        struct station *from = i & 1 ? &b : &a, *to = i & 1 ? &a : &b;
        uint32_t length = 1 + i * 311 % 20000;
        nap(i % 8 * 400);
        fill(from->e.mem, length, i);
        struct wr wr = wr_write(&from->e, &to->e, 0, MEM_SIZE / 2, length);
        uint32_t index = post(&from->e, &wr);
        sn_port_wake(from->w.port);
        wait_ok(from, index);
        assert_memory_equal(from->e.mem, to->e.mem + MEM_SIZE / 2, length);
    }
}

static void run(struct sn_backend *first, struct sn_backend *second, const char *from, const char *to)
{
    struct options o = defaults;
    struct sn_packet_counters before, after;
    sn_packet_count(&before);
    o.mtu = 5;
    o.ack_timeout = 17; /* half a second: a thread may not get a processor for long */
    station_open_threaded(&a, first, from, &o);
    station_open_threaded(&b, second, to, &o);
    sn_port_lock(a.w.port);
    sn_port_lock(b.w.port);
    stations_connect(&a, &b);
    sn_port_unlock(b.w.port);
    sn_port_unlock(a.w.port);
    talk();
    sn_packet_count(&after);
    printf("%s: %llu wakes\n", first->ops->name, (unsigned long long)(after.wakes - before.wakes));
    assert_true(after.wakes > before.wakes);
    station_close(&a);
    station_close(&b);
}

static void udp_sockets(void **state)
{
    struct sn_backend *first, *second;
    (void)state;
    assert_int_equal(sn_udp_open(&first), 0);
    assert_int_equal(sn_udp_open(&second), 0);
    run(first, second, "127.0.0.1", "127.0.0.1");
}

static void datagrams(void **state)
{
    struct sn_backend *first, *second;
    (void)state;
    datagram_pair(&first, &second);
    run(first, second, "192.0.2.1", "192.0.2.2");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(udp_sockets), cmocka_unit_test(datagrams)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
