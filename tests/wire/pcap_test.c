/* SPDX-License-Identifier: Apache-2.0 */
/* Capture files: written and read again, by several threads, with payload that cannot be had; and hostile ones. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "softnic/wire/pcap.h"
#include "vector.h"

static char path[] = "/tmp/gdaki-pcap-XXXXXX";

static int open_file(void **state)
{
    int fd = mkstemp(path);

    (void)state;
    if (fd >= 0)
        close(fd);
    return fd < 0;
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(path);
}

static struct sn_burst burst_of(const uint8_t *payload, uint32_t length, uint32_t space)
{
    struct sn_burst b = {.kind = SN_KIND_WRITE,
                         .flags = SN_BURST_FIRST | SN_BURST_LAST | SN_BURST_ACKREQ,
                         .mtu = 3,
                         .npackets = (length + 1023) / 1024,
                         .dqpn = 0x10001,
                         .sqpn = 0x20002,
                         .dmalen = length,
                         .length = length,
                         .iov_count = 1,
                         .iov = {{payload, length, space}}};

    memcpy(b.sgid, "\376\200\0\0\0\0\0\0\0\137\1\377\376\2\3\4", 16); /* link-local, with a MAC in it */
    memcpy(b.dgid, "\375\0\0\0\0\0\0\0\0\0\0\0\7\10\11\12", 16);
    return b;
}

static void written_and_read(void **state)
{
    static uint8_t payload[5000];
    struct sn_burst b = burst_of(payload, sizeof(payload), SN_SPACE_HOST);
    static const uint8_t mac[12] = {0x02, 0, 7, 8, 9, 10, 0x02, 0x5f, 1, 2, 3, 4};
    struct sn_pcap *pcap;
    struct vector v;

    (void)state;
    assert_int_equal(sn_pcap_create(path, &pcap), 0);
    sn_pcap_set_offset(pcap, 5);
    assert_int_equal(sn_pcap_burst(pcap, 1999999998, &b, NULL, NULL), 0);
    assert_int_equal(sn_pcap_frames(pcap), 5);
    b.kind = SN_KIND_COUNT; /* no wire form: left out, and told */
    assert_int_equal(sn_pcap_burst(pcap, 0, &b, NULL, NULL), 0);
    assert_int_equal(sn_pcap_skipped(pcap), 5);
    assert_int_equal(sn_pcap_close(pcap), 0);
    vector_load(&v, path);
    assert_int_equal(v.count, 5);
    for (unsigned i = 0; i < 5; i++) {
        assert_true(v.frame[i].ns == 2000000003);
        assert_int_equal(v.frame[i].packet.psn, i);
        assert_memory_equal(v.frame[i].bytes, mac, sizeof(mac));
    }
    assert_int_equal(v.frame[4].packet.length, 5000 - 4 * 1024);
    vector_free(&v);
}

static int copy_ones(void *arg, void *dst, const void *src, size_t length)
{
    (void)src;
    memset(dst, 0x11, length);
    return *(int *)arg;
}

/* GPU payload comes through the copy engine; where it cannot be had the frame is short, and says how long it was. */
static void payload_elsewhere(void **state)
{
    struct sn_burst b = burst_of((const uint8_t *)0x1000, 1500, SN_SPACE_GPU);
    struct sn_pcap_reader *reader;
    struct sn_pcap_record r;
    struct sn_pcap *pcap;
    int result = 0;

    (void)state;
    assert_int_equal(sn_pcap_create(path, &pcap), 0);
    assert_int_equal(sn_pcap_burst(pcap, 0, &b, copy_ones, &result), 0);
    result = -EIO;
    assert_int_equal(sn_pcap_burst(pcap, 0, &b, copy_ones, &result), 0);
    assert_int_equal(sn_pcap_burst(pcap, 0, &b, NULL, NULL), 0);
    assert_int_equal(sn_pcap_close(pcap), 0);
    assert_int_equal(sn_pcap_open(path, &reader, NULL), 0);
    const size_t headers = 14 + 40 + 8 + 12;
    for (unsigned i = 0; i < 6; i++) {
        size_t payload = i % 2 == 0 ? 1024 : 476, reth = i % 2 == 0 ? 16 : 0;
        assert_int_equal(sn_pcap_next(reader, &r, NULL), 1);
        assert_int_equal(r.original, headers + reth + payload + 4);
        assert_int_equal(r.captured, i < 2 ? r.original : headers + reth);
        if (i < 2)
            assert_int_equal(r.frame[headers + reth + payload - 1], 0x11);
    }
    assert_int_equal(sn_pcap_next(reader, &r, NULL), 0);
    sn_pcap_reader_close(reader);
}

