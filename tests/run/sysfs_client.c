/* SPDX-License-Identifier: Apache-2.0 */
/* Runs under `softnic run --devices 2 --link ethernet`: what a C program sees of sysfs. It knows nothing of softnic. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#define CLASS "/sys/class/infiniband"
#define DEVICE CLASS "/mlx5_0"
#define PORT DEVICE "/ports/1"
#define REAL_DEVICE "/sys/devices/pci5f17:00/5f17:00:00.0/infiniband/mlx5_0"

static void read_fd(int fd, const char *want)
{
    char text[256] = "";
    assert_true(fd >= 0);
    assert_true(read(fd, text, sizeof(text) - 1) >= 0);
    assert_string_equal(text, want);
    assert_int_equal(close(fd), 0);
}

static void test_contents(void **state)
{
    static const struct {
        const char *path, *text;
    } files[] = {{PORT "/state", "4: ACTIVE\n"},
                 {PORT "/phys_state", "5: LinkUp\n"},
                 {PORT "/link_layer", "Ethernet\n"},
                 {PORT "/gids/0/../1/../../lid", NULL}, /* a file is no folder */
                 {PORT "/lid", "0x0\n"},
                 {PORT "/gid_attrs/types/1", "RoCE v2\n"},
                 {PORT "/gid_attrs/ndevs/1", "lo\n"},
                 {PORT "/pkeys/0", "0xffff\n"},
                 {DEVICE "/node_type", "1: CA\n"},
                 {DEVICE "/device/vendor", "0x15b3\n"},
                 {DEVICE "/device/class", "0x020000\n"},
                 {DEVICE "/device/infiniband/mlx5_0/ports/1/state", "4: ACTIVE\n"},
                 {"/sys/class//infiniband/./mlx5_1/../mlx5_1/hw_rev", "0\n"},
                 {"/sys/class/infiniband/../infiniband_verbs/uverbs1/ibdev", "mlx5_1\n"},
                 {"/sys/bus/pci/devices/5f17:00:01.0/infiniband_verbs/uverbs1/dev", "231:193\n"},
                 {"/sys/class/pci_bus/5f17:00/../../5f17:00:00.0/vendor", "0x15b3\n"}};
    (void)state;
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        int fd = open(files[i].path, O_RDONLY);
        if (files[i].text) {
            read_fd(fd, files[i].text);
        } else {
            assert_int_equal(fd, -1);
            assert_int_equal(errno, ENOTDIR);
        }
    }
}

static void test_stat(void **state)
{
    struct stat st, by_fd;
    struct statx stx;
    (void)state;
    assert_int_equal(stat(DEVICE, &st), 0);
    assert_true(S_ISDIR(st.st_mode));
    assert_int_equal(lstat(DEVICE, &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    assert_int_equal(stat(PORT "/state", &st), 0);
    assert_true(S_ISREG(st.st_mode));
    assert_int_equal(st.st_mode & 07777, 0444);
    int fd = open(PORT "/state", O_RDONLY);
    assert_int_equal(fstat(fd, &by_fd), 0);
    assert_int_equal(by_fd.st_ino, st.st_ino);
    assert_int_equal(by_fd.st_dev, st.st_dev);
    assert_int_equal(statx(AT_FDCWD, PORT "/state", 0, STATX_BASIC_STATS, &stx), 0);
    assert_int_equal(stx.stx_ino, st.st_ino);
    assert_int_equal(statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &stx), 0);
    assert_int_equal(stx.stx_ino, st.st_ino);
    assert_int_equal(fstatat(fd, "", &by_fd, AT_EMPTY_PATH), 0);
    assert_int_equal(by_fd.st_ino, st.st_ino);
    close(fd);
    assert_int_equal(stat("/dev/infiniband/uverbs1", &st), 0);
    assert_true(S_ISCHR(st.st_mode));
    assert_int_equal(minor(st.st_rdev), 193);
    assert_int_equal(stat("/dev/infiniband/uverbs2", &st), -1);
    assert_int_equal(errno, ENOENT);
    assert_int_equal(open("/dev/infiniband/uverbs0", O_RDWR), -1);
    assert_int_equal(errno, ENXIO);
    /* Runtimes ask so whether there is a statx; the header's promise that nobody does must not be in the way. */
    int (*volatile ask)(int, const char *, int, unsigned, struct statx *) = statx;
    assert_int_equal(ask(0, NULL, 0, STATX_BASIC_STATS, NULL), -1);
    assert_int_equal(errno, EFAULT);
}

static void test_refusals(void **state)
{
    struct stat st;
    char *const pieces[] = {CLASS "/mlx5_2", DEVICE "/nothing", PORT "/gids/2", DEVICE "/ports/2", CLASS "/mlx5_0x"};
    (void)state;
    for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
        errno = 0;
        assert_int_equal(open(pieces[i], O_RDONLY), -1);
        assert_int_equal(errno, ENOENT);
        assert_int_equal(stat(pieces[i], &st), -1);
        assert_int_equal(errno, ENOENT);
        assert_int_equal(access(pieces[i], F_OK), -1);
        assert_int_equal(errno, ENOENT);
        assert_null(realpath(pieces[i], NULL));
        assert_int_equal(errno, ENOENT);
        assert_null(fopen(pieces[i], "r"));
        assert_int_equal(errno, ENOENT);
        assert_null(opendir(pieces[i]));
        assert_int_equal(errno, ENOENT);
    }
    assert_int_equal(open(PORT "/state", O_WRONLY), -1);
    assert_int_equal(errno, EACCES);
    assert_int_equal(open(PORT "/state", O_RDWR | O_TRUNC), -1);
    assert_int_equal(errno, EACCES);
    assert_int_equal(open(PORT "/new", O_WRONLY | O_CREAT, 0644), -1);
    assert_int_equal(errno, EACCES);
    assert_int_equal(open(PORT "/state", O_WRONLY | O_CREAT | O_EXCL, 0644), -1);
    assert_int_equal(errno, EEXIST);
    assert_null(fopen(PORT "/state", "r+"));
    assert_int_equal(errno, EACCES);
    assert_int_equal(access(PORT "/state", W_OK), -1);
    assert_int_equal(errno, EACCES);
    assert_int_equal(access(PORT "/state", R_OK), 0);
    assert_int_equal(access(PORT, X_OK), 0);
    assert_int_equal(open(PORT, O_RDWR), -1);
    assert_int_equal(errno, EISDIR);
    assert_int_equal(open(PORT "/state", O_RDONLY | O_DIRECTORY), -1);
    assert_int_equal(errno, ENOTDIR);
    assert_int_equal(open(PORT "/state/", O_RDONLY), -1);
    assert_int_equal(errno, ENOTDIR);
    assert_int_equal(open(DEVICE, O_RDONLY | O_NOFOLLOW), -1);
    assert_int_equal(errno, ELOOP);
    assert_int_equal(chdir(PORT), -1);
    assert_int_equal(errno, EACCES);
    assert_int_equal(getxattr(PORT, "user.x", NULL, 0), -1);
    assert_int_equal(errno, ENODATA);
    int fd = open(PORT "/state", O_RDONLY);
    assert_int_equal(write(fd, "x", 1), -1);
    assert_int_equal(errno, EBADF);
    close(fd);
}

