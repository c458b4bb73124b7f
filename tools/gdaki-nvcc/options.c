/* SPDX-License-Identifier: Apache-2.0 */
#include "options.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void list_add(struct list *list, const char *item)
{
    if (list->count == list->room) {
        list->room = list->room ? 2 * list->room : 32;
        list->item = realloc(list->item, list->room * sizeof(*list->item));
        if (!list->item) {
            fprintf(stderr, "gdaki-nvcc: out of memory\n");
            exit(1);
        }
    }
    list->item[list->count++] = item;
}

static struct list texts;

const char *text(const char *pattern, ...)
{
    va_list args;
    char *out;
    int size;

    va_start(args, pattern);
    size = vasprintf(&out, pattern, args);
    va_end(args);
    if (size < 0) {
        fprintf(stderr, "gdaki-nvcc: out of memory\n");
        exit(1);
    }
    list_add(&texts, out);
    return out;
}

void text_free_all(void)
{
    for (size_t i = 0; i < texts.count; i++)
        free((char *)texts.item[i]);
    free(texts.item);
    texts = (struct list){0};
}

/* Options that nvcc has and that mean nothing here. value: takes one, as the next word or after '='. */
static const struct {
    const char *name;
    bool value;
} ignored[] = {
    {"-arch", true}, {"--gpu-architecture", true}, {"-gencode", true}, {"--generate-code", true}, {"-code", true},
    {"--gpu-code", true}, {"-maxrregcount", true}, {"--maxrregcount", true}, {"-cudart", true}, {"--cudart", true},
    {"-Xptxas", true}, {"--ptxas-options", true}, {"-Xnvlink", true}, {"-Xcudafe", true}, {"-Xfatbin", true},
    {"-diag-suppress", true}, {"--diag-suppress", true}, {"-t", true}, {"--threads", true}, {"-x86", false},
    {"-G", false}, {"--device-debug", false}, {"-lineinfo", false}, {"--generate-line-info", false}, {"-dc", false},
    {"--device-c", false}, {"-dlink", false}, {"-rdc", true}, {"--relocatable-device-code", true},
    {"--expt-relaxed-constexpr", false}, {"-expt-relaxed-constexpr", false}, {"--expt-extended-lambda", false},
    {"-expt-extended-lambda", false}, {"--extended-lambda", false}, {"-extended-lambda", false}, {"-use_fast_math", false},
    {"--use_fast_math", false}, {"-m64", false}, {"-restrict", false}, {"--restrict", false}, {"-ftz", true},
    {"--ftz", true}, {"-prec-div", true}, {"-prec-sqrt", true}, {"-fmad", true}, {"--fmad", true}, {"-forward-unknown-to-host-compiler", false},
    {"-res-usage", false}, {"--resource-usage", false}, {"-no-compress", false}, {"-allow-unsupported-compiler", false},
    {"--source-in-ptx", false}, {"-dopt", true}, {"--default-stream", true}, {"-default-stream", true},
};

struct cursor {
    int argc, at;
    char **argv;
    const char *value; /* after '=' of the current option */
};

static const char *take_value(struct options *o, struct cursor *c, const char *name)
{
    if (c->value) {
        const char *value = c->value;

        c->value = NULL;
        return value;
    }
    if (c->at + 1 < c->argc)
        return c->argv[++c->at];
    fprintf(stderr, "gdaki-nvcc: option %s needs a value\n", name);
    o->failed = true;
    return "";
}

/* Comma-separated, as -Xcompiler takes them. */
static void add_words(struct list *list, const char *prefix, const char *words)
{
    while (*words) {
        size_t size = strcspn(words, ",");

        if (size) {
            if (prefix)
                list_add(list, prefix);
            list_add(list, text("%.*s", (int)size, words));
        }
        words += size + (words[size] == ',');
    }
}

/* `arg` is `name`, or `name=value`; sets c->value. */
static bool matches(struct cursor *c, const char *arg, const char *name)
{
    size_t size = strlen(name);

    if (strncmp(arg, name, size) || (arg[size] && arg[size] != '='))
        return false;
    c->value = arg[size] ? arg + size + 1 : NULL;
    return true;
}

static bool is_ignored(struct options *o, struct cursor *c, const char *arg)
{
    for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++) {
        if (!matches(c, arg, ignored[i].name))
            continue;
        if (ignored[i].value)
            take_value(o, c, ignored[i].name);
        c->value = NULL;
        return true;
    }
    return false;
}

/* -Ipath or -I path: both words go to the list as one. */
static bool joined(struct options *o, struct cursor *c, const char *arg, const char *name, struct list *list)
{
    size_t size = strlen(name);

    if (strncmp(arg, name, size))
        return false;
    if (arg[size]) {
        list_add(list, arg);
        return true;
    }
    list_add(list, text("%s%s", name, take_value(o, c, name)));
    return true;
}

static bool set_flag(struct options *o, const char *arg)
{
    static const struct {
        const char *name, *other;
        size_t offset;
    } flags[] = {
        {"-shared", "--shared", offsetof(struct options, shared)},
        {"-v", "--verbose", offsetof(struct options, verbose)},
        {"--dryrun", "-dryrun", offsetof(struct options, dry_run)},
        {"-keep", "--keep", offsetof(struct options, keep)},
        {"--lint", "-lint", offsetof(struct options, lint)},
        {"--lint-only", "-lint-only", offsetof(struct options, lint_only)},
        {"-h", "--help", offsetof(struct options, help)},
        {"-V", "--version", offsetof(struct options, version)},
        {"-MD", "-MMD", offsetof(struct options, dependencies)},
    };

    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
        if (!strcmp(arg, flags[i].name) || !strcmp(arg, flags[i].other)) {
            *(bool *)((char *)o + flags[i].offset) = true;
            return true;
        }
    }
    return false;
}

