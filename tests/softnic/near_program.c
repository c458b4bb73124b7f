/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What keeps two ways comparable: nothing that is read by one WQE is written by another of the same batch. Sources, what may
 * be read from afar, targets, results and receive buffers are regions of their own with keys that allow just that, so a
 * damaged WQE is stopped by a key or stays in its region. Errors are drawn only where one end posts: which of two
 * queue pairs that fail at once gets how far is nobody's promise.
 *
 * Nor is how much leaves behind a request that its peer refuses: it depends on when the refusal comes and, where a WAIT for the
 * queue pair's own completions holds up what follows, on when an earlier acknowledgement comes. On the short way that is at
 * once, so more may have left, to be dropped. Packets, their bytes and those out of sequence are compared elsewhere only.
 *
 * A seed is the same program whatever compiles it: no expression draws twice but in a given order.
 */
#include "near_program.h"

#include <stdlib.h>

enum {
    AREA = 2048, /* bytes of a region, and of the gap behind it */
    SOURCE = 0,
    SHOWN = 2 * AREA,
    TARGET = 4 * AREA,
    RESULT = 6 * AREA,
    RECEIVE = 8 * AREA,
    USED = 10 * AREA,
    MOMENT = 1000000,  /* ns: RNR timers of the codes drawn here are shorter */
    LONG = 200000000,  /* ns: beyond all retries of a timeout of code 8, and beyond the wait for a WQE that does not come */
    COUNTERS = sizeof(struct sn_counters) / sizeof(uint64_t)
};

#define COUNTER(name) (offsetof(struct sn_counters, name) / sizeof(uint64_t))

static const uint64_t NAMES = 0x7e5500000000;

enum key { KEY_SOURCE, KEY_SHOWN, KEY_TARGET, KEY_RESULT, KEY_RECEIVE, KEY_FOREIGN, KEY_STALE, KEYS };

static const struct {
    uint32_t at, access;
} regions[KEYS] = {
    [KEY_SOURCE] = {SOURCE, 0},
    [KEY_SHOWN] = {SHOWN, SN_ACCESS_REMOTE_READ},
    [KEY_TARGET] = {TARGET, SN_ACCESS_LOCAL_WRITE | SN_ACCESS_REMOTE_WRITE | SN_ACCESS_REMOTE_ATOMIC},
    [KEY_RESULT] = {RESULT, SN_ACCESS_LOCAL_WRITE},
    [KEY_RECEIVE] = {RECEIVE, SN_ACCESS_LOCAL_WRITE},
    [KEY_FOREIGN] = {TARGET, SN_ACCESS_LOCAL_WRITE | SN_ACCESS_REMOTE_WRITE | SN_ACCESS_REMOTE_READ},
    [KEY_STALE] = {TARGET, SN_ACCESS_LOCAL_WRITE | SN_ACCESS_REMOTE_WRITE | SN_ACCESS_REMOTE_READ},
};

/* What an end looks like after a step, and the completions since the last one. */
struct view {
    uint64_t seed;
    unsigned step, end;
    enum sn_qp_state state;
    struct sn_qp_error error;
    uint64_t moved[COUNTERS]; /* by how much, since this end was looked at last */
    uint64_t memory;
    unsigned cqes, rcqes; /* behind each other in the log's list */
    bool in_vain;         /* what was sent in this step may have been, and how much */
};

struct near_log {
    struct view *view;
    struct sn_cqe64 *cqe;
    unsigned views, cqes, most_views, most_cqes;
};

struct player {
    struct end *e;
    struct player *peer;
    uint64_t names;
    uint32_t key[KEYS], other_pdn;
    uint32_t last;     /* index of the last WQE of the last batch */
    bool settled;      /* it has completed */
    unsigned receives; /* posted, not yet completed */
};

struct game {
    uint64_t x;
    struct near_pair *pair;
    struct player side[2];
    struct near_log *log;
    bool hostile;
    uint64_t counters[2][COUNTERS]; /* of both ends, at the last look */
    bool waits, refused; /* in this step a WAIT was posted; a request was refused by the peer */
};

static uint32_t rnd(struct game *g, uint32_t n)
{
    g->x ^= g->x << 13;
    g->x ^= g->x >> 7;
    g->x ^= g->x << 17;
    return (uint32_t)(g->x >> 20) % n;
}

