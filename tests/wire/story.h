/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an exchange tells: the requests that were made, as their packets were first captured, and how the responder took
 * each packet. Nothing of the engine is in it.
 */
#ifndef TESTS_WIRE_STORY_H
#define TESTS_WIRE_STORY_H

#include "vector.h"

struct message {
    unsigned first;  /* frame that begins it */
    bool whole;      /* its last packet was captured */
    unsigned last;   /* if so: that frame */
    uint32_t psn, packets; /* PSNs that it takes; not whole: as many as are known of */
    uint32_t length; /* bytes that it carries or asks for; not whole: those known of */
};

struct story {
    const struct vector *v;
    uint8_t mtu; /* code */
    struct message *message;
    unsigned messages;
    unsigned *of; /* each request frame's message; UINT_MAX: an answer's frame */
    /* A refusal that ends the connection; syndrome 0: there is none. */
    uint8_t refusal;
    uint32_t refused_psn;
    bool waits;  /* there are receiver-not-ready NAKs */
    bool nobody; /* nobody answers, though acknowledgements were asked for: there is no such queue pair */
    uint64_t bytes; /* of all messages, each rounded up to STORY_ALIGN */
};

enum { STORY_ALIGN = 64 };

/* False: `why` says why the exchange cannot be told from its capture. Freed in either case. */
bool story_begin(struct story *s, const struct vector *v, char why[256]);
void story_end(struct story *s);

uint32_t story_next_psn(const struct message *m);
bool story_is_atomic(uint8_t kind);
bool story_is_fatal(const struct sn_burst *answer); /* a NAK that ends the connection */

/* The responder was not ready for what frame i carries, or refused it for good: the syndrome; 0: neither. */
uint8_t story_refusal_of(const struct story *s, unsigned i);

/* Offset of frame i's payload in its message. */
uint32_t story_offset(const struct story *s, unsigned i);

#endif
