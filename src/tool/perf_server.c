/* SPDX-License-Identifier: Apache-2.0 */
/* The server's end: runs what the client asks for and checks what arrives. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "perf_run.h"
#include "round.h"
#include "tool.h"

struct server {
    const struct perf_options *options;
    struct oob *oob;
    struct perf_plan plan;
    struct endpoint *ep;
    struct endpoint_address *remote;
    uint64_t rounds, checked, wrong;
    int exit_code;
};

int perf_give_up(struct oob *oob, int exit_code, const char *why)
{
    tool_error("%s", why);
    oob_send_error(oob, why);
    return exit_code ? exit_code : TOOL_FAILED;
}

int perf_lost_peer(struct oob *oob, const struct perf_plan *plan, const struct round *round,
                   const struct round_result *mine)
{
    char why[1200];

    if (!mine->error)
        return perf_give_up(oob, TOOL_FAILED, oob->why);
    snprintf(why, sizeof(why), "%s of %" PRIu64 " B failed: %s; %s", parse_word_name(perf_tests, plan->test), round->size,
             mine->text, oob->why);
    return perf_give_up(oob, TOOL_FAILED, why);
}

static int receive_plan(struct server *s)
{
    uint8_t payload[2048];
    struct oob_reader r = {.data = payload, .ok = true};
    char why[PARSE_WHY_SIZE];
    int rc = oob_receive(s->oob, OOB_HELLO, payload, 1, sizeof(payload), &r.size);

    if (rc)
        return perf_give_up(s->oob, TOOL_FAILED, s->oob->why);
    if (perf_plan_read(&s->plan, &r, why))
        return perf_give_up(s->oob, TOOL_FAILED, why);
    if (s->plan.test != s->options->plan.test) {
        snprintf(why, sizeof(why), "this server runs %s, the client asked for %s",
                 parse_word_name(perf_tests, s->options->plan.test), parse_word_name(perf_tests, s->plan.test));
        return perf_give_up(s->oob, TOOL_USAGE, why);
    }
    return 0;
}

int perf_exchange(struct endpoint *ep, struct oob *oob, struct endpoint_address *remote)
{
    uint8_t *payload = malloc(OOB_PAYLOAD_MAX);
    struct oob_writer w = {.data = payload, .size = OOB_PAYLOAD_MAX, .ok = true};
    struct oob_reader r = {.data = payload, .ok = true};
    int rc;

    if (!payload)
        return -ENOMEM;
    endpoint_address_write(&ep->local, &w);
    rc = oob_send(oob, OOB_ENDPOINT, payload, w.used);
    if (!rc)
        rc = oob_receive(oob, OOB_ENDPOINT, payload, 1, OOB_PAYLOAD_MAX, &r.size);
    if (!rc)
        rc = endpoint_address_read(remote, &r, oob->why);
    free(payload);
    return rc;
}

static int send_result(struct server *s, const struct round_result *result)
{
    uint8_t payload[1200];
    struct oob_writer w = {.data = payload, .size = sizeof(payload), .ok = true};

    round_result_write(result, &w);
    return oob_send(s->oob, OOB_RESULT, payload, w.used);
}

/* One round as the server sees it. 0, or an exit code after giving up. */
static int serve_round(struct server *s, const struct round *round)
{
    struct round_result result = {0};
    bool sends = round_end_sends(&s->plan, false);
    int rc = round_prepare(s->ep, round, false);

    if (!rc && sends && perf_test_is_ping(s->plan.test)) /* the answering kernel is there before the first message */
        rc = round_launch(s->ep, s->remote, round, false);
    if (rc)
        return perf_give_up(s->oob, s->ep->exit_code, s->ep->why);
    if (oob_send(s->oob, OOB_GO, NULL, 0))
        return perf_give_up(s->oob, TOOL_FAILED, s->oob->why);
    if (sends && !perf_test_is_ping(s->plan.test))
        rc = round_launch(s->ep, s->remote, round, false);
    if (!rc && sends)
        rc = round_wait(s->ep, round, &result, "server");
    if (rc)
        return perf_give_up(s->oob, s->ep->exit_code, s->ep->why);
    if (oob_receive(s->oob, OOB_DONE, NULL, 0, 0, NULL))
        return perf_lost_peer(s->oob, &s->plan, round, &result);
    if (round_verify(s->ep, round, false, &result))
        return perf_give_up(s->oob, s->ep->exit_code, s->ep->why);
    if (send_result(s, &result))
        return perf_give_up(s->oob, TOOL_FAILED, s->oob->why);
    s->rounds++;
    s->checked += result.checked;
    s->wrong += result.wrong;
    if (result.error)
        s->exit_code = TOOL_FAILED;
    return 0;
}

static int serve_rounds(struct server *s)
{
    for (;;) {
        uint8_t payload[64];
        struct oob_reader r = {.data = payload, .ok = true};
        struct round round = {0};
        char why[PARSE_WHY_SIZE];
        int rc = oob_receive(s->oob, OOB_READY, payload, 1, sizeof(payload), &r.size);

        if (rc)
            return perf_give_up(s->oob, TOOL_FAILED, s->oob->why);
        if (round_read(&round, &s->plan, &r, why))
            return perf_give_up(s->oob, TOOL_FAILED, why);
        if (round.end)
            return 0;
        rc = serve_round(s, &round);
        if (rc)
            return rc;
    }
}

static int serve(struct server *s)
{
    int rc = receive_plan(s);

    if (rc)
        return rc;
    /* The client's kernel may take as long as its own watchdog allows. */
    s->oob->timeout_ms = (int)(s->plan.timeout_ns / 1000000) * 2 + 120 * 1000;
    if (endpoint_open(s->ep, s->options, &s->plan))
        return perf_give_up(s->oob, s->ep->exit_code, s->ep->why);
    if (perf_exchange(s->ep, s->oob, s->remote))
        return perf_give_up(s->oob, TOOL_FAILED, s->oob->why);
    if (endpoint_connect(s->ep, s->remote))
        return perf_give_up(s->oob, s->ep->exit_code, s->ep->why);
    return serve_rounds(s);
}

int perf_server(const struct perf_options *options, struct oob *oob)
{
    struct server s = {.options = options, .oob = oob};
    int rc;

    s.ep = calloc(1, sizeof(*s.ep));
    s.remote = calloc(1, sizeof(*s.remote));
    rc = s.ep && s.remote ? serve(&s) : TOOL_FAILED;
    if (s.ep)
        endpoint_close(s.ep);
    free(s.ep);
    free(s.remote);
    if (rc)
        return rc;
    if (!options->quiet && options->role == PERF_SERVER && options->oob_fd < 0)
        tool_note("server: %" PRIu64 " rounds, %" PRIu64 " bytes compared, %" PRIu64 " wrong", s.rounds, s.checked,
                  s.wrong);
    return s.wrong ? TOOL_UNVERIFIED : s.exit_code;
}