static void scramble(struct game *g, uint8_t *mem)
{
    for (size_t at = 0; at < USED; at += 8) {
        rnd(g, 1);
        memcpy(mem + at, &g->x, 8);
    }
}

/* ---- ends -------------------------------------------------------------------------------------------------------- */

struct near_range near_groups(uint64_t groups)
{
    const char *from = getenv("SOFTNIC_TEST_SEED"), *n = getenv("SOFTNIC_TEST_SEEDS");
    uint64_t first = from != NULL ? strtoull(from, NULL, 0) : 0;

    return (struct near_range){first, first + (n != NULL ? strtoull(n, NULL, 0) : from != NULL ? 1 : groups)};
}

void near_options(uint64_t seed, struct options *o)
{
    struct game g = {.x = seed * 0x9e3779b97f4a7c15ull + 1};

    *o = defaults;
    o->log_sq = (uint8_t)(4 + rnd(&g, 3));
    o->log_cq = 7;
    o->cqe_size = rnd(&g, 3) == 0 ? 128 : 64;
    o->no_record = rnd(&g, 4) == 0;
    o->srq = rnd(&g, 4) == 0;
    o->srq_linked = o->srq && rnd(&g, 2) != 0;
    o->burst_bytes = rnd(&g, 4) == 0 ? 1 : 0;
    o->collapsed = rnd(&g, 8) == 0;
    o->overrun = !o->collapsed && rnd(&g, 8) == 0;
    if (o->overrun)
        o->log_cq = 3;
}

/* By what address WQEs name a region's first byte: the same whenever and wherever the program is played. */
static uint64_t name_of(const struct player *p, enum key k)
{
    return p->names + regions[k].at;
}

static uint32_t make_key(struct player *p, enum key k)
{
    struct end *e = p->e;
    uint32_t own = e->pdn, key;
    uint8_t *at = e->mem + regions[k].at;

    if (k == KEY_FOREIGN)
        e->pdn = p->other_pdn;
    sn_port_lock(e->w->port);
    key = end_key(e, at, AREA, name_of(p, k), regions[k].access);
    sn_port_unlock(e->w->port);
    e->pdn = own;
    return key;
}

static void end_of_key(struct player *p, enum key k)
{
    sn_port_lock(p->e->w->port);
    assert_int_equal(sn_mkey_destroy(p->e->nic, p->key[k]), 0);
    sn_port_unlock(p->e->w->port);
}

static void make_keys(struct player *p)
{
    assert_int_equal(sn_pd_create(p->e->nic, &p->other_pdn), 0);
    for (enum key k = 0; k < KEYS; k++)
        p->key[k] = make_key(p, k);
    end_of_key(p, KEY_STALE);
}

static void drop_keys(struct player *p)
{
    for (enum key k = 0; k < KEYS; k++)
        if (k != KEY_STALE)
            end_of_key(p, k);
    assert_int_equal(sn_pd_destroy(p->e->nic, p->other_pdn), 0);
}

/* Both anew, with parameters drawn afresh. */
static void connect_anew(struct game *g)
{
    uint32_t psn = rnd(g, 3) == 0 ? 0xfffff0 : rnd(g, 1 << 24);
    uint8_t mtu = (uint8_t)(1 + rnd(g, 5));

    for (int i = 0; i < 2; i++) {
        struct options *o = &g->side[i].e->o;
        o->psn = psn;
        o->mtu = mtu;
        o->no_rwe = g->hostile && rnd(g, 12) == 0;
        o->no_rre = g->hostile && rnd(g, 12) == 0;
        o->no_rae = g->hostile && rnd(g, 12) == 0;
        o->atomic_mode = g->hostile && rnd(g, 4) == 0 ? (uint8_t)rnd(g, 4) : 3;
        o->rnr_retry = (uint8_t)rnd(g, 7);
        o->min_rnr = (uint8_t)(1 + rnd(g, 12));
        o->retry = (uint8_t)rnd(g, 3);
        o->ack_timeout = 8;
        o->log_sra = o->log_rra = (uint8_t)rnd(g, 4);
    }
    for (int i = 0; i < 2; i++) {
        struct player *p = &g->side[i];
        uint32_t rq_pi = p->e->rq_pi;
        sn_port_lock(p->e->w->port);
        end_reconnect(p->e, p->peer->e);
        sn_port_unlock(p->e->w->port);
        if (p->e->o.srq)
            p->e->rq_pi = rq_pi; /* it outlives its queue pairs */
        else
            p->receives = 0;
        p->settled = true;
    }
}

