/* SPDX-License-Identifier: Apache-2.0 */
/* The responder's memory and keys as a capture shows them: what was there before, and what the requests make of it. */
#include <stdlib.h>
#include <sys/mman.h>

#include "exchange.h"
#include "format/bth.h"
#include "replay.h"

enum { PAGE = 4096 };
static const uint64_t MOST = 1ull << 32; /* bytes of address space for one exchange */
static const uint32_t EVERYTHING =
    SN_ACCESS_LOCAL_WRITE | SN_ACCESS_REMOTE_WRITE | SN_ACCESS_REMOTE_READ | SN_ACCESS_REMOTE_ATOMIC;

bool replay_names_memory(const struct sn_burst *p)
{
    return p->kind == SN_KIND_READ_REQUEST || story_is_atomic(p->kind) ||
           (p->kind == SN_KIND_WRITE && (p->flags & SN_BURST_FIRST));
}

static uint32_t bytes_of(const struct sn_burst *p)
{
    return story_is_atomic(p->kind) ? 8 : p->dmalen;
}

static uint32_t right_of(const struct sn_burst *p)
{
    return story_is_atomic(p->kind) ? SN_ACCESS_REMOTE_ATOMIC
           : p->kind == SN_KIND_WRITE ? SN_ACCESS_REMOTE_WRITE
                                      : SN_ACCESS_REMOTE_READ;
}

/* Not refused for good, nor behind what was. */
static bool is_taken(const struct replay *r, unsigned i)
{
    return r->s->refusal == 0 || sn_psn_diff(r->v->frame[i].packet.psn, r->s->refused_psn) < 0;
}

/* ---- keys ----------------------------------------------------------------------------------------------------------- */

static struct replay_key *find_key(const struct replay *r, uint32_t theirs)
{
    for (unsigned n = 0; n < r->keys; n++)
        if (r->key[n].theirs == theirs)
            return &r->key[n];
    return NULL;
}

static struct replay_key *key_for(struct replay *r, uint32_t theirs)
{
    struct replay_key *k = find_key(r, theirs);

    if (k != NULL)
        return k;
    r->key = realloc(r->key, (r->keys + 1) * sizeof(*r->key));
    assert_non_null(r->key);
    k = &r->key[r->keys++];
    *k = (struct replay_key){.theirs = theirs, .low = UINT64_MAX};
    return k;
}

static bool invalidates(const struct sn_burst *p)
{
    return p->kind == SN_KIND_SEND && (p->flags & SN_BURST_INVALIDATE);
}

/* What the capture did with each key, and got. */
static void find_keys(struct replay *r)
{
    for (unsigned i = 0; i < r->v->count; i++) {
        const struct sn_burst *p = &r->v->frame[i].packet;
        if (!exchange_is_request(p) || !is_taken(r, i))
            continue;
        if (invalidates(p))
            key_for(r, sn_swap32(p->imm))->access |= SN_ACCESS_REMOTE_INVALIDATE;
        if (!replay_names_memory(p) || bytes_of(p) == 0)
            continue;
        struct replay_key *k = key_for(r, p->rkey);
        k->low = p->va < k->low ? p->va : k->low;
        k->high = p->va + bytes_of(p) > k->high ? p->va + bytes_of(p) : k->high;
        k->access |= right_of(p);
    }
}

static bool is_inside(const struct replay_key *k, const struct sn_burst *p)
{
    return k->low < k->high && p->va >= k->low && p->va + bytes_of(p) <= k->high;
}

/* A key has all rights, unless that is what was refused. */
static void give_rights(struct replay *r)
{
    for (unsigned n = 0; n < r->keys; n++) {
        struct replay_key *k = &r->key[n];
        bool lacks = false;

        for (unsigned i = 0; i < r->v->count; i++) {
            const struct sn_burst *p = &r->v->frame[i].packet;
            lacks |= exchange_is_request(p) && replay_names_memory(p) && p->rkey == k->theirs && !is_taken(r, i) &&
                     is_inside(k, p) && (k->access & right_of(p)) == 0;
        }
        k->access |= lacks ? SN_ACCESS_LOCAL_WRITE : EVERYTHING;
    }
}

