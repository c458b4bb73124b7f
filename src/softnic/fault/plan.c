/* SPDX-License-Identifier: Apache-2.0 */
/* The parser of fault plans: strict, without recursion or allocation, and bounded by the text's length. */
#include "softnic/fault/plan.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "format/bth.h"
#include "softnic/wire/burst.h"

struct slice {
    const char *at;
    size_t length;
};

struct parser {
    char *why;
    size_t why_size;
    uint32_t rule; /* counted from 1, for messages */
};

/* Bits of struct seen: which keys a rule has had. */
enum key {
    KEY_NTH, KEY_EVERY, KEY_COUNT, KEY_RATE, KEY_QPN, KEY_AT, KEY_FOR, KEY_KIND, KEY_PART, KEY_DIR, KEY_BY, KEY_US, KEY_GAP,
    KEY_HOLD, KEY_CODE, KEY_TIMER, KEYS
};

static const char *const key_names[KEYS] = {"nth", "every", "count", "rate", "qpn", "at", "for", "kind",
                                            "part", "dir", "by", "us", "gap", "hold", "code", "timer"};

#define K(key)    (1u << KEY_##key)
#define K_PICK    (K(NTH) | K(EVERY) | K(COUNT) | K(RATE) | K(QPN) | K(AT) | K(FOR))
#define K_PACKETS (K_PICK | K(KIND) | K(PART) | K(DIR))

#define KINDS_DATA     (1u << SN_KIND_SEND | 1u << SN_KIND_WRITE)
#define KINDS_ATOMIC                                                                                                   \
    (1u << SN_KIND_ATOMIC_CS | 1u << SN_KIND_ATOMIC_FA | 1u << SN_KIND_ATOMIC_MASKED_CS | 1u << SN_KIND_ATOMIC_MASKED_FA)
#define KINDS_REQUEST  (KINDS_DATA | 1u << SN_KIND_READ_REQUEST | KINDS_ATOMIC)
#define KINDS_RESPONSE (1u << SN_KIND_READ_RESPONSE | 1u << SN_KIND_ACK | 1u << SN_KIND_ATOMIC_ACK | SN_KINDS_NAK)
#define KINDS_ANY      (KINDS_REQUEST | KINDS_RESPONSE | 1u << SN_KIND_CNP)

static const struct {
    const char *name;
    uint32_t keys, kinds; /* kinds: when none are named */
} actions[SN_INJECT_COUNT] = {
    [SN_INJECT_DROP] = {"drop", K_PACKETS, KINDS_ANY},
    [SN_INJECT_DUP] = {"dup", K_PACKETS, KINDS_ANY},
    [SN_INJECT_DELAY] = {"delay", K_PACKETS | K(BY) | K(US), KINDS_ANY},
    [SN_INJECT_REORDER] = {"reorder", K_PACKETS | K(GAP) | K(HOLD), KINDS_ANY},
    [SN_INJECT_CORRUPT] = {"corrupt", K_PACKETS, KINDS_ANY},
    [SN_INJECT_LOSE_RESPONSE] = {"lose-response", K_PACKETS & ~K(PART), KINDS_REQUEST},
    [SN_INJECT_RETRY_EXCEEDED] = {"retry-exceeded", K_PACKETS & ~K(DIR), KINDS_REQUEST},
    [SN_INJECT_LINK_DOWN] = {"link-down", K(NTH) | K(QPN) | K(AT) | K(FOR) | K(KIND), KINDS_ANY},
    [SN_INJECT_NAK] = {"nak", (K_PACKETS & ~K(DIR)) | K(CODE), KINDS_REQUEST},
    [SN_INJECT_RNR] = {"rnr", (K_PACKETS & ~K(DIR)) | K(TIMER), KINDS_REQUEST},
    [SN_INJECT_CQ_OVERRUN] = {"cq-overrun", K_PICK, 0},
    [SN_INJECT_DOORBELL_LOST] = {"doorbell-lost", K_PICK, 0},
    [SN_INJECT_DOORBELL_DELAYED] = {"doorbell-delayed", K_PICK | K(BY) | K(US), 0},
    [SN_INJECT_DOORBELL_MERGED] = {"doorbell-merged", K_PICK | K(GAP) | K(HOLD), 0},
};

