/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The same exchange gives the same bytes from BTH to invariant CRC on each wire (annex A17.3): UDP sockets, Ethernet
 * frames in datagrams, and the capture of a port whose NICs reach each other in the process.
 * And what a UDP socket hides of an IPv4 header does not keep damage from being seen.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "rig.h"
#include "softnic/wire/capture.h"
#include "softnic/wire/packet_icrc.h"
#include "softnic/wire/pcap.h"
#include "softnic/wire/raw.h"
#include "softnic/wire/udp.h"

enum { MOST = 4096, IOVA = 0x10000000, SPORT = 0xc123 };

struct frames {
    unsigned count;
    uint32_t length[MOST];
    uint8_t bytes[MOST][1200];
};

static struct frames in_process, over_udp, over_dgram, *recording;
static size_t skip_bytes; /* in front of the BTH */

static void record(const uint8_t *bytes, size_t length)
{
    assert_true(recording->count < MOST && length > skip_bytes && length - skip_bytes <= sizeof(recording->bytes[0]));
    recording->length[recording->count] = (uint32_t)(length - skip_bytes);
    memcpy(recording->bytes[recording->count++], bytes + skip_bytes, length - skip_bytes);
}

/* ---- a backend's frames as it sends them ---- */

static struct sn_backend_ops recorder;
static int (*real_send)(struct sn_backend *b, const struct sn_frame_out *frames, unsigned count);

static int recording_send(struct sn_backend *b, const struct sn_frame_out *f, unsigned count)
{
    int n = real_send(b, f, count);
    for (int i = 0; i < n; i++)
        if (recorder.layer == SN_LAYER_UDP || f[i].bytes[12] != 8 || f[i].bytes[13] != 6) /* not ARP */
            record(f[i].bytes, f[i].length);
    return n;
}

static struct sn_backend *recorded(struct sn_backend *b)
{
    recorder = *b->ops;
    real_send = recorder.send;
    recorder.send = recording_send;
    b->ops = &recorder;
    b->runs = false; /* in a run the identifications differ, which the CRC covers over IPv4 */
    return b;
}

/* ---- the exchange ---- */

static void move(struct end *e, struct end *peer)
{
    struct sn_qp_params p = {.port = 1, .rwe = true, .rre = true, .rae = true, .atomic_mode = 3, .mtu = 3,
                             .log_msg_max = 30, .rcv_psn = 0xfffff0, .snd_psn = 0xfffff0, .remote_qpn = peer->qpn,
                             .min_rnr = 12, .ack_timeout = 14, .retry_count = 7, .rnr_retry = 6, .log_sra_max = 2,
                             .log_rra_max = 2, .path = {.udp_sport = SPORT, .hop_limit = 64}};
    memcpy(p.path.dgid, sn_nic_get_config(peer->nic)->gid[0], 16);
    assert_int_equal(sn_qp_modify(e->nic, e->qpn, SN_QP_INIT, &p,
                                  SN_QPF_PORT | SN_QPF_RWE | SN_QPF_RRE | SN_QPF_RAE | SN_QPF_PKEY_INDEX), 0);
    assert_int_equal(sn_qp_modify(e->nic, e->qpn, SN_QP_RTR, &p,
                                  SN_QPF_MTU | SN_QPF_RCV_PSN | SN_QPF_REMOTE | SN_QPF_PATH | SN_QPF_MIN_RNR |
                                      SN_QPF_RRA | SN_QPF_MSG_MAX), 0);
    assert_int_equal(sn_qp_modify(e->nic, e->qpn, SN_QP_RTS, &p,
                                  SN_QPF_SND_PSN | SN_QPF_ACK_TIMEOUT | SN_QPF_RETRY | SN_QPF_RNR_RETRY | SN_QPF_SRA),
                     0);
}

/* One operation at a time, so that the order of frames is the operations'. */
static void script(struct station *a, struct station *b, struct end *from, struct end *to)
{
    static const uint32_t sizes[] = {0, 1, 8, 1023, 1024, 1025, 5000, 20000};
    const uint32_t rights =
        SN_ACCESS_LOCAL_WRITE | SN_ACCESS_REMOTE_WRITE | SN_ACCESS_REMOTE_READ | SN_ACCESS_REMOTE_ATOMIC;
    uint32_t key = end_key(to, to->mem, MEM_SIZE, IOVA, rights);
    move(from, to);
    move(to, from);
    fill(from->mem, MEM_SIZE, 1);
    memset(to->mem, 0x11, MEM_SIZE);
    for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct wr wr = wr_write(from, to, 0, 0, sizes[i]);
        wr.raddr = IOVA + 64;
        wr.rkey = key;
        station_expect(a, b, post(from, &wr));
        wr = wr_read(from, to, 65536, 0, sizes[i]);
        wr.raddr = IOVA + 64;
        wr.rkey = key;
        station_expect(a, b, post(from, &wr));
        post_recv(to, to->mem + 262144, 65536, to->mkey);
        wr = wr_send(from, 0, sizes[i]);
        station_expect(a, b, post(from, &wr));
        wr = wr_fetch_add(from, to, 4096, 0, sizes[i]);
        wr.raddr = IOVA + 128;
        wr.rkey = key;
        station_expect(a, b, post(from, &wr));
    }
    assert_int_equal(sn_mkey_destroy(to->nic, key), 0);
}

static struct options seeded(void)
{
    struct options o = defaults;
    o.psn = 0xfffff0;
    return o;
}

/* Of this process alone: on an address that others use too it would get another slot, and other QP numbers with it. */
static char address[2][16];