uint32_t replay_key_of(const struct replay *r, unsigned i)
{
    const struct sn_burst *p = &r->v->frame[i].packet;
    uint32_t theirs = invalidates(p) ? sn_swap32(p->imm) : p->rkey;
    const struct replay_key *k = find_key(r, theirs);
    bool refused = r->s->refusal == SN_AETH_NAK_ACCESS && p->psn == r->s->refused_psn;

    /* Refused, though nothing that the capture shows is wrong with it: the key has gone meanwhile. */
    if (k == NULL || k->ours == 0 ||
        (refused && is_inside(k, p) && (k->access & right_of(p)) && !(k->access & SN_ACCESS_REMOTE_INVALIDATE)))
        return theirs ^ 0x5a5a5a5a;
    return k->ours;
}

/* ---- memory --------------------------------------------------------------------------------------------------------- */

static int by_address(const void *a, const void *b)
{
    const struct replay_chunk *x = a, *y = b;
    return x->low < y->low ? -1 : x->low > y->low;
}

/* Whole pages, so that alignment is kept; keys whose ranges touch share their bytes. */
static bool find_chunks(struct replay *r)
{
    uint64_t total = 0;
    unsigned n = 0;

    r->chunk = calloc(r->keys + 1, sizeof(*r->chunk));
    assert_non_null(r->chunk);
    for (unsigned k = 0; k < r->keys; k++)
        if (r->key[k].low < r->key[k].high)
            r->chunk[r->chunks++] = (struct replay_chunk){.low = r->key[k].low & ~(uint64_t)(PAGE - 1),
                                                          .high = (r->key[k].high + PAGE - 1) & ~(uint64_t)(PAGE - 1)};
    qsort(r->chunk, r->chunks, sizeof(*r->chunk), by_address);
    for (unsigned k = 1; k < r->chunks; k++) {
        if (r->chunk[k].low > r->chunk[n].high)
            r->chunk[++n] = r->chunk[k];
        else if (r->chunk[k].high > r->chunk[n].high)
            r->chunk[n].high = r->chunk[k].high;
    }
    r->chunks = r->chunks == 0 ? 0 : n + 1;
    for (unsigned k = 0; k < r->chunks; k++) {
        total += r->chunk[k].high - r->chunk[k].low;
        if (r->chunk[k].high < r->chunk[k].low || total > MOST)
            return replay_no(r, REASON_LIMIT, "keys that span more than %llu bytes", (unsigned long long)MOST);
    }
    return true;
}

