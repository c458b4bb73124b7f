/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scenario files: a line is a word and KEY=VALUE pairs; '#' begins a comment. Strict: what is not understood is refused
 * with its line, key and value, and nothing is guessed.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "sim/rng.h"
#include "sim/scenario_value.h"

enum { LINE_MAX_BYTES = 1000, FILE_MAX_BYTES = 8 << 20 };

struct parser {
    const char *name;
    unsigned line;
    struct sim_scenario *sc;
    char *why;
    uint32_t seen;              /* bit for each kind of line */
    unsigned topology_line;
    uint32_t topology_keys;
    uint32_t cable_room;
    unsigned *cable_line;
    unsigned rule_line[SIM_MAX_RULES], fault_line[SIM_MAX_FAULTS], workload_line[SIM_MAX_WORKLOADS];
};

__attribute__((format(printf, 2, 3))) static int refuse(struct parser *p, const char *format, ...)
{
    int n = p->line == 0 ? snprintf(p->why, SIM_WHY_SIZE, "%s: ", p->name)
                         : snprintf(p->why, SIM_WHY_SIZE, "%s:%u: ", p->name, p->line);
    va_list args;

    va_start(args, format);
    if (n < SIM_WHY_SIZE)
        vsnprintf(p->why + n, SIM_WHY_SIZE - (size_t)n, format, args);
    va_end(args);
    return -EINVAL;
}

/* ---- what a line fills ------------------------------------------------------------------------------------------------ */

static int grow_cables(struct parser *p)
{
    struct sim_scenario *sc = p->sc;
    uint32_t room = p->cable_room == 0 ? 64 : p->cable_room * 2;
    struct sim_cable *cable = realloc(sc->cable, room * sizeof(*cable));
    unsigned *line;

    if (cable == NULL)
        return -ENOMEM;
    sc->cable = cable;
    line = realloc(p->cable_line, room * sizeof(*line));
    if (line == NULL)
        return -ENOMEM;
    p->cable_line = line;
    p->cable_room = room;
    return 0;
}

static int next_cable(struct parser *p, void **base)
{
    struct sim_scenario *sc = p->sc;
    int ret;

    if (sc->cables == SIM_MAX_CABLES)
        return refuse(p, "more than %d cables", SIM_MAX_CABLES);
    if (sc->cables == p->cable_room && (ret = grow_cables(p)) != 0) {
        refuse(p, "no memory for cables");
        return ret;
    }
    p->cable_line[sc->cables] = p->line;
    sc->cable[sc->cables] = (struct sim_cable){0};
    *base = &sc->cable[sc->cables++];
    return 0;
}

/* The struct that the line's keys are for, with its defaults. */
static int begin_line(struct parser *p, enum sim_line line, void **base)
{
    struct sim_scenario *sc = p->sc;

    switch (line) {
    case SIM_LINE_CABLE:
        return next_cable(p, base);
    case SIM_LINE_QP:
        *base = &sc->qp;
        return 0;
    case SIM_LINE_LINK:
        if (sc->rules == SIM_MAX_RULES)
            return refuse(p, "more than %d link lines", SIM_MAX_RULES - 1);
        sc->rule[sc->rules] = (struct sim_rule){.on = {.kind = SIM_ON_ALL}};
        p->rule_line[sc->rules] = p->line;
        *base = &sc->rule[sc->rules++];
        return 0;
    case SIM_LINE_FAULT:
        if (sc->faults == SIM_MAX_FAULTS)
            return refuse(p, "more than %d faults", SIM_MAX_FAULTS);
        sc->fault[sc->faults] = (struct sim_fault){.count = 1, .rate = SIM_ALWAYS, .by = 10000, .period = 100000, .up = 50000};
        p->fault_line[sc->faults] = p->line;
        *base = &sc->fault[sc->faults++];
        return 0;
    case SIM_LINE_WORKLOAD:
        if (sc->workloads == SIM_MAX_WORKLOADS)
            return refuse(p, "more than %d workloads", SIM_MAX_WORKLOADS);
        sc->workload[sc->workloads] = (struct sim_workload){.messages = 10,
                                                            .size_min = 1024,
                                                            .size_max = 1024,
                                                            .depth = 8,
                                                            .connections = 1,
                                                            .window = 1,
                                                            .receives = 8,
                                                            .mix = {[SIM_OP_WRITE] = 1}};
        p->workload_line[sc->workloads] = p->line;
        *base = &sc->workload[sc->workloads++];
        return 0;
    default:
        *base = sc;
        return 0;
    }
}

