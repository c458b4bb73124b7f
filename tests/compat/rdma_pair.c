/* SPDX-License-Identifier: Apache-2.0 */
#include "rdma_pair.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

double rp_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int failed(struct rp *rp, const char *what)
{
    int code = errno ? errno : EIO;
    fprintf(stderr, "rdma_pair: %s: %s\n", what, strerror(code));
    rp_close(rp);
    return code;
}

static int make_channel(struct rp *rp)
{
    rp->channel = ibv_create_comp_channel(rp->ctx);
    if (!rp->channel)
        return -1;
    return fcntl(rp->channel->fd, F_SETFL, fcntl(rp->channel->fd, F_GETFL) | O_NONBLOCK);
}

int rp_open(struct rp *rp, bool events)
{
    uint8_t timeout = rp->timeout, retries = rp->retries;
    *rp = (struct rp){.timeout = timeout ? timeout : 18, .retries = retries ? retries : 7};
    int count = 0;
    errno = 0;
    struct ibv_device **list = ibv_get_device_list(&count);
    if (!list || !count)
        return failed(rp, "no device");
    rp->ctx = ibv_open_device(list[0]);
    ibv_free_device_list(list);
    if (!rp->ctx)
        return failed(rp, "ibv_open_device");
    if (events && make_channel(rp))
        return failed(rp, "completion channel");
    int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
    rp->memory = aligned_alloc(4096, RP_BYTES);
    if (rp->memory)
        memset(rp->memory, 0, RP_BYTES);
    if (!rp->memory || !(rp->pd = ibv_alloc_pd(rp->ctx)) || !(rp->mr = ibv_reg_mr(rp->pd, rp->memory, RP_BYTES, access)))
        return failed(rp, "memory region");
    rp->cq = ibv_create_cq(rp->ctx, 4 * RP_RECEIVES, NULL, rp->channel, 0);
    if (!rp->cq || (rp->channel && ibv_req_notify_cq(rp->cq, 0)))
        return failed(rp, "completion queue");
    struct ibv_qp_init_attr init = {.send_cq = rp->cq, .recv_cq = rp->cq, .qp_type = IBV_QPT_RC, .sq_sig_all = 1,
                                    .cap = {.max_send_wr = RP_RECEIVES, .max_recv_wr = RP_RECEIVES, .max_send_sge = 1,
                                            .max_recv_sge = 1}};
    rp->qp = ibv_create_qp(rp->pd, &init);
    if (!rp->qp)
        return failed(rp, "queue pair");
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = (unsigned)access};
    errno = ibv_modify_qp(rp->qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
    if (errno)
        return failed(rp, "INIT");
    for (int i = 0; i < RP_RECEIVES; i++)
        if ((errno = rp_receive(rp)))
            return failed(rp, "ibv_post_recv");
    return 0;
}

int rp_card_of(const struct rp *rp, struct rp_card *card)
{
    memset(card, 0, sizeof(*card));
    card->qpn = rp->qp->qp_num;
    card->key = rp->mr->rkey;
    card->address = (uintptr_t)rp->memory;
    return ibv_query_gid(rp->ctx, 1, 0, &card->gid) ? EIO : 0;
}

int rp_connect(struct rp *rp, const struct rp_card *peer)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_4096, .dest_qp_num = peer->qpn,
                               .max_dest_rd_atomic = 8, .min_rnr_timer = 12,
                               .ah_attr = {.is_global = 1, .port_num = 1, .grh = {.dgid = peer->gid, .hop_limit = 64}}};
    int rc = ibv_modify_qp(rp->qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                                              IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
    if (rc)
        return rc;
    attr = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS, .timeout = rp->timeout, .retry_cnt = rp->retries, .rnr_retry = 7,
                                .max_rd_atomic = 8};
    rp->peer_address = peer->address;
    rp->peer_key = peer->key;
    rp->peer_qpn = peer->qpn;
    return ibv_modify_qp(rp->qp, &attr, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                                            IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
}

