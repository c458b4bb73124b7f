/* SPDX-License-Identifier: Apache-2.0 */
#include "softnic/wire/packet_talk.h"

static struct sn_talk *talk_of(struct sn_talks *t, uint32_t qpn)
{
    struct sn_talk *k = &t->talk[(qpn ^ qpn >> 8) & (SN_TALKS - 1)];
    if (k->qpn != qpn)
        *k = (struct sn_talk){.qpn = qpn};
    return k;
}

unsigned sn_talk_answered(struct sn_talks *t, uint32_t qpn)
{
    struct sn_talk *k = talk_of(t, qpn);
    if (k->rest) {
        k->rest--;
        return 0;
    }
    if (k->answers < SN_TALK_ANSWERS) {
        k->answers++;
        return 0;
    }
    return k->covered < SN_TALK_COVERED ? SN_TALK_TURNS : 0;
}

void sn_talk_covered(struct sn_talks *t, uint32_t qpn)
{
    struct sn_talk *k = talk_of(t, qpn);
    k->covered++;
    k->helped++;
}

void sn_talk_left(struct sn_talks *t, uint32_t qpn, bool in_vain)
{
    struct sn_talk *k = talk_of(t, qpn);
    k->covered = 0;
    if (!in_vain)
        return;
    if (k->helped >= 2 * SN_TALK_COVERED) { /* a hiccup: the talk as a whole is worth it */
        k->last_rest = 0;
        k->helped = 0;
        return;
    }
    k->helped = 0;
    k->answers = 0;
    k->last_rest = k->last_rest ? k->last_rest * 2 : SN_TALK_REST;
    if (k->last_rest > SN_TALK_REST_MAX)
        k->last_rest = SN_TALK_REST_MAX;
    k->rest = k->last_rest;
}
