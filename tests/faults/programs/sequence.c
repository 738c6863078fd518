/* Calls the library once all over while calls of MPI, or allocations, fail (calls.c).
 *
 *     fault-sequence returns|fatal
 *
 * With MPI_ERRORS_RETURN it prints the class of the first error on each process and ends the run with status 3, as
 * programs do that cannot go on. With the default handler the library's error ends it. Status 0: there was no error. */
#include <downbeat/clock.h>
#include <mpi.h>
#include <mpix_harmonize.h>
#include <stdio.h>
#include <string.h>

static void hold(int code, const char *call) {
    if (code == MPI_SUCCESS)
        return;
    int rank;
    int class = code;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Error_class(code, &class);
    fprintf(stderr, "fault-sequence: process %d: %s: class %d\n", rank, call, class);
    MPI_Abort(MPI_COMM_WORLD, 3);
}

#define HOLD(call) hold(call, #call)

int main(int argc, char **argv) {
    MPI_Comm comm;
    MPI_Info info;
    MPIX_Harmonize_stats stats;
    int flag;
    double value;
    MPI_Init(&argc, &argv);
    PMPI_Comm_dup(MPI_COMM_WORLD, &comm);
    if (argc > 1 && strcmp(argv[1], "returns") == 0)
        PMPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    HOLD(MPIX_Harmonize(comm, &flag));
    HOLD(MPIX_Harmonize_delayed(comm, 1e-6, &flag));
    HOLD(MPIX_Harmonize_time(comm, &value));
    HOLD(MPIX_Harmonize_sync(comm));
    HOLD(MPIX_Harmonize_get_info(comm, &info));
    HOLD(MPIX_Harmonize_set_info(comm, info));
    MPI_Info_free(&info);
    HOLD(MPIX_Harmonize(comm, &flag));
    HOLD(MPIX_Harmonize_get_stats(comm, &stats));
    HOLD(MPIX_Harmonize_deadline(comm, &value));
    PMPI_Comm_free(&comm);
    MPI_Finalize();
    return 0;
}
