/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which way a socket is read. With control data the kernel tells a run of frames from one, how a frame was marked, and how
 * long it had to live; for two ends that send each other one frame at a time that is a tenth of a hop, and always says the
 * same. So a socket whose messages come alone is read bare, with segmentation offload switched off: the kernel then takes
 * runs apart itself. It also tells nothing any more of runs that were put together before, so the switch is made when the
 * queue is empty, and taken back if something has come meanwhile. (A run that another processor was just queuing is taken
 * for one frame, whose CRC is wrong: lost, as a wire may lose it.)
 *
 * No mark is overlooked: a router marks only what says that it is ECN-capable (RFC 3168, 5), and a socket that gets
 * such frames is never read bare. Every sixteenth message is read with control data all the same, so a sender who begins
 * to say so is noticed; until then at most fifteen of its frames go without a look at their marks. Bare frames count as what
 * the last told one said. Datagrams show their headers to the program (the GRH), so a socket that gets some is told, too.
 */
#ifndef SOFTNIC_WIRE_UDP_LONE_H
#define SOFTNIC_WIRE_UDP_LONE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    UDP_LONE_AFTER = 64,      /* messages in a row that come alone, before they are read bare */
    UDP_LONE_TOLD_EVERY = 16,
    UDP_LONE_PAIR = 2,        /* a message and an acknowledgement are alone, too */
    UDP_LONE_ROW = 8,         /* messages without an empty look between them: no talk any more */
    UDP_LONE_LARGE = 2048,    /* bytes: one of many */
    UDP_LONE_AFTER_MARKS = 65536, /* instead of AFTER, once frames came that have to be told */
};

struct udp_lone {
    bool bare;           /* offload is off */
    uint8_t tclass, hop_limit; /* of the last told frame */
    uint8_t untold;      /* messages since then */
    unsigned row;        /* messages since the last look that found nothing */
    uint32_t alone, need; /* messages that came alone, in a row; and how many it takes. need 0: AFTER */
};

/* A message, as far as it has been told. */
struct udp_said {
    const uint8_t *bytes;
    size_t length;
    bool told; /* and if so: */
    bool run;  /* more than one frame, or more than one message were there */
    uint8_t tclass, hop_limit;
};

/* May the next look do without control data? */
static inline bool udp_lone_may_be_bare(const struct udp_lone *l)
{
    return l->bare && l->untold + 1 < UDP_LONE_TOLD_EVERY;
}

/* A look has found nothing. True: this is the moment to switch offload off, and then to say udp_lone_begin. */
static inline bool udp_lone_nothing(struct udp_lone *l)
{
    l->row = 0;
    return !l->bare && l->alone >= (l->need ? l->need : UDP_LONE_AFTER);
}

/* Offload is off, and the queue is still empty. Or it is not (`done` false), or this kernel does not have it (`never`). */
void udp_lone_begin(struct udp_lone *l, bool done, bool never);

/* A look has found this. True: offload has to be on again, before the next look. */
bool udp_lone_found(struct udp_lone *l, const struct udp_said *s);

#endif