static int all_bytes(int fd, void *bytes, size_t size, bool out)
{
    for (size_t done = 0; done < size;) {
        ssize_t n = out ? write(fd, (char *)bytes + done, size - done) : read(fd, (char *)bytes + done, size - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return EPIPE;
        done += (size_t)n;
    }
    return 0;
}

int rp_connect_by(struct rp *rp, int fd)
{
    struct rp_card mine, peer;
    char ready = 1;
    int rc = rp_card_of(rp, &mine);
    if (rc || (rc = all_bytes(fd, &mine, sizeof(mine), true)) || (rc = all_bytes(fd, &peer, sizeof(peer), false)) ||
        (rc = rp_connect(rp, &peer)))
        return rc;
    /* Nobody sends before the other can receive. */
    rc = all_bytes(fd, &ready, 1, true);
    return rc ? rc : all_bytes(fd, &ready, 1, false);
}

int rp_join(struct rp *a, struct rp *b)
{
    struct rp_card of_a, of_b;
    int rc = rp_card_of(a, &of_a);
    if (rc || (rc = rp_card_of(b, &of_b)) || (rc = rp_connect(a, &of_b)))
        return rc;
    return rp_connect(b, &of_a);
}

void rp_close(struct rp *rp)
{
    int code = errno;
    if (rp->qp)
        ibv_destroy_qp(rp->qp);
    if (rp->cq)
        ibv_destroy_cq(rp->cq);
    if (rp->channel)
        ibv_destroy_comp_channel(rp->channel);
    if (rp->mr)
        ibv_dereg_mr(rp->mr);
    if (rp->pd)
        ibv_dealloc_pd(rp->pd);
    if (rp->ctx)
        ibv_close_device(rp->ctx);
    free(rp->memory);
    memset(rp, 0, sizeof(*rp));
    errno = code;
}

int rp_receive(struct rp *rp)
{
    struct ibv_sge sge = {.addr = (uintptr_t)rp->memory, .length = RP_HALF, .lkey = rp->mr->lkey};
    struct ibv_recv_wr wr = {.wr_id = UINT64_MAX, .sg_list = &sge, .num_sge = 1}, *bad;
    return ibv_post_recv(rp->qp, &wr, &bad);
}

int rp_post(struct rp *rp, enum ibv_wr_opcode opcode, uint64_t wr_id, uint32_t offset, uint32_t bytes)
{
    struct ibv_sge sge = {.addr = (uintptr_t)rp->memory + RP_HALF + offset, .length = bytes, .lkey = rp->mr->lkey};
    struct ibv_send_wr wr = {.wr_id = wr_id, .sg_list = &sge, .num_sge = 1, .opcode = opcode, .send_flags = IBV_SEND_SIGNALED},
                       *bad;
    if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
        wr.wr.atomic.remote_addr = rp->peer_address + offset;
        wr.wr.atomic.rkey = rp->peer_key;
        wr.wr.atomic.compare_add = 1;
    } else if (opcode != IBV_WR_SEND) {
        wr.wr.rdma.remote_addr = rp->peer_address + offset;
        wr.wr.rdma.rkey = rp->peer_key;
    }
    return ibv_post_send(rp->qp, &wr, &bad);
}

/* Sleeps on the channel until there may be something; the caller looks again. */
static int sleep_on_channel(struct rp *rp, double until)
{
    struct pollfd wanted = {.fd = rp->channel->fd, .events = POLLIN};
    struct ibv_cq *cq;
    void *context;
    int left = (int)((until - rp_now()) * 1000) + 1;
    if (poll(&wanted, 1, left < 1 ? 1 : left) < 0 && errno != EINTR)
        return errno;
    if (ibv_get_cq_event(rp->channel, &cq, &context))
        return errno == EAGAIN || errno == EINTR ? 0 : errno;
    ibv_ack_cq_events(cq, 1);
    return ibv_req_notify_cq(rp->cq, 0);
}

int rp_complete(struct rp *rp, struct ibv_wc *wc, double seconds)
{
    double until = rp_now() + seconds;
    for (;;) {
        int n = ibv_poll_cq(rp->cq, 1, wc), rc;
        if (n)
            return n > 0 ? 0 : EIO;
        if (rp_now() > until)
            return ETIMEDOUT;
        if (rp->channel && (rc = sleep_on_channel(rp, until)))
            return rc;
    }
}