/* ---- WQEs -------------------------------------------------------------------------------------------------------- */

static uint32_t draw_length(struct game *g)
{
    static const uint32_t odd[] = {0, 0, 1, 3, 4, 7, 8, 9, 63, 255, 256, 257, 1024, 1025, 2000, 2048};

    return rnd(g, 2) ? 8 : odd[rnd(g, sizeof(odd) / sizeof(odd[0]))];
}

/* Up to three pieces that are `length` bytes together, at any offset of one local region. */
static void draw_pieces(struct game *g, struct player *p, enum key k, uint32_t length, struct wr *wr)
{
    unsigned n = rnd(g, 4) == 0 ? 1 + rnd(g, 3) : 1;
    uint32_t left = length;

    wr->sges = n;
    for (unsigned i = 0; i < n; i++) {
        uint32_t part = i + 1 == n ? left : rnd(g, left + 1);
        wr->sge[i].addr = name_of(p, k) + rnd(g, AREA - part + 1);
        wr->sge[i].lkey = p->key[k];
        wr->sge[i].length = part;
        left -= part;
    }
}

static void remote(struct game *g, struct player *p, enum key k, uint32_t length, uint32_t align, struct wr *wr)
{
    wr->raddr = name_of(p->peer, k) + (rnd(g, AREA - length + 1) & ~(align - 1));
    wr->rkey = p->peer->key[k];
}

static void draw_atomic(struct game *g, struct player *p, struct wr *wr)
{
    static const uint8_t opcodes[] = {SN_OPCODE_ATOMIC_FA, SN_OPCODE_ATOMIC_CS, SN_OPCODE_ATOMIC_MASKED_FA,
                                      SN_OPCODE_ATOMIC_MASKED_CS};

    wr->opcode = opcodes[rnd(g, 4)];
    if (wr->opcode == SN_OPCODE_ATOMIC_MASKED_FA || wr->opcode == SN_OPCODE_ATOMIC_MASKED_CS)
        wr->opmod = rnd(g, 2) ? SN_OPMOD_MASKED_4 : SN_OPMOD_MASKED_8;
    wr->swap_add = rnd(g, 1000);
    wr->compare = rnd(g, 2);
    wr->swap_mask = rnd(g, 1 << 16);
    wr->compare_mask = rnd(g, 1 << 16);
    draw_pieces(g, p, KEY_RESULT, 8, wr);
    if (wr->sges != 1) {
        wr->sges = 1;
        wr->sge[0].length = 8;
        wr->sge[0].addr = name_of(p, KEY_RESULT);
    }
    remote(g, p, KEY_TARGET, 8, 8, wr);
}

static void draw_good(struct game *g, struct player *p, struct wr *wr)
{
    uint32_t length = draw_length(g);

    memset(wr, 0, sizeof(*wr));
    wr->imm = rnd(g, 1 << 30);
    switch (rnd(g, 12)) {
    case 0:
        wr->opcode = SN_OPCODE_RDMA_READ;
        draw_pieces(g, p, KEY_RESULT, length, wr);
        remote(g, p, KEY_SHOWN, length, 1, wr);
        break;
    case 1:
        draw_atomic(g, p, wr);
        break;
    case 2:
        wr->opcode = rnd(g, 2) ? SN_OPCODE_SEND : SN_OPCODE_SEND_IMM;
        draw_pieces(g, p, KEY_SOURCE, length, wr);
        break;
    case 3:
        wr->opcode = SN_OPCODE_RDMA_WRITE_IMM;
        draw_pieces(g, p, KEY_SOURCE, length, wr);
        remote(g, p, KEY_TARGET, length, 1, wr);
        break;
    case 4:
        wr->opcode = SN_OPCODE_NOP;
        break;
    case 5:
    case 6:
        wr->opcode = SN_OPCODE_RDMA_WRITE;
        wr->inl = p->e->mem + SOURCE;
        wr->inl_length = rnd(g, 2) ? rnd(g, 29) : rnd(g, 80);
        remote(g, p, KEY_TARGET, wr->inl_length, 1, wr);
        break;
    default:
        wr->opcode = SN_OPCODE_RDMA_WRITE;
        draw_pieces(g, p, KEY_SOURCE, length, wr);
        remote(g, p, KEY_TARGET, length, 1, wr);
        break;
    }
    wr->fm_ce_se = (uint8_t)(rnd(g, 4) ? 8 : 4 * rnd(g, 4));
    wr->fm_ce_se |= rnd(g, 8) ? 0 : 2;
    wr->fm_ce_se |= (uint8_t)(rnd(g, 8) ? 0 : (1 + rnd(g, 4)) << 5);
}

