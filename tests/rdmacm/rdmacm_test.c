/* SPDX-License-Identifier: Apache-2.0 */
/*
 * librdmacm.so.1 within one process: both sides of connections, on event channels and with calls that wait, by the headers
 * of rdma-core and their inline functions.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

#include <cmocka.h>

enum { TIMEOUT_MS = 60000 /* a hang, not a verdict */ };

static struct sockaddr_in address(const char *ip, uint16_t port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port)};
    assert_int_equal(inet_pton(AF_INET, ip, &a.sin_addr), 1);
    return a;
}

#define SA(a) ((struct sockaddr *)&(a))

/* The next event that is not about the end of time-wait, which may come at any time. */
static struct rdma_cm_event *next(struct rdma_event_channel *ch)
{
    for (;;) {
        struct pollfd p = {.fd = ch->fd, .events = POLLIN};
        struct rdma_cm_event *e;
        assert_int_equal(poll(&p, 1, TIMEOUT_MS), 1);
        assert_int_equal(rdma_get_cm_event(ch, &e), 0);
        if (e->event != RDMA_CM_EVENT_TIMEWAIT_EXIT)
            return e;
        rdma_ack_cm_event(e);
    }
}

static struct rdma_cm_event *expect(struct rdma_event_channel *ch, enum rdma_cm_event_type type)
{
    struct rdma_cm_event *e = next(ch);
    assert_string_equal(rdma_event_str(e->event), rdma_event_str(type));
    return e;
}

static void pass(struct rdma_event_channel *ch, enum rdma_cm_event_type type)
{
    struct rdma_cm_event *e = expect(ch, type);
    assert_int_equal(e->status, 0);
    assert_int_equal(rdma_ack_cm_event(e), 0);
}

static struct rdma_event_channel *channel(void)
{
    struct rdma_event_channel *ch = rdma_create_event_channel();
    assert_non_null(ch);
    return ch;
}

static struct rdma_cm_id *make_id(struct rdma_event_channel *ch, enum rdma_port_space ps)
{
    struct rdma_cm_id *id;
    assert_int_equal(rdma_create_id(ch, &id, NULL, ps), 0);
    return id;
}

static struct rdma_cm_id *listener(struct rdma_event_channel *ch, enum rdma_port_space ps, const char *ip)
{
    struct rdma_cm_id *id = make_id(ch, ps);
    struct sockaddr_in a = address(ip, 0);
    assert_int_equal(rdma_bind_addr(id, SA(a)), 0);
    assert_int_not_equal(rdma_get_src_port(id), 0);
    assert_int_equal(rdma_listen(id, 4), 0);
    return id;
}

static void add_qp(struct rdma_cm_id *id)
{
    struct ibv_qp_init_attr attr = {.cap = {.max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 1, .max_recv_sge = 1},
                                    .qp_type = id->qp_type,
                                    .sq_sig_all = 1};
    assert_int_equal(rdma_create_qp(id, NULL, &attr), 0);
    assert_non_null(id->qp);
    assert_non_null(id->send_cq);
    assert_non_null(id->pd);
}

static struct rdma_cm_id *resolved(struct rdma_event_channel *ch, enum rdma_port_space ps, const char *ip, uint16_t port)
{
    struct rdma_cm_id *id = make_id(ch, ps);
    struct sockaddr_in a = address(ip, port);
    assert_int_equal(rdma_resolve_addr(id, NULL, SA(a), 1000), 0);
    pass(ch, RDMA_CM_EVENT_ADDR_RESOLVED);
    assert_non_null(id->verbs);
    assert_int_equal(rdma_resolve_route(id, 1000), 0);
    pass(ch, RDMA_CM_EVENT_ROUTE_RESOLVED);
    assert_int_equal(id->route.num_paths, 1);
    assert_int_equal(ntohs(rdma_get_dst_port(id)), port);
    return id;
}

static enum ibv_qp_state state_of(struct rdma_cm_id *id)
{
    struct ibv_qp_attr attr;
    struct ibv_qp_init_attr init;
    assert_int_equal(ibv_query_qp(id->qp, &attr, IBV_QP_STATE, &init), 0);
    return attr.qp_state;
}

