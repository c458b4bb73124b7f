/* SPDX-License-Identifier: Apache-2.0 */
#include "oob.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define OOB_MAGIC 0x47444b31u /* "GDK1" */

__attribute__((format(printf, 3, 4))) static int fail(char *why, int rc, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(why, OOB_WHY_SIZE, format, args);
    va_end(args);
    return rc;
}

const char *oob_type_name(unsigned type)
{
    static const char *const names[OOB_TYPE_END] = {
        [OOB_HELLO] = "HELLO", [OOB_ENDPOINT] = "ENDPOINT", [OOB_READY] = "READY", [OOB_GO] = "GO",
        [OOB_DONE] = "DONE",   [OOB_RESULT] = "RESULT",     [OOB_ERROR] = "ERROR", [OOB_BYE] = "BYE",
    };

    return type < OOB_TYPE_END && names[type] ? names[type] : "unknown";
}

/* ---- payloads ---------------------------------------------------------------------------------------------- */

void oob_put(struct oob_writer *w, uint64_t value, unsigned bytes)
{
    if (!w->ok || w->size - w->used < bytes) {
        w->ok = false;
        return;
    }
    for (unsigned i = 0; i < bytes; i++)
        w->data[w->used++] = (uint8_t)(value >> (8 * (bytes - 1 - i)));
}

void oob_put_bytes(struct oob_writer *w, const void *data, size_t length)
{
    if (!w->ok || w->size - w->used < length) {
        w->ok = false;
        return;
    }
    memcpy(w->data + w->used, data, length);
    w->used += length;
}

void oob_put_text(struct oob_writer *w, const char *text)
{
    size_t length = strnlen(text, 1024);

    oob_put(w, length, 2);
    oob_put_bytes(w, text, length);
}

uint64_t oob_get(struct oob_reader *r, unsigned bytes)
{
    uint64_t value = 0;

    if (!r->ok || r->size - r->used < bytes) {
        r->ok = false;
        return 0;
    }
    for (unsigned i = 0; i < bytes; i++)
        value = value << 8 | r->data[r->used++];
    return value;
}

void oob_get_bytes(struct oob_reader *r, void *data, size_t length)
{
    if (!r->ok || r->size - r->used < length) {
        r->ok = false;
        memset(data, 0, length);
        return;
    }
    memcpy(data, r->data + r->used, length);
    r->used += length;
}

void oob_get_text(struct oob_reader *r, char *out, size_t size)
{
    size_t length = oob_get(r, 2), keep;

    out[0] = 0;
    if (!r->ok || r->size - r->used < length) {
        r->ok = false;
        return;
    }
    keep = length < size ? length : size - 1;
    memcpy(out, r->data + r->used, keep);
    out[keep] = 0;
    for (size_t i = 0; i < keep; i++) { /* a peer's text never reaches a terminal as control codes */
        if ((unsigned char)out[i] < 0x20 || out[i] == 0x7f)
            out[i] = '?';
    }
    r->used += length;
}

/* ---- sockets ------------------------------------------------------------------------------------------------ */

void oob_init(struct oob *oob, int fd)
{
    memset(oob, 0, sizeof(*oob));
    oob->fd = fd;
    oob->timeout_ms = 30000;
}

/* A close with unread data would reset the connection, and the peer would lose our last message. */
static void drain(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    uint8_t rest[4096];

    shutdown(fd, SHUT_WR);
    while (poll(&p, 1, 1000) > 0 && recv(fd, rest, sizeof(rest), 0) > 0)
        ;
}

void oob_close(struct oob *oob)
{
    if (oob->fd >= 0 && oob->gave_up)
        drain(oob->fd);
    if (oob->fd >= 0)
        close(oob->fd);
    oob->fd = -1;
}

static int resolve(const char *host, uint16_t port, bool passive, struct addrinfo **out, char *why)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    char service[8];
    int rc;

    hints.ai_flags = AI_NUMERICSERV | (passive ? AI_PASSIVE : 0);
    snprintf(service, sizeof(service), "%u", port);
    rc = getaddrinfo(host, service, &hints, out);
    if (rc)
        return fail(why, -EADDRNOTAVAIL, "cannot resolve '%s': %s", host, gai_strerror(rc));
    return 0;
}

