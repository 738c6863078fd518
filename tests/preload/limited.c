/* Calls allreduces on two ranks, and at a step does to itself what programs do: words of the command line, each
 * WHEN:WHAT[:NUMBER], where WHEN is "init" (before MPI_Init) or the number of a call. Prints what it has seen: the sum,
 * which files of its own are as it wrote them, signals that it got, and whether one is pending.
 *
 *     limited CALLS [WHEN:WHAT[:NUMBER]]...
 *
 * close: all descriptors above 2 of files below a directory that is not /dev, and opens logs in their place
 * over: puts a log over each of these
 * limit-file, limit-memory, limit-locked, limit-open: sets the soft limit, bytes or files
 * lock-now, lock-later, lock: mlockall
 * away: to another directory; root: chroot to it
 * pend: blocks SIGXFSZ and sends it to itself; it is pending until the end
 * handle: counts SIGXFSZ
 * exceed: writes beyond the limit of file sizes itself */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LOGS = 8 };
static int logs[LOGS];
static int opened;
static volatile sig_atomic_t signals;

static void count(int number) {
    (void)number;
    ++signals;
}

static int is_plain_file(int file) {
    char path[64];
    char target[512];
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    ssize_t length = readlink(path, target, sizeof target - 1);
    if (length <= 0)
        return 0;
    target[length] = '\0';
    return target[0] == '/' && strncmp(target, "/dev/", 5) != 0 && strncmp(target, "/memfd:", 7) != 0;
}

/* A file without a name that has "begin". */
static int open_log(void) {
    char name[] = "/tmp/limited-XXXXXX";
    int file = mkstemp(name);
    unlink(name);
    if (file >= 0 && write(file, "begin\n", 6) != 6)
        exit(3);
    return file;
}

static void close_plain(int over) {
    for (int file = 3; file < 1100; ++file) {
        if (!is_plain_file(file))
            continue;
        if (!over) {
            close(file);
            continue;
        }
        int log = open_log();
        const int there = log == file || dup2(log, file) == file; /* numbers may be limited */
        if (log != file)
            close(log);
        if (there && opened < LOGS)
            logs[opened++] = file;
    }
    while (opened < LOGS)
        logs[opened++] = open_log();
}

static void set_limit(int resource, const char *number) {
    struct rlimit limit;
    getrlimit(resource, &limit);
    limit.rlim_cur = (rlim_t)atoll(number);
    if (setrlimit(resource, &limit) != 0)
        printf("no limit %s\n", strerror(errno));
}

static void act(const char *what, const char *number) {
    if (strcmp(what, "close") == 0)
        close_plain(0);
    else if (strcmp(what, "over") == 0)
        close_plain(1);
    else if (strcmp(what, "limit-file") == 0)
        set_limit(RLIMIT_FSIZE, number);
    else if (strcmp(what, "limit-memory") == 0)
        set_limit(RLIMIT_AS, number);
    else if (strcmp(what, "limit-locked") == 0)
        set_limit(RLIMIT_MEMLOCK, number);
    else if (strcmp(what, "limit-open") == 0)
        set_limit(RLIMIT_NOFILE, number);
    else if (strncmp(what, "lock", 4) == 0)
        printf("locked %d\n", mlockall(what[4] == '\0'                 ? MCL_CURRENT | MCL_FUTURE
                                       : strcmp(what, "lock-now") == 0 ? MCL_CURRENT
                                                                       : MCL_FUTURE));
    else if (strcmp(what, "away") == 0)
        printf("away %d\n", chdir("/"));
    else if (strcmp(what, "root") == 0)
        printf("root %d\n", chroot("/tmp"));
    else if (strcmp(what, "handle") == 0)
        signal(SIGXFSZ, count);
    else if (strcmp(what, "pend") == 0) {
        sigset_t set;
        sigemptyset(&set);
        sigaddset(&set, SIGXFSZ);
        sigprocmask(SIG_BLOCK, &set, NULL);
        raise(SIGXFSZ);
    } else if (strcmp(what, "exceed") == 0) {
        struct rlimit limit;
        int file = open_log();
        getrlimit(RLIMIT_FSIZE, &limit);
        printf("beyond %zd\n", pwrite(file, "x", 1, (off_t)limit.rlim_cur));
        close(file);
    } else {
        exit(4);
    }
}

static void act_at(const char *when, int argc, char **argv) {
    char text[128];
    for (int i = 2; i < argc; ++i) {
        snprintf(text, sizeof text, "%s", argv[i]);
        char *what = strchr(text, ':');
        if (what == NULL)
            exit(4);
        *what++ = '\0';
        char *number = strchr(what, ':');
        if (number != NULL)
            *number++ = '\0';
        if (strcmp(text, when) == 0)
            act(what, number);
    }
}

int main(int argc, char **argv) {
    int rank;
    int one = 1;
    int sum = 0;
    long total = 0;
    char when[32];
    setvbuf(stdout, NULL, _IOFBF, 65536);
    act_at("init", argc, argv);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const int calls = atoi(argv[1]);
    for (int i = 0; i < calls; ++i) {
        snprintf(when, sizeof when, "%d", i);
        if (i % 1000 == 0)
            act_at(when, argc, argv);
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        total += sum;
    }
    MPI_Finalize();
    int whole = 0;
    for (int i = 0; i < opened; ++i) {
        struct stat found;
        whole += fstat(logs[i], &found) == 0 && found.st_size == 6;
    }
    sigset_t pending;
    sigpending(&pending);
    printf("rank %d total %ld logs %d of %d signals %d pending %d\n", rank, total, whole, opened, (int)signals,
           sigismember(&pending, SIGXFSZ));
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    fprintf(stderr, "rss %ld KB\n", usage.ru_maxrss);
    return 0;
}
