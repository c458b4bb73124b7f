/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The store buffer, by litmus tests. Each is a way to pass a message, with a right and some wrong amounts of ordering. A
 * right one passes under every seed; a wrong one fails under at least one, which is what finds the mistake. The "NIC" is a
 * reader of plain memory: the executor's idle hook.
 */
#include "kernel_test.h"

#define SEEDS 60

enum { THREAD = GDAKI_CPU_SCOPE_THREAD, CTA = GDAKI_CPU_SCOPE_CTA, GPU = GDAKI_CPU_SCOPE_GPU, SYS = GDAKI_CPU_SCOPE_SYS };

struct mail {
    uint64_t data[4], flag, door, pad[2];
};

static uint64_t read_flag(const uint64_t *flag, int order, int scope)
{
    return gdaki_cpu_load(flag, 8, (gdaki_cpu_order)order, (gdaki_cpu_scope)scope);
}

static void fence(int order, int scope)
{
    if (scope != THREAD)
        gdaki_cpu_fence((gdaki_cpu_order)order, (gdaki_cpu_scope)scope);
}

static void write_data(struct mail *mail, uint64_t value)
{
    uint64_t segment[2] = {value, value + 1};

    gdaki_cpu_store_weak(&mail->data[0], segment, 16);
    gdaki_cpu_store_weak(&mail->data[2], segment, 16);
}

static bool data_is(const struct mail *mail, uint64_t value)
{
    uint64_t seen[4];

    gdaki_cpu_load_weak(seen, mail->data, sizeof(seen));
    return seen[0] == value && seen[1] == value + 1 && seen[2] == value && seen[3] == value + 1;
}

/* Producer and consumer threads; in one block when `same`, else in two. */
__global__ void pass(struct mail *mail, int release, int acquire, bool same, unsigned *wrong)
{
    bool producer = same ? threadIdx.x == 0 : blockIdx.x == 0;

    for (uint64_t turn = 1; turn <= 3; turn++) {
        if (producer) {
            write_data(&mail[turn], turn * 10);
            fence(GDAKI_CPU_RELEASE, release);
            gdaki_cpu_store(&mail[turn].flag, turn, 8, GDAKI_CPU_RELAXED, GDAKI_CPU_SCOPE_GPU);
            while (!read_flag(&mail[turn].door, GDAKI_CPU_RELAXED, GPU)) /* not away before the other has looked */
                gdaki_cpu_relax();
        } else {
            while (read_flag(&mail[turn].flag, GDAKI_CPU_RELAXED, GPU) != turn)
                gdaki_cpu_relax();
            fence(GDAKI_CPU_ACQUIRE, acquire);
            if (!data_is(&mail[turn], turn * 10))
                atomicAdd(wrong, 1);
            atomicExch((unsigned long long *)&mail[turn].door, 1);
        }
    }
}

static unsigned runs_wrong(int release, int acquire, bool same)
{
    struct mail *mail = managed<struct mail>(4);
    unsigned *wrong = managed<unsigned>(1), bad = 0;

    for (unsigned seed = 1; seed <= SEEDS; seed++) {
        memset(mail, 0, 4 * sizeof(*mail));
        *wrong = 0;
        gdaki_cpu_configure(1, 0, seed);
        pass<<<same ? 1 : 2, same ? 2 : 1>>>(mail, release, acquire, same, wrong);
        CHECK(cudaDeviceSynchronize());
        bad += *wrong != 0;
    }
    gdaki_cpu_configure(0, 0, 0);
    cudaFree(mail);
    cudaFree(wrong);
    return bad;
}

static void messages_between_threads(void **)
{
    static const struct {
        int release, acquire;
        bool same, right;
        const char *what;
    } table[] = {
        {CTA, CTA, true, true, "one block, CTA fences"},
        {GPU, GPU, true, true, "one block, GPU fences"},
        {SYS, SYS, true, true, "one block, SYS fences"},
        {THREAD, CTA, true, false, "one block, no release"},
        {GPU, GPU, false, true, "two blocks, GPU fences"},
        {SYS, GPU, false, true, "two blocks, SYS release"},
        {THREAD, GPU, false, false, "two blocks, no release"},
        {CTA, GPU, false, false, "two blocks, release too narrow"},
        {GPU, CTA, false, false, "two blocks, acquire too narrow"},
        {GPU, THREAD, false, false, "two blocks, no acquire"},
    };

    for (auto &row : table) {
        unsigned bad = runs_wrong(row.release, row.acquire, row.same);

        if (row.right ? bad : !bad)
            fail_msg("%s: wrong under %u of %u seeds", row.what, bad, SEEDS);
    }
}

/* The NIC: sees the doorbell, reads the data from plain memory, answers in `door`. */
struct nic {
    struct mail *mail;
    unsigned wrong, seen;
};

