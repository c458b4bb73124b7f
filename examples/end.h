/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every example needs around its kernel, in one header to copy from: options, one end of a connection (NIC, GPU,
 * memory, queue), the exchange with the other end, and data that can be checked.
 *
 *     put_bw                 both ends in this process, two threads
 *     put_bw --server        one end: waits for a client on port 18516
 *     put_bw --client HOST   the other end
 *
 * Errors end the program with status 3; data that differs gives status 1, success 0.
 */
#ifndef GDAKI_EXAMPLES_END_H
#define GDAKI_EXAMPLES_END_H

#include <arpa/inet.h>
#include <endian.h>
#include <netdb.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include <cuda_runtime.h>
#include <gdaki/info.h>
#include <gdaki/verbs.h>

#include "doca_gpunetio_host.h"

namespace example
{

[[noreturn]] inline void die(const char *what, const char *why)
{
    fprintf(stderr, "error: %s: %s\n", what, why);
    exit(3);
}

[[noreturn]] inline void die(const char *what, int code) { die(what, strerror(code)); }

inline void check(doca_error_t status, const char *what)
{
    if (status != DOCA_SUCCESS)
        die(what, gdaki_host_last_error()); /* what was attempted, on which object, with which value */
}

inline void check(cudaError_t status, const char *what)
{
    if (status != cudaSuccess)
        die(what, cudaGetErrorString(status));
}

#define EXAMPLE_CHECK(call) example::check((call), #call)

/* ---- options -------------------------------------------------------------------------------------------------------- */

struct options {
    enum { BOTH, SERVER, CLIENT } role = BOTH;
    const char *host = nullptr;
    const char *nic = nullptr; /* the first */
    int gpu = 0;
    int port = 18516;
    size_t size = 4096; /* bytes of a message */
    unsigned iterations = 1024;
    unsigned threads = 32;
    unsigned depth = 1024; /* WQEs of the send queue */
    bool warp = false;     /* post at warp scope */
    bool proxy = false;    /* the CPU rings the doorbell */
};

[[noreturn]] inline void usage(const char *program)
{
    fprintf(stderr,
            "usage: %s [--server | --client HOST] [-d NIC] [-g GPU] [-p PORT] [-s BYTES] [-n ITERATIONS] [-t THREADS]\n"
            "       [--depth WQES] [--warp] [--proxy]\n",
            program);
    exit(2);
}

inline unsigned long number(const char *program, const char *option, const char *text, unsigned long max,
                            unsigned long min = 1)
{
    char *end = nullptr;
    unsigned long value = strtoul(text, &end, 10);

    if (text[0] < '0' || text[0] > '9' || *end || value < min || value > max) {
        fprintf(stderr, "error: %s '%s': expected a number from %lu to %lu\n", option, text, min, max);
        usage(program);
    }
    return value;
}

inline options parse(int argc, char **argv, options o = options())
{
    for (int i = 1; i < argc; i++) {
        const char *a = argv[i];
        const char *value = i + 1 < argc ? argv[i + 1] : nullptr;

        if (!strcmp(a, "--server")) {
            o.role = options::SERVER;
            continue;
        }
        if (!strcmp(a, "--warp") || !strcmp(a, "--proxy")) {
            (a[2] == 'w' ? o.warp : o.proxy) = true;
            continue;
        }
        if (!value)
            usage(argv[0]);
        if (!strcmp(a, "--client")) {
            o.role = options::CLIENT;
            o.host = value;
        } else if (!strcmp(a, "-d")) {
            o.nic = value;
        } else if (!strcmp(a, "-g")) {
            o.gpu = (int)number(argv[0], a, value, 1023, 0);
        } else if (!strcmp(a, "-p")) {
            o.port = (int)number(argv[0], a, value, 65535);
        } else if (!strcmp(a, "-s")) {
            o.size = number(argv[0], a, value, 1ul << 30);
        } else if (!strcmp(a, "-n")) {
            o.iterations = (unsigned)number(argv[0], a, value, 1ul << 30);
        } else if (!strcmp(a, "-t")) {
            o.threads = (unsigned)number(argv[0], a, value, 1024);
        } else if (!strcmp(a, "--depth")) {
            o.depth = (unsigned)number(argv[0], a, value, 32768);
        } else {
            fprintf(stderr, "error: unknown option '%s'\n", a);
            usage(argv[0]);
        }
        i++;
    }
    return o;
}

/* ---- the other end, out of band --------------------------------------------------------------------------------------- */

/* What each end tells the other; all fields big-endian on the wire. */
struct address {
    uint8_t gid[16];
    uint64_t addr;
    uint32_t magic, rkey, qpn, lid, ethernet, mtu;
};

inline void send_all(int fd, const void *data, size_t size)
{
    if (send(fd, data, size, MSG_NOSIGNAL) != (ssize_t)size)
        die("sending to the other end", errno);
}

inline void receive_all(int fd, void *data, size_t size)
{
    ssize_t got = recv(fd, data, size, MSG_WAITALL);

    if (got != (ssize_t)size)
        die("receiving from the other end", got < 0 ? strerror(errno) : "it has closed the connection");
}

/* Both ends come to this point. */
inline void meet(int fd)
{
    char byte = 'm';

    send_all(fd, &byte, 1);
    receive_all(fd, &byte, 1);
    if (byte != 'm')
        die("receiving from the other end", "it is no example of this kind");
}

inline int accept_client(int port)
{
    int one = 1, fd = socket(AF_INET, SOCK_STREAM, 0), peer;
    struct sockaddr_in at = {};

    at.sin_family = AF_INET;
    at.sin_port = htons((uint16_t)port);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK); /* reaching beyond this host is a choice of its own */
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)) || listen(fd, 1))
        die("listening", errno);
    peer = accept(fd, nullptr, nullptr);
    close(fd);
    if (peer < 0)
        die("accepting a client", errno);
    return peer;
}

