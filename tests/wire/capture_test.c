/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A port's traffic as capture files: every operation kind, over IPv4 and IPv6, at every path MTU. What was captured is
 * played back to the engine, from both sides. With a folder as argument the files stay there (tshark.sh reads them).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "../softnic/datagram.h"
#include "format/bth.h"
#include "replay.h"
#include "softnic/wire/capture.h"
#include "softnic/wire/opcode.h"
#include "softnic/wire/pcap.h"

static char folder[256];
static bool keep;

static void path_of(const char *name, char *out, size_t size)
{
    assert_true(snprintf(out, size, "%s/%s", folder, name) < (int)size);
}

/* ---- two NICs of one port ------------------------------------------------------------------------------------------
 */

struct pair {
    struct world w;
    struct end a, b;
    struct sn_capture *capture;
    char path[512];
};

static uint64_t virtual_now(void *arg)
{
    return ((struct world *)arg)->now;
}

static void open_pair(struct pair *p, const struct options *o, bool ipv4, const char *name)
{
    static const uint8_t gid[2][16] = {{0xfd, [15] = 1}, {[10] = 0xff, [11] = 0xff, [12] = 10, [15] = 1}};
    struct sn_port_config port = {.now = virtual_now, .now_arg = &p->w, .no_thread = true};
    char actual[512];

    memset(p, 0, sizeof(*p));
    p->w.now = 5000000000; /* in 1970: virtual time is written as it is */
    assert_int_equal(sn_port_create(&port, &p->w.port), 0);
    for (unsigned i = 0; i < 2; i++) {
        struct sn_nic_config nic = {.name = "softnic", .gid_count = 1, .slot = (uint8_t)(i + 1), .seed = 42 + i};
        memcpy(nic.gid[0], gid[ipv4], 16);
        nic.gid[0][15] += (uint8_t)i;
        assert_int_equal(sn_nic_create(p->w.port, &nic, &p->w.nic[i]), 0);
    }
    path_of(name, p->path, sizeof(p->path));
    assert_int_equal(sn_capture_start(p->w.port, p->path, actual, sizeof(actual), &p->capture), 0);
    assert_string_equal(actual, p->path);
    end_open(&p->a, &p->w, 0, o);
    end_open(&p->b, &p->w, 1, o);
    ends_connect(&p->a, &p->b);
    fill(p->a.mem, 65536, 1);
    fill(p->b.mem, 65536, 2);
}

static void close_pair(struct pair *p)
{
    end_close(&p->a);
    end_close(&p->b);
    assert_int_equal(sn_capture_stop(p->capture), 0);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(sn_nic_destroy(p->w.nic[i]), 0);
    sn_port_destroy(p->w.port);
}

static void run_wr(struct pair *p, struct wr wr)
{
    uint32_t index = post(&p->a, &wr);

    world_run(&p->w);
    expect_ok(&p->a, index);
}

static struct wr with_opcode(struct wr wr, uint8_t opcode)
{
    wr.opcode = opcode;
    return wr;
}

static struct wr with_imm(struct wr wr, uint8_t opcode)
{
    wr.opcode = opcode;
    wr.imm = 0xefbeadde;
    wr.fm_ce_se |= SN_WQE_SOLICITED;
    return wr;
}

static void receive(struct pair *p, uint32_t length)
{
    post_recv(&p->b, p->b.mem + 65536, length, p->b.mkey);
}

static unsigned frames_of(const char *path)
{
    struct vector v;
    unsigned n;

    vector_load(&v, path); /* each is whole, and its CRC is good */
    n = v.count;
    vector_free(&v);
    return n;
}

/* Both sides again, without any liberty. */
static void play_back(const char *path)
{
    struct vector v;

    vector_load(&v, path);
    for (int responder = 0; responder < 2; responder++) {
        struct replay_verdict w;

        replay_find(&v, responder, &w);
        if (!w.fits || w.fault != FAULT_NONE)
            fail_msg("%s, %s: %s", v.name, responder ? "responder" : "requester", w.why);
        for (unsigned n = 0; n < LIBERTIES; n++)
            if (w.liberty[n] != 0)
                fail_msg("%s, %s: %s", v.name, responder ? "responder" : "requester", replay_liberty_name[n]);
    }
    vector_free(&v);
}

/* ---- operations ----------------------------------------------------------------------------------------------------
 */

