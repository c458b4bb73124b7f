/* SPDX-License-Identifier: Apache-2.0 */
#include "vector.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "softnic/wire/pcap.h"

static void add(struct vector *v, const struct sn_pcap_record *record, enum sn_layer layer)
{
    struct vector_frame *f;
    enum sn_frame_verdict verdict;

    if ((v->count & (v->count - 1)) == 0) { /* full at every power of two */
        v->frame = realloc(v->frame, (v->count == 0 ? 1 : 2 * v->count) * sizeof(*v->frame));
        assert_non_null(v->frame);
    }
    f = &v->frame[v->count++];
    f->bytes = malloc(record->captured != 0 ? record->captured : 1);
    assert_non_null(f->bytes);
    memcpy(f->bytes, record->frame, record->captured);
    f->length = record->captured;
    f->ns = record->ns;
    assert_int_equal(record->captured, record->original);
    verdict = sn_frame_parse(f->bytes, f->length, layer, true, &f->packet, &f->path);
    if (verdict != SN_FRAME_OK)
        fail_msg("%s, frame %u: %s", v->name, v->count, sn_frame_verdict_name(verdict));
}

void vector_load(struct vector *v, const char *path)
{
    const char *slash = strrchr(path, '/'), *why = "";
    struct sn_pcap_reader *reader;
    struct sn_pcap_record record;
    int ret;

    *v = (struct vector){.count = 0};
    snprintf(v->name, sizeof(v->name), "%s", slash == NULL ? path : slash + 1);
    if (sn_pcap_open(path, &reader, &why) != 0)
        fail_msg("%s: %s", path, why);
    while ((ret = sn_pcap_next(reader, &record, &why)) == 1)
        add(v, &record, sn_pcap_layer(reader));
    if (ret != 0)
        fail_msg("%s: %s", path, why);
    sn_pcap_reader_close(reader);
}

void vector_free(struct vector *v)
{
    for (unsigned i = 0; i < v->count; i++)
        free(v->frame[i].bytes);
    free(v->frame);
    *v = (struct vector){.count = 0};
}

static int is_capture(const struct dirent *entry)
{
    const char *dot = strrchr(entry->d_name, '.');

    return dot != NULL && strcmp(dot, ".pcap") == 0;
}

void vector_each(const char *folder, void (*fn)(struct vector *v, void *arg), void *arg)
{
    struct dirent **entry;
    int n = scandir(folder, &entry, is_capture, alphasort);

    if (n <= 0)
        fail_msg("%s: no captures", folder);
    for (int i = 0; i < n; i++) {
        char path[4096];
        struct vector v;
        snprintf(path, sizeof(path), "%s/%s", folder, entry[i]->d_name);
        vector_load(&v, path);
        fn(&v, arg);
        vector_free(&v);
        free(entry[i]);
    }
    free(entry);
}

const char *vector_folder(int argc, char **argv)
{
    return argc > 1 ? argv[1] : WIRE_VECTORS;
}

uint64_t vector_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15ull;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}
