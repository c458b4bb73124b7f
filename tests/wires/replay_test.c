/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A capture file as the far end: what a requester sent once is played to a responder of the same seed, which must end
 * with the same memory and the same last acknowledgement. Damaged frames in the file change nothing.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rig.h"
#include "softnic/wire/capture.h"
#include "softnic/wire/pcap.h"
#include "softnic/wire/raw.h"

enum { IOVA = 0x20000000, KEY_RIGHTS = SN_ACCESS_LOCAL_WRITE | SN_ACCESS_REMOTE_WRITE | SN_ACCESS_REMOTE_READ |
                                       SN_ACCESS_REMOTE_ATOMIC };

static const uint8_t mac_a[6] = {2, 0, 0, 0, 0, 1}, mac_b[6] = {2, 0, 0, 0, 0, 2};
static const char near_address[] = "192.0.2.1", far_address[] = "192.0.2.2";
static char folder[] = "/tmp/softnic-replay-XXXXXX", seen[80], play[80], answers[80];
static struct station a, b;
static uint8_t *memory; /* the responder's, after the real exchange */

struct last {
    unsigned frames, to_play;
    uint32_t ack_psn, ack_msn;
};

static void exchange(uint32_t key)
{
    static const uint32_t sizes[] = {1, 1024, 1025, 9000};
    for (unsigned i = 0; i < 4; i++) {
        fill(a.e.mem, sizes[i], i + 1);
        struct wr wr = wr_write(&a.e, &b.e, 0, 0, sizes[i]);
        wr.raddr = IOVA + i * 16384;
        wr.rkey = key;
        station_expect(&a, &b, post(&a.e, &wr));
        wr = wr_fetch_add(&a.e, &b.e, 65536, 0, i + 5);
        wr.raddr = IOVA + 131072;
        wr.rkey = key;
        station_expect(&a, &b, post(&a.e, &wr));
    }
}

/* Splits what the responder's port saw: frames to it are kept to be played, with some damaged ones in between. */
static struct last split(const char *from, const char *requests)
{
    struct sn_pcap_reader *reader;
    struct sn_pcap_record r;
    struct sn_pcap *out = NULL;
    struct last last = {0};
    uint8_t gid[16];
    gid_of(far_address, gid);
    assert_int_equal(sn_pcap_open(from, &reader, NULL), 0);
    if (requests)
        assert_int_equal(sn_pcap_create(requests, &out), 0);
    while (sn_pcap_next(reader, &r, NULL) == 1) {
        struct sn_burst p;
        struct sn_frame_path path = {0};
        assert_int_equal(sn_frame_parse(r.frame, r.captured, SN_LAYER_ETHERNET, true, &p, &path), SN_FRAME_OK);
        if (memcmp(p.dgid, gid, 16) != 0) {
            last.frames++;
            last.ack_psn = p.psn;
            last.ack_msn = p.msn;
        } else if (out) {
            uint8_t damaged[SN_FRAME_MAX];
            memcpy(damaged, r.frame, r.captured);
            damaged[r.captured - 5] ^= 4;
            assert_int_equal(sn_pcap_frame(out, r.ns, damaged, r.captured, r.captured), 0);
            last.to_play += 2;
            assert_int_equal(sn_pcap_frame(out, r.ns, r.frame, r.captured, r.captured), 0);
        }
    }
    sn_pcap_reader_close(reader);
    assert_int_equal(sn_pcap_close(out), 0);
    return last;
}

static uint32_t open_responder(struct sn_backend *backend, const struct options *o)
{
    station_open_seeded(&b, backend, far_address, o, 77);
    return end_key(&b.e, b.e.mem, MEM_SIZE, IOVA, KEY_RIGHTS);
}

static struct last original(const struct options *o)
{
    struct sn_backend *first, *second;
    struct sn_capture *capture;
    char actual[100];
    int fd[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fd), 0);
    assert_int_equal(sn_dgram_open_fd(fd[0], mac_a, &first), 0);
    assert_int_equal(sn_dgram_open_fd(fd[1], mac_b, &second), 0);
    station_open_seeded(&a, first, near_address, o, 76);
    uint32_t key = open_responder(second, o);
    assert_int_equal(sn_capture_start(b.w.port, seen, actual, sizeof(actual), &capture), 0);
    stations_connect(&a, &b);
    exchange(key);
    assert_int_equal(sn_capture_stop(capture), 0);
    memcpy(memory, b.e.mem, MEM_SIZE);
    assert_int_equal(sn_mkey_destroy(b.w.nic[0], key), 0);
    station_close(&b);
    return split(seen, play);
}

static bool played(void *arg)
{
    struct sn_packet_counters c;
    sn_packet_count(&c);
    return c.frames_received >= *(uint64_t *)arg;
}

static void same_end(void **state)
{
    struct options o = defaults;
    struct sn_backend *backend;
    struct sn_packet_counters before, after;
    const char *why;
    (void)state;
    o.ack_timeout = 18;
    memory = malloc(MEM_SIZE);
    struct last first = original(&o);
    assert_true(first.frames >= 8);
    sn_packet_count(&before);
    assert_int_equal(sn_replay_open(play, answers, mac_b, &backend, &why), 0);
    uint32_t key = open_responder(backend, &o);
    end_reconnect(&b.e, &a.e); /* the requester's port does not run any more: only its numbers are wanted */
    uint64_t frames = before.frames_received + first.to_play;
    assert_true(stations_run(&b, &b, played, &frames));
    for (int i = 0; i < 20; i++)
        sn_port_run(b.w.port);
    sn_packet_count(&after);
    assert_int_equal(after.refused[SN_FRAME_ICRC] - before.refused[SN_FRAME_ICRC], first.to_play / 2);
    assert_memory_equal(b.e.mem, memory, MEM_SIZE);
    assert_int_equal(sn_mkey_destroy(b.w.nic[0], key), 0);
    station_close(&b);
    station_close(&a);
    struct last second = split(answers, NULL);
    assert_int_equal(second.ack_psn, first.ack_psn);
    assert_int_equal(second.ack_msn, first.ack_msn);
    free(memory);
}

static void wrong_files(void **state)
{
    struct sn_backend *backend;
    const char *why = NULL;
    (void)state;
    assert_true(sn_replay_open("/nonexistent", NULL, mac_b, &backend, &why) < 0);
    assert_non_null(why);
    FILE *f = fopen(play, "w");
    fputs("no capture", f);
    fclose(f);
    assert_true(sn_replay_open(play, NULL, mac_b, &backend, &why) < 0);
    assert_non_null(why);
    assert_int_equal(unlink(play), 0);
    assert_int_equal(mkfifo(play, 0600), 0); /* nobody writes it: opening it would wait for ever */
    assert_int_equal(sn_replay_open(play, NULL, mac_b, &backend, &why), -ESPIPE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(same_end), cmocka_unit_test(wrong_files)};
    if (!mkdtemp(folder))
        skip_all("no folder for files in /tmp");
    snprintf(seen, sizeof(seen), "%s/seen.pcap", folder);
    snprintf(play, sizeof(play), "%s/play.pcap", folder);
    snprintf(answers, sizeof(answers), "%s/answers.pcap", folder);
    int rc = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(seen);
    unlink(play);
    unlink(answers);
    rmdir(folder);
    return rc;
}
