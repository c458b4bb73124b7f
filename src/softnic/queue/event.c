/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events: who watches an object, and when a completion queue says that something has come.
 *
 * A CQ is armed by the second word of its record: request number in bits 29..28, "solicited only" in bit 24, consumer
 * index in bits 23..0. One request makes one event, so a request counts while its number differs from that of the last
 * event. A ConnectX is told of a request by a doorbell as well. Here the word itself is looked at, with each CQE, and in
 * idle turns for a CQ that has written CQEs while it was not armed: a request that device code stores is found, too.
 */
#include "softnic/engine.h"
#include "softnic/exec/order.h"
#include "format/doorbell.h"

enum {
    ARMS_A_TURN = 8, /* CQs whose record is looked at in a turn */
    ARM_NEVER = 3,   /* number of no request: the first one is 0 */
};

static void watch(struct sn_watch **list, struct sn_watch *w)
{
    w->link = list;
    w->next = *list;
    if (w->next != NULL)
        w->next->link = &w->next;
    *list = w;
}

void sn_unwatch(struct sn_watch *w)
{
    if (w->link == NULL)
        return;
    *w->link = w->next;
    if (w->next != NULL)
        w->next->link = w->link;
    w->link = NULL;
}

/* The object goes away: nobody hears of it any more. */
void sn_watch_end(struct sn_watch *list)
{
    while (list != NULL) {
        struct sn_watch *next = list->next;
        list->link = NULL;
        list = next;
    }
}

void sn_watch_tell(struct sn_watch *list, enum sn_event_type type, uint32_t number, uint8_t syndrome)
{
    const struct sn_event event = {.type = type, .number = number, .syndrome = syndrome};

    while (list != NULL) {
        struct sn_watch *next = list->next; /* it may end its own watch */
        if (!(list->without & 1u << type))
            list->fn(list, &event);
        list = next;
    }
}

int sn_qp_watch(struct sn_nic *nic, uint32_t qpn, struct sn_watch *w)
{
    struct sn_qp *qp = sn_qp_find(nic, qpn);

    if (qp == NULL)
        return sn_fail(-ENOENT, "watch a QP", "qp", qpn, "no such QP", qpn);
    watch(&qp->watches, w);
    return 0;
}

int sn_srq_watch(struct sn_nic *nic, uint32_t srqn, struct sn_watch *w)
{
    struct sn_srq *srq = sn_table_get(&nic->srqs, srqn);

    if (srq == NULL)
        return sn_fail(-ENOENT, "watch an SRQ", "srq", srqn, "no such SRQ", srqn);
    watch(&srq->watches, w);
    return 0;
}

int sn_cq_watch(struct sn_nic *nic, uint32_t cqn, struct sn_watch *w)
{
    struct sn_cq *cq = sn_cq_find(nic, cqn);

    if (cq == NULL)
        return sn_fail(-ENOENT, "watch a CQ", "cq", cqn, "no such CQ", cqn);
    watch(&cq->watches, w);
    cq->arms |= !(w->without & 1u << SN_EVENT_COMPLETION);
    return sn_cq_look_arm(nic, cqn);
}

void sn_nic_watch(struct sn_nic *nic, struct sn_watch *w)
{
    watch(&nic->watches, w);
}

void sn_port_tell_link(struct sn_port *port, bool up)
{
    port->link_down = !up;
    for (struct sn_nic *nic = port->nics; nic != NULL; nic = nic->next)
        sn_watch_tell(nic->watches, up ? SN_EVENT_PORT_UP : SN_EVENT_PORT_DOWN, 1, 0);
}

bool sn_nic_link_up(const struct sn_nic *nic)
{
    return !nic->port->link_down;
}

/* ---- arming -------------------------------------------------------------------------------------------------- */

static bool load_arm(struct sn_cq *cq, uint32_t *word)
{
    const uint8_t *at = (const uint8_t *)cq->attr.record.addr + SN_CQ_DBR_ARM;

    if (cq->attr.record.length < 8)
        return false;
    if (cq->attr.record.space == SN_SPACE_HOST)
        *word = sn_load_acquire32(at);
    else if (sn_mem_copy_now(cq->nic->port, word, at, 4, SN_SPACE_GPU) != 0)
        return false;
    *word = sn_swap32(*word);
    return true;
}

/*
 * Does what has been written meet the request? A CQE counts that lies behind the request's consumer index and came after
 * the last event; the CQ context of a ConnectX has that index, too. So a program may make its request before it reads what
 * the last event was about, and hears of it once.
 */