/* A message from one to the other, by the helpers of <rdma/rdma_verbs.h>. */
static void talk(struct rdma_cm_id *from, struct rdma_cm_id *to, const char *text)
{
    char out[64] = "", in[64] = "";
    struct ibv_wc wc;
    struct ibv_mr *a = rdma_reg_msgs(from, out, sizeof(out)), *b = rdma_reg_msgs(to, in, sizeof(in));
    assert_non_null(a);
    assert_non_null(b);
    strcpy(out, text);
    assert_int_equal(rdma_post_recv(to, in, in, sizeof(in), b), 0);
    assert_int_equal(rdma_post_send(from, out, out, sizeof(out), a, 0), 0);
    assert_int_equal(rdma_get_send_comp(from, &wc), 1);
    assert_int_equal(wc.status, IBV_WC_SUCCESS);
    assert_int_equal(rdma_get_recv_comp(to, &wc), 1);
    assert_int_equal(wc.status, IBV_WC_SUCCESS);
    assert_string_equal(in, text);
    assert_int_equal(rdma_dereg_mr(a), 0);
    assert_int_equal(rdma_dereg_mr(b), 0);
}

struct link {
    struct rdma_event_channel *ch;
    struct rdma_cm_id *listen, *client, *server;
};

static void connect_pair(struct link *l, const char *ip)
{
    struct rdma_conn_param p = {.private_data = "question", .private_data_len = 8, .responder_resources = 3, .initiator_depth = 5,
                                .retry_count = 7, .rnr_retry_count = 6};
    l->ch = channel();
    l->listen = listener(l->ch, RDMA_PS_TCP, ip);
    l->listen->context = l;
    l->client = resolved(l->ch, RDMA_PS_TCP, "127.0.0.1", ntohs(rdma_get_src_port(l->listen)));
    add_qp(l->client);
    assert_int_equal(state_of(l->client), IBV_QPS_INIT);
    assert_int_equal(rdma_connect(l->client, &p), 0);

    struct rdma_cm_event *e = expect(l->ch, RDMA_CM_EVENT_CONNECT_REQUEST);
    assert_ptr_equal(e->listen_id, l->listen);
    assert_ptr_equal(e->id->context, l); /* the listener's */
    assert_ptr_not_equal(e->id, l->listen);
    assert_int_equal(e->param.conn.private_data_len, 56);
    assert_memory_equal(e->param.conn.private_data, "question", 8);
    assert_int_equal(e->param.conn.responder_resources, 5); /* what the client starts, the server answers */
    assert_int_equal(e->param.conn.initiator_depth, 3);
    assert_int_equal(e->param.conn.rnr_retry_count, 6);
    assert_int_equal(e->param.conn.qp_num, l->client->qp->qp_num);
    l->server = e->id;
    assert_int_equal(rdma_ack_cm_event(e), 0);
    assert_int_equal(rdma_get_dst_port(l->server), rdma_get_src_port(l->client));
    assert_int_equal(rdma_get_src_port(l->server), rdma_get_dst_port(l->client));

    add_qp(l->server);
    p.private_data = "answer";
    p.private_data_len = 6;
    p.responder_resources = 5;
    assert_int_equal(rdma_accept(l->server, &p), 0);
    for (int i = 0; i < 2; i++) { /* both are told, in some order */
        e = expect(l->ch, RDMA_CM_EVENT_ESTABLISHED);
        if (e->id == l->client)
            assert_memory_equal(e->param.conn.private_data, "answer", 6);
        else
            assert_ptr_equal(e->id, l->server);
        rdma_ack_cm_event(e);
    }
    assert_int_equal(state_of(l->client), IBV_QPS_RTS);
    assert_int_equal(state_of(l->server), IBV_QPS_RTS);
}

static void destroy(struct rdma_cm_id *id)
{
    if (id->qp)
        rdma_destroy_qp(id);
    assert_int_equal(rdma_destroy_id(id), 0);
}

/* ---- tests ------------------------------------------------------------------------------------------------------------ */

static void connects_talks_disconnects(void **state)
{
    (void)state;
    struct link l;
    connect_pair(&l, "0.0.0.0");
    talk(l.client, l.server, "there");
    talk(l.server, l.client, "and back");
    assert_int_equal(rdma_disconnect(l.client), 0);
    for (int i = 0; i < 2; i++)
        pass(l.ch, RDMA_CM_EVENT_DISCONNECTED);
    assert_int_equal(state_of(l.client), IBV_QPS_ERR);
    assert_int_equal(rdma_disconnect(l.server), 0); /* allowed, and nothing more comes of it */
    destroy(l.client);
    destroy(l.server);
    destroy(l.listen);
    rdma_destroy_event_channel(l.ch);
}

