/* SPDX-License-Identifier: Apache-2.0 */
/* What the raw backends on one descriptor share: batches of frames through sendmmsg and recvmmsg, or read and write. */
#ifndef SOFTNIC_WIRE_RAWFD_H
#define SOFTNIC_WIRE_RAWFD_H

#include <sys/socket.h>
#include <sys/un.h>

#include "softnic/wire/raw.h"

enum { RAW_BATCH = 32, RAW_FRAME = 9216 + 64 /* what an interface with jumbo frames may carry */ };

struct rawfd {
    struct sn_backend base; /* first */
    int fd;
    uint8_t *buffer; /* RAW_BATCH frames of `slot` bytes */
    size_t slot;
    struct mmsghdr got[RAW_BATCH];
    struct iovec iov[RAW_BATCH];
    struct sockaddr_un local, remote; /* dgram.c's */
};

int rawfd_create(const struct sn_backend_ops *ops, int fd, const uint8_t mac[6], size_t slot, struct rawfd **out);
void rawfd_destroy(struct sn_backend *b);

/* errno of a send as sn_backend_ops.send returns it: 0 for "no room now". */
int rawfd_refused(int error);

#endif
