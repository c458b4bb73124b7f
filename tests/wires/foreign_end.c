/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One queue pair, driven line by line over standard input: the end of an exchange whose other end somebody else makes, a
 * program of another RoCEv2 implementation. Written against libibverbs alone, so that it runs on softnic (`softnic run`) and
 * on any other RDMA device. Each command is answered by one line, "ok ..." or "error ERRNO WHAT". Numbers in any C base.
 *
 *   open SERVICE GID-INDEX PSN RD-ATOMIC        rc, uc or ud -> ok QPN ADDRESS RKEY GID MTU
 *   connect QPN PSN GID MTU TIMEOUT RETRY RNR-RETRY MIN-RNR-TIMER      MTU in bytes; ud: an address handle, the rest is ignored
 *   recv OFFSET LENGTH
 *   post OPCODE OFFSET LENGTH ADDRESS RKEY IMMEDIATE COMPARE SWAP FLAGS    f: fence; n: unsignalled; s: solicited; i: inline
 *   poll MILLISECONDS                           -> ok none, or ok STATUS OPCODE BYTES FLAGS IMMEDIATE SOURCE-QPN WR-ID
 *   put OFFSET HEX, get OFFSET LENGTH           the memory, which is 1 MiB
 *   modify STATE, state, quit
 */
#include <errno.h>
#include <infiniband/verbs.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BYTES = 1 << 20, LINE = 2 * BYTES + 64, DEPTH = 128 };

static struct {
    struct ibv_context *ctx;
    struct ibv_pd *pd;
    struct ibv_cq *cq;
    struct ibv_mr *mr;
    struct ibv_qp *qp;
    struct ibv_ah *ah;
    uint8_t *memory;
    uint32_t psn, peer_qpn;
    uint8_t gid_index, rd_atomic;
    uint64_t wr_id;
} end;

__attribute__((format(printf, 1, 2))) static void say(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vprintf(format, list);
    va_end(list);
    putchar('\n');
    fflush(stdout);
}

static bool fail(const char *what, int code)
{
    say("error %d %s", code ? code : EIO, what);
    return false;
}

static enum ibv_qp_type service_of(const char *name)
{
    return !strcmp(name, "uc") ? IBV_QPT_UC : !strcmp(name, "ud") ? IBV_QPT_UD : IBV_QPT_RC;
}

static bool open_end(const char *service, unsigned gid_index, uint32_t psn, unsigned rd_atomic)
{
    int count = 0;
    struct ibv_device **list = ibv_get_device_list(&count);
    if (!list || !count)
        return fail("no device", errno);
    end.ctx = ibv_open_device(list[0]);
    ibv_free_device_list(list);
    union ibv_gid gid;
    struct ibv_port_attr port;
    end.gid_index = (uint8_t)gid_index;
    end.psn = psn;
    end.rd_atomic = (uint8_t)rd_atomic;
    if (!end.ctx || ibv_query_gid(end.ctx, 1, (int)gid_index, &gid) || ibv_query_port(end.ctx, 1, &port))
        return fail("open", errno);
    const int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
    end.memory = aligned_alloc(4096, BYTES);
    if (!end.memory)
        return fail("memory", ENOMEM);
    memset(end.memory, 0, BYTES);
    if (!(end.pd = ibv_alloc_pd(end.ctx)) || !(end.mr = ibv_reg_mr(end.pd, end.memory, BYTES, access)) ||
        !(end.cq = ibv_create_cq(end.ctx, 2 * DEPTH, NULL, NULL, 0)))
        return fail("resources", errno);
    struct ibv_qp_init_attr init = {
        .send_cq = end.cq, .recv_cq = end.cq, .qp_type = service_of(service),
        .cap = {.max_send_wr = DEPTH, .max_recv_wr = DEPTH, .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = 64}};
    end.qp = ibv_create_qp(end.pd, &init);
    if (!end.qp)
        return fail("queue pair", errno);
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = 0x11111111,
                               .qp_access_flags = (unsigned)access};
    int code = ibv_modify_qp(end.qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
                             (init.qp_type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS));
    if (code)
        return fail("INIT", code);
    char text[33];
    for (int i = 0; i < 16; i++)
        snprintf(text + 2 * i, 3, "%02x", gid.raw[i]);
    say("ok %u %" PRIu64 " %u %s %u", end.qp->qp_num, (uint64_t)(uintptr_t)end.memory, end.mr->rkey, text, 128u << port.active_mtu);
    return true;
}

