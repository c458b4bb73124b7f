/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program as a user meets it: help, versions, refusals that name option and value and exit with 2, and `info`.
 * The environment names it (GDAKI_TEST_PROGRAM), CTest sets that.
 */
#include "testing.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "program.h"

static void expect(const char *arguments, int status, const char *named)
{
    struct outcome o = program_run(arguments);

    if (o.status != status || (named && !strstr(o.text, named)))
        fail_msg("gdaki %s: status %d, expected %d and '%s' in:\n%s", arguments, o.status, status, named ? named : "",
                 o.text);
    free(o.text);
}

static void help_and_version(void **state)
{
    (void)state;

    expect("--help", 0, "perf    performance tests");
    expect("--version", 0, "gdaki 3.");
    expect("info --help", 0, "--json");
    expect("perf --help", 0, "put-bw, put-lat");
    expect("perf put-bw --help", 0, "--tx-depth");
    expect("perf signal-lat --help", 0, "half a round trip");
}

static void wrong_commands(void **state)
{
    (void)state;

    expect("", 2, "a command is missing");
    expect("nonsense", 2, "'nonsense' is no command");
    expect("--nonsense", 2, "nonsense");
    expect("perf", 2, "a test is missing");
    expect("perf send-bw", 2, "'send-bw' is not one of put-bw");
    expect("info extra", 2, "'extra'");
    expect("info --nic e1000", 2, "--nic: 'e1000'");
}

static void wrong_option_values(void **state)
{
    static const struct {
        const char *arguments, *named;
    } cases[] = {
        {"perf put-bw --local -s 0", "--size: '0'"},
        {"perf put-bw --local -s 2G", "--size: '2G'"},
        {"perf put-bw --local -s abc", "--size: 'abc'"},
        {"perf put-bw --local -s 64..8", "'64..8'"},
        {"perf put-bw --local -n 0", "--iterations: '0'"},
        {"perf put-bw --local -n -5", "--iterations: '-5'"},
        {"perf put-bw --local -D 0", "--duration: '0'"},
        {"perf put-bw --local -D forever", "--duration: 'forever'"},
        {"perf put-bw --local -t 0", "--tx-depth 0"},
        {"perf put-bw --local -t 100", "--tx-depth 100 is not a power of two"},
        {"perf put-bw --local -t 65536", "--tx-depth 65536"},
        {"perf put-bw --local -q 0", "--qps: '0'"},
        {"perf put-bw --local --ctas 0", "--ctas: '0'"},
        {"perf put-bw --local --threads 1025", "--threads: '1025'"},
        {"perf put-bw --local --scope block", "--scope: 'block' is not one of thread, warp"},
        {"perf put-bw --local --scope warp --threads 40", "--threads 40"},
        {"perf put-bw --local --sharing all", "--sharing: 'all'"},
        {"perf put-bw --local --sharing exclusive -q 3", "--qps 3 is too few"},
        {"perf put-bw --local --handler fast", "--handler: 'fast'"},
        {"perf put-bw --local --mem disk", "--mem: 'disk'"},
        {"perf put-bw --local --queue-mem disk", "--queue-mem: 'disk'"},
        {"perf put-bw --local --cq round", "--cq: 'round'"},
        {"perf put-bw --local -m 1500", "--mtu 1500"},
        {"perf put-bw --local -m 64", "--mtu: '64'"},
        {"perf put-bw --local -u 32", "--qp-timeout: '32'"},
        {"perf put-bw --local -I 64", "--inline: '64'"},
        {"perf put-bw --local -I 16 -s 12", "--inline 16 with --size 12"},
        {"perf put-bw --local --span 3000", "--span 3000"},
        {"perf put-bw --local --span 4K -s 8K", "--size 8192 is beyond the buffer: --span 4096"},
        {"perf put-bw --local --window 2000 -t 1024", "--window 2000"},
        {"perf put-bw --local --gpu-backend rocm", "--gpu-backend: 'rocm'"},
        {"perf put-bw --local --nic e1000", "--nic: 'e1000'"},
        {"perf put-bw --local -x 999", "--gid-index: '999'"},
        {"perf put-bw --local -p 70000", "--port: '70000'"},
        {"perf put-bw --local --plot curve.pdf", "--plot: 'curve.pdf'"},
        {"perf put-bw --local --timeout 0", "--timeout: '0'"},
        {"perf put-bw --local --pair", "only one of"},
        {"perf put-bw --local somewhere", "only one of"},
        {"perf put-bw --local --json - --csv -", "--json - and --csv -"},
        {"perf write-lat --local --threads 32", "--threads 32"},
        {"perf write-lat --local -b", "--bidirectional"},
        {"perf put-lat --local --window 2", "--window 2"},
        {"perf post-rate somewhere", "'somewhere'"},
        {"perf post-rate --threads 64 -t 32", "--tx-depth 32"},
        {"perf put-bw --local -s 8,,64", "'8,,64' names no size"},
        {"perf put-bw --local --seed 9223372036854775808", "--seed: '9223372036854775808'"},
        {"perf post-rate -g 99", "--gpu: '99' is out of range"},
    };
    (void)state;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        expect(cases[i].arguments, 2, cases[i].named);
}