static void destroying_disconnects(void **state)
{
    (void)state;
    struct link l;
    connect_pair(&l, "127.0.0.1");
    destroy(l.client);
    struct rdma_cm_event *e = expect(l.ch, RDMA_CM_EVENT_DISCONNECTED);
    assert_ptr_equal(e->id, l.server);
    rdma_ack_cm_event(e);
    destroy(l.server);
    destroy(l.listen);
    rdma_destroy_event_channel(l.ch);
}

static void a_request_is_refused(void **state)
{
    (void)state;
    struct rdma_event_channel *ch = channel();
    struct rdma_cm_id *listen = listener(ch, RDMA_PS_TCP, "0.0.0.0");
    struct rdma_cm_id *client = resolved(ch, RDMA_PS_TCP, "127.0.0.1", ntohs(rdma_get_src_port(listen)));
    add_qp(client);
    assert_int_equal(rdma_connect(client, NULL), 0);
    struct rdma_cm_event *e = expect(ch, RDMA_CM_EVENT_CONNECT_REQUEST);
    assert_int_equal(rdma_reject(e->id, "why", 3), 0);
    struct rdma_cm_id *id = e->id;
    rdma_ack_cm_event(e);
    destroy(id);
    e = expect(ch, RDMA_CM_EVENT_REJECTED);
    assert_ptr_equal(e->id, client);
    assert_int_equal(e->status, 28); /* by the consumer */
    assert_int_equal(e->param.conn.private_data_len, 148);
    assert_memory_equal(e->param.conn.private_data, "why", 3);
    rdma_ack_cm_event(e);
    assert_int_equal(state_of(client), IBV_QPS_ERR);
    destroy(client);
    destroy(listen);
    rdma_destroy_event_channel(ch);
}

static void nobody_listens(void **state)
{
    (void)state;
    struct rdma_event_channel *ch = channel();
    struct rdma_cm_id *client = resolved(ch, RDMA_PS_TCP, "127.0.0.1", 1);
    add_qp(client);
    assert_int_equal(rdma_connect(client, NULL), 0);
    struct rdma_cm_event *e = expect(ch, RDMA_CM_EVENT_REJECTED);
    assert_int_equal(e->status, 8); /* invalid service ID */
    rdma_ack_cm_event(e);
    destroy(client);
    client = resolved(ch, RDMA_PS_UDP, "127.0.0.1", 1);
    add_qp(client);
    assert_int_equal(rdma_connect(client, NULL), 0);
    e = expect(ch, RDMA_CM_EVENT_UNREACHABLE);
    assert_int_equal(e->status, 1); /* service ID not supported */
    rdma_ack_cm_event(e);
    destroy(client);
    rdma_destroy_event_channel(ch);
}

/* What has not been fetched when a listener goes is refused. */
static void a_listener_goes_with_its_requests(void **state)
{
    (void)state;
    struct rdma_event_channel *ch = channel(), *other = channel();
    struct rdma_cm_id *listen = listener(other, RDMA_PS_TCP, "0.0.0.0");
    struct rdma_cm_id *client = resolved(ch, RDMA_PS_TCP, "127.0.0.1", ntohs(rdma_get_src_port(listen)));
    struct pollfd p = {.fd = other->fd, .events = POLLIN};
    add_qp(client);
    assert_int_equal(rdma_connect(client, NULL), 0);
    assert_int_equal(poll(&p, 1, TIMEOUT_MS), 1);
    destroy(listen);
    assert_int_equal(poll(&p, 1, 0), 0);
    rdma_ack_cm_event(expect(ch, RDMA_CM_EVENT_REJECTED));
    destroy(client);
    rdma_destroy_event_channel(other);
    rdma_destroy_event_channel(ch);
}

/* A server that listens anew for each connection is met in between, too. */
static void a_service_comes_back(void **state)
{
    (void)state;
    struct link l;
    connect_pair(&l, "127.0.0.1");
    struct sockaddr_in a = address("127.0.0.1", ntohs(rdma_get_src_port(l.listen)));
    destroy(l.listen);
    struct rdma_cm_id *second = resolved(l.ch, RDMA_PS_TCP, "127.0.0.1", ntohs(a.sin_port));
    add_qp(second);
    assert_int_equal(rdma_connect(second, NULL), 0);
    struct pollfd p = {.fd = l.ch->fd, .events = POLLIN};
    assert_int_equal(poll(&p, 1, 50), 0); /* neither taken nor refused */
    l.listen = make_id(l.ch, RDMA_PS_TCP);
    assert_int_equal(rdma_bind_addr(l.listen, SA(a)), 0);
    assert_int_equal(rdma_listen(l.listen, 1), 0);
    struct rdma_cm_event *e = expect(l.ch, RDMA_CM_EVENT_CONNECT_REQUEST);
    struct rdma_cm_id *server = e->id;
    rdma_ack_cm_event(e);
    destroy(server);
    rdma_ack_cm_event(expect(l.ch, RDMA_CM_EVENT_REJECTED));
    destroy(second);
    destroy(l.client);
    rdma_ack_cm_event(expect(l.ch, RDMA_CM_EVENT_DISCONNECTED));
    destroy(l.server);
    destroy(l.listen);
    rdma_destroy_event_channel(l.ch);
}

