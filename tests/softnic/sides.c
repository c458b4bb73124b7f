/* SPDX-License-Identifier: Apache-2.0 */
#include "sides.h"

#include <errno.h>
#include <sched.h>
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
        if (i % 16 == 0)
            nanosleep(&moment, NULL);
    }
    return work;
}
