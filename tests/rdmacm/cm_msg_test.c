/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages of connection management: where each field lies on the wire, bit by bit by the tables of the specification, and
 * what the parser refuses. (What a dissector of other people's makes of them is seen in tools.sh.)
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "softnic/gsi/cm_msg.h"

enum { DATA = 24 };

/* A field: its place in the 232 bytes behind the header, and the member that holds it. All ones must come and go. */
struct field {
    uint16_t attribute;
    const char *name;
    unsigned byte, bit, bits; /* bit: from the top of that byte */
    size_t offset, size;      /* of the member */
};

#define F(message, member, byte, bit, bits)                                                                            \
    {SN_CM_##message,                                                                                                  \
     #message "." #member,                                                                                             \
     byte,                                                                                                             \
     bit,                                                                                                              \
     bits,                                                                                                             \
     offsetof(struct sn_cm_msg, member),                                                                               \
     sizeof(((struct sn_cm_msg *)0)->member)}

static const struct field fields[] = {
    F(REQ, local_id, 0, 0, 32),
    F(REQ, service_id, 8, 0, 64),
    F(REQ, ca_guid, 16, 0, 64),
    F(REQ, qkey, 28, 0, 32),
    F(REQ, qpn, 32, 0, 24),
    F(REQ, responder_resources, 35, 0, 8),
    F(REQ, initiator_depth, 39, 0, 8),
    F(REQ, remote_timeout, 43, 0, 5),
    F(REQ, transport, 43, 5, 2),
    F(REQ, flow_control, 43, 7, 1),
    F(REQ, psn, 44, 0, 24),
    F(REQ, local_timeout, 47, 0, 5),
    F(REQ, retry_count, 47, 5, 3),
    F(REQ, pkey, 48, 0, 16),
    F(REQ, rnr_retry_count, 50, 5, 3),
    F(REQ, max_cm_retries, 51, 0, 4),
    F(REQ, srq, 51, 4, 1),
    F(REQ, extended_transport, 51, 5, 3),
    F(REQ, primary.local_lid, 52, 0, 16),
    F(REQ, primary.remote_lid, 54, 0, 16),
    F(REQ, primary.flow_label, 88, 0, 20),
    F(REQ, primary.rate, 91, 2, 6),
    F(REQ, primary.tclass, 92, 0, 8),
    F(REQ, primary.hop_limit, 93, 0, 8),
    F(REQ, primary.sl, 94, 0, 4),
    F(REQ, primary.subnet_local, 94, 4, 1),
    F(REQ, primary.ack_timeout, 95, 0, 5),
    F(REQ, alternate.local_lid, 96, 0, 16),
    F(REQ, alternate.flow_label, 132, 0, 20),
    F(REQ, alternate.ack_timeout, 139, 0, 5),
    F(MRA, local_id, 0, 0, 32),
    F(MRA, remote_id, 4, 0, 32),
    F(MRA, service_timeout, 9, 0, 5),
    F(REJ, local_id, 0, 0, 32),
    F(REJ, remote_id, 4, 0, 32),
    F(REJ, reason, 10, 0, 16),
    F(REP, local_id, 0, 0, 32),
    F(REP, remote_id, 4, 0, 32),
    F(REP, qkey, 8, 0, 32),
    F(REP, qpn, 12, 0, 24),
    F(REP, psn, 20, 0, 24),
    F(REP, responder_resources, 24, 0, 8),
    F(REP, initiator_depth, 25, 0, 8),
    F(REP, target_ack_delay, 26, 0, 5),
    F(REP, failover, 26, 5, 2),
    F(REP, flow_control, 26, 7, 1),
    F(REP, rnr_retry_count, 27, 0, 3),
    F(REP, srq, 27, 3, 1),
    F(REP, ca_guid, 28, 0, 64),
    F(RTU, local_id, 0, 0, 32),
    F(RTU, remote_id, 4, 0, 32),
    F(DREQ, local_id, 0, 0, 32),
    F(DREQ, remote_id, 4, 0, 32),
    F(DREQ, qpn, 8, 0, 24),
    F(DREP, local_id, 0, 0, 32),
    F(DREP, remote_id, 4, 0, 32),
    F(SIDR_REQ, local_id, 0, 0, 32),
    F(SIDR_REQ, pkey, 4, 0, 16),
    F(SIDR_REQ, service_id, 8, 0, 64),
    F(SIDR_REP, local_id, 0, 0, 32),
    F(SIDR_REP, status, 4, 0, 8),
    F(SIDR_REP, qpn, 8, 0, 24),
    F(SIDR_REP, service_id, 12, 0, 64),
    F(SIDR_REP, qkey, 20, 0, 32),
    F(APR, local_id, 0, 0, 32),
    F(APR, remote_id, 4, 0, 32),
    F(APR, status, 9, 0, 8),
};

static const struct {
    uint16_t attribute;
    unsigned private_at, private_bytes;
} rooms[] = {
    {SN_CM_REQ, 140, 92},      {SN_CM_MRA, 10, 222},      {SN_CM_REJ, 84, 148},       {SN_CM_REP, 36, 196},
    {SN_CM_RTU, 8, 224},       {SN_CM_DREQ, 12, 220},     {SN_CM_DREP, 8, 224},       {SN_CM_SIDR_REQ, 16, 216},
    {SN_CM_SIDR_REP, 96, 136}, {SN_CM_APR, 84, 148},
};

static struct sn_cm_msg plain(uint16_t attribute)
{
    struct sn_cm_msg m = {.attribute = attribute};
    if (attribute == SN_CM_REQ)
        m.mtu = 1;
    if (attribute == SN_CM_REQ || attribute == SN_CM_REP || attribute == SN_CM_SIDR_REP)
        m.qpn = 2; /* 0 and 1 are no queue pairs that can be connected */
    return m;
}

static uint64_t get_bits(const uint8_t *data, unsigned byte, unsigned bit, unsigned bits)
{
    uint64_t v = 0;
    for (unsigned i = byte * 8 + bit; i < byte * 8 + bit + bits; i++)
        v = v << 1 | (data[i / 8] >> (7 - i % 8) & 1);
    return v;
}

static void set_member(struct sn_cm_msg *m, const struct field *f, uint64_t v)
{
    memcpy((uint8_t *)m + f->offset, &v, f->size); /* little-endian */
}

static uint64_t get_member(const struct sn_cm_msg *m, const struct field *f)
{
    uint64_t v = 0;
    memcpy(&v, (const uint8_t *)m + f->offset, f->size);
    return v;
}

/* The bits of the field change, and no others. */
static void check_field(const struct field *f)
{
    struct sn_cm_msg m = plain(f->attribute), back;
    struct sn_mad before, after;
    uint64_t ones = f->bits == 64 ? UINT64_MAX : (1ull << f->bits) - 1;
    assert_int_equal(sn_cm_build(&m, &before), 0);
    uint64_t was = get_member(&m, f);
    set_member(&m, f, ones);
    assert_int_equal(sn_cm_build(&m, &after), 0);
    if (get_bits(after.data, f->byte, f->bit, f->bits) != ones || get_bits(before.data, f->byte, f->bit, f->bits) != was)
        fail_msg("%s is not where it belongs", f->name);
    for (unsigned i = 0; i < sizeof(after.data) * 8; i++) {
        bool inside = i >= f->byte * 8 + f->bit && i < f->byte * 8 + f->bit + f->bits;
        if (!inside && get_bits(before.data, 0, i, 1) != get_bits(after.data, 0, i, 1))
            fail_msg("%s changes bit %u", f->name, i);
    }
    if (f->attribute == SN_CM_SIDR_REP && f->offset == offsetof(struct sn_cm_msg, qpn))
        assert_int_equal(before.data[4], 0);
    assert_int_equal(sn_cm_parse(&after, sizeof(after), &back), SN_CM_OK);
    if (get_member(&back, f) != ones)
        fail_msg("%s comes back as %llx", f->name, (unsigned long long)get_member(&back, f));
}

static void fields_lie_where_the_tables_say(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
        check_field(&fields[i]);
}

static void small_enumerations(void **state)
{
    (void)state;
    struct sn_cm_msg m = plain(SN_CM_REQ), back;
    struct sn_mad mad;
    for (uint8_t mtu = 1; mtu <= 5; mtu++) {
        m.mtu = mtu;
        assert_int_equal(sn_cm_build(&m, &mad), 0);
        assert_int_equal(mad.data[50] >> 4, mtu);
        assert_int_equal(sn_cm_parse(&mad, sizeof(mad), &back), SN_CM_OK);
        assert_int_equal(back.mtu, mtu);
    }
    for (uint8_t about = SN_CM_ABOUT_REQ; about <= SN_CM_ABOUT_OTHER; about++) {
        m = plain(SN_CM_REJ);
        m.about = about;
        m.info_length = 72;
        memset(m.info, 0x5a, sizeof(m.info));
        assert_int_equal(sn_cm_build(&m, &mad), 0);
        assert_int_equal(mad.data[8], about << 6);
        assert_int_equal(mad.data[9], 72 << 1);
        assert_int_equal(mad.data[12], 0x5a);
        assert_int_equal(mad.data[83], 0x5a);
        assert_int_equal(sn_cm_parse(&mad, sizeof(mad), &back), SN_CM_OK);
        assert_int_equal(back.about, about);
        assert_int_equal(back.info_length, 72);
    }
}

static void gids_and_private_data(void **state)
{
    (void)state;
    struct sn_cm_msg m, back;
    struct sn_mad mad;
    m = plain(SN_CM_REQ);
    memset(m.primary.local_gid, 1, 16);
    memset(m.primary.remote_gid, 2, 16);
    memset(m.alternate.local_gid, 3, 16);
    memset(m.alternate.remote_gid, 4, 16);
    assert_int_equal(sn_cm_build(&m, &mad), 0);
    for (unsigned i = 0; i < 16; i++)
        assert_true(mad.data[56 + i] == 1 && mad.data[72 + i] == 2 && mad.data[100 + i] == 3 && mad.data[116 + i] == 4);
    for (size_t i = 0; i < sizeof(rooms) / sizeof(rooms[0]); i++) {
        m = plain(rooms[i].attribute);
        assert_int_equal(sn_cm_private_room(m.attribute), rooms[i].private_bytes);
        m.private_length = (uint8_t)rooms[i].private_bytes;
        memset(m.private_data, 0xa5, m.private_length);
        assert_int_equal(sn_cm_build(&m, &mad), 0);
        for (unsigned j = 0; j < SN_MAD_DATA_BYTES; j++)
            if (j >= rooms[i].private_at)
                assert_int_equal(mad.data[j], 0xa5);
        assert_int_equal(sn_cm_parse(&mad, sizeof(mad), &back), SN_CM_OK);
        assert_memory_equal(back.private_data, m.private_data, rooms[i].private_bytes);
        if (m.private_length == 255)
            continue;
        m.private_length++;
        assert_int_equal(sn_cm_build(&m, &mad), -EINVAL);
    }
}

static void header_of_all(void **state)
{
    (void)state;
    static const uint8_t expected[DATA] = {1, 7, 2, 3, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0x13, 0, 0, 0, 0, 0, 0};
    struct sn_cm_msg m = plain(SN_CM_REP);
    struct sn_mad mad;
    m.transaction = 0x0102030405060708ull;
    assert_int_equal(sn_cm_build(&m, &mad), 0);
    assert_memory_equal(&mad, expected, DATA);
}

/* ---- what is refused ------------------------------------------------------------------------------------------------ */

struct damage {
    uint16_t attribute;
    unsigned byte; /* of the MAD */
    uint8_t value;
    enum sn_cm_verdict verdict;
};

static void the_parser_refuses(void **state)
{
    (void)state;
    static const struct damage table[] = {
        {SN_CM_REQ, 0, 2, SN_CM_BAD_VERSION},
        {SN_CM_REQ, 1, 0x03, SN_CM_OTHER_CLASS},
        {SN_CM_REQ, 2, 1, SN_CM_BAD_VERSION},
        {SN_CM_REQ, 3, SN_MAD_GET, SN_CM_BAD_METHOD},
        {SN_CM_REQ, 3, SN_MAD_SEND | SN_MAD_RESPONSE, SN_CM_BAD_METHOD},
        {SN_CM_REQ, 17, 0x01, SN_CM_BAD_ATTRIBUTE}, /* ClassPortInfo */
        {SN_CM_REQ, 17, 0x1b, SN_CM_BAD_ATTRIBUTE},
        {SN_CM_REQ, 16, 0xff, SN_CM_BAD_ATTRIBUTE},
        {SN_CM_REQ, DATA + 50, 0x00, SN_CM_BAD_FIELD}, /* path MTU 0, 6, 15 */
        {SN_CM_REQ, DATA + 50, 0x60, SN_CM_BAD_FIELD},
        {SN_CM_REQ, DATA + 50, 0xf0, SN_CM_BAD_FIELD},
        {SN_CM_REQ, DATA + 34, 0x01, SN_CM_BAD_FIELD}, /* QPN 1, 0 */
        {SN_CM_REQ, DATA + 34, 0x00, SN_CM_BAD_FIELD},
        {SN_CM_REP, DATA + 14, 0x01, SN_CM_BAD_FIELD},
        {SN_CM_MRA, DATA + 8, 0xc0, SN_CM_BAD_FIELD}, /* about message 3 */
        {SN_CM_REJ, DATA + 8, 0xc0, SN_CM_BAD_FIELD},
        {SN_CM_REJ, DATA + 9, 73 << 1, SN_CM_BAD_FIELD}, /* more information than there is room for */
        {SN_CM_REJ, DATA + 9, 0xff, SN_CM_BAD_FIELD},
        {SN_CM_SIDR_REP, DATA + 10, 0x00, SN_CM_BAD_FIELD}, /* a valid QP with number 0 */
        {SN_CM_SIDR_REP, DATA + 5, 73, SN_CM_BAD_FIELD},
        {SN_CM_APR, DATA + 8, 200, SN_CM_BAD_FIELD},
    };
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        struct sn_cm_msg m = plain(table[i].attribute), out = {.attribute = 0xdead};
        struct sn_mad mad;
        assert_int_equal(sn_cm_build(&m, &mad), 0);
        assert_int_equal(sn_cm_parse(&mad, sizeof(mad), &out), SN_CM_OK);
        out.attribute = 0xdead;
        ((uint8_t *)&mad)[table[i].byte] = table[i].value;
        if (sn_cm_parse(&mad, sizeof(mad), &out) != table[i].verdict)
            fail_msg("row %zu: verdict %d", i, sn_cm_parse(&mad, sizeof(mad), &out));
        assert_int_equal(out.attribute, 0xdead); /* untouched */
    }
}

