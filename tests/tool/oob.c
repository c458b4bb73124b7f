/* SPDX-License-Identifier: Apache-2.0 */
/* The out-of-band channel: whatever a peer sends is taken or refused with the field named; nothing hangs. */
#include "testing.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tool/oob.h"

struct ends {
    struct oob a, b;
};

static int make_ends(void **state)
{
    static struct ends ends;
    int fds[2];

    if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds))
        return -1;
    oob_init(&ends.a, fds[0]);
    oob_init(&ends.b, fds[1]);
    ends.a.timeout_ms = ends.b.timeout_ms = 60000;
    *state = &ends;
    return 0;
}

static int drop_ends(void **state)
{
    struct ends *ends = *state;

    oob_close(&ends->a);
    oob_close(&ends->b);
    return 0;
}

static void messages_arrive(void **state)
{
    struct ends *ends = *state;
    char out[OOB_PAYLOAD_MAX];
    size_t length = 0;

    for (int i = 0; i < 5; i++) {
        assert_int_equal(oob_send(&ends->a, OOB_HELLO, "hello", 5), 0);
        assert_int_equal(oob_receive(&ends->b, OOB_HELLO, out, 1, sizeof(out), &length), 0);
        assert_int_equal(length, 5);
        assert_memory_equal(out, "hello", 5);
        assert_int_equal(oob_send(&ends->b, OOB_GO, NULL, 0), 0);
        assert_int_equal(oob_receive(&ends->a, OOB_GO, NULL, 0, 0, &length), 0);
        assert_int_equal(length, 0);
    }
}

static void integers_are_big_endian(void **state)
{
    uint8_t data[15];
    struct oob_writer w = {.data = data, .size = sizeof(data), .ok = true};
    struct oob_reader r = {.data = data, .size = sizeof(data), .ok = true};
    (void)state;

    oob_put(&w, 0x01, 1);
    oob_put(&w, 0x0203, 2);
    oob_put(&w, 0x04050607, 4);
    oob_put(&w, 0x08090a0b0c0d0e0full, 8);
    assert_true(w.ok);
    for (int i = 0; i < 15; i++)
        assert_int_equal(data[i], i + 1);
    oob_put(&w, 0, 1);
    assert_false(w.ok);
    assert_int_equal(oob_get(&r, 1), 1);
    assert_int_equal(oob_get(&r, 2), 0x0203);
    assert_int_equal(oob_get(&r, 8), 0x0405060708090a0bull);
    assert_int_equal(oob_get(&r, 8), 0);
    assert_false(r.ok);
}

static void texts_are_bounded_and_tame(void **state)
{
    uint8_t data[64];
    struct oob_writer w = {.data = data, .size = sizeof(data), .ok = true};
    struct oob_reader r = {.data = data, .ok = true};
    char out[8];
    (void)state;

    oob_put_text(&w, "a\x1b[31mlonger than eight");
    r.size = w.used;
    oob_get_text(&r, out, sizeof(out));
    assert_true(r.ok);
    assert_string_equal(out, "a?[31ml");
    r.used = 0;
    r.size = 5; /* cut short */
    oob_get_text(&r, out, sizeof(out));
    assert_false(r.ok);
}

static void a_peers_error_is_told(void **state)
{
    struct ends *ends = *state;
    char out[16];

    oob_send_error(&ends->a, "no such device");
    assert_int_equal(oob_receive(&ends->b, OOB_GO, out, 0, 16, NULL), -ECONNABORTED);
    assert_string_equal(ends->b.why, "the peer gave up: no such device");
}

static void a_closed_peer_is_told(void **state)
{
    struct ends *ends = *state;

    oob_close(&ends->a);
    assert_int_equal(oob_receive(&ends->b, OOB_GO, NULL, 0, 0, NULL), -ECONNRESET);
}

static void silence_times_out(void **state)
{
    struct ends *ends = *state;

    ends->b.timeout_ms = 20;
    assert_int_equal(oob_receive(&ends->b, OOB_GO, NULL, 0, 0, NULL), -ETIMEDOUT);
}

static void send_raw(struct oob *oob, const void *data, size_t size)
{
    assert_int_equal(send(oob->fd, data, size, 0), (ssize_t)size);
}

