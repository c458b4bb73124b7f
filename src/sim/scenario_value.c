/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/scenario_value.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "sim/rng.h"

__attribute__((format(printf, 3, 4))) static int refuse(char *why, size_t room, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(why, room, format, args);
    va_end(args);
    return -EINVAL;
}

/* ---- numbers and units ---------------------------------------------------------------------------------------------- */

struct unit {
    const char *name;
    double factor;
};
static const struct unit times[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {NULL, 0}};
static const struct unit sizes[] = {{"", 1},           {"B", 1},           {"K", 1024},          {"KiB", 1024},
                                    {"M", 1048576},    {"MiB", 1048576},   {NULL, 0}};
static const struct unit rates[] = {{"b/s", 1}, {"kb/s", 1e3}, {"Mb/s", 1e6}, {"Gb/s", 1e9}, {"Tb/s", 1e12}, {NULL, 0}};
static const struct unit chances[] = {{"", 4294967296.0}, {"%", 42949672.96}, {NULL, 0}};

/* Digits with a fraction and, where allowed, an exponent; no signs, blanks, hexadecimal, infinities. NULL: none. */
static const char *scan_decimal(const char *text, bool exponent, double *out)
{
    size_t n = strspn(text, "0123456789.");
    char copy[40];

    if (text[0] < '0' || text[0] > '9')
        return NULL;
    if (exponent && (text[n] == 'e' || text[n] == 'E') && (text[n + 1] == '-' || text[n + 1] == '+') && text[n + 2] != 0)
        n += 2 + strspn(text + n + 2, "0123456789");
    if (n >= sizeof(copy))
        return NULL;
    memcpy(copy, text, n);
    copy[n] = 0;
    char *end;
    *out = strtod(copy, &end);
    return *end == 0 && isfinite(*out) ? text + n : NULL;
}

static bool scan_unit(const char *text, const struct unit *units, bool exponent, double *out)
{
    const char *rest = scan_decimal(text, exponent, out);

    for (; rest != NULL && units->name != NULL; units++)
        if (strcmp(rest, units->name) == 0) {
            *out *= units->factor;
            return true;
        }
    return false;
}

static int parse_amount(const struct sim_key *key, const char *text, const struct unit *units, const char *example,
                        uint64_t *out, char *why, size_t room)
{
    double value;

    if (!scan_unit(text, units, units == chances, &value))
        return refuse(why, room, "expected %s", example);
    if (value < (double)key->min || value > (double)key->max || value >= 18e18)
        return refuse(why, room, "out of range, expected %" PRIu64 " to %" PRIu64 " %s", key->min, key->max,
                      units == times ? "ns" : units == rates ? "b/s" : units == sizes ? "bytes" : "");
    if (units != chances && fabs(value - nearbyint(value)) > 1e-6 * (1 + value * 1e-9))
        return refuse(why, room, "expected a whole number of %s",
                      units == times ? "ns" : units == rates ? "b/s" : units == sizes ? "bytes" : "units");
    *out = (uint64_t)llround(value);
    return 0;
}

static int parse_whole(const struct sim_key *key, const char *text, uint64_t *out, char *why, size_t room)
{
    char *end;

    if (text[0] < '0' || text[0] > '9')
        return refuse(why, room, "expected a number");
    errno = 0;
    uint64_t value = strtoull(text, &end, text[0] == '0' && (text[1] | 32) == 'x' ? 16 : 10);
    if (*end != 0)
        return refuse(why, room, "expected a number");
    if (errno != 0 || value < key->min || value > key->max)
        return refuse(why, room, "out of range, expected %" PRIu64 " to %" PRIu64, key->min, key->max);
    *out = value;
    return 0;
}

static int parse_chance(const char *text, uint64_t *out, char *why, size_t room)
{
    double value;

    if (!scan_unit(text, chances, true, &value) || value < 0 || value > 4294967296.0)
        return refuse(why, room, "expected a probability: 0 to 1, as 0.01, 1e-4 or 1%%");
    *out = (uint64_t)llround(value);
    return 0;
}

static int parse_range(const struct sim_key *key, const char *text, uint64_t *out, char *why, size_t room)
{
    const char *dots = strstr(text, "..");
    char low[40];
    uint64_t value[2];
    int ret;

    if (dots == NULL) {
        ret = parse_amount(key, text, sizes, "bytes, as 4096, 64K or 8..4K", &value[0], why, room);
        value[1] = value[0];
    } else {
        if ((size_t)(dots - text) >= sizeof(low))
            return refuse(why, room, "expected bytes, as 4096, 64K or 8..4K");
        memcpy(low, text, (size_t)(dots - text));
        low[dots - text] = 0;
        ret = parse_amount(key, low, sizes, "bytes, as 4096, 64K or 8..4K", &value[0], why, room);
        if (ret == 0)
            ret = parse_amount(key, dots + 2, sizes, "bytes, as 4096, 64K or 8..4K", &value[1], why, room);
    }
    if (ret != 0)
        return ret;
    if (value[0] > value[1])
        return refuse(why, room, "expected the smaller size first");
    out[0] = value[0];
    out[1] = value[1];
    return 0;
}

