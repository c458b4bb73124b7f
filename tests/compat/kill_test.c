/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two processes talk over softnic; one is killed (SIGKILL) at a random point. The other one has to end with error
 * completions, a new pair has to run on the same addresses, and nothing may be left: no shared memory, no socket, no process.
 *     kill_test VICTIM [ROUNDS [SEED]]
 * Each third round waits for no traffic: it dies somewhere in set-up. After each tenth round a pair runs to its end.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PEER = 3, JUDGE = 4, BROKEN = 10, GONE = 11 };

static const char *program;
static unsigned seed = 1;
static char address[32];
static unsigned in_traffic, in_set_up, clean;

static void nap(unsigned us)
{
    struct timespec t = {.tv_sec = us / 1000000, .tv_nsec = (long)(us % 1000000) * 1000};
    nanosleep(&t, NULL);
}

struct pair {
    pid_t pid[2];
    int judge[2]; /* readable: a byte came, or that end has closed */
};

static pid_t start(unsigned who, int peer, int judge, const char *operations, bool events)
{
    char number[16];
    snprintf(number, sizeof(number), "%u", rand_r(&seed) + who);
    fflush(stdout);
    pid_t pid = fork();
    if (pid)
        return pid;
    /* Both may be in each other's place: move them out of the way first. */
    int a = fcntl(peer, F_DUPFD, 10), b = fcntl(judge, F_DUPFD, 10);
    if (a < 0 || b < 0 || dup2(a, PEER) < 0 || dup2(b, JUDGE) < 0)
        _exit(99);
    close(a);
    close(b);
    execl(program, program, number, operations, events ? "events" : "poll", (char *)NULL);
    _exit(98);
}

static bool start_pair(struct pair *p, const char *operations)
{
    int line[2], judge[2][2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, line))
        return false;
    for (unsigned i = 0; i < 2; i++) {
        if (pipe2(judge[i], O_CLOEXEC))
            return false;
        p->judge[i] = judge[i][0];
        p->pid[i] = start(i, line[i], judge[i][1], operations, rand_r(&seed) & 1);
        if (p->pid[i] < 0)
            return false;
    }
    for (unsigned i = 0; i < 2; i++) {
        close(line[i]);
        close(judge[i][1]);
    }
    return true;
}

/* The exit status; 1000 + signal; -1 when it does not end (it is ended then). */
static int wait_for(pid_t pid)
{
    int status;
    for (unsigned i = 0; i < 100000; i++) { /* a hang guard: 100 s and more */
        pid_t ended = waitpid(pid, &status, WNOHANG);
        if (ended == pid)
            return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
        nap(1000);
    }
    kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
    return -1;
}

static bool fail(unsigned round, const char *what, int status)
{
    printf("round %u: %s: %d\n", round, what, status);
    return false;
}

static bool run_clean(unsigned round)
{
    struct pair p;
    if (!start_pair(&p, "300"))
        return fail(round, "start", errno);
    int first = wait_for(p.pid[0]), second = wait_for(p.pid[1]);
    close(p.judge[0]);
    close(p.judge[1]);
    clean++;
    return first || second ? fail(round, "a clean run after kills ended with", first ? first : second) : true;
}

static bool run_round(unsigned round)
{
    struct pair p;
    char byte;
    bool wait_for_traffic = round % 3;
    if (!start_pair(&p, "0"))
        return fail(round, "start", errno);
    if (wait_for_traffic && (read(p.judge[0], &byte, 1) != 1 || read(p.judge[1], &byte, 1) != 1))
        return fail(round, "no traffic; status", wait_for(p.pid[0]));
    unsigned victim = rand_r(&seed) & 1;
    nap((unsigned)rand_r(&seed) % (wait_for_traffic ? 20000 : 4000));
    kill(p.pid[victim], SIGKILL);
    int died = wait_for(p.pid[victim]), other = wait_for(p.pid[!victim]);
    close(p.judge[0]);
    close(p.judge[1]);
    if (died != 1000 + SIGKILL)
        return fail(round, "it had ended before it was killed, with", died);
    if (other != BROKEN && (wait_for_traffic || other != GONE))
        return fail(round, "the survivor ended with", other);
    (other == BROKEN ? in_traffic++ : in_set_up++);
    return true;
}

/* Sockets of these addresses: their names hold the GID in hexadecimal digits. */
static int sockets_left(void)
{
    char line[512], hex[16];
    unsigned a, b, c, d;
    int found = 0;
    if (sscanf(address, "%u.%u.%u.%u", &a, &b, &c, &d) != 4)
        return -1;
    snprintf(hex, sizeof(hex), "ffff%02x%02x%02x%02x", a, b, c, d);
    FILE *f = fopen("/proc/net/unix", "r");
    while (f && fgets(line, sizeof(line), f))
        if (strstr(line, hex)) {
            printf("left: %s", line);
            found++;
        }
    if (!f)
        return -1;
    fclose(f);
    return found;
}

static int shared_memory_left(void)
{
    FILE *f = popen("ls /dev/shm 2>/dev/null | grep -ci softnic", "r");
    int count = -1;
    if (f && fscanf(f, "%d", &count) != 1)
        count = -1;
    if (f)
        pclose(f);
    return count;
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    program = argv[1];
    unsigned rounds = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 0) : 20;
    unsigned first_seed = seed = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 0) : 1;
    /* Addresses that no other test has. */
    snprintf(address, sizeof(address), "127.201.%u.%u", (unsigned)getpid() >> 8 & 255, (unsigned)getpid() & 255);
    setenv("SOFTNIC_GID", address, 1);
    signal(SIGPIPE, SIG_IGN);
    bool good = run_clean(0);
    for (unsigned round = 1; good && round <= rounds; round++) {
        good = run_round(round);
        if (good && round % 10 == 0)
            good = run_clean(round);
    }
    int sockets = sockets_left(), memory = shared_memory_left();
    bool children = waitpid(-1, NULL, WNOHANG) >= 0 || errno != ECHILD;
    printf("seed %u: %u killed in traffic, %u in set-up, %u clean runs between; left: %d sockets, %d shared memory%s\n",
           first_seed, in_traffic, in_set_up, clean, sockets, memory, children ? ", a child" : "");
    return good && !sockets && !memory && !children ? 0 : 1;
}
