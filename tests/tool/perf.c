/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every performance test end to end on the CPU stand-in and the software NIC: in one process and as two, in each doorbell
 * mode, scope, sharing mode and kind of completion queue, with all bytes compared; and over TCP as server and client.
 */
#include "testing.h"

#include <jansson.h>
#include <pthread.h>
#include <unistd.h>

#include "program.h"

/* Runs a test with JSON on stdout and returns the tree; fails the case unless it ended well and all is verified. */
static json_t *run_verified(const char *arguments, size_t rows)
{
    char all[900];
    struct outcome o;
    json_error_t error;
    json_t *root, *list, *row;
    size_t index;

    snprintf(all, sizeof(all), "%s --quiet --json /tmp/gdaki-test-%d.json", arguments, (int)getpid());
    o = program_run(all);
    if (o.status)
        fail_msg("gdaki %s: status %d\n%s", all, o.status, o.text);
    free(o.text);
    snprintf(all, sizeof(all), "/tmp/gdaki-test-%d.json", (int)getpid());
    root = json_load_file(all, 0, &error);
    unlink(all);
    if (!root)
        fail_msg("%s: %s", arguments, error.text);
    list = json_object_get(root, "rows");
    assert_int_equal(json_array_size(list), rows);
    json_array_foreach(list, index, row) {
        assert_string_equal(json_string_value(json_object_get(row, "verified")), "yes");
        assert_true(json_integer_value(json_object_get(row, "bytes_checked")) > 0);
        assert_int_equal(json_integer_value(json_object_get(row, "bytes_wrong")), 0);
        assert_true(json_real_value(json_object_get(row, "messages_per_s")) > 0);
        assert_true(json_integer_value(json_object_get(json_object_get(row, "latency_us"), "samples")) > 0);
    }
    return root;
}

static void verified(const char *arguments, size_t rows)
{
    json_decref(run_verified(arguments, rows));
}

static void each_test_in_process(void **state)
{
    (void)state;

    verified("perf put-bw --local -s 1,8,100,4K,64K -n 96", 5);
    verified("perf put-lat --local -s 8,64K -n 20", 2);
    verified("perf write-bw --local -s 8,4K -n 96", 2);
    verified("perf write-lat --local -s 1,8,4K -n 20", 3);
    verified("perf get-bw --local -s 8,100,64K -n 96", 3);
    verified("perf signal-lat --local -s 8,4K -n 20", 2);
}

static void each_test_as_two_processes(void **state)
{
    (void)state;

    verified("perf put-bw --pair -s 8,64K,1M -n 64", 3);
    verified("perf put-lat --pair -s 8 -n 20", 1);
    verified("perf write-bw --pair -s 8,4K -n 96", 2);
    verified("perf write-lat --pair -s 8 -n 20", 1);
    verified("perf get-bw --pair -s 8,64K -n 64", 2);
    verified("perf signal-lat --pair -s 8 -n 20", 1);
}

static void each_doorbell_mode(void **state)
{
    static const char *const handlers[] = {"gpu-db", "gpu-no-dbr", "gpu-bf", "cpu-proxy"};
    char arguments[256];
    (void)state;

    for (size_t i = 0; i < sizeof(handlers) / sizeof(handlers[0]); i++) {
        json_t *root;

        snprintf(arguments, sizeof(arguments), "perf put-bw --local -s 8,4K -n 200 -t 64 --handler %s", handlers[i]);
        root = run_verified(arguments, 2);
        assert_string_equal(json_string_value(json_object_get(root, "doorbell")), handlers[i]);
        json_decref(root);
        snprintf(arguments, sizeof(arguments), "perf write-lat --local -s 8 -n 20 --handler %s", handlers[i]);
        verified(arguments, 1);
    }
}

static void each_scope_and_sharing(void **state)
{
    static const char *const scopes[] = {"thread", "warp"}, *const sharings[] = {"exclusive", "cta", "gpu"};
    char arguments[256];
    (void)state;

    for (size_t s = 0; s < 2; s++) {
        for (size_t m = 0; m < 3; m++) {
            snprintf(arguments, sizeof(arguments),
                     "perf put-bw --local -s 8,4K -n 256 -t 64 --ctas 2 --threads 32 --scope %s --sharing %s", scopes[s],
                     sharings[m]);
            verified(arguments, 2);
            snprintf(arguments, sizeof(arguments),
                     "perf get-bw --local -s 8 -n 256 -t 64 --ctas 2 --threads 32 --scope %s --sharing %s", scopes[s],
                     sharings[m]);
            verified(arguments, 1);
        }
    }
}

static void other_options(void **state)
{
    (void)state;

    verified("perf put-bw --local -s 8,4K -n 300 -t 64 --cq collapsed", 2);
    verified("perf put-bw --local -s 8 -n 300 -t 64 --cq collapsed --handler cpu-proxy", 1);
    verified("perf put-bw --local -s 8,4K -n 128 -b", 2);
    verified("perf put-bw --pair -s 8,4K -n 128 -b", 2);
    verified("perf put-bw --local -s 1,2,4,8 -n 64 -I 8", 4);
    verified("perf write-bw --local -s 3,28 -n 64 -I 28", 2);
    verified("perf write-lat --local -s 8 -n 20 -I 28", 1);
    verified("perf put-bw --local -s 4K -n 64 -m 256", 1);
    verified("perf put-bw --local -s 4K -n 64 --mem host --queue-mem host", 1);
    verified("perf put-bw --local -s 64K --span 1M -n 64 -q 3 --threads 96", 1);
    verified("perf put-bw --local -s 8 -D 0.1 --warmup 0", 1);
    verified("perf put-bw --local -s 8 -n 64 --threads 64 -t 4", 1); /* far more threads than slots */
}