static void make_wait(struct wr *wr, uint32_t cqn, uint32_t index)
{
    wr->opcode = SN_OPCODE_WAIT;
    wr->cqn = cqn;
    wr->index = index;
    wr->sges = 0;
    wr->inl = NULL;
}

static uint32_t bad_key(struct game *g, const struct player *p, uint32_t was)
{
    switch (rnd(g, 5)) {
    case 0:
        return was ^ 1u << rnd(g, 32);
    case 1:
        return rnd(g, 2) ? 0 : SN_LKEY_END;
    default:
        return p->key[rnd(g, 2) ? KEY_FOREIGN + rnd(g, 2) : rnd(g, KEYS)];
    }
}

/* One field as it must not be, or as nobody would make it. */
static void damage(struct game *g, struct player *p, struct wr *wr)
{
    unsigned piece = wr->sges != 0 ? rnd(g, wr->sges) : 0;

    switch (rnd(g, 11)) {
    case 0:
        wr->rkey = bad_key(g, p->peer, wr->rkey);
        break;
    case 1:
        wr->sge[piece].lkey = bad_key(g, p, wr->sge[piece].lkey);
        break;
    case 2:
        wr->raddr += rnd(g, 2) ? AREA : 0 - (uint64_t)AREA;
        break;
    case 3:
        wr->raddr = 0 - (uint64_t)rnd(g, 16); /* the end of the address space */
        break;
    case 4:
        wr->sge[piece].addr += rnd(g, 2) ? AREA : 0 - (uint64_t)AREA;
        break;
    case 5:
        wr->sge[piece].length = rnd(g, 2) ? AREA + 1 : rnd(g, 3) ? 1u << rnd(g, 31) : (1u << 30) + 2; /* a message has 2^30 at most */
        wr->sge[piece].length -= rnd(g, 2);
        break;
    case 6:
        wr->opcode = (uint8_t)rnd(g, rnd(g, 2) ? 0x40 : 0x100);
        break;
    case 7:
        wr->opmod = (uint8_t)(1 + rnd(g, 255));
        break;
    case 8:
        wr->ds = (int)rnd(g, rnd(g, 2) ? 8 : 64);
        break;
    case 9:
        wr->fm_ce_se = (uint8_t)rnd(g, 256);
        break;
    default:
        switch (rnd(g, 3)) { /* of a count that is reached, or will be, or will not */
        case 0:
            make_wait(wr, p->e->cqn, p->e->ci + rnd(g, 4) - 2);
            break;
        case 1:
            make_wait(wr, p->e->rcqn, p->e->rci + rnd(g, 3) - 1);
            break;
        default:
            make_wait(wr, rnd(g, 1 << 24), 0);
            break;
        }
        break;
    }
}

/* Bits of a WQE that reads nothing but sources: what it has become may be anything. */
static void flip_bits(struct game *g, struct end *e, uint32_t index)
{
    uint8_t *raw = e->sq + (size_t)(index & ((1u << e->o.log_sq) - 1)) * SN_WQE_BB;

    for (unsigned n = 1 + rnd(g, 3); n != 0; n--) {
        uint32_t at = rnd(g, rnd(g, 2) ? 16 : 64);
        raw[at] ^= (uint8_t)(1u << rnd(g, 8));
    }
}

