/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fault plans: refused with a reason, or taken; one that is taken is then played on real traffic. Queues may end in errors
 * (that is what plans are for); memory, and the port's end, are judged as ever.
 */
#include <string.h>

#include "rig.h"
#include "softnic/fault/inject.h"
#include "softnic/fault/plan.h"

static void play(const struct sn_fault_plan *plan, uint64_t seed)
{
    static struct fuzz_world w;
    struct sn_burst b;

    fuzz_world_open(&w, 0);
    w.copies = true;
    sn_port_lock(w.port);
    int rc = sn_port_set_faults(w.port, plan, seed);
    sn_port_unlock(w.port);
    FUZZ_CHECK(rc == 0, "a plan that was taken is not set: %d", rc);
    for (unsigned i = 0; i < 24; i++) {
        struct fuzz_qp *q = &w.qp[FUZZ_RC];
        if (i < 8)
            fuzz_witness_post(&w);
        fuzz_post_recv(&w, q, 0, 256, w.key[FUZZ_LANDING]);
        fuzz_packet(&w, q, &b);
        b.kind = i % 3 == 0 ? SN_KIND_SEND : i % 3 == 1 ? SN_KIND_WRITE : SN_KIND_READ_REQUEST;
        b.rkey = w.key[FUZZ_OPEN];
        b.va = w.iova[FUZZ_OPEN];
        b.dmalen = 200;
        fuzz_payload(&b, b.kind == SN_KIND_READ_REQUEST ? 0 : 200, 2);
        sn_port_lock(w.port);
        sn_nic_receive(w.nic[0], &b);
        sn_port_unlock(w.port);
        q->rcv_psn = (q->rcv_psn + 1) & 0xffffff;
        w.now += 50000;
        fuzz_run(&w, 3);
    }
    for (unsigned i = 0; i < 200; i++) {
        w.now += 1000000;
        fuzz_run(&w, 2);
    }
    if (plan->count & 1) { /* the others end with the port, whatever they still hold */
        sn_port_lock(w.port);
        sn_port_set_faults(w.port, NULL, 0);
        sn_port_unlock(w.port);
    }
    w.no_witness = true;
    fuzz_world_close(&w);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sn_fault_plan plan, again;
    char why[256] = "";

    memset(&plan, 0, sizeof(plan));
    memset(&again, 0, sizeof(again));
    int rc = sn_fault_parse((const char *)data, size, &plan, why, sizeof(why));
    if (rc != 0) {
        FUZZ_CHECK(why[0] != '\0' && memchr(why, '\0', sizeof(why)) != NULL, "refused with %d and no reason", rc);
        return 0;
    }
    FUZZ_CHECK(plan.count >= 1 && plan.count <= SN_FAULT_RULES, "%u rules", plan.count);
    FUZZ_CHECK(sn_fault_parse((const char *)data, size, &again, why, sizeof(why)) == 0, "taken once, then refused");
    for (uint32_t i = 0; i < plan.count; i++)
        FUZZ_CHECK(plan.rule[i].action == again.rule[i].action && sn_inject_name(plan.rule[i].action) != NULL, "rule %u", i);
    play(&plan, size);
    return 0;
}