static void make_addresses(void)
{
    unsigned pid = (unsigned)getpid();
    for (unsigned i = 0; i < 2; i++)
        snprintf(address[i], sizeof(address[i]), "127.%u.%u.%u", 1 + (pid >> 8) % 250, pid & 0xff, 2 + i);
}

static void over_wire(struct sn_backend *first, struct sn_backend *second, struct frames *out, size_t skip)
{
    static struct station a, b;
    struct options o = seeded();
    recording = out;
    skip_bytes = skip;
    station_open_seeded(&a, recorded(first), address[0], &o, 42);
    station_open_seeded(&b, recorded(second), address[1], &o, 43);
    script(&a, &b, &a.e, &b.e);
    station_close(&a);
    station_close(&b);
}

/* Both NICs in one port: the capture file has the frames. */
static void in_one_port(struct frames *out)
{
    static struct station a;
    static struct end e[2];
    struct sn_port_config config = {.no_thread = true};
    struct options o = seeded();
    char path[] = "/tmp/softnic-bytes-XXXXXX", actual[128];
    struct sn_capture *capture;
    struct sn_pcap_reader *reader;
    struct sn_pcap_record r;
    close(mkstemp(path));
    assert_int_equal(sn_port_create(&config, &a.w.port), 0);
    for (int i = 0; i < 2; i++) {
        struct sn_nic_config nic = {.name = "softnic", .gid_count = 1, .slot = 1, .seed = 42u + (unsigned)i};
        gid_of(address[i], nic.gid[0]);
        assert_int_equal(sn_nic_create(a.w.port, &nic, &a.w.nic[i]), 0);
        end_open(&e[i], &a.w, i, &o);
    }
    assert_int_equal(sn_capture_start(a.w.port, path, actual, sizeof(actual), &capture), 0);
    a.e = e[0];
    script(&a, &a, &a.e, &e[1]);
    assert_int_equal(sn_capture_stop(capture), 0);
    e[0] = a.e;
    for (int i = 0; i < 2; i++) {
        end_close(&e[i]);
        assert_int_equal(sn_nic_destroy(a.w.nic[i]), 0);
    }
    sn_port_destroy(a.w.port);
    recording = out;
    skip_bytes = 14 + 20 + 8;
    assert_int_equal(sn_pcap_open(actual, &reader, NULL), 0);
    while (sn_pcap_next(reader, &r, NULL) == 1)
        record(r.frame, r.captured);
    sn_pcap_reader_close(reader);
    unlink(actual);
}

static void compare(const struct frames *x, const struct frames *y)
{
    assert_int_equal(x->count, y->count);
    for (unsigned i = 0; i < x->count; i++) {
        if (x->length[i] != y->length[i])
            fail_msg("frame %u: %u and %u bytes", i, x->length[i], y->length[i]);
        assert_memory_equal(x->bytes[i], y->bytes[i], x->length[i]);
    }
}

static void same_bytes(void **state)
{
    struct sn_backend *first, *second;
    (void)state;
    make_addresses();
    in_one_port(&in_process);
    assert_int_equal(sn_udp_open(&first), 0);
    assert_int_equal(sn_udp_open(&second), 0);
    over_wire(first, second, &over_udp, 0);
    datagram_pair(&first, &second);
    over_wire(first, second, &over_dgram, 14 + 20 + 8);
    assert_true(in_process.count > 100);
    compare(&in_process, &over_dgram);
    compare(&in_process, &over_udp);
}

/* ---- what a UDP socket hides ---- */

static void hidden_identification(void **state)
{
    static uint8_t frame[SN_FRAME_MAX];
    struct sn_burst p = {.kind = SN_KIND_WRITE, .service = SN_SERVICE_RC, .flags = SN_BURST_FIRST | SN_BURST_LAST,
                         .mtu = 3, .npackets = 1, .dqpn = 0x123456, .psn = 77, .pkey = 0xffff, .rkey = 9,
                         .iov_count = 1, .udp_sport = SPORT};
    uint8_t payload[1024];
    unsigned flips = 0, missed = 0;
    (void)state;
    gid_of("192.0.2.1", p.sgid);
    gid_of("192.0.2.2", p.dgid);
    fill(payload, sizeof(payload), 3);
    for (unsigned round = 0; round < 200; round++) {
        uint32_t length = round * 37 % 1025;
        struct sn_frame_path path = {.ip_id = (uint16_t)(round * 40503u), .df_clear = round & 1};
        p.length = p.dmalen = length;
        p.iov[0] = (struct sn_iov){payload, length, SN_SPACE_HOST};
        int n = sn_frame_build(&p, &path, SN_LAYER_ETHERNET, frame, sizeof(frame));
        assert_true(n > 42);
        uint8_t *bth = frame + 42;
        size_t bytes = (size_t)n - 42;
        if (!sn_icrc_check_udp4(bth, bytes, p.sgid + 12, p.dgid + 12, SPORT))
            fail_msg("round %u: identification %u not found", round, path.ip_id);
        assert_false(sn_icrc_check_udp4(bth, bytes, p.sgid + 12, p.dgid + 12, SPORT + 1));
        for (size_t bit = 0; bit < bytes * 8; bit += 1 + round % 3) {
            if (bit / 8 == 4)
                continue; /* ECN bits and reserved: any router may change them */
            bth[bit / 8] ^= (uint8_t)(1u << bit % 8);
            missed += sn_icrc_check_udp4(bth, bytes, p.sgid + 12, p.dgid + 12, SPORT);
            flips++;
            bth[bit / 8] ^= (uint8_t)(1u << bit % 8);
        }
    }
    printf("%u single bits changed, %u not seen (15 bits of protection: 1 in 32768 on average)\n", flips, missed);
    assert_true(flips > 100000 && missed <= flips / 4096);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(same_bytes), cmocka_unit_test(hidden_identification)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