static void test_links(void **state)
{
    char target[PATH_MAX] = "", *real;
    (void)state;
    assert_true(readlink(DEVICE, target, sizeof(target)) > 0);
    assert_string_equal(target, "../../devices/pci5f17:00/5f17:00:00.0/infiniband/mlx5_0");
    assert_int_equal(readlink(DEVICE "/ports", target, sizeof(target)), -1);
    assert_int_equal(errno, EINVAL);
    memset(target, 0, sizeof(target));
    assert_int_equal(readlink(DEVICE "/device", target, 5), 5); /* cut off, not terminated */
    assert_memory_equal(target, "../..\0", 6);
    assert_non_null(realpath(DEVICE, target));
    assert_string_equal(target, REAL_DEVICE);
    real = realpath(DEVICE "/device", NULL);
    assert_string_equal(real, "/sys/devices/pci5f17:00/5f17:00:00.0");
    free(real);
    /* A link that leads out of our folders ends among the machine's. */
    real = canonicalize_file_name(DEVICE "/subsystem/../net/lo/..");
    char *there = realpath("/sys/class/net/lo/..", NULL);
    if (there) {
        assert_string_equal(real, there);
        free(there);
    }
    free(real);
}

static unsigned count_names(DIR *dir, const char *sought)
{
    unsigned found = 0;
    struct dirent *e;
    assert_non_null(dir);
    while ((e = readdir(dir)))
        found += !strcmp(e->d_name, sought);
    return found;
}

static void test_folders(void **state)
{
    struct dirent **list, *e;
    glob_t g;
    (void)state;
    DIR *dir = opendir(CLASS);
    assert_int_equal(count_names(dir, "mlx5_1"), 1);
    rewinddir(dir);
    e = readdir(dir);
    assert_string_equal(e->d_name, ".");
    long at = telldir(dir);
    e = readdir(dir);
    seekdir(dir, at);
    assert_string_equal(readdir(dir)->d_name, "..");
    struct stat st;
    assert_int_equal(fstat(dirfd(dir), &st), 0);
    assert_true(S_ISDIR(st.st_mode));
    read_fd(openat(dirfd(dir), "mlx5_0/ports/1/state", O_RDONLY), "4: ACTIVE\n");
    assert_int_equal(fstatat(dirfd(dir), "mlx5_1", &st, AT_SYMLINK_NOFOLLOW), 0);
    assert_true(S_ISLNK(st.st_mode));
    assert_int_equal(faccessat(dirfd(dir), "mlx5_3", F_OK, 0), -1);
    assert_int_equal(errno, ENOENT);
    assert_int_equal(closedir(dir), 0);

    int n = scandir(PORT, &list, NULL, alphasort);
    assert_true(n > 10);
    assert_string_equal(list[0]->d_name, ".");
    assert_string_equal(list[2]->d_name, "cap_mask");
    assert_int_equal(list[2]->d_type, DT_REG);
    while (n)
        free(list[--n]);
    free(list);

    assert_int_equal(glob(CLASS "/mlx5_*/ports/*/gids/1", 0, NULL, &g), 0);
    assert_int_equal(g.gl_pathc, 2);
    assert_string_equal(g.gl_pathv[1], CLASS "/mlx5_1/ports/1/gids/1");
    globfree(&g);

    /* A folder of the machine shows ours besides its own. */
    dir = opendir("/sys/class");
    assert_int_equal(count_names(dir, "infiniband"), 1);
    rewinddir(dir);
    assert_int_equal(count_names(dir, "net"), 1);
    assert_int_equal(closedir(dir), 0);
    dir = opendir("/proc/self");
    assert_int_equal(count_names(dir, "infiniband"), 0);
    assert_int_equal(closedir(dir), 0);
}

