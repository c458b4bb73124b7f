/* SPDX-License-Identifier: Apache-2.0 */
/* SOFTNIC_WIRE as a user writes it: what is refused, with which words, and the addresses and path MTU that follow. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>

#include "gdaki/softnic.h"
#include "softnic/verbs/exports.h"

static void refused(void **state)
{
    (void)state;
    static const struct {
        const char *wire, *devices, *link, *says;
    } rows[] = {
        {"tcp", "1", "eth", "expected shm, none, udp"},
        {"ud", "1", "eth", "expected"},
        {"udpx", "1", "eth", "expected"},
        {"shm:x", "1", "eth", "expected"},
        {"none:", "1", "eth", "expected"},
        {"udp:1.2.3", "1", "eth", "1.2.3: expected an IPv4 or IPv6 address"},
        {"udp:127.0.0.1,lo", "1", "eth", "lo: expected an IPv4"},
        {"udp:::ffff:127.0.0.1", "1", "eth", "expected an IPv4 or IPv6"},
        {"udp:192.0.2.77", "1", "eth", "no interface of this host has the address 192.0.2.77"},
        {"udp:127.0.0.1,127.0.0.2,127.0.0.3,127.0.0.4,127.0.0.5", "1", "eth", "more than 4"},
        {"udp:127.0.0.1,127.0.0.2,127.0.0.1", "1", "eth", "127.0.0.1: given twice"},
        {"udp:fe80::1", "1", "eth", "link-local"},
        {"udp:127.0.0.1,mtu=1500", "1", "eth", "expected"},
        {"udp:127.0.0.1", "2", "eth", "SOFTNIC_DEVICES=2"},
        {"udp", "1", "ib", "SOFTNIC_LINK=ib"},
        {"packet", "1", "eth", "expected"},
        {"packet:", "1", "eth", "expected"},
        {"packet:nosuchinterface0", "1", "eth", "no interface's name"},
        {"packet:nosuch0", "1", "eth", "nosuch0"},
        {"packet:lo,mac=02:00:00:00:00:01", "1", "eth", "mac="},
        {"tap:../t0", "1", "eth", "../t0 is no interface's name"},
        {"tap:t0,mac=03:00:00:00:00:01", "1", "eth", "of a single station"},
        {"tap:t0,mac=2:0:0:0:0:1x", "1", "eth", "mac="},
        {"tap:t0,mtu=100", "1", "eth", "576 to 9216"},
        {"tap:t0,mtu=-1", "1", "eth", "mtu="},
        {"dgram:/tmp/a", "1", "eth", "dgram:LOCAL,REMOTE"},
        {"dgram:/tmp/a,/tmp/b,nonsense", "1", "eth", "nonsense"},
        {"pcap:f.pcap,record=", "1", "eth", "record="},
    };
    setenv("SOFTNIC_LOG", "off", 1);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        int n = 7;
        setenv("SOFTNIC_WIRE", rows[i].wire, 1);
        setenv("SOFTNIC_DEVICES", rows[i].devices, 1);
        setenv("SOFTNIC_LINK", rows[i].link, 1);
        if (softnic_ibv_get_device_list(&n))
            fail_msg("SOFTNIC_WIRE=%s was taken", rows[i].wire);
        assert_true(errno == EINVAL || errno == ENODEV || errno == EADDRNOTAVAIL);
        if (!strstr(softnic_last_error(), rows[i].says))
            fail_msg("SOFTNIC_WIRE=%s: \"%s\" does not say \"%s\"", rows[i].wire, softnic_last_error(), rows[i].says);
        if (!strstr(rows[i].wire, "dgram") || strlen(rows[i].wire) > 4)
            assert_non_null(strstr(softnic_last_error(), rows[i].wire));
    }
    unsetenv("SOFTNIC_DEVICES");
    unsetenv("SOFTNIC_LINK");
    /* What is too long is refused, not cut. */
    char lengthy[700] = "dgram:";
    memset(lengthy + 6, 'x', 200);
    strcpy(lengthy + 206, ",/tmp/b");
    setenv("SOFTNIC_WIRE", lengthy, 1);
    assert_null(softnic_ibv_get_device_list(NULL));
    assert_int_equal(errno, EINVAL);
}

