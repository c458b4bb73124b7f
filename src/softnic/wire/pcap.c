/* SPDX-License-Identifier: Apache-2.0 */
/* Writing captures. */
#include "softnic/wire/pcap.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "softnic/exec/order.h"
#include "softnic/nic.h"
#include "softnic/wire/cut.h"
#include "softnic/wire/pcap_format.h"

enum { BUFFER_BYTES = 1 << 16 };

/* A buffer of our own, not stdio's: a process that forks must not write what its parent has not written yet. */
struct sn_pcap {
    pthread_mutex_t lock;
    int fd;
    int error;
    int64_t offset;
    uint64_t frames, skipped;
    size_t used; /* of buffer */
    /* Scratch, under the lock. */
    struct sn_burst packet;
    uint8_t frame[SN_FRAME_MAX];
    uint8_t payload[4096]; /* GPU payload on its way */
    uint8_t buffer[BUFFER_BYTES];
};

static int write_all(int fd, const uint8_t *bytes, size_t length)
{
    while (length != 0) {
        ssize_t n = write(fd, bytes, length);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : -EIO;
        bytes += n;
        length -= (size_t)n;
    }
    return 0;
}

int sn_pcap_create_fd(int fd, struct sn_pcap **out)
{
    const struct sn_pcap_file_header h = {
        .magic = SN_PCAP_MAGIC_NS, .major = 2, .minor = 4, .snaplen = SN_PCAP_SNAPLEN, .linktype = SN_PCAP_ETHERNET};
    struct sn_pcap *pcap = calloc(1, sizeof(*pcap));
    int ret = pcap == NULL ? -ENOMEM : write_all(fd, (const uint8_t *)&h, sizeof(h));

    if (ret != 0) {
        close(fd);
        free(pcap);
        return ret;
    }
    pcap->fd = fd;
    pthread_mutex_init(&pcap->lock, NULL);
    *out = pcap;
    return 0;
}

int sn_pcap_create(const char *path, struct sn_pcap **out)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);

    return fd < 0 ? -errno : sn_pcap_create_fd(fd, out);
}

/* What has been put off. The first error stays. */
static int flush(struct sn_pcap *pcap)
{
    if (pcap->error == 0)
        pcap->error = write_all(pcap->fd, pcap->buffer, pcap->used);
    pcap->used = 0;
    return pcap->error;
}

int sn_pcap_close(struct sn_pcap *pcap)
{
    int ret;

    if (pcap == NULL)
        return 0;
    ret = flush(pcap);
    if (close(pcap->fd) != 0 && ret == 0)
        ret = -errno;
    pthread_mutex_destroy(&pcap->lock);
    free(pcap);
    return ret;
}

/* ---- appending ------------------------------------------------------------------------------------------------------
 */

static void put(struct sn_pcap *pcap, const void *bytes, size_t length)
{
    if (length != 0)
        memcpy(pcap->buffer + pcap->used, bytes, length);
    pcap->used += length;
}

static int append(struct sn_pcap *pcap, uint64_t ns, const void *frame, size_t captured, size_t original)
{
    uint64_t at = ns + (uint64_t)pcap->offset;
    struct sn_pcap_record_header h = {.seconds = (uint32_t)(at / 1000000000u),
                                      .fraction = (uint32_t)(at % 1000000000u),
                                      .captured = (uint32_t)captured,
                                      .original = (uint32_t)original};

    if (sizeof(h) + captured > BUFFER_BYTES - pcap->used && flush(pcap) != 0)
        return pcap->error;
    if (pcap->error != 0)
        return pcap->error;
    put(pcap, &h, sizeof(h));
    if (captured <= BUFFER_BYTES - pcap->used) {
        put(pcap, frame, captured);
    } else if (flush(pcap) == 0) { /* longer than the buffer */
        pcap->error = write_all(pcap->fd, frame, captured);
    }
    pcap->frames += pcap->error == 0;
    return pcap->error;
}

int sn_pcap_frame(struct sn_pcap *pcap, uint64_t ns, const void *frame, size_t captured, size_t original)
{
    int ret;

    if (captured > SN_PCAP_SNAPLEN || original > UINT32_MAX || captured > original)
        return -EINVAL;
    pthread_mutex_lock(&pcap->lock);
    ret = append(pcap, ns, frame, captured, original);
    pthread_mutex_unlock(&pcap->lock);
    return ret;
}

