/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures by gnuplot: the data goes through a pipe, no file is left behind but the picture. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"
#include "tool.h"

/* A path inside gnuplot's single quotes: a quote is doubled. */
static void print_quoted(FILE *out, const char *text)
{
    fputc('\'', out);
    for (; *text; text++) {
        if (*text == '\'')
            fputc('\'', out);
        fputc(*text, out);
    }
    fputc('\'', out);
}

static void print_data(const struct report *r, FILE *out)
{
    fprintf(out, "$data << EOD\n");
    for (uint32_t i = 0; i < r->count; i++) {
        const struct report_row *row = &r->rows[i];

        fprintf(out, "%" PRIu64 " %.6f %.6f %.4f %.4f\n", row->size, report_row_bandwidth(row),
                report_row_rate(row) / 1e6, row->latency.p50, row->latency.p99);
    }
    fprintf(out, "EOD\n");
}

int report_plot(const struct report *r, const char *path)
{
    const struct perf_plan *p = &r->options->plan;
    bool svg = strlen(path) > 4 && !strcmp(path + strlen(path) - 4, ".svg");
    FILE *out;
    int status;

    if (!r->count)
        return 0;
    out = popen("gnuplot >&2", "we"); /* stdout is for results */
    if (!out) {
        tool_error("cannot run gnuplot: %s", strerror(errno));
        return -errno;
    }
    fprintf(out, "set terminal %s\nset output ", svg ? "svg size 900,600 dynamic background '#ffffff'"
                                                     : "pngcairo size 900,600");
    print_quoted(out, path);
    fprintf(out, "\nset title 'gdaki perf %s: GPU %s, NIC %s, wire %s, doorbell %s' noenhanced\n",
            parse_word_name(perf_tests, p->test), r->gpu_backend, r->nic_backend, r->wire, r->handler);
    fprintf(out, "set logscale x 2\nset format x '%%.0b%%B'\nset xlabel 'message size, bytes'\nset grid\nset key top left\n"
                 "set ylabel 'GB/s, 10^6 messages/s' noenhanced\nset y2label 'latency, microseconds'\nset y2tics\n"
                 "set ytics nomirror\nset logscale y\nset logscale y2\n");
    print_data(r, out);
    if (r->count == 1) /* one point spans no range by itself */
        fprintf(out, "set xrange [%.1f:%.1f]\n", (double)r->rows[0].size / 2, (double)r->rows[0].size * 2);
    fprintf(out, "plot $data using 1:2 with linespoints title 'GB/s', "
                 "$data using 1:3 with linespoints title '10^6 messages/s' noenhanced, "
                 "$data using 1:4 axes x1y2 with linespoints dashtype 2 title 'p50 latency', "
                 "$data using 1:5 axes x1y2 with linespoints dashtype 2 title 'p99 latency'\n");
    status = pclose(out);
    if (status) {
        tool_error("gnuplot could not draw %s", path);
        return -EIO;
    }
    return 0;
}
