/* SPDX-License-Identifier: Apache-2.0 */
#include "softnic/wire/udp_lone.h"

enum { ECN = 3, SERVICE_SHIFT = 5 /* of a BTH's opcode; 0: reliable connection */ };

void udp_lone_begin(struct udp_lone *l, bool done, bool never)
{
    l->bare = done;
    l->alone = 0;
    if (never)
        l->need = UINT32_MAX;
}

static bool leave(struct udp_lone *l)
{
    bool was_bare = l->bare;
    l->bare = false;
    l->alone = 0;
    return was_bare;
}

/* What it says beside its bytes matters, or may soon. */
static bool must_be_told(const struct udp_said *s)
{
    return s->length == 0 || s->bytes[0] >> SERVICE_SHIFT != 0 || (s->told && s->tclass & ECN);
}

bool udp_lone_found(struct udp_lone *l, const struct udp_said *s)
{
    l->row++;
    l->untold = s->told ? 0 : (uint8_t)(l->untold + 1);
    if (s->told) {
        l->tclass = s->tclass;
        l->hop_limit = s->hop_limit;
    }
    if (must_be_told(s)) {
        l->need = l->need == UINT32_MAX ? l->need : UDP_LONE_AFTER_MARKS;
        return leave(l);
    }
    if (s->run || s->length >= UDP_LONE_LARGE || l->row > UDP_LONE_ROW)
        return leave(l);
    if (l->row > UDP_LONE_PAIR)
        l->alone = 0;
    else if (l->alone < UDP_LONE_AFTER_MARKS)
        l->alone++;
    return false;
}
