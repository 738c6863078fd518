/* Groups that meet on intercommunicators, in the way that the arguments say, with one late process per call:
 *
 *     late_groups KIND LATE OPERATION [MICROSECONDS]
 *
 * KIND: halves (of one job; the first has one rank fewer than the other if there is an odd number), dup (a duplicate of
 * that), spawn (a parent with two children), merged (all processes of both jobs on one communicator), connect (of one
 * job, by a port). LATE: the rank in MPI_COMM_WORLD that computes before each call; -1: the parent, of spawn. The root
 * of bcast and gather is process 0 of the first group, or the parent. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CALLS 20

static void compute(double microseconds) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    double end = (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3 + microseconds;
    do
        clock_gettime(CLOCK_MONOTONIC, &now);
    while ((double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3 < end);
}

static void call(const char *operation, MPI_Comm comm, int inter, int first, int rank) {
    double value = 1;
    double values[64] = {0};
    int root = !inter ? 0 : !first ? 0 : rank == 0 ? MPI_ROOT : MPI_PROC_NULL;
    if (strcmp(operation, "bcast") == 0)
        MPI_Bcast(&value, 1, MPI_DOUBLE, root, comm);
    else if (strcmp(operation, "gather") == 0)
        MPI_Gather(&value, 1, MPI_DOUBLE, values, 1, MPI_DOUBLE, root, comm);
    else if (strcmp(operation, "barrier") == 0)
        MPI_Barrier(comm);
    else
        MPI_Allreduce(&value, values, 1, MPI_DOUBLE, MPI_SUM, comm);
}

int main(int argc, char **argv) {
    MPI_Comm parent, half = MPI_COMM_NULL, between = MPI_COMM_NULL, comm, other;
    int rank, size, group_rank, first;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_get_parent(&parent);
    const char *kind = argv[1];
    double late = argc > 4 ? atof(argv[4]) : 3000;
    int jobs = strcmp(kind, "spawn") == 0 || strcmp(kind, "merged") == 0;
    int inter = strcmp(kind, "merged") != 0;
    int late_rank = jobs && parent == MPI_COMM_NULL ? -1 : rank;
    int mine = late_rank == atoi(argv[2]);
    if (jobs) {
        first = parent == MPI_COMM_NULL;
        group_rank = rank;
        comm = parent;
        if (first)
            MPI_Comm_spawn(argv[0], argv + 1, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &comm, MPI_ERRCODES_IGNORE);
    } else {
        first = rank < size / 2;
        MPI_Comm_split(MPI_COMM_WORLD, first, rank, &half);
        MPI_Comm_rank(half, &group_rank);
        if (strcmp(kind, "connect") == 0) {
            char port[MPI_MAX_PORT_NAME] = "";
            if (rank == 0)
                MPI_Open_port(MPI_INFO_NULL, port);
            MPI_Bcast(port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, MPI_COMM_WORLD);
            if (first)
                MPI_Comm_accept(port, MPI_INFO_NULL, 0, half, &comm);
            else
                MPI_Comm_connect(port, MPI_INFO_NULL, 0, half, &comm);
        } else {
            MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, first ? size / 2 : 0, 7, &comm);
        }
    }
    if (strcmp(kind, "dup") == 0 || !inter) {
        if (inter)
            MPI_Comm_dup(comm, &other);
        else
            MPI_Intercomm_merge(comm, !first, &other);
        between = comm;
        comm = other;
    }
    for (int i = 0; i < CALLS; ++i) {
        MPI_Barrier(comm);
        if (mine)
            compute(late);
        call(argv[3], comm, inter, first, group_rank);
    }
    MPI_Comm_free(&comm);
    if (between != MPI_COMM_NULL)
        MPI_Comm_disconnect(&between);
    if (half != MPI_COMM_NULL)
        MPI_Comm_free(&half);
    MPI_Finalize();
    return 0;
}
