/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plays captures of RoCEv2 exchanges to the engine: each frame is parsed, its CRC checked, and built again byte for byte;
 * then either side of each exchange is played, and what the engine sends is compared (replay.h). A line an exchange, and
 * a summary. Exit status: 0 everything fits, 1 something does not, 2 usage.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exchange.h"
#include "replay.h"

static const char usage[] =
    "usage: replay_captures [OPTION...] FILE|FOLDER...    classic pcap; of a folder every *.pcap\n"
    "  -q, --quiet           only what does not fit, and the summary\n"
    "  -r, --responder       play the side that answers only\n"
    "  -a, --requester       play the side that asks only\n";

struct tally {
    unsigned played, fit, with_fault;
    unsigned fault[FAULT_SWAP + 1];
    unsigned reason[REASONS];
    unsigned liberty_frames[LIBERTIES], liberty_exchanges[LIBERTIES];
};

static struct {
    bool quiet, only[2]; /* [0] requester, [1] responder */
    unsigned files, bad_files, exchanges, frames, others;
    struct tally side[2];
} all;

static const char *const side_name[2] = {"requester", "responder"};

static void tell(const struct vector *v, bool responder, const struct replay_verdict *w)
{
    static const char *const fault_name[] = {"", "lost", "doubled", "overtaken by the next"};

    if (!w->fits)
        printf("%s: %s: NO: %s: %s\n", v->name, side_name[responder], replay_reason_name[w->reason], w->why);
    else if (all.quiet)
        return;
    else if (w->fault == FAULT_NONE)
        printf("%s: %s: fits", v->name, side_name[responder]);
    else
        printf("%s: %s: fits with %s %u %s behind the point of capture (as it stands: %s)", v->name, side_name[responder],
               responder ? "request" : "answer", w->at + 1, fault_name[w->fault], w->why);
    if (!w->fits)
        return;
    for (unsigned n = 0, any = 0; n < LIBERTIES; n++)
        if (w->liberty[n] != 0)
            printf("%s%s (%u)", any++ == 0 ? "; " : ", ", replay_liberty_name[n], w->liberty[n]);
    printf("\n");
}

static void play(struct vector *v, void *arg)
{
    (void)arg;
    all.exchanges++;
    for (int responder = 1; responder >= 0; responder--) {
        struct tally *t = &all.side[responder];
        struct replay_verdict w;

        if (all.only[!responder])
            continue;
        replay_find(v, responder, &w);
        tell(v, responder, &w);
        t->played++;
        t->fit += w.fits;
        if (!w.fits) {
            t->reason[w.reason]++;
            continue;
        }
        t->fault[w.fault]++;
        for (unsigned n = 0; n < LIBERTIES; n++) {
            t->liberty_frames[n] += w.liberty[n];
            t->liberty_exchanges[n] += w.liberty[n] != 0;
        }
    }
}

/* The first frame that is not built again as it was; 0: none. */
static unsigned built_otherwise(const struct vector *v)
{
    for (unsigned i = 0; i < v->count; i++) {
        const struct vector_frame *f = &v->frame[i];
        uint8_t out[SN_FRAME_MAX];

        if (sn_frame_build(&f->packet, &f->path, v->layer, out, sizeof(out)) != (int)f->length ||
            memcmp(out, f->bytes, f->length) != 0)
            return i + 1;
    }
    return 0;
}

static void take(const char *path)
{
    struct vector v;
    char why[256];
    unsigned otherwise = 0;
    bool read = vector_read(&v, path, why);

    all.files++;
    all.frames += v.count;
    all.others += v.others;
    if (!read)
        printf("%s: NO: %s\n", v.name, why);
    else if ((otherwise = built_otherwise(&v)) != 0)
        printf("%s: NO: RoCEv2 frame %u is built otherwise\n", v.name, otherwise);
    else if (v.count == 0)
        printf("%s: NO: no RoCEv2 frames\n", v.name);
    if (read && otherwise == 0 && v.count != 0)
        exchange_each(&v, play, NULL);
    else
        all.bad_files++;
    vector_free(&v);
    fflush(stdout);
}

static void summary_of(bool responder)
{
    const struct tally *t = &all.side[responder];

    if (t->played == 0)
        return;
    printf("as %s: %u of %u exchanges fit: %u as captured", side_name[responder], t->fit, t->played, t->fault[FAULT_NONE]);
    printf(", %u with a frame lost, %u doubled, %u overtaken\n", t->fault[FAULT_DROP], t->fault[FAULT_TWICE],
           t->fault[FAULT_SWAP]);
    for (unsigned n = 0; n < REASONS; n++)
        if (t->reason[n] != 0)
            printf("  does not fit: %u: %s\n", t->reason[n], replay_reason_name[n]);
    for (unsigned n = 0; n < LIBERTIES; n++)
        if (t->liberty_frames[n] != 0)
            printf("  liberty: %u frames in %u exchanges: %s\n", t->liberty_frames[n], t->liberty_exchanges[n],
                   replay_liberty_name[n]);
}

static bool option(const char *arg, const char *brief, const char *full)
{
    return strcmp(arg, brief) == 0 || strcmp(arg, full) == 0;
}

int main(int argc, char **argv)
{
    int n = 1;

    for (; n < argc && argv[n][0] == '-'; n++) {
        if (option(argv[n], "-q", "--quiet"))
            all.quiet = true;
        else if (option(argv[n], "-r", "--responder"))
            all.only[1] = true;
        else if (option(argv[n], "-a", "--requester"))
            all.only[0] = true;
        else
            break;
    }
    if (n == argc || argv[n][0] == '-' || (all.only[0] && all.only[1])) {
        fputs(usage, stderr);
        return 2;
    }
    for (; n < argc; n++) {
        char **path;
        unsigned count = vector_paths(argv[n], &path);

        for (unsigned i = 0; i < count; i++) {
            take(path[i]);
            free(path[i]);
        }
        free(path);
        if (count == 0) {
            printf("%s: NO: no *.pcap in it\n", argv[n]);
            all.bad_files++;
        }
    }
    printf("%u captures, %u not taken; %u RoCEv2 frames built again byte for byte, %u frames of other protocols; %u exchanges\n",
           all.files, all.bad_files, all.frames, all.others, all.exchanges);
    summary_of(true);
    summary_of(false);
    return all.bad_files != 0 || all.side[0].fit != all.side[0].played || all.side[1].fit != all.side[1].played ||
           all.exchanges == 0;
}
