/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two ports of one process over the shared-memory wire, driven by hand: bursts that are longer than the ring and are
 * refused on their way, datagrams, and a peer that gets no processor.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "datagram.h"
#include "harness.h"
#include "sides.h"
#include "softnic/fault/describe.h"
#include "softnic/wire/shm.h"
#include "softnic/wire/shm_process.h"

enum { LENGTH = 1 << 20, HANG_S = 60 /* no verdict but of a hang */ };

/* What is said of the other side's process, and how often somebody asked. */
static bool wants_cpu;
static unsigned asked;

static bool says(int pid)
{
    assert_int_equal(pid, getpid()); /* both sides are of this process */
    asked++;
    return wants_cpu;
}

/* Helper threads may have to get to run first, so only a hang has a limit. */
static const struct sn_cqe64 *wait_cqe(struct side *a, struct side *b, struct side *whose, bool receive, uint64_t ns)
{
    const struct sn_cqe64 *c;
    time_t end = time(NULL) + HANG_S;

    while ((c = receive ? next_rcqe(&whose->e) : next_cqe(&whose->e)) == NULL) {
        if (time(NULL) > end)
            fail_msg("no completion");
        sides_turn(a, b, 4, ns);
    }
    return c;
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
    side_open(&a, &o, 1, says);
    side_open(&b, &o, 2, says);
    ends_connect(&a.e, &b.e);
    fill(a.e.mem, LENGTH, 4);
    for (int round = 0; round < 4; round++) {
        uint64_t naks = 0;
        struct wr wr = wr_send(&a.e, 0, LENGTH);
        uint32_t index = post(&a.e, &wr);
        time_t end = time(NULL) + HANG_S;
        for (int i = 0; naks < 3 && time(NULL) <= end; i++) {
            struct sn_counters c;
            sides_turn(&a, &b, 1 + i % 3, 1000);
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
    side_open(&a, &o, 1, says);
    side_open(&b, &o, 2, says);
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

/* ---- a peer without a processor -------------------------------------------------------------------------------------- */

enum { TIMEOUT_CODE = 8, TIMEOUT_US = 1049 }; /* 4.096 us << 8 */

/* Turns of one side alone. */
static void alone(struct side *s, uint64_t us)
{
    for (uint64_t passed = 0; passed < us; passed += 100) {
        s->w.now += 100000;
        side_run(s);
    }
}

static struct sn_counters counters_of(struct side *s)
{
    struct sn_counters c;

    sn_nic_get_counters(s->e.nic, &c);
    return c;
}

static void open_both(struct side *a, struct side *b)
{
    struct options o = defaults;

    o.retry = 2;
    o.ack_timeout = TIMEOUT_CODE;
    asked = 0;
    wants_cpu = true;
    side_open(a, &o, 1, says);
    side_open(b, &o, 2, says);
    fill(a->e.mem, 4096, 3);
}

/* A WRITE that is answered, and the same again, which only `a` works on. */
static void write_twice(struct side *a, struct side *b, struct wr *wr)
{
    post(&a->e, wr);
    /* The connection takes real time, and none of the NICs'. */
    assert_int_equal(cqe_opcode(wait_cqe(a, b, a, false, 0)), SN_CQE_REQ);
    assert_int_equal(counters_of(a).peer_starved, 0);
    assert_int_equal(asked, 0); /* /proc is for timeouts alone */
    memset(b->e.mem, 0, 4096);
    post(&a->e, wr);
}

static void open_and_write(struct side *a, struct side *b, struct wr *wr)
{
    open_both(a, b);
    ends_connect(&a->e, &b->e);
    *wr = wr_write(&a->e, &b->e, 0, 0, 4096);
    write_twice(a, b, wr);
}

static void expect_retry_exceeded(struct side *a)
{
    const struct sn_cqe64 *c = next_cqe(&a->e);

    assert_non_null(c);
    assert_int_equal(cqe_opcode(c), SN_CQE_REQ_ERR);
    assert_int_equal(cqe_syndrome(c), SN_SYND_RETRY_EXCEEDED);
}

/* Many more timeouts than there are retries: none is counted, nothing is sent again, and at the end the WRITE is done. */
static void test_starved_peer(void **state)
{
    struct side a, b;
    struct wr wr;
    char text[2048];
    (void)state;

    open_and_write(&a, &b, &wr);
    alone(&a, 100 * TIMEOUT_US);
    assert_null(next_cqe(&a.e));
    assert_true(counters_of(&a).peer_starved >= 40);
    assert_int_equal(counters_of(&a).local_ack_timeout_err, counters_of(&a).peer_starved);
    assert_int_equal(counters_of(&a).retransmissions, 0);
    sn_port_lock(a.w.port);
    assert_true(sn_qp_describe(a.e.nic, a.e.qpn, text, sizeof(text)) > 0);
    sn_port_unlock(a.w.port);
    assert_non_null(strstr(text, "gets no processor"));
    assert_int_equal(cqe_opcode(wait_cqe(&a, &b, &a, false, 1000)), SN_CQE_REQ);
    assert_memory_equal(b.e.mem, a.e.mem, 4096);
    assert_int_equal(counters_of(&b).duplicate_request, 0);
    side_close(&a);
    side_close(&b);
}

static void connect_again(struct side *s, struct end *peer)
{
    sn_port_lock(s->w.port);
    end_reconnect(&s->e, peer);
    sn_port_unlock(s->w.port);
}

/* So it is for short messages of a queue pair that had a peer inside its port before. */
static void test_starved_peer_of_a_new_connection(void **state)
{
    struct side a, b;
    (void)state;

    open_both(&a, &b);
    ends_connect(&a.e, &b.e);
    struct wr wr = wr_write(&a.e, &b.e, 0, 0, 8);
    post(&a.e, &wr);
    assert_int_equal(cqe_opcode(wait_cqe(&a, &b, &a, false, 0)), SN_CQE_REQ); /* from here on the wire takes them */
    connect_again(&a, &a.e);
    wr = wr_read(&a.e, &a.e, 0, 4096, 4096); /* nothing short: the peer is looked up */
    post(&a.e, &wr);
    assert_int_equal(cqe_opcode(wait_cqe(&a, &b, &a, false, 0)), SN_CQE_REQ);
    connect_again(&a, &b.e);
    connect_again(&b, &a.e);
    wr = wr_write(&a.e, &b.e, 0, 0, 8);
    write_twice(&a, &b, &wr);
    alone(&a, 100 * TIMEOUT_US);
    assert_null(next_cqe(&a.e));
    assert_true(counters_of(&a).peer_starved >= 40);
    assert_int_equal(counters_of(&a).retransmissions, 0); /* not one: its first timeout is of a short message, too */
    assert_int_equal(cqe_opcode(wait_cqe(&a, &b, &a, false, 1000)), SN_CQE_REQ);
    assert_memory_equal(b.e.mem, a.e.mem, 8);
    side_close(&a);
    side_close(&b);
}

/* Stopped, dead, or all asleep: the same silence counts. */
static void test_silent_peer(void **state)
{
    struct side a, b;
    struct wr wr;
    (void)state;

    open_and_write(&a, &b, &wr);
    wants_cpu = false;
    alone(&a, 8 * TIMEOUT_US);
    expect_retry_exceeded(&a);
    assert_int_equal(counters_of(&a).peer_starved, 0);
    assert_int_equal(asked, 3); /* once a timeout: two retries, and the last */
    side_close(&a);
    side_close(&b);
}

/* The patience has an end. */
static void test_starved_for_ever(void **state)
{
    struct side a, b;
    struct wr wr;
    (void)state;

    open_and_write(&a, &b, &wr);
    alone(&a, 9900000);
    assert_null(next_cqe(&a.e));
    alone(&a, 200000);
    expect_retry_exceeded(&a);
    side_close(&a);
    side_close(&b);
}

/* From now on it takes what comes and answers nothing. */
static void fall_silent(struct side *s)
{
    sn_port_lock(s->w.port);
    assert_int_equal(sn_qp_modify(s->e.nic, s->e.qpn, SN_QP_ERR, NULL, 0), 0);
    sn_port_unlock(s->w.port);
}

/* Nor does a look now and then, without an answer, give it more. */
static void test_starved_with_looks(void **state)
{
    struct side a, b;
    struct wr wr;
    (void)state;

    open_and_write(&a, &b, &wr);
    fall_silent(&b);
    alone(&a, 5000000);
    side_run(&b);
    alone(&a, 4800000);
    assert_null(next_cqe(&a.e));
    alone(&a, 300000);
    expect_retry_exceeded(&a);
    side_close(&a);
    side_close(&b);
}

/* A peer that looks and does not answer is not starved. */
static void test_looks_and_is_silent(void **state)
{
    struct side a, b;
    struct wr wr;
    (void)state;

    open_and_write(&a, &b, &wr);
    fall_silent(&b);
    for (int i = 0; i < 80; i++) {
        alone(&a, 100);
        side_run(&b);
    }
    expect_retry_exceeded(&a);
    assert_int_equal(counters_of(&a).peer_starved, 0);
    side_close(&a);
    side_close(&b);
}

/*
 * It is the requester that had no processor: when its clock is looked at again, after many timeouts' time and in a turn that
 * puts the wire off for a doorbell, the acknowledgement lies on the wire. It counts, not the time.
 */
static void test_own_starvation(void **state)
{
    struct side a, b;
    struct wr wr;
    unsigned done = 0;
    (void)state;

    open_and_write(&a, &b, &wr);
    wants_cpu = false;
    for (int i = 0; i < 64; i++) {
        side_run(&a); /* sends, and arms the timer */
        side_run(&a);
        for (int k = 0; k < 4; k++)
            side_run(&b); /* answers */
        a.w.now += 1000ull * TIMEOUT_US * 1000;
        post(&a.e, &wr);
        side_run(&a);
        for (const struct sn_cqe64 *c; (c = next_cqe(&a.e)) != NULL; done++)
            assert_int_equal(cqe_opcode(c), SN_CQE_REQ);
    }
    for (; done < 65; done++)
        assert_int_equal(cqe_opcode(wait_cqe(&a, &b, &a, false, 0)), SN_CQE_REQ);
    assert_int_equal(counters_of(&a).local_ack_timeout_err, 0);
    side_close(&a);
    side_close(&b);
}

static void let_it_look_again(void)
{
    const struct timespec moment = {.tv_nsec = 15000000}; /* /proc is read every 10 ms at most */

    nanosleep(&moment, NULL);
}

/* What /proc says: of a process that runs, that sleeps, that is stopped, and that is gone. */
static void test_process_states(void **state)
{
    siginfo_t info;
    int status;
    (void)state;

    assert_true(sn_process_wants_cpu(getpid())); /* it is running right now */
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            pause();
    }
    for (int i = 0; i < 10000 && sn_process_wants_cpu(child); i++)
        let_it_look_again();
    assert_false(sn_process_wants_cpu(child)); /* asleep */
    assert_int_equal(kill(child, SIGSTOP), 0);
    assert_int_equal(waitpid(child, &status, WUNTRACED), child);
    assert_false(sn_process_wants_cpu(child));
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
    assert_false(sn_process_wants_cpu(child)); /* a zombie */
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_false(sn_process_wants_cpu(child));
    assert_false(sn_process_wants_cpu(0)); /* a peer in another namespace of process ids */
}

enum { SLEEPERS = 5 };

static void *sleeps(void *arg)
{
    for (;;)
        pause();
    return arg;
}

static void *spins(void *arg)
{
    for (volatile unsigned i = 0;; i++)
        ;
    return arg;
}

/* One call looks at a few threads only, and the next one goes on with the others: the one that is last is found, too. */
static void test_process_of_many_threads(void **state)
{
    int status, calls;
    bool soon = false;
    (void)state;

    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        pthread_t thread;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (int i = 0; i <= SLEEPERS; i++)
            if (pthread_create(&thread, NULL, i == SLEEPERS ? spins : sleeps, NULL) != 0)
                _exit(1);
        sleeps(NULL);
    }
    /* Seven threads: at rest, three calls that look at two find nobody, and the fourth finds the one that spins. */
    for (int i = 0; i < 1000 && !soon; i++) {
        let_it_look_again();
        for (calls = 1; calls < 1000 && !sn_process_wants_cpu_among(child, 2); calls++)
            ;
        for (calls = 1; calls < 1000 && !sn_process_wants_cpu_among(child, 2); calls++)
            ;
        soon = calls == 4; /* a sanitizer may have an eighth one */
    }
    assert_true(soon);
    assert_true(sn_process_wants_cpu_among(child, 100)); /* all of them, from wherever that begins */
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, &status, 0), child);
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

    side_open(&a, &o, 1, says);
    side_open(&b, &o, 2, says);
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
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refused_on_its_way),
        cmocka_unit_test(test_datagram),
        cmocka_unit_test(test_starved_peer),
        cmocka_unit_test(test_starved_peer_of_a_new_connection),
        cmocka_unit_test(test_silent_peer),
        cmocka_unit_test(test_starved_for_ever),
        cmocka_unit_test(test_starved_with_looks),
        cmocka_unit_test(test_looks_and_is_silent),
        cmocka_unit_test(test_own_starvation),
        cmocka_unit_test(test_process_states),
        cmocka_unit_test(test_process_of_many_threads),
        cmocka_unit_test(test_by_reference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
