/* SPDX-License-Identifier: Apache-2.0 */
/* Connection management as librdmacm.so.1 calls it: reservations of services, and the agent under its lock. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "softnic/gsi/gsi.h"
#include "softnic/gsi/local.h"
#include "softnic/verbs/log.h"
#include "softnic/wire/descriptors.h"

static void enter(void)
{
    pthread_mutex_lock(&gsi.lock);
}

static int leave(int rc)
{
    gsi_poke(); /* timers may have changed */
    pthread_mutex_unlock(&gsi.lock);
    return rc;
}

/* ---- devices ------------------------------------------------------------------------------------------------------------ */

int softnic_cm_start(const struct softnic_cm_client *client)
{
    enter();
    gsi.client = *client;
    int rc = gsi_agent_start();
    if (!rc)
        rc = gsi_use();
    return leave(rc);
}

static int listen_slot(struct gsi_port *p, unsigned index, unsigned gid)
{
    int fd = sn_local_bind_slot(p->gid[gid], p->slot), rc = fd < 0 ? fd : sn_local_listen(fd);
    if (!rc)
        rc = gsi_watch(fd, index);
    if (!rc)
        p->fd[gid] = fd;
    else
        sn_fd_close(fd);
    return rc;
}

/* MADs for this process's slot that others pass on. */
void gsi_listen_all(unsigned index)
{
    struct gsi_port *p = &gsi.port[index];
    for (unsigned i = 0; i < p->gid_count && !p->listens; i++) {
        int rc = listen_slot(p, index, i);
        if (rc)
            sv_log(SV_LOG_ERROR, "device %u: MADs that reach other processes will not be passed on to this one: %s", index,
                   strerror(-rc));
    }
    p->listens = true;
}

static bool is_link_local(const uint8_t gid[16])
{
    return gid[0] == 0xfe && (gid[1] & 0xc0) == 0x80;
}

int softnic_cm_query(struct ibv_context *context, struct softnic_cm_device *out)
{
    if (!softnic_owns_context(context))
        return -ENODEV;
    const struct sv_device *d = sv_context_of(context)->device;
    memset(out, 0, sizeof(*out));
    out->port = d->index;
    out->gid_count = d->identity.gid_count;
    memcpy(out->gid, d->identity.gid, sizeof(out->gid));
    for (unsigned i = 0; i < out->gid_count; i++)
        if (!is_link_local(out->gid[i])) {
            out->ip_gid = (uint8_t)i;
            break;
        }
    out->guid = d->identity.guid;
    out->lid = d->identity.lid;
    out->infiniband = d->link == SN_LINK_INFINIBAND;
    out->path_mtu = d->path_mtu;
    out->this_host = !d->finds_macs;
    return 0;
}

void softnic_cm_gid_of_index(unsigned index, bool infiniband, uint8_t gid[16])
{
    struct sv_identity id;
    sv_identity_of(index, infiniband ? SN_LINK_INFINIBAND : SN_LINK_ETHERNET, &id);
    memcpy(gid, id.gid[infiniband ? 0 : 1], 16);
}

uint32_t softnic_cm_random(void)
{
    uint32_t v = 0;
    (void)!getrandom(&v, sizeof(v), 0);
    return v;
}

int softnic_cm_refuse(int error, const char *why)
{
    return sv_refuse(error, "%s", why);
}

bool softnic_cm_ip_parse(const struct sn_cm_msg *msg, struct sn_cm_ip *out)
{
    return sn_cm_ip_parse(msg, out);
}

void softnic_cm_ip_build(const struct sn_cm_ip *ip, uint8_t out[SN_CM_IP_BYTES])
{
    sn_cm_ip_build(ip, out);
}

/* ---- services ----------------------------------------------------------------------------------------------------------- */

static struct softnic_cm_service *find_service(uint64_t service_id)
{
    for (struct softnic_cm_service *s = gsi.services; s; s = s->next)
        if (s->service_id == service_id)
            return s;
    return NULL;
}

bool gsi_serves(unsigned port, uint64_t service_id)
{
    const struct softnic_cm_service *s = find_service(service_id);
    return s && s->listening && (s->ports >> port & 1);
}

bool gsi_listens(unsigned port, int fd)
{
    for (unsigned i = 0; i < gsi.port[port].gid_count; i++)
        if (gsi.port[port].fd[i] == fd)
            return true;
    for (const struct softnic_cm_service *s = gsi.services; s; s = s->next)
        if (s->ports >> port & 1 && s->fd[port] == fd)
            return true;
    return false;
}

static void close_ports(struct softnic_cm_service *s, uint64_t ports)
{
    for (unsigned i = 0; i < GSI_PORTS; i++)
        if (ports >> i & s->ports >> i & 1) {
            sn_fd_close(s->fd[i]);
            s->ports &= ~(1ull << i);
        }
}

static int listen_port(struct softnic_cm_service *s, unsigned i)
{
    int rc = sn_local_listen(s->fd[i]);
    return rc ? rc : gsi_watch(s->fd[i], i);
}