static void connect_end(uint32_t qpn, uint32_t psn, const char *gid, unsigned mtu, const unsigned timer[4])
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTR, .dest_qp_num = qpn, .rq_psn = psn, .max_dest_rd_atomic = end.rd_atomic,
                               .min_rnr_timer = (uint8_t)timer[3]};
    attr.ah_attr = (struct ibv_ah_attr){.is_global = 1, .port_num = 1, .grh = {.sgid_index = end.gid_index, .hop_limit = 64}};
    for (int i = 0; i < 16; i++) {
        unsigned v = 0;
        sscanf(gid + 2 * i, "%2x", &v);
        attr.ah_attr.grh.dgid.raw[i] = (uint8_t)v;
    }
    while (attr.path_mtu < IBV_MTU_4096 && mtu > 128u << attr.path_mtu)
        attr.path_mtu++;
    const enum ibv_qp_type type = end.qp->qp_type;
    int mask = IBV_QP_STATE;
    if (type != IBV_QPT_UD)
        mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
    if (type == IBV_QPT_RC)
        mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
    int code = ibv_modify_qp(end.qp, &attr, mask);
    if (code) {
        fail("RTR", code);
        return;
    }
    end.peer_qpn = qpn;
    if (type == IBV_QPT_UD) {
        end.ah = ibv_create_ah(end.pd, &attr.ah_attr);
        if (!end.ah) {
            fail("address handle", errno);
            return;
        }
    }
    attr.qp_state = IBV_QPS_RTS;
    attr.sq_psn = end.psn;
    attr.timeout = (uint8_t)timer[0];
    attr.retry_cnt = (uint8_t)timer[1];
    attr.rnr_retry = (uint8_t)timer[2];
    attr.max_rd_atomic = end.rd_atomic;
    mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
    if (type == IBV_QPT_RC)
        mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
    code = ibv_modify_qp(end.qp, &attr, mask);
    if (code)
        fail("RTS", code);
    else
        say("ok");
}

static const struct {
    const char *name;
    enum ibv_wr_opcode opcode;
} opcodes[] = {{"send", IBV_WR_SEND},           {"send-imm", IBV_WR_SEND_WITH_IMM}, {"send-inv", IBV_WR_SEND_WITH_INV},
               {"write", IBV_WR_RDMA_WRITE},    {"write-imm", IBV_WR_RDMA_WRITE_WITH_IMM},
               {"read", IBV_WR_RDMA_READ},      {"cmp-swap", IBV_WR_ATOMIC_CMP_AND_SWP},
               {"fetch-add", IBV_WR_ATOMIC_FETCH_AND_ADD}};

static void post(const char *name, uint64_t offset, uint64_t length, const uint64_t remote[5], const char *flags)
{
    struct ibv_sge sge = {.addr = (uint64_t)(uintptr_t)end.memory + offset, .length = (uint32_t)length, .lkey = end.mr->lkey};
    struct ibv_send_wr wr = {.wr_id = ++end.wr_id, .sg_list = &sge, .num_sge = length ? 1 : 0}, *bad;
    size_t i = 0;
    while (i < sizeof(opcodes) / sizeof(opcodes[0]) && strcmp(opcodes[i].name, name) != 0)
        i++;
    if (i == sizeof(opcodes) / sizeof(opcodes[0]) || offset + length > BYTES) {
        fail("opcode or range", EINVAL);
        return;
    }
    wr.opcode = opcodes[i].opcode;
    wr.send_flags = (strchr(flags, 'f') ? IBV_SEND_FENCE : 0) | (strchr(flags, 'n') ? 0 : IBV_SEND_SIGNALED) |
                    (strchr(flags, 's') ? IBV_SEND_SOLICITED : 0) | (strchr(flags, 'i') ? IBV_SEND_INLINE : 0);
    wr.imm_data = htobe32((uint32_t)remote[2]); /* in one place with invalidate_rkey */
    if (wr.opcode == IBV_WR_SEND_WITH_INV)
        wr.invalidate_rkey = (uint32_t)remote[2];
    if (wr.opcode == IBV_WR_ATOMIC_CMP_AND_SWP || wr.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
        wr.wr.atomic.remote_addr = remote[0];
        wr.wr.atomic.rkey = (uint32_t)remote[1];
        wr.wr.atomic.compare_add = remote[3];
        wr.wr.atomic.swap = remote[4];
    } else if (end.qp->qp_type == IBV_QPT_UD) {
        wr.wr.ud.ah = end.ah;
        wr.wr.ud.remote_qpn = end.peer_qpn;
        wr.wr.ud.remote_qkey = 0x11111111;
    } else {
        wr.wr.rdma.remote_addr = remote[0];
        wr.wr.rdma.rkey = (uint32_t)remote[1];
    }
    int code = ibv_post_send(end.qp, &wr, &bad);
    if (code)
        fail("post", code);
    else
        say("ok %" PRIu64, wr.wr_id);
}