static void datagrams(void **state)
{
    (void)state;
    struct rdma_event_channel *ch = channel();
    struct rdma_cm_id *listen = listener(ch, RDMA_PS_UDP, "0.0.0.0");
    struct rdma_cm_id *client = resolved(ch, RDMA_PS_UDP, "127.0.0.1", ntohs(rdma_get_src_port(listen)));
    struct rdma_conn_param p = {.private_data = "q", .private_data_len = 1};
    add_qp(client);
    assert_int_equal(state_of(client), IBV_QPS_RTS);
    assert_int_equal(rdma_connect(client, &p), 0);
    struct rdma_cm_event *e = expect(ch, RDMA_CM_EVENT_CONNECT_REQUEST);
    assert_int_equal(e->param.ud.private_data_len, 180);
    assert_memory_equal(e->param.ud.private_data, "q", 1);
    struct rdma_cm_id *server = e->id;
    rdma_ack_cm_event(e);
    add_qp(server);
    p = (struct rdma_conn_param){.private_data = "a", .private_data_len = 1, .qp_num = server->qp->qp_num};
    assert_int_equal(rdma_accept(server, &p), 0);
    e = expect(ch, RDMA_CM_EVENT_ESTABLISHED);
    assert_ptr_equal(e->id, client);
    assert_int_equal(e->param.ud.qp_num, server->qp->qp_num);
    assert_int_equal(e->param.ud.qkey, RDMA_UDP_QKEY);
    assert_memory_equal(e->param.ud.private_data, "a", 1);
    struct ibv_ah *ah = ibv_create_ah(client->pd, &e->param.ud.ah_attr);
    assert_non_null(ah);
    uint32_t qpn = e->param.ud.qp_num;
    rdma_ack_cm_event(e);

    char out[32] = "by datagram", in[40 + 32] = "";
    struct ibv_wc wc;
    struct ibv_mr *a = rdma_reg_msgs(client, out, sizeof(out)), *b = rdma_reg_msgs(server, in, sizeof(in));
    assert_int_equal(rdma_post_recv(server, in, in, sizeof(in), b), 0);
    assert_int_equal(rdma_post_ud_send(client, out, out, sizeof(out), a, IBV_SEND_SIGNALED, ah, qpn), 0);
    assert_int_equal(rdma_get_send_comp(client, &wc), 1);
    assert_int_equal(rdma_get_recv_comp(server, &wc), 1);
    assert_int_equal(wc.status, IBV_WC_SUCCESS);
    assert_string_equal(in + 40, out);
    rdma_dereg_mr(a);
    rdma_dereg_mr(b);
    assert_int_equal(ibv_destroy_ah(ah), 0);
    destroy(client);
    destroy(server);
    destroy(listen);
    rdma_destroy_event_channel(ch);
}

/* ---- addresses ---------------------------------------------------------------------------------------------------------- */

