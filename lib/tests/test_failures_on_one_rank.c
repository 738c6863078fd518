/* If memory or a setting fails on one process, all processes get an error: none of them hangs. */
#include "check_mpi.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Allocations of the library and of this file until one fails; negative: none does. */
static int left = -1;

/* The linker leads to these (CMakeLists.txt). */
void *__real_malloc(size_t size);               /* NOLINT: the linker's name */
void *__real_calloc(size_t count, size_t size); /* NOLINT */
void *__wrap_malloc(size_t size);               /* NOLINT */
void *__wrap_calloc(size_t count, size_t size); /* NOLINT */

void *__wrap_malloc(size_t size) { return left-- == 0 ? NULL : __real_malloc(size); }                      /* NOLINT */
void *__wrap_calloc(size_t count, size_t size) { return left-- == 0 ? NULL : __real_calloc(count, size); } /* NOLINT */

/* Returns the class of an error, which must be the same on all processes. */
static int agreed(int code) {
    int found;
    OK(MPI_Error_class(code, &found));
    CHECK_SAME_EVERYWHERE(found, MPI_COMM_WORLD);
    return found;
}

/* Prepares a communicator while an allocation of the last process fails; returns whether there were so many. */
static int prepare_without(int which, int rank, int size) {
    MPI_Comm comm;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    left = rank == size - 1 ? which : -1;
    int code = MPIX_Harmonize_sync(comm);
    int failed = rank == size - 1 && left < 0;
    left = -1;
    int found = agreed(code);
    CHECK(found == MPI_SUCCESS || found == MPI_ERR_NO_MEM);
    OK(MPI_Bcast(&failed, 1, MPI_INT, size - 1, MPI_COMM_WORLD));
    /* With memory the same communicator works. */
    OK(MPIX_Harmonize_sync(comm));
    OK(MPI_Comm_free(&comm));
    return failed;
}

static void memory(int rank, int size) {
    const char *const schemes[] = {"disciplined", "jk(fit=20,offset=skampi(max=10))",
                                   "hca(fit=20,offset=skampi(max=10))"};
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; ++i) {
        setenv("DOWNBEAT_SYNC", schemes[i], 1);
        int which = 0;
        while (prepare_without(which, rank, size))
            ++which;
        CHECK_THAT(which, >, 0);
    }
    unsetenv("DOWNBEAT_SYNC");
}

static void settings(int rank, int size) {
    if (size == 1)
        return;
    int last = rank == size - 1;
    MPI_Comm comm;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    if (last)
        setenv("DOWNBEAT_VALIDATION", "skew=1e-5", 1);
    FAILS_WITH(MPI_ERR_ARG, MPIX_Harmonize_sync(comm));
    unsetenv("DOWNBEAT_VALIDATION");
    OK(MPIX_Harmonize_sync(comm));

    FAILS_WITH(MPI_ERR_ARG, set_one(comm, "sync", last ? "jk(fit=20)" : "hca3_offset"));
    FAILS_WITH(MPI_ERR_ARG, set_one(comm, "slack", last ? "1e-3" : "1e-4"));
    OK(set_one(comm, "slack", "1e-3"));
    harmonize(comm);
    OK(MPI_Comm_free(&comm));
}

int main(int argc, char **argv) {
    int rank;
    int size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    memory(rank, size);
    settings(rank, size);
    MPI_Finalize();
    return 0;
}