static void connection(uint8_t mtu, bool ipv4)
{
    struct options o = defaults;
    uint32_t bytes = sn_mtu_bytes(mtu), packets;
    struct pair p;
    char name[64];

    o.mtu = mtu;
    o.psn = 0xfffff8; /* wraps on the way (9.7.1) */
    snprintf(name, sizeof(name), "rc_%u_ipv%u.pcap", bytes, ipv4 ? 4 : 6);
    open_pair(&p, &o, ipv4, name);
    run_wr(&p, wr_write(&p.a, &p.b, 0, 0, 8));
    run_wr(&p, wr_write(&p.a, &p.b, 3, 16, 3 * bytes + 5));
    receive(&p, 0);
    run_wr(&p, with_imm(wr_write(&p.a, &p.b, 0, 0, 2 * bytes), SN_OPCODE_RDMA_WRITE_IMM));
    receive(&p, 65536);
    run_wr(&p, wr_send(&p.a, 1, 11));
    receive(&p, 65536);
    run_wr(&p, with_imm(wr_send(&p.a, 1, 2 * bytes + 13), SN_OPCODE_SEND_IMM));
    run_wr(&p, wr_read(&p.a, &p.b, 65536, 32768, 8));
    run_wr(&p, wr_read(&p.a, &p.b, 65536, 32771, 4 * bytes + 1));
    run_wr(&p, wr_fetch_add(&p.a, &p.b, 65536, 49152, 7));
    run_wr(&p, with_opcode(wr_fetch_add(&p.a, &p.b, 65536, 49160, 7), SN_OPCODE_ATOMIC_CS));
    run_wr(&p, wr_write(&p.a, &p.b, 0, 0, 0)); /* an empty message takes a packet */
    close_pair(&p);
    packets = (1 + 1) + (4 + 1) + (2 + 1) + (1 + 1) + (3 + 1) + (1 + 1) + (1 + 5) + (1 + 1) + (1 + 1) + (1 + 1);
    assert_int_equal(frames_of(p.path), packets);
    play_back(p.path);
}

static void reliable_connection(void **state)
{
    (void)state;
    for (uint8_t mtu = 1; mtu <= 5; mtu++)
        for (unsigned ipv4 = 0; ipv4 < 2; ipv4++)
            connection(mtu, ipv4);
}

static void refusals(void **state)
{
    struct options o = defaults;
    struct pair p;
    uint32_t index;
    struct wr wr;

    (void)state;
    open_pair(&p, &o, true, "rnr.pcap");
    wr = wr_send(&p.a, 0, 100);
    index = post(&p.a, &wr);
    world_run(&p.w);
    receive(&p, 4096);
    world_pass(&p.w, 2000000000, 100000);
    expect_ok(&p.a, index);
    close_pair(&p);
    assert_int_equal(frames_of(p.path), 4); /* SEND, RNR NAK, SEND, ACK */
    play_back(p.path);

    open_pair(&p, &o, true, "nak_access.pcap");
    wr = wr_write(&p.a, &p.b, 0, 0, 100);
    wr.rkey ^= 0x12345;
    index = post(&p.a, &wr);
    world_run(&p.w);
    expect_error(&p.a, index, SN_SYND_REMOTE_ACCESS);
    close_pair(&p);
    assert_int_equal(frames_of(p.path), 2);
    play_back(p.path);

    open_pair(&p, &o, false, "nak_invalid.pcap");
    receive(&p, 16);
    wr = wr_send(&p.a, 0, 64);
    index = post(&p.a, &wr);
    world_run(&p.w);
    expect_error(&p.a, index, SN_SYND_REMOTE_INVALID);
    close_pair(&p);
    play_back(p.path);
}

static void unreliable_connection(void **state)
{
    struct options o = defaults;
    struct pair p;

    (void)state;
    o.service = SN_SERVICE_UC;
    open_pair(&p, &o, true, "uc.pcap");
    run_wr(&p, wr_write(&p.a, &p.b, 0, 0, 3000));
    receive(&p, 65536);
    run_wr(&p, with_imm(wr_send(&p.a, 1, 2049), SN_OPCODE_SEND_IMM));
    close_pair(&p);
    assert_int_equal(frames_of(p.path), 6);
    play_back(p.path);
}

static int lose_first(void *arg, const struct sn_burst *b)
{
    unsigned *seen = arg;
    (void)b;
    return (*seen)++ == 0 ? SN_TAP_DROP : SN_TAP_PASS;
}