int oob_listen(const char *address, uint16_t port, int *listen_fd, char *why)
{
    struct addrinfo *list;
    int rc = resolve(address, port, true, &list, why), fd, one = 1;

    if (rc)
        return rc;
    fd = socket(list->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        rc = fail(why, -errno, "cannot open a socket: %s", strerror(errno));
    } else {
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
        if (bind(fd, list->ai_addr, list->ai_addrlen) || listen(fd, 1))
            rc = fail(why, -errno, "cannot listen on %s port %u: %s", address, port, strerror(errno));
    }
    freeaddrinfo(list);
    if (rc) {
        if (fd >= 0)
            close(fd);
        return rc;
    }
    *listen_fd = fd;
    return 0;
}

static void no_delay(int fd)
{
    int one = 1;

    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

int oob_accept(int listen_fd, struct oob *oob)
{
    int fd;

    do
        fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC);
    while (fd < 0 && errno == EINTR);
    if (fd < 0) {
        oob->fd = -1;
        return fail(oob->why, -errno, "cannot accept a client: %s", strerror(errno));
    }
    no_delay(fd);
    oob_init(oob, fd);
    return 0;
}

static uint64_t now_ms(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

static int connect_once(const struct addrinfo *list)
{
    int rc = -ECONNREFUSED;

    for (const struct addrinfo *a = list; a; a = a->ai_next) {
        int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

        if (fd < 0) {
            rc = -errno;
            continue;
        }
        if (!connect(fd, a->ai_addr, a->ai_addrlen))
            return fd;
        rc = -errno;
        close(fd);
    }
    return rc;
}

int oob_connect(const char *host, uint16_t port, int timeout_ms, struct oob *oob)
{
    struct addrinfo *list;
    uint64_t end = now_ms() + (uint64_t)timeout_ms;
    int rc, fd;

    oob_init(oob, -1);
    rc = resolve(host, port, false, &list, oob->why);
    if (rc)
        return rc;
    /* The server may be starting: a refusal is tried again until the time is over. */
    for (fd = connect_once(list); fd == -ECONNREFUSED && now_ms() < end; fd = connect_once(list))
        usleep(50 * 1000);
    freeaddrinfo(list);
    if (fd < 0)
        return fail(oob->why, fd, "cannot reach a server at %s port %u: %s", host, port, strerror(-fd));
    no_delay(fd);
    oob_init(oob, fd);
    return 0;
}

/* ---- frames ------------------------------------------------------------------------------------------------- */

static int send_all(struct oob *oob, const void *data, size_t length)
{
    const uint8_t *at = data;

    while (length) {
        ssize_t n = send(oob->fd, at, length, MSG_NOSIGNAL);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fail(oob->why, -errno, "cannot send to the peer: %s", strerror(errno));
        at += n;
        length -= (size_t)n;
    }
    return 0;
}

int oob_send(struct oob *oob, enum oob_type type, const void *payload, size_t length)
{
    uint8_t header[OOB_HEADER];
    struct oob_writer w = {.data = header, .size = sizeof(header), .ok = true};
    int rc;

    if (length > OOB_PAYLOAD_MAX)
        return fail(oob->why, -EMSGSIZE, "%s message of %zu bytes is above the limit of %d", oob_type_name(type),
                    length, OOB_PAYLOAD_MAX);
    oob_put(&w, OOB_MAGIC, 4);
    oob_put(&w, OOB_VERSION, 2);
    oob_put(&w, type, 2);
    oob_put(&w, oob->sent++, 4);
    oob_put(&w, length, 4);
    rc = send_all(oob, header, sizeof(header));
    return rc || !length ? rc : send_all(oob, payload, length);
}

void oob_send_error(struct oob *oob, const char *text)
{
    uint8_t payload[1100];
    struct oob_writer w = {.data = payload, .size = sizeof(payload), .ok = true};

    oob_put_text(&w, text);
    if (oob->fd >= 0 && !oob_send(oob, OOB_ERROR, payload, w.used))
        oob->gave_up = true;
}

static int receive_all(struct oob *oob, void *data, size_t length)
{
    uint8_t *at = data;

    while (length) {
        struct pollfd p = {.fd = oob->fd, .events = POLLIN};
        int ready = poll(&p, 1, oob->timeout_ms);
        ssize_t n;

        if (ready < 0 && errno == EINTR)
            continue;
        if (ready == 0)
            return fail(oob->why, -ETIMEDOUT, "no answer from the peer within %d ms", oob->timeout_ms);
        n = recv(oob->fd, at, length, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fail(oob->why, -errno, "cannot receive from the peer: %s", strerror(errno));
        if (n == 0)
            return fail(oob->why, -ECONNRESET, "the peer closed the connection");
        at += n;
        length -= (size_t)n;
    }
    return 0;
}

struct frame {
    uint32_t magic, sequence, length;
    uint16_t version, type;
};

static int receive_header(struct oob *oob, struct frame *f)
{
    uint8_t header[OOB_HEADER];
    struct oob_reader r = {.data = header, .size = sizeof(header), .ok = true};
    int rc = receive_all(oob, header, sizeof(header));

    if (rc)
        return rc;
    f->magic = (uint32_t)oob_get(&r, 4);
    f->version = (uint16_t)oob_get(&r, 2);
    f->type = (uint16_t)oob_get(&r, 2);
    f->sequence = (uint32_t)oob_get(&r, 4);
    f->length = (uint32_t)oob_get(&r, 4);
    if (f->magic != OOB_MAGIC)
        return fail(oob->why, -EPROTO, "malformed message: magic 0x%08x, expected 0x%08x (not a gdaki peer?)",
                    f->magic, OOB_MAGIC);
    if (f->version != OOB_VERSION)
        return fail(oob->why, -EPROTO, "the peer speaks protocol version %u, this program version %u", f->version,
                    OOB_VERSION);
    if (f->type == 0 || f->type >= OOB_TYPE_END)
        return fail(oob->why, -EPROTO, "malformed message: type %u is unknown", f->type);
    if (f->sequence != oob->received)
        return fail(oob->why, -EPROTO, "malformed message: sequence %u, expected %u", f->sequence, oob->received);
    if (f->length > OOB_PAYLOAD_MAX)
        return fail(oob->why, -EPROTO, "malformed message: length %u is above the limit of %d", f->length,
                    OOB_PAYLOAD_MAX);
    oob->received++;
    return 0;
}

static int receive_error(struct oob *oob, uint32_t length)
{
    uint8_t payload[OOB_PAYLOAD_MAX];
    struct oob_reader r = {.data = payload, .size = length, .ok = true};
    char text[OOB_WHY_SIZE - 32];
    int rc = receive_all(oob, payload, length);

    if (rc)
        return rc;
    oob_get_text(&r, text, sizeof(text));
    return fail(oob->why, -ECONNABORTED, "the peer gave up: %s", r.ok ? text : "(unreadable reason)");
}

int oob_receive(struct oob *oob, enum oob_type type, void *payload, size_t min, size_t max, size_t *length)
{
    struct frame f;
    int rc = receive_header(oob, &f);

    if (rc)
        return rc;
    if (f.type == OOB_ERROR && type != OOB_ERROR)
        return receive_error(oob, f.length);
    if (f.type != type)
        return fail(oob->why, -EPROTO, "unexpected message %s, expected %s", oob_type_name(f.type),
                    oob_type_name(type));
    if (f.length < min || f.length > max)
        return fail(oob->why, -EPROTO, "malformed %s message: %u bytes, expected %zu to %zu", oob_type_name(type),
                    f.length, min, max);
    if (length)
        *length = f.length;
    return f.length ? receive_all(oob, payload, f.length) : 0;
}
