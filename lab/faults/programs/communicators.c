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

enum { THREADS = 8, NOT_HERE = 77 };

static void hold(int fine, const char *what) {
    if (fine)
        return;
    fprintf(stderr, "fault-communicators: failed: %s\n", what);
    exit(1);
}

#define HOLD(condition) hold(condition, #condition)

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
        MPI_Comm comm;
        int flag;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        HOLD(MPIX_Harmonize(comm, &flag) == MPI_SUCCESS);
        MPI_Comm_free(&comm);
        if (i == count / 10)
            before = resident_pages();
    }
    /* 64 bytes each are what an MPI library may forget; a state of the library is many times larger. */
    HOLD(resident_pages() - before <= 256 + (long)count * 64 / 4096);
    return 0;
}

static int regions(void) {
    for (int i = 0; i < 20; ++i) {
        MPI_Comm comm;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        Downbeat_region region;
        HOLD(Downbeat_region_begin(comm, "open", &region) == MPI_SUCCESS);
        if (i % 2 == 0)
            HOLD(Downbeat_region_end(&region) == MPI_SUCCESS);
        MPI_Comm_free(&comm);
    }
    return 0;
}

static void *start_often(void *argument) {
    MPI_Comm comm = *(MPI_Comm *)argument;
    int flag;
    for (int i = 0; i < 20; ++i)
        HOLD(MPIX_Harmonize(comm, &flag) == MPI_SUCCESS);
    return NULL;
}

static int threads(int provided) {
    pthread_t thread[THREADS];
    MPI_Comm comm[THREADS];
    if (provided < MPI_THREAD_MULTIPLE)
        return NOT_HERE;
    for (int i = 0; i < THREADS; ++i)
        MPI_Comm_dup(MPI_COMM_WORLD, &comm[i]);
    for (int i = 0; i < THREADS; ++i)
        HOLD(pthread_create(&thread[i], NULL, start_often, &comm[i]) == 0);
    for (int i = 0; i < THREADS; ++i)
        HOLD(pthread_join(thread[i], NULL) == 0);
    for (int i = 0; i < THREADS; ++i)
        MPI_Comm_free(&comm[i]);
    return 0;
}

static MPI_Comm other = MPI_COMM_NULL;
static int handled;

static void harmonize_other(MPI_Comm *comm, int *code, ...) {
    int flag;
    (void)comm;
    (void)code;
    ++handled;
    HOLD(MPIX_Harmonize(other, &flag) == MPI_SUCCESS);
}

static int handler(void) {
    MPI_Comm comm;
    MPI_Errhandler errors;
    int flag;
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_create_errhandler(harmonize_other, &errors);
    MPI_Comm_set_errhandler(comm, errors);
    for (int i = 0; i < 10; ++i) {
        HOLD(MPIX_Harmonize_delayed(comm, -1.0, &flag) != MPI_SUCCESS);
        HOLD(MPIX_Harmonize(comm, &flag) == MPI_SUCCESS);
    }
    HOLD(handled == 10);
    MPI_Errhandler_free(&errors);
    MPI_Comm_free(&comm);
    MPI_Comm_free(&other);
    return 0;
}

static int destroy(MPI_Comm comm, int key, void *value, void *extra) {
    int flag;
    (void)comm;
    (void)key;
    (void)value;
    (void)extra;
    ++handled;
    return MPIX_Harmonize(other, &flag);
}

static int destructor(void) {
    int key;
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, destroy, &key, NULL);
    for (int i = 0; i < 10; ++i) {
        MPI_Comm comm;
        int flag;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        if (i % 2 == 0)
            HOLD(MPIX_Harmonize(comm, &flag) == MPI_SUCCESS);
        HOLD(MPI_Comm_set_attr(comm, key, &handled) == MPI_SUCCESS);
        HOLD(MPI_Comm_free(&comm) == MPI_SUCCESS);
    }
    HOLD(handled == 10);
    MPI_Comm_free_keyval(&key);
    MPI_Comm_free(&other);
    return 0;
}

static int revoked(void) {
#ifdef OMPI_HAVE_MPI_EXT_FTMPI
    int flag;
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    HOLD(MPIX_Harmonize(comm, &flag) == MPI_SUCCESS);
    HOLD(MPIX_Comm_revoke(comm) == MPI_SUCCESS);
    HOLD(MPI_Barrier(comm) != MPI_SUCCESS);
    /* The library's own communicator is not revoked: either answer will do, but no process may hang. */
    (void)MPIX_Harmonize(comm, &flag);
    MPI_Comm_free(&comm);
    return 0;
#else
    return NOT_HERE;
#endif
}

static int finalized(void) {
    int flag;
    HOLD(MPIX_Harmonize(MPI_COMM_WORLD, &flag) == MPI_ERR_OTHER);
    return 0;
}

int main(int argc, char **argv) {
    const char *mode = argc > 1 ? argv[1] : "";
    const int count = argc > 2 ? atoi(argv[2]) : 1000;
    int provided;
    int status = 2;
    int flag;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    HOLD(MPIX_Harmonize(MPI_COMM_WORLD, &flag) == MPI_SUCCESS);
    if (strcmp(mode, "many") == 0)
        status = many(count);
    else if (strcmp(mode, "regions") == 0)
        status = regions();
    else if (strcmp(mode, "threads") == 0)
        status = threads(provided);
    else if (strcmp(mode, "handler") == 0)
        status = handler();
    else if (strcmp(mode, "destructor") == 0)
        status = destructor();
    else if (strcmp(mode, "revoked") == 0)
        status = revoked();
    else if (strcmp(mode, "finalized") == 0)
        status = 0;
    MPI_Finalize();
    if (strcmp(mode, "finalized") == 0)
        status = finalized();
    return status;
}
