/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gdaki-nvcc: compiles .cu for the CPU executor. Each .cu is preprocessed by the host compiler (so macros and headers are
 * covered), rewritten (rewrite.c), and compiled as C++; other inputs go to the host compiler as they are.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "options.h"
#include "rewrite.h"

struct driver {
    struct options o;
    char include[PATH_MAX], libdir[PATH_MAX], temp[64];
    unsigned ntemps;
    struct list temps;
};

static const char usage[] =
    "Usage: gdaki-nvcc [options] file...\n"
    "Compiles CUDA C++ for gdaki's CPU executor with the host compiler. Options are nvcc's:\n"
    "  -c, -dc            compile to an object          -o FILE            output\n"
    "  -E                 preprocess and rewrite only   -x cu|c++|c        language of the inputs\n"
    "  -M, -MM            print dependencies            -MD -MF F -MT T    write them beside the object\n"
    "  -I -D -U -include -isystem -std= -O -g -w -f... -W... -m...         to the host compiler\n"
    "  -L -l -shared      link; libgdaki_cpu is added   -ccbin PROGRAM     host compiler (default g++)\n"
    "  -Xcompiler A,B     to the host compiler          -Xlinker A,B       to the linker\n"
    "  -v, --dryrun       show commands; only show      -keep              keep temporary files\n"
    "  --lint             warn of barriers in divergent code; --lint-only: nothing else\n"
    "  -arch -gencode -code -G -lineinfo -rdc -maxrregcount --expt-* -Xptxas ...: accepted, without meaning here\n"
    "Environment: GDAKI_NVCC_INCLUDE (folder of the CPU's cuda_runtime.h), GDAKI_NVCC_LIBDIR (of libgdaki_cpu.so).\n";

static bool exists(const char *folder, const char *file)
{
    char path[PATH_MAX + 64];

    snprintf(path, sizeof(path), "%s/%s", folder, file);
    return access(path, R_OK) == 0;
}

/* An installed gdaki-nvcc finds its files beside itself, one in a build tree where it was built. */
static void find_folders(struct driver *d)
{
    const char *include = getenv("GDAKI_NVCC_INCLUDE"), *libdir = getenv("GDAKI_NVCC_LIBDIR");
    char self[PATH_MAX - 64], *slash;
    ssize_t size = readlink("/proc/self/exe", self, sizeof(self) - 1);

    snprintf(d->include, sizeof(d->include), "%s", GDAKI_NVCC_BUILD_INCLUDE);
    snprintf(d->libdir, sizeof(d->libdir), "%s", GDAKI_NVCC_BUILD_LIBDIR);
    if (size > 0) {
        self[size] = 0;
        slash = strrchr(self, '/');
        if (slash)
            *slash = 0;
        char path[PATH_MAX];

        snprintf(path, sizeof(path), "%s/../%s", self, GDAKI_NVCC_REL_INCLUDE);
        if (exists(path, "cuda_runtime.h")) {
            snprintf(d->include, sizeof(d->include), "%s", path);
            snprintf(d->libdir, sizeof(d->libdir), "%s/../%s", self, GDAKI_NVCC_REL_LIBDIR);
        }
    }
    if (include && *include)
        snprintf(d->include, sizeof(d->include), "%s", include);
    if (libdir && *libdir)
        snprintf(d->libdir, sizeof(d->libdir), "%s", libdir);
}

static const char *temp_file(struct driver *d, const char *suffix)
{
    const char *name;

    if (!d->temp[0]) {
        snprintf(d->temp, sizeof(d->temp), "/tmp/gdaki-nvcc-XXXXXX");
        if (!mkdtemp(d->temp)) {
            fprintf(stderr, "gdaki-nvcc: cannot make a folder in /tmp: %s\n", strerror(errno));
            exit(1);
        }
    }
    name = text("%s/%u%s", d->temp, d->ntemps++, suffix);
    list_add(&d->temps, name);
    return name;
}

static void remove_temps(struct driver *d)
{
    if (!d->temp[0])
        return;
    if (d->o.keep) {
        fprintf(stderr, "gdaki-nvcc: kept %s\n", d->temp);
        return;
    }
    for (size_t i = 0; i < d->temps.count; i++)
        unlink(d->temps.item[i]);
    rmdir(d->temp);
}

