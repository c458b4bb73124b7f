/* SPDX-License-Identifier: Apache-2.0 */
/* A result as text and as JSON. */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>

#include "sim/sim.h"
#include "softnic/wire/burst.h"

static const char *const loss_name[SIM_LOSSES] = {"loss", "queue", "down", "partition", "fault", "icrc", "format"};

const char *sim_loss_name(enum sim_loss loss)
{
    return (unsigned)loss < SIM_LOSSES ? loss_name[loss] : "?";
}

const char *sim_kind_name(unsigned kind)
{
    static const char *const name[] = {"send", "write", "read-request", "read-response", "ack", "cmp-swap", "fetch-add",
                                       "masked-cmp-swap", "masked-fetch-add", "atomic-ack", "cnp"};

    return kind < sizeof(name) / sizeof(name[0]) ? name[kind] : "?";
}

/* Payload bits that have been completed, a second of virtual time. */
static double goodput(const struct sim_result *r)
{
    return r->virtual_ns == 0 ? 0 : (double)r->bytes * 8e9 / (double)r->virtual_ns;
}

/* ---- text ---------------------------------------------------------------------------------------------------------- */

static void print_kinds(const struct sim_result *r, FILE *out)
{
    fprintf(out, "packets        %" PRIu64 " sent (%" PRIu64 " bytes on the cables)\n", r->packets, r->packet_bytes);
    for (unsigned k = 0; k < SN_KIND_COUNT && k < SIM_KINDS; k++)
        if (r->sent[k] != 0 || r->delivered[k] != 0)
            fprintf(out, "  %-18s %10" PRIu64 " sent %10" PRIu64 " delivered\n", sim_kind_name(k), r->sent[k], r->delivered[k]);
    fprintf(out, "lost          ");
    for (unsigned i = 0; i < SIM_LOSSES; i++)
        fprintf(out, " %s %" PRIu64, loss_name[i], r->lost[i]);
    fprintf(out, "\nchanged        duplicated %" PRIu64 " reordered %" PRIu64 " delayed %" PRIu64 " corrupted %" PRIu64 " marked %" PRIu64 "\n",
            r->duplicated, r->reordered, r->delayed, r->corrupted, r->marked);
}

static void print_requests(const struct sim_result *r, FILE *out)
{
    fprintf(out, "connections    %" PRIu64 " (%" PRIu64 " ended in retry errors), %" PRIu64 " queue pairs on %" PRIu64 " NICs\n",
            r->connections, r->connections_failed, r->queue_pairs, r->nics);
    fprintf(out, "requests       %" PRIu64 " posted, %" PRIu64 " completed, %" PRIu64 " failed, %" PRIu64 " flushed\n", r->posted,
            r->completed, r->failed, r->flushed);
    for (unsigned i = 0; i < SIM_OPS; i++)
        if (r->by_op[i] != 0)
            fprintf(out, "  %-18s %10" PRIu64 "\n", sim_op_name((enum sim_op)i), r->by_op[i]);
    fprintf(out, "receives       %" PRIu64 " completed, %" PRIu64 " flushed\n", r->receives, r->receives_flushed);
}

void sim_result_print(const struct sim_result *r, FILE *out)
{
    const struct sim_latency *l = &r->latency;

    fprintf(out, "seed           %" PRIu64 "\n", r->seed);
    print_requests(r, out);
    print_kinds(r, out);
    fprintf(out, "virtual time   %.6f s, goodput %.3f Gb/s, largest queue %" PRIu64 " bytes\n", (double)r->virtual_ns * 1e-9,
            goodput(r) * 1e-9, r->queue_peak);
    fprintf(out, "latency (us)   min %.3f mean %.3f p50 %.3f p90 %.3f p99 %.3f p99.9 %.3f max %.3f\n", (double)l->min * 1e-3,
            l->mean * 1e-3, (double)l->p50 * 1e-3, (double)l->p90 * 1e-3, (double)l->p99 * 1e-3, (double)l->p999 * 1e-3,
            (double)l->max * 1e-3);
    fprintf(out, "trace hash     %016" PRIx64 "\n", r->hash);
    if (r->plant != SIM_PLANT_NONE)
        fprintf(out, "planted        %s\n", r->plant_occasions >= r->plant_nth ? "yes" : "no: its occasion did not come");
    fprintf(out, "violations     %" PRIu64 "\n", r->violations);
    for (uint64_t i = 0; i < r->violations && i < SIM_VIOLATIONS_KEPT; i++)
        fprintf(out, "  %s\n", r->violation[i]);
    if (r->violations > SIM_VIOLATIONS_KEPT)
        fprintf(out, "  ... and %" PRIu64 " more\n", r->violations - SIM_VIOLATIONS_KEPT);
}

