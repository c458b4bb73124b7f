/* SPDX-License-Identifier: Apache-2.0 */
/* Frames of an independent implementation: taken, checked, built again byte for byte (IBTA vol. 1, 9.2, 9.3, A17). */
#include <stdio.h>
#include <stdlib.h>

#include "reference.h"
#include "vector.h"

static const char *folder;
static unsigned frames;

static void rebuild(struct vector *v, void *arg)
{
    (void)arg;
    for (unsigned i = 0; i < v->count; i++) {
        const struct vector_frame *f = &v->frame[i];
        uint8_t *out = malloc(f->length);
        int n = sn_frame_build(&f->packet, &f->path, SN_LAYER_ETHERNET, out, f->length);

        if (n != (int)f->length)
            fail_msg("%s, frame %u: built %d bytes of %zu", v->name, i + 1, n, f->length);
        if (memcmp(out, f->bytes, f->length) != 0)
            fail_msg("%s, frame %u: built otherwise", v->name, i + 1);
        free(out);
        frames++;
    }
}

static void every_frame_is_rebuilt(void **state)
{
    (void)state;
    frames = 0;
    vector_each(folder, rebuild, NULL);
    print_message("%u frames\n", frames);
}

/* The layers below: the same packet without Ethernet, and as a UDP socket gives it. */
static void other_layers(struct vector *v, void *arg)
{
    (void)arg;
    for (unsigned i = 0; i < v->count; i++) {
        const struct vector_frame *f = &v->frame[i];
        size_t ip = 14, bth = ip + (f->bytes[14] >> 4 == 6 ? 40 : 20) + 8;
        struct sn_burst p = {.udp_sport = f->packet.udp_sport};
        struct sn_frame_path path = f->path;
        uint8_t out[SN_FRAME_MAX];

        assert_int_equal(sn_frame_parse(f->bytes + ip, f->length - ip, SN_LAYER_IP, true, &p, &path), SN_FRAME_OK);
        assert_int_equal(p.psn, f->packet.psn);
        assert_int_equal(sn_frame_build(&p, &path, SN_LAYER_IP, out, sizeof(out)), f->length - ip);
        assert_memory_equal(out, f->bytes + ip, f->length - ip);

        memcpy(p.sgid, f->packet.sgid, 16);
        memcpy(p.dgid, f->packet.dgid, 16);
        assert_int_equal(sn_frame_parse(f->bytes + bth, f->length - bth, SN_LAYER_UDP, true, &p, &path), SN_FRAME_OK);
        assert_int_equal(sn_frame_build(&p, &path, SN_LAYER_UDP, out, sizeof(out)), f->length - bth);
        assert_memory_equal(out, f->bytes + bth, f->length - bth);
        if (f->bytes[14] >> 4 == 4) { /* the CRC covers the identification: an unknown one cannot be checked */
            path.ip_id = (uint16_t)(f->path.ip_id + 1);
            assert_int_equal(sn_frame_parse(f->bytes + bth, f->length - bth, SN_LAYER_UDP, true, &p, &path),
                             SN_FRAME_ICRC);
            assert_int_equal(sn_frame_parse(f->bytes + bth, f->length - bth, SN_LAYER_UDP, false, &p, &path),
                             SN_FRAME_OK);
        }
    }
}

static void every_layer_is_the_same(void **state)
{
    (void)state;
    vector_each(folder, other_layers, NULL);
}

static void cut_short(struct vector *v, void *arg)
{
    (void)arg;
    for (unsigned i = 0; i < v->count; i++)
        for (size_t n = 0; n < v->frame[i].length; n++) {
            uint8_t *part = malloc(n != 0 ? n : 1);
            struct sn_burst p;

            memcpy(part, v->frame[i].bytes, n);
            if (sn_frame_parse(part, n, SN_LAYER_ETHERNET, false, &p, NULL) == SN_FRAME_OK)
                fail_msg("%s, frame %u: %zu of %zu bytes were taken", v->name, i + 1, n, v->frame[i].length);
            free(part);
        }
}

static void no_part_is_taken(void **state)
{
    (void)state;
    vector_each(folder, cut_short, NULL);
}

static bool same_path(const struct sn_frame_path *a, const struct sn_frame_path *b)
{
    return memcmp(a->smac, b->smac, 6) == 0 && memcmp(a->dmac, b->dmac, 6) == 0 && a->ip_id == b->ip_id &&
           a->m_clear == b->m_clear && a->df_clear == b->df_clear && a->udp_check == b->udp_check;
}

/*
 * What neither the CRC nor anything else covers, and nobody reads: FECN and the reserved bits of BTH's fifth byte, and a UDP
 * checksum but for whether there is one.
 */
static bool is_free_bit(const struct vector_frame *f, size_t bit)
{
    size_t udp = 14 + (f->bytes[14] >> 4 == 6 ? 40 : 20);

    return (bit / 8 == udp + 8 + 4 && bit % 8 != 6) || bit / 8 == udp + 6 || bit / 8 == udp + 7;
}

static void flip(struct vector *v, void *arg)
{
    (void)arg;
    for (unsigned i = 0; i < v->count; i++) {
        struct vector_frame *f = &v->frame[i];
        for (size_t bit = 0; bit < f->length * 8; bit++) {
            struct sn_frame_path path;
            struct sn_burst p;

            f->bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
            enum sn_frame_verdict verdict = sn_frame_parse(f->bytes, f->length, SN_LAYER_ETHERNET, true, &p, &path);
            f->bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
            if (verdict == SN_FRAME_OK && !is_free_bit(f, bit) && same_path(&path, &f->path) &&
                memcmp(&p, &f->packet, offsetof(struct sn_burst, iov)) == 0)
                fail_msg("%s, frame %u: byte %zu bit %zu changed, and nothing saw it", v->name, i + 1, bit / 8,
                         bit % 8);
        }
    }
}

static void every_bit_counts(void **state)
{
    (void)state;
    vector_each(folder, flip, NULL);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_frame_is_rebuilt),
        cmocka_unit_test(every_layer_is_the_same),
        cmocka_unit_test(no_part_is_taken),
        cmocka_unit_test(every_bit_counts),
    };

    folder = vector_folder(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
