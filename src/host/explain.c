/* SPDX-License-Identifier: Apache-2.0 */
/* Errors and hangs in words; <gdaki/explain.h>. */
#include <inttypes.h>
#include <string.h>

#include "common/gdaki_wqe.h"
#include "host/explain_table.h"
#include "host/export.h"
#include "host/sdk.h"
#include "text/text.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- the table --------------------------------------------------------------------------------------------------- */

const struct gdaki_explain_entry *gdaki_explain_at(size_t index)
{
    return index < COUNT(table) ? &table[index] : NULL;
}

static const struct gdaki_explain_entry *find(int vendor, int code)
{
    for (size_t i = 0; i < COUNT(table); i++)
        if (table[i].vendor == vendor && table[i].code == code)
            return &table[i];
    return NULL;
}

const char *gdaki_explain_syndrome_name(int syndrome)
{
    const struct gdaki_explain_entry *e = find(0, syndrome);
    return e == NULL ? NULL : e->name;
}

const char *gdaki_explain_vendor_name(int vendor_syndrome)
{
    const struct gdaki_explain_entry *e = find(1, vendor_syndrome);
    return e == NULL ? NULL : e->name;
}

const char *gdaki_explain_opcode_name(int opcode)
{
    for (size_t i = 0; i < COUNT(opcodes); i++)
        if (opcodes[i].opcode == opcode)
            return opcodes[i].name;
    return NULL;
}

/* Vendor syndromes that are the syndrome again (a responder's) say nothing finer. */
static void say_codes(struct text *t, int syndrome, int vendor)
{
    const struct gdaki_explain_entry *s = find(0, syndrome), *v = vendor == syndrome ? NULL : find(1, vendor);
    const struct gdaki_explain_entry *finer = v != NULL && v->code < SN_VENDOR_RETRY_EXCEEDED ? v : s;

    say(t, "%s (syndrome 0x%02x", s != NULL ? s->name : "an error that is not in the table", syndrome);
    if (vendor >= 0)
        say(t, ", vendor syndrome 0x%02x%s%s", vendor, v != NULL ? ": " : "", v != NULL ? v->name : "");
    say(t, ")\n");
    if (finer == NULL)
        return;
    say(t, "  likely cause: %s\n", finer->cause);
    say(t, "  check: %s\n", finer->check);
}

size_t gdaki_explain_syndrome(int syndrome, int vendor_syndrome, int opcode, char *out, size_t size)
{
    struct text t = text_begin(out, size);
    const char *name = gdaki_explain_opcode_name(opcode);

    if (name != NULL)
        say(&t, "%s: ", name);
    say_codes(&t, syndrome, vendor_syndrome);
    return t.used;
}

/* ---- a queue ----------------------------------------------------------------------------------------------------- */

/* The WQE as it stands in the ring, if the slot still holds the one with this index. */
static bool read_wqe(const struct exported_qp *q, uint16_t index, uint8_t wqe[HOST_WQEBB_BYTES])
{
    const struct doca_gpu_dev_verbs_qp *dev = q->pub.qp_cpu;
    uint32_t first;

    if (dev->sq_wqe_daddr == NULL || dev->sq_wqe_num == 0 ||
        q->ops->copy(wqe, dev->sq_wqe_daddr + (size_t)(index & (dev->sq_wqe_num - 1)) * HOST_WQEBB_BYTES,
                     HOST_WQEBB_BYTES) != 0)
        return false;
    memcpy(&first, wqe, sizeof(first));
    return (uint16_t)(gdaki_bswap32(first) >> 8) == index;
}

static uint64_t big_endian(const uint8_t *from, unsigned bytes)
{
    uint64_t v = 0;

    for (unsigned i = 0; i < bytes; i++)
        v = v << 8 | from[i];
    return v;
}

/* Remote address and key follow the control segment where the operation has them. */
static void say_wqe(struct text *t, const struct exported_qp *q, uint16_t index)
{
    uint8_t wqe[HOST_WQEBB_BYTES];
    const char *name;
    int opcode;

    if (!read_wqe(q, index, wqe)) {
        say(t, ", which is no longer in the ring");
        return;
    }
    opcode = wqe[3];
    name = gdaki_explain_opcode_name(opcode);
    if (name != NULL)
        say(t, " (%s", name);
    else
        say(t, " (opcode 0x%02x", opcode);
    if (opcode == 0x08 || opcode == 0x09 || (opcode >= 0x10 && opcode <= 0x15))
        say(t, ", remote address 0x%" PRIx64 ", rkey 0x%08" PRIx64, big_endian(wqe + 16, 8), big_endian(wqe + 24, 4));
    else if (opcode == 0x0f)
        say(t, ", CQ 0x%" PRIx64, big_endian(wqe + 28, 4) & 0xffffff);
    say(t, ")");
}