static void floors_stand_beside(void **state)
{
    json_t *root = run_verified("perf put-lat --local -s 8 -n 20 --floor", 1);
    json_t *row = json_array_get(json_object_get(root, "rows"), 0);
    (void)state;

    assert_true(json_real_value(json_object_get(json_object_get(row, "floors_before"), "memcpy_64k_gb_per_s")) > 0);
    assert_true(json_real_value(json_object_get(json_object_get(row, "floors_after"), "memcpy_64m_gb_per_s")) > 0);
    json_decref(root);
}

/* All of it is run, in as many rounds as that takes: each compares the whole span. And the seed can be given again. */
static void long_warmup(void **state)
{
    json_t *root = run_verified("perf put-bw --local -s 8 -n 32 --span 4K --warmup 300000", 1);
    json_t *row = json_array_get(json_object_get(root, "rows"), 0);
    (void)state;

    assert_int_equal(json_integer_value(json_object_get(row, "bytes_checked")), 3 * 4096);
    assert_true(json_integer_value(json_object_get(root, "seed")) >= 0);
    json_decref(root);
}

static void unverified_runs_say_so(void **state)
{
    struct outcome o = program_run("perf put-bw --local -s 8 -n 32 --no-verify --quiet --csv -");
    (void)state;

    assert_int_equal(o.status, 0);
    assert_non_null(strstr(o.text, ",unchecked,"));
    free(o.text);
}

static void pictures(void **state)
{
    static const char *const names[] = {"svg", "png"};
    char arguments[256], path[64];
    (void)state;

    if (system("command -v gnuplot > /dev/null")) {
        print_message("SKIP: gnuplot is not installed\n");
        skip();
    }
    for (size_t i = 0; i < 2; i++) {
        snprintf(path, sizeof(path), "/tmp/gdaki-test-%d.%s", (int)getpid(), names[i]);
        snprintf(arguments, sizeof(arguments), "perf put-bw --local -s 8,4K -n 32 --plot %s", path);
        verified(arguments, 2);
        assert_int_equal(access(path, R_OK), 0);
        unlink(path);
    }
}

static void posting_rate(void **state)
{
    static const char *const handlers[] = {"gpu-db", "gpu-no-dbr", "cpu-proxy"};
    char arguments[256];
    (void)state;

    for (size_t i = 0; i < 3; i++) {
        struct outcome o;

        snprintf(arguments, sizeof(arguments), "perf post-rate -n 2048 --threads 64 --handler %s --json -", handlers[i]);
        o = program_run(arguments);
        if (o.status)
            fail_msg("gdaki %s: status %d\n%s", arguments, o.status, o.text);
        assert_non_null(strstr(o.text, "floor_wqe_per_s"));
        free(o.text);
    }
}

static void *serve(void *arg)
{
    struct outcome *o = arg;

    *o = program_run("perf put-bw -p 18611");
    return NULL;
}

static void server_and_client(void **state)
{
    struct outcome server, client;
    pthread_t thread;
    (void)state;

    assert_int_equal(pthread_create(&thread, NULL, serve, &server), 0);
    client = program_run("perf put-bw -p 18611 -s 8,4K -n 64 --quiet 127.0.0.1");
    pthread_join(thread, NULL);
    if (client.status || server.status)
        fail_msg("client %d\n%s\nserver %d\n%s", client.status, client.text, server.status, server.text);
    assert_non_null(strstr(client.text, "shared memory"));
    assert_non_null(strstr(server.text, " 0 wrong"));
    free(client.text);
    free(server.text);
}

static void another_test_than_the_servers(void **state)
{
    struct outcome server, client;
    pthread_t thread;
    (void)state;

    assert_int_equal(pthread_create(&thread, NULL, serve, &server), 0);
    client = program_run("perf get-bw -p 18611 -s 8 -n 64 --quiet 127.0.0.1");
    pthread_join(thread, NULL);
    assert_int_equal(server.status, 2);
    assert_int_equal(client.status, 3);
    assert_non_null(strstr(client.text, "this server runs put-bw, the client asked for get-bw"));
    free(client.text);
    free(server.text);
}

/* A stranger on the port: the server names what is wrong and ends. */
static void a_stranger_on_the_port(void **state)
{
    struct outcome server, stranger;
    pthread_t thread;
    (void)state;

    assert_int_equal(pthread_create(&thread, NULL, serve, &server), 0);
    for (int tries = 0; tries < 1200; tries++) { /* a minute: the server may be starting */
        stranger = command_run("bash", "-c 'printf \"GET / HTTP/1.1\\r\\n\\r\\n\" > /dev/tcp/127.0.0.1/18611'");
        free(stranger.text);
        if (!stranger.status)
            break;
        usleep(50 * 1000);
    }
    pthread_join(thread, NULL);
    assert_int_equal(server.status, 3);
    assert_non_null(strstr(server.text, "magic"));
    free(server.text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_test_in_process),
        cmocka_unit_test(each_test_as_two_processes),
        cmocka_unit_test(each_doorbell_mode),
        cmocka_unit_test(each_scope_and_sharing),
        cmocka_unit_test(other_options),
        cmocka_unit_test(floors_stand_beside),
        cmocka_unit_test(long_warmup), cmocka_unit_test(unverified_runs_say_so),
        cmocka_unit_test(pictures),
        cmocka_unit_test(posting_rate),
        cmocka_unit_test(server_and_client),
        cmocka_unit_test(another_test_than_the_servers),
        cmocka_unit_test(a_stranger_on_the_port),
    };

    return program_find() ? cmocka_run_group_tests(tests, NULL, NULL) : 77;
}