static void mac_of(const uint8_t gid[16], uint8_t mac[6])
{
    static const uint8_t link_local[8] = {0xfe, 0x80};

    if (memcmp(gid, link_local, 8) == 0 && gid[11] == 0xff && gid[12] == 0xfe) { /* EUI-64, RFC 4291, appendix A */
        const uint8_t bytes[6] = {gid[8] ^ 2, gid[9], gid[10], gid[13], gid[14], gid[15]};
        memcpy(mac, bytes, 6);
        return;
    }
    mac[0] = 0x02;
    mac[1] = 0x00;
    memcpy(mac + 2, gid + 12, 4);
}

/* Brings a packet's GPU payload to pcap->payload. False: it stays where it is. */
static bool fetch_payload(struct sn_pcap *pcap, sn_pcap_copy copy, void *arg)
{
    struct sn_burst *p = &pcap->packet;
    size_t at = 0;
    bool away = false;

    for (uint32_t i = 0; i < p->iov_count; i++)
        away |= p->iov[i].space != SN_SPACE_HOST;
    if (!away)
        return true;
    if (copy == NULL || p->length > sizeof(pcap->payload))
        return false;
    for (uint32_t i = 0; i < p->iov_count; at += p->iov[i++].length) {
        const struct sn_iov *v = &p->iov[i];
        if (v->length > sizeof(pcap->payload) - at)
            return false;
        if (v->space == SN_SPACE_HOST)
            sn_dma_read(pcap->payload + at, v->addr, v->length);
        else if (copy(arg, pcap->payload + at, v->addr, v->length) != 0)
            return false;
    }
    p->iov_count = 1;
    p->iov[0] = (struct sn_iov){.addr = pcap->payload, .length = at, .space = SN_SPACE_HOST};
    return true;
}

static int append_packet(struct sn_pcap *pcap, uint64_t ns, sn_pcap_copy copy, void *arg)
{
    struct sn_burst *p = &pcap->packet;
    struct sn_frame_path path = {.ip_id = 0};
    int n, whole;

    mac_of(p->sgid, path.smac);
    mac_of(p->dgid, path.dmac);
    if (fetch_payload(pcap, copy, arg)) {
        n = whole = sn_frame_build(p, &path, SN_LAYER_ETHERNET, pcap->frame, sizeof(pcap->frame));
    } else {
        n = sn_frame_headers(p, &path, SN_LAYER_ETHERNET, pcap->frame);
        whole = n + (int)((p->length + 3) & ~3u) + 4; /* pad and CRC */
    }
    if (n < 0) {
        pcap->skipped++;
        return 0;
    }
    return append(pcap, ns, pcap->frame, (size_t)n, (size_t)whole);
}

int sn_pcap_burst(struct sn_pcap *pcap, uint64_t ns, const struct sn_burst *burst, sn_pcap_copy copy, void *arg)
{
    struct sn_cut cut;
    int ret = 0;

    pthread_mutex_lock(&pcap->lock);
    sn_cut_begin(&cut, burst);
    while (ret == 0 && sn_cut_next(&cut, &pcap->packet))
        ret = append_packet(pcap, ns, copy, arg);
    pthread_mutex_unlock(&pcap->lock);
    return ret;
}

void sn_pcap_set_offset(struct sn_pcap *pcap, int64_t ns)
{
    pthread_mutex_lock(&pcap->lock);
    pcap->offset = ns;
    pthread_mutex_unlock(&pcap->lock);
}

int sn_pcap_flush(struct sn_pcap *pcap)
{
    int ret;

    pthread_mutex_lock(&pcap->lock);
    ret = flush(pcap);
    pthread_mutex_unlock(&pcap->lock);
    return ret;
}

static uint64_t counter(struct sn_pcap *pcap, const uint64_t *value)
{
    uint64_t v;

    pthread_mutex_lock(&pcap->lock);
    v = *value;
    pthread_mutex_unlock(&pcap->lock);
    return v;
}

uint64_t sn_pcap_frames(struct sn_pcap *pcap)
{
    return counter(pcap, &pcap->frames);
}

uint64_t sn_pcap_skipped(struct sn_pcap *pcap)
{
    return counter(pcap, &pcap->skipped);
}