inline int reach_server(const char *host, int port)
{
    struct addrinfo hints = {}, *list = nullptr;
    char service[16];
    int fd = -1;

    hints.ai_family = AF_INET;
    hints.ai_socktype = SOCK_STREAM;
    snprintf(service, sizeof(service), "%d", port);
    int rc = getaddrinfo(host, service, &hints, &list);
    if (rc)
        die(host, gai_strerror(rc));
    for (int tries = 0; tries < 200 && fd < 0; tries++) { /* it may be starting */
        fd = socket(AF_INET, SOCK_STREAM, 0);
        if (connect(fd, list->ai_addr, list->ai_addrlen)) {
            close(fd);
            fd = -1;
            usleep(50 * 1000);
        }
    }
    freeaddrinfo(list);
    if (fd < 0)
        die("reaching the server", ECONNREFUSED);
    return fd;
}

/* ---- one end ------------------------------------------------------------------------------------------------------------ */

struct end {
    const options &o;
    int channel; /* to the other end */
    bool client;
    struct ibv_context *context = nullptr;
    struct ibv_pd *pd = nullptr;
    struct ibv_mr *mr = nullptr;
    doca_gpu_t *gpu = nullptr;
    doca_dev_t *dev = nullptr;
    struct doca_gpu_verbs_qp_hl *queue = nullptr;
    struct doca_gpu_verbs_qp_group_hl *group = nullptr; /* with a companion queue for counters */
    struct doca_gpu_dev_verbs_qp *qp = nullptr, *companion = nullptr; /* as kernels take them */
    std::vector<struct doca_gpu_verbs_qp *> proxied;
    void *data = nullptr; /* memory that the GPU and the NIC reach; `bytes` long */
    void *cpu = nullptr;  /* the same memory as the CPU sees it */
    size_t bytes;
    int *status = nullptr; /* a kernel's result; host memory that both see */
    cudaStream_t stream = nullptr;
    address local = {}, remote = {};

    end(const options &o, int channel, bool client, size_t bytes, bool counter = false)
        : o(o), channel(channel), client(client), bytes(bytes)
    {
        open_devices();
        make_memory();
        make_queue(counter);
        exchange();
    }
    end(const end &) = delete;
    end &operator=(const end &) = delete;

    struct doca_gpu_dev_verbs_addr here(size_t offset = 0) const
    {
        return {(uint64_t)(uintptr_t)data + offset, htobe32(mr->lkey)};
    }
    struct doca_gpu_dev_verbs_addr there(size_t offset = 0) const { return {remote.addr + offset, htobe32(remote.rkey)}; }