/* A header with one field changed; the receiver must name it. */
static void corrupted_headers_are_refused(void **state)
{
    static const uint8_t good[OOB_HEADER] = {'G', 'D', 'K', '1', 0, OOB_VERSION, 0, OOB_GO, 0, 0, 0, 0, 0, 0, 0, 0};
    static const struct {
        int at;
        uint8_t value;
        const char *named;
    } cases[] = {
        {0, 'X', "magic"},      {3, '2', "magic"},   {5, OOB_VERSION + 1, "version"}, {4, 1, "version"},
        {7, 99, "type"},        {7, 0, "type"},      {11, 1, "sequence"},             {12, 1, "length"},
        {7, OOB_HELLO, "HELLO"}, {15, 3, "3 bytes"},
    };
    (void)state;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint8_t header[OOB_HEADER];
        void *own;
        struct ends *ends;

        assert_int_equal(make_ends(&own), 0);
        ends = own;
        memcpy(header, good, sizeof(header));
        header[cases[i].at] = cases[i].value;
        send_raw(&ends->a, header, sizeof(header));
        assert_int_equal(oob_receive(&ends->b, OOB_GO, NULL, 0, 0, NULL), -EPROTO);
        if (!strstr(ends->b.why, cases[i].named))
            fail_msg("'%s' does not name %s", ends->b.why, cases[i].named);
        drop_ends(&own);
    }
}

static void garbage_is_refused(void **state)
{
    struct ends *ends = *state;
    uint8_t noise[4096];

    srand(1);
    for (size_t i = 0; i < sizeof(noise); i++)
        noise[i] = (uint8_t)rand();
    send_raw(&ends->a, noise, sizeof(noise));
    assert_int_equal(oob_receive(&ends->b, OOB_GO, NULL, 0, 0, NULL), -EPROTO);
}

static void replayed_messages_are_refused(void **state)
{
    struct ends *ends = *state;

    assert_int_equal(oob_send(&ends->a, OOB_GO, NULL, 0), 0);
    ends->a.sent = 0; /* again, as if replayed */
    assert_int_equal(oob_send(&ends->a, OOB_GO, NULL, 0), 0);
    assert_int_equal(oob_receive(&ends->b, OOB_GO, NULL, 0, 0, NULL), 0);
    assert_int_equal(oob_receive(&ends->b, OOB_GO, NULL, 0, 0, NULL), -EPROTO);
}

static void too_long_to_send(void **state)
{
    struct ends *ends = *state;
    static uint8_t big[OOB_PAYLOAD_MAX + 1];

    assert_int_equal(oob_send(&ends->a, OOB_HELLO, big, sizeof(big)), -EMSGSIZE);
}

static void *connect_later(void *arg)
{
    struct oob *oob = arg;

    if (!oob_connect("127.0.0.1", 18600, 60000, oob))
        oob_send(oob, OOB_HELLO, "x", 1);
    return NULL;
}

static void tcp_on_loopback(void **state)
{
    struct oob client, server;
    pthread_t thread;
    char why[OOB_WHY_SIZE], byte;
    int fd;
    (void)state;

    if (oob_listen("127.0.0.1", 18600, &fd, why)) {
        print_message("SKIP: port 18600 is taken: %s\n", why);
        skip();
    }
    pthread_create(&thread, NULL, connect_later, &client);
    assert_int_equal(oob_accept(fd, &server), 0);
    assert_int_equal(oob_receive(&server, OOB_HELLO, &byte, 1, 1, NULL), 0);
    pthread_join(thread, NULL);
    oob_close(&client);
    oob_close(&server);
    close(fd);
}

static void unreachable_peers_are_named(void **state)
{
    struct oob oob;
    char why[OOB_WHY_SIZE];
    int fd;
    (void)state;

    assert_int_equal(oob_connect("127.0.0.1", 1, 10, &oob), -ECONNREFUSED);
    assert_non_null(strstr(oob.why, "127.0.0.1 port 1"));
    assert_int_equal(oob_connect("no.such.host.invalid", 18515, 10, &oob), -EADDRNOTAVAIL);
    assert_non_null(strstr(oob.why, "no.such.host.invalid"));
    assert_int_not_equal(oob_listen("203.0.113.1", 18515, &fd, why), 0);
    assert_non_null(strstr(why, "203.0.113.1"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(messages_arrive, make_ends, drop_ends),
        cmocka_unit_test(integers_are_big_endian),
        cmocka_unit_test(texts_are_bounded_and_tame),
        cmocka_unit_test_setup_teardown(a_peers_error_is_told, make_ends, drop_ends),
        cmocka_unit_test_setup_teardown(a_closed_peer_is_told, make_ends, drop_ends),
        cmocka_unit_test_setup_teardown(silence_times_out, make_ends, drop_ends),
        cmocka_unit_test(corrupted_headers_are_refused),
        cmocka_unit_test_setup_teardown(garbage_is_refused, make_ends, drop_ends),
        cmocka_unit_test_setup_teardown(replayed_messages_are_refused, make_ends, drop_ends),
        cmocka_unit_test_setup_teardown(too_long_to_send, make_ends, drop_ends),
        cmocka_unit_test(tcp_on_loopback),
        cmocka_unit_test(unreachable_peers_are_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
