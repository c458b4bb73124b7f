/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Doorbell registers lie in one region of blocks of 1024 bytes: 512 for queues without a doorbell record, then 512 of plain
 * registers. So the two registers of a UAR are 0x200 apart, as 0x600 and 0x800 of a ConnectX's page are.
 *
 * Wide: a block serves 8 UARs, each register has a cache line of its own.
 *
 * Packed: registers of up to 8 UARs share a line, 8 bytes each, so that looking at very many costs few lines. UARs are spread
 * over the lines of a chunk before a line gets a second one, and two busy ones rarely share. What keeps doorbells safe:
 *   - An empty plain register holds a random word, not 0. A write of 64 bytes to one goes over its neighbours', and whatever
 *     it leaves there, zeros too and whenever each piece of it comes, differs from that word. So it is seen that something was
 *     there, and the records of that UAR's queues are looked at (uar.c): a doorbell that was overwritten stands in them.
 *   - A block's last line of plain registers is nobody's: what is written behind the line before ends there. It never reaches
 *     the registers of queues without a record, which have nothing but these, nor the next page.
 *   - Doorbells of queues without a record are stores of 8 bytes, which meet no neighbour. Should somebody write more there,
 *     all the same nobody is hurt as a rule: a line with such a queue is given to no other UAR.
 */
#include "softnic/queue/regs.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "softnic/engine.h"
#include "softnic/exec/order.h"

enum {
    LINE = SN_CACHE_LINE,
    OTHER = 0x100,  /* bytes between the two BlueFlame buffers of a ConnectX */
    WINDOW = 0x200, /* bytes between the two registers of a UAR */
    BLOCK = 2 * WINDOW,
    WORDS = LINE / 8,
    BLOCK_LINES = SN_REG_GROUP - 1, /* of packed ones; the last is nobody's */
    CHUNK_LINES = 8 * BLOCK_LINES,  /* so many packed UARs share no line */
    CHUNK_UARS = CHUNK_LINES * WORDS,
    WIDE_FIRST = 64 /* UARs of a NIC that are wide although they need not be */
};

#define NO_QPN (~0x00ffffff00000000ull) /* a register's bits without those of the QP's number: never a doorbell */

static uint8_t *lines_of(const struct sn_nic *nic, uint32_t block, enum sn_reg_kind kind)
{
    return nic->regs.at + (size_t)block * BLOCK + (kind == SN_REG_PLAIN ? WINDOW : 0);
}

/* ---- which UAR ------------------------------------------------------------------------------------------------------- */

static uint32_t line_of(uint32_t position)
{
    return position / CHUNK_UARS * CHUNK_LINES + position % CHUNK_LINES;
}

static unsigned word_of(uint32_t position)
{
    return position % CHUNK_UARS / CHUNK_LINES;
}

static struct sn_uar_object *packed_at(const struct sn_nic *nic, uint32_t block, uint32_t line, unsigned word)
{
    uint32_t at = block * BLOCK_LINES + line;

    if (line >= BLOCK_LINES)
        return NULL;
    return sn_table_get(&nic->regs.packed, at / CHUNK_LINES * CHUNK_UARS + word * CHUNK_LINES + at % CHUNK_LINES + 1);
}

static struct sn_uar_object *wide_at(const struct sn_nic *nic, uint32_t block, uint32_t line)
{
    return sn_table_get(&nic->regs.wide, block * SN_REG_GROUP + line + 1);
}

/* ---- life ------------------------------------------------------------------------------------------------------------ */

static int map_file(struct sn_regs *r)
{
    int err;

    r->fd = memfd_create("softnic-uar", MFD_CLOEXEC);
    if (r->fd < 0)
        return -errno;
    if (ftruncate(r->fd, (off_t)r->size) == 0)
        r->at = mmap(NULL, r->size, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, 0);
    if (r->at == NULL || r->at == MAP_FAILED) {
        err = -errno;
        close(r->fd);
        r->at = NULL;
        return err;
    }
    (void)madvise(r->at, r->size, MADV_DONTFORK);
    return 0;
}

static int map_region(struct sn_nic *nic)
{
    struct sn_regs *r = &nic->regs;
    uint32_t most = nic->config.max_uars;
    /* Positions go up to the table's limit, not only to what is in use at once: UARs come and go. */
    uint32_t chunks = most <= WIDE_FIRST ? 0 : most / CHUNK_UARS + 1;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    int ret;

    r->wide_most = most / SN_REG_GROUP + 1;
    r->packed_most = chunks * (CHUNK_LINES / BLOCK_LINES);
    r->size = ((size_t)(r->wide_most + r->packed_most) * BLOCK + page - 1) / page * page;
    r->users = calloc((size_t)r->packed_most * SN_REG_GROUP + 1, sizeof(*r->users));
    ret = r->users == NULL ? -ENOMEM : map_file(r);
    if (ret != 0) {
        free(r->users);
        r->users = NULL;
    }
    return ret;
}