/* ---- words ------------------------------------------------------------------------------------------------------------ */

static int parse_word(const struct sim_key *key, const char *text, unsigned *out, char *why, size_t room)
{
    size_t n;

    for (unsigned i = 0; key->words[i] != NULL; i++)
        if (strcmp(text, key->words[i]) == 0) {
            *out = i;
            return 0;
        }
    n = (size_t)snprintf(why, room, "expected");
    for (unsigned i = 0; key->words[i] != NULL && n < room; i++)
        n += (size_t)snprintf(why + n, room - n, "%s %s", i == 0 ? "" : key->words[i + 1] == NULL ? " or" : ",", key->words[i]);
    return -EINVAL;
}

/* "nic12" or "sw3", perhaps with "-20". */
static bool scan_nodes(const char *text, bool *is_switch, uint32_t *first, uint32_t *last)
{
    char *end;
    unsigned long n;

    *is_switch = strncmp(text, "sw", 2) == 0;
    if (!*is_switch && strncmp(text, "nic", 3) != 0)
        return false;
    text += *is_switch ? 2 : 3;
    if (text[0] < '0' || text[0] > '9')
        return false;
    n = strtoul(text, &end, 10);
    *first = *last = (uint32_t)n;
    if (n >= SIM_MAX_NICS || (*end != 0 && *end != '-'))
        return false;
    if (*end == 0)
        return true;
    if (end[1] < '0' || end[1] > '9')
        return false;
    n = strtoul(end + 1, &end, 10);
    *last = (uint32_t)n;
    return *end == 0 && n < SIM_MAX_NICS && *last >= *first;
}

static int parse_selector(const char *text, struct sim_selector *out, char *why, size_t room)
{
    static const char *const whole[] = {"all", "host", "core"};
    struct sim_selector on = {0};
    bool is_switch;

    for (unsigned i = 0; i < 3; i++)
        if (strcmp(text, whole[i]) == 0) {
            *out = (struct sim_selector){.kind = (enum sim_select)i};
            return 0;
        }
    if (!scan_nodes(text, &is_switch, &on.first, &on.last))
        return refuse(why, room, "expected all, host, core, nicN, nicN-M, swN or swN-M");
    on.kind = is_switch ? SIM_ON_SWITCHES : SIM_ON_NICS;
    *out = on;
    return 0;
}

static int parse_node(const char *text, struct sim_node_name *out, char *why, size_t room)
{
    struct sim_node_name node;
    uint32_t last;

    if (!scan_nodes(text, &node.is_switch, &node.number, &last) || last != node.number || strchr(text, '-') != NULL)
        return refuse(why, room, "expected nicN or swN");
    *out = node;
    return 0;
}

static int parse_mix(const char *text, uint32_t *out, char *why, size_t room)
{
    uint32_t mix[SIM_OPS] = {0};

    for (;;) {
        size_t word = strcspn(text, ":,");
        unsigned op = 0;
        unsigned long weight = 1;
        char *end = (char *)(uintptr_t)(text + word);
        while (op < SIM_OPS && (strlen(sim_op_name((enum sim_op)op)) != word || strncmp(text, sim_op_name((enum sim_op)op), word)))
            op++;
        if (op == SIM_OPS)
            return refuse(why, room, "'%.*s' is no operation: write, write-imm, send, send-imm, read, read-back, fetch-add, "
                          "cmp-swap, shared-add", (int)(word > 40 ? 40 : word), text);
        if (text[word] == ':' && text[word + 1] >= '0' && text[word + 1] <= '9')
            weight = strtoul(text + word + 1, &end, 10);
        if ((*end != 0 && *end != ',') || weight == 0 || weight > 1000000 || mix[op] != 0)
            return refuse(why, room, "expected OPERATION:WEIGHT,..., each operation once, weights 1 to 1000000");
        mix[op] = (uint32_t)weight;
        if (*end == 0)
            break;
        text = end + 1;
    }
    memcpy(out, mix, sizeof(mix));
    return 0;
}

/* ---- one value --------------------------------------------------------------------------------------------------------- */

