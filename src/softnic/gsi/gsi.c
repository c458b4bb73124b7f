/* SPDX-License-Identifier: Apache-2.0 */
/* Devices that come and go, MADs in from QP 1 and out to it. */
#include "softnic/gsi/gsi.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "softnic/gsi/local.h"
#include "softnic/verbs/log.h"
#include "softnic/wire/descriptors.h"

enum { UNSENT_TRIES = 300 /* of 1 ms: a neighbour may have to be found first */ };

struct gsi gsi = {.lock = PTHREAD_MUTEX_INITIALIZER, .rx_lock = PTHREAD_MUTEX_INITIALIZER, .epoll = -1, .poke = -1};

/* ---- in ------------------------------------------------------------------------------------------------------------ */

/* The NIC's hook: port lock held. What finds no room is lost, as a datagram may be. */
static void receive(void *arg, struct sn_nic *nic, const struct sn_gsi_mad *mad)
{
    unsigned port = (unsigned)((struct gsi_port *)arg - gsi.port);
    (void)nic;
    if (gsi_thread_start())
        return;
    pthread_mutex_lock(&gsi.rx_lock);
    if (!gsi.rx)
        gsi.rx = calloc(GSI_RX, sizeof(*gsi.rx));
    if (gsi.rx && gsi.rx_tail - gsi.rx_head < GSI_RX) {
        gsi.rx[gsi.rx_tail % GSI_RX] = (struct gsi_rx){.port = port, .mad = *mad};
        gsi.rx_tail++;
    }
    pthread_mutex_unlock(&gsi.rx_lock);
    gsi_poke();
}

void gsi_poke(void)
{
    uint64_t one = 1;
    if (gsi.poke >= 0 && write(gsi.poke, &one, sizeof(one)) < 0)
        return; /* it counts already: the thread is awake */
}

/* ---- out ----------------------------------------------------------------------------------------------------------- */

static int try_send(unsigned index, const struct sn_gsi_mad *mad)
{
    struct gsi_port *p = &gsi.port[index];
    if (!p->nic)
        return 0;
    sn_port_lock(p->port);
    int rc = sn_gsi_send(p->nic, mad);
    sn_port_unlock(p->port);
    (void)sn_port_run(p->port); /* a wire that gathers sends now; somebody else who drives will do it */
    return rc;
}

void gsi_send(unsigned index, const struct sn_cm_address *to, const struct sn_mad *mad)
{
    struct sn_gsi_mad m = {.remote_qpn = SN_GSI_QPN};
    memcpy(m.local, to->local, 16);
    memcpy(m.remote, to->remote, 16);
    memcpy(m.bytes, mad, sizeof(m.bytes));
    if (index >= GSI_PORTS || try_send(index, &m) != -EAGAIN || gsi.unsent_count == GSI_UNSENT)
        return;
    gsi.unsent[gsi.unsent_count++] = (struct gsi_unsent){.port = index, .mad = m};
    gsi_poke();
}

void gsi_send_again(void)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < gsi.unsent_count; i++) {
        struct gsi_unsent *u = &gsi.unsent[i];
        if (try_send(u->port, &u->mad) == -EAGAIN && ++u->tries < UNSENT_TRIES)
            gsi.unsent[kept++] = *u;
    }
    gsi.unsent_count = kept;
}

/* ---- devices ------------------------------------------------------------------------------------------------------- */

void sv_gsi_attach(struct sv_device *d)
{
    struct gsi_port *p = &gsi.port[d->index];
    pthread_mutex_lock(&gsi.lock);
    *p = (struct gsi_port){
        .nic = d->nic, .port = sn_nic_port(d->nic), .slot = d->slot, .gid_count = d->identity.gid_count, .fd = {-1, -1, -1, -1}};
    memcpy(p->gid, d->identity.gid, sizeof(p->gid));
    p->user = (struct sn_gsi_user){.receive = receive, .arg = p};
    sn_port_lock(p->port);
    int rc = sn_nic_set_gsi(p->nic, &p->user);
    sn_port_unlock(p->port);
    if (rc)
        sv_log(SV_LOG_WARN, "%s: no QP 1: %s", d->ibv.name, strerror(-rc));
    gsi.attached++;
    if (gsi.cm)
        gsi_listen_all(d->index);
    pthread_mutex_unlock(&gsi.lock);
}

static void close_port(unsigned index)
{
    struct gsi_port *p = &gsi.port[index];
    for (unsigned i = 0; i < p->gid_count; i++) {
        sn_fd_close(p->fd[i]);
        p->fd[i] = -1;
    }
    p->listens = false;
    gsi_close_peers(index);
    for (struct softnic_cm_service *s = gsi.services; s; s = s->next)
        if (s->ports >> index & 1) {
            sn_fd_close(s->fd[index]);
            s->fd[index] = -1;
            s->ports &= ~(1ull << index);
        }
}

void sv_gsi_detach(struct sv_device *d)
{
    struct gsi_port *p = &gsi.port[d->index];
    if (!p->nic)
        return;
    sn_port_lock(p->port); /* from here on nothing arrives */
    (void)sn_nic_set_gsi(p->nic, NULL);
    sn_port_unlock(p->port);
    pthread_mutex_lock(&gsi.lock);
    close_port(d->index);
    p->nic = NULL;
    bool last = --gsi.attached == 0;
    pthread_mutex_unlock(&gsi.lock);
    if (last)
        gsi_thread_stop();
}

/* Locks may be held by threads that the child does not have; memory is the parent's to free, and only known to be there. */
void sv_gsi_after_fork_child(void)
{
    static struct {
        struct sn_cm *cm;
        struct softnic_cm_service *services;
        struct gsi_peer *peers;
        struct gsi_rx *rx;
    } parents __attribute__((used));
    parents.cm = gsi.cm;
    parents.services = gsi.services;
    parents.peers = gsi.peers;
    parents.rx = gsi.rx;
    memset(&gsi, 0, sizeof(gsi));
    pthread_mutex_init(&gsi.lock, NULL);
    pthread_mutex_init(&gsi.rx_lock, NULL);
    gsi.epoll = gsi.poke = -1;
}

int gsi_use(void)
{
    int rc = gsi_thread_start();
    for (unsigned i = 0; i < GSI_PORTS && !rc; i++)
        if (gsi.port[i].nic)
            gsi_listen_all(i);
    return rc;
}