static bool set_mode(struct options *o, const char *arg)
{
    if (!strcmp(arg, "-c") || !strcmp(arg, "--compile") || !strcmp(arg, "-dc") || !strcmp(arg, "--device-c"))
        o->mode = MODE_COMPILE;
    else if (!strcmp(arg, "-E") || !strcmp(arg, "--preprocess"))
        o->mode = MODE_PREPROCESS;
    else if (!strcmp(arg, "-M") || !strcmp(arg, "-MM"))
        o->mode = MODE_DEPENDENCIES;
    else if (!strcmp(arg, "-lib") || !strcmp(arg, "--lib") || !strcmp(arg, "-ptx") || !strcmp(arg, "--ptx") ||
             !strcmp(arg, "-cubin") || !strcmp(arg, "--cubin") || !strcmp(arg, "-fatbin") || !strcmp(arg, "-run")) {
        fprintf(stderr, "gdaki-nvcc: option %s has no meaning for the CPU executor\n", arg);
        o->failed = true;
    } else
        return false;
    return true;
}

/* Options with a value that is kept by itself. */
static bool set_value(struct options *o, struct cursor *c, const char *arg)
{
    if (matches(c, arg, "-o") || matches(c, arg, "--output-file"))
        o->output = take_value(o, c, "-o");
    else if (matches(c, arg, "-x"))
        o->language = take_value(o, c, "-x");
    else if (matches(c, arg, "-ccbin") || matches(c, arg, "--compiler-bindir"))
        o->compiler = take_value(o, c, "-ccbin");
    else if (matches(c, arg, "-MF"))
        o->dep_file = take_value(o, c, "-MF");
    else if (matches(c, arg, "-MT") || matches(c, arg, "-MQ"))
        o->dep_target = take_value(o, c, "-MT");
    else if (matches(c, arg, "-include") || matches(c, arg, "-isystem") || matches(c, arg, "-iquote")) {
        list_add(&o->preprocess, arg);
        list_add(&o->preprocess, take_value(o, c, arg));
    } else if (matches(c, arg, "-Xcompiler") || matches(c, arg, "--compiler-options"))
        add_words(&o->compile, NULL, take_value(o, c, arg));
    else if (matches(c, arg, "-Xlinker") || matches(c, arg, "--linker-options"))
        add_words(&o->link, "-Xlinker", take_value(o, c, arg));
    else
        return false;
    return true;
}

/* Those that the host compiler takes as they are. */
static bool pass_on(struct options *o, struct cursor *c, const char *arg)
{
    if (joined(o, c, arg, "-I", &o->preprocess) || joined(o, c, arg, "-D", &o->preprocess) ||
        joined(o, c, arg, "-U", &o->preprocess) || joined(o, c, arg, "-L", &o->link) || joined(o, c, arg, "-l", &o->link))
        return true;
    if (!strcmp(arg, "-std") || !strcmp(arg, "--std") || !strncmp(arg, "-std=", 5) || !strncmp(arg, "--std=", 6)) {
        matches(c, arg, arg[1] == '-' ? "--std" : "-std");
        list_add(&o->compile, text("-std=%s", take_value(o, c, "-std")));
        return true;
    }
    if (!strncmp(arg, "-O", 2) || !strcmp(arg, "-g") || !strcmp(arg, "-pg") || !strcmp(arg, "-w") || !strcmp(arg, "-MP") ||
        !strncmp(arg, "-f", 2) || !strncmp(arg, "-W", 2) || !strncmp(arg, "-m", 2) || !strcmp(arg, "-pthread")) {
        list_add(!strncmp(arg, "-Wl,", 4) ? &o->link : &o->compile, arg);
        return true;
    }
    if (!strcmp(arg, "--debug") || !strcmp(arg, "--optimize"))
        list_add(&o->compile, arg[2] == 'd' ? "-g" : "-O2");
    else if (!strcmp(arg, "-rdynamic") || !strncmp(arg, "-static-lib", 11))
        list_add(&o->link, arg);
    else
        return false;
    return true;
}

static void parse_one(struct options *o, struct cursor *c)
{
    const char *arg = c->argv[c->at];

    if (arg[0] != '-' || !arg[1])
        list_add(&o->inputs, arg);
    else if (!set_mode(o, arg) && !is_ignored(o, c, arg) && !set_flag(o, arg) && !set_value(o, c, arg) &&
             !pass_on(o, c, arg)) {
        fprintf(stderr, "gdaki-nvcc: unknown option %s (--help lists the known ones; -Xcompiler passes one to the host compiler)\n",
                arg);
        o->failed = true;
    }
}

bool options_parse(struct options *o, int argc, char **argv)
{
    struct cursor c = {.argc = argc, .at = 1, .argv = argv};

    *o = (struct options){.mode = MODE_LINK};
    for (; c.at < c.argc; c.at++)
        parse_one(o, &c);
    return !o->failed;
}

void options_free(struct options *o)
{
    free(o->preprocess.item);
    free(o->compile.item);
    free(o->link.item);
    free(o->inputs.item);
}
