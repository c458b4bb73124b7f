/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Acknowledgements that can wait. Two programs that answer each other's messages do not look at completions in between: an
 * acknowledgement that leaves behind each answer then costs both ends a frame, and tells the peer nothing that the answer
 * has not. So while a queue pair answers, its acknowledgement waits for the peer's next message, whose own one covers it
 * (9.7.5.1.2), but no longer than TURNS turns of the port, and a sixteenth one leaves in any case.
 *
 * Whether the peer's program waits for the completion cannot be seen but by trying. A trial that helped a few times only is
 * given up, and the next one comes after twice as many answers as the last.
 */
#ifndef SOFTNIC_WIRE_PACKET_TALK_H
#define SOFTNIC_WIRE_PACKET_TALK_H

#include <stdbool.h>
#include <stdint.h>

enum {
    SN_TALKS = 256,        /* queue pairs that are kept in mind; two that collide take turns */
    SN_TALK_ANSWERS = 16,  /* in a row, before an acknowledgement waits */
    SN_TALK_TURNS = 64,    /* about 50 us of looks at a UDP socket */
    SN_TALK_NS = 1000000,  /* and no longer than this where turns are rare */
    SN_TALK_COVERED = 15,  /* acknowledgements in a row that do not leave */
    SN_TALK_REST = 64,     /* answers after a trial that failed, doubling to the next one */
    SN_TALK_REST_MAX = 65536,
};

struct sn_talks {
    struct sn_talk {
        uint32_t qpn; /* of ours; 0: free */
        uint8_t answers, covered; /* in a row */
        uint32_t helped;          /* acknowledgements covered since the trial began */
        uint32_t rest, last_rest; /* answers until the next trial; what the last pause began with */
    } talk[SN_TALKS];
};

/* This queue pair's request has just left, its acknowledgement of what came before waits. For how many turns may it? */
unsigned sn_talk_answered(struct sn_talks *t, uint32_t qpn);

/* The acknowledgement that waited has been replaced by the next one. */
void sn_talk_covered(struct sn_talks *t, uint32_t qpn);

/* It has waited long enough, or had to leave in other company: the next is the first of a row. */
void sn_talk_left(struct sn_talks *t, uint32_t qpn, bool in_vain);

#endif