struct word {
    const char *name;
    uint32_t value;
};

static const struct word kinds[] = {
    {"any", KINDS_ANY},
    {"request", KINDS_REQUEST},
    {"response", KINDS_RESPONSE},
    {"data", KINDS_DATA},
    {"send", 1u << SN_KIND_SEND},
    {"write", 1u << SN_KIND_WRITE},
    {"read", 1u << SN_KIND_READ_REQUEST},
    {"atomic", KINDS_ATOMIC},
    {"fetch-add", 1u << SN_KIND_ATOMIC_FA | 1u << SN_KIND_ATOMIC_MASKED_FA},
    {"compare-swap", 1u << SN_KIND_ATOMIC_CS | 1u << SN_KIND_ATOMIC_MASKED_CS},
    {"read-response", 1u << SN_KIND_READ_RESPONSE},
    {"atomic-response", 1u << SN_KIND_ATOMIC_ACK},
    {"ack", 1u << SN_KIND_ACK},
    {"nak", SN_KINDS_NAK},
    {"cnp", 1u << SN_KIND_CNP},
};

static const struct word parts[] = {
    {"any", SN_PART_ANY}, {"first", SN_PART_FIRST}, {"middle", SN_PART_MIDDLE}, {"last", SN_PART_LAST}, {"only", SN_PART_ONLY}};
static const struct word directions[] = {{"tx", 0}, {"rx", 1}};
static const struct word codes[] = {{"sequence", SN_AETH_NAK_SEQUENCE},
                                    {"invalid", SN_AETH_NAK_INVALID},
                                    {"access", SN_AETH_NAK_ACCESS},
                                    {"op", SN_AETH_NAK_OP}};

bool sn_fault_rule_is_link(const struct sn_fault_rule *rule)
{
    return rule->action == SN_INJECT_LINK_DOWN && !rule->has_qpn && rule->kinds == KINDS_ANY;
}

const char *sn_inject_name(enum sn_inject action)
{
    return (unsigned)action < SN_INJECT_COUNT ? actions[action].name : NULL;
}

/* ---- messages ------------------------------------------------------------------------------------------------ */

static int refuse(const struct parser *p, const char *format, ...) __attribute__((format(printf, 2, 3)));

static int refuse(const struct parser *p, const char *format, ...)
{
    va_list args;
    size_t used = 0;

    if (p->why_size == 0)
        return -EINVAL;
    if (p->rule != 0) {
        int n = snprintf(p->why, p->why_size, "rule %u: ", p->rule);
        used = n > 0 && (size_t)n < p->why_size ? (size_t)n : 0;
    }
    va_start(args, format);
    vsnprintf(p->why + used, p->why_size - used, format, args);
    va_end(args);
    return -EINVAL;
}

/* The slice as printf's %.*s wants it, cut to a bearable length. */
static int shown(struct slice s)
{
    return s.length < 40 ? (int)s.length : 40;
}

/* ---- pieces -------------------------------------------------------------------------------------------------- */

static struct slice cut(struct slice *rest, char at)
{
    const char *end = memchr(rest->at, at, rest->length);
    struct slice head = {rest->at, end == NULL ? rest->length : (size_t)(end - rest->at)};

    rest->at += head.length + (end != NULL);
    rest->length -= head.length + (end != NULL);
    return head;
}

static bool is(struct slice s, const char *word)
{
    return strlen(word) == s.length && memcmp(s.at, word, s.length) == 0;
}

static int find_word(const struct word *table, size_t count, struct slice s, uint32_t *out)
{
    for (size_t i = 0; i < count; i++)
        if (is(s, table[i].name)) {
            *out = table[i].value;
            return 0;
        }
    return -EINVAL;
}