enum { THREADS = 4, EACH = 200 };

static void *append(void *arg)
{
    static uint8_t payload[3000];
    struct sn_burst b = burst_of(payload, sizeof(payload), SN_SPACE_HOST);

    for (unsigned i = 0; i < EACH; i++)
        sn_pcap_burst(arg, i, &b, NULL, NULL);
    return NULL;
}

static void several_threads(void **state)
{
    pthread_t thread[THREADS];
    struct sn_pcap *pcap;
    struct vector v;

    (void)state;
    assert_int_equal(sn_pcap_create(path, &pcap), 0);
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, append, pcap), 0);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    assert_int_equal(sn_pcap_close(pcap), 0);
    vector_load(&v, path); /* every frame is whole: its CRC is good */
    assert_int_equal(v.count, THREADS * EACH * 3);
    vector_free(&v);
}

/* Longer than what is put off: in order with the others. */
static void long_frames(void **state)
{
    static uint8_t frame[200000];
    static const size_t sizes[] = {60, 200000, 60, 65520, 65536, 65535, 1, 0, 200000};
    struct sn_pcap_reader *reader;
    struct sn_pcap_record r;
    struct sn_pcap *pcap;

    (void)state;
    memset(frame, 0x5a, sizeof(frame));
    assert_int_equal(sn_pcap_create(path, &pcap), 0);
    for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        assert_int_equal(sn_pcap_frame(pcap, i, frame, sizes[i], sizes[i]), 0);
    assert_int_equal(sn_pcap_frame(pcap, 0, frame, 262145, 262145), -EINVAL);
    assert_int_equal(sn_pcap_frame(pcap, 0, frame, 60, 59), -EINVAL);
    assert_int_equal(sn_pcap_close(pcap), 0);
    assert_int_equal(sn_pcap_open(path, &reader, NULL), 0);
    for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        assert_int_equal(sn_pcap_next(reader, &r, NULL), 1);
        assert_true(r.ns == i);
        assert_int_equal(r.captured, sizes[i]);
        assert_memory_equal(r.frame, frame, sizes[i]);
    }
    assert_int_equal(sn_pcap_next(reader, &r, NULL), 0);
    sn_pcap_reader_close(reader);
}

static void no_room(void **state)
{
    static uint8_t payload[4000];
    struct sn_burst b = burst_of(payload, sizeof(payload), SN_SPACE_HOST);
    struct sn_pcap *pcap;
    int ret = 0, fd = open("/dev/full", O_WRONLY);

    (void)state;
    assert_int_equal(sn_pcap_create("/nowhere/at/all", &pcap), -ENOENT);
    if (fd < 0)
        skip();
    assert_int_equal(sn_pcap_create_fd(fd, &pcap), -ENOSPC);
    int ends[2];
    signal(SIGPIPE, SIG_IGN);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(sn_pcap_create_fd(ends[1], &pcap), 0);
    close(ends[0]);
    for (unsigned i = 0; i < 100 && ret == 0; i++)
        ret = sn_pcap_burst(pcap, i, &b, NULL, NULL);
    assert_int_equal(ret, -EPIPE);
    assert_int_equal(sn_pcap_flush(pcap), -EPIPE);
    assert_int_equal(sn_pcap_frame(pcap, 0, payload, 60, 60), -EPIPE);
    assert_int_equal(sn_pcap_close(pcap), -EPIPE);
}

