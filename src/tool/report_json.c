/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "report.h"

static json_t *floors_json(const struct floors *f)
{
    json_t *object = json_pack("{s:f, s:s, s:f, s:f}", "line_round_trip_ns", f->round_trip_ns, "placement",
                               floor_placement(f), "memcpy_64k_gb_per_s", f->memcpy_64k_gbs, "memcpy_64m_gb_per_s",
                               f->memcpy_64m_gbs);

    if (object && f->flag_p50_us > 0) {
        json_object_set_new(object, "cpu_gpu_flag_min_us", json_real(f->flag_min_us));
        json_object_set_new(object, "cpu_gpu_flag_p50_us", json_real(f->flag_p50_us));
    }
    return object;
}

static json_t *row_json(const struct report *r, const struct report_row *row)
{
    json_t *latency = json_pack("{s:f, s:f, s:f, s:f, s:f, s:f, s:I}", "min", row->latency.min, "mean",
                                row->latency.mean, "p50", row->latency.p50, "p99", row->latency.p99, "p99.9",
                                row->latency.p999, "max", row->latency.max, "samples", (json_int_t)row->latency.count);
    json_t *object = json_pack("{s:I, s:I, s:f, s:f, s:f, s:o, s:s, s:I, s:I}", "size_bytes", (json_int_t)row->size,
                               "messages", (json_int_t)row->messages, "seconds", (double)row->elapsed_ns / 1e9,
                               "messages_per_s", report_row_rate(row), "gb_per_s", report_row_bandwidth(row),
                               "latency_us", latency, "verified", report_verdict_name(row->verdict), "bytes_checked",
                               (json_int_t)row->checked, "bytes_wrong", (json_int_t)row->wrong);

    if (object && r->options->floor) {
        json_object_set_new(object, "floors_before", floors_json(&row->before));
        json_object_set_new(object, "floors_after", floors_json(&row->after));
    }
    return object;
}

int report_json(const struct report *r, FILE *out)
{
    const struct perf_plan *p = &r->options->plan;
    json_t *rows = json_array();
    json_t *root = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:i, s:s, s:s, s:s, s:i, s:i, s:i, s:i, s:i, "
                             "s:i, s:b, s:s, s:I, s:o}",
                             "test", parse_word_name(perf_tests, p->test), "gpu_backend", r->gpu_backend, "gpu",
                             r->gpu_name, "nic_backend", r->nic_backend, "nic", r->nic_name, "wire", r->wire, "doorbell",
                             r->handler, "queue_mem", r->queue_mem, "data_mem",
                             parse_word_name(perf_mems, r->options->mem), "mtu", (int)r->mtu, "cq",
                             p->collapsed ? "collapsed" : "regular", "scope",
                             parse_word_name(perf_scopes, (int)p->scope), "sharing",
                             parse_word_name(perf_sharings, (int)p->sharing), "ctas", (int)p->ctas, "threads",
                             (int)p->threads, "qps", (int)p->qps, "depth", (int)p->depth, "window", (int)p->window,
                             "inline", (int)p->inline_max, "bidirectional", p->bidirectional, "latency_method",
                             report_latency_method(p->test), "seed", (json_int_t)p->seed, "rows", rows);
    int rc;

    if (!root)
        return -ENOMEM;
    if (report_faults(r))
        json_object_set_new(root, "faults", json_string(report_faults(r)));
    if (r->options->idle_ns)
        json_object_set_new(root, "idle_percent_of_a_core", json_real(r->idle_percent));
    if (r->options->idle_ns && r->options->floor)
        json_object_set_new(root, "idle_floors_percent_of_a_core",
                            json_pack("[f, f]", r->idle_floor_before, r->idle_floor_after));
    for (uint32_t i = 0; i < r->count; i++)
        json_array_append_new(rows, row_json(r, &r->rows[i]));
    rc = json_dumpf(root, out, JSON_INDENT(2)) ? -EIO : 0;
    fputc('\n', out);
    json_decref(root);
    return rc;
}
