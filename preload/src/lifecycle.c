/* From MPI_Init to MPI_Finalize. */
#define _GNU_SOURCE
#include "preload.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

_Thread_local __attribute__((tls_model("initial-exec"))) int inside;
_Thread_local __attribute__((tls_model("initial-exec"))) void *fortran_site;
_Atomic int begun;
_Atomic int active;
struct settings settings;

#define PATH_SIZE (DIRECTORY_SIZE + 128)

static MPI_Comm node = MPI_COMM_NULL;
/* Of the job: names begin with it, so that a directory may have several. */
static char job[64];

void say(const char *format, ...) {
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fprintf(stderr, "downbeat: %s\n", text);
}

void find_next(void **function, const char *name) {
    void *found = dlsym(RTLD_NEXT, name);
    if (found == NULL) {
        say("found no %s in an MPI library that is loaded after libdownbeat-preload; preload the library of the build "
            "for "
            "the program's MPI library",
            name);
        abort();
    }
    /* Threads may look for it at once, and find the same. */
    __atomic_store_n(function, found, __ATOMIC_RELAXED);
}

static void part_path(char path[PATH_SIZE], int rank) {
    snprintf(path, PATH_SIZE, "%s/%s-rank-%06d.part", settings.directory, job, rank);
}

/* All directories on the way. */
static int make_directory(const char *path) {
    char partial[PATH_SIZE];
    snprintf(partial, sizeof partial, "%s", path);
    for (char *slash = strchr(partial + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(partial, 0777) != 0 && errno != EEXIST)
            return errno;
        *slash = '/';
    }
    return mkdir(partial, 0777) != 0 && errno != EEXIST ? errno : 0;
}

static void name_job(int rank) {
    struct tm utc;
    time_t now = time(NULL);
    if (rank == 0) {
        size_t length = strftime(job, sizeof job, "%Y%m%d-%H%M%S", gmtime_r(&now, &utc));
        snprintf(job + length, sizeof job - length, "-%ld", (long)getpid());
    }
    PMPI_Bcast(job, sizeof job, MPI_CHAR, 0, MPI_COMM_WORLD);
}

/* If any process has a problem, the first one says so, and all end. */
static void agree(int rank, const char *problem) {
    int mine = problem[0] != '\0' ? rank : INT_MAX;
    int lowest = INT_MAX;
    PMPI_Allreduce(&mine, &lowest, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (lowest == INT_MAX)
        return;
    if (lowest == rank)
        say("%s", problem);
    PMPI_Finalize();
    exit(2);
}

static void begin(void) {
    char problem[SETTINGS_PROBLEM_SIZE] = "";
    char path[PATH_SIZE];
    int rank;
    int size;
    ++inside;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &size);
    settings_read(&settings, problem);
    agree(rank, problem);
    name_job(rank);
    part_path(path, rank);
    int code = make_directory(settings.directory);
    if (code == 0)
        code = recording_open(path, rank, size, settings.record ? settings.records : 0);
    if (code != 0)
        snprintf(problem, sizeof problem,
                 "cannot write '%.400s': %s; choose another directory with DOWNBEAT_PRELOAD_DIR", path, strerror(code));
    agree(rank, problem);
    PMPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
    if (clocks_begin() != MPI_SUCCESS)
        snprintf(problem, sizeof problem, "the clocks cannot be synchronized; nothing is recorded");
    agree(rank, problem);
    --inside;
    communicators_begin();
    begun = 1;
    active = 1;
}

/* One file of those that the node's processes wrote. */
static int join(const char *path, const int *ranks, int count) {
    char part[PATH_SIZE];
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    int code = file < 0 ? errno : 0;
    for (int i = 0; code == 0 && i < count; ++i) {
        part_path(part, ranks[i]);
        code = recording_append(file, part);
    }
    if (file >= 0 && close(file) != 0 && code == 0)
        code = errno;
    if (code != 0) {
        unlink(path);
        return code;
    }
    for (int i = 0; i < count; ++i) {
        part_path(part, ranks[i]);
        unlink(part);
    }
    return 0;
}

static void join_node(void) {
    char unfinished[PATH_SIZE];
    char path[PATH_SIZE];
    int rank;
    int node_rank;
    int size;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Comm_rank(node, &node_rank);
    PMPI_Comm_size(node, &size);
    int *ranks = malloc((size_t)size * sizeof *ranks);
    PMPI_Gather(&rank, 1, MPI_INT, ranks, 1, MPI_INT, 0, node);
    if (node_rank == 0 && ranks != NULL) {
        snprintf(path, sizeof path, "%s/%s-node-%06d.trace", settings.directory, job, rank);
        snprintf(unfinished, sizeof unfinished, "%s/%s-node-%06d.tmp", settings.directory, job, rank);
        int code = join(unfinished, ranks, size);
        if (code == 0 && rename(unfinished, path) != 0)
            code = errno;
        if (code != 0)
            say("cannot write '%s': %s; the files *.part there have what was recorded", path, strerror(code));
    }
    free(ranks);
    PMPI_Comm_free(&node);
}

static void end(void) {
    char path[PATH_SIZE];
    active = 0;
    begun = 0;
    ++inside;
    clocks_end();
    if (settings.harmonize) {
        snprintf(path, sizeof path, "%s/%s-starts.json", settings.directory, job);
        starts_write(path);
    }
    recording_end(TRACE_FINALIZED, 0);
    recording_close();
    join_node();
    communicators_end();
    --inside;
}

WRAP(MPI_Init);
int MPI_Init(int *argc, char ***argv) {
    int outer = inside++;
    int code = REAL(MPI_Init)(argc, argv);
    inside = outer;
    if (code == MPI_SUCCESS && !inside && !begun)
        begin();
    return code;
}

WRAP(MPI_Init_thread);
int MPI_Init_thread(int *argc, char ***argv, int required, int *provided) {
    int outer = inside++;
    int code = REAL(MPI_Init_thread)(argc, argv, required, provided);
    inside = outer;
    if (code == MPI_SUCCESS && !inside && !begun)
        begin();
    return code;
}

WRAP(MPI_Finalize);
int MPI_Finalize(void) {
    if (begun && !inside)
        end();
    int outer = inside++;
    int code = REAL(MPI_Finalize)();
    inside = outer;
    return code;
}

WRAP(MPI_Abort);
int MPI_Abort(MPI_Comm comm, int code) {
    recording_end(TRACE_ABORTED, code);
    return REAL(MPI_Abort)(comm, code);
}

WRAP(MPI_Pcontrol);
int MPI_Pcontrol(const int level, ...) {
    active = begun && level != 0;
    return REAL(MPI_Pcontrol)(level);
}
