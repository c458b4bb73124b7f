/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Capture files: classic pcap, Ethernet frames, nanoseconds. Bursts are cut and built as a packet wire would, so that a
 * capture shows the same whatever carries them.
 *
 * The format is a 24-byte header and 16 bytes a frame (draft-ietf-opsawg-pcap); it is done here, because libpcap would
 * bring D-Bus and more into every program that runs on softnic. pcapng is refused by name.
 */
#ifndef SOFTNIC_WIRE_PCAP_H
#define SOFTNIC_WIRE_PCAP_H

#include <stddef.h>
#include <stdint.h>

#include "softnic/wire/frame.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- writing ------------------------------------------------------------------------------------------------------
 */

struct sn_pcap; /* any thread may append; a frame is never torn by another */

/* Truncates the file. Negative errno. Nothing is locked; see capture.h for files shared by processes. */
int sn_pcap_create(const char *path, struct sn_pcap **out);
int sn_pcap_create_fd(int fd,
                      struct sn_pcap **out); /* takes the descriptor, also when it fails; it is at offset 0, empty */

/* Reads GPU payload; 0 or negative errno. */
typedef int (*sn_pcap_copy)(void *arg, void *dst, const void *src, size_t length);

/*
 * Appends. `ns` is the sender's clock; what is written is ns + the offset given by sn_pcap_set_offset (0), as time
 * since 1970. The first error (no space, say) ends the capture: it is returned from then on, and nothing more is
 * written.
 */
int sn_pcap_frame(struct sn_pcap *pcap, uint64_t ns, const void *frame, size_t captured, size_t original);

/*
 * Every packet of a burst, with MAC addresses made from the GIDs (a link-local GID holds one; otherwise 02:00 and the
 * last four bytes). Payload in GPU memory comes through `copy`; where that is NULL or fails, the frame is written up to
 * its payload, with its original length. Packets that have no wire form are left out and counted.
 */
int sn_pcap_burst(struct sn_pcap *pcap, uint64_t ns, const struct sn_burst *burst, sn_pcap_copy copy, void *arg);

void sn_pcap_set_offset(struct sn_pcap *pcap, int64_t ns);
int sn_pcap_flush(struct sn_pcap *pcap);
uint64_t sn_pcap_frames(struct sn_pcap *pcap);
uint64_t sn_pcap_skipped(struct sn_pcap *pcap);
int sn_pcap_close(struct sn_pcap *pcap); /* the first error, which may come only now; NULL: 0 */

/* ---- reading ------------------------------------------------------------------------------------------------------
 */

struct sn_pcap_reader;

struct sn_pcap_record {
    uint64_t ns;
    const uint8_t *frame; /* valid until the next call */
    size_t captured, original;
};

/* Either byte order, micro- or nanoseconds, link types Ethernet and raw IP. On failure *why (may be NULL) says what is
 * wrong. */
int sn_pcap_open(const char *path, struct sn_pcap_reader **out, const char **why);
int sn_pcap_open_bytes(const void *bytes, size_t length, struct sn_pcap_reader **out,
                       const char **why); /* not copied */

/* 1: *record is the next frame. 0: end of file. -EBADMSG or another negative errno: *why (may be NULL) says what is
 * wrong. */
int sn_pcap_next(struct sn_pcap_reader *reader, struct sn_pcap_record *record, const char **why);
enum sn_layer sn_pcap_layer(const struct sn_pcap_reader *reader); /* of every frame */
void sn_pcap_reader_close(struct sn_pcap_reader *reader);

#ifdef __cplusplus
}
#endif
#endif
