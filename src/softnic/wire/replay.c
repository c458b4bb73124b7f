/* SPDX-License-Identifier: Apache-2.0 */
/* A capture file as the far end of a wire. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "softnic/wire/pcap.h"
#include "softnic/wire/raw.h"

enum { BATCH = 16 };

struct replay {
    struct sn_backend base; /* first */
    struct sn_backend_ops ops; /* with the file's layer */
    struct sn_pcap_reader *reader; /* NULL: at its end */
    struct sn_pcap *record;
    uint8_t *buffer; /* BATCH frames: a reader's frame lasts until its next one only */
};

static struct replay *own(struct sn_backend *b)
{
    return (struct replay *)b;
}

static int no_address(struct sn_backend *b, const struct sn_burst *burst, uint16_t *udp_sport)
{
    (void)b;
    (void)burst;
    (void)udp_sport;
    return 0; /* a file asks no questions; MAC addresses are the path's */
}

static int send_frames(struct sn_backend *b, const struct sn_frame_out *frames, unsigned count)
{
    struct replay *r = own(b);
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    for (unsigned i = 0; r->record && i < count; i++)
        sn_pcap_frame(r->record, (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec, frames[i].bytes,
                      frames[i].length, frames[i].length);
    return (int)count;
}

/* The rest of a broken file is not played; what is wrong with it was seen when it was opened, or it was cut since. */
static int receive(struct sn_backend *b, struct sn_frame_in *frames, unsigned max)
{
    struct replay *r = own(b);
    struct sn_pcap_record record;
    unsigned n = 0, most = max < BATCH ? max : BATCH;
    while (n < most && r->reader) {
        int rc = sn_pcap_next(r->reader, &record, NULL);
        if (rc <= 0) {
            sn_pcap_reader_close(r->reader);
            r->reader = NULL;
        } else if (record.captured == record.original && record.captured <= SN_FRAME_MAX) {
            uint8_t *at = r->buffer + n * SN_FRAME_MAX;
            memcpy(at, record.frame, record.captured);
            frames[n++] = (struct sn_frame_in){.bytes = at, .length = (uint32_t)record.captured};
        }
    }
    b->more = r->reader != NULL;
    return (int)n;
}

static void destroy(struct sn_backend *b)
{
    struct replay *r = own(b);
    if (r->reader)
        sn_pcap_reader_close(r->reader);
    sn_pcap_close(r->record);
    free(r->buffer);
    free(r);
}

static int open_files(struct replay *r, const char *play, const char *record, const char **why)
{
    struct stat st;
    if (!stat(play, &st) && S_ISFIFO(st.st_mode)) {
        *why = "a pipe: the port would wait for whoever writes it";
        return -ESPIPE;
    }
    int rc = sn_pcap_open(play, &r->reader, why);
    if (rc || !record)
        return rc;
    rc = sn_pcap_create(record, &r->record);
    if (rc)
        *why = "the file that record= names cannot be written";
    return rc;
}

int sn_replay_open(const char *play, const char *record, const uint8_t mac[6], struct sn_backend **out,
                   const char **why)
{
    struct replay *r = calloc(1, sizeof(*r));
    if (!r)
        return -ENOMEM;
    r->ops = (struct sn_backend_ops){.name = "pcap",
                                     .layer = SN_LAYER_ETHERNET,
                                     .address = no_address,
                                     .send = send_frames,
                                     .receive = receive,
                                     .destroy = destroy};
    r->base.ops = &r->ops;
    r->buffer = malloc((size_t)BATCH * SN_FRAME_MAX);
    *why = "out of memory";
    int rc = r->buffer ? open_files(r, play, record, why) : -ENOMEM;
    if (!rc && record && sn_pcap_layer(r->reader) != SN_LAYER_ETHERNET) {
        *why = "frames can be recorded only if those that are played begin at Ethernet";
        rc = -EOPNOTSUPP;
    }
    if (rc) {
        destroy(&r->base);
        return rc;
    }
    r->ops.layer = sn_pcap_layer(r->reader);
    memcpy(r->base.mac, mac, 6);
    r->base.more = true;
    r->base.mtu = SN_FRAME_MAX;
    *out = &r->base;
    return 0;
}