/* ---- JSON ---------------------------------------------------------------------------------------------------------- */

static json_t *number(uint64_t value)
{
    return json_integer((json_int_t)value);
}

static json_t *kinds(const struct sim_result *r)
{
    json_t *all = json_object();

    for (unsigned k = 0; k < SN_KIND_COUNT && k < SIM_KINDS; k++)
        json_object_set_new(all, sim_kind_name(k),
                            json_pack("{s:o,s:o}", "sent", number(r->sent[k]), "delivered", number(r->delivered[k])));
    return all;
}

static json_t *losses(const struct sim_result *r)
{
    json_t *all = json_object();

    for (unsigned i = 0; i < SIM_LOSSES; i++)
        json_object_set_new(all, loss_name[i], number(r->lost[i]));
    return all;
}

static json_t *operations(const struct sim_result *r)
{
    json_t *all = json_object();

    for (unsigned i = 0; i < SIM_OPS; i++)
        json_object_set_new(all, sim_op_name((enum sim_op)i), number(r->by_op[i]));
    return all;
}

static json_t *violations(const struct sim_result *r)
{
    json_t *all = json_array();

    for (uint64_t i = 0; i < r->violations && i < SIM_VIOLATIONS_KEPT; i++)
        json_array_append_new(all, json_string(r->violation[i]));
    return all;
}

static json_t *latency(const struct sim_latency *l)
{
    return json_pack("{s:o,s:o,s:f,s:o,s:o,s:o,s:o,s:o}", "count", number(l->count), "min", number(l->min), "mean", l->mean,
                     "p50", number(l->p50), "p90", number(l->p90), "p99", number(l->p99), "p999", number(l->p999), "max",
                     number(l->max));
}

int sim_result_json(const struct sim_result *r, FILE *out)
{
    char hash[24];
    json_t *all;
    int ret;

    snprintf(hash, sizeof(hash), "%016" PRIx64, r->hash);
    all = json_pack("{s:o,s:s,s:o,s:o,s:o,s:f,s:f,s:f,s:f,s:o,s:o}", "seed", number(r->seed), "trace_hash", hash, "virtual_ns",
                    number(r->virtual_ns), "events", number(r->events), "peak_events", number(r->peak_events), "create_s",
                    r->create_s, "wall_s", r->wall_s, "cpu_s", r->cpu_s, "goodput_bps", goodput(r), "nics", number(r->nics), "queue_pairs", number(r->queue_pairs));
    if (all == NULL)
        return -EIO;
    json_object_set_new(all, "connections", number(r->connections));
    json_object_set_new(all, "connections_failed", number(r->connections_failed));
    json_object_set_new(all, "posted", number(r->posted));
    json_object_set_new(all, "completed", number(r->completed));
    json_object_set_new(all, "failed", number(r->failed));
    json_object_set_new(all, "flushed", number(r->flushed));
    json_object_set_new(all, "receives", number(r->receives));
    json_object_set_new(all, "receives_flushed", number(r->receives_flushed));
    json_object_set_new(all, "bytes", number(r->bytes));
    json_object_set_new(all, "operations", operations(r));
    json_object_set_new(all, "packets", number(r->packets));
    json_object_set_new(all, "packet_bytes", number(r->packet_bytes));
    json_object_set_new(all, "kinds", kinds(r));
    json_object_set_new(all, "lost", losses(r));
    json_object_set_new(all, "duplicated", number(r->duplicated));
    json_object_set_new(all, "reordered", number(r->reordered));
    json_object_set_new(all, "delayed", number(r->delayed));
    json_object_set_new(all, "corrupted", number(r->corrupted));
    json_object_set_new(all, "marked", number(r->marked));
    json_object_set_new(all, "queue_peak_bytes", number(r->queue_peak));
    json_object_set_new(all, "latency_ns", latency(&r->latency));
    if (r->plant != SIM_PLANT_NONE)
        json_object_set_new(all, "planted", json_boolean(r->plant_occasions >= r->plant_nth));
    json_object_set_new(all, "violations", number(r->violations));
    json_object_set_new(all, "violation", violations(r));
    ret = json_dumpf(all, out, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
    json_decref(all);
    return ret != 0 || fputc('\n', out) == EOF ? -EIO : 0;
}