static int run(struct driver *d, struct list *command)
{
    int status;
    pid_t child;

    list_add(command, NULL);
    if (d->o.verbose || d->o.dry_run) {
        for (size_t i = 0; command->item[i]; i++)
            fprintf(stderr, "%s%s", i ? " " : "", command->item[i]);
        fputc('\n', stderr);
    }
    if (d->o.dry_run)
        return 0;
    child = fork();
    if (child == 0) {
        execvp(command->item[0], (char *const *)command->item);
        fprintf(stderr, "gdaki-nvcc: cannot run %s: %s\n", command->item[0], strerror(errno));
        _exit(127);
    }
    if (child < 0 || waitpid(child, &status, 0) < 0) {
        fprintf(stderr, "gdaki-nvcc: cannot run %s: %s\n", command->item[0], strerror(errno));
        return 1;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static void add_all(struct list *command, const struct list *items)
{
    for (size_t i = 0; i < items->count; i++)
        list_add(command, items->item[i]);
}

static const char *compiler(const struct driver *d)
{
    return d->o.compiler ? d->o.compiler : "g++";
}

static bool has_prefix(const struct list *list, const char *prefix)
{
    for (size_t i = 0; i < list->count; i++) {
        if (!strncmp(list->item[i], prefix, strlen(prefix)))
            return true;
    }
    return false;
}

static void add_compile(struct driver *d, struct list *command)
{
    if (!has_prefix(&d->o.compile, "-std="))
        list_add(command, "-std=c++17");
    add_all(command, &d->o.compile);
}

static bool is_kind(const struct driver *d, const char *path, const char *const *suffixes, const char *language)
{
    const char *dot = strrchr(path, '.');

    if (d->o.language)
        return !strcmp(d->o.language, language);
    for (; dot && *suffixes; suffixes++) {
        if (!strcmp(dot, *suffixes))
            return true;
    }
    return false;
}

static bool is_cuda(const struct driver *d, const char *path)
{
    static const char *const suffixes[] = {".cu", NULL};

    return is_kind(d, path, suffixes, "cu");
}

static bool is_source(const struct driver *d, const char *path)
{
    static const char *const suffixes[] = {".cpp", ".cc", ".cxx", ".c", ".C", NULL};

    return d->o.language ? !is_cuda(d, path) : is_kind(d, path, suffixes, "");
}

static int read_file(const char *path, char **data, size_t *size)
{
    FILE *file = fopen(path, "rb");
    long end;

    if (!file)
        return -errno;
    if (fseek(file, 0, SEEK_END) || (end = ftell(file)) < 0 || fseek(file, 0, SEEK_SET)) {
        fclose(file);
        return -EIO;
    }
    *data = malloc((size_t)end + 1);
    *size = *data ? fread(*data, 1, (size_t)end, file) : 0;
    fclose(file);
    return *data ? 0 : -ENOMEM;
}

static int rewrite_file(const char *name, const char *from, const char *to, const struct options *o)
{
    char *in = NULL, *out = NULL;
    size_t in_size = 0, out_size = 0;
    int error = read_file(from, &in, &in_size);
    FILE *file = NULL;

    if (!error && (o->lint || o->lint_only))
        lint(name, in, in_size, stderr);
    if (!error && !o->lint_only)
        error = rewrite(name, in, in_size, &out, &out_size, stderr);
    if (!error && out) {
        file = strcmp(to, "-") ? fopen(to, "wb") : stdout;
        if (!file || fwrite(out, 1, out_size, file) != out_size)
            error = -EIO;
        if (file && file != stdout && fclose(file))
            error = -EIO;
        if (error)
            fprintf(stderr, "gdaki-nvcc: cannot write %s\n", to);
    }
    free(in);
    free(out);
    return error ? 1 : 0;
}

/* The file's last part with another suffix, in the current folder, as compilers do. */
static const char *object_name(const char *path)
{
    const char *base = strrchr(path, '/') ? strrchr(path, '/') + 1 : path, *dot = strrchr(base, '.');

    return text("%.*s.o", dot ? (int)(dot - base) : (int)strlen(base), base);
}

static void add_dependencies(struct driver *d, struct list *command, const char *object)
{
    if (!d->o.dependencies)
        return;
    list_add(command, "-MD");
    list_add(command, "-MT");
    list_add(command, d->o.dep_target ? d->o.dep_target : object);
    list_add(command, "-MF");
    list_add(command, d->o.dep_file ? d->o.dep_file : text("%s.d", object));
}

static void add_preprocess(struct driver *d, struct list *command)
{
    list_add(command, text("-I%s", d->include));
    list_add(command, "-DGDAKI_CPU=1");
    list_add(command, "-D__NVCC_GDAKI__=1");
    add_all(command, &d->o.preprocess);
}

static int preprocess(struct driver *d, const char *input, const char *output, const char *object)
{
    struct list command = {0};
    int status;

    list_add(&command, compiler(d));
    list_add(&command, d->o.mode == MODE_DEPENDENCIES ? "-M" : "-E");
    add_compile(d, &command);
    add_preprocess(d, &command);
    list_add(&command, "-include");
    list_add(&command, "cuda_runtime.h");
    list_add(&command, "-x");
    list_add(&command, "c++");
    list_add(&command, input);
    if (d->o.mode == MODE_DEPENDENCIES && d->o.dep_target) {
        list_add(&command, "-MT");
        list_add(&command, d->o.dep_target);
    }
    if (output) {
        list_add(&command, "-o");
        list_add(&command, output);
    }
    if (object)
        add_dependencies(d, &command, object);
    status = run(d, &command);
    free(command.item);
    return status;
}

static int compile_cuda(struct driver *d, const char *input, const char *object)
{
    const char *first = temp_file(d, ".ii"), *second = temp_file(d, ".ii");
    struct list command = {0};
    int status = preprocess(d, input, first, object);

    if (!status && !d->o.dry_run)
        status = rewrite_file(input, first, second, &d->o);
    if (status || d->o.lint_only)
        return status;
    list_add(&command, compiler(d));
    add_compile(d, &command);
    list_add(&command, "-fPIC");
    list_add(&command, "-c");
    list_add(&command, second);
    list_add(&command, "-o");
    list_add(&command, object);
    status = run(d, &command);
    free(command.item);
    return status;
}

static bool is_c(const struct driver *d, const char *path)
{
    const char *dot = strrchr(path, '.');

    return d->o.language ? !strcmp(d->o.language, "c") : dot && !strcmp(dot, ".c");
}

static int compile_host(struct driver *d, const char *input, const char *object)
{
    struct list command = {0};
    int status;

    list_add(&command, compiler(d));
    for (size_t i = 0; i < d->o.compile.count; i++) {
        if (!is_c(d, input) || strncmp(d->o.compile.item[i], "-std=c++", 8))
            list_add(&command, d->o.compile.item[i]);
    }
    add_preprocess(d, &command);
    add_dependencies(d, &command, object);
    list_add(&command, "-fPIC");
    list_add(&command, "-c");
    list_add(&command, "-x");
    list_add(&command, is_c(d, input) ? "c" : "c++");
    list_add(&command, input);
    list_add(&command, "-o");
    list_add(&command, object);
    status = run(d, &command);
    free(command.item);
    return status;
}

static int compile_one(struct driver *d, const char *input, const char *object)
{
    return is_cuda(d, input) ? compile_cuda(d, input, object) : compile_host(d, input, object);
}

static int link_all(struct driver *d, const struct list *objects)
{
    struct list command = {0};
    int status;

    list_add(&command, compiler(d));
    add_all(&command, &d->o.compile);
    if (d->o.shared)
        list_add(&command, "-shared");
    list_add(&command, "-o");
    list_add(&command, d->o.output ? d->o.output : "a.out");
    add_all(&command, objects);
    add_all(&command, &d->o.link);
    list_add(&command, text("-L%s", d->libdir));
    list_add(&command, text("-Wl,-rpath,%s", d->libdir));
    list_add(&command, "-lgdaki_cpu");
    status = run(d, &command);
    free(command.item);
    return status;
}

static int build(struct driver *d)
{
    struct list objects = {0};
    int status = 0;

    for (size_t i = 0; i < d->o.inputs.count && !status; i++) {
        const char *input = d->o.inputs.item[i], *object;

        if (!is_cuda(d, input) && !is_source(d, input)) {
            list_add(&objects, input);
            continue;
        }
        if (access(input, R_OK)) {
            fprintf(stderr, "gdaki-nvcc: cannot read %s: %s\n", input, strerror(errno));
            status = 1;
            break;
        }
        if (d->o.mode == MODE_COMPILE)
            object = d->o.output ? d->o.output : object_name(input);
        else
            object = temp_file(d, ".o");
        status = compile_one(d, input, object);
        list_add(&objects, object);
    }
    if (!status && d->o.mode == MODE_LINK && !d->o.lint_only)
        status = link_all(d, &objects);
    free(objects.item);
    return status;
}

static int preprocess_only(struct driver *d)
{
    int status = 0;

    for (size_t i = 0; i < d->o.inputs.count && !status; i++) {
        if (d->o.mode == MODE_DEPENDENCIES) {
            status = preprocess(d, d->o.inputs.item[i], d->o.output, NULL);
            continue;
        }
        const char *temp = temp_file(d, ".ii");

        status = preprocess(d, d->o.inputs.item[i], temp, NULL);
        if (!status && !d->o.dry_run)
            status = rewrite_file(d->o.inputs.item[i], temp, d->o.output ? d->o.output : "-", &d->o);
    }
    return status;
}

/* 0, or a status for the shell: the command line makes no sense. */
static int check_inputs(const struct options *o)
{
    if (!o->inputs.count) {
        fprintf(stderr, "gdaki-nvcc: no input files\n");
        return 1;
    }
    if (o->mode != MODE_LINK && o->output && o->inputs.count > 1) {
        fprintf(stderr, "gdaki-nvcc: -o %s with several inputs, where each gives an output\n", o->output);
        return 1;
    }
    return 0;
}

static int drive(struct driver *d)
{
    int status = check_inputs(&d->o);

    if (status)
        return status;
    find_folders(d);
    status = d->o.mode == MODE_PREPROCESS || d->o.mode == MODE_DEPENDENCIES ? preprocess_only(d) : build(d);
    remove_temps(d);
    free(d->temps.item);
    return status;
}

int main(int argc, char **argv)
{
    struct driver d = {.ntemps = 0};
    int status = options_parse(&d.o, argc, argv) ? 0 : 1;

    if (!status && (d.o.help || d.o.version))
        fputs(d.o.help ? usage : "gdaki-nvcc " GDAKI_NVCC_VERSION ", CUDA C++ for the CPU executor\n", stdout);
    else if (!status)
        status = drive(&d);
    options_free(&d.o);
    text_free_all();
    return status;
}