static void lengths_other_than_256_are_refused(void **state)
{
    (void)state;
    struct sn_cm_msg m = plain(SN_CM_RTU), out;
    uint8_t bytes[512] = {0};
    assert_int_equal(sn_cm_build(&m, (struct sn_mad *)bytes), 0);
    for (size_t n = 0; n < sizeof(bytes); n++)
        assert_int_equal(sn_cm_parse(bytes, n, &out), n == SN_MAD_BYTES ? SN_CM_OK : SN_CM_BAD_LENGTH);
}

/* ---- IP addresses (annex A11) --------------------------------------------------------------------------------------- */

static void same_ip(const struct sn_cm_ip *a, const struct sn_cm_ip *b)
{
    assert_int_equal(a->version, b->version);
    assert_int_equal(a->port, b->port);
    assert_memory_equal(a->source, b->source, 16);
    assert_memory_equal(a->destination, b->destination, 16);
}

static void ip_header(void **state)
{
    (void)state;
    static const uint8_t expected[SN_CM_IP_BYTES] = {0, 0x40, 0x82, 0xa5, [16] = 192, 168, 1, 2, [32] = 10, 0, 0, 1};
    struct sn_cm_ip ip = {.version = 4, .port = 0x82a5, .source = {192, 168, 1, 2}, .destination = {10, 0, 0, 1}}, back;
    struct sn_cm_msg m = plain(SN_CM_REQ);
    uint8_t bytes[SN_CM_IP_BYTES];
    sn_cm_ip_build(&ip, bytes);
    assert_memory_equal(bytes, expected, sizeof(bytes));
    m.service_id = SN_CM_IP_SERVICE(6, 7174);
    assert_true(m.service_id == 0x0000000001061c06ull);
    m.private_length = SN_CM_REQ_PRIVATE;
    memcpy(m.private_data, bytes, sizeof(bytes));
    assert_true(sn_cm_ip_parse(&m, &back));
    same_ip(&back, &ip);
    ip.version = 6;
    memset(ip.source, 0xfd, 16);
    sn_cm_ip_build(&ip, m.private_data);
    assert_int_equal(m.private_data[1], 0x60);
    assert_true(sn_cm_ip_parse(&m, &back));
    same_ip(&back, &ip);
    m.private_data[1] = 0x50;
    assert_false(sn_cm_ip_parse(&m, &back));
    m.private_data[1] = 0x40;
    m.private_data[0] = 0x10; /* another major version */
    assert_false(sn_cm_ip_parse(&m, &back));
    m.private_data[0] = 0;
    m.service_id = 0x1234;
    assert_false(sn_cm_ip_parse(&m, &back));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_lie_where_the_tables_say),
        cmocka_unit_test(small_enumerations),
        cmocka_unit_test(gids_and_private_data),
        cmocka_unit_test(header_of_all),
        cmocka_unit_test(the_parser_refuses),
        cmocka_unit_test(lengths_other_than_256_are_refused),
        cmocka_unit_test(ip_header),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