static void receive(uint64_t offset, uint64_t length)
{
    struct ibv_sge sge = {.addr = (uint64_t)(uintptr_t)end.memory + offset, .length = (uint32_t)length, .lkey = end.mr->lkey};
    struct ibv_recv_wr wr = {.wr_id = ++end.wr_id, .sg_list = &sge, .num_sge = 1}, *bad;
    int code = offset + length > BYTES ? EINVAL : ibv_post_recv(end.qp, &wr, &bad);
    if (code)
        fail("receive", code);
    else
        say("ok %" PRIu64, wr.wr_id);
}

static void poll_end(unsigned long ms)
{
    struct timespec from, now;
    struct ibv_wc wc;
    clock_gettime(CLOCK_MONOTONIC, &from);
    for (;;) {
        int n = ibv_poll_cq(end.cq, 1, &wc);
        if (n < 0) {
            fail("poll", EIO);
            return;
        }
        if (n) {
            uint32_t imm = wc.wc_flags & IBV_WC_WITH_INV ? wc.invalidated_rkey : be32toh(wc.imm_data);
            say("ok %d %d %u %u %u %u %" PRIu64, (int)wc.status, (int)wc.opcode, wc.byte_len, wc.wc_flags, imm, wc.src_qp, wc.wr_id);
            return;
        }
        clock_gettime(CLOCK_MONOTONIC, &now);
        if ((unsigned long)(now.tv_sec - from.tv_sec) * 1000 + (unsigned long)((now.tv_nsec - from.tv_nsec) / 1000000) >= ms) {
            say("ok none");
            return;
        }
        nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
    }
}

static void put(uint64_t offset, const char *hex)
{
    size_t n = strlen(hex) / 2;
    if (offset + n > BYTES) {
        fail("range", EINVAL);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        unsigned v = 0;
        sscanf(hex + 2 * i, "%2x", &v);
        end.memory[offset + i] = (uint8_t)v;
    }
    say("ok");
}

static void get(uint64_t offset, uint64_t length)
{
    if (offset + length > BYTES) {
        fail("range", EINVAL);
        return;
    }
    fputs("ok ", stdout);
    for (uint64_t i = 0; i < length; i++)
        printf("%02x", end.memory[offset + i]);
    say("%s", "");
}

static void modify(unsigned state)
{
    struct ibv_qp_attr attr = {.qp_state = (enum ibv_qp_state)state};
    int code = ibv_modify_qp(end.qp, &attr, IBV_QP_STATE);
    if (code)
        fail("modify", code);
    else
        say("ok");
}

static void state_of(void)
{
    struct ibv_qp_attr attr;
    struct ibv_qp_init_attr init;
    if (ibv_query_qp(end.qp, &attr, IBV_QP_STATE, &init))
        fail("query", errno);
    else
        say("ok %d", (int)attr.qp_state);
}

int main(void)
{
    char *line = malloc(LINE);
    if (!line)
        return 1;
    while (fgets(line, LINE, stdin)) {
        char *word[12] = {0};
        int words = 0;
        for (char *save, *w = strtok_r(line, " \r\n", &save); w && words < 12; w = strtok_r(NULL, " \r\n", &save))
            word[words++] = w;
        uint64_t n[12] = {0};
        for (int i = 1; i < words; i++)
            n[i] = strtoull(word[i], NULL, 0);
        if (!words)
            continue;
        const char *command = word[0];
        if (!strcmp(command, "quit"))
            break;
        if (!strcmp(command, "open") && words == 5 && !end.qp)
            open_end(word[1], (unsigned)n[2], (uint32_t)n[3], (unsigned)n[4]);
        else if (!end.qp)
            fail("command before open", EINVAL);
        else if (!strcmp(command, "connect") && words == 9)
            connect_end((uint32_t)n[1], (uint32_t)n[2], word[3], (unsigned)n[4],
                        (unsigned[]){(unsigned)n[5], (unsigned)n[6], (unsigned)n[7], (unsigned)n[8]});
        else if (!strcmp(command, "recv") && words == 3)
            receive(n[1], n[2]);
        else if (!strcmp(command, "post") && words == 10)
            post(word[1], n[2], n[3], n + 4, word[9]);
        else if (!strcmp(command, "poll") && words == 2)
            poll_end(n[1]);
        else if (!strcmp(command, "put") && words == 3)
            put(n[1], word[2]);
        else if (!strcmp(command, "get") && words == 3)
            get(n[1], n[2]);
        else if (!strcmp(command, "modify") && words == 2)
            modify((unsigned)n[1]);
        else if (!strcmp(command, "state"))
            state_of();
        else
            fail("command", EINVAL);
    }
    if (end.qp)
        ibv_destroy_qp(end.qp);
    if (end.ah)
        ibv_destroy_ah(end.ah);
    if (end.cq)
        ibv_destroy_cq(end.cq);
    if (end.mr)
        ibv_dereg_mr(end.mr);
    if (end.pd)
        ibv_dealloc_pd(end.pd);
    if (end.ctx)
        ibv_close_device(end.ctx);
    free(end.memory);
    free(line);
    return 0;
}