/* Digits from the front of `s`, decimal. False: none, or too many. */
static bool take_digits(struct slice *s, uint64_t *out)
{
    uint64_t v = 0;
    size_t n = 0;

    for (; n < s->length && s->at[n] >= '0' && s->at[n] <= '9'; n++)
        if (__builtin_mul_overflow(v, 10u, &v) || __builtin_add_overflow(v, (uint64_t)(s->at[n] - '0'), &v))
            return false;
    s->at += n;
    s->length -= n;
    *out = v;
    return n != 0;
}

static bool take_hex(struct slice s, uint64_t *out)
{
    uint64_t v = 0;

    if (s.length < 3 || s.length > 18 || s.at[0] != '0' || s.at[1] != 'x')
        return false;
    for (size_t i = 2; i < s.length; i++) {
        char c = s.at[i];
        if (c >= '0' && c <= '9')
            v = v * 16 + (uint64_t)(c - '0');
        else if (c >= 'a' && c <= 'f')
            v = v * 16 + (uint64_t)(c - 'a' + 10);
        else
            return false;
    }
    *out = v;
    return true;
}

static int number(const struct parser *p, const char *key, struct slice s, uint64_t low, uint64_t high, uint64_t *out)
{
    struct slice rest = s;
    uint64_t v;

    if ((!take_hex(s, &v) && (!take_digits(&rest, &v) || rest.length != 0)) || v < low || v > high)
        return refuse(p, "%s=%.*s: expected a number from %llu to %llu", key, shown(s), s.at, (unsigned long long)low,
                      (unsigned long long)high);
    *out = v;
    return 0;
}

/* A number and its unit: ns, us, ms or s. At most an hour. */
static int duration(const struct parser *p, const char *key, struct slice s, uint64_t *out)
{
    static const struct {
        const char *unit;
        uint64_t ns;
    } units[] = {{"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", 1000000000}};
    struct slice rest = s;
    uint64_t v;

    if (take_digits(&rest, &v))
        for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
            if (is(rest, units[i].unit) && v <= 3600000000000ull / units[i].ns) {
                *out = v * units[i].ns;
                return 0;
            }
    return refuse(p, "%s=%.*s: expected a time with its unit, 500us, 10ms or 1s, one hour at most", key, shown(s), s.at);
}

/* 0 < rate <= 1, with up to nine digits behind the point. */
static int rate(const struct parser *p, struct slice s, uint64_t *out)
{
    struct slice rest = s;
    uint64_t whole, part = 0, scale = 1;
    bool good = take_digits(&rest, &whole) && whole <= 1;

    if (good && rest.length != 0) {
        good = rest.at[0] == '.' && rest.length >= 2 && rest.length <= 10;
        for (size_t i = 1; good && i < rest.length; i++) {
            good = rest.at[i] >= '0' && rest.at[i] <= '9';
            part = part * 10 + (uint64_t)(rest.at[i] - '0');
            scale *= 10;
        }
    }
    if (!good || (whole == 1 && part != 0) || (whole == 0 && part == 0))
        return refuse(p, "rate=%.*s: expected a fraction above 0, up to 1", shown(s), s.at);
    *out = whole == 1 ? UINT64_MAX : (uint64_t)(((unsigned __int128)part << 64) / scale);
    return 0;
}

static int word(const struct parser *p, const char *key, const struct word *table, size_t count, struct slice s, uint32_t *out)
{
    char known[200] = "";
    size_t used = 0;

    if (find_word(table, count, s, out) == 0)
        return 0;
    for (size_t i = 0; i < count; i++)
        used += (size_t)snprintf(known + used, sizeof(known) - used, "%s%s", i == 0 ? "" : ", ", table[i].name);
    return refuse(p, "%s=%.*s: expected one of %s", key, shown(s), s.at, known);
}
#define WORD(p, key, table, s, out) word(p, key, table, sizeof(table) / sizeof((table)[0]), s, out)

/* ---- a rule -------------------------------------------------------------------------------------------------- */