static int nic_turn(void *arg)
{
    struct nic *nic = static_cast<struct nic *>(arg);
    struct mail *mail = nic->mail;
    uint64_t turn = __atomic_load_n(&mail->flag, __ATOMIC_ACQUIRE);

    if (!turn || turn == mail->door)
        return 0;
    for (unsigned i = 0; i < 4; i++)
        nic->wrong += mail->data[i] != turn * 10 + i % 2;
    nic->seen++;
    __atomic_store_n(&mail->door, turn, __ATOMIC_RELEASE);
    return 1;
}

enum { BY_MMIO, BY_RECORD, BY_ATOMIC };

__global__ void ring(struct mail *mail, int release, int how)
{
    for (uint64_t turn = 1; turn <= 3; turn++) {
        write_data(mail, turn * 10);
        fence(GDAKI_CPU_RELEASE, release);
        if (how == BY_MMIO)
            gdaki_cpu_store_mmio(&mail->flag, turn);
        else if (how == BY_RECORD)
            gdaki_cpu_store(&mail->flag, turn, 8, GDAKI_CPU_RELAXED, GDAKI_CPU_SCOPE_SYS);
        else
            gdaki_cpu_atomic(GDAKI_CPU_MAX, &mail->flag, 8, turn, 0, GDAKI_CPU_RELAXED, GDAKI_CPU_SCOPE_SYS);
        while (read_flag(&mail->door, GDAKI_CPU_ACQUIRE, SYS) != turn)
            gdaki_cpu_relax();
    }
}

static void messages_to_the_nic(void **)
{
    struct mail *mail = managed<struct mail>(1);
    struct nic nic = {mail, 0, 0};

    gdaki_cpu_set_idle_hook(nic_turn, &nic);
    for (int how : {BY_MMIO, BY_RECORD, BY_ATOMIC}) {
        for (int release : {SYS, GPU, CTA, THREAD}) {
            unsigned bad = 0;

            for (unsigned seed = 1; seed <= SEEDS; seed++) {
                memset(mail, 0, sizeof(*mail));
                nic.wrong = nic.seen = 0;
                gdaki_cpu_configure(1, 0, seed);
                ring<<<1, 1>>>(mail, release, how);
                CHECK(cudaDeviceSynchronize());
                assert_int_equal(nic.seen, 3);
                bad += nic.wrong != 0;
            }
            if (release == SYS ? bad : !bad)
                fail_msg("way %d, release scope %d: wrong under %u of %u seeds", how, release, bad, SEEDS);
        }
    }
    gdaki_cpu_set_idle_hook(NULL, NULL);
    gdaki_cpu_configure(0, 0, 0);
    cudaFree(mail);
}

/* Many threads write, one rings: what the others released to it at `scope` must reach the NIC with its SYS release. */
__global__ void write_for_another(struct mail *mail, int share)
{
    if (threadIdx.x == 1) {
        write_data(mail, 10);
        fence(GDAKI_CPU_RELEASE, share);
        gdaki_cpu_atomic(GDAKI_CPU_EXCH, &mail->pad[0], 8, 1, 0, GDAKI_CPU_RELAXED, GDAKI_CPU_SCOPE_CTA);
    } else {
        while (!read_flag(&mail->pad[0], GDAKI_CPU_RELAXED, CTA))
            gdaki_cpu_relax();
        fence(GDAKI_CPU_ACQUIRE, CTA);
        fence(GDAKI_CPU_RELEASE, SYS);
        gdaki_cpu_store_mmio(&mail->flag, 1);
        while (!read_flag(&mail->door, GDAKI_CPU_ACQUIRE, SYS))
            gdaki_cpu_relax();
    }
}

static void releases_are_cumulative(void **)
{
    struct mail *mail = managed<struct mail>(1);
    struct nic nic = {mail, 0, 0};

    gdaki_cpu_set_idle_hook(nic_turn, &nic);
    for (int share : {CTA, THREAD}) {
        unsigned bad = 0;

        for (unsigned seed = 1; seed <= SEEDS; seed++) {
            memset(mail, 0, sizeof(*mail));
            nic.wrong = 0;
            gdaki_cpu_configure(1, 0, seed);
            write_for_another<<<1, 2>>>(mail, share);
            CHECK(cudaDeviceSynchronize());
            bad += nic.wrong != 0;
        }
        if (share == CTA ? bad : !bad)
            fail_msg("share scope %d: wrong under %u of %u seeds", share, bad, SEEDS);
    }
    gdaki_cpu_set_idle_hook(NULL, NULL);
    gdaki_cpu_configure(0, 0, 0);
    cudaFree(mail);
}

