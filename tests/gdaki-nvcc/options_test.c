/* SPDX-License-Identifier: Apache-2.0 */
/* The command line: what is kept for which step, what is ignored, what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "options.h"

static bool parse(struct options *o, const char *line, char *buffer, size_t size)
{
    char *argv[64] = {"gdaki-nvcc"}, *rest;
    int argc = 1;

    snprintf(buffer, size, "%s", line);
    for (char *word = strtok_r(buffer, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
        argv[argc++] = word;
    return options_parse(o, argc, argv);
}

/* The items, one blank between. */
static const char *join(const struct list *list, char *out, size_t size)
{
    out[0] = 0;
    for (size_t i = 0; i < list->count; i++)
        snprintf(out + strlen(out), size - strlen(out), "%s%s", i ? " " : "", list->item[i]);
    return out;
}

static const struct {
    const char *line, *preprocess, *compile, *link, *inputs;
    enum mode mode;
} table[] = {
    {"a.cu", "", "", "", "a.cu", MODE_LINK},
    {"-c a.cu -o a.o", "", "", "", "a.cu", MODE_COMPILE},
    {"-dc a.cu", "", "", "", "a.cu", MODE_COMPILE},
    {"-Ix -I y -DA=1 -D B -U C a.cu", "-Ix -Iy -DA=1 -DB -UC", "", "", "a.cu", MODE_LINK},
    {"-include p.h -isystem q a.cu", "-include p.h -isystem q", "", "", "a.cu", MODE_LINK},
    {"-O3 -g -G -lineinfo -std=c++20 a.cu", "", "-O3 -g -std=c++20", "", "a.cu", MODE_LINK},
    {"--std c++14 a.cu", "", "-std=c++14", "", "a.cu", MODE_LINK},
    {"-arch=sm_90 -arch sm_90 -gencode arch=compute_90,code=sm_90 --gpu-architecture=sm_75 a.cu", "", "", "", "a.cu", MODE_LINK},
    {"-Xcompiler -Wall,-fPIC --compiler-options=-pthread -Xcompiler=-Wextra a.cu", "", "-Wall -fPIC -pthread -Wextra", "", "a.cu",
     MODE_LINK},
    {"-Xlinker -z,now -L/l -lm -l x a.cu b.o", "", "", "-Xlinker -z -Xlinker now -L/l -lm -lx", "a.cu b.o", MODE_LINK},
    {"-rdc=true -rdc true --expt-relaxed-constexpr --extended-lambda -maxrregcount 32 a.cu", "", "", "", "a.cu", MODE_LINK},
    {"-Xptxas -v -cudart static -t 4 a.cu", "", "", "", "a.cu", MODE_LINK},
    {"-E a.cu", "", "", "", "a.cu", MODE_PREPROCESS},
    {"-M a.cu", "", "", "", "a.cu", MODE_DEPENDENCIES},
    {"-Wl,-rpath,/x a.cu", "", "", "-Wl,-rpath,/x", "a.cu", MODE_LINK},
};

static void options_go_where_they_belong(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        char line[256], text[256];
        struct options o;

        assert_true(parse(&o, table[i].line, line, sizeof(line)));
        assert_string_equal(join(&o.preprocess, text, sizeof(text)), table[i].preprocess);
        assert_string_equal(join(&o.compile, text, sizeof(text)), table[i].compile);
        assert_string_equal(join(&o.link, text, sizeof(text)), table[i].link);
        assert_string_equal(join(&o.inputs, text, sizeof(text)), table[i].inputs);
        assert_int_equal(o.mode, table[i].mode);
        options_free(&o);
    }
    text_free_all();
}

static void flags_and_values(void **state)
{
    char line[256];
    struct options o;

    (void)state;
    assert_true(parse(&o, "-shared -v --dryrun -keep --lint -x cu -ccbin clang++ -MD -MF d -MT t -o out a", line, sizeof(line)));
    assert_true(o.shared && o.verbose && o.dry_run && o.keep && o.lint && o.dependencies && !o.help && !o.version);
    assert_string_equal(o.language, "cu");
    assert_string_equal(o.compiler, "clang++");
    assert_string_equal(o.dep_file, "d");
    assert_string_equal(o.dep_target, "t");
    assert_string_equal(o.output, "out");
    options_free(&o);
    assert_true(parse(&o, "--help --version", line, sizeof(line)));
    assert_true(o.help && o.version);
    options_free(&o);
}

static void unknown_options_are_refused(void **state)
{
    static const char *const lines[] = {"--nonsense a.cu", "-Q a.cu", "-ptx a.cu", "--cubin a.cu", "-run a.cu", "a.cu -o",
                                        "-arch", "-Xcompiler"};

    (void)state;
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        char line[64];
        struct options o;

        if (parse(&o, lines[i], line, sizeof(line)))
            fail_msg("accepted: %s", lines[i]);
        options_free(&o);
    }
    text_free_all();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_go_where_they_belong),
        cmocka_unit_test(flags_and_values),
        cmocka_unit_test(unknown_options_are_refused),
    };

    return cmocka_run_group_tests_name("options", tests, NULL, NULL);
}