/* What would be ignored is refused: who gives it expects something of it. */
static void options_without_effect(void **state)
{
    static const char *const post_rate[] = {"--local", "--pair", "--port 18515", "--bind 127.0.0.1", "--device softnic0",
                                            "--nic softnic", "--gid-index 0", "--mtu 1024", "--qp-timeout 14", "--duration 1", "--warmup 1",
                                            "--bidirectional", "--inline 8", "--span 4K", "--seed 1", "--window 1",
                                            "--cq regular", "--mem host", "--verify", "--no-verify", "--floor",
                                            "--idle 1", "--csv x.csv", "--plot x.svg"};
    static const char *const server[] = {"--json x.json", "--csv x.csv", "--plot x.svg", "--floor", "--idle 1"};
    char arguments[128], named[64];
    (void)state;

    for (size_t i = 0; i < sizeof(post_rate) / sizeof(post_rate[0]); i++) {
        snprintf(arguments, sizeof(arguments), "perf post-rate %s", post_rate[i]);
        snprintf(named, sizeof(named), "%.*s has no effect for post-rate", (int)strcspn(post_rate[i], " "), post_rate[i]);
        expect(arguments, 2, named);
    }
    for (size_t i = 0; i < sizeof(server) / sizeof(server[0]); i++) {
        snprintf(arguments, sizeof(arguments), "perf put-bw %s", server[i]);
        snprintf(named, sizeof(named), "%.*s has no effect for a server", (int)strcspn(server[i], " "), server[i]);
        expect(arguments, 2, named);
    }
    expect("perf post-rate -s 8,64", 2, "post-rate takes one size");
    expect("perf put-bw --bind 127.0.0.1 localhost", 2, "--bind has no effect for a client");
    expect("perf put-bw --local -p 18515", 2, "--port has no effect for both ends");
}

/* Both ends of one process find the same thing wrong: it is said once. */
static void said_once(const char *arguments, const char *what)
{
    struct outcome o = program_run(arguments);
    const char *first = strstr(o.text, what);

    if (!first || strstr(first + 1, what))
        fail_msg("gdaki %s: expected '%s' once in:\n%s", arguments, what, o.text);
    free(o.text);
}

static void unknown_devices(void **state)
{
    (void)state;

    said_once("perf put-bw --local -s 8 -n 32 -d mlx5_77", "--device: 'mlx5_77'");
    said_once("perf put-bw --local -s 8 -n 32 -x 200", "--gid-index: 200 is not set");
    expect("perf put-bw --local -s 8 -n 32 -d mlx5_77", 2, "--device: 'mlx5_77' is no device");
    expect("perf put-bw --local -s 8 -n 32 -g 99", 2, "--gpu: '99' is out of range");
    expect("perf put-bw --local -s 8 -n 32 -g 00:ff:00.0", 2, "bus id '00:ff:00.0'");
    expect("perf put-bw --local -s 8 -n 32 -g -1", 2, "bus id '-1'");
    expect("perf put-bw --local -s 8 -n 32 -g cpu7", 2, "bus id 'cpu7'");
    expect("perf put-bw --local -s 8 -n 32 -g cpu", 0, "yes"); /* the executor's name for itself */
    expect("perf put-bw --local -s 8 -n 32 -x 200", 2, "--gid-index: 200 is not set");
    expect("perf put-bw --pair -s 8 -n 32 -d mlx5_77", 2, "--device: 'mlx5_77' is no device");
}

