/* A process is lost, and the MPI library goes on without it (User-Level Failure Mitigation). */
#include "conformance.h"

#include <signal.h>
#include <stddef.h>

#if defined(OPEN_MPI) && defined(__has_include)
#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif
#endif

#if defined(MPIX_ERR_PROC_FAILED) && defined(MPIX_FT)

#define LATE 0.1 /* seconds until all others wait */

static int goes_on(void) {
    const int *on;
    int found;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPIX_FT, (void *)&on, &found);
    return found && *on;
}

static void fails(const char *what, MPI_Comm comm) {
    int flag;
    int found = MPI_SUCCESS;
    MPI_Error_class(HARMONIZE(comm, &flag), &found);
    expect(found == MPIX_ERR_PROC_FAILED || found == MPIX_ERR_REVOKED,
           "%s: error class %d, neither MPIX_ERR_PROC_FAILED (%d) nor MPIX_ERR_REVOKED (%d)", what, found,
           MPIX_ERR_PROC_FAILED, MPIX_ERR_REVOKED);
}

static void works(MPI_Comm comm) {
    for (int i = 0; i < 5; ++i) {
        int flag;
        OK(HARMONIZE(comm, &flag));
    }
}

/* One process revokes the communicator and does not call; all others are in the call. */
static void revoke_alone(const struct run *run) {
    MPI_Comm comm;
    MPI_Comm_dup(run->world, &comm);
    works(comm);
    MPI_Barrier(run->world);
    if (run->rank == run->size - 1) {
        pause_for(LATE);
        MPIX_Comm_revoke(comm);
    } else {
        fails("waiting for a process that has revoked the communicator", comm);
    }
    MPI_Barrier(run->world);
    MPI_Comm_free(&comm);
}

void recover(struct run *run) {
    MPI_Comm comm;
    MPI_Comm fresh;
    MPI_Comm world = run->world;
    if (run->size == 1 || !goes_on()) {
        skip(run->size == 1 ? "needs two processes"
                            : "a lost process ends the program: start it with mpirun --with-ft ulfm");
        return;
    }
    if (run->size > 2)
        revoke_alone(run);
    MPI_Comm_dup(world, &comm);
    MPI_Comm_dup(world, &fresh);
    works(comm);
    MPI_Barrier(world);
    if (run->rank == run->size - 1) {
        pause_for(LATE);
        raise(SIGKILL);
    }
    fails("waiting for a process that is lost", comm);
    fails("the next call", comm);
    fails("the first call on a communicator that has lost a process", fresh);

    MPIX_Comm_revoke(comm);
    OK(MPIX_Comm_shrink(comm, &run->world));
    MPI_Comm_size(run->world, &run->size);
    run->lost = 1;
    MPI_Comm_dup(run->world, &world);
    works(world);
    fails("a revoked communicator", comm);
    MPI_Comm_free(&comm);
    MPI_Comm_free(&fresh);
    works(world);
    MPI_Comm_free(&world);
}

#else

void recover(struct run *run) {
    (void)run;
    skip("the MPI library does not say whether it goes on without a lost process (MPIX_FT)");
}

#endif
