/* SPDX-License-Identifier: Apache-2.0 */
/* The rewriting, as a table: text in, text out; and that every line stays where it was. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rewrite.h"

#define LAUNCH(config, name, callee) \
    "::gdaki_cpu::on(" config ").kernel(\"" name "\", [=](const auto &...gdaki_cpu_arg) { " callee "(gdaki_cpu_arg...); })"

static const struct {
    const char *in, *out;
} table[] = {
    {"void f() { k<<<1, 2>>>(a); }", "void f() { " LAUNCH("1, 2", "k", "k") "(a); }"},
    {"void f() { k<<<g, b, 0, s>>>(); }", "void f() { " LAUNCH("g, b, 0, s", "k", "k") "(); }"},
    {"k<<<dim3(1, 2), f(3, (4))>>>(x, y)", LAUNCH("dim3(1, 2), f(3, (4))", "k", "k") "(x, y)"},
    {"k<int, 3><<<1, 2>>>()", LAUNCH("1, 2", "k<int, 3>", "k<int, 3>") "()"},
    {"k<A<B<C>>, (4 > 3)><<<1, 2>>>()", LAUNCH("1, 2", "k<A<B<C>>, (4 > 3)>", "k<A<B<C>>, (4 > 3)>") "()"},
    {"ns::k<T><<<1, 2>>>()", LAUNCH("1, 2", "ns::k<T>", "ns::k<T>") "()"},
    {"::k<<<1, 2>>>()", LAUNCH("1, 2", "::k", "::k") "()"},
    {"return ::k<<<1, 2>>>();", "return " LAUNCH("1, 2", "::k", "::k") "();"},
    {"A<int>::k<<<1, 2>>>()", LAUNCH("1, 2", "A<int>::k", "A<int>::k") "()"},
    {"(p)<<<1, 2>>>()", LAUNCH("1, 2", "(p)", "(p)") "()"},
    {"table[i]<<<1, 2>>>()", LAUNCH("1, 2", "table[i]", "table[i]") "()"},
    {"o.p->k<<<1, 2>>>()", LAUNCH("1, 2", "o.p->k", "o.p->k") "()"},
    {"if (x) k<<<1, 2>>>(); else k<<<3, 4>>>();",
     "if (x) " LAUNCH("1, 2", "k", "k") "(); else " LAUNCH("3, 4", "k", "k") "();"},
    {"k<<<n >> 1, 1 << 5>>>()", LAUNCH("n >> 1, 1 << 5", "k", "k") "()"},
    {"k<<<1, s<3>>>>()", LAUNCH("1, s<3>", "k", "k") "()"},
    {"k<<<1, c ? 2 : 3>>>(l<m>(4), n > 3)", LAUNCH("1, c ? 2 : 3", "k", "k") "(l<m>(4), n > 3)"},
    {"k<<<1, 2>>>(g<<<3, 4>>>())", LAUNCH("1, 2", "k", "k") "(" LAUNCH("3, 4", "g", "g") "())"},
    {"k<<<\n  1, // grid\n  2 /* >>>( */>>>(\n a)", LAUNCH("1, 2", "k", "k") "\n\n(\n a)"},
    {"k<'>', \"<<<\"><<<1, 2>>>()", LAUNCH("1, 2", "k<'>', \\\"<<<\\\">", "k<'>', \"<<<\">") "()"},
    /* what is no launch */
    {"cout << \"k<<<1, 2>>>()\" << x >> y;", "cout << \"k<<<1, 2>>>()\" << x >> y;"},
    {"// k<<<1, 2>>>()\n/* k<<<1,\n2>>>() */ x", "// k<<<1, 2>>>()\n/* k<<<1,\n2>>>() */ x"},
    {"R\"(k<<<1, 2>>>())\" a", "R\"(k<<<1, 2>>>())\" a"},
    {"a << b; c >> d; e<f<g<h>>> i;", "a << b; c >> d; e<f<g<h>>> i;"},
    {"x = 1'000'000; k<<<1, 2>>>()", "x = 1'000'000; " LAUNCH("1, 2", "k", "k") "()"},
    {"ostream &operator<<<T>(ostream &);", "ostream &operator<<<T>(ostream &);"},
    /* shared memory */
    {"void f() { __shared__ int a; }",
     "void f() { struct gdaki_cpu_shared_1 { int a; }; auto &a = ::gdaki_cpu::shared<gdaki_cpu_shared_1>().a; }"},
    {"void f() { static __shared__ volatile T a[2][N], *b; }",
     "void f() { struct gdaki_cpu_shared_1 { volatile T a [ 2 ] [ N ] , * b; }; "
     "auto &a = ::gdaki_cpu::shared<gdaki_cpu_shared_1>().a;auto &b = ::gdaki_cpu::shared<gdaki_cpu_shared_1>().b; }"},
    {"void f() { x(); alignas(16) __shared__ M<a, b>\n m; }",
     "void f() { x(); struct gdaki_cpu_shared_1 { alignas ( 16 ) M < a , b > m; }; "
     "auto &m = ::gdaki_cpu::shared<gdaki_cpu_shared_1>().m;\n }"},
    {"void f() { extern __shared__ __attribute__((aligned(16))) float s[]; }",
     "void f() { auto &s = ::gdaki_cpu::dynamic_shared< float [ ]>(); }"},
    {"namespace n { __shared__ int g; void f() { g = o.g + 1; } }",
     "namespace n { struct gdaki_cpu_shared_1 { int g; };  void f() { "
     "(::gdaki_cpu::shared<gdaki_cpu_shared_1>().g) = o.g + 1; } }"},
    {"extern __shared__ char s[]; void f() { s[0] = 1; }",
     " void f() { (::gdaki_cpu::dynamic_shared< char [ ]>())[0] = 1; }"},
    /* the rest */
    {"cudaLaunchKernel((void *)k, g, b, a);", "cudaLaunchKernel(k, g, b, a);"},
    {"cudaLaunchKernel((const void*)k<T>, g, b, a);", "cudaLaunchKernel(k<T>, g, b, a);"},
    {"cudaLaunchCooperativeKernel(reinterpret_cast<void *>(k), g, b, a);", "cudaLaunchCooperativeKernel((k), g, b, a);"},
    {"__noinline__ void f(); __attribute__((__noinline__)) void g();",
     "__attribute__((__noinline__)) void f(); __attribute__((__noinline__)) void g();"},
};