static void ports_are_taken_once(void **state)
{
    (void)state;
    struct rdma_event_channel *ch = channel();
    struct rdma_cm_id *a = make_id(ch, RDMA_PS_TCP), *b = make_id(ch, RDMA_PS_TCP), *c = make_id(ch, RDMA_PS_UDP);
    struct sockaddr_in any = address("0.0.0.0", 0), one = address("127.0.0.1", 0);
    int yes = 1;
    assert_int_equal(rdma_bind_addr(a, SA(any)), 0);
    one.sin_port = rdma_get_src_port(a);
    assert_int_equal(rdma_bind_addr(b, SA(one)), -1);
    assert_int_equal(errno, EADDRINUSE);
    assert_int_equal(rdma_bind_addr(c, SA(one)), 0); /* another port space */
    assert_int_equal(rdma_destroy_id(a), 0);
    assert_int_equal(rdma_bind_addr(b, SA(one)), 0);
    assert_int_equal(rdma_bind_addr(b, SA(one)), -1); /* bound already */
    a = make_id(ch, RDMA_PS_TCP);
    one = address("127.0.0.2", ntohs(rdma_get_src_port(b)));
    assert_int_equal(rdma_bind_addr(a, SA(one)), 0); /* another address, the same port */
    rdma_destroy_id(a);
    rdma_destroy_id(b);
    a = make_id(ch, RDMA_PS_TCP);
    b = make_id(ch, RDMA_PS_TCP);
    assert_int_equal(rdma_set_option(a, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &yes, sizeof(yes)), 0);
    assert_int_equal(rdma_set_option(b, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &yes, sizeof(yes)), 0);
    assert_int_equal(rdma_bind_addr(a, SA(one)), 0);
    assert_int_equal(rdma_bind_addr(b, SA(one)), 0);
    rdma_destroy_id(a);
    rdma_destroy_id(b);
    rdma_destroy_id(c);
    rdma_destroy_event_channel(ch);
}

static void addresses_that_are_not_ours(void **state)
{
    (void)state;
    struct rdma_event_channel *ch = channel();
    struct rdma_cm_id *id = make_id(ch, RDMA_PS_TCP);
    struct sockaddr_in a = address("203.0.113.7", 0);
    struct sockaddr_in6 any6 = {.sin6_family = AF_INET6};
    assert_int_equal(rdma_bind_addr(id, SA(a)), -1);
    assert_int_equal(errno, EADDRNOTAVAIL);
    a.sin_family = AF_UNIX;
    assert_int_equal(rdma_bind_addr(id, SA(a)), -1);
    assert_int_equal(errno, EAFNOSUPPORT);
    assert_int_equal(rdma_listen(id, 1), 0); /* binds by itself */
    assert_int_not_equal(rdma_get_src_port(id), 0);
    rdma_destroy_id(id);
    id = make_id(ch, RDMA_PS_TCP);
    assert_int_equal(rdma_bind_addr(id, SA(any6)), 0);
    rdma_destroy_id(id);
    rdma_destroy_event_channel(ch);
}

/* A listener on one address is not asked for another, and one on all IPv6 addresses takes IPv4, too. */
static void listeners_are_chosen_by_address(void **state)
{
    (void)state;
    struct rdma_event_channel *ch = channel();
    struct rdma_cm_id *listen = listener(ch, RDMA_PS_TCP, "127.0.0.9");
    struct rdma_cm_id *client = resolved(ch, RDMA_PS_TCP, "127.0.0.1", ntohs(rdma_get_src_port(listen)));
    struct sockaddr_in6 any6 = {.sin6_family = AF_INET6};
    struct rdma_cm_event *e;
    add_qp(client);
    assert_int_equal(rdma_connect(client, NULL), 0);
    e = expect(ch, RDMA_CM_EVENT_REJECTED);
    assert_int_equal(e->status, 8);
    rdma_ack_cm_event(e);
    destroy(client);
    destroy(listen);
    listen = make_id(ch, RDMA_PS_TCP);
    assert_int_equal(rdma_bind_addr(listen, SA(any6)), 0);
    assert_int_equal(rdma_listen(listen, 1), 0);
    client = resolved(ch, RDMA_PS_TCP, "127.0.0.1", ntohs(rdma_get_src_port(listen)));
    add_qp(client);
    assert_int_equal(rdma_connect(client, NULL), 0);
    e = expect(ch, RDMA_CM_EVENT_CONNECT_REQUEST);
    assert_int_equal(rdma_get_peer_addr(e->id)->sa_family, AF_INET);
    struct rdma_cm_id *server = e->id;
    rdma_ack_cm_event(e);
    destroy(server);
    rdma_ack_cm_event(expect(ch, RDMA_CM_EVENT_REJECTED));
    destroy(client);
    destroy(listen);
    rdma_destroy_event_channel(ch);
}