static bool meets(const struct sn_cq *cq, uint32_t word)
{
    uint32_t behind = (cq->producer - word) & 0xffffffu, fresh = cq->producer - cq->notified;

    if (behind >= 1u << 23) /* the request is ahead of us */
        return false;
    if (fresh < behind)
        behind = fresh;
    if (behind == 0)
        return false;
    if (!(word & SN_CQ_ARM_SOLICITED))
        return true;
    return cq->has_notable && cq->producer - cq->notable - 1 < behind;
}

static void leave_unarmed(struct sn_cq *cq)
{
    struct sn_port *port = cq->nic->port;

    if (cq->unarmed_link == NULL)
        return;
    if (port->unarmed_cursor == cq)
        port->unarmed_cursor = cq->unarmed_next;
    *cq->unarmed_link = cq->unarmed_next;
    if (cq->unarmed_next != NULL)
        cq->unarmed_next->unarmed_link = cq->unarmed_link;
    cq->unarmed_link = NULL;
}

static void join_unarmed(struct sn_cq *cq)
{
    struct sn_port *port = cq->nic->port;

    if (cq->unarmed_link != NULL)
        return;
    cq->unarmed_link = &port->unarmed;
    cq->unarmed_next = port->unarmed;
    if (cq->unarmed_next != NULL)
        cq->unarmed_next->unarmed_link = &cq->unarmed_next;
    port->unarmed = cq;
}

/* After CQEs were written, or when a request may have been made. True: an event was raised. */
bool sn_cq_check_arm(struct sn_cq *cq)
{
    uint32_t word;

    if (!load_arm(cq, &word))
        return false;
    if (((word >> 28) & 3) == cq->fired) {
        join_unarmed(cq); /* nobody has asked yet */
        return false;
    }
    leave_unarmed(cq); /* the next CQE looks */
    if (!meets(cq, word))
        return false;
    cq->fired = (word >> 28) & 3;
    cq->notified = cq->producer;
    sn_watch_tell(cq->watches, SN_EVENT_COMPLETION, cq->number, 0);
    return true;
}

/* Number 0 is the first request's: a word of zeros that nobody has written would be taken for it. */
void sn_cq_unask(struct sn_nic *nic, uint32_t cqn)
{
    struct sn_cq *cq = sn_cq_find(nic, cqn);
    uint32_t none = sn_swap32(SN_CQ_ARM_NUMBER(ARM_NEVER)), word;

    if (cq != NULL && cq->attr.record.space == SN_SPACE_HOST && load_arm(cq, &word) && word == 0)
        sn_store_release32((uint8_t *)cq->attr.record.addr + SN_CQ_DBR_ARM, none);
}

/*
 * Has the program not yet read what the last event was about? Then it makes its request first, and will read all that is
 * there: that event stands for everything that has come until now.
 */
static bool event_is_unread(const struct sn_cq *cq, uint32_t word)
{
    uint32_t unread = (cq->notified - word) & 0xffffffu;

    return unread != 0 && unread < 1u << 23;
}

int sn_cq_look_arm(struct sn_nic *nic, uint32_t cqn)
{
    struct sn_cq *cq = sn_cq_find(nic, cqn);
    uint32_t word;

    if (cq == NULL)
        return sn_fail(-ENOENT, "arm a CQ", "cq", cqn, "no such CQ", cqn);
    if (!cq->arms)
        return 0;
    if (load_arm(cq, &word) && ((word >> 28) & 3) != cq->fired && event_is_unread(cq, word))
        cq->notified = cq->producer;
    (void)sn_cq_check_arm(cq);
    return 0;
}

/* Of a turn. */
unsigned sn_port_look_arms(struct sn_port *port)
{
    unsigned raised = 0;

    if (port->unarmed_cursor == NULL)
        port->unarmed_cursor = port->unarmed;
    for (unsigned i = 0; i < ARMS_A_TURN && port->unarmed_cursor != NULL; i++) {
        struct sn_cq *cq = port->unarmed_cursor;
        port->unarmed_cursor = cq->unarmed_next;
        raised += sn_cq_check_arm(cq);
    }
    return raised;
}

void sn_cq_arm_init(struct sn_cq *cq)
{
    cq->fired = ARM_NEVER;
}

void sn_cq_arm_end(struct sn_cq *cq)
{
    leave_unarmed(cq);
    sn_watch_end(cq->watches);
    cq->watches = NULL;
}
