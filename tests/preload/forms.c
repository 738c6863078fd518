/* One call of each kind that needs care, in a known order: requests, persistent requests, communicators that are made,
 * freed and made again, MPI_Pcontrol. */
#include <mpi.h>
#include <string.h>

#if defined(HAVE_MPIX_BCAST_INIT)
#include <mpi-ext.h>
#define MPI_Allreduce_init MPIX_Allreduce_init
#endif

int main(int argc, char **argv) {
    int rank, size, flag = 0, index;
    int in[4] = {1, 2, 3, 4}, out[4];
    MPI_Request requests[3];
    MPI_Status statuses[3];
    int required = argc > 1 && strcmp(argv[1], "thread") == 0;
    if (required)
        MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &flag);
    else
        MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);

    /* Each completion function sees one. */
    MPI_Ibcast(in, 4, MPI_INT, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Iallreduce(in, out, 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[0]);
    for (flag = 0; !flag;)
        MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE);
    MPI_Ibarrier(MPI_COMM_WORLD, &requests[0]);
    MPI_Ibcast(in, 2, MPI_INT, 0, MPI_COMM_WORLD, &requests[1]);
    requests[2] = MPI_REQUEST_NULL;
    MPI_Waitall(3, requests, statuses);
    MPI_Ireduce(in, out, 4, MPI_INT, MPI_SUM, size - 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Iscan(in, out, 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
    MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);

#ifdef HAVE_PERSISTENT
    MPI_Request persistent;
    MPI_Allreduce_init(in, out, 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &persistent);
    for (int i = 0; i < 3; ++i) {
        MPI_Start(&persistent);
        MPI_Wait(&persistent, MPI_STATUS_IGNORE);
    }
    MPI_Startall(1, &persistent);
    MPI_Waitall(1, &persistent, statuses);
    MPI_Request_free(&persistent);
#endif

    /* Communicators of the same processes; one that takes the place of one that was freed. */
    for (int i = 0; i < 3; ++i) {
        MPI_Comm twin;
        MPI_Comm_dup(MPI_COMM_WORLD, &twin);
        MPI_Comm_set_name(twin, i == 0 ? "first" : i == 1 ? "second" : "third");
        MPI_Allgather(&rank, 1, MPI_INT, out, 0, MPI_INT, MPI_COMM_SELF);
        MPI_Bcast(in, i + 1, MPI_INT, 0, twin);
        MPI_Comm_free(&twin);
    }
    MPI_Comm half;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
    MPI_Bcast(in, 4, MPI_CHAR, 0, half);
    MPI_Comm_free(&half);

    MPI_Pcontrol(0);
    MPI_Bcast(in, 4, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Pcontrol(1);
    MPI_Reduce(in, out, 3, MPI_INT, MPI_SUM, size - 1, MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