static void unreachable_results(void **state)
{
    static const char *const files[] = {"--json /no/such/folder/x.json", "--csv /no/such/folder/x.csv",
                                        "--plot /no/such/folder/x.svg", "--csv /"};
    char arguments[128], named[64];
    (void)state;

    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        struct outcome o;

        snprintf(arguments, sizeof(arguments), "perf put-bw --local -s 8 -n 32 %s", files[i]);
        snprintf(named, sizeof(named), "cannot write %s", strchr(files[i], '/'));
        expect(arguments, 3, named);
        o = program_run(arguments);
        if (strstr(o.text, "verified")) /* said before the run, not after it */
            fail_msg("%s: measured before the file was tried:\n%s", arguments, o.text);
        free(o.text);
    }
    expect("perf post-rate -n 32 --json /no/such/folder/x.json", 3, "cannot write /no/such/folder/x.json");
    expect("perf put-bw --local -s 8 -n 32 --quiet --csv /dev/full", 3, "cannot write /dev/full: No space left");
    if (access("/dev/full", W_OK) == 0) {
        expect("perf put-bw --local -s 8 -n 32 --quiet >/dev/full", 3, NULL);
        expect("info >/dev/full", 3, NULL);
    }
}

/* A file that the check before the run only looks at keeps its content when the run fails. */
static void old_results_survive(void **state)
{
    char path[] = "/tmp/gdaki-test-XXXXXX", arguments[128], text[8] = "";
    int fd = mkstemp(path);
    (void)state;

    assert_true(fd >= 0);
    assert_int_equal(write(fd, "old", 3), 3);
    snprintf(arguments, sizeof(arguments), "perf put-bw --local -s 8 -n 32 -d mlx5_77 --json %s", path);
    expect(arguments, 2, "mlx5_77");
    assert_int_equal(pread(fd, text, sizeof(text), 0), 3);
    assert_string_equal(text, "old");
    close(fd);
    unlink(path);
    expect(arguments, 2, "mlx5_77");
    assert_int_equal(access(path, F_OK), -1); /* and nothing is left behind where nothing was */
}

/* A pipe's reader gets the results, not an end before they come. */
static void results_into_a_pipe(void **state)
{
    char path[] = "/tmp/gdaki-test-XXXXXX", fifo[64], arguments[512];
    (void)state;

    assert_non_null(mkdtemp(path));
    snprintf(fifo, sizeof(fifo), "%s/fifo", path);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    snprintf(arguments, sizeof(arguments), "-c '%s perf put-bw --local -s 8 -n 32 --quiet --csv %s >/dev/null & timeout 60 cat %s; wait'",
             program, fifo, fifo);
    struct outcome o = command_run("sh", arguments);
    assert_non_null(strstr(o.text, "size_bytes"));
    free(o.text);
    unlink(fifo);
    rmdir(path);
}

/* With standard descriptors closed, the pair's socket must not become one of them. */
static void closed_standard_descriptors(void **state)
{
    (void)state;

    expect("perf put-bw --pair -s 8 -n 32 --quiet <&-", 0, "yes");
    expect("perf put-bw --pair -s 8 -n 32 --quiet 2>/dev/null <&- >&- #", 3, NULL);
}

/* Each library has its table; softnic's is opened at run time, so it is the one that can be lost. */
static void info_lists_variables(void **state)
{
    static const char *const names[] = {"GDAKI_NIC", "SOFTNIC_WIRE", "SOFTNIC_FAULTS", "SOFTNIC_PCAP", "GDAKI_CPU_SEED"};
    struct outcome o = program_run("info --env");
    (void)state;

    assert_int_equal(o.status, 0);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (!strstr(o.text, names[i]))
            fail_msg("'%s' is missing from:\n%s", names[i], o.text);
    }
    free(o.text);
    setenv("SOFTNIC_SEED", "4711", 1);
    expect("info --env --nic softnic", 0, "SOFTNIC_SEED=4711");
    unsetenv("SOFTNIC_SEED");
}

static void info_says_everything(void **state)
{
    static const char *const parts[] = {"In use:",  "softnic",   "queue memory", "GPUs:",    "NICs:",    "GIDs",
                                        "gpu-db",   "cpu-proxy", "GDAKI_NIC",    "GDAKI_GPU", "SDK"};
    struct outcome o = program_run("info");
    (void)state;

    assert_int_equal(o.status, 0);
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        if (!strstr(o.text, parts[i]))
            fail_msg("'%s' is missing from:\n%s", parts[i], o.text);
    }
    free(o.text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(help_and_version), cmocka_unit_test(wrong_commands),     cmocka_unit_test(wrong_option_values),
        cmocka_unit_test(unknown_devices),  cmocka_unit_test(unreachable_results), cmocka_unit_test(info_says_everything),
        cmocka_unit_test(options_without_effect), cmocka_unit_test(old_results_survive),
        cmocka_unit_test(closed_standard_descriptors), cmocka_unit_test(results_into_a_pipe),
        cmocka_unit_test(info_lists_variables),
    };

    return program_find() ? cmocka_run_group_tests(tests, NULL, NULL) : 77;
}
