/* SPDX-License-Identifier: Apache-2.0 */
/* What a failed run says about its queues, on stderr. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <doca_gpunetio_host.h>
#include <gdaki/explain.h>

#include "endpoint.h"
#include "tool.h"

static void print_lines(char *text)
{
    char *rest = NULL;

    for (char *line = strtok_r(text, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest))
        tool_note("  %s", line);
}

/* The first queue in error speaks for all; without one (a hang) the first that has not completed everything. */
void endpoint_explain(struct endpoint *ep)
{
    const char *faults = getenv("SOFTNIC_FAULTS");
    char text[4096];

    if (faults != NULL && *faults != 0)
        tool_note("  faults are made on purpose: SOFTNIC_FAULTS=%s", faults);
    for (uint32_t i = 0; i < ep->nqps; i++)
        if (gdaki_explain_qp_error(ep->gverbs[i], text, sizeof(text)) != 0) {
            print_lines(text);
            return;
        }
    for (uint32_t i = 0; i < ep->nqps; i++) {
        struct doca_gpu_dev_verbs_qp qp;
        if (ep->kernels->copy(&qp, &ep->qp_array[i], sizeof(qp), ep->stream) || qp.sq_rsvd_index == qp.cq_sq.cqe_ci)
            continue;
        if (gdaki_explain_qp(ep->gverbs[i], text, sizeof(text)) != 0)
            print_lines(text);
        return;
    }
}