/* ---- checks across keys --------------------------------------------------------------------------------------------------- */

static bool is_power_of_two(uint64_t n)
{
    return n != 0 && (n & (n - 1)) == 0;
}

static int check_fault(struct parser *p, const struct sim_fault *f, uint32_t given)
{
    if (!(given & 1))
        return refuse(p, "key 'kind' is missing: what the fault does");
    if (f->kind == SIM_FAULT_PARTITION && f->on.kind != SIM_ON_NICS)
        return refuse(p, "key 'on': a partition needs the NICs of one side, as nic0-3");
    if (f->kind == SIM_FAULT_FLAP && f->up >= f->period)
        return refuse(p, "key 'up': a cable that flaps is up for less than its period");
    return 0;
}

static int check_line(struct parser *p, enum sim_line line, const void *base, uint32_t given)
{
    const struct sim_qp_params *qp = base;
    const struct sim_cable *cable = base;
    struct sim_rule *rule;

    switch (line) {
    case SIM_LINE_QP:
        if (!is_power_of_two(qp->mtu))
            return refuse(p, "key 'mtu': value '%llu': expected 256, 512, 1024, 2048 or 4096", (unsigned long long)qp->mtu);
        if (!is_power_of_two(qp->rd_atomic))
            return refuse(p, "key 'rd-atomic': value '%llu': expected a power of two", (unsigned long long)qp->rd_atomic);
        return 0;
    case SIM_LINE_CABLE:
        if (given != 3)
            return refuse(p, "a cable needs both ends: a= and b=");
        if (cable->a.is_switch == cable->b.is_switch && cable->a.number == cable->b.number)
            return refuse(p, "a cable from a node to itself");
        if (!cable->a.is_switch && !cable->b.is_switch)
            return refuse(p, "a cable between two NICs is the shape 'pair'");
        if ((cable->a.is_switch && cable->a.number >= SIM_MAX_SWITCHES) ||
            (cable->b.is_switch && cable->b.number >= SIM_MAX_SWITCHES))
            return refuse(p, "switch numbers end at %d", SIM_MAX_SWITCHES - 1);
        return 0;
    case SIM_LINE_LINK:
        rule = &p->sc->rule[p->sc->rules - 1];
        rule->given = given >> 1;
        if (p->sc->rules == 2 && rule->on.kind == SIM_ON_ALL && rule->given == p->sc->rule[0].given)
            p->sc->rule[--p->sc->rules - 1] = *rule; /* says everything about all cables: takes the defaults' place */
        return 0;
    case SIM_LINE_FAULT:
        return check_fault(p, base, given);
    case SIM_LINE_TOPOLOGY:
        p->topology_line = p->line;
        p->topology_keys = given;
        return 0;
    default:
        return 0;
    }
}

/* ---- one line --------------------------------------------------------------------------------------------------------------- */

static const struct sim_key *find_key(const struct sim_line_format *f, const char *name, unsigned *index)
{
    for (unsigned i = 0; i < f->count; i++)
        if (strcmp(f->keys[i].name, name) == 0) {
            *index = i;
            return &f->keys[i];
        }
    return NULL;
}

static int parse_pair(struct parser *p, const struct sim_line_format *f, char *pair, void *base, uint32_t *given)
{
    char *equals = strchr(pair, '='), expected[SIM_WHY_SIZE / 2];
    const struct sim_key *key;
    unsigned index = 0;

    if (equals == NULL || equals == pair || equals[1] == 0)
        return refuse(p, "'%.60s' is no KEY=VALUE", pair);
    *equals = 0;
    key = find_key(f, pair, &index);
    if (key == NULL)
        return refuse(p, "key '%.60s' is unknown on a line '%s'", pair, f->name);
    if (*given & (1u << index))
        return refuse(p, "key '%s': value '%.60s': given twice", pair, equals + 1);
    if (sim_value_parse(key, equals + 1, base, expected, sizeof(expected)) != 0)
        return refuse(p, "key '%s': value '%.60s': %s", pair, equals + 1, expected);
    *given |= 1u << index;
    return 0;
}

