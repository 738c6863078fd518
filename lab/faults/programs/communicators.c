/* Unusual uses of communicators.
 *
 *     fault-communicators MODE [COUNT]
 *
 * Modes: many (made, harmonized and freed, COUNT times), regions (freed while a region is open), threads (8 threads on
 * 8 communicators), handler (harmonize in an error handler), destructor (in the delete callback of an attribute),
 * finalized (after MPI_Finalize), revoked. Status 0: all was as promised; 77: the MPI library has no such thing. */
#define _POSIX_C_SOURCE 200809L
#include <downbeat/region.h>
#include <mpi.h>
#include <mpix_harmonize.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(OPEN_MPI) && __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

enum { THREADS = 8, TIMES = 20, NOT_HERE = 77 };

static void hold(int fine, const char *what) {
    if (fine)
        return;
    fprintf(stderr, "fault-communicators: failed: %s\n", what);
    exit(1);
}

#define HOLD(condition) hold(condition, #condition)

static MPI_Comm duplicate(void) {
    MPI_Comm comm;
    HOLD(MPI_Comm_dup(MPI_COMM_WORLD, &comm) == MPI_SUCCESS);
    return comm;
}

static int harmonize(MPI_Comm comm) {
    int flag;
    return MPIX_Harmonize(comm, &flag);
}

static long resident_pages(void) {
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    HOLD(file != NULL && fscanf(file, "%*s %ld", &pages) == 1);
    fclose(file);
    return pages;
}

static int many(int count) {
    long before = 0;
    for (int i = 0; i < count; ++i) {
        MPI_Comm comm = duplicate();
        HOLD(harmonize(comm) == MPI_SUCCESS);
        MPI_Comm_free(&comm);
        if (i == count / 10)
            before = resident_pages();
    }
    /* 64 bytes each are what an MPI library may forget; a state of the library is many times larger. */
    HOLD(resident_pages() - before <= 256 + (long)count * 64 / 4096);
    return 0;
}

static int regions(int count) {
    for (int i = 0; i < count; ++i) {
        MPI_Comm comm = duplicate();
        Downbeat_region region;
        HOLD(Downbeat_region_begin(comm, "open", &region) == MPI_SUCCESS);
        if (i % 2 == 0)
            HOLD(Downbeat_region_end(&region) == MPI_SUCCESS);
        MPI_Comm_free(&comm);
    }
    return 0;
}

static void *start_often(void *comm) {
    for (int i = 0; i < TIMES; ++i)
        HOLD(harmonize(*(MPI_Comm *)comm) == MPI_SUCCESS);
    return NULL;
}

static int threads(int count) {
    pthread_t thread[THREADS];
    MPI_Comm comm[THREADS];
    int provided;
    (void)count;
    MPI_Query_thread(&provided);
    if (provided < MPI_THREAD_MULTIPLE)
        return NOT_HERE;
    for (int i = 0; i < THREADS; ++i)
        comm[i] = duplicate();
    for (int i = 0; i < THREADS; ++i)
        HOLD(pthread_create(&thread[i], NULL, start_often, &comm[i]) == 0);
    for (int i = 0; i < THREADS; ++i)
        HOLD(pthread_join(thread[i], NULL) == 0);
    for (int i = 0; i < THREADS; ++i)
        MPI_Comm_free(&comm[i]);
    return 0;
}

/* Harmonized by callbacks. */
static MPI_Comm other;
static int handled;

static void harmonize_other(MPI_Comm *comm, int *code, ...) {
    (void)comm;
    (void)code;
    ++handled;
    HOLD(harmonize(other) == MPI_SUCCESS);
}

static int handler(int count) {
    MPI_Errhandler errors;
    int flag;
    MPI_Comm comm = duplicate();
    other = duplicate();
    MPI_Comm_create_errhandler(harmonize_other, &errors);
    MPI_Comm_set_errhandler(comm, errors);
    for (int i = 0; i < count; ++i) {
        HOLD(MPIX_Harmonize_delayed(comm, -1.0, &flag) != MPI_SUCCESS);
        HOLD(harmonize(comm) == MPI_SUCCESS);
    }
    HOLD(handled == count);
    MPI_Errhandler_free(&errors);
    MPI_Comm_free(&comm);
    MPI_Comm_free(&other);
    return 0;
}

static int destroy(MPI_Comm comm, int key, void *value, void *extra) {
    (void)comm;
    (void)key;
    (void)value;
    (void)extra;
    ++handled;
    return harmonize(other);
}

static int destructor(int count) {
    int key;
    other = duplicate();
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, destroy, &key, NULL);
    for (int i = 0; i < count; ++i) {
        MPI_Comm comm = duplicate();
        if (i % 2 == 0)
            HOLD(harmonize(comm) == MPI_SUCCESS);
        HOLD(MPI_Comm_set_attr(comm, key, &handled) == MPI_SUCCESS);
        HOLD(MPI_Comm_free(&comm) == MPI_SUCCESS);
    }
    HOLD(handled == count);
    MPI_Comm_free_keyval(&key);
    MPI_Comm_free(&other);
    return 0;
}

static int revoked(int count) {
    (void)count;
#ifdef OMPI_HAVE_MPI_EXT_FTMPI
    MPI_Comm comm = duplicate();
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    HOLD(harmonize(comm) == MPI_SUCCESS);
    HOLD(MPIX_Comm_revoke(comm) == MPI_SUCCESS);
    HOLD(MPI_Barrier(comm) != MPI_SUCCESS);
    /* The library's own communicator is not revoked: either answer will do, but no process may hang. */
    (void)harmonize(comm);
    MPI_Comm_free(&comm);
    return 0;
#else
    return NOT_HERE;
#endif
}

/* main calls it after MPI_Finalize. */
static int finalized(int count) {
    (void)count;
    HOLD(harmonize(MPI_COMM_WORLD) == MPI_ERR_OTHER);
    return 0;
}

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        int (*run)(int count);
    } modes[] = {{"many", many},       {"regions", regions},       {"threads", threads},    {"handler", handler},
                 {"revoked", revoked}, {"destructor", destructor}, {"finalized", finalized}};
    const int count = argc > 2 ? atoi(argv[2]) : TIMES;
    int (*run)(int count) = NULL;
    int provided;
    for (size_t i = 0; argc > 1 && i < sizeof modes / sizeof *modes; ++i)
        if (strcmp(argv[1], modes[i].name) == 0)
            run = modes[i].run;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    HOLD(harmonize(MPI_COMM_WORLD) == MPI_SUCCESS);
    int status = run == NULL || run == finalized ? 2 : run(count);
    MPI_Finalize();
    return run == finalized ? finalized(count) : status;
}
