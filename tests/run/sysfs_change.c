/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs under `softnic run --devices 2 --link ethernet`: who tries to change the tree is told what sysfs tells. Where the
 * machine has a sysfs of its own, both are asked the same and have to answer the same.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define DEVICE "/sys/class/infiniband/mlx5_0"
#define PORT DEVICE "/ports/1"
#define TARGET "../../devices/pci5f17:00/5f17:00:00.0/infiniband/mlx5_0"

/* A file, a folder, a link and a name that nothing has: ours, and the machine's. */
struct tree {
    const char *file, *folder, *link, *none, *other_file;
};

static const struct tree ours = {PORT "/state", PORT "/counters", DEVICE, PORT "/nothing", PORT "/rate"};
static const struct tree theirs = {"/sys/class/net/lo/ifindex", "/sys/class/net/lo/statistics", "/sys/class/net/lo",
                                   "/sys/class/net/lo/nothing", "/sys/class/net/lo/type"};

static int remove_file(const struct tree *t) { return unlink(t->file); }
static int remove_folder_as_file(const struct tree *t) { return unlink(t->folder); }
static int remove_link(const struct tree *t) { return unlink(t->link); }
static int remove_none(const struct tree *t) { return unlink(t->none); }
static int remove_folder(const struct tree *t) { return rmdir(t->folder); }
static int remove_file_as_folder(const struct tree *t) { return rmdir(t->file); }
static int remove_either(const struct tree *t) { return remove(t->folder); }
static int make_folder(const struct tree *t) { return mkdir(t->none, 0755); }
static int make_folder_again(const struct tree *t) { return mkdir(t->folder, 0755); }
static int make_link(const struct tree *t) { return symlink("/tmp", t->none); }
static int make_link_again(const struct tree *t) { return symlink("/tmp", t->file); }
static int move_away(const struct tree *t) { return rename(t->file, "/proc/self/none"); }
static int move_there(const struct tree *t) { return rename("/proc/self/none", t->file); }
static int move_inside(const struct tree *t) { return rename(t->file, t->none); }
static int move_none(const struct tree *t) { return rename(t->none, t->file); }
static int link_away(const struct tree *t) { return link(t->file, "/tmp/softnic-none"); }
static int cut(const struct tree *t) { return truncate(t->file, 0); }
static int cut_folder(const struct tree *t) { return truncate(t->folder, 0); }
static int make_file(const struct tree *t) { return creat(t->none, 0644); }
static int overwrite(const struct tree *t) { return creat(t->other_file, 0644); }
static int open_link(const struct tree *t) { return open(t->link, O_RDONLY | O_NOFOLLOW); }
static int open_link_as_folder(const struct tree *t) { return open(t->link, O_PATH | O_NOFOLLOW | O_DIRECTORY); }

#define TRY(name, root, other) {#name, name, root, other}
static const struct {
    const char *name;
    int (*attempt)(const struct tree *t);
    int root, other; /* errno; 0: not the same for all */
} tries[] = {
    TRY(remove_file, EPERM, EACCES),         TRY(remove_folder_as_file, EISDIR, 0), TRY(remove_link, EPERM, EACCES),
    TRY(remove_none, ENOENT, ENOENT),        TRY(remove_folder, EPERM, EACCES),     TRY(remove_file_as_folder, ENOTDIR, 0),
    TRY(remove_either, EPERM, EACCES),       TRY(make_folder, EPERM, EACCES),       TRY(make_folder_again, EEXIST, EEXIST),
    TRY(make_link, EPERM, EACCES),           TRY(make_link_again, EEXIST, EEXIST),  TRY(move_away, EXDEV, EXDEV),
    TRY(move_there, EXDEV, EXDEV),           TRY(move_inside, EPERM, EACCES),       TRY(move_none, ENOENT, ENOENT),
    TRY(link_away, EXDEV, EXDEV),            TRY(cut, EACCES, EACCES),              TRY(cut_folder, EISDIR, EISDIR),
    TRY(make_file, EACCES, EACCES),          TRY(overwrite, EACCES, EACCES),        TRY(open_link, ELOOP, ELOOP),
    TRY(open_link_as_folder, ENOTDIR, ENOTDIR),
};

static void test_attempts(void **state)
{
    struct statfs machine;
    bool compare = !statfs(theirs.file, &machine) && machine.f_type == SYSFS_MAGIC && !geteuid();
    (void)state;
    if (!compare)
        printf("no sysfs of the machine's to compare with\n");
    for (size_t i = 0; i < sizeof(tries) / sizeof(tries[0]); i++) {
        int want = geteuid() ? tries[i].other : tries[i].root;
        errno = 0;
        if (tries[i].attempt(&ours) != -1 || (want && errno != want))
            fail_msg("%s: %s, expected %s", tries[i].name, strerror(errno), strerror(want));
        int said = errno;
        /* Root may write where the mode says nobody may; sysfs then finds that there is no function to write with. */
        if (compare && tries[i].attempt != cut && (tries[i].attempt(&theirs) != -1 || errno != said))
            fail_msg("%s: the machine's sysfs says %s, ours %s", tries[i].name, strerror(errno), strerror(said));
    }
}

