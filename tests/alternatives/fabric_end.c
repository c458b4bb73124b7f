/* SPDX-License-Identifier: Apache-2.0 */
#include "fabric_end.h"

#include <string.h>
#include <sys/mman.h>

#define TRY(call)                                                                                                      \
    do {                                                                                                               \
        int rc_ = (int)(call);                                                                                         \
        if (rc_ < 0) {                                                                                                 \
            e->what = #call;                                                                                           \
            return rc_;                                                                                                \
        }                                                                                                              \
    } while (0)

static int find(struct fabric_end *e, const char *provider, bool delivery)
{
    struct fi_info *hints = fi_allocinfo();

    if (hints == NULL)
        return -FI_ENOMEM;
    hints->ep_attr->type = FI_EP_RDM;
    hints->caps = FI_MSG | FI_RMA;
    hints->mode = FI_CONTEXT | FI_CONTEXT2;
    hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
    hints->domain_attr->threading = FI_THREAD_DOMAIN; /* one thread an end: no locks are asked for */
    hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
    hints->tx_attr->op_flags = delivery ? FI_DELIVERY_COMPLETE : 0;
    hints->fabric_attr->prov_name = strdup(provider);
    int rc = fi_getinfo(FI_VERSION(1, 14), NULL, NULL, 0, hints, &e->info);
    fi_freeinfo(hints);
    return rc;
}

static int take_memory(struct fabric_end *e, size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

    if (p == MAP_FAILED)
        return -FI_ENOMEM;
    e->buffer = p;
    e->bytes = bytes;
    return 0;
}

int fabric_open(struct fabric_end *e, const char *provider, size_t bytes, bool delivery)
{
    struct fi_av_attr av = {.type = FI_AV_UNSPEC, .count = 2};
    struct fi_cq_attr cq = {.format = FI_CQ_FORMAT_CONTEXT, .wait_obj = FI_WAIT_NONE, .size = 1024};

    TRY(find(e, provider, delivery));
    TRY(fi_fabric(e->info->fabric_attr, &e->fabric, NULL));
    TRY(fi_domain(e->fabric, e->info, &e->domain, NULL));
    TRY(fi_av_open(e->domain, &av, &e->av, NULL));
    TRY(fi_cq_open(e->domain, &cq, &e->cq, NULL));
    TRY(fi_endpoint(e->domain, e->info, &e->ep, NULL));
    TRY(fi_ep_bind(e->ep, &e->av->fid, 0));
    TRY(fi_ep_bind(e->ep, &e->cq->fid, FI_TRANSMIT | FI_RECV));
    TRY(fi_enable(e->ep));
    TRY(take_memory(e, bytes));
    TRY(fi_mr_reg(e->domain, e->buffer, bytes, FI_WRITE | FI_REMOTE_WRITE, 0, 1, 0, &e->mr, NULL));
    return 0;
}

int fabric_show(struct fabric_end *e, struct fabric_card *card)
{
    bool addresses = e->info->domain_attr->mr_mode & FI_MR_VIRT_ADDR;

    card->name_bytes = sizeof(card->name);
    TRY(fi_getname(&e->ep->fid, card->name, &card->name_bytes));
    card->key = fi_mr_key(e->mr);
    card->base = addresses ? (uintptr_t)e->buffer : 0;
    return 0;
}

int fabric_meet(struct fabric_end *e, const struct fabric_card *peer, fi_addr_t *address)
{
    if (fi_av_insert(e->av, peer->name, 1, address, 0, NULL) == 1)
        return 0;
    e->what = "fi_av_insert";
    return -FI_EADDRNOTAVAIL;
}

static void shut(struct fid *fid)
{
    if (fid != NULL)
        fi_close(fid);
}

void fabric_close(struct fabric_end *e)
{
    shut(e->mr ? &e->mr->fid : NULL);
    shut(e->ep ? &e->ep->fid : NULL);
    shut(e->cq ? &e->cq->fid : NULL);
    shut(e->av ? &e->av->fid : NULL);
    shut(e->domain ? &e->domain->fid : NULL);
    shut(e->fabric ? &e->fabric->fid : NULL);
    if (e->info != NULL)
        fi_freeinfo(e->info);
    if (e->buffer != NULL)
        munmap(e->buffer, e->bytes);
}