static int parse_line(struct parser *p, char *text)
{
    char *save = NULL, *word;
    unsigned line = 0;
    uint32_t given = 0;
    void *base = NULL;
    int ret;

    text[strcspn(text, "#")] = 0;
    word = strtok_r(text, " \t\r", &save);
    if (word == NULL)
        return 0;
    while (line < SIM_LINES && strcmp(word, sim_lines[line].name) != 0)
        line++;
    if (line == SIM_LINES)
        return refuse(p, "'%.60s' begins no line: expected run, topology, cable, qp, link, fault or workload", word);
    if (sim_lines[line].once && (p->seen & (1u << line)))
        return refuse(p, "a second line '%s'", word);
    p->seen |= 1u << line;
    ret = begin_line(p, (enum sim_line)line, &base);
    while (ret == 0 && (word = strtok_r(NULL, " \t\r", &save)) != NULL)
        ret = parse_pair(p, &sim_lines[line], word, base, &given);
    return ret == 0 ? check_line(p, (enum sim_line)line, base, given) : ret;
}

/* ---- checks of the whole ------------------------------------------------------------------------------------------------------ */

static int check_graph(struct parser *p)
{
    struct sim_scenario *sc = p->sc;
    uint8_t *cables_of = calloc(SIM_MAX_NICS, 1);
    uint32_t nics = 0, used = 0;
    int ret = 0;

    if (cables_of == NULL) {
        refuse(p, "no memory");
        return -ENOMEM;
    }
    sc->switches = 0;
    for (uint32_t i = 0; i < 2 * sc->cables && ret == 0; i++) {
        const struct sim_node_name *n = i & 1 ? &sc->cable[i / 2].b : &sc->cable[i / 2].a;
        p->line = p->cable_line[i / 2];
        if (n->is_switch)
            sc->switches = n->number >= sc->switches ? n->number + 1 : sc->switches;
        else if (cables_of[n->number]++ != 0)
            ret = refuse(p, "a second cable of nic%u: a NIC has one", n->number);
        else if (++used != 0 && n->number >= nics)
            nics = n->number + 1;
    }
    free(cables_of);
    p->line = p->topology_line;
    if (ret == 0 && (nics < 2 || used != nics))
        ret = refuse(p, "a graph needs cables of nic0 to nicN, two at least; %u of %u have one", used, nics);
    sc->nics = nics;
    return ret;
}

static int check_shape(struct parser *p)
{
    struct sim_scenario *sc = p->sc;
    bool nics_given = p->topology_keys & 2, k_given = p->topology_keys & 4;

    p->line = p->topology_line;
    if (sc->topology != SIM_GRAPH && sc->cables != 0)
        return refuse(p, "cable lines belong to the shape 'graph'");
    if (sc->topology != SIM_FAT_TREE && k_given)
        return refuse(p, "key 'k': value '%u': belongs to the shape 'fat-tree'", sc->k);
    switch (sc->topology) {
    case SIM_PAIR:
        return sc->nics == 2 ? 0 : refuse(p, "key 'nics': value '%u': a pair has 2", sc->nics);
    case SIM_FAT_TREE:
        if (!k_given)
            sc->k = 4;
        if (sc->k % 2 != 0)
            return refuse(p, "key 'k': value '%u': a fat tree's k is even", sc->k);
        if (!nics_given)
            sc->nics = sc->k * sc->k * sc->k / 4;
        if (sc->nics > sc->k * sc->k * sc->k / 4 || sc->nics > SIM_MAX_NICS)
            return refuse(p, "key 'nics': value '%u': a fat tree of k=%u has room for %u", sc->nics, sc->k,
                          sc->k * sc->k * sc->k / 4);
        return 0;
    case SIM_GRAPH:
        return nics_given ? refuse(p, "key 'nics': value '%u': the cables of a graph tell", sc->nics) : check_graph(p);
    case SIM_CHAIN:
        return sc->nics <= SIM_MAX_SWITCHES ? 0 : refuse(p, "key 'nics': value '%u': a chain has at most %d", sc->nics, SIM_MAX_SWITCHES);
    default:
        return 0;
    }
}

/* What nobody answers cannot be read; and to know what may have arrived, all that was sent is remembered. */
static int check_unreliable(struct parser *p)
{
    for (uint32_t i = 0; i < p->sc->workloads; i++) {
        const struct sim_workload *w = &p->sc->workload[i];
        p->line = p->workload_line[i];
        for (unsigned op = SIM_OP_READ; op < SIM_OPS; op++)
            if (w->mix[op] != 0)
                return refuse(p, "key 'mix': '%s' needs service=rc", sim_op_name((enum sim_op)op));
        if (w->messages > SIM_MAX_UNRELIABLE)
            return refuse(p, "key 'messages': value '%llu': at most %d with service=uc", (unsigned long long)w->messages,
                          SIM_MAX_UNRELIABLE);
    }
    return 0;
}