/* A gap and its NAK (9.7.5.2); a receive buffer that is none (NAK 0x63); a key that ends with a SEND (9.4.1.1.3). */
static void more_answers(void **state)
{
    struct options o = defaults;
    struct wr wr;
    struct pair p;
    unsigned seen = 0;
    uint32_t first, second;

    (void)state;
    open_pair(&p, &o, true, "nak_sequence.pcap");
    sn_port_set_tap(p.w.port, lose_first, &seen);
    wr = wr_write(&p.a, &p.b, 0, 0, 100);
    first = put_wqe(&p.a, &wr);
    second = post(&p.a, &wr);
    world_run(&p.w);
    expect_ok(&p.a, first);
    expect_ok(&p.a, second);
    close_pair(&p);
    assert_true(frames_of(p.path) >= 5); /* two WRITEs, NAK, both again, ACK */

    open_pair(&p, &o, false, "nak_operational.pcap");
    post_recv(&p.b, p.b.mem, 4096, p.b.mkey ^ 0x100);
    wr = wr_send(&p.a, 0, 64);
    first = post(&p.a, &wr);
    world_run(&p.w);
    expect_error(&p.a, first, SN_SYND_REMOTE_OP);
    close_pair(&p);
    assert_int_equal(frames_of(p.path), 2);

    open_pair(&p, &o, true, "invalidate.pcap");
    receive(&p, 4096);
    wr = with_opcode(wr_send(&p.a, 0, 1500), SN_OPCODE_SEND_INVAL);
    wr.imm = sn_swap32(end_key(&p.b, p.b.mem, 64, 0, SN_ACCESS_REMOTE_INVALIDATE));
    run_wr(&p, wr);
    close_pair(&p);
    assert_int_equal(frames_of(p.path), 3);
}

/* Marked packets, the notification that goes back, and what goes on (A17.9). */
static void congestion(void **state)
{
    struct options o = defaults;
    struct sn_counters c;
    struct pair p;

    (void)state;
    o.tclass = 3;
    for (unsigned ipv4 = 0; ipv4 < 2; ipv4++) {
        open_pair(&p, &o, ipv4, ipv4 ? "cnp_ipv4.pcap" : "cnp_ipv6.pcap");
        run_wr(&p, wr_write(&p.a, &p.b, 0, 0, 3000));
        run_wr(&p, wr_read(&p.a, &p.b, 65536, 0, 3000));
        sn_nic_get_counters(p.a.nic, &c);
        assert_int_equal(c.rp_cnp_handled, 1);
        close_pair(&p);
        assert_int_equal(frames_of(p.path), 3 + 1 + 1 + 3 + 2); /* one CNP each way */
    }
}

static void datagrams(void **state)
{
    struct options o = defaults;
    struct pair p;

    (void)state;
    o.service = SN_SERVICE_UD;
    o.qkey = 0x1234;
    for (unsigned ipv4 = 0; ipv4 < 2; ipv4++) {
        open_pair(&p, &o, ipv4, ipv4 ? "ud_ipv4.pcap" : "ud_ipv6.pcap");
        for (unsigned i = 0; i < 4; i++) {
            struct datagram d = {.qpn = p.b.qpn, .qkey = 0x1234, .length = 251 * i, .hops = 9, .flow = 0x12345};
            d.opcode = i & 1 ? SN_OPCODE_SEND_IMM : 0;
            memcpy(d.gid, sn_nic_get_config(p.b.nic)->gid[0], 16);
            receive(&p, 4096);
            uint32_t index = put_datagram(&p.a, &d);
            ring(&p.a);
            world_run(&p.w);
            expect_ok(&p.a, index);
            assert_non_null(next_rcqe(&p.b));
        }
        close_pair(&p);
        assert_int_equal(frames_of(p.path), 4);
    }
}

/* Packets that no exchange here has: every opcode once, ours included. */
static void every_opcode(void **state)
{
    static uint8_t payload[1024];
    struct sn_pcap *pcap;
    char path[512];

    (void)state;
    path_of("opcodes.pcap", path, sizeof(path));
    assert_int_equal(sn_pcap_create(path, &pcap), 0);
    for (unsigned opcode = 0; opcode < 256; opcode++) {
        const struct sn_roce_opcode *o = sn_opcode_get((uint8_t)opcode);
        if (o == NULL)
            continue;
        struct sn_burst p = {.service = o->service,
                             .kind = o->kind,
                             .flags = o->flags | (o->kind == SN_KIND_CNP ? SN_BURST_BECN : 0),
                             .dqpn = 0x010203,
                             .sqpn = 0x020304,
                             .pkey = 0xffff,
                             .syndrome = SN_AETH_ACK,
                             .atomic_size = 8,
                             .psn = opcode,
                             .length = o->payload == SN_PAYLOAD_FULL   ? 1024
                                       : o->payload == SN_PAYLOAD_SOME ? 700
                                       : o->payload == SN_PAYLOAD_ANY  ? 701
                                                                       : 0};
        p.sgid[0] = p.dgid[0] = 0xfd;
        p.dgid[15] = 1;
        p.iov_count = p.length != 0;
        p.iov[0] = (struct sn_iov){.addr = payload, .length = p.length};
        assert_int_equal(sn_pcap_burst(pcap, opcode * 1000u, &p, NULL, NULL), 0);
    }
    assert_int_equal(sn_pcap_frames(pcap), 40);
    assert_int_equal(sn_pcap_close(pcap), 0);
    assert_int_equal(frames_of(path), 40);
}