static int set_key(const struct parser *p, enum key key, struct slice v, struct sn_fault_rule *r)
{
    const char *name = key_names[key];
    uint32_t w = 0;
    uint64_t n = 0;
    int rc;

    switch (key) {
    case KEY_NTH:
        return number(p, name, v, 1, UINT64_MAX, &r->nth);
    case KEY_EVERY:
        return number(p, name, v, 1, UINT64_MAX, &r->every);
    case KEY_COUNT:
        return number(p, name, v, 1, UINT64_MAX - 1, &r->limit);
    case KEY_RATE:
        return rate(p, v, &r->threshold);
    case KEY_QPN:
        rc = number(p, name, v, 1, 0xffffff, &n);
        r->has_qpn = true;
        r->qpn = (uint32_t)n;
        return rc;
    case KEY_AT:
        return duration(p, name, v, &r->from_ns);
    case KEY_FOR:
        return duration(p, name, v, &r->down_ns); /* finish() makes a window of it */
    case KEY_KIND:
        return WORD(p, name, kinds, v, &r->kinds);
    case KEY_PART:
        rc = WORD(p, name, parts, v, &w);
        r->part = (enum sn_part)w;
        return rc;
    case KEY_DIR:
        rc = WORD(p, name, directions, v, &w);
        r->incoming = w != 0;
        return rc;
    case KEY_BY:
    case KEY_HOLD:
        return duration(p, name, v, &r->hold_ns);
    case KEY_US:
        rc = number(p, name, v, 0, 3600000000u, &n);
        r->hold_ns = n * 1000;
        return rc;
    case KEY_GAP:
        return number(p, name, v, 1, 1000000, &r->gap);
    case KEY_CODE:
        rc = WORD(p, name, codes, v, &w);
        r->code = (uint8_t)w;
        return rc;
    default: /* KEY_TIMER */
        rc = number(p, name, v, 0, 31, &n);
        r->code = (uint8_t)n;
        return rc;
    }
}

/* What answers these requests. */
static uint32_t responses_to(uint32_t requests)
{
    return ((requests & KINDS_DATA) != 0 ? 1u << SN_KIND_ACK : 0) |
           ((requests & 1u << SN_KIND_READ_REQUEST) != 0 ? 1u << SN_KIND_READ_RESPONSE : 0) |
           ((requests & KINDS_ATOMIC) != 0 ? 1u << SN_KIND_ATOMIC_ACK : 0);
}

static bool needs_requests(enum sn_inject action)
{
    return action == SN_INJECT_LOSE_RESPONSE || action == SN_INJECT_RETRY_EXCEEDED || action == SN_INJECT_NAK ||
           action == SN_INJECT_RNR;
}

/* Keys that do not go together, and what they mean in sum. */
static int finish(const struct parser *p, uint32_t seen, struct sn_fault_rule *r)
{
    uint64_t span = r->down_ns;

    if ((seen & K(RATE)) && (seen & (K(NTH) | K(EVERY))))
        return refuse(p, "rate beside nth or every: a packet is chosen by chance or by count");
    if ((seen & K(BY)) && (seen & K(US)))
        return refuse(p, "by and us: both say how long");
    if ((r->action == SN_INJECT_DELAY || r->action == SN_INJECT_DOORBELL_DELAYED) && !(seen & (K(BY) | K(US))))
        return refuse(p, "%s needs by=TIME or us=NUMBER", sn_inject_name(r->action));
    if (r->action == SN_INJECT_NAK && !(seen & K(CODE)))
        return refuse(p, "nak needs code=sequence, invalid, access or op");
    if (needs_requests(r->action) && (r->kinds & ~KINDS_REQUEST) != 0) {
        if (seen & K(KIND) && r->kinds != KINDS_ANY)
            return refuse(p, "%s is about requests: kind=send, write, data, read, atomic, fetch-add or compare-swap",
                          sn_inject_name(r->action));
        r->kinds = KINDS_REQUEST;
    }
    if (r->action == SN_INJECT_LOSE_RESPONSE)
        r->kinds = responses_to(r->kinds);
    if (r->every != 0 && r->nth == 0)
        r->nth = r->every;
    if (r->nth != 0 && r->every == 0 && !(seen & K(COUNT)))
        r->limit = 1;
    if (r->action == SN_INJECT_RETRY_EXCEEDED && !(seen & (K(COUNT) | K(RATE) | K(EVERY))))
        r->limit = 1; /* one queue */
    if (r->action == SN_INJECT_LINK_DOWN && r->nth != 0) {
        if (seen & K(AT))
            return refuse(p, "link-down goes down at a time or at the nth packet, not both");
        r->down_ns = seen & K(FOR) ? span : UINT64_MAX;
        return 0;
    }
    if (seen & K(FOR))
        r->until_ns = r->from_ns + span;
    return 0;
}