static void post_receives(struct game *g, struct player *p, bool hostile)
{
    for (unsigned n = rnd(g, 5); n != 0 && p->receives < 1u << p->e->o.log_rq; n--, p->receives++) {
        uint32_t length = rnd(g, 3) == 0 ? draw_length(g) : AREA;
        bool bad = hostile && rnd(g, 6) == 0;
        uint64_t at = name_of(p, KEY_RECEIVE) + rnd(g, AREA - length + 1);
        uint32_t key = bad ? bad_key(g, p, p->key[KEY_RECEIVE]) : p->key[KEY_RECEIVE];
        post_recv(p->e, (void *)(uintptr_t)at, length, key); /* it takes a pointer for the address that the WQE names */
    }
}

/* What stands in the ring, damaged or not. */
static bool is_wait(const struct end *e, uint32_t index)
{
    const struct sn_ctrl_seg *ctrl = (const struct sn_ctrl_seg *)(const void *)(e->sq + (size_t)(index & ((1u << e->o.log_sq) - 1)) *
                                                                                          SN_WQE_BB);

    return (sn_get32(ctrl->opmod_idx_opcode) & 0xff) == SN_OPCODE_WAIT;
}

/*
 * WRITEs, then a SEND that may find no receive, then a WAIT for the first completions: what else there is leaves behind the
 * SEND only if the WRITEs are acknowledged before it is refused.
 */
static void post_race(struct game *g, struct player *p)
{
    unsigned writes = 1 + rnd(g, 3);

    for (unsigned i = 0; i < writes + 2; i++) {
        uint32_t length = draw_length(g);
        struct wr wr = {.opcode = i < writes ? SN_OPCODE_RDMA_WRITE : SN_OPCODE_SEND, .fm_ce_se = 8};
        if (i < writes)
            remote(g, p, KEY_TARGET, length, 1, &wr);
        if (i <= writes)
            draw_pieces(g, p, KEY_SOURCE, length, &wr);
        else
            make_wait(&wr, p->e->cqn, p->e->ci + rnd(g, writes));
        put_wqe(p->e, &wr);
    }
    g->waits = true;
}

static void post_batch(struct game *g, struct player *p, bool hostile)
{
    struct end *e = p->e;
    uint32_t start = e->pi, most = (1u << e->o.log_sq) - 6; /* a WQE drawn here is at most 6 basic blocks */

    if (hostile && !e->o.overrun && rnd(g, 6) == 0)
        post_race(g, p);

    /* A CQ that overruns stops its queue pair wherever it is. */
    for (unsigned n = e->o.overrun ? 1 : 1 + rnd(g, 9); n != 0 && e->pi - start <= most; n--) {
        struct wr wr;
        bool bad = hostile && rnd(g, 3) == 0, plain;
        draw_good(g, p, &wr);
        plain = wr.opcode == SN_OPCODE_RDMA_WRITE || wr.opcode == SN_OPCODE_SEND || wr.opcode == SN_OPCODE_NOP;
        if (!hostile && (wr.opcode == SN_OPCODE_SEND || wr.opcode == SN_OPCODE_SEND_IMM ||
                         wr.opcode == SN_OPCODE_RDMA_WRITE_IMM))
            wr.opcode = SN_OPCODE_NOP, wr.sges = 0; /* a receive may be missing or too short */
        if (n == 1 || e->pi - start == most)
            wr.fm_ce_se |= 8; /* tells when the batch is done */
        bool flip = bad && plain && rnd(g, 3) == 0;
        if (bad && !flip)
            damage(g, p, &wr);
        p->last = put_wqe(e, &wr);
        if (flip)
            flip_bits(g, e, p->last);
        g->waits |= is_wait(e, p->last);
        if (rnd(g, 4) == 0)
            ring(e);
        if (rnd(g, 8) == 0)
            g->pair->pass(g->pair->arg, 0);
    }
    ring(e);
    if (rnd(g, 6) == 0)
        write_register(e, e->pi - (e->o.no_record ? 0 : rnd(g, 3))); /* doubled, or late */
    p->settled = false;
}

/* ---- what is left -------------------------------------------------------------------------------------------------- */

static struct sn_cqe64 *new_cqe(struct near_log *l)
{
    if (l->cqes == l->most_cqes) {
        l->most_cqes = l->most_cqes == 0 ? 1024 : 2 * l->most_cqes;
        l->cqe = realloc(l->cqe, l->most_cqes * sizeof(*l->cqe));
        assert_non_null(l->cqe);
    }
    return &l->cqe[l->cqes++];
}

