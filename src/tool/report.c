/* SPDX-License-Identifier: Apache-2.0 */
#include "report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tool.h"

double report_row_rate(const struct report_row *row)
{
    return row->elapsed_ns ? (double)row->messages * 1e9 / (double)row->elapsed_ns : 0;
}

double report_row_bandwidth(const struct report_row *row)
{
    return row->elapsed_ns ? (double)row->bytes / (double)row->elapsed_ns : 0;
}

const char *report_verdict_name(enum report_verdict verdict)
{
    static const char *const names[] = {"yes", "not checked", "NO"};

    return names[verdict];
}

const char *report_latency_method(int test)
{
    if (perf_test_is_ping(test))
        return "half a round trip between two kernels";
    if (test == PERF_PUT_LAT)
        return "from the call to its completion, one message at a time";
    return "under load, from a window's last call to its completion";
}

static const char *mem_name(const struct perf_options *o)
{
    return parse_word_name(perf_mems, o->mem);
}

const char *report_faults(const struct report *r)
{
    const char *plan = getenv("SOFTNIC_FAULTS");

    return plan && *plan && !strcmp(r->nic_backend, "softnic") ? plan : NULL;
}

void report_header(const struct report *r, FILE *out)
{
    const struct perf_plan *p = &r->options->plan;

    fprintf(out, "# gdaki perf %s\n", parse_word_name(perf_tests, p->test));
    fprintf(out, "# GPU: %s (%s)   NIC: %s (%s)   wire: %s   MTU: %u\n", r->gpu_backend, r->gpu_name, r->nic_backend,
            r->nic_name, r->wire, r->mtu);
    if (report_faults(r))
        fprintf(out, "# faults made on purpose at this end: %s\n", report_faults(r));
    fprintf(out, "# doorbell: %s   queues: %u x %u WQEs in %s memory, %s CQ   data: %s memory\n", r->handler, p->qps,
            p->depth, r->queue_mem, p->collapsed ? "collapsed" : "regular", mem_name(r->options));
    fprintf(out, "# kernel: %u block%s x %u thread%s, scope %s, sharing %s, window %u, inline %u%s\n", p->ctas,
            p->ctas == 1 ? "" : "s", p->threads, p->threads == 1 ? "" : "s",
            parse_word_name(perf_scopes, (int)p->scope), parse_word_name(perf_sharings, (int)p->sharing), p->window,
            p->inline_max, p->bidirectional ? ", bidirectional" : "");
    fprintf(out, "# time: the kernel's own, first thread's begin to last thread's end; latency: %s\n",
            report_latency_method(p->test));
    if (r->options->idle_ns)
        fprintf(out, "# idle: %u connected queues used %.2f %% of a core over %.1f s\n", p->qps, r->idle_percent,
                (double)r->options->idle_ns / 1e9);
    if (r->options->idle_ns && r->options->floor)
        fprintf(out, "# idle floor: a thread that only sleeps, 1 ms at a time, used %.2f %% before and %.2f %% after\n",
                r->idle_floor_before, r->idle_floor_after);
    fprintf(out, "# GB/s is 10^9 bytes a second; latency in microseconds; seed %" PRIu64 "\n", p->seed);
    fprintf(out, "%10s %10s %12s %9s %9s %9s %9s %9s %9s  %s", "size B", "messages", "messages/s", "GB/s", "lat min",
            "p50", "p99", "p99.9", "max", "verified");
    if (r->options->floor)
        fprintf(out, "   | floors: line RTT ns, memcpy 64K/64M GB/s (before, after)");
    fputc('\n', out);
}

static void print_floors(const struct report_row *row, FILE *out)
{
    fprintf(out, "   | %.0f %.1f/%.1f (%s), %.0f %.1f/%.1f (%s)", row->before.round_trip_ns,
            row->before.memcpy_64k_gbs, row->before.memcpy_64m_gbs, floor_placement(&row->before),
            row->after.round_trip_ns, row->after.memcpy_64k_gbs, row->after.memcpy_64m_gbs,
            floor_placement(&row->after));
    if (row->before.flag_p50_us > 0)
        fprintf(out, ", CPU-GPU flag min %.2f p50 %.2f us", row->before.flag_min_us, row->before.flag_p50_us);
}