static int read_keys(const struct parser *p, struct slice rest, struct sn_fault_rule *r)
{
    uint32_t seen = 0;

    do {
        struct slice value = cut(&rest, ','), name;
        bool assigned = memchr(value.at, '=', value.length) != NULL;
        unsigned key;
        int rc;

        name = cut(&value, '=');
        for (key = 0; key < KEYS && !is(name, key_names[key]); key++)
            ;
        if (key == KEYS || !(actions[r->action].keys & 1u << key))
            return refuse(p, "%s has no key '%.*s'", sn_inject_name(r->action), shown(name), name.at);
        if (!assigned || value.length == 0)
            return refuse(p, "%s has no value", key_names[key]);
        if (seen & 1u << key)
            return refuse(p, "%s is there twice", key_names[key]);
        seen |= 1u << key;
        rc = set_key(p, (enum key)key, value, r);
        if (rc != 0)
            return rc;
        if (rest.length == 0 && rest.at[-1] == ',')
            return refuse(p, "nothing behind the last comma");
    } while (rest.length != 0);
    return finish(p, seen, r);
}

static int read_rule(const struct parser *p, struct slice rest, struct sn_fault_rule *r)
{
    bool has_keys = memchr(rest.at, ':', rest.length) != NULL;
    struct slice name = cut(&rest, ':');
    unsigned action;

    for (action = 0; action < SN_INJECT_COUNT && !is(name, actions[action].name); action++)
        ;
    if (action == SN_INJECT_COUNT)
        return refuse(p, "no action is called '%.*s': drop, dup, delay, reorder, corrupt, lose-response, retry-exceeded, "
                         "link-down, nak, rnr, cq-overrun, doorbell-lost, doorbell-delayed or doorbell-merged",
                      shown(name), name.at);
    *r = (struct sn_fault_rule){.action = (enum sn_inject)action,
                                .kinds = actions[action].kinds,
                                .limit = UINT64_MAX,
                                .threshold = UINT64_MAX,
                                .until_ns = UINT64_MAX,
                                .hold_ns = 1000000,
                                .gap = 1,
                                .code = SN_FAULT_RNR_OF_QP};
    if (!has_keys)
        return finish(p, 0, r);
    if (rest.length == 0)
        return refuse(p, "nothing behind '%s:'", actions[action].name);
    return read_keys(p, rest, r);
}

int sn_fault_parse(const char *text, size_t length, struct sn_fault_plan *out, char *why, size_t why_size)
{
    struct parser p = {.why = why, .why_size = why_size};
    struct slice rest = {text, length};
    struct sn_fault_plan plan = {0};

    if (length == 0)
        return refuse(&p, "an empty fault plan");
    if (length > SN_FAULT_TEXT_MAX)
        return refuse(&p, "a fault plan of %zu bytes: %d at most", length, SN_FAULT_TEXT_MAX);
    for (;;) {
        bool more = memchr(rest.at, ';', rest.length) != NULL;
        struct slice rule = cut(&rest, ';');
        int rc;

        p.rule++;
        if (plan.count == SN_FAULT_RULES)
            return refuse(&p, "more than %d rules", SN_FAULT_RULES);
        if (rule.length == 0)
            return refuse(&p, "an empty rule");
        rc = read_rule(&p, rule, &plan.rule[plan.count]);
        if (rc != 0)
            return rc;
        plan.count++;
        if (!more)
            break;
    }
    *out = plan;
    return 0;
}