    void open_devices()
    {
        char bus_id[32];
        int count = 0;
        struct ibv_device **list;

        EXAMPLE_CHECK(cudaSetDevice(o.gpu));
        EXAMPLE_CHECK(cudaDeviceGetPCIBusId(bus_id, sizeof(bus_id), o.gpu));
        EXAMPLE_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
        EXAMPLE_CHECK(doca_gpu_create(bus_id, &gpu));
        list = ibv_get_device_list(&count);
        for (int i = 0; i < count && !context; i++) {
            if (!o.nic || !strcmp(o.nic, ibv_get_device_name(list[i])))
                context = ibv_open_device(list[i]);
        }
        if (list)
            ibv_free_device_list(list);
        if (!context) {
            fprintf(stderr, "error: no NIC '%s' among %d\n", o.nic ? o.nic : "(any)", count);
            exit(2);
        }
        pd = ibv_alloc_pd(context);
        if (!pd)
            die("ibv_alloc_pd", errno);
        EXAMPLE_CHECK(doca_verbs_dev_open(pd, &dev));
    }

    void make_memory()
    {
        EXAMPLE_CHECK(doca_gpu_mem_alloc(gpu, bytes, 65536, DOCA_GPU_MEM_TYPE_CPU_GPU, &data, &cpu));
        mr = ibv_reg_mr(pd, data, bytes,
                        IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
        if (!mr)
            die("ibv_reg_mr", errno);
        EXAMPLE_CHECK(cudaHostAlloc((void **)&status, sizeof(*status), cudaHostAllocMapped));
        *status = -1;
    }

    void make_queue(bool counter)
    {
        struct doca_gpu_verbs_qp_init_attr_hl attr;

        memset(&attr, 0, sizeof(attr));
        attr.gpu_dev = gpu;
        attr.net_dev = dev;
        attr.ibpd = pd;
        attr.sq_nwqe = (uint16_t)o.depth;
        attr.nic_handler = o.proxy ? DOCA_GPUNETIO_VERBS_NIC_HANDLER_CPU_PROXY : DOCA_GPUNETIO_VERBS_NIC_HANDLER_AUTO;
        if (counter) {
            EXAMPLE_CHECK(doca_gpu_verbs_create_qp_group_hl(&attr, &group));
            adopt(group->qp_main, &qp);
            adopt(group->qp_companion, &companion);
            EXAMPLE_CHECK(doca_verbs_qp_get_qpn(group->qp_main.qp, &local.qpn));
        } else {
            EXAMPLE_CHECK(doca_gpu_verbs_create_qp_hl(&attr, &queue));
            adopt(*queue, &qp);
            EXAMPLE_CHECK(doca_verbs_qp_get_qpn(queue->qp, &local.qpn));
        }
    }

    void adopt(struct doca_gpu_verbs_qp_hl &q, struct doca_gpu_dev_verbs_qp **device)
    {
        EXAMPLE_CHECK(doca_gpu_verbs_get_qp_dev(q.qp_gverbs, device));
        if (q.qp_gverbs->cpu_proxy)
            proxied.push_back(q.qp_gverbs);
    }

    void exchange()
    {
        struct ibv_port_attr port = {};
        union ibv_gid gid = {};
        address out;

        if (ibv_query_port(context, 1, &port) || ibv_query_gid(context, 1, 0, &gid))
            die("querying port 1", errno);
        memcpy(local.gid, gid.raw, sizeof(local.gid));
        local.ethernet = port.link_layer != IBV_LINK_LAYER_INFINIBAND;
        local.lid = port.lid;
        local.mtu = port.active_mtu;
        local.addr = (uint64_t)(uintptr_t)data;
        local.rkey = mr->rkey;
        out = local;
        out.magic = htobe32(0x67646578);
        out.addr = htobe64(out.addr);
        for (uint32_t *field : {&out.rkey, &out.qpn, &out.lid, &out.ethernet, &out.mtu})
            *field = htobe32(*field);
        send_all(channel, &out, sizeof(out));
        receive_all(channel, &remote, sizeof(remote));
        if (be32toh(remote.magic) != 0x67646578)
            die("receiving from the other end", "it is no example of this kind");
        remote.addr = be64toh(remote.addr);
        for (uint32_t *field : {&remote.rkey, &remote.qpn, &remote.lid, &remote.ethernet, &remote.mtu})
            *field = be32toh(*field);
        if (group) {
            connect(group->qp_main.qp, remote);
            address self = local; /* the companion adds to a counter of this end: it is connected to itself */
            EXAMPLE_CHECK(doca_verbs_qp_get_qpn(group->qp_companion.qp, &self.qpn));
            connect(group->qp_companion.qp, self);
        } else {
            connect(queue->qp, remote);
        }
        meet(channel); /* both are connected */
    }

    void connect(doca_verbs_qp_t *q, const address &to)
    {
        doca_verbs_ah_attr_t *ah = nullptr;
        doca_verbs_qp_attr_t *attr = nullptr;
        struct doca_verbs_gid gid;
        uint32_t mtu = to.mtu < local.mtu ? to.mtu : local.mtu;

        memcpy(gid.raw, to.gid, sizeof(gid.raw));
        EXAMPLE_CHECK(doca_verbs_ah_attr_create(dev, &ah));
        EXAMPLE_CHECK(doca_verbs_ah_attr_set_gid(ah, gid));
        EXAMPLE_CHECK(doca_verbs_ah_attr_set_addr_type(ah, to.ethernet ? DOCA_VERBS_ADDR_TYPE_IPv4
                                                                       : DOCA_VERBS_ADDR_TYPE_IB_NO_GRH));
        EXAMPLE_CHECK(doca_verbs_ah_attr_set_dlid(ah, to.lid));
        EXAMPLE_CHECK(doca_verbs_ah_attr_set_sgid_index(ah, 0));
        EXAMPLE_CHECK(doca_verbs_ah_attr_set_hop_limit(ah, 255));
        EXAMPLE_CHECK(doca_verbs_qp_attr_create(&attr));
        doca_verbs_qp_attr_set_next_state(attr, DOCA_VERBS_QP_STATE_INIT);
        doca_verbs_qp_attr_set_allow_remote_write(attr, 1);
        doca_verbs_qp_attr_set_allow_remote_read(attr, 1);
        doca_verbs_qp_attr_set_atomic_mode(attr, DOCA_VERBS_QP_ATOMIC_MODE_IB_SPEC);
        doca_verbs_qp_attr_set_port_num(attr, 1);
        EXAMPLE_CHECK(doca_verbs_qp_modify(q, attr,
                                           DOCA_VERBS_QP_ATTR_NEXT_STATE | DOCA_VERBS_QP_ATTR_ALLOW_REMOTE_WRITE |
                                               DOCA_VERBS_QP_ATTR_ALLOW_REMOTE_READ | DOCA_VERBS_QP_ATTR_ATOMIC_MODE |
                                               DOCA_VERBS_QP_ATTR_PORT_NUM | DOCA_VERBS_QP_ATTR_PKEY_INDEX));
        doca_verbs_qp_attr_set_next_state(attr, DOCA_VERBS_QP_STATE_RTR);
        doca_verbs_qp_attr_set_path_mtu(attr, (enum doca_verbs_mtu_size)(mtu - 1)); /* one less than ibv_mtu's codes */
        doca_verbs_qp_attr_set_dest_qp_num(attr, to.qpn);
        doca_verbs_qp_attr_set_ah_attr(attr, ah);
        doca_verbs_qp_attr_set_min_rnr_timer(attr, 1);
        doca_verbs_qp_attr_set_max_dest_rd_atomic(attr, 16);
        EXAMPLE_CHECK(doca_verbs_qp_modify(q, attr,
                                           DOCA_VERBS_QP_ATTR_NEXT_STATE | DOCA_VERBS_QP_ATTR_PATH_MTU |
                                               DOCA_VERBS_QP_ATTR_RQ_PSN | DOCA_VERBS_QP_ATTR_DEST_QP_NUM |
                                               DOCA_VERBS_QP_ATTR_AH_ATTR | DOCA_VERBS_QP_ATTR_MIN_RNR_TIMER |
                                               DOCA_VERBS_QP_ATTR_MAX_DEST_RD_ATOMIC));
        doca_verbs_qp_attr_set_next_state(attr, DOCA_VERBS_QP_STATE_RTS);
        doca_verbs_qp_attr_set_ack_timeout(attr, 14);
        doca_verbs_qp_attr_set_retry_cnt(attr, 7);
        doca_verbs_qp_attr_set_rnr_retry(attr, 1);
        doca_verbs_qp_attr_set_max_rd_atomic(attr, 16);
        EXAMPLE_CHECK(doca_verbs_qp_modify(q, attr,
                                           DOCA_VERBS_QP_ATTR_NEXT_STATE | DOCA_VERBS_QP_ATTR_SQ_PSN |
                                               DOCA_VERBS_QP_ATTR_ACK_TIMEOUT | DOCA_VERBS_QP_ATTR_RETRY_CNT |
                                               DOCA_VERBS_QP_ATTR_RNR_RETRY | DOCA_VERBS_QP_ATTR_MAX_QP_RD_ATOMIC));
        doca_verbs_qp_attr_destroy(attr);
        doca_verbs_ah_attr_destroy(ah);
    }

    /* What went wrong on the queues, as far as they know. */
    void describe()
    {
        struct doca_gpu_verbs_qp *queues[] = {queue ? queue->qp_gverbs : group->qp_main.qp_gverbs,
                                              group ? group->qp_companion.qp_gverbs : nullptr};

        for (struct doca_gpu_verbs_qp *q : queues) {
            struct doca_gpu_verbs_qp_error_info info = {};

            if (q && doca_gpu_verbs_query_last_error(q, &info) == DOCA_SUCCESS && info.has_error)
                fprintf(stderr, "error: queue: syndrome 0x%02x, vendor syndrome 0x%02x, WQE %d\n", (unsigned)info.syndrome,
                        (unsigned)info.vendor_err_synd, info.wqe_counter);
        }
    }

    /* Waits for the kernel in `stream`, ringing doorbells for it where the CPU has to; returns the kernel's status. */
    int finish()
    {
        EXAMPLE_CHECK(cudaGetLastError());
        for (;;) {
            cudaError_t state = cudaStreamQuery(stream);

            if (state == cudaSuccess) {
                if (*status != 0)
                    describe();
                return *status;
            }
            if (state != cudaErrorNotReady)
                check(state, "kernel");
            for (struct doca_gpu_verbs_qp *q : proxied)
                EXAMPLE_CHECK(doca_gpu_verbs_cpu_proxy_progress(q, nullptr));
            sched_yield();
        }
    }

    ~end()
    {
        if (queue)
            doca_gpu_verbs_destroy_qp_hl(queue);
        if (group)
            doca_gpu_verbs_destroy_qp_group_hl(group);
        ibv_dereg_mr(mr);
        doca_gpu_mem_free(gpu, data);
        cudaFreeHost(status);
        cudaStreamDestroy(stream);
        doca_verbs_dev_close(dev);
        ibv_dealloc_pd(pd);
        ibv_close_device(context);
        doca_gpu_destroy(gpu);
        close(channel);
    }
};

/* ---- data that can be checked ------------------------------------------------------------------------------------------- */

inline uint8_t byte_at(uint64_t seed, size_t position)
{
    uint64_t z = (seed + position) * 0x9e3779b97f4a7c15ull;

    return (uint8_t)((z ^ (z >> 29)) >> 24);
}

inline void fill(void *at, size_t size, uint64_t seed)
{
    for (size_t i = 0; i < size; i++)
        ((uint8_t *)at)[i] = byte_at(seed, i);
}

/* 0 if all bytes are as filled, 1 with a message otherwise. */
inline int verify(const void *at, size_t size, uint64_t seed)
{
    for (size_t i = 0; i < size; i++) {
        if (((const uint8_t *)at)[i] != byte_at(seed, i)) {
            fprintf(stderr, "error: byte %zu of %zu is 0x%02x, expected 0x%02x\n", i, size, ((const uint8_t *)at)[i],
                    byte_at(seed, i));
            return 1;
        }
    }
    printf("%zu bytes verified\n", size);
    return 0;
}

/* Runs `client` and `server`, each an int(int channel), as the options say; the larger status is the program's. */
template <typename F, typename G> int run(const options &o, F client, G server)
{
    int fds[2], served = 3, status;

    setenv("CUDA_MODULE_LOADING", "EAGER", 0); /* no kernel is loaded behind a running one */
    if (o.role == options::SERVER)
        return server(accept_client(o.port));
    if (o.role == options::CLIENT)
        return client(reach_server(o.host, o.port));
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds))
        die("socketpair", errno);
    std::thread other([&] { served = server(fds[0]); });
    status = client(fds[1]);
    other.join();
    return status > served ? status : served;
}

} // namespace example

#endif
