/* SPDX-License-Identifier: Apache-2.0 */
/* Reading captures, which may come from anywhere: every length is checked before it is used. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/be.h"
#include "softnic/wire/pcap.h"
#include "softnic/wire/pcap_format.h"

struct sn_pcap_reader {
    FILE *file;           /* or */
    const uint8_t *bytes; /* what is left of them */
    size_t left;
    bool swapped;
    uint32_t to_ns; /* of the fraction */
    uint32_t linktype;
    uint8_t *frame; /* of a file */
};

/* Reads exactly `n`. 1, 0 at the very end, -EBADMSG in the middle of something, negative errno. */
static int read_exactly(struct sn_pcap_reader *r, void *out, size_t n)
{
    size_t got = n;

    if (r->file == NULL) {
        got = n < r->left ? n : r->left;
        if (got != 0)
            memcpy(out, r->bytes, got);
        r->bytes += got;
        r->left -= got;
    } else {
        errno = 0;
        got = fread(out, 1, n, r->file);
        if (got != n && ferror(r->file))
            return errno != 0 ? -errno : -EIO;
    }
    return got == n ? 1 : got == 0 ? 0 : -EBADMSG;
}

static uint32_t native(const struct sn_pcap_reader *r, uint32_t v)
{
    return r->swapped ? sn_swap32(v) : v;
}

static const char *judge_header(struct sn_pcap_reader *r, const struct sn_pcap_file_header *h)
{
    uint16_t major;

    if (h->magic == SN_PCAPNG_MAGIC)
        return "pcapng; only classic pcap is read (tcpdump writes it, editcap -F pcap converts)";
    r->swapped = h->magic == sn_swap32(SN_PCAP_MAGIC_US) || h->magic == sn_swap32(SN_PCAP_MAGIC_NS);
    if (native(r, h->magic) == SN_PCAP_MAGIC_US)
        r->to_ns = 1000;
    else if (native(r, h->magic) == SN_PCAP_MAGIC_NS)
        r->to_ns = 1;
    else
        return "no capture file: unknown magic number";
    major = r->swapped ? sn_swap16(h->major) : h->major;
    if (major != 2)
        return "a version of pcap other than 2";
    r->linktype = native(r, h->linktype) & 0xffff;
    if (r->linktype != SN_PCAP_ETHERNET && r->linktype != SN_PCAP_RAW_IP)
        return "a link type other than Ethernet (1) and raw IP (101)";
    return NULL;
}

static int begin(struct sn_pcap_reader *r, struct sn_pcap_reader **out, const char **why)
{
    struct sn_pcap_file_header h;
    int got = read_exactly(r, &h, sizeof(h));
    const char *wrong;

    if (got == 1)
        wrong = judge_header(r, &h);
    else
        wrong = got == 0 || got == -EBADMSG ? "too short for a capture file" : strerror(-got);
    if (wrong != NULL) {
        if (why != NULL)
            *why = wrong;
        sn_pcap_reader_close(r);
        return got < 0 ? got : -EBADMSG;
    }
    *out = r;
    return 0;
}

static int fail(const char **why, int error)
{
    if (why != NULL)
        *why = strerror(error);
    return -error;
}

int sn_pcap_open(const char *path, struct sn_pcap_reader **out, const char **why)
{
    struct sn_pcap_reader *r = calloc(1, sizeof(*r));

    if (r == NULL || (r->frame = malloc(SN_PCAP_SNAPLEN)) == NULL) {
        free(r);
        return fail(why, ENOMEM);
    }
    r->file = fopen(path, "re");
    if (r->file == NULL) {
        int error = errno;
        sn_pcap_reader_close(r);
        return fail(why, error);
    }
    return begin(r, out, why);
}

int sn_pcap_open_bytes(const void *bytes, size_t length, struct sn_pcap_reader **out, const char **why)
{
    struct sn_pcap_reader *r = calloc(1, sizeof(*r));

    if (r == NULL)
        return fail(why, ENOMEM);
    r->bytes = bytes;
    r->left = length;
    return begin(r, out, why);
}

void sn_pcap_reader_close(struct sn_pcap_reader *reader)
{
    if (reader == NULL)
        return;
    if (reader->file != NULL)
        fclose(reader->file);
    free(reader->frame);
    free(reader);
}

enum sn_layer sn_pcap_layer(const struct sn_pcap_reader *reader)
{
    return reader->linktype == SN_PCAP_ETHERNET ? SN_LAYER_ETHERNET : SN_LAYER_IP;
}

static const char *judge_record(const struct sn_pcap_reader *r, const struct sn_pcap_record_header *h)
{
    uint32_t fraction = native(r, h->fraction), captured = native(r, h->captured);

    if (fraction >= 1000000000u / r->to_ns)
        return "a fraction of a second that is a second or more";
    if (captured > SN_PCAP_SNAPLEN)
        return "a frame of more than 262144 bytes";
    if (captured > native(r, h->original))
        return "a frame with more bytes captured than it had";
    if (r->file == NULL && captured > r->left)
        return "the file ends inside a frame";
    return NULL;
}

static int refuse(const char **why, const char *what)
{
    if (why != NULL)
        *why = what;
    return -EBADMSG;
}

int sn_pcap_next(struct sn_pcap_reader *r, struct sn_pcap_record *record, const char **why)
{
    struct sn_pcap_record_header h;
    const char *wrong;
    int got = read_exactly(r, &h, sizeof(h));

    if (got == 0)
        return 0;
    if (got < 0)
        return got == -EBADMSG ? refuse(why, "the file ends inside a frame's header") : fail(why, -got);
    wrong = judge_record(r, &h);
    if (wrong != NULL)
        return refuse(why, wrong);
    record->ns = (uint64_t)native(r, h.seconds) * 1000000000u + (uint64_t)native(r, h.fraction) * r->to_ns;
    record->captured = native(r, h.captured);
    record->original = native(r, h.original);
    if (r->file == NULL) {
        record->frame = r->bytes;
        r->bytes += record->captured;
        r->left -= record->captured;
        return 1;
    }
    record->frame = r->frame;
    got = record->captured == 0 ? 1 : read_exactly(r, r->frame, record->captured);
    if (got == 1)
        return 1;
    return got == 0 || got == -EBADMSG ? refuse(why, "the file ends inside a frame") : fail(why, -got);
}