static void names_are_resolved(void **state)
{
    (void)state;
    struct rdma_addrinfo hints = {.ai_flags = RAI_PASSIVE, .ai_port_space = RDMA_PS_UDP}, *res;
    assert_int_equal(rdma_getaddrinfo(NULL, "7471", &hints, &res), 0);
    assert_non_null(res->ai_src_addr);
    assert_null(res->ai_dst_addr);
    assert_int_equal(res->ai_qp_type, IBV_QPT_UD);
    rdma_freeaddrinfo(res);
    hints = (struct rdma_addrinfo){.ai_flags = RAI_NUMERICHOST, .ai_family = AF_INET};
    assert_int_equal(rdma_getaddrinfo("127.0.0.1", "7471", &hints, &res), 0);
    assert_int_equal(res->ai_dst_len, sizeof(struct sockaddr_in));
    assert_int_equal(ntohs(((struct sockaddr_in *)res->ai_dst_addr)->sin_port), 7471);
    assert_int_equal(res->ai_port_space, RDMA_PS_TCP);
    assert_int_equal(res->ai_qp_type, IBV_QPT_RC);
    rdma_freeaddrinfo(res);
    assert_int_not_equal(rdma_getaddrinfo("no.such.name.invalid", NULL, &hints, &res), 0);

    /* No name and no service: the hints have the addresses, a source alone among them; no hints: nothing to go by. */
    struct sockaddr_in source = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct rdma_addrinfo from = {.ai_flags = RAI_PASSIVE,
                                 .ai_port_space = RDMA_PS_TCP,
                                 .ai_src_addr = (struct sockaddr *)&source,
                                 .ai_src_len = sizeof(source)};
    assert_int_equal(rdma_getaddrinfo(NULL, NULL, &from, &res), 0);
    assert_int_equal(res->ai_family, AF_INET);
    assert_int_equal(res->ai_src_len, sizeof(source));
    assert_memory_equal(res->ai_src_addr, &source, sizeof(source));
    assert_null(res->ai_dst_addr);
    assert_int_equal(res->ai_qp_type, IBV_QPT_RC);
    rdma_freeaddrinfo(res);
    from.ai_src_len = sizeof(struct sockaddr_storage) + 1;
    assert_int_not_equal(rdma_getaddrinfo(NULL, NULL, &from, &res), 0);
    errno = 0;
    assert_int_equal(rdma_getaddrinfo(NULL, NULL, NULL, &res), -1);
    assert_int_equal(errno, EINVAL);
}

/* ---- calls that wait ------------------------------------------------------------------------------------------------------ */

struct server {
    struct rdma_cm_id *listen;
    char received[64];
    int rc;
};

static void *serve(void *arg)
{
    struct server *s = arg;
    struct rdma_cm_id *id;
    struct ibv_wc wc;
    s->rc = -1;
    if (rdma_get_request(s->listen, &id))
        return NULL;
    struct ibv_mr *mr = rdma_reg_msgs(id, s->received, sizeof(s->received));
    if (!mr || rdma_post_recv(id, NULL, s->received, sizeof(s->received), mr) || rdma_accept(id, NULL))
        return NULL;
    if (rdma_get_recv_comp(id, &wc) != 1 || wc.status != IBV_WC_SUCCESS)
        return NULL;
    s->rc = rdma_disconnect(id);
    rdma_dereg_mr(mr);
    rdma_destroy_ep(id);
    return NULL;
}

static void endpoints(void **state)
{
    (void)state;
    struct rdma_addrinfo hints = {.ai_flags = RAI_PASSIVE, .ai_port_space = RDMA_PS_TCP}, *res;
    struct ibv_qp_init_attr attr = {.cap = {.max_send_wr = 2, .max_recv_wr = 2, .max_send_sge = 1, .max_recv_sge = 1},
                                    .sq_sig_all = 1};
    struct ibv_qp_init_attr client_attr = attr;
    struct server s = {0};
    pthread_t thread;
    assert_int_equal(rdma_getaddrinfo(NULL, "0", &hints, &res), 0);
    assert_int_equal(rdma_create_ep(&s.listen, res, NULL, &attr), 0);
    rdma_freeaddrinfo(res);
    assert_int_equal(rdma_listen(s.listen, 0), 0);
    assert_int_equal(pthread_create(&thread, NULL, serve, &s), 0);

    char port[8], out[64] = "an endpoint's message";
    struct rdma_cm_id *id;
    struct ibv_wc wc;
    snprintf(port, sizeof(port), "%u", ntohs(rdma_get_src_port(s.listen)));
    hints.ai_flags = 0;
    assert_int_equal(rdma_getaddrinfo("127.0.0.1", port, &hints, &res), 0);
    assert_int_equal(rdma_create_ep(&id, res, NULL, &client_attr), 0);
    rdma_freeaddrinfo(res);
    struct ibv_mr *mr = rdma_reg_msgs(id, out, sizeof(out));
    assert_int_equal(rdma_connect(id, NULL), 0);
    assert_int_equal(rdma_post_send(id, NULL, out, sizeof(out), mr, 0), 0);
    assert_int_equal(rdma_get_send_comp(id, &wc), 1);
    assert_int_equal(rdma_disconnect(id), 0);
    pthread_join(thread, NULL);
    assert_int_equal(s.rc, 0);
    assert_string_equal(s.received, out);
    rdma_dereg_mr(mr);
    rdma_destroy_ep(id);
    rdma_destroy_ep(s.listen);
}