static struct ibv_context *open_with(const char *wire, int index)
{
    int n;
    setenv("SOFTNIC_WIRE", wire, 1);
    struct ibv_device **list = softnic_ibv_get_device_list(&n);
    if (!list)
        fail_msg("SOFTNIC_WIRE=%s: %s", wire, softnic_last_error());
    assert_true(index < n);
    struct ibv_context *c = softnic_ibv_open_device(list[index]);
    softnic_ibv_free_device_list(list);
    return c;
}

static void has_gid(struct ibv_context *c, int index, const char *expected)
{
    union ibv_gid gid;
    char text[40] = "";
    assert_int_equal(softnic_ibv_query_gid(c, 1, index, &gid), 0);
    for (int i = 0; i < 16; i++)
        snprintf(text + i * 2, 3, "%02x", gid.raw[i]);
    assert_string_equal(text, expected);
}

static void addresses(void **state)
{
    struct _compat_ibv_port_attr *compat;
    struct ibv_port_attr a;
    (void)state;
    compat = (struct _compat_ibv_port_attr *)(void *)&a;
    setenv("SOFTNIC_DEVICES", "2", 1);
    struct ibv_context *c = open_with("udp", 1);
    assert_non_null(c);
    has_gid(c, 0, "00000000000000000000ffff7f000002"); /* the second device: 127.0.0.2 */
    assert_string_equal(softnic_wire_name(), "udp");
    assert_non_null(strstr(softnic_wire_says(), "15 of its 32 bits"));
    assert_int_equal((softnic_ibv_query_port)(c, 1, compat), 0);
    assert_int_equal(a.gid_tbl_len, 1);
    assert_int_equal(a.active_mtu, IBV_MTU_4096);
    assert_int_equal(softnic_ibv_close_device(c), 0);
    unsetenv("SOFTNIC_DEVICES");

    c = open_with("dgram:/tmp/softnic-choice-a,/tmp/softnic-choice-b,192.0.2.9,2001:db8::9,mac=02:11:22:33:44:55", 0);
    assert_non_null(c);
    has_gid(c, 0, "00000000000000000000ffffc0000209");
    has_gid(c, 1, "20010db8000000000000000000000009");
    has_gid(c, 2, "fe80000000000000001122fffe334455");
    assert_int_equal((softnic_ibv_query_port)(c, 1, compat), 0);
    assert_int_equal(a.active_mtu, IBV_MTU_1024); /* 1500 bytes */
    assert_int_equal(access("/tmp/softnic-choice-a", F_OK), 0);
    assert_int_equal(softnic_ibv_close_device(c), 0);
    assert_int_not_equal(access("/tmp/softnic-choice-a", F_OK), 0);

    c = open_with("dgram:/tmp/softnic-choice-a,/tmp/softnic-choice-b,mtu=576", 0);
    assert_non_null(c);
    assert_int_equal((softnic_ibv_query_port)(c, 1, compat), 0);
    assert_int_equal(a.active_mtu, IBV_MTU_256); /* IPv6: 512 and its headers are 596 */
    assert_int_equal(softnic_ibv_close_device(c), 0);

    c = open_with("pcap:/nonexistent/file.pcap", 0);
    assert_null(c);
    assert_non_null(strstr(softnic_last_error(), "/nonexistent/file.pcap"));
    unsetenv("SOFTNIC_WIRE");
}

/* Two processes of a host are two slots of one address. */
static void slots(void **state)
{
    (void)state;
#ifdef __SANITIZE_THREAD__
    printf("SKIP: ThreadSanitizer allows no threads in a forked child\n");
    skip();
#endif
    struct ibv_context *c = open_with("udp", 0);
    assert_non_null(c);
    pid_t child = fork();
    if (child == 0) {
        struct ibv_context *mine = open_with("udp", 0);
        _exit(mine ? 0 : 1); /* dies with everything open: its slot is free again */
    }
    assert_true(child > 0);
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(softnic_ibv_close_device(c), 0);
    unsetenv("SOFTNIC_WIRE");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(refused), cmocka_unit_test(addresses), cmocka_unit_test(slots)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