/* All of them, or none. */
static int add_ports(struct softnic_cm_service *s, uint64_t ports)
{
    uint64_t added = 0;
    int rc = 0;
    ports &= ~s->ports;
    for (unsigned i = 0; i < GSI_PORTS && !rc; i++) {
        if (!(ports >> i & 1) || !gsi.port[i].nic)
            continue;
        int fd = sn_local_bind_service(gsi.port[i].gid[0], s->service_id);
        if (fd < 0) {
            rc = fd;
            break;
        }
        s->fd[i] = fd;
        s->ports |= 1ull << i;
        added |= 1ull << i;
        if (s->listening)
            rc = listen_port(s, i);
    }
    if (rc)
        close_ports(s, added);
    return rc;
}

static void free_service(struct softnic_cm_service *s)
{
    for (struct softnic_cm_service **p = &gsi.services; *p; p = &(*p)->next)
        if (*p == s) {
            *p = s->next;
            break;
        }
    close_ports(s, UINT64_MAX);
    free(s);
}

static void put_service(struct softnic_cm_service *s)
{
    if (--s->users == 0)
        free_service(s);
}

static int reserve(uint64_t ports, uint64_t service_id, bool shared, struct softnic_cm_service **out)
{
    struct softnic_cm_service *s = find_service(service_id);
    if (s && !(shared && s->shared) && (s->ports & ports))
        return -EADDRINUSE;
    if (!s) {
        if (!(s = calloc(1, sizeof(*s))))
            return -ENOMEM;
        s->service_id = service_id;
        s->shared = shared;
        s->next = gsi.services;
        gsi.services = s;
    }
    s->users++;
    int rc = add_ports(s, ports);
    if (rc)
        put_service(s);
    else
        *out = s;
    return rc;
}

int softnic_cm_reserve(uint64_t ports, uint64_t service_id, bool shared, struct softnic_cm_service **out)
{
    enter();
    return leave(reserve(ports, service_id, shared, out));
}

void softnic_cm_release(struct softnic_cm_service *service)
{
    enter();
    put_service(service);
    leave(0);
}

/* ---- listeners ----------------------------------------------------------------------------------------------------------- */

static void listener_ended(void *user)
{
    struct gsi_listener *l = user;
    put_service(l->service);
    free(l);
}

static int start_listening(struct softnic_cm_service *s)
{
    int rc = 0;
    for (unsigned i = 0; i < GSI_PORTS && !rc && !s->listening; i++)
        if (s->ports >> i & 1)
            rc = listen_port(s, i);
    s->listening |= !rc;
    return rc;
}

int softnic_cm_listen(struct softnic_cm_service *service, void *user, struct sn_cm_listener **out)
{
    struct gsi_listener *l = calloc(1, sizeof(*l));
    if (!l)
        return -ENOMEM;
    *l = (struct gsi_listener){service, user};
    enter();
    int rc = gsi.cm ? start_listening(service) : -EINVAL;
    if (!rc)
        rc = sn_cm_listen(gsi.cm, service->service_id, l, listener_ended, out);
    if (!rc)
        service->users++;
    else
        free(l);
    return leave(rc);
}

void softnic_cm_unlisten(struct sn_cm_listener *listener)
{
    enter();
    sn_cm_unlisten(gsi.cm, listener);
    leave(0);
}

/* ---- connections --------------------------------------------------------------------------------------------------------- */

int softnic_cm_request(const struct sn_cm_address *to, uint64_t service_id, const struct sn_cm_params *params, void *user,
                       struct sn_cm_conn **out)
{
    enter();
    return leave(sn_cm_request(gsi.cm, to, service_id, params, user, out));
}

int softnic_cm_reply(struct sn_cm_conn *conn, const struct sn_cm_params *params)
{
    enter();
    return leave(sn_cm_reply(gsi.cm, conn, params));
}

int softnic_cm_ready_to_use(struct sn_cm_conn *conn, const void *private_data, uint8_t length)
{
    enter();
    return leave(sn_cm_ready_to_use(gsi.cm, conn, private_data, length));
}

int softnic_cm_established(struct sn_cm_conn *conn)
{
    enter();
    return leave(sn_cm_established(gsi.cm, conn));
}

int softnic_cm_reject(struct sn_cm_conn *conn, uint16_t reason, const void *private_data, uint8_t length)
{
    enter();
    return leave(sn_cm_reject(gsi.cm, conn, reason, private_data, length));
}

int softnic_cm_disconnect(struct sn_cm_conn *conn)
{
    enter();
    return leave(sn_cm_disconnect(gsi.cm, conn));
}

int softnic_cm_sidr_request(const struct sn_cm_address *to, uint64_t service_id, const struct sn_cm_params *params,
                            void *user, struct sn_cm_conn **out)
{
    enter();
    return leave(sn_cm_sidr_request(gsi.cm, to, service_id, params, user, out));
}

int softnic_cm_sidr_reply(struct sn_cm_conn *conn, uint8_t status, const struct sn_cm_params *params)
{
    enter();
    return leave(sn_cm_sidr_reply(gsi.cm, conn, status, params));
}

void softnic_cm_destroy(struct sn_cm_conn *conn)
{
    enter();
    sn_cm_destroy(gsi.cm, conn);
    leave(0);
}

void softnic_cm_end(void)
{
    enter();
    if (gsi.cm)
        sn_cm_destroy_users(gsi.cm);
    leave(0);
    gsi_drain();
}