static struct view *new_view(struct near_log *l)
{
    if (l->views == l->most_views) {
        l->most_views = l->most_views == 0 ? 256 : 2 * l->most_views;
        l->view = realloc(l->view, l->most_views * sizeof(*l->view));
        assert_non_null(l->view);
    }
    memset(&l->view[l->views], 0, sizeof(*l->view));
    return &l->view[l->views++];
}

static bool is_error(const struct sn_cqe64 *c)
{
    return cqe_opcode(c) == SN_CQE_REQ_ERR || cqe_opcode(c) == SN_CQE_RESP_ERR;
}

static void keep(struct near_log *l, const struct sn_cqe64 *c)
{
    struct sn_cqe64 *kept = new_cqe(l);

    *kept = *c;
    if (!is_error(c))
        kept->timestamp = sn_put64(0); /* of the last reading of the clock, whenever that was */
}

/* Four sums side by side, since one would wait for its multiplication each time. `n` is a multiple of 32. */
static uint64_t hash(const uint8_t *p, size_t n)
{
    uint64_t h[4] = {1, 2, 3, 4}, word[4];

    for (size_t at = 0; at < n; at += sizeof(word)) {
        memcpy(word, p + at, sizeof(word));
        for (int i = 0; i < 4; i++) {
            h[i] = (h[i] ^ word[i]) * 0xff51afd7ed558ccdull;
            h[i] ^= h[i] >> 29;
        }
    }
    return h[0] ^ h[1] * 3 ^ h[2] * 5 ^ h[3] * 7;
}

static bool is_last(const struct player *p, const struct sn_cqe64 *c)
{
    return (cqe_opcode(c) == SN_CQE_REQ || cqe_opcode(c) == SN_CQE_REQ_ERR) &&
           sn_get16(c->wqe_counter) == (uint16_t)p->last;
}

/* `moved`: by how much the counters have since the last call; NULL: for nobody. */
static void count_on(struct game *g, const struct player *p, uint64_t *moved)
{
    uint64_t now[COUNTERS], *last = g->counters[p == &g->side[1]];

    sn_nic_get_counters(p->e->nic, (struct sn_counters *)now);
    for (unsigned i = 0; moved != NULL && i < COUNTERS; i++)
        moved[i] = now[i] - last[i];
    memcpy(last, now, sizeof(now));
}

static void look_at(struct game *g, struct player *p, uint64_t seed, unsigned step)
{
    struct view *v = new_view(g->log);
    const struct sn_cqe64 *c;
    struct end *e = p->e;

    v->seed = seed;
    v->step = step;
    v->end = p == &g->side[1];
    if (e->o.collapsed) { /* what the last completion has left */
        c = (const struct sn_cqe64 *)(const void *)(e->cq + e->o.cqe_size - 64);
        keep(g->log, c);
        p->settled |= is_last(p, c);
        v->cqes = 1;
        c = (const struct sn_cqe64 *)(const void *)(e->rcq + e->o.cqe_size - 64);
        keep(g->log, c);
        v->rcqes = 1;
    } else if (!e->o.overrun || rnd(g, 3) == 0) { /* or they pile up */
        for (; (c = next_cqe(e)) != NULL; v->cqes++) {
            keep(g->log, c);
            p->settled |= is_last(p, c);
        }
        for (; (c = next_rcqe(e)) != NULL; v->rcqes++) {
            keep(g->log, c);
            p->receives -= p->receives != 0;
        }
    }
    v->memory = hash(e->mem, USED);
    count_on(g, p, v->moved);
    sn_port_lock(e->w->port);
    assert_int_equal(sn_qp_query(e->nic, e->qpn, &v->state, NULL, NULL, &v->error), 0);
    sn_port_unlock(e->w->port);
}

static bool is_refusal(const struct view *v)
{
    return v->moved[COUNTER(tx_nak_sequence)] + v->moved[COUNTER(tx_nak_invalid)] + v->moved[COUNTER(tx_nak_access)] +
               v->moved[COUNTER(tx_nak_operational)] + v->moved[COUNTER(tx_rnr_nak)] !=
           0;
}