/* A thread sees its own stores, the newest of overlapping ones, and the end of a kernel drains all. */
__global__ void own(uint64_t *mem, unsigned *wrong)
{
    uint8_t *bytes = reinterpret_cast<uint8_t *>(mem);
    uint64_t seen[2], start[2] = {0x1111111111111111u, 0x2222222222222222u};

    gdaki_cpu_store_weak(mem, start, 16);
    gdaki_cpu_store(bytes + 3, 0x7f, 1, GDAKI_CPU_RELAXED, GDAKI_CPU_SCOPE_GPU);
    gdaki_cpu_store(bytes + 8, 0xabcd, 2, GDAKI_CPU_RELAXED, GDAKI_CPU_SCOPE_GPU);
    gdaki_cpu_store_weak(bytes + 6, "abcd", 4);
    gdaki_cpu_load_weak(seen, mem, 16);
    if (seen[0] != 0x626111117f111111u || seen[1] != 0x2222222222226463u)
        atomicAdd(wrong, 1);
    if (gdaki_cpu_load(bytes + 7, 1, GDAKI_CPU_RELAXED, GDAKI_CPU_SCOPE_GPU) != 'b')
        atomicAdd(wrong, 1);
    if (gdaki_cpu_atomic(GDAKI_CPU_ADD, mem + 1, 8, 1, 0, GDAKI_CPU_RELAXED, GDAKI_CPU_SCOPE_GPU) != 0x2222222222226463u)
        atomicAdd(wrong, 1);
}

static void a_thread_sees_its_own_stores(void **)
{
    uint64_t *mem = managed<uint64_t>(2);
    unsigned *wrong = managed<unsigned>(1);

    for (unsigned seed = 1; seed <= SEEDS; seed++) {
        gdaki_cpu_configure(1, 0, seed);
        own<<<1, 1>>>(mem, wrong);
        CHECK(cudaDeviceSynchronize());
        assert_int_equal(*wrong, 0);
        assert_true(mem[0] == 0x626111117f111111u && mem[1] == 0x2222222222226464u);
    }
    gdaki_cpu_configure(0, 0, 0);
    cudaFree(mem);
    cudaFree(wrong);
}

/* Stores to one place by many threads, ordered by a lock: the last one stands. */
__global__ void last_one(uint64_t *lock, uint64_t *value, uint64_t *order)
{
    while (gdaki_cpu_atomic(GDAKI_CPU_CAS, lock, 8, 0, 1, GDAKI_CPU_ACQUIRE, GDAKI_CPU_SCOPE_GPU))
        gdaki_cpu_relax();
    uint64_t before = gdaki_cpu_load(value, 8, GDAKI_CPU_RELAXED, GDAKI_CPU_SCOPE_GPU);

    gdaki_cpu_store(value, before + 1, 8, GDAKI_CPU_RELAXED, GDAKI_CPU_SCOPE_GPU);
    order[before] = blockIdx.x * blockDim.x + threadIdx.x + 1;
    gdaki_cpu_atomic(GDAKI_CPU_EXCH, lock, 8, 0, 0, GDAKI_CPU_RELEASE, GDAKI_CPU_SCOPE_GPU);
}

static void stores_to_one_place_keep_their_order(void **)
{
    uint64_t *mem = managed<uint64_t>(2 + 64);

    for (unsigned seed = 1; seed <= SEEDS; seed++) {
        memset(mem, 0, (2 + 64) * sizeof(*mem));
        gdaki_cpu_configure(1, 0, seed);
        last_one<<<4, 16>>>(mem, mem + 1, mem + 2);
        CHECK(cudaDeviceSynchronize());
        assert_int_equal(mem[1], 64);
        for (unsigned i = 0; i < 64; i++)
            assert_true(mem[2 + i] != 0);
    }
    gdaki_cpu_configure(0, 0, 0);
    cudaFree(mem);
}

/* A barrier orders the block; no fence is needed there. */
__global__ void through_barrier(uint64_t *mem, unsigned *wrong)
{
    uint64_t seen, mine = threadIdx.x + 1;

    gdaki_cpu_store_weak(&mem[threadIdx.x], &mine, 8);
    __syncthreads();
    gdaki_cpu_load_weak(&seen, &mem[blockDim.x - 1 - threadIdx.x], 8);
    if (seen != blockDim.x - threadIdx.x)
        atomicAdd(wrong, 1);
    __syncwarp();
}

static void barriers_order_the_block(void **)
{
    uint64_t *mem = managed<uint64_t>(64);
    unsigned *wrong = managed<unsigned>(1);

    for (unsigned seed = 1; seed <= SEEDS; seed++) {
        memset(mem, 0, 64 * sizeof(*mem));
        gdaki_cpu_configure(1, 0, seed);
        through_barrier<<<1, 64>>>(mem, wrong);
        CHECK(cudaDeviceSynchronize());
        assert_int_equal(*wrong, 0);
        for (unsigned i = 0; i < 64; i++)
            assert_int_equal(mem[i], i + 1);
    }
    gdaki_cpu_configure(0, 0, 0);
    cudaFree(mem);
    cudaFree(wrong);
}

int main()
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_between_threads),
        cmocka_unit_test(messages_to_the_nic),
        cmocka_unit_test(releases_are_cumulative),
        cmocka_unit_test(a_thread_sees_its_own_stores),
        cmocka_unit_test(stores_to_one_place_keep_their_order),
        cmocka_unit_test(barriers_order_the_block),
    };

    return cmocka_run_group_tests_name("store buffer", tests, NULL, NULL);
}
