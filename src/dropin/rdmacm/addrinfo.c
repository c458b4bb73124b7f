/* SPDX-License-Identifier: Apache-2.0 */
/* rdma_getaddrinfo: the system's resolver, in the structures of rdma_cm. */
#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>

#include "cma.h"

static const struct rdma_addrinfo no_hints = {.ai_port_space = RDMA_PS_TCP};

static int copy(const struct sockaddr *from, socklen_t length, struct sockaddr **to, socklen_t *to_length)
{
    *to = malloc(sizeof(struct sockaddr_storage));
    if (!*to)
        return EAI_MEMORY;
    memset(*to, 0, sizeof(struct sockaddr_storage));
    memcpy(*to, from, length);
    *to_length = length;
    return 0;
}

static void set_spaces(const struct rdma_addrinfo *h, struct rdma_addrinfo *out)
{
    out->ai_qp_type = h->ai_qp_type;
    out->ai_port_space = h->ai_port_space;
    if (!out->ai_qp_type)
        out->ai_qp_type = out->ai_port_space == RDMA_PS_UDP ? IBV_QPT_UD : IBV_QPT_RC;
    if (!out->ai_port_space)
        out->ai_port_space = out->ai_qp_type == IBV_QPT_UD ? RDMA_PS_UDP : RDMA_PS_TCP;
}

static int ask(const char *node, const char *service, const struct rdma_addrinfo *h, struct addrinfo **out)
{
    struct addrinfo a = {.ai_family = h->ai_family};
    if (h->ai_family && h->ai_family != AF_INET && h->ai_family != AF_INET6)
        return EAI_FAMILY; /* AF_IB: GIDs are given as IPv6 addresses */
    if (h->ai_flags & RAI_PASSIVE)
        a.ai_flags |= AI_PASSIVE;
    if (h->ai_flags & RAI_NUMERICHOST)
        a.ai_flags |= AI_NUMERICHOST;
    a.ai_socktype = h->ai_port_space == RDMA_PS_UDP || h->ai_qp_type == IBV_QPT_UD ? SOCK_DGRAM : SOCK_STREAM;
    return getaddrinfo(node, service, &a, out);
}

static int fill(const struct rdma_addrinfo *h, const struct addrinfo *found, struct rdma_addrinfo *out)
{
    int rc;
    out->ai_flags = h->ai_flags;
    out->ai_family = found->ai_family;
    set_spaces(h, out);
    if (h->ai_flags & RAI_PASSIVE)
        return copy(found->ai_addr, found->ai_addrlen, &out->ai_src_addr, &out->ai_src_len);
    rc = copy(found->ai_addr, found->ai_addrlen, &out->ai_dst_addr, &out->ai_dst_len);
    if (!rc && h->ai_src_addr && h->ai_src_len && h->ai_src_len <= sizeof(struct sockaddr_storage))
        rc = copy(h->ai_src_addr, h->ai_src_len, &out->ai_src_addr, &out->ai_src_len);
    return rc;
}

static int copy_hint(struct sockaddr *from, socklen_t length, struct sockaddr **out, socklen_t *out_length)
{
    if (!from || !length)
        return 0;
    return length <= sizeof(struct sockaddr_storage) ? copy(from, length, out, out_length) : EAI_FAMILY;
}

/* Neither name nor service: the hints have what addresses there are (rdma_getaddrinfo(3)), a source alone or none among them. */
static int fill_given(const struct rdma_addrinfo *h, struct rdma_addrinfo *out)
{
    const struct sockaddr *known = h->ai_dst_addr && h->ai_dst_len ? h->ai_dst_addr : h->ai_src_addr;
    out->ai_flags = h->ai_flags;
    out->ai_family = known ? known->sa_family : h->ai_family;
    if (out->ai_family && out->ai_family != AF_INET && out->ai_family != AF_INET6)
        return EAI_FAMILY;
    set_spaces(h, out);
    int rc = copy_hint(h->ai_dst_addr, h->ai_dst_len, &out->ai_dst_addr, &out->ai_dst_len);
    return rc ? rc : copy_hint(h->ai_src_addr, h->ai_src_len, &out->ai_src_addr, &out->ai_src_len);
}

CMA_API int rdma_getaddrinfo(const char *node, const char *service, const struct rdma_addrinfo *hints,
                             struct rdma_addrinfo **res)
{
    const struct rdma_addrinfo *h = hints ? hints : &no_hints;
    struct addrinfo *found = NULL;
    bool given = !node && !service;
    int rc = cma_start();
    if (rc)
        return cma_result(rc);
    if (given && !hints)
        return cma_result(-EINVAL);
    struct rdma_addrinfo *out = calloc(1, sizeof(*out));
    if (!out)
        return -1;
    rc = given ? 0 : ask(node, service, h, &found);
    if (!rc)
        rc = given ? fill_given(h, out) : fill(h, found, out);
    if (found)
        freeaddrinfo(found);
    if (rc) {
        rdma_freeaddrinfo(out);
        return rc;
    }
    *res = out;
    return 0;
}

CMA_API void rdma_freeaddrinfo(struct rdma_addrinfo *res)
{
    while (res) {
        struct rdma_addrinfo *next = res->ai_next;
        free(res->ai_src_addr);
        free(res->ai_dst_addr);
        free(res);
        res = next;
    }
}