/* ---- reading what others wrote ---------------------------------------------------------------------------------- */

struct raw {
    uint32_t word[10];
    uint8_t frame[64];
};

static const struct raw good = {.word = {0xa1b2c3d4, 0x00040002, 0, 0, 262144, 1, 7, 999999, 64, 64}};

/* 1 or 0 as sn_pcap_next, or the error of the opening; `ns` of the first frame. */
static int first(const void *bytes, size_t length, uint64_t *ns)
{
    struct sn_pcap_reader *reader;
    struct sn_pcap_record record;
    const char *why = NULL;
    uint8_t *exact = malloc(length != 0 ? length : 1);
    int ret;

    memcpy(exact, bytes, length);
    ret = sn_pcap_open_bytes(exact, length, &reader, &why);
    if (ret == 0) {
        ret = sn_pcap_next(reader, &record, &why);
        if (ret == 1) {
            *ns = record.ns;
            assert_true(record.frame >= exact && record.frame + record.captured <= exact + length);
        }
        sn_pcap_reader_close(reader);
    }
    assert_true(ret >= 0 || (why != NULL && *why != '\0'));
    free(exact);
    return ret;
}

static void other_writers(void **state)
{
    struct raw r = good;
    uint64_t ns = 0;

    (void)state;
    assert_int_equal(first(&r, sizeof(r), &ns), 1);
    assert_true(ns == 7999999000u);
    r.word[0] = 0xa1b23c4d;
    r.word[7] = 999999999;
    assert_int_equal(first(&r, sizeof(r), &ns), 1);
    assert_true(ns == 7999999999u);
    for (unsigned i = 0; i < 10; i++) /* written on a big-endian machine */
        r.word[i] = __builtin_bswap32(r.word[i]);
    r.word[1] = __builtin_bswap32(0x00020004);
    assert_int_equal(first(&r, sizeof(r), &ns), 1);
    assert_true(ns == 7999999999u);
}

static void hostile_files(void **state)
{
    static const struct {
        unsigned word;
        uint32_t value;
    } rows[] = {{0, 0x0a0d0d0a}, {0, 0},      {1, 0x00040003}, {5, 113}, {7, 1000000},
                {8, 65},         {8, 262145}, {8, UINT32_MAX}, {9, 63}};
    uint64_t ns;

    (void)state;
    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct raw r = good;
        r.word[rows[i].word] = rows[i].value;
        if (rows[i].word == 8)
            r.word[9] = r.word[8];
        assert_int_equal(first(&r, sizeof(r), &ns), -EBADMSG);
    }
    for (size_t n = 0; n < sizeof(good); n++) /* cut short anywhere: after the file's header there is simply no frame */
        assert_int_equal(first(&good, n, &ns), n == 24 ? 0 : -EBADMSG);
}

/* The same from a file, where lengths are not known beforehand. */
static void hostile_file_on_disk(void **state)
{
    struct sn_pcap_reader *reader;
    struct sn_pcap_record record;
    const char *why = NULL;
    FILE *f = fopen(path, "w");

    (void)state;
    assert_int_equal(fwrite(&good, 1, sizeof(good) - 1, f), sizeof(good) - 1);
    fclose(f);
    assert_int_equal(sn_pcap_open(path, &reader, &why), 0);
    assert_int_equal(sn_pcap_next(reader, &record, &why), -EBADMSG);
    assert_non_null(why);
    sn_pcap_reader_close(reader);
    assert_int_equal(sn_pcap_open("/nowhere/at/all", &reader, &why), -ENOENT);
    assert_int_equal(sn_pcap_open("/tmp", &reader, &why), -EISDIR);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(written_and_read), cmocka_unit_test(payload_elsewhere),
        cmocka_unit_test(several_threads),  cmocka_unit_test(long_frames),
        cmocka_unit_test(no_room),          cmocka_unit_test(other_writers),
        cmocka_unit_test(hostile_files),    cmocka_unit_test(hostile_file_on_disk),
    };

    return cmocka_run_group_tests(tests, open_file, remove_file);
}