/* ---- the capture itself
 * ---------------------------------------------------------------------------------------------- */

/* Who captures into a name that is taken gets the next one; when it is free again it is used again. */
static void a_file_each(void **state)
{
    static const char *const names[] = {"busy.pcap", "busy.2.pcap", "busy.3.pcap"};
    struct sn_port_config config = {.no_thread = true};
    struct sn_capture *capture[3], *again;
    char path[512], expected[512], actual[512], small[8];
    struct sn_port *port;

    (void)state;
    assert_int_equal(sn_port_create(&config, &port), 0);
    path_of(names[0], path, sizeof(path));
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(sn_capture_start(port, path, actual, sizeof(actual), &capture[i]), 0);
        path_of(names[i], expected, sizeof(expected));
        assert_string_equal(actual, expected);
    }
    assert_int_equal(sn_capture_stop(capture[0]), 0);
    assert_int_equal(sn_capture_start(port, path, actual, sizeof(actual), &again), 0);
    assert_string_equal(actual, path);
    assert_int_equal(sn_capture_stop(again), 0);
    assert_int_equal(sn_capture_stop(capture[1]), 0);
    assert_int_equal(sn_capture_stop(capture[2]), 0);
    assert_int_equal(sn_capture_start(port, path, small, sizeof(small), &again), -ERANGE);
    assert_int_equal(sn_capture_start(port, "/nowhere/at/all", actual, sizeof(actual), &again), -ENOENT);
    assert_int_equal(sn_capture_stop(NULL), 0);
    sn_port_destroy(port);
}

/* Without virtual time: the system's, as time since 1970. */
static void time_of_day(void **state)
{
    struct sn_port_config config = {.no_thread = true};
    struct sn_capture *capture;
    char path[512], actual[512];
    struct sn_port *port;
    struct world w = {.now = 0};
    struct end e;
    struct vector v;
    time_t before = time(NULL), after;

    (void)state;
    assert_int_equal(sn_port_create(&config, &port), 0);
    struct sn_nic_config nic = {.name = "softnic", .gid_count = 1, .slot = 1};
    nic.gid[0][0] = 0xfd;
    w.port = port;
    assert_int_equal(sn_nic_create(port, &nic, &w.nic[0]), 0);
    path_of("clock.pcap", path, sizeof(path));
    assert_int_equal(sn_capture_start(port, path, actual, sizeof(actual), &capture), 0);
    end_open(&e, &w, 0, &defaults);
    ends_connect(&e, &e);
    struct wr wr = wr_write(&e, &e, 0, 100, 8);
    post(&e, &wr);
    world_run(&w);
    end_close(&e);
    assert_int_equal(sn_capture_stop(capture), 0);
    after = time(NULL);
    vector_load(&v, path);
    assert_int_equal(v.count, 2);
    for (unsigned i = 0; i < 2; i++)
        assert_in_range(v.frame[i].ns / 1000000000, before - 1, after + 1);
    vector_free(&v);
    assert_int_equal(sn_nic_destroy(w.nic[0]), 0);
    sn_port_destroy(port);
}

static int make_folder(void **state)
{
    (void)state;
    if (keep)
        return 0;
    strcpy(folder, "/tmp/gdaki-capture-XXXXXX");
    return mkdtemp(folder) == NULL;
}

static int remove_folder(void **state)
{
    char command[300];

    (void)state;
    if (keep)
        return 0;
    snprintf(command, sizeof(command), "rm -r '%s'", folder);
    return system(command);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reliable_connection),
        cmocka_unit_test(refusals),
        cmocka_unit_test(unreliable_connection),
        cmocka_unit_test(more_answers),
        cmocka_unit_test(congestion),
        cmocka_unit_test(datagrams),
        cmocka_unit_test(every_opcode),
        cmocka_unit_test(a_file_each),
        cmocka_unit_test(time_of_day),
    };

    if (argc > 1) {
        keep = true;
        snprintf(folder, sizeof(folder), "%s", argv[1]);
    }
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