static void a_refusal_is_an_errno(void **state)
{
    (void)state;
    struct rdma_addrinfo hints = {.ai_port_space = RDMA_PS_TCP}, *res;
    struct ibv_qp_init_attr attr = {.cap = {.max_send_wr = 2, .max_recv_wr = 2, .max_send_sge = 1, .max_recv_sge = 1}};
    struct rdma_cm_id *id;
    assert_int_equal(rdma_getaddrinfo("127.0.0.1", "1", &hints, &res), 0);
    assert_int_equal(rdma_create_ep(&id, res, NULL, &attr), 0);
    rdma_freeaddrinfo(res);
    assert_int_equal(rdma_connect(id, NULL), -1);
    assert_int_equal(errno, ECONNREFUSED);
    assert_int_equal(id->event->event, RDMA_CM_EVENT_REJECTED);
    rdma_destroy_ep(id);
}

/* ---- the rest ------------------------------------------------------------------------------------------------------------- */

static void channels_can_be_polled_and_changed(void **state)
{
    (void)state;
    struct link l;
    struct rdma_event_channel *other = channel();
    struct rdma_cm_event *e;
    connect_pair(&l, "0.0.0.0");
    assert_int_equal(fcntl(other->fd, F_SETFL, O_NONBLOCK), 0);
    assert_int_equal(rdma_get_cm_event(other, &e), -1);
    assert_int_equal(errno, EAGAIN);
    assert_int_equal(rdma_migrate_id(l.server, other), 0);
    assert_int_equal(rdma_disconnect(l.client), 0);
    pass(other, RDMA_CM_EVENT_DISCONNECTED);
    pass(l.ch, RDMA_CM_EVENT_DISCONNECTED);
    destroy(l.server);
    destroy(l.client);
    destroy(l.listen);
    rdma_destroy_event_channel(other);
    rdma_destroy_event_channel(l.ch);
}

/* Queue pairs of the caller's own: the answer is an event, and rdma_init_qp_attr says how to connect them. */
static void queue_pairs_of_the_callers(void **state)
{
    (void)state;
    struct rdma_event_channel *ch = channel();
    struct rdma_cm_id *listen = listener(ch, RDMA_PS_TCP, "0.0.0.0");
    struct rdma_cm_id *client = resolved(ch, RDMA_PS_TCP, "127.0.0.1", ntohs(rdma_get_src_port(listen)));
    struct rdma_conn_param p = {.qp_num = 0x4321, .responder_resources = 1, .initiator_depth = 1};
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTR};
    int mask;
    assert_int_equal(rdma_init_qp_attr(client, &attr, &mask), -1); /* the other side is not known yet */
    assert_int_equal(rdma_connect(client, &p), 0);
    struct rdma_cm_event *e = expect(ch, RDMA_CM_EVENT_CONNECT_REQUEST);
    struct rdma_cm_id *server = e->id;
    assert_int_equal(e->param.conn.qp_num, 0x4321);
    rdma_ack_cm_event(e);
    p.qp_num = 0x1234;
    attr = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS};
    assert_int_equal(rdma_init_qp_attr(server, &attr, &mask), 0); /* before it accepts, as rping -q does */
    uint32_t psn = attr.sq_psn;
    assert_int_equal(rdma_accept(server, &p), 0);
    e = expect(ch, RDMA_CM_EVENT_CONNECT_RESPONSE);
    assert_int_equal(e->param.conn.qp_num, 0x1234);
    rdma_ack_cm_event(e);
    attr = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTR};
    assert_int_equal(rdma_init_qp_attr(client, &attr, &mask), 0);
    assert_int_equal(attr.dest_qp_num, 0x1234);
    assert_int_equal(attr.rq_psn, psn);
    assert_int_equal(attr.ah_attr.is_global, 1);
    assert_true(mask & IBV_QP_AV && mask & IBV_QP_RQ_PSN && mask & IBV_QP_MAX_DEST_RD_ATOMIC);
    attr.qp_state = IBV_QPS_RTS;
    assert_int_equal(rdma_init_qp_attr(client, &attr, &mask), 0);
    assert_true(mask & IBV_QP_SQ_PSN && mask & IBV_QP_TIMEOUT);
    assert_int_equal(rdma_establish(client), 0);
    pass(ch, RDMA_CM_EVENT_ESTABLISHED);
    assert_int_equal(rdma_disconnect(client), 0);
    for (int i = 0; i < 2; i++)
        pass(ch, RDMA_CM_EVENT_DISCONNECTED);
    destroy(server);
    destroy(client);
    destroy(listen);
    rdma_destroy_event_channel(ch);
}