void report_row_print(const struct report *r, const struct report_row *row, FILE *out)
{
    fprintf(out, "%10" PRIu64 " %10" PRIu64 " %12.0f %9.3f %9.2f %9.2f %9.2f %9.2f %9.2f  %s", row->size,
            row->messages, report_row_rate(row), report_row_bandwidth(row), row->latency.min, row->latency.p50,
            row->latency.p99, row->latency.p999, row->latency.max, report_verdict_name(row->verdict));
    if (row->wrong)
        fprintf(out, " (%" PRIu64 " of %" PRIu64 " bytes differ, first at %" PRIu64 ")", row->wrong, row->checked,
                row->first_wrong);
    if (r->options->floor)
        print_floors(row, out);
    fputc('\n', out);
    fflush(out);
}

void report_csv(const struct report *r, FILE *out)
{
    const struct perf_plan *p = &r->options->plan;

    fprintf(out, "test,gpu,nic,wire,doorbell,queue_mem,data_mem,cq,scope,sharing,ctas,threads,qps,depth,window,"
                 "size_bytes,messages,seconds,messages_per_s,gb_per_s,lat_min_us,lat_mean_us,lat_p50_us,lat_p99_us,"
                 "lat_p99_9_us,lat_max_us,samples,verified,bytes_checked,bytes_wrong,rtt_before_ns,rtt_after_ns,"
                 "memcpy_64k_before_gbs,memcpy_64k_after_gbs,memcpy_64m_before_gbs,memcpy_64m_after_gbs\n");
    for (uint32_t i = 0; i < r->count; i++) {
        const struct report_row *row = &r->rows[i];

        fprintf(out, "%s,%s,%s,%s,%s,%s,%s,%s,%s,%s,%u,%u,%u,%u,%u,", parse_word_name(perf_tests, p->test),
                r->gpu_backend, r->nic_backend, r->wire, r->handler, r->queue_mem, mem_name(r->options),
                p->collapsed ? "collapsed" : "regular", parse_word_name(perf_scopes, (int)p->scope),
                parse_word_name(perf_sharings, (int)p->sharing), p->ctas, p->threads, p->qps, p->depth, p->window);
        fprintf(out, "%" PRIu64 ",%" PRIu64 ",%.9f,%.1f,%.6f,%.3f,%.3f,%.3f,%.3f,%.3f,%.3f,%" PRIu64 ",%s,%" PRIu64
                     ",%" PRIu64 ",%.1f,%.1f,%.3f,%.3f,%.3f,%.3f\n",
                row->size, row->messages, (double)row->elapsed_ns / 1e9, report_row_rate(row),
                report_row_bandwidth(row), row->latency.min, row->latency.mean, row->latency.p50, row->latency.p99,
                row->latency.p999, row->latency.max, row->latency.count,
                row->verdict == REPORT_VERIFIED ? "yes" : row->verdict == REPORT_WRONG ? "no" : "unchecked",
                row->checked, row->wrong, row->before.round_trip_ns, row->after.round_trip_ns,
                row->before.memcpy_64k_gbs, row->after.memcpy_64k_gbs, row->before.memcpy_64m_gbs,
                row->after.memcpy_64m_gbs);
    }
}

static int to_file(const struct report *r, const char *path, int (*write)(const struct report *, FILE *))
{
    bool to_stdout = !strcmp(path, "-");
    FILE *out = to_stdout ? stdout : fopen(path, "we");
    int rc;

    if (!out) {
        rc = -errno;
        tool_error("cannot write %s: %s", path, strerror(errno));
        return rc;
    }
    errno = 0;
    rc = write(r, out);
    if (fflush(out) || ferror(out))
        rc = errno ? -errno : -EIO;
    if (!to_stdout && fclose(out))
        rc = -errno;
    if (rc)
        tool_error("cannot write %s: %s", path, strerror(-rc));
    return rc;
}

static int write_csv(const struct report *r, FILE *out)
{
    report_csv(r, out);
    return 0;
}

int report_check(const struct perf_options *options)
{
    const char *const paths[] = {options->json, options->csv, options->plot};
    int rc = 0;

    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]) && !rc; i++)
        rc = tool_check_file(paths[i]);
    if (!rc && options->plot && system("command -v gnuplot >/dev/null 2>&1")) {
        tool_error("cannot draw %s: gnuplot is not there (Debian: gnuplot-nox)", options->plot);
        rc = -ENOENT;
    }
    return rc;
}

int report_write(const struct report *r)
{
    int rc = 0, one;

    if (r->options->json)
        rc = to_file(r, r->options->json, report_json);
    if (r->options->csv) {
        one = to_file(r, r->options->csv, write_csv);
        rc = rc ? rc : one;
    }
    if (r->options->plot) {
        one = report_plot(r, r->options->plot);
        rc = rc ? rc : one;
    }
    return rc;
}
