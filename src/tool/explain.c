/* SPDX-License-Identifier: Apache-2.0 */
/* gdaki explain: what the two numbers of an error completion mean. */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gdaki/explain.h>

#include "tool.h"

struct explain_options {
    bool list;
    int syndrome, vendor, opcode; /* -1: not given */
};

static const struct argp_option option_table[] = {
    {"syndrome", 's', "N", 0, "Syndrome of the error CQE", 0},
    {"vendor", 'v', "N", 0, "Vendor syndrome of the error CQE", 0},
    {"opcode", 'o', "N", 0, "Opcode of the WQE", 0},
    {"list", 'l', 0, 0, "Print the whole table", 0},
    {0, 0, 0, 0, 0, 0},
};

static int read_byte(struct argp_state *state, const char *option, const char *text)
{
    char *end;
    unsigned long v;

    errno = 0;
    v = strtoul(text, &end, 0);
    if (errno || end == text || *end || *text == '-' || v > 255)
        argp_error(state, "%s=%s: expected a number from 0 to 255, decimal or 0x..", option, text);
    return (int)v;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct explain_options *o = state->input;

    switch (key) {
    case 's': o->syndrome = read_byte(state, "--syndrome", arg); return 0;
    case 'v': o->vendor = read_byte(state, "--vendor", arg); return 0;
    case 'o': o->opcode = read_byte(state, "--opcode", arg); return 0;
    case 'l': o->list = true; return 0;
    case ARGP_KEY_ARG: argp_error(state, "'%s': explain takes no arguments", arg); return 0;
    case ARGP_KEY_END:
        if (!o->list && o->syndrome < 0 && o->vendor < 0)
            argp_error(state, "--syndrome, --vendor or --list is missing");
        if (o->list && (o->syndrome >= 0 || o->vendor >= 0 || o->opcode >= 0))
            argp_error(state, "--list prints everything: no number beside it");
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static void print_entry(const struct gdaki_explain_entry *e)
{
    printf("%s 0x%02x: %s\n  likely cause: %s\n  check: %s\n", e->vendor ? "vendor syndrome" : "syndrome", (unsigned)e->code,
           e->name, e->cause, e->check);
}

static int print_list(void)
{
    for (size_t i = 0; gdaki_explain_at(i) != NULL; i++)
        print_entry(gdaki_explain_at(i));
    return TOOL_OK;
}

/* A vendor syndrome alone: there is no paragraph about two numbers. */
static int print_vendor(int code)
{
    for (size_t i = 0; gdaki_explain_at(i) != NULL; i++) {
        const struct gdaki_explain_entry *e = gdaki_explain_at(i);
        if (e->vendor && e->code == code) {
            print_entry(e);
            return TOOL_OK;
        }
    }
    tool_error("vendor syndrome 0x%02x is not in the table (--list prints it)", (unsigned)code);
    return TOOL_USAGE;
}

int tool_explain_main(int argc, char **argv)
{
    static const struct argp argp = {
        .options = option_table,
        .parser = parse_option,
        .doc = "What the syndrome and vendor syndrome of an error completion mean, the likely cause, and what to check.",
    };
    struct explain_options o = {.syndrome = -1, .vendor = -1, .opcode = -1};
    char text[2048];

    if (argp_parse(&argp, argc, argv, 0, NULL, &o))
        return TOOL_USAGE;
    if (o.list)
        return print_list();
    if (o.syndrome < 0)
        return print_vendor(o.vendor);
    if (gdaki_explain_syndrome_name(o.syndrome) == NULL) {
        tool_error("syndrome 0x%02x is not in the table (--list prints it)", (unsigned)o.syndrome);
        return TOOL_USAGE;
    }
    gdaki_explain_syndrome(o.syndrome, o.vendor, o.opcode, text, sizeof(text));
    fputs(text, stdout);
    return TOOL_OK;
}