int sim_value_parse(const struct sim_key *key, const char *text, void *base, char *why, size_t room)
{
    void *field = (char *)base + key->offset;
    uint64_t value = 0;
    unsigned word;
    int ret;

    switch (key->type) {
    case SIM_VALUE_NUMBER:
        return parse_whole(key, text, field, why, room);
    case SIM_VALUE_NUMBER32:
        ret = parse_whole(key, text, &value, why, room);
        if (ret == 0)
            *(uint32_t *)field = (uint32_t)value;
        return ret;
    case SIM_VALUE_TIME:
        return parse_amount(key, text, times, "a time with its unit: ns, us, ms or s", field, why, room);
    case SIM_VALUE_SIZE:
        return parse_amount(key, text, sizes, "bytes, as 4096 or 64K", field, why, room);
    case SIM_VALUE_RANGE:
        return parse_range(key, text, field, why, room);
    case SIM_VALUE_RATE:
        return parse_amount(key, text, rates, "a rate with its unit: b/s, kb/s, Mb/s, Gb/s or Tb/s", field, why, room);
    case SIM_VALUE_CHANCE:
        return parse_chance(text, field, why, room);
    case SIM_VALUE_WORD:
        ret = parse_word(key, text, &word, why, room);
        if (ret == 0)
            *(int *)field = (int)word;
        return ret;
    case SIM_VALUE_BOOL:
        if (strcmp(text, "yes") != 0 && strcmp(text, "no") != 0)
            return refuse(why, room, "expected yes or no");
        *(bool *)field = text[0] == 'y';
        return 0;
    case SIM_VALUE_SELECTOR:
        return parse_selector(text, field, why, room);
    case SIM_VALUE_MIX:
        return parse_mix(text, field, why, room);
    case SIM_VALUE_PSN:
        if (strcmp(text, "random") != 0)
            return parse_whole(key, text, field, why, room);
        *(uint64_t *)field = SIM_PSN_RANDOM;
        return 0;
    default:
        return parse_node(text, field, why, room);
    }
}

/* The largest unit that divides the value. */
static void print_amount(uint64_t value, const struct unit *units, FILE *out)
{
    const struct unit *best = &units[0];

    for (const struct unit *u = units; u->name != NULL; u++)
        if (value != 0 && value % (uint64_t)u->factor == 0 && u->factor > best->factor)
            best = u;
    fprintf(out, "%" PRIu64 "%s", value / (uint64_t)best->factor, best->name);
}

static void print_selector(const struct sim_selector *on, FILE *out)
{
    static const char *const whole[] = {"all", "host", "core"};

    if (on->kind < SIM_ON_NICS)
        fputs(whole[on->kind], out);
    else if (on->first == on->last)
        fprintf(out, "%s%u", on->kind == SIM_ON_NICS ? "nic" : "sw", on->first);
    else
        fprintf(out, "%s%u-%u", on->kind == SIM_ON_NICS ? "nic" : "sw", on->first, on->last);
}

static void print_mix(const uint32_t *mix, FILE *out)
{
    const char *comma = "";

    for (unsigned i = 0; i < SIM_OPS; i++)
        if (mix[i] != 0) {
            fprintf(out, "%s%s:%u", comma, sim_op_name((enum sim_op)i), mix[i]);
            comma = ",";
        }
}

void sim_value_print(const struct sim_key *key, const void *base, FILE *out)
{
    const void *field = (const char *)base + key->offset;
    uint64_t value = key->type <= SIM_VALUE_CHANCE && key->type != SIM_VALUE_NUMBER32 ? *(const uint64_t *)field : 0;

    switch (key->type) {
    case SIM_VALUE_NUMBER:
        fprintf(out, "%" PRIu64, value);
        break;
    case SIM_VALUE_NUMBER32:
        fprintf(out, "%" PRIu32, *(const uint32_t *)field);
        break;
    case SIM_VALUE_TIME:
        print_amount(value, times, out);
        break;
    case SIM_VALUE_SIZE:
        print_amount(value, sizes, out);
        break;
    case SIM_VALUE_RANGE:
        print_amount(value, sizes, out);
        fputs("..", out);
        print_amount(((const uint64_t *)field)[1], sizes, out);
        break;
    case SIM_VALUE_RATE:
        print_amount(value, rates, out);
        break;
    case SIM_VALUE_CHANCE:
        fprintf(out, "%.12g", (double)value / (double)SIM_ALWAYS);
        break;
    case SIM_VALUE_WORD:
        fputs(key->words[*(const int *)field], out);
        break;
    case SIM_VALUE_BOOL:
        fputs(*(const bool *)field ? "yes" : "no", out);
        break;
    case SIM_VALUE_SELECTOR:
        print_selector(field, out);
        break;
    case SIM_VALUE_MIX:
        print_mix(field, out);
        break;
    case SIM_VALUE_PSN:
        if (*(const uint64_t *)field == SIM_PSN_RANDOM)
            fputs("random", out);
        else
            fprintf(out, "%" PRIu64, *(const uint64_t *)field);
        break;
    default: {
        const struct sim_node_name *node = field;
        fprintf(out, "%s%u", node->is_switch ? "sw" : "nic", node->number);
    }
    }
}