static void text_is_rewritten(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        char *out = NULL;
        size_t size = 0;

        assert_int_equal(rewrite("a.cu", table[i].in, strlen(table[i].in), &out, &size, stderr), 0);
        assert_int_equal(size, strlen(out));
        assert_string_equal(out, table[i].out);
        free(out);
    }
}

static unsigned newlines(const char *text)
{
    unsigned count = 0;

    for (; *text; text++)
        count += *text == '\n';
    return count;
}

static void lines_stay_where_they_are(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        char *out = NULL;
        size_t size;

        assert_int_equal(rewrite("a.cu", table[i].in, strlen(table[i].in), &out, &size, stderr), 0);
        assert_int_equal(newlines(out), newlines(table[i].in));
        free(out);
    }
}

/* Preprocessed text: a line marker inside a launch is put right after it. */
static void markers_are_kept_up(void **state)
{
    static const char in[] = "# 10 \"b.cu\"\nk<<<1,\n# 20 \"c.h\"\n2>>>(a);\n";
    char *out = NULL;
    size_t size;

    (void)state;
    assert_int_equal(rewrite("a.ii", in, sizeof(in) - 1, &out, &size, stderr), 0);
    assert_string_equal(out, "# 10 \"b.cu\"\n" LAUNCH("1, 2", "k", "k") "\n# 20 \"c.h\"\n(a);\n");
    free(out);
}

static const struct {
    const char *in, *error;
} errors[] = {
    {"\n\nk<<<1>>>(a);", "a.cu:3: error: a kernel launch needs a grid and a block"},
    {"k<<<1, 2>>> a;", "a.cu:1: error: a kernel launch needs >>> and then its arguments"},
    {"k<<<1, 2;", "a.cu:1: error: a kernel launch needs >>>"},
    {"= <<<1, 2>>>(a);", "a.cu:1: error: cannot tell which kernel"},
    {"# 7 \"x.cuh\"\nvoid f() { __shared__ int a = 3; }", "x.cuh:7: error: __shared__ declarations may have names"},
    {"void f() { extern __shared__ int a; }", "a.cu:1: error: extern __shared__ is for one array"},
    {"void f() { __shared__ int a", "a.cu:1: error: a __shared__ declaration does not end"},
    {"a \"open\nb", "a.cu: error: a string or character constant does not end"},
};

static void mistakes_are_named(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
        char *out = NULL, *text = NULL;
        size_t size, text_size;
        FILE *stream = open_memstream(&text, &text_size);

        assert_true(rewrite("a.cu", errors[i].in, strlen(errors[i].in), &out, &size, stream) < 0);
        assert_null(out);
        fclose(stream);
        if (!strstr(text, errors[i].error))
            fail_msg("want \"%s\", got \"%s\"", errors[i].error, text);
        free(text);
    }
}

static const struct {
    const char *body;
    int found;
} lints[] = {
    {"__syncthreads();", 0},
    {"if (threadIdx.x < 3) __syncthreads();", 1},
    {"if (threadIdx.x < 3) { x(); } __syncthreads();", 0},
    {"if (n < 3) __syncthreads(); else { __syncthreads(); }", 0},
    {"if (threadIdx.x) x(); else __syncthreads();", 1},
    {"int t = threadIdx.x + 1; int u = t * 2; for (int i = 0; i < u; i++) { __syncthreads(); }", 1},
    {"for (int i = 0; i < n; i++) { if (threadIdx.x == i) a[i] = 1; __syncthreads(); }", 0},
    {"int t = threadIdx.x; if (t >= n) return; __syncthreads();", 1},
    {"if (blockIdx.x) return; __syncthreads();", 0},
    {"while (threadIdx.x > n) { if (m) { __syncthreads_or(1); } }", 1},
    {"if (threadIdx.x < 16) __syncwarp();", 1},
    {"if (threadIdx.x < 16) __syncwarp(0xffff);", 0},
    {"switch (threadIdx.x) { case 1: __syncthreads(); }", 1},
    {"do { __syncthreads(); } while (n--);", 0},
    {"const char *s = \"if (threadIdx.x) __syncthreads();\"; // if (threadIdx.x) __syncthreads();\n", 0},
};

static void divergent_barriers_are_named(void **state)
{
    FILE *sink = fopen("/dev/null", "w");

    (void)state;
    for (size_t i = 0; i < sizeof(lints) / sizeof(lints[0]); i++) {
        char text[512];
        int found;

        snprintf(text, sizeof(text), "void before() { int t; } void k(int n) { %s } void after() { __syncthreads(); }",
                 lints[i].body);
        found = lint("a.cu", text, strlen(text), sink);
        if (found != lints[i].found)
            fail_msg("%d, not %d, in: %s", found, lints[i].found, lints[i].body);
    }
    fclose(sink);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_is_rewritten),      cmocka_unit_test(lines_stay_where_they_are),
        cmocka_unit_test(markers_are_kept_up),    cmocka_unit_test(mistakes_are_named),
        cmocka_unit_test(divergent_barriers_are_named),
    };

    return cmocka_run_group_tests_name("rewrite", tests, NULL, NULL);
}