/* Nothing is lost on the way: what one end has sent has come to the other, acknowledgements too unless they are replaced. */
static void all_arrived(const struct view *from, const struct view *to, bool replaces)
{
    uint64_t sent = from->moved[COUNTER(tx_packets)], arrived = to->moved[COUNTER(rx_packets)];

    if ((replaces ? sent < arrived : sent != arrived) ||
        from->moved[COUNTER(tx_bytes)] != to->moved[COUNTER(rx_bytes)] || to->moved[COUNTER(rx_dropped)] != 0)
        fail_msg("program %llu, step %u: end %u sent %llu bytes in %llu packets, of which %llu in %llu arrived",
                 (unsigned long long)from->seed, from->step, from->end, (unsigned long long)from->moved[COUNTER(tx_bytes)],
                 (unsigned long long)sent, (unsigned long long)to->moved[COUNTER(rx_bytes)], (unsigned long long)arrived);
}

static void look(struct game *g, uint64_t seed, unsigned step)
{
    struct view *v;

    for (int i = 0; i < 2; i++)
        look_at(g, &g->side[i], seed, step);
    v = &g->log->view[g->log->views - 2];
    all_arrived(&v[0], &v[1], g->pair->replaces);
    all_arrived(&v[1], &v[0], g->pair->replaces);
    g->refused |= is_refusal(&v[0]) || is_refusal(&v[1]);
    v[0].in_vain = v[1].in_vain = g->waits && g->refused;
}

static bool is_failed(const struct game *g)
{
    const struct view *v = &g->log->view[g->log->views - 2];

    return v[0].state != SN_QP_RTS || v[1].state != SN_QP_RTS;
}

/* ---- the program ---------------------------------------------------------------------------------------------------- */

static bool set_state(struct end *e, enum sn_qp_state state)
{
    int ret;

    sn_port_lock(e->w->port);
    ret = sn_qp_modify(e->nic, e->qpn, state, NULL, 0);
    sn_port_unlock(e->w->port);
    return ret == 0;
}

static void play_step(struct game *g, uint64_t seed, unsigned step, bool hostile)
{
    struct player *first = &g->side[rnd(g, 2)];
    bool both = !g->hostile && !first->e->o.overrun && rnd(g, 3) == 0;

    g->waits = g->refused = false;
    if (hostile)
        post_receives(g, first->peer, true);
    if (rnd(g, 8) == 0) { /* a key goes, and another one comes for it */
        struct player *p = &g->side[rnd(g, 2)];
        enum key k = rnd(g, 2) ? KEY_SOURCE : KEY_TARGET;
        p->key[KEY_STALE] = p->key[k];
        end_of_key(p, k);
        p->key[k] = make_key(p, k);
    }
    bool stopped = rnd(g, 16) == 0 && set_state(first->e, SN_QP_SQD);
    post_batch(g, first, hostile);
    if (both)
        post_batch(g, first->peer, false);
    g->pair->pass(g->pair->arg, 0);
    if (stopped) {
        look(g, seed, step);
        if (set_state(first->e, SN_QP_RTS))
            g->pair->pass(g->pair->arg, 0);
    }
    if (rnd(g, 4) == 0)
        g->pair->pass(g->pair->arg, MOMENT);
    look(g, seed, step);
    if (first->settled && first->peer->settled && !is_failed(g))
        return;
    if (!is_failed(g))
        g->pair->pass(g->pair->arg, rnd(g, 3) == 0 ? LONG : 4 * MOMENT); /* a retry, or an end to them */
    look(g, seed, step);
    if (is_failed(g) && rnd(g, 3) == 0) { /* posted to a queue in error */
        post_batch(g, first, true);
        g->pair->pass(g->pair->arg, 0);
        look(g, seed, step);
    }
    if (!first->settled || !first->peer->settled || is_failed(g))
        connect_anew(g);
}

struct near_log *near_play(struct near_log *log, uint64_t seed, struct near_pair *p)
{
    struct game g = {.x = seed * 0x9e3779b97f4a7c15ull + 99, .pair = p, .log = log};