/* softnic knows at which side an error was seen. */
static bool responder_saw_it(doca_verbs_qp_t *qp)
{
    const struct gdaki_nic_ops *nic = IS_SDK(qp) ? NULL : qp->open->nic;
    struct softnic_qp_error e = {0};

    return nic != NULL && nic->query_qp_error != NULL &&
           nic->query_qp_error(qp->open->context, qp->open->qpn, &e) == 0 && e.has_error && e.responder;
}

static void say_error(struct text *t, struct doca_gpu_verbs_qp *qp)
{
    struct doca_gpu_verbs_qp_error_info info;

    if (doca_gpu_verbs_query_last_error(qp, &info) != DOCA_SUCCESS || !info.has_error)
        return;
    say(t, "queue 0x%06x", qp->qp_cpu->sq_num);
    if (info.syndrome == 0) {
        say(t, " was stopped by the device library before a completion told of an error: more was submitted than the ring "
               "holds, or the queue was used against its rules\n");
        return;
    }
    if (responder_saw_it(qp->qp)) {
        say(t, ", as responder: a request of the peer ended in ");
    } else {
        say(t, ": WQE %d", info.wqe_counter);
        say_wqe(t, exported_of(qp), (uint16_t)info.wqe_counter);
        say(t, " ended in ");
    }
    say_codes(t, info.syndrome, info.vendor_err_synd);
}

size_t gdaki_explain_qp_error(struct doca_gpu_verbs_qp *qp, char *out, size_t size)
{
    struct text t = text_begin(out, size);

    if (qp != NULL && qp->qp != NULL && qp->qp_cpu != NULL)
        say_error(&t, qp);
    return t.used;
}

/*
 * A word that a running kernel may be writing. Where kernels run on the CPU it is a load like theirs, else a copy of the
 * GPU's. 0 when it cannot be had.
 */
static uint64_t live64(const struct exported_qp *q, const uint64_t *at)
{
    uint64_t v = 0;

    if (strcmp(q->ops->name, "cpu") == 0)
        return __atomic_load_n(at, __ATOMIC_RELAXED);
    return q->ops->copy(&v, at, sizeof(v)) == 0 ? v : 0;
}

static uint32_t live32(const struct exported_qp *q, const uint32_t *at)
{
    uint32_t v = 0;

    if (strcmp(q->ops->name, "cpu") == 0)
        return __atomic_load_n(at, __ATOMIC_RELAXED);
    return q->ops->copy(&v, at, sizeof(v)) == 0 ? v : 0;
}

/* What the kernel's side of the queue says: the device copy, where there is one. */
static void say_device(struct text *t, const struct exported_qp *q)
{
    const struct doca_gpu_dev_verbs_qp *dev = q->pub.qp_gpu;
    uint64_t reserved, ready, announced;

    if (dev == NULL)
        return;
    announced = live64(q, &dev->sq_wqe_pi); /* the later ones first: none seems to be ahead of what precedes it */
    ready = live64(q, &dev->sq_ready_index);
    reserved = live64(q, &dev->sq_rsvd_index);
    say(t, "queue 0x%06x: kernels reserved %" PRIu64 " slots, handed over %" PRIu64 ", announced %" PRIu64
           "; completions seen up to %" PRIu64, q->pub.qp_cpu->sq_num, reserved, ready, announced,
        live64(q, &dev->cq_sq.cqe_ci));
    if (q->pub.qp_cpu->sq_dbrec != NULL)
        say(t, "; record %u", gdaki_bswap32(live32(q, q->pub.qp_cpu->sq_dbrec)) & 0xffff);
    say(t, "\n");
    if (ready < reserved)
        say(t, "  %" PRIu64 " reserved slots have not been marked ready: a thread reserved and did not go on\n",
            reserved - ready);
    if (announced < ready)
        say(t, "  %" PRIu64 " slots are ready and not announced: no submit has followed\n", ready - announced);
    if (q->pub.cpu_proxy)
        say(t, "  the CPU rings this queue's doorbells: somebody has to call doca_gpu_verbs_cpu_proxy_progress, or a service\n");
}

static void say_softnic(struct text *t, doca_verbs_qp_t *qp)
{
    const struct gdaki_nic_ops *nic = IS_SDK(qp) ? NULL : qp->open->nic;
    char buffer[2048];
    int n;

    if (nic == NULL || nic->explain_qp == NULL)
        return;
    n = nic->explain_qp(qp->open->context, qp->open->qpn, buffer, sizeof(buffer));
    if (n > 0)
        say(t, "%s", buffer);
}

size_t gdaki_explain_qp(struct doca_gpu_verbs_qp *qp, char *out, size_t size)
{
    struct text t = text_begin(out, size);

    if (qp == NULL || qp->qp == NULL || qp->qp_cpu == NULL)
        return 0;
    say_device(&t, exported_of(qp));
    say_softnic(&t, qp->qp);
    say_error(&t, qp);
    return t.used;
}
