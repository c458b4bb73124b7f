/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reference model: a second copy of each end's memory, changed by plain code when a request has succeeded, compared
 * with what the NICs have made of the first. After an error the requests that were under way may have been executed,
 * in part or not; then either is right, and nothing else is.
 */
#include <stdlib.h>
#include <string.h>

#include "sim/internal.h"

/* ---- layout ------------------------------------------------------------------------------------------------------- */

static uint32_t area(uint32_t *at, uint64_t size, uint32_t *start)
{
    *start = *at;
    *at += (uint32_t)((size + 63) & ~63ull);
    return (uint32_t)size;
}

static uint32_t most(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

static void lay_out(struct sim_end *end)
{
    const struct sim_needs *own = &end->needs, *peer = &end->peer->needs;
    uint32_t results = end->goal < end->host->sim->depth ? (uint32_t)end->goal : end->host->sim->depth;
    uint32_t target = most(peer->write, peer->read_back), result = most(own->read, own->read_back);
    struct sim_layout *l = &end->at;
    uint32_t at = SIM_GUARD, hole;

    l->tx_size = area(&at, most(most(own->write, own->send), peer->read) + 64, &l->tx);
    area(&at, SIM_GUARD, &hole);
    /* Room for WRITEs that overlap in part, where there is more than one. */
    l->rx_size = area(&at, (end->peer->goal <= 1 ? 1 : 2) * (uint64_t)target + 64, &l->rx);
    area(&at, 8 * SIM_WORDS, &l->words);
    area(&at, SIM_GUARD, &hole);
    l->read_size = area(&at, result != 0 ? result + 64 : 0, &l->read);
    area(&at, 8ull * results, &l->results);
    area(&at, SIM_GUARD, &hole);
    l->recv_size = area(&at, peer->send * end->conn->workload->receives, &l->recv);
    area(&at, SIM_GUARD, &hole);
    l->size = at;
}

/*
 * Bytes that nobody can guess: pieces of a pool, so that a connection costs a copy and not a million random numbers.
 * Returns the piece, if it is one.
 */
static const uint8_t *fill(struct sim *sim, struct sim_rng *rng, uint8_t *at, size_t size)
{
    const uint8_t *piece = NULL;

    for (size_t n, left = size; left != 0; left -= n, at += n) {
        piece = sim->noise + sim_rng_below(rng, SIM_NOISE / 2);
        n = SIM_NOISE / 2 < left ? SIM_NOISE / 2 : left;
        memcpy(at, piece, n);
    }
    return size <= SIM_NOISE / 2 ? piece : NULL;
}

static struct sim_rng noise_rng(const struct sim *sim)
{
    return sim_rng_stream(sim->sc.seed, 0x700000000ull);
}

int sim_model_create(struct sim *sim)
{
    struct sim_rng rng = noise_rng(sim);

    sim->noise = malloc(SIM_NOISE);
    if (sim->noise == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < SIM_NOISE; i += 8) {
        uint64_t x = sim_rng_next(&rng);
        memcpy(sim->noise + i, &x, 8);
    }
    return 0;
}

/* It is the memory of ends that are only read, and what memory is held against: nothing may have changed it. */
void sim_model_check_noise(struct sim *sim)
{
    struct sim_rng rng = noise_rng(sim);

    for (size_t i = 0; i < SIM_NOISE; i += 8) {
        uint64_t x = sim_rng_next(&rng);
        if (memcmp(sim->noise + i, &x, 8) != 0) {
            sim_violation(sim, "something was written to memory that is only read (byte %zu to %zu of the noise)", i, i + 7);
            return;
        }
    }
}

/*
 * A copy of the model that can be changed at will. The model of a connection of one request needs none: it is the piece of the
 * noise that memory was filled with, but for one place, whose content is noise of the other end's, or a word. So what is
 * compared is mostly in the cache.
 */
static uint8_t *model_of(struct sim_end *end)
{
    if (end->own_model == NULL) {
        end->own_model = sim_block_take(end->host->sim, end->at.size);
        if (end->own_model == NULL) {
            end->host->sim->error = -ENOMEM;
            return NULL;
        }
        memcpy(end->own_model, end->model, end->at.size);
        if (end->change_size != 0)
            memcpy(end->own_model + end->change_at, end->change, end->change_size);
        end->change_size = 0;
        end->model = end->own_model;
    }
    return end->own_model;
}

/* What ought to be in [at, at + length). */
static const uint8_t *expected(struct sim_end *end, uint32_t at, uint32_t length)
{
    if (end->change_size == 0 || at >= end->change_at + end->change_size || at + length <= end->change_at)
        return end->model + at;
    if (at >= end->change_at && at + length <= end->change_at + end->change_size)
        return end->change + (at - end->change_at);
    (void)model_of(end);
    return end->model + at;
}

/* Those bytes change to what is expected of another end's memory now. */
static void change(struct sim_end *end, uint32_t at, struct sim_end *from, uint32_t from_at, uint32_t length)
{
    const uint8_t *bytes = expected(from, from_at, length);

    if (length == 0)
        return;
    if (end->own_model == NULL && end->change_size == 0 && sim_is_noise(end->host->sim, bytes)) {
        end->change = bytes;
        end->change_at = at;
        end->change_size = length;
    } else if (model_of(end) != NULL) {
        memcpy(end->own_model + at, bytes, length);
    }
}

/* For those that look at single bytes of `model`. False: no memory. */
static bool whole(struct sim_end *end)
{
    return end->change_size == 0 || model_of(end) != NULL;
}

static void change_word(struct sim_end *end, uint32_t at, uint64_t value)
{
    if (end->own_model == NULL && end->change_size == 0) {
        end->change_word = value;
        end->change = (const uint8_t *)&end->change_word;
        end->change_at = at;
        end->change_size = sizeof(value);
    } else if (model_of(end) != NULL) {
        memcpy(end->own_model + at, &value, sizeof(value));
    }
}

/* ---- life ------------------------------------------------------------------------------------------------------------ */

static bool writes_own(enum sim_op op)
{
    return op == SIM_OP_READ || op == SIM_OP_READ_BACK || op >= SIM_OP_FETCH_ADD;
}

static bool writes_peer(enum sim_op op)
{
    return op <= SIM_OP_SEND_IMM || op == SIM_OP_FETCH_ADD || op == SIM_OP_CMP_SWAP;
}

static bool is_atomic(enum sim_op op)
{
    return op == SIM_OP_FETCH_ADD || op == SIM_OP_CMP_SWAP;
}

static bool has_one(struct sim_end *end, bool (*is)(enum sim_op op))
{
    for (uint64_t n = 0; n < end->drawn; n++)
        if (is(sim_end_wr(end, n)->op))
            return true;
    return end->drawn != end->goal; /* not known yet */
}

/* Memory for the connection in hand. What the last one gave back is taken first, so that it is still in the cache. */
int sim_model_open(struct sim_end *end)
{
    struct sim *sim = end->host->sim;

    lay_out(end);
    end->change_size = 0;
    end->mem_is_noise = end->at.size <= SIM_NOISE / 2 && !has_one(end, writes_own) && !has_one(end->peer, writes_peer);
    if (end->mem_is_noise) {
        end->mem = sim->noise + sim_rng_below(&end->rng, SIM_NOISE / 2);
        end->model = end->mem;
    } else {
        end->mem = sim_block_take(sim, end->at.size);
        if (end->mem == NULL)
            return -ENOMEM;
        end->model = fill(sim, &end->rng, end->mem, end->at.size);
    }
    if (end->model == NULL) { /* of several pieces */
        end->model = end->mem;
        if (model_of(end) == NULL)
            return -ENOMEM;
    }
    if (has_one(end->peer, is_atomic))
        memcpy(end->peer->shadow, end->mem + end->at.words, sizeof(end->peer->shadow));
    return 0;
}

void sim_model_close(struct sim_end *end)
{
    if (!end->mem_is_noise)
        sim_block_give(end->host->sim, end->mem, end->at.size);
    sim_block_give(end->host->sim, end->own_model, end->at.size);
    end->mem = end->own_model = NULL;
    end->model = NULL;
}

/* ---- what a request does ------------------------------------------------------------------------------------------- */

static uint64_t word_at(const uint8_t *memory, uint32_t offset)
{
    uint64_t value;

    memcpy(&value, memory + offset, 8);
    return value;
}

static uint64_t changed(const struct sim_wr *wr, uint64_t old)
{
    if (wr->op == SIM_OP_FETCH_ADD)
        return old + wr->operand;
    return old == wr->compare ? wr->operand : old;
}

static bool is_write(const struct sim_wr *wr)
{
    return wr->op == SIM_OP_WRITE || wr->op == SIM_OP_WRITE_IMM;
}

static bool is_read(const struct sim_wr *wr)
{
    return wr->op == SIM_OP_READ || wr->op == SIM_OP_READ_BACK;
}

static bool is_word(const struct sim_wr *wr)
{
    return wr->op == SIM_OP_FETCH_ADD || wr->op == SIM_OP_CMP_SWAP;
}

static bool covers(uint32_t from, uint32_t length, uint32_t at)
{
    return at >= from && at - from < length;
}

/* The first byte in [from, to) that differs, or `to`. */
static uint32_t first_difference(const uint8_t *a, const uint8_t *b, uint32_t from, uint32_t to)
{
    while (to - from >= 8 && word_at(a, from) == word_at(b, from))
        from += 8;
    while (from < to && a[from] == b[from])
        from++;
    return from;
}

/*
 * How many bytes from here to the end of the request under test a later one, which has not completed, may have put there already. Of a
 * READ's result all: its source may have changed since, and it is compared when it completes itself.
 */
static uint32_t later_explains(struct sim_end *end, uint64_t number, const struct sim_end *owner, uint32_t at, uint32_t most_bytes)
{
    for (uint64_t n = number + 1; n < end->posted; n++) {
        const struct sim_wr *later = sim_end_wr(end, n);
        uint32_t target = is_read(later) ? later->local : later->remote, left, i = 0;
        if (!(owner == end ? is_read(later) : is_write(later)) || !covers(target, later->length, at))
            continue;
        left = target + later->length - at < most_bytes ? target + later->length - at : most_bytes;
        if (owner == end)
            return left;
        while (i < left && owner->mem[at + i] == end->model[later->local + at + i - target])
            i++;
        if (i != 0)
            return i;
    }
    return 0;
}

static void compare(struct sim_end *end, const struct sim_wr *wr, uint64_t number, struct sim_end *owner, uint32_t at)
{
    uint32_t i = 0;

    if (memcmp(owner->mem + at, expected(owner, at, wr->length), wr->length) == 0)
        return;
    if (!whole(end) || !whole(owner))
        return;
    while ((i = first_difference(owner->mem + at, owner->model + at, i, wr->length)) < wr->length) {
        uint32_t explained = later_explains(end, number, owner, at + i, wr->length - i);
        if (explained == 0) {
            sim_violation(end->host->sim,
                          "nic%u QP 0x%x: %s number %llu of %u bytes has succeeded, but byte %u is 0x%02x and not 0x%02x",
                          end->host->number, end->qpn, sim_op_name(wr->op), (unsigned long long)number, wr->length, i,
                          owner->mem[at + i], owner->model[at + i]);
            return;
        }
        i += explained;
    }
}

static void check_word(struct sim_end *end, const struct sim_wr *wr, uint64_t number, uint64_t old)
{
    uint64_t got = word_at(end->mem, wr->local);

    if (got != old)
        sim_violation(end->host->sim, "nic%u QP 0x%x: %s number %llu returned 0x%llx and not 0x%llx", end->host->number, end->qpn,
                      sim_op_name(wr->op), (unsigned long long)number, (unsigned long long)got, (unsigned long long)old);
}

void sim_model_apply(struct sim_end *end, const struct sim_wr *wr, uint64_t number)
{
    struct sim_end *peer = end->peer;

    if (is_write(wr)) {
        change(peer, wr->remote, end, wr->local, wr->length);
        compare(end, wr, number, peer, wr->remote);
    } else if (is_read(wr)) {
        change(end, wr->local, peer, wr->remote, wr->length);
        compare(end, wr, number, end, wr->local);
    } else if (is_word(wr)) {
        uint64_t old = word_at(expected(peer, wr->remote, 8), 0);
        change_word(peer, wr->remote, changed(wr, old));
        change_word(end, wr->local, old);
        check_word(end, wr, number, old);
    } else if (wr->op == SIM_OP_SHARED_ADD) {
        uint64_t old = word_at(end->mem, wr->local);
        change_word(end, wr->local, old); /* any value that nobody else got is right */
        peer->host->shared_done++;
        sim_host_shared_result(peer->host, old);
    }
}

static uint32_t slot_of(const struct sim_end *end, uint64_t receive)
{
    uint32_t receives = (uint32_t)end->conn->workload->receives;

    return end->at.recv + (uint32_t)(receive % receives) * (end->at.recv_size / receives);
}

void sim_model_receive(struct sim_end *end, const struct sim_wr *wr, uint64_t number)
{
    struct sim_end *sender = end->peer;
    uint32_t at = slot_of(end, wr->receive);

    if (is_write(wr))
        return;
    change(end, at, sender, wr->local, wr->length);
    if (memcmp(end->mem + at, expected(end, at, wr->length), wr->length) != 0)
        sim_violation(end->host->sim, "nic%u QP 0x%x: %s number %llu of %u bytes from nic%u has arrived with other bytes",
                      end->host->number, end->qpn, sim_op_name(wr->op), (unsigned long long)number, wr->length,
                      sender->host->number);
}

/* ---- the end -------------------------------------------------------------------------------------------------------- */

/* A byte of `end` that a request of its peer may have put there before it failed. */
static bool peer_explains(struct sim_end *end, uint32_t at)
{
    struct sim_end *peer = end->peer;

    for (uint64_t n = peer->certain; n < peer->posted; n++) {
        const struct sim_wr *wr = sim_end_wr(peer, n);
        uint32_t slot = sim_op_receives(wr->op) && !is_write(wr) ? slot_of(end, wr->receive) : 0;
        if (is_write(wr) && covers(wr->remote, wr->length, at) && end->mem[at] == peer->model[wr->local + at - wr->remote])
            return true;
        if (slot != 0 && covers(slot, wr->length, at) && end->mem[at] == peer->model[wr->local + at - slot])
            return true;
    }
    return false;
}

/* A byte of `end` that a response to its own failed request may have put there. */
static bool response_explains(struct sim_end *end, uint32_t at)
{
    for (uint64_t n = end->certain; n < end->posted; n++) {
        const struct sim_wr *wr = sim_end_wr(end, n);
        if (is_read(wr) && covers(wr->local, wr->length, at) &&
            (end->mem[at] == end->peer->mem[wr->remote + at - wr->local] ||
             end->mem[at] == end->peer->model[wr->remote + at - wr->local]))
            return true;
        if (wr->op >= SIM_OP_FETCH_ADD && covers(wr->local, 8, at))
            return true;
    }
    return false;
}

/* Atomics that failed have been executed up to some point, each once: the word is what it was at one of these points. */
static void settle_words(struct sim_end *end)
{
    struct sim_end *peer = end->peer;
    uint8_t *model;

    for (unsigned i = 0; whole(end) && i < SIM_WORDS; i++) {
        uint32_t at = end->at.words + 8 * i;
        uint64_t value = word_at(end->model, at), is = word_at(end->mem, at);
        for (uint64_t n = peer->certain; n < peer->posted && value != is; n++) {
            const struct sim_wr *wr = sim_end_wr(peer, n);
            if (is_word(wr) && wr->remote == at)
                value = changed(wr, value);
        }
        if (value != word_at(end->model, at) && (model = model_of(end)) != NULL)
            memcpy(model + at, &value, 8);
    }
}

static const char *area_name(const struct sim_layout *l, uint32_t at)
{
    if (covers(l->tx, l->tx_size, at))
        return "the source of its messages";
    if (covers(l->rx, l->rx_size, at))
        return "the target of WRITEs";
    if (covers(l->words, 8 * SIM_WORDS, at))
        return "the target of atomics";
    if (covers(l->read, l->read_size, at))
        return "the results of READs";
    if (covers(l->results, l->recv - SIM_GUARD - l->results, at))
        return "the results of atomics";
    if (covers(l->recv, l->recv_size, at))
        return "the receive buffers";
    return "a guard outside all regions";
}

static bool is_as_expected(const struct sim_end *end)
{
    uint32_t after = end->change_at + end->change_size;

    if (end->mem_is_noise && end->own_model == NULL && end->change_size == 0)
        return true; /* and the noise is what it was: sim_model_check_noise */
    if (end->change_size == 0)
        return memcmp(end->mem, end->model, end->at.size) == 0;
    return memcmp(end->mem, end->model, end->change_at) == 0 &&
           memcmp(end->mem + end->change_at, end->change, end->change_size) == 0 &&
           memcmp(end->mem + after, end->model + after, end->at.size - after) == 0;
}

void sim_model_check(struct sim_end *end)
{
    bool unreliable = end->host->sim->sc.qp.service == SIM_UC;
    uint32_t wrong = 0, first = 0;

    if (end->peer->failed && !end->mem_is_noise)
        settle_words(end);
    if (is_as_expected(end) || !whole(end) || !whole(end->peer))
        return;
    for (uint32_t i = 0; i < end->at.size; i++) {
        if (end->mem[i] == end->model[i] || (unreliable && sim_unreliable_explains(end, i)) || (end->peer->failed && peer_explains(end, i)) ||
            (end->failed && response_explains(end, i)))
            continue;
        first = wrong == 0 ? i : first;
        wrong++;
    }
    if (wrong != 0)
        sim_violation(end->host->sim, "nic%u QP 0x%x: %u bytes differ from the model, the first in %s (offset %u): 0x%02x and not 0x%02x",
                      end->host->number, end->qpn, wrong, area_name(&end->at, first), first, end->mem[first], end->model[first]);
}
