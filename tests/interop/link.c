/* SPDX-License-Identifier: Apache-2.0 */
#include "exchange.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PATIENCE_MS = 120000 };

bool link_put(int fd, const void *bytes, size_t size)
{
    for (size_t done = 0; done < size;) {
        ssize_t n = send(fd, (const char *)bytes + done, size - done, MSG_NOSIGNAL);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        done += (size_t)n;
    }
    return true;
}

bool link_get(int fd, void *bytes, size_t size)
{
    for (size_t done = 0; done < size;) {
        struct pollfd wanted = {.fd = fd, .events = POLLIN};
        ssize_t n;

        if (poll(&wanted, 1, PATIENCE_MS) == 0)
            return false;
        n = recv(fd, (char *)bytes + done, size - done, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        done += (size_t)n;
    }
    return true;
}

static int each_address(const char *host, const char *port,
                        int (*use)(int fd, const struct sockaddr *to, socklen_t size))
{
    struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM, .ai_flags = host ? 0 : AI_PASSIVE},
                    *list;
    int rc = getaddrinfo(host, port, &hints, &list), one = 1;

    if (rc) {
        fprintf(stderr, "exchange: %s port %s: %s\n", host ? host : "*", port, gai_strerror(rc));
        return -1;
    }
    for (struct addrinfo *a = list; a; a = a->ai_next) {
        int fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol);

        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
        if (fd >= 0 && !use(fd, a->ai_addr, a->ai_addrlen)) {
            freeaddrinfo(list);
            return fd;
        }
        if (fd >= 0)
            close(fd);
    }
    freeaddrinfo(list);
    return -1;
}

static int listening(int fd, const struct sockaddr *at, socklen_t size)
{
    return bind(fd, at, size) || listen(fd, 4);
}

int link_connect(const char *host, const char *port)
{
    return each_address(host, port, connect);
}

int link_listen(const char *port)
{
    return each_address(NULL, port, listening);
}

unsigned link_port(int listening)
{
    struct sockaddr_in at = {.sin_family = AF_INET};
    socklen_t size = sizeof(at);

    return getsockname(listening, (struct sockaddr *)&at, &size) ? 0 : ntohs(at.sin_port);
}