void sn_regs_free(struct sn_nic *nic)
{
    sn_table_free(&nic->regs.wide);
    sn_table_free(&nic->regs.packed);
    free(nic->regs.users);
    if (nic->regs.at == NULL)
        return;
    munmap(nic->regs.at, nic->regs.size);
    close(nic->regs.fd);
}

/* How many groups there are, and how many lines of them are looked at in one sweep. */
static void count(struct sn_nic *nic)
{
    struct sn_regs *r = &nic->regs;
    uint32_t lines = (r->wide_blocks + r->packed_blocks) * SN_REG_GROUP;

    r->groups = r->wide_blocks + r->packed_blocks;
    if (nic->recordless_users != 0) {
        r->groups *= 2;
        lines += (r->wide_blocks + r->blocks_in_use) * SN_REG_GROUP;
    }
    nic->port->reg_lines += lines - r->lines;
    r->lines = lines;
}

static void begin_packed_block(struct sn_nic *nic)
{
    struct sn_regs *r = &nic->regs;
    uint8_t *at = lines_of(nic, r->wide_most + r->packed_blocks++, SN_REG_PLAIN);

    while (r->empty == 0)
        r->empty = sn_nic_random(nic) & NO_QPN;
    for (size_t i = 0; i < WINDOW; i += 8)
        sn_store_relaxed64(at + i, r->empty);
}

static void place_packed(struct sn_nic *nic, struct sn_uar_object *uar)
{
    uint32_t line = line_of(uar->position);

    uar->block = line / BLOCK_LINES;
    while (nic->regs.packed_blocks <= uar->block)
        begin_packed_block(nic);
    uar->empty = nic->regs.empty;
    for (int kind = 0; kind < 2; kind++)
        uar->reg[kind] = lines_of(nic, nic->regs.wide_most + uar->block, (enum sn_reg_kind)kind) + line % BLOCK_LINES * LINE +
                         word_of(uar->position) * 8;
}

static void place_wide(struct sn_nic *nic, struct sn_uar_object *uar)
{
    uar->block = uar->position / SN_REG_GROUP;
    if (nic->regs.wide_blocks <= uar->block)
        nic->regs.wide_blocks = uar->block + 1;
    uar->empty = 0;
    for (int kind = 0; kind < 2; kind++)
        uar->reg[kind] = lines_of(nic, uar->block, (enum sn_reg_kind)kind) + uar->position % SN_REG_GROUP * LINE;
}

/* Queues without a record in a block: of all its lines, which is entry 0, and of each. */
static uint32_t *users_of(const struct sn_nic *nic, uint32_t block)
{
    return nic->regs.users + (size_t)block * SN_REG_GROUP;
}

/* Is it to lie on a line where a queue without a record is? */
static bool meets_recordless(const struct sn_nic *nic, uint32_t position)
{
    uint32_t line = line_of(position);

    return users_of(nic, line / BLOCK_LINES)[1 + line % BLOCK_LINES] != 0;
}

int sn_regs_place(struct sn_nic *nic, struct sn_uar_object *uar, bool packed)
{
    struct sn_regs *r = &nic->regs;
    uint32_t id;
    int ret = r->at == NULL ? map_region(nic) : 0;

    if (ret != 0)
        return ret;
    uar->packed = packed && r->wide.used >= WIDE_FIRST && sn_table_add(&r->packed, uar, nic->config.max_uars + 1, &id) == 0;
    if (uar->packed && meets_recordless(nic, id - 1)) {
        sn_table_remove(&r->packed, id);
        uar->packed = false;
    }
    if (!uar->packed)
        ret = sn_table_add(&r->wide, uar, nic->config.max_uars + 1, &id);
    if (ret != 0)
        return ret;
    uar->position = id - 1;
    if (uar->packed)
        place_packed(nic, uar);
    else
        place_wide(nic, uar);
    const struct sn_uar_object *across = sn_regs_partner(uar);
    if (across == NULL || across->other == NULL) /* else it may be that one's doorbell, and is looked at like one */
        (void)sn_take_register(uar->reg[SN_REG_PLAIN], uar->empty);
    (void)sn_take_register(uar->reg[SN_REG_DBRLESS], 0);
    count(nic);
    return 0;
}

void sn_regs_remove(struct sn_uar_object *uar)
{
    struct sn_regs *r = &uar->nic->regs;

    sn_table_remove(uar->packed ? &r->packed : &r->wide, uar->position + 1);
}

void sn_regs_recordless(struct sn_uar_object *uar, int change)
{
    struct sn_nic *nic = uar->nic;

    nic->recordless_users += (uint32_t)change;
    if (uar->packed) {
        uint32_t *users = users_of(nic, uar->block);
        nic->regs.blocks_in_use -= users[0] != 0;
        users[0] += (uint32_t)change;
        users[1 + line_of(uar->position) % BLOCK_LINES] += (uint32_t)change;
        nic->regs.blocks_in_use += users[0] != 0;
    }
    count(nic);
}

