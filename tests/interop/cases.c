/* SPDX-License-Identifier: Apache-2.0 */
#include "exchange.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static struct named_case *list;
static size_t used;

/* Both ways: once the client asks, once the server. */
static void add(struct spec spec, const char *format, ...)
{
    char what[60];
    va_list args;

    va_start(args, format);
    vsnprintf(what, sizeof(what), format, args);
    va_end(args);
    for (uint32_t server = 0; server < 2; server++) {
        struct named_case *c;

        list = realloc(list, (used + 1) * sizeof(*list));
        if (!list)
            abort();
        c = &list[used++];
        *c = (struct named_case){.spec = spec,
                                 .needs_each =
                                     spec.transport != IBV_QPT_RC || spec.ending != ENDS_WELL || spec.op == OP_WINDOW};
        c->spec.server_asks = server;
        c->spec.seed = spec.seed + (uint32_t)used;
        snprintf(c->name, sizeof(c->name), "%s asks: %s", server ? "server" : "client", what);
    }
}

struct named_case *cases_make(enum ibv_mtu largest, uint32_t seed, size_t *count)
{
    static const struct {
        uint32_t op;
        const char *name;
    } ops[] = {{OP_SEND, "SEND"},
               {OP_SEND_IMM, "SEND with immediate"},
               {OP_WRITE, "WRITE"},
               {OP_WRITE_IMM, "WRITE with immediate"},
               {OP_READ, "READ"}};
    const struct spec rc = {.transport = IBV_QPT_RC, .count = 3, .mtu = largest, .psn = 0x100, .seed = seed};
    struct spec s;

    list = NULL;
    used = 0;
    for (size_t o = 0; o < sizeof(ops) / sizeof(ops[0]); o++) {
        for (uint32_t m = IBV_MTU_256; m <= (uint32_t)largest; m++) {
            uint32_t mtu = 128u << m;
            const uint32_t sizes[] = {mtu - 1, mtu, mtu + 1, 5 * mtu - 24};

            for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
                s = rc, s.op = ops[o].op, s.mtu = m, s.bytes = sizes[i];
                add(s, "RC %s, %u B, path MTU %u", ops[o].name, sizes[i], mtu);
            }
        }
        static const uint32_t others[] = {0, 1, 8, 65536, 1 << 20};
        for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
            s = rc, s.op = ops[o].op, s.bytes = others[i];
            add(s, "RC %s, %u B", ops[o].name, others[i]);
        }
        s = rc, s.op = ops[o].op, s.bytes = 5000, s.psn = 0xfffffe;
        add(s, "RC %s, 5000 B over the end of the PSNs", ops[o].name);
    }
    s = rc, s.count = 20, s.op = OP_FETCH_ADD, s.bytes = 8, s.psn = 0xfffff8;
    add(s, "RC FETCH_ADD, 20");
    s.op = OP_COMPARE_SWAP;
    add(s, "RC COMPARE_SWAP, 20, every other one matching");
    for (uint32_t m = IBV_MTU_256; m <= (uint32_t)largest; m++) {
        s = rc, s.op = OP_MIX, s.count = 200, s.bytes = 6000, s.mtu = m, s.psn = 0xffffff - 300;
        add(s, "RC 200 of every kind and size, path MTU %u", 128u << m);
    }
    s.flags = FENCED;
    add(s, "RC 200 of every kind, fenced");
    s = rc, s.op = OP_SEND, s.bytes = 64, s.count = 10, s.flags = INLINE;
    add(s, "RC SEND, inline");
    s = rc, s.op = OP_SEND, s.bytes = 3000, s.count = 5, s.flags = RECEIVES_LATE;
    add(s, "RC SEND, receives come late (RNR)");
    s.op = OP_WRITE_IMM;
    add(s, "RC WRITE with immediate, receives come late (RNR)");

    s = rc, s.op = OP_WRITE, s.bytes = 100, s.count = 1, s.ending = ENDS_BAD_KEY;
    add(s, "RC WRITE, no such key");
    s.bytes = 5000;
    add(s, "RC WRITE of several packets, no such key");
    s.op = OP_READ;
    add(s, "RC READ, no such key");
    s.op = OP_FETCH_ADD, s.bytes = 8;
    add(s, "RC FETCH_ADD, no such key");
    s.ending = ENDS_OUT_OF_RANGE, s.op = OP_WRITE, s.bytes = 100;
    add(s, "RC WRITE beyond the region");
    s.op = OP_READ;
    add(s, "RC READ beyond the region");
    s.ending = ENDS_NO_RIGHT, s.op = OP_WRITE;
    add(s, "RC WRITE without the right");
    s.op = OP_READ;
    add(s, "RC READ without the right");
    s.op = OP_FETCH_ADD, s.bytes = 8;
    add(s, "RC FETCH_ADD without the right");
    s.ending = ENDS_TOO_LONG, s.op = OP_SEND, s.bytes = 300;
    add(s, "RC SEND longer than the receive");
    s.ending = ENDS_NOT_READY, s.bytes = 100;
    add(s, "RC SEND, never a receive");
    s.ending = ENDS_NO_PEER;
    add(s, "RC SEND to no queue pair");
    s = rc, s.op = OP_WINDOW, s.bytes = 2000, s.count = 1;
    add(s, "RC memory window of type 2: WRITE, SEND with invalidate, WRITE refused");

    for (uint32_t o = OP_SEND; o <= OP_WRITE_IMM; o++) {
        s = rc, s.transport = IBV_QPT_UC, s.op = o, s.bytes = 3 * (128u << largest) + 5, s.count = 10;
        add(s, "UC %s, %u B", ops[o].name, s.bytes);
        s.bytes = 1, s.psn = 0xfffffa;
        add(s, "UC %s, 1 B, over the end of the PSNs", ops[o].name);
    }
    for (uint32_t o = OP_SEND; o <= OP_SEND_IMM; o++) {
        s = rc, s.transport = IBV_QPT_UD, s.op = o, s.bytes = 128u << largest, s.count = 10;
        add(s, "UD %s, %u B", ops[o].name, s.bytes);
        s.bytes = 1, s.psn = 0xfffffa;
        add(s, "UD %s, 1 B, over the end of the PSNs", ops[o].name);
    }
    *count = used;
    return list;
}
