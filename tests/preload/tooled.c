/* Calls whose numbers are known, of each kind that a tool may have between the program and MPI. */
#include <mpi.h>

int main(int argc, char **argv) {
    int rank, size, done, value = 1, sum;
    MPI_Comm twin;
    MPI_Request requests[2];
    MPI_Status statuses[2];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_dup(MPI_COMM_WORLD, &twin);
    for (int i = 0; i < 100; ++i) {
        MPI_Bcast(&value, 1, MPI_INT, 0, twin);
        MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
    MPI_Pcontrol(1, "tooled");
    for (int i = 0; i < 30; ++i)
        MPI_Barrier(MPI_COMM_WORLD);
    MPI_Pcontrol(-1, "tooled");
    for (int i = 0; i < 20; ++i) {
        MPI_Iallreduce(&value, &sum, 1, MPI_INT, MPI_SUM, twin, &requests[0]);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    }
    for (int i = 0; i < 10; ++i) {
        MPI_Ibarrier(twin, &requests[0]);
        MPI_Irecv(&sum, 1, MPI_INT, (rank + size - 1) % size, 5, twin, &requests[1]);
        MPI_Send(&value, 1, MPI_INT, (rank + 1) % size, 5, twin);
        MPI_Waitall(2, requests, statuses);
    }
    MPI_Ibarrier(MPI_COMM_WORLD, &requests[0]); /* one MPI_Test sees its completion: the barrier has passed */
    MPI_Pcontrol(0);
    MPI_Barrier(twin); /* the tool's call, but not in the trace */
    MPI_Pcontrol(1);
    for (done = 0; !done;)
        PMPI_Request_get_status(requests[0], &done, MPI_STATUS_IGNORE);
    MPI_Test(&requests[0], &done, MPI_STATUS_IGNORE);
    MPI_Comm_free(&twin);
    MPI_Finalize();
    return 0;
}
