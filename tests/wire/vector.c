/* SPDX-License-Identifier: Apache-2.0 */
#include "vector.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "softnic/wire/pcap.h"

static bool add(struct vector *v, const struct sn_pcap_record *record, unsigned number, char why[256])
{
    struct vector_frame *f;
    enum sn_frame_verdict verdict;

    if ((v->count & (v->count - 1)) == 0) { /* full at every power of two */
        v->frame = realloc(v->frame, (v->count == 0 ? 1 : 2 * v->count) * sizeof(*v->frame));
        assert_non_null(v->frame);
    }
    f = &v->frame[v->count];
    f->bytes = malloc(record->captured != 0 ? record->captured : 1);
    assert_non_null(f->bytes);
    memcpy(f->bytes, record->frame, record->captured);
    f->length = record->captured;
    f->ns = record->ns;
    verdict = sn_frame_parse(f->bytes, f->length, v->layer, true, &f->packet, &f->path);
    if (verdict == SN_FRAME_OK && record->captured == record->original) {
        v->count++;
        return true;
    }
    free(f->bytes);
    if (verdict == SN_FRAME_NOT_ROCE) {
        v->others++;
        return true;
    }
    snprintf(why, 256, "frame %u: %s", number,
             record->captured != record->original ? "captured in part only" : sn_frame_verdict_name(verdict));
    return false;
}

bool vector_read(struct vector *v, const char *path, char why[256])
{
    const char *slash = strrchr(path, '/'), *text = "";
    struct sn_pcap_reader *reader;
    struct sn_pcap_record record;
    unsigned number = 0;
    int ret;

    *v = (struct vector){.count = 0};
    snprintf(v->name, sizeof(v->name), "%s", slash == NULL ? path : slash + 1);
    if (sn_pcap_open(path, &reader, &text) != 0) {
        snprintf(why, 256, "%s", text);
        return false;
    }
    v->layer = sn_pcap_layer(reader);
    while ((ret = sn_pcap_next(reader, &record, &text)) == 1)
        if (!add(v, &record, ++number, why)) {
            sn_pcap_reader_close(reader);
            return false;
        }
    snprintf(why, 256, "%s", text);
    sn_pcap_reader_close(reader);
    return ret == 0;
}

void vector_load(struct vector *v, const char *path)
{
    char why[256];

    if (!vector_read(v, path, why))
        fail_msg("%s: %s", path, why);
    if (v->others != 0)
        fail_msg("%s: %u frames of other protocols", path, v->others);
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

unsigned vector_paths(const char *folder, char ***paths)
{
    struct dirent **entry;
    int n = scandir(folder, &entry, is_capture, alphasort);

    *paths = calloc((size_t)(n < 1 ? 1 : n), sizeof(**paths));
    assert_non_null(*paths);
    if (n < 0) { /* no folder */
        (*paths)[0] = strdup(folder);
        return 1;
    }
    for (int i = 0; i < n; i++) {
        size_t size = strlen(folder) + strlen(entry[i]->d_name) + 2;
        (*paths)[i] = malloc(size);
        assert_non_null((*paths)[i]);
        snprintf((*paths)[i], size, "%s/%s", folder, entry[i]->d_name);
        free(entry[i]);
    }
    free(entry);
    return (unsigned)n;
}

void vector_each(const char *folder, void (*fn)(struct vector *v, void *arg), void *arg)
{
    char **path;
    unsigned n = vector_paths(folder, &path);

    if (n == 0)
        fail_msg("%s: no captures", folder);
    for (unsigned i = 0; i < n; i++) {
        struct vector v;
        vector_load(&v, path[i]);
        fn(&v, arg);
        vector_free(&v);
        free(path[i]);
    }
    free(path);
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