static uint8_t *map(uint64_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

static bool map_chunks(struct replay *r)
{
    for (unsigned n = 0; n < r->chunks; n++) {
        struct replay_chunk *c = &r->chunk[n];
        c->bytes = map(c->high - c->low);
        c->expected = map(c->high - c->low);
        if (c->bytes == NULL || c->expected == NULL)
            return replay_no(r, REASON_LIMIT, "keys that span %llu bytes: no memory", (unsigned long long)(c->high - c->low));
    }
    return true;
}

/* Every range that a taken request names lies in one chunk. NULL: it does not. */
static struct replay_chunk *chunk_at(const struct replay *r, uint64_t va, uint64_t length)
{
    for (unsigned n = 0; n < r->chunks; n++)
        if (va >= r->chunk[n].low && va + length <= r->chunk[n].high)
            return &r->chunk[n];
    return NULL;
}

static void put(const struct replay *r, uint64_t va, const void *from, uint32_t length)
{
    struct replay_chunk *c = chunk_at(r, va, length);

    if (c == NULL)
        return;
    memcpy(c->bytes + (va - c->low), from, length);
    memcpy(c->expected + (va - c->low), from, length);
}

/* What a READ brought was there, and what an atomic found. Later requests see what earlier ones left. */
static void fill_from_answers(struct replay *r)
{
    const struct vector *v = r->v;

    for (unsigned i = v->count; i-- > 0;) {
        const struct sn_burst *q = &v->frame[i].packet;
        if (q->kind != SN_KIND_READ_REQUEST && !story_is_atomic(q->kind))
            continue;
        for (unsigned j = i + 1; j < v->count; j++) {
            const struct sn_burst *a = &v->frame[j].packet;
            int32_t d = sn_psn_diff(a->psn, q->psn);
            uint64_t at = (uint64_t)d << (7 + r->s->mtu);
            if (exchange_is_request(a) || d < 0)
                continue;
            if (q->kind == SN_KIND_READ_REQUEST && a->kind == SN_KIND_READ_RESPONSE && a->length != 0 &&
                at + a->length <= q->dmalen)
                put(r, q->va + at, a->iov[0].addr, a->length);
            if (story_is_atomic(q->kind) && a->kind == SN_KIND_ATOMIC_ACK && d == 0)
                put(r, q->va, &a->atomic_orig, 8);
        }
    }
}

static void change_word(uint8_t *at, const struct sn_burst *p)
{
    uint64_t word;

    memcpy(&word, at, 8);
    word = p->kind == SN_KIND_ATOMIC_FA ? word + p->swap_add : word == p->compare ? p->swap_add : word;
    memcpy(at, &word, 8);
}

/* What the requests make of it, each PSN once. Nothing, if there is nobody. */
static void expect_effects(struct replay *r)
{
    const struct vector *v = r->v;
    uint32_t next = v->frame[r->s->message[0].first].packet.psn;

    for (unsigned i = 0; i < v->count && !r->s->nobody; i++) {
        const struct sn_burst *p = &v->frame[i].packet;
        if (!exchange_is_request(p) || p->psn != next || !is_taken(r, i))
            continue;
        const struct message *m = &r->s->message[r->s->of[i]];
        next = sn_psn_add(next, p->kind == SN_KIND_READ_REQUEST ? m->packets : 1);
        uint64_t va = v->frame[m->first].packet.va + story_offset(r->s, i);
        uint32_t length = story_is_atomic(p->kind) ? 8 : p->length;
        struct replay_chunk *c = p->kind == SN_KIND_SEND ? NULL : chunk_at(r, va, length);
        if (c == NULL)
            continue;
        if (p->kind == SN_KIND_WRITE && length != 0)
            memcpy(c->expected + (va - c->low), p->iov[0].addr, length);
        else if (story_is_atomic(p->kind))
            change_word(c->expected + (va - c->low), p);
    }
}

bool replay_memory_make(struct replay *r)
{
    find_keys(r);
    give_rights(r);
    if (!find_chunks(r) || !map_chunks(r))
        return false;
    fill_from_answers(r);
    expect_effects(r);
    for (unsigned n = 0; n < r->keys; n++) {
        struct replay_key *k = &r->key[n];
        struct replay_chunk *c = k->low < k->high ? chunk_at(r, k->low, k->high - k->low) : NULL;
        if (c != NULL)
            k->ours = end_key(&r->e, c->bytes + (k->low - c->low), (size_t)(k->high - k->low), k->low, k->access);
        else if (k->access & SN_ACCESS_REMOTE_INVALIDATE) /* of memory that nobody asks for */
            k->ours = end_key(&r->e, r->e.mem, PAGE, 0, k->access);
    }
    return true;
}

bool replay_memory_check(struct replay *r)
{
    for (unsigned n = 0; n < r->chunks; n++) {
        const struct replay_chunk *c = &r->chunk[n];
        uint64_t at = 0;

        if (memcmp(c->bytes, c->expected, c->high - c->low) == 0)
            continue;
        while (c->bytes[at] == c->expected[at])
            at++;
        return replay_no(r, REASON_MEMORY, "the answers are right, but not the byte at 0x%llx",
                         (unsigned long long)(c->low + at));
    }
    return true;
}

void replay_memory_free(struct replay *r)
{
    for (unsigned n = 0; n < r->keys; n++)
        if (r->key[n].ours != 0)
            assert_int_equal(sn_mkey_destroy(r->e.nic, r->key[n].ours), 0);
    for (unsigned n = 0; n < r->chunks; n++) {
        if (r->chunk[n].bytes != NULL)
            munmap(r->chunk[n].bytes, r->chunk[n].high - r->chunk[n].low);
        if (r->chunk[n].expected != NULL)
            munmap(r->chunk[n].expected, r->chunk[n].high - r->chunk[n].low);
    }
    free(r->key);
    free(r->chunk);
}