    if (log == NULL)
        g.log = calloc(1, sizeof(*g.log));
    assert_non_null(g.log);
    for (int i = 0; i < 2; i++) {
        g.side[i].e = i == 0 ? p->a : p->b;
        g.side[i].peer = &g.side[1 - i];
        g.side[i].names = NAMES + (uint64_t)i * 0x10000000;
        make_keys(&g.side[i]);
        scramble(&g, g.side[i].e->mem);
    }
    g.hostile = rnd(&g, 4) != 0;
    connect_anew(&g);
    for (int i = 0; i < 2; i++)
        count_on(&g, &g.side[i], NULL);
    for (unsigned step = 0; step < NEAR_STEPS; step++)
        play_step(&g, seed, step, g.hostile && rnd(&g, 3) != 0);
    connect_anew(&g); /* nothing is under way when the keys go */
    for (int i = 0; i < 2; i++)
        drop_keys(&g.side[i]);
    return g.log;
}

/* Does it say when something came, and not only what? */
static bool is_of_time(const struct view *v, unsigned counter)
{
    switch (counter) {
    case COUNTER(rx_packets): /* one acknowledgement may answer several requests, or one */
    case COUNTER(tx_packets):
        return true;
    case COUNTER(rx_bytes):
    case COUNTER(tx_bytes):
    case COUNTER(out_of_sequence):
        return v->in_vain;
    default:
        return false;
    }
}

static void same_counters(const struct view *x, const struct view *y)
{
    static const char *const names[] = {
#define NAME(name) #name,
        SN_COUNTERS(NAME)
#undef NAME
    };

    for (unsigned i = 0; i < COUNTERS; i++)
        if (x->moved[i] != y->moved[i] && !is_of_time(x, i))
            fail_msg("program %llu, step %u, end %u: counter %s moved by %llu and %llu", (unsigned long long)x->seed, x->step,
                     x->end, names[i], (unsigned long long)x->moved[i], (unsigned long long)y->moved[i]);
}

static void same_cqes(const struct view *at, const char *what, const struct sn_cqe64 *x, const struct sn_cqe64 *y,
                      unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        if (memcmp(&x[i], &y[i], sizeof(*x)) != 0)
            fail_msg("program %llu, step %u, end %u: %s completion %u: opcode 0x%x and 0x%x, syndrome 0x%x and 0x%x, "
                     "WQE %u and %u",
                     (unsigned long long)at->seed, at->step, at->end, what, i, cqe_opcode(&x[i]), cqe_opcode(&y[i]),
                     is_error(&x[i]) ? cqe_syndrome(&x[i]) : 0, is_error(&y[i]) ? cqe_syndrome(&y[i]) : 0,
                     sn_get16(x[i].wqe_counter), sn_get16(y[i].wqe_counter));
}

void near_compare(const struct near_log *x, const struct near_log *y)
{
    const struct sn_cqe64 *cx = x->cqe, *cy = y->cqe;

    for (unsigned i = 0; i < x->views && i < y->views; i++) {
        const struct view *a = &x->view[i], *b = &y->view[i];
        unsigned n = a->cqes < b->cqes ? a->cqes : b->cqes;
        same_cqes(a, "send", cx, cy, n);
        if (a->cqes != b->cqes || a->rcqes != b->rcqes || a->state != b->state || a->memory != b->memory ||
            memcmp(&a->error, &b->error, sizeof(a->error)) != 0)
            fail_msg("program %llu, step %u, end %u: completions %u+%u and %u+%u, state %d and %d, memory %s, first error "
                     "0x%02x and 0x%02x",
                     (unsigned long long)a->seed, a->step, a->end, a->cqes, a->rcqes, b->cqes, b->rcqes, a->state,
                     b->state, a->memory == b->memory ? "the same" : "another", a->error.syndrome, b->error.syndrome);
        same_cqes(a, "receive", cx + a->cqes, cy + b->cqes, a->rcqes);
        same_counters(a, b);
        cx += a->cqes + a->rcqes;
        cy += b->cqes + b->rcqes;
    }
    assert_int_equal(x->views, y->views);
}

unsigned near_count(const struct near_log *log, uint8_t syndrome)
{
    unsigned n = 0;

    for (unsigned i = 0; i < log->cqes; i++) {
        const struct sn_cqe64 *c = &log->cqe[i];
        if (cqe_opcode(c) == SN_CQE_REQ)
            n += syndrome == SN_SYND_OK;
        else if (cqe_opcode(c) == SN_CQE_REQ_ERR)
            n += syndrome == cqe_syndrome(c);
    }
    return n;
}

void near_log_free(struct near_log *log)
{
    free(log->view);
    free(log->cqe);
    free(log);
}
