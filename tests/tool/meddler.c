/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Something between client and server changes what they tell each other: a foreign key, an address beyond the region, a
 * message cut short. The run must end by itself with the NIC's syndrome or with the field named, at both ends.
 */
#include "testing.h"

#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "program.h"
#include "tool/oob.h"

#define SERVER_PORT 18621
#define MEDDLER_PORT 18622

/* Offsets in an ENDPOINT payload: GID 16, LID 2, link 1, MTU 4, PSN 4, three addresses of 8, span 8, key 4, queues 4. */
#define AT_LINK 18
#define AT_RECV_ADDR 35
#define AT_KEY 59

struct meddling {
    uint8_t type;    /* of the server's message to change */
    size_t at;       /* byte to change; SIZE_MAX: cut the payload short by one byte */
    uint8_t xor;
};

struct meddler {
    struct meddling what;
    int listen_fd, client, server;
};

static bool read_all(int fd, void *data, size_t size)
{
    return !size || recv(fd, data, size, MSG_WAITALL) == (ssize_t)size; /* a receive of nothing would wait for something */
}

static bool write_all(int fd, const void *data, size_t size)
{
    return send(fd, data, size, MSG_NOSIGNAL) == (ssize_t)size;
}

/* Passes frames on; the server's first message of the chosen type is changed on its way. */
static void pass_on(int from, int to, const struct meddling *what)
{
    uint8_t frame[OOB_HEADER + OOB_PAYLOAD_MAX];
    bool changed = false;

    while (read_all(from, frame, OOB_HEADER)) {
        size_t length = (size_t)frame[12] << 24 | (size_t)frame[13] << 16 | (size_t)frame[14] << 8 | frame[15];

        if (length > OOB_PAYLOAD_MAX || !read_all(from, frame + OOB_HEADER, length))
            break;
        if (what && !changed && frame[7] == what->type) {
            changed = true;
            if (what->at == SIZE_MAX)
                frame[15] = (uint8_t)--length; /* payloads used here are not multiples of 256 */
            else
                frame[OOB_HEADER + what->at] ^= what->xor;
        }
        if (!write_all(to, frame, OOB_HEADER + length))
            break;
    }
    shutdown(to, SHUT_WR);
}

static void *pass_up(void *arg)
{
    struct meddler *m = arg;

    pass_on(m->client, m->server, NULL);
    return NULL;
}

static void *meddle(void *arg)
{
    struct meddler *m = arg;
    struct oob client, server;
    pthread_t up;

    if (oob_accept(m->listen_fd, &client) || oob_connect("127.0.0.1", SERVER_PORT, 60000, &server))
        return NULL;
    m->client = client.fd;
    m->server = server.fd;
    pthread_create(&up, NULL, pass_up, m);
    pass_on(m->server, m->client, &m->what);
    pthread_join(up, NULL);
    oob_close(&client);
    oob_close(&server);
    return NULL;
}

struct serving {
    const char *arguments;
    struct outcome outcome;
};

static void *serve(void *arg)
{
    struct serving *s = arg;

    s->outcome = program_run(s->arguments);
    return NULL;
}

/* Runs a test through the meddler; the client must end with `status` and a text that holds `named`. */
static void expect(const char *test, const char *options, struct meddling what, int status, const char *named)
{
    char server_arguments[128], client_arguments[256], why[OOB_WHY_SIZE];
    struct meddler m = {.what = what};
    struct serving s = {.arguments = server_arguments};
    struct outcome client;
    pthread_t meddler, server;

    snprintf(server_arguments, sizeof(server_arguments), "perf %s --quiet -p %d", test, SERVER_PORT);
    snprintf(client_arguments, sizeof(client_arguments), "perf %s --quiet -n 64 --timeout 60 %s -p %d 127.0.0.1", test,
             options, MEDDLER_PORT);
    if (oob_listen("127.0.0.1", MEDDLER_PORT, &m.listen_fd, why))
        fail_msg("%s", why);
    pthread_create(&server, NULL, serve, &s);
    pthread_create(&meddler, NULL, meddle, &m);
    client = program_run(client_arguments);
    pthread_join(meddler, NULL);
    pthread_join(server, NULL);
    close(m.listen_fd);
    if (client.status != status || !strstr(client.text, named))
        fail_msg("client: status %d, expected %d and '%s' in:\n%s\nserver: status %d\n%s", client.status, status, named,
                 client.text, s.outcome.status, s.outcome.text);
    assert_int_not_equal(s.outcome.status, 0);
    assert_true(s.outcome.status < 128);
    free(client.text);
    free(s.outcome.text);
}

static void a_foreign_key(void **state)
{
    (void)state;

    expect("put-bw", "-s 8", (struct meddling){OOB_ENDPOINT, AT_KEY + 3, 0x40}, 3, "syndrome 0x13");
    expect("put-bw", "-s 4K -t 16 --handler cpu-proxy", (struct meddling){OOB_ENDPOINT, AT_KEY, 0x01}, 3,
           "syndrome 0x13");
    expect("put-bw", "-s 8 --cq collapsed", (struct meddling){OOB_ENDPOINT, AT_KEY + 1, 0x01}, 3, "syndrome 0x13");
    expect("get-bw", "-s 64K", (struct meddling){OOB_ENDPOINT, AT_KEY + 3, 0x40}, 3, "syndrome 0x13");
    expect("write-bw", "-s 64", (struct meddling){OOB_ENDPOINT, AT_KEY + 3, 0x40}, 3, "error completion");
}

static void beyond_the_region(void **state)
{
    (void)state;

    expect("put-bw", "-s 8 --scope warp", (struct meddling){OOB_ENDPOINT, AT_RECV_ADDR + 2, 0x10}, 3, "syndrome 0x13");
}

static void a_latency_test_ends_at_both_ends(void **state)
{
    (void)state;

    /* The server waits for what does not come; nothing else here ends by time. */
    expect("write-lat", "-s 8 --timeout 5", (struct meddling){OOB_ENDPOINT, AT_KEY + 3, 0x40}, 3, "syndrome 0x13");
    expect("signal-lat", "-s 8 --timeout 5", (struct meddling){OOB_ENDPOINT, AT_KEY + 3, 0x40}, 3, "syndrome 0x13");
}

static void cut_messages(void **state)
{
    (void)state;

    expect("put-bw", "-s 8", (struct meddling){OOB_ENDPOINT, SIZE_MAX, 0}, 3, "malformed ENDPOINT");
    expect("put-bw", "-s 8", (struct meddling){OOB_RESULT, SIZE_MAX, 0}, 3, "malformed RESULT");
    expect("put-bw", "-s 8", (struct meddling){OOB_ENDPOINT, AT_LINK, 0x10}, 3, "malformed ENDPOINT");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_foreign_key),
        cmocka_unit_test(beyond_the_region),
        cmocka_unit_test(a_latency_test_ends_at_both_ends),
        cmocka_unit_test(cut_messages),
    };

    return program_find() ? cmocka_run_group_tests(tests, NULL, NULL) : 77;
}