static void what_is_not_modelled_says_so(void **state)
{
    (void)state;
    struct rdma_event_channel *ch = channel();
    struct rdma_cm_id *id = make_id(ch, RDMA_PS_UDP);
    struct sockaddr_in group = address("239.1.2.3", 0);
    struct ibv_ece ece = {0};
    assert_int_equal(rdma_join_multicast(id, SA(group), NULL), -1);
    assert_int_equal(errno, EOPNOTSUPP);
    assert_int_equal(rdma_set_local_ece(id, &ece), -1);
    assert_int_equal(errno, EOPNOTSUPP);
    assert_int_equal(rdma_set_option(id, RDMA_OPTION_ID, 99, &ece, 1), -1);
    assert_int_equal(errno, ENOSYS);
    rdma_destroy_id(id);
    rdma_destroy_event_channel(ch);
}

static void wrong_order_is_refused(void **state)
{
    (void)state;
    struct rdma_event_channel *ch = channel();
    struct rdma_cm_id *id = make_id(ch, RDMA_PS_TCP);
    struct ibv_qp_init_attr attr = {.qp_type = IBV_QPT_RC, .cap = {.max_send_wr = 1, .max_recv_wr = 1}};
    struct rdma_conn_param p = {.private_data_len = 57, .private_data = &attr};
    assert_int_equal(rdma_resolve_route(id, 1), -1);
    assert_int_equal(rdma_connect(id, NULL), -1);
    assert_int_equal(rdma_accept(id, NULL), -1);
    assert_int_equal(rdma_reject(id, NULL, 0), -1);
    assert_int_equal(rdma_disconnect(id), -1);
    assert_int_equal(rdma_create_qp(id, NULL, &attr), -1); /* on no device yet */
    rdma_destroy_id(id);
    id = resolved(ch, RDMA_PS_TCP, "127.0.0.1", 1);
    assert_int_equal(rdma_connect(id, NULL), -1); /* no queue pair */
    attr.qp_type = IBV_QPT_UD;
    assert_int_equal(rdma_create_qp(id, NULL, &attr), -1); /* not of this port space */
    add_qp(id);
    assert_int_equal(rdma_connect(id, &p), -1); /* 56 bytes are left */
    destroy(id);
    rdma_destroy_event_channel(ch);
}

static void devices(void **state)
{
    (void)state;
    int n = 0;
    struct ibv_context **list = rdma_get_devices(&n);
    assert_non_null(list);
    assert_int_equal(n, 1);
    assert_null(list[1]);
    struct ibv_device_attr attr;
    assert_int_equal(ibv_query_device(list[0], &attr), 0);
    rdma_free_devices(list);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(devices),
        cmocka_unit_test(connects_talks_disconnects),
        cmocka_unit_test(destroying_disconnects),
        cmocka_unit_test(a_request_is_refused),
        cmocka_unit_test(nobody_listens),
        cmocka_unit_test(a_listener_goes_with_its_requests),
        cmocka_unit_test(a_service_comes_back),
        cmocka_unit_test(datagrams),
        cmocka_unit_test(ports_are_taken_once),
        cmocka_unit_test(addresses_that_are_not_ours),
        cmocka_unit_test(listeners_are_chosen_by_address),
        cmocka_unit_test(names_are_resolved),
        cmocka_unit_test(endpoints),
        cmocka_unit_test(a_refusal_is_an_errno),
        cmocka_unit_test(channels_can_be_polled_and_changed),
        cmocka_unit_test(queue_pairs_of_the_callers),
        cmocka_unit_test(what_is_not_modelled_says_so),
        cmocka_unit_test(wrong_order_is_refused),
    };
    setenv("SOFTNIC_LINK", argc > 1 ? argv[1] : "eth", 1);
    setenv("SOFTNIC_LOG", "off", 1);
    setenv("SOFTNIC_DEVICES", "1", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