static void test_modes(void **state)
{
    struct stat st;
    (void)state;
    assert_int_equal(chmod(PORT "/state", 0666), -1);
    assert_int_equal(errno, EPERM);
    assert_int_equal(chown(PORT "/state", getuid(), getgid()), -1);
    assert_int_equal(errno, EPERM);
    assert_int_equal(lchown(DEVICE, getuid(), getgid()), -1);
    assert_int_equal(errno, EPERM);
    assert_int_equal(utimensat(AT_FDCWD, PORT "/state", NULL, 0), -1);
    assert_int_equal(errno, EPERM);
    assert_int_equal(chmod(PORT "/none", 0666), -1);
    assert_int_equal(errno, ENOENT);
    int fd = open(PORT "/state", O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(fchmod(fd, 0600), -1);
    assert_int_equal(errno, EPERM);
    assert_int_equal(fchown(fd, getuid(), getgid()), -1);
    assert_int_equal(errno, EPERM);
    assert_int_equal(futimens(fd, NULL), -1);
    assert_int_equal(errno, EPERM);
    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(st.st_size, 4096); /* still known for what it is */
    close(fd);
}

static void test_file_system(void **state)
{
    static const char *const paths[] = {DEVICE, PORT, PORT "/state"};
    struct statfs fs;
    struct statvfs vfs;
    (void)state;
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        int fd = open(paths[i], O_RDONLY | O_CLOEXEC);
        assert_true(fd >= 0);
        assert_int_equal(statfs(paths[i], &fs), 0);
        assert_int_equal(fs.f_type, SYSFS_MAGIC);
        memset(&fs, 0, sizeof(fs));
        assert_int_equal(fstatfs(fd, &fs), 0);
        assert_int_equal(fs.f_type, SYSFS_MAGIC);
        assert_int_equal(statvfs(paths[i], &vfs), 0);
        assert_int_equal(vfs.f_namemax, NAME_MAX);
        memset(&vfs, 0, sizeof(vfs));
        assert_int_equal(fstatvfs(fd, &vfs), 0);
        assert_int_equal(vfs.f_namemax, NAME_MAX);
        close(fd);
    }
    assert_int_equal(statfs(PORT "/none", &fs), -1);
    assert_int_equal(errno, ENOENT);
    assert_int_equal(statfs("/proc", &fs), 0);
    assert_int_equal(fs.f_type, PROC_SUPER_MAGIC);
}

/* A descriptor of the link itself, of a node and of a file. */
static void test_path_descriptors(void **state)
{
    char target[256] = "";
    struct stat st;
    (void)state;
    int fd = open(DEVICE, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    assert_int_equal(fstatat(fd, "", &st, AT_EMPTY_PATH), 0);
    assert_true(S_ISLNK(st.st_mode));
    assert_int_equal(readlinkat(fd, "", target, sizeof(target) - 1), strlen(TARGET));
    assert_string_equal(target, TARGET);
    assert_int_equal(openat(fd, "ports", O_RDONLY), -1);
    assert_int_equal(errno, ENOTDIR);
    close(fd);
    fd = open("/dev/infiniband/uverbs0", O_PATH | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &st), 0);
    assert_true(S_ISCHR(st.st_mode));
    close(fd);
    fd = open(DEVICE, O_PATH | O_DIRECTORY | O_CLOEXEC); /* through the link */
    assert_true(fd >= 0);
    assert_int_equal(fstatat(fd, "ports/1", &st, 0), 0);
    assert_true(S_ISDIR(st.st_mode));
    assert_int_equal(unlinkat(fd, "node_guid", 0), -1);
    assert_int_equal(errno, geteuid() ? EACCES : EPERM);
    close(fd);
    fd = open(PORT "/state", O_PATH | O_CLOEXEC);
    assert_int_equal(read(fd, target, 1), -1);
    assert_int_equal(errno, EBADF);
    close(fd);
}

/* The machine's files stay the machine's. */
static void test_elsewhere(void **state)
{
    char folder[] = "/tmp/infiniband-XXXXXX", one[64], two[64];
    struct stat st;
    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(one, sizeof(one), "%s/one", folder);
    snprintf(two, sizeof(two), "%s/two", folder);
    int fd = creat(one, 0600);
    assert_true(fd >= 0);
    assert_int_equal(fchmod(fd, 0640), 0);
    assert_int_equal(fchown(fd, (uid_t)-1, (gid_t)-1), 0);
    assert_int_equal(futimens(fd, NULL), 0);
    close(fd);
    assert_int_equal(stat(one, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0640);
    assert_int_equal(truncate(one, 10), 0);
    assert_int_equal(link(one, two), 0);
    assert_int_equal(unlink(one), 0);
    assert_int_equal(rename(two, one), 0);
    assert_int_equal(chmod(one, 0444), 0);
    assert_int_equal(symlink(one, two), 0);
    assert_int_equal(rename(one, PORT "/state"), -1);
    assert_int_equal(errno, EXDEV);
    assert_int_equal(remove(two), 0);
    assert_int_equal(remove(one), 0);
    assert_int_equal(mkdir(one, 0700), 0);
    assert_int_equal(rmdir(one), 0);
    assert_int_equal(rmdir(folder), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_attempts),         cmocka_unit_test(test_modes),     cmocka_unit_test(test_file_system),
        cmocka_unit_test(test_path_descriptors), cmocka_unit_test(test_elsewhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