bool sn_regs_any_recordless(const struct sn_uar_object *uar)
{
    return uar->nic->recordless_users != 0 && (!uar->packed || users_of(uar->nic, uar->block)[0] != 0);
}

struct sn_uar_object *sn_regs_partner(const struct sn_uar_object *uar)
{
    if (uar->packed)
        return packed_at(uar->nic, uar->block, line_of(uar->position) % BLOCK_LINES ^ OTHER / LINE, word_of(uar->position));
    return wide_at(uar->nic, uar->block, uar->position % SN_REG_GROUP ^ OTHER / LINE);
}

/* ---- looking --------------------------------------------------------------------------------------------------------- */

/* A register holds something: its own UAR's, or the other one of somebody's, or nobody's. */
static unsigned found(struct sn_uar_object *own, struct sn_uar_object *across, uint8_t *reg, uint64_t empty)
{
    if (own == NULL && across != NULL && across->other != NULL)
        own = across;
    if (own != NULL)
        return sn_uar_look(own);
    (void)sn_take_register(reg, empty); /* so that it is not found again and again */
    return 0;
}

/* The first word of each line. */
static bool any_in_lines(const uint8_t *at)
{
    uint64_t any = 0;

    for (unsigned i = 0; i < SN_REG_GROUP; i++)
        any |= sn_load_relaxed64(at + i * LINE);
    return any != 0;
}

static unsigned look_wide(struct sn_nic *nic, uint32_t block, enum sn_reg_kind kind)
{
    uint8_t *at = lines_of(nic, block, kind);
    unsigned taken = 0;

    if (!any_in_lines(at))
        return 0;
    for (uint32_t i = 0; i < SN_REG_GROUP; i++)
        if (sn_load_relaxed64(at + i * LINE) != 0)
            taken += found(wide_at(nic, block, i), kind == SN_REG_PLAIN ? wide_at(nic, block, i ^ OTHER / LINE) : NULL,
                           at + i * LINE, 0);
    return taken;
}

/* Words of a line that differ from `empty`: which of them, as bits. */
static unsigned words_rung(const uint8_t *line, uint64_t empty)
{
    unsigned rung = 0;

    for (unsigned w = 0; w < WORDS; w++)
        rung |= (unsigned)(sn_load_relaxed64(line + w * 8) != empty) << w;
    return rung;
}

/*
 * All words of 8 lines, two with each load: this is most of what a sweep costs. Nothing hangs on how these loads are ordered
 * or torn: what they find is looked at again, and what they miss is there the next time.
 */
typedef uint64_t two_words __attribute__((vector_size(16)));

static SN_UNJUDGED bool any_in_words(const uint8_t *at, uint64_t empty)
{
    const volatile two_words *from = (const volatile two_words *)(const volatile void *)at;
    two_words any = {0, 0}, nothing = {empty, empty};

    for (unsigned i = 0; i < WINDOW / sizeof(two_words); i += 4)
        any |= (from[i] ^ nothing) | (from[i + 1] ^ nothing) | (from[i + 2] ^ nothing) | (from[i + 3] ^ nothing);
    return (any[0] | any[1]) != 0;
}

static unsigned look_packed(struct sn_nic *nic, uint32_t block, enum sn_reg_kind kind)
{
    uint64_t empty = kind == SN_REG_PLAIN ? nic->regs.empty : 0;
    uint8_t *at = lines_of(nic, nic->regs.wide_most + block, kind);
    unsigned taken = 0;

    if (!any_in_words(at, empty))
        return 0;
    for (uint32_t i = 0; i < SN_REG_GROUP; i++) {
        unsigned rung = words_rung(at + i * LINE, empty);
        for (unsigned w = 0; rung >> w != 0; w++)
            if ((rung >> w & 1) != 0)
                taken += found(packed_at(nic, block, i, w), kind == SN_REG_PLAIN ? packed_at(nic, block, i ^ OTHER / LINE, w) : NULL,
                               at + i * LINE + w * 8, empty);
    }
    return taken;
}

unsigned sn_regs_look(struct sn_nic *nic, uint32_t n, unsigned *taken)
{
    const struct sn_regs *r = &nic->regs;
    enum sn_reg_kind kind = SN_REG_PLAIN;

    if (n >= r->wide_blocks + r->packed_blocks) {
        kind = SN_REG_DBRLESS;
        n -= r->wide_blocks + r->packed_blocks;
    }
    if (n < r->wide_blocks) {
        *taken += look_wide(nic, n, kind);
        return SN_REG_GROUP;
    }
    n -= r->wide_blocks;
    if (kind == SN_REG_DBRLESS && users_of(nic, n)[0] == 0)
        return 0;
    *taken += look_packed(nic, n, kind);
    return SN_REG_GROUP;
}
