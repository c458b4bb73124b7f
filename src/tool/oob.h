/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Out-of-band channel between the two ends of a test: framed, versioned messages over a stream socket (TCP between
 * processes or hosts, a socket pair inside one program). Everything received is checked before it is used.
 *
 * Frame: magic "GDK1" (4), version (2), type (2), sequence (4), payload bytes (4), payload. All big-endian.
 */
#ifndef GDAKI_TOOL_OOB_H
#define GDAKI_TOOL_OOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OOB_VERSION 2
#define OOB_PORT 18515
#define OOB_HEADER 16
#define OOB_PAYLOAD_MAX 65536
#define OOB_WHY_SIZE 640

enum oob_type {
    OOB_HELLO = 1, /* client: what shall be run */
    OOB_ENDPOINT,  /* both: address, keys, queue numbers */
    OOB_READY,     /* server: buffers prepared for a round */
    OOB_GO,        /* client: starting now */
    OOB_DONE,      /* client: its kernel has ended */
    OOB_RESULT,    /* both: verification and figures of a round */
    OOB_ERROR,     /* either: the text says why; the sender gives up */
    OOB_BYE,
    OOB_TYPE_END
};

struct oob {
    int fd;
    uint32_t sent, received; /* sequence numbers */
    int timeout_ms;          /* of a receive; -1: none */
    bool gave_up;            /* an error was sent: closing waits until the peer has read it */
    char why[OOB_WHY_SIZE];  /* text of the last failure */
};

/* All return 0 or negative errno with `why` set. */
int oob_listen(const char *address, uint16_t port, int *listen_fd, char *why);
int oob_accept(int listen_fd, struct oob *oob); /* takes one peer; the listener stays open */
int oob_connect(const char *host, uint16_t port, int timeout_ms, struct oob *oob);
void oob_init(struct oob *oob, int fd); /* over a connected socket; owns it */
void oob_close(struct oob *oob);

int oob_send(struct oob *oob, enum oob_type type, const void *payload, size_t length);
/*
 * Receives one message of exactly `type` whose payload is min..max bytes. An OOB_ERROR of the peer gives -ECONNABORTED
 * with its text in `why`; anything malformed gives -EPROTO and names the field and value.
 */
int oob_receive(struct oob *oob, enum oob_type type, void *payload, size_t min, size_t max, size_t *length);
/* Tells the peer why this end gives up; failures are ignored. */
void oob_send_error(struct oob *oob, const char *text);

const char *oob_type_name(unsigned type);

/* Payload building and reading: big-endian, bounds-checked. `ok` turns false and stays so when room or data ran out. */
struct oob_writer {
    uint8_t *data;
    size_t size, used;
    bool ok;
};
struct oob_reader {
    const uint8_t *data;
    size_t size, used;
    bool ok;
};
void oob_put(struct oob_writer *w, uint64_t value, unsigned bytes);
void oob_put_bytes(struct oob_writer *w, const void *data, size_t length);
void oob_put_text(struct oob_writer *w, const char *text); /* u16 length, bytes */
uint64_t oob_get(struct oob_reader *r, unsigned bytes);
void oob_get_bytes(struct oob_reader *r, void *data, size_t length);
void oob_get_text(struct oob_reader *r, char *out, size_t size);

#endif
