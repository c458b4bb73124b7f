/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One of two processes that talk without end, until one of them is killed. Descriptor 3 leads to the other one (cards,
 * and the end of a clean run), descriptor 4 to the judge: one byte when the first operation has completed.
 *     victim SEED OPERATIONS poll|events     OPERATIONS 0: without end
 * Exit status: 0 a clean run; 10 the connection broke, with an error completion and everything behind it flushed; 11 the
 * peer was gone before the connection stood; 12 no completion came; 13 a wrong byte or status; 14 set-up failed.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "rdma_pair.h"

enum { CLEAN, BROKEN = 10, GONE, HANGS, WRONG, NO_SET_UP };
enum { PEER = 3, JUDGE = 4 };
static const double PATIENCE = 60; /* seconds; a hang guard */

static unsigned char own_mark, peer_mark;
static unsigned long sent;

/* After an error the queue pair takes nothing any more: what is posted is flushed. */
static int judge_broken(struct rp *rp, const struct ibv_wc *first)
{
    struct ibv_wc wc = *first;
    fprintf(stderr, "victim %d: operation %lu ends with %s\n", getpid(), sent, ibv_wc_status_str(first->status));
    if (first->status != IBV_WC_RETRY_EXC_ERR && first->status != IBV_WC_WR_FLUSH_ERR && first->status != IBV_WC_REM_OP_ERR) {
        fprintf(stderr, "victim: unexpected status %s\n", ibv_wc_status_str(first->status));
        return WRONG;
    }
    if (rp_post(rp, IBV_WR_RDMA_WRITE, 0xfff, 0, 8))
        return BROKEN; /* refused at once is as good */
    do {
        if (rp_complete(rp, &wc, PATIENCE))
            return HANGS;
        if (wc.status == IBV_WC_SUCCESS && wc.wr_id != UINT64_MAX)
            return WRONG;
    } while (wc.wr_id != 0xfff);
    return wc.status == IBV_WC_WR_FLUSH_ERR ? BROKEN : WRONG;
}

static int one_operation(struct rp *rp, unsigned *random)
{
    static const enum ibv_wr_opcode opcodes[] = {IBV_WR_RDMA_WRITE, IBV_WR_SEND, IBV_WR_RDMA_READ, IBV_WR_ATOMIC_FETCH_AND_ADD};
    enum ibv_wr_opcode opcode = opcodes[rand_r(random) % 4];
    bool atomic = opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
    /* Receives land at 0 and atomics at the end; READs look at a page that nobody writes. */
    uint32_t bytes = atomic ? 8 : opcode == IBV_WR_RDMA_READ ? 4096 : 1 + (uint32_t)rand_r(random) % 8192;
    uint32_t offset = atomic ? RP_HALF - 8 : opcode == IBV_WR_RDMA_READ ? 16384 : opcode == IBV_WR_SEND ? 0 : 8192;
    unsigned char *out = rp->memory + RP_HALF + offset;
    memset(out, opcode == IBV_WR_RDMA_READ ? 0 : own_mark, bytes);
    if (rp_post(rp, opcode, ++sent, offset, bytes))
        return BROKEN;
    for (;;) {
        struct ibv_wc wc;
        int rc = rp_complete(rp, &wc, PATIENCE);
        if (rc) {
            fprintf(stderr, "victim: operation %lu: %s\n", sent, strerror(rc));
            return HANGS;
        }
        if (wc.status != IBV_WC_SUCCESS)
            return judge_broken(rp, &wc);
        if (wc.wr_id == UINT64_MAX) { /* a receive */
            if (rp->memory[0] != peer_mark || rp_receive(rp))
                return WRONG;
            continue;
        }
        if (wc.wr_id != sent)
            return WRONG;
        if (opcode == IBV_WR_RDMA_READ)
            for (uint32_t i = 0; i < bytes; i++)
                if (out[i] != peer_mark)
                    return WRONG;
        return CLEAN;
    }
}

/* Both say that they are through, and receive until the other has said so. */
static int part(struct rp *rp)
{
    char byte = 1;
    if (write(PEER, &byte, 1) != 1)
        return GONE;
    for (;;) {
        struct ibv_wc wc;
        if (!rp_complete(rp, &wc, 0.001)) {
            if (wc.status != IBV_WC_SUCCESS || wc.wr_id != UINT64_MAX || rp_receive(rp))
                return WRONG;
            continue;
        }
        if (recv(PEER, &byte, 1, MSG_DONTWAIT) == 1)
            return CLEAN;
    }
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return NO_SET_UP;
    unsigned random = (unsigned)strtoul(argv[1], NULL, 0);
    unsigned long operations = strtoul(argv[2], NULL, 0);
    /* Who is to die is noticed in half a second to one; a clean run waits out whatever the machine does. */
    struct rp rp = {.timeout = operations ? 18 : 14, .retries = 7};
    signal(SIGPIPE, SIG_IGN);
    if (rp_open(&rp, !strcmp(argv[3], "events")))
        return NO_SET_UP;
    own_mark = (unsigned char)(1 + rp.qp->qp_num % 251);
    memset(rp.memory, own_mark, RP_HALF); /* what the peer's READs find */
    char ready = 1;
    int rc = rp_connect_by(&rp, PEER);
    if (rc)
        return rc == EPIPE ? GONE : NO_SET_UP;
    peer_mark = (unsigned char)(1 + rp.peer_qpn % 251);
    for (unsigned long i = 0; !rc && (!operations || i < operations); i++) {
        rc = one_operation(&rp, &random);
        if (!rc && i == 0 && write(JUDGE, &ready, 1) != 1)
            rc = NO_SET_UP;
    }
    if (!rc)
        rc = part(&rp);
    rp_close(&rp);
    return rc;
}