/* Descriptors know what they are, whatever was done to them. */
static void test_descriptors(void **state)
{
    char name[64], path[PATH_MAX] = "";
    (void)state;
    int fd = open(PORT, O_RDONLY | O_DIRECTORY), copy = dup(fd);
    assert_int_equal(close(fd), 0);
    assert_true(copy >= 0);
    read_fd(openat(copy, "state", O_RDONLY), "4: ACTIVE\n");
    read_fd(openat(copy, "../../device/vendor", O_RDONLY), "0x15b3\n");
    snprintf(name, sizeof(name), "/proc/self/fd/%d", copy);
    assert_true(readlink(name, path, sizeof(path) - 1) > 0);
    assert_string_equal(path, REAL_DEVICE "/ports/1");
    pid_t child = fork();
    if (!child) {
        struct stat st;
        DIR *dir = fdopendir(copy);
        _exit(dir && readdir(dir) && !fstat(dirfd(dir), &st) && S_ISDIR(st.st_mode) && !closedir(dir) ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    close(copy);
    fd = open("/sys/class", O_RDONLY | O_DIRECTORY);
    read_fd(openat(fd, "infiniband/mlx5_0/ports/1/state", O_RDONLY), "4: ACTIVE\n");
    close(fd);
    fd = open(PORT "/state", O_RDONLY | O_CLOEXEC);
    assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
    assert_int_equal(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
    close(fd);
    FILE *file = freopen(PORT "/state", "r", fopen("/dev/null", "r"));
    assert_non_null(file);
    assert_non_null(fgets(name, sizeof(name), file));
    assert_string_equal(name, "4: ACTIVE\n");
    fclose(file);
}

/* ---- threads and signals ------------------------------------------------------------------------------------------- */

static atomic_int handled, handler_failed; /* the handler runs in several threads */

static void on_signal(int signal)
{
    (void)signal;
    int fd = open("/dev/null", O_RDONLY);
    struct stat st;
    if (fd < 0 || access("/dev/null", F_OK) || stat("/dev/null", &st) || fstat(fd, &st))
        handler_failed = 1;
    close(fd);
    handled++;
}

static void *look_around(void *failed)
{
    for (int i = 0; i < 60; i++) {
        char text[32] = "";
        FILE *f = fopen(i % 2 ? PORT "/state" : CLASS "/mlx5_1/ports/1/state", "r");
        DIR *dir = opendir(PORT "/counters");
        if (!f || !fgets(text, sizeof(text), f) || strcmp(text, "4: ACTIVE\n") != 0 || !dir || !readdir(dir))
            *(int *)failed = 1;
        if (f)
            fclose(f);
        if (dir)
            closedir(dir);
        if (i % 20 == 0)
            raise(SIGUSR1);
    }
    return NULL;
}

static void test_threads(void **state)
{
    pthread_t threads[4];
    int failed[4] = {0};
    (void)state;
    signal(SIGUSR1, on_signal);
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, look_around, &failed[i]), 0);
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(failed[i], 0);
    }
    assert_int_equal(handled, 12);
    assert_int_equal(handler_failed, 0);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) /* their own frames are larger than that */
#define SMALL_STACK
/* A page beyond what the kernel itself puts there, with a hole below it: what goes straight through needs little stack. */
static void test_small_stack(void **state)
{
    (void)state;
    size_t size = ((size_t)sysconf(_SC_MINSIGSTKSZ) + 2 * 4096 - 1) / 4096 * 4096;
    char *memory = mmap(NULL, 4096 + size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(memory, MAP_FAILED);
    assert_int_equal(mprotect(memory, 4096, PROT_NONE), 0);
    stack_t small = {.ss_sp = memory + 4096, .ss_size = size}, before;
    assert_int_equal(sigaltstack(&small, &before), 0);
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
    assert_int_equal(sigaction(SIGUSR2, &action, NULL), 0);
    int count = handled;
    raise(SIGUSR2);
    assert_int_equal(handled, count + 1);
    assert_int_equal(handler_failed, 0);
    assert_int_equal(sigaltstack(&before, NULL), 0);
    munmap(memory, 4096 + size);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_contents), cmocka_unit_test(test_stat),    cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_links),    cmocka_unit_test(test_folders), cmocka_unit_test(test_descriptors),
        cmocka_unit_test(test_threads),
#ifdef SMALL_STACK
        cmocka_unit_test(test_small_stack),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
