/* SPDX-License-Identifier: Apache-2.0 */
#include "sides.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "softnic/wire/wire.h"

/* World without NICs of the harness's numbers: the wire gives the slot. */
void side_open(struct side *s, const struct options *o, uint8_t host, bool (*wants_cpu)(int pid))
{
    struct sn_shm_config config = {.ring_bytes = SIDE_RING, .passive = true, .wants_cpu = wants_cpu};
    uint8_t gid[1][16] = {{0xfd, 0x77, [14] = host}}, slot;

    gid[0][8] = (uint8_t)(getpid() >> 8);
    gid[0][9] = (uint8_t)getpid();
    memset(s, 0, sizeof(*s));
    s->threads = true;
    world_open(&s->w, o);
    assert_int_equal(sn_shm_create(s->w.port, &config, &s->wire), 0);
    assert_int_equal(sn_shm_bind(s->wire, gid, 1, &slot), 0);
    struct sn_nic_config nic = {.name = "softnic9", .gid_count = 1, .slot = slot, .seed = 5};
    memcpy(nic.gid[0], gid[0], 16);
    assert_int_equal(sn_nic_destroy(s->w.nic[0]), 0);
    assert_int_equal(sn_nic_create(s->w.port, &nic, &s->w.nic[0]), 0);
    sn_port_attach_wire(s->w.port, s->wire);
    end_open(&s->e, &s->w, 0, o);
}

/* ---- a cable of frames ---- */

enum { CABLE_FRAMES = 4096, CABLE_PORT = 0xc123 };

struct frame {
    struct sn_frame_in in;
    uint8_t bytes[]; /* of `in` */
};

struct cable_end {
    struct sn_backend base; /* first */
    struct cable_end *far;
    struct frame *arrived[CABLE_FRAMES];
    unsigned first, count; /* [first - given, first) are in use until more is asked for */
    unsigned given;
};

static int cable_address(struct sn_backend *b, const struct sn_burst *burst, uint16_t *udp_sport)
{
    (void)b;
    (void)burst;
    *udp_sport = *udp_sport != 0 ? *udp_sport : CABLE_PORT;
    return 0;
}

static void let_go(struct cable_end *c, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        free(c->arrived[(c->first - c->given + i) % CABLE_FRAMES]);
    c->given -= n;
}

static int cable_send(struct sn_backend *b, const struct sn_frame_out *out, unsigned count)
{
    struct cable_end *far = ((struct cable_end *)b)->far;

    for (unsigned i = 0; far != NULL && i < count; i++) {
        struct frame *f = malloc(sizeof(*f) + out[i].length);
        assert_non_null(f);
        assert_true(far->count + far->given < CABLE_FRAMES);
        memcpy(f->bytes, out[i].bytes, out[i].length);
        f->in = (struct sn_frame_in){.bytes = f->bytes,
                                     .length = out[i].length,
                                     .udp_sport = out[i].udp_sport,
                                     .tclass = out[i].tclass,
                                     .hop_limit = 64};
        memcpy(f->in.sgid, out[i].sgid, 16);
        memcpy(f->in.dgid, out[i].dgid, 16);
        far->arrived[(far->first + far->count++) % CABLE_FRAMES] = f;
    }
    return (int)count;
}

static int cable_receive(struct sn_backend *b, struct sn_frame_in *in, unsigned max)
{
    struct cable_end *c = (struct cable_end *)b;
    unsigned n = c->count < max ? c->count : max;

    let_go(c, c->given);
    for (unsigned i = 0; i < n; i++)
        in[i] = c->arrived[c->first++ % CABLE_FRAMES]->in;
    c->count -= n;
    c->given = n;
    b->more = c->count != 0;
    return (int)n;
}

static void cable_destroy(struct sn_backend *b)
{
    struct cable_end *c = (struct cable_end *)b;

    c->first += c->count;
    c->given += c->count;
    let_go(c, c->given);
    if (c->far != NULL)
        c->far->far = NULL;
    free(c);
}

void cable_ends(struct sn_backend **first, struct sn_backend **second)
{
    static const struct sn_backend_ops ops = {.name = "cable",
                                              .layer = SN_LAYER_UDP,
                                              .address = cable_address,
                                              .send = cable_send,
                                              .receive = cable_receive,
                                              .destroy = cable_destroy};
    struct cable_end *end[2];

    for (int i = 0; i < 2; i++) {
        end[i] = calloc(1, sizeof(*end[i]));
        assert_non_null(end[i]);
        end[i]->base = (struct sn_backend){.ops = &ops, .runs = true, .id_unknown = true, .mtu = 65535, .window = 262144};
    }
    end[0]->far = end[1];
    end[1]->far = end[0];
    *first = &end[0]->base;
    *second = &end[1]->base;
}

void side_open_frames(struct side *s, const struct options *o, uint8_t host, struct sn_backend *end, bool ipv4)
{
    struct sn_nic_config nic = {.name = "softnic9", .gid_count = 1, .slot = host, .seed = 5};
    const uint8_t four[16] = {[10] = 0xff, [11] = 0xff, [12] = 127, [15] = host}, six[16] = {0xfd, 0x78, [15] = host};

    memset(s, 0, sizeof(*s));
    world_open(&s->w, o);
    assert_int_equal(sn_packet_wire_create(s->w.port, end, true, &s->wire), 0);
    memcpy(nic.gid[0], ipv4 ? four : six, 16);
    assert_int_equal(sn_nic_destroy(s->w.nic[0]), 0);
    assert_int_equal(sn_nic_create(s->w.port, &nic, &s->w.nic[0]), 0);
    sn_port_attach_wire(s->w.port, s->wire);
    end_open(&s->e, &s->w, 0, o);
}

void side_close(struct side *s)
{
    sn_port_lock(s->w.port); /* the wire's helper thread may just be told that the other side is gone */
    end_close(&s->e);
    sn_port_attach_wire(s->w.port, NULL);
    sn_port_unlock(s->w.port);
    s->wire->ops->destroy(s->wire);
    world_close(&s->w);
}

int side_run(struct side *s)
{
    int work;

    while ((work = sn_port_run(s->w.port)) == -EBUSY)
        sched_yield();
    return work;
}

int sides_turn(struct side *a, struct side *b, int n, uint64_t ns)
{
    const struct timespec moment = {.tv_nsec = 50000};
    int work = 0;

    for (int i = 0; i < n; i++) {
        a->w.now += ns;
        b->w.now += ns;
        work += side_run(a);
        work += side_run(b);
        if (i % 16 == 0 && a->threads)
            nanosleep(&moment, NULL);
    }
    return work;
}
