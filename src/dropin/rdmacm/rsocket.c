/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rsockets: sockets on top of connections. They are not modelled, so none can be made and no descriptor is one; rpoll and
 * rselect, which the tools call for plain descriptors, too, do what poll and select do.
 */
#include <errno.h>
#include <rdma/rsocket.h>
#include <stddef.h>

#include "cma.h"

CMA_API int rsocket(int domain, int type, int protocol)
{
    (void)domain, (void)type, (void)protocol;
    return cma_result(-softnic_cm_refuse(EOPNOTSUPP, "rsocket: rsockets are not modelled"));
}

CMA_API int rpoll(struct pollfd *fds, nfds_t nfds, int timeout)
{
    return poll(fds, nfds, timeout);
}

CMA_API int rselect(int nfds, fd_set *readfds, fd_set *writefds, fd_set *exceptfds, struct timeval *timeout)
{
    return select(nfds, readfds, writefds, exceptfds, timeout);
}

/* No descriptor is an rsocket. */
#define UNUSED __attribute__((unused))
#define NO_RSOCKET(type, name, ...)                                                                                    \
    CMA_API type name(int socket UNUSED, __VA_ARGS__)                                                                  \
    {                                                                                                                  \
        errno = EBADF;                                                                                                 \
        return (type)-1;                                                                                               \
    }

NO_RSOCKET(int, rbind, const struct sockaddr *addr UNUSED, socklen_t addrlen UNUSED)
NO_RSOCKET(int, rlisten, int backlog UNUSED)
NO_RSOCKET(int, raccept, struct sockaddr *addr UNUSED, socklen_t *addrlen UNUSED)
NO_RSOCKET(int, rconnect, const struct sockaddr *addr UNUSED, socklen_t addrlen UNUSED)
NO_RSOCKET(int, rshutdown, int how UNUSED)
NO_RSOCKET(ssize_t, rrecv, void *buf UNUSED, size_t len UNUSED, int flags UNUSED)
NO_RSOCKET(ssize_t, rrecvfrom, void *buf UNUSED, size_t len UNUSED, int flags UNUSED, struct sockaddr *src_addr UNUSED,
           socklen_t *addrlen UNUSED)
NO_RSOCKET(ssize_t, rrecvmsg, struct msghdr *msg UNUSED, int flags UNUSED)
NO_RSOCKET(ssize_t, rsend, const void *buf UNUSED, size_t len UNUSED, int flags UNUSED)
NO_RSOCKET(ssize_t, rsendto, const void *buf UNUSED, size_t len UNUSED, int flags UNUSED,
           const struct sockaddr *dest_addr UNUSED, socklen_t addrlen UNUSED)
NO_RSOCKET(ssize_t, rsendmsg, const struct msghdr *msg UNUSED, int flags UNUSED)
NO_RSOCKET(ssize_t, rread, void *buf UNUSED, size_t count UNUSED)
NO_RSOCKET(ssize_t, rreadv, const struct iovec *iov UNUSED, int iovcnt UNUSED)
NO_RSOCKET(ssize_t, rwrite, const void *buf UNUSED, size_t count UNUSED)
NO_RSOCKET(ssize_t, rwritev, const struct iovec *iov UNUSED, int iovcnt UNUSED)
NO_RSOCKET(int, rgetpeername, struct sockaddr *addr UNUSED, socklen_t *addrlen UNUSED)
NO_RSOCKET(int, rgetsockname, struct sockaddr *addr UNUSED, socklen_t *addrlen UNUSED)
NO_RSOCKET(int, rsetsockopt, int level UNUSED, int optname UNUSED, const void *optval UNUSED, socklen_t optlen UNUSED)
NO_RSOCKET(int, rgetsockopt, int level UNUSED, int optname UNUSED, void *optval UNUSED, socklen_t *optlen UNUSED)
NO_RSOCKET(int, rfcntl, int cmd UNUSED, ...)
NO_RSOCKET(off_t, riomap, void *buf UNUSED, size_t len UNUSED, int prot UNUSED, int flags UNUSED, off_t offset UNUSED)
NO_RSOCKET(int, riounmap, void *buf UNUSED, size_t len UNUSED)
NO_RSOCKET(size_t, riowrite, const void *buf UNUSED, size_t count UNUSED, off_t offset UNUSED, int flags UNUSED)

CMA_API int rclose(int socket)
{
    (void)socket;
    errno = EBADF;
    return -1;
}