static uint32_t switches_of(const struct sim_scenario *sc)
{
    switch (sc->topology) {
    case SIM_STAR:
        return 1;
    case SIM_CHAIN:
        return sc->nics;
    case SIM_FAT_TREE:
        return sc->k * sc->k + sc->k * sc->k / 4; /* 2 k/2 in each of k pods, and the core's */
    default:
        return sc->topology == SIM_GRAPH ? sc->switches : 0;
    }
}

/* Nodes that are not there would make a line that does nothing. */
static int check_nodes(struct parser *p, const struct sim_selector *on, unsigned line)
{
    uint32_t nics = p->sc->nics, switches = switches_of(p->sc);

    p->line = line;
    if (on->kind == SIM_ON_NICS && on->last >= nics)
        return refuse(p, "key 'on': nic%u: there are %u NICs, from nic0 on", on->last, nics);
    if (on->kind == SIM_ON_SWITCHES && on->last >= switches)
        return refuse(p, "key 'on': sw%u: there are %u switches%s", on->last, switches, switches != 0 ? ", from sw0 on" : "");
    return 0;
}

static int check_whole(struct parser *p)
{
    struct sim_scenario *sc = p->sc;
    int ret = check_shape(p);

    if (ret != 0)
        return ret;
    p->line = 0;
    if (sc->workloads == 0)
        return refuse(p, "no line 'workload': nothing to do");
    for (uint32_t i = 0; i < sc->rules && ret == 0; i++)
        ret = check_nodes(p, &sc->rule[i].on, p->rule_line[i]);
    for (uint32_t i = 0; i < sc->faults && ret == 0; i++)
        ret = check_nodes(p, &sc->fault[i].on, p->fault_line[i]);
    if (ret != 0)
        return ret;
    if (sc->qp.service == SIM_UC)
        return check_unreliable(p);
    return 0;
}

/* ---- files ------------------------------------------------------------------------------------------------------------------------ */

static int parse_text(struct parser *p, const char *text, size_t length)
{
    size_t at = 0;

    while (at < length) {
        char line[LINE_MAX_BYTES + 1];
        const char *end = memchr(text + at, '\n', length - at);
        size_t n = end == NULL ? length - at : (size_t)(end - (text + at));
        int ret;
        p->line++;
        if (n > LINE_MAX_BYTES)
            return refuse(p, "a line of more than %d bytes", LINE_MAX_BYTES);
        if (memchr(text + at, 0, n) != NULL)
            return refuse(p, "a byte 0");
        memcpy(line, text + at, n);
        line[n] = 0;
        ret = parse_line(p, line);
        if (ret != 0)
            return ret;
        at += n + 1;
    }
    return check_whole(p);
}

int sim_scenario_parse(const char *name, const char *text, size_t length, struct sim_scenario *sc, char *why)
{
    struct parser p = {.name = name, .sc = sc, .why = why};
    int ret;

    sim_scenario_init(sc);
    ret = parse_text(&p, text, length);
    free(p.cable_line);
    return ret;
}

int sim_scenario_load(const char *path, struct sim_scenario *sc, char *why)
{
    FILE *f = fopen(path, "r");
    char *text = NULL;
    size_t length = 0, got;
    int ret = 0;

    sim_scenario_init(sc);
    if (f == NULL) {
        ret = -errno;
        snprintf(why, SIM_WHY_SIZE, "%s: cannot be opened: %s", path, strerror(-ret));
        return ret;
    }
    do {
        char *more = realloc(text, length + 65536);
        if (more == NULL || length > FILE_MAX_BYTES) {
            snprintf(why, SIM_WHY_SIZE, "%s: longer than %d bytes, or no memory for it", path, FILE_MAX_BYTES);
            ret = -EFBIG;
            text = more != NULL ? more : text;
            break;
        }
        text = more;
        got = fread(text + length, 1, 65536, f);
        length += got;
    } while (got != 0);
    if (ret == 0 && ferror(f)) {
        ret = -EIO;
        snprintf(why, SIM_WHY_SIZE, "%s: cannot be read", path);
    }
    fclose(f);
    if (ret == 0)
        ret = sim_scenario_parse(path, text, length, sc, why);
    free(text);
    return ret;
}
