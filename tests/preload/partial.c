/* A program that some ranks may run without libdownbeat-preload: whatever it receives must be its own. Receives with
 * wildcards at once, starts collectives of all kinds, and spawns if asked. Ends with status 3 if anything is wrong. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORK 20

static void need(int holds, const char *what) {
    if (!holds) {
        fprintf(stderr, "partial: %s\n", what);
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
}

int main(int argc, char **argv) {
    int rank, size, value, sum, flag;
    MPI_Status status;
    MPI_Request request;
    MPI_Comm parent, twin;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_get_parent(&parent);
    /* The last rank gives out work, the first one is a worker; all tags are used. */
    if (rank == size - 1) {
        long total = 0;
        for (int i = 0; i < WORK * (size - 1); ++i) {
            MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
            need(value == 1000 * status.MPI_SOURCE + status.MPI_TAG, "received what nobody sent");
            total += value;
            MPI_Send(&value, 1, MPI_INT, status.MPI_SOURCE, 32000 + i % 700, MPI_COMM_WORLD);
        }
        long all = (1000L * (size - 2) * WORK + (WORK - 1) * WORK) * (size - 1) / 2;
        need(total == all, "sum of work");
    } else {
        for (int i = 0; i < WORK; ++i) {
            value = 1000 * rank + i;
            MPI_Send(&value, 1, MPI_INT, size - 1, i, MPI_COMM_WORLD);
            MPI_Recv(&sum, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
            need(status.MPI_SOURCE == size - 1 && sum == value, "received another answer");
        }
    }
    value = rank;
    MPI_Iallreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    need(sum == size * (size - 1) / 2, "sum of ranks");
    MPI_Comm_dup(MPI_COMM_WORLD, &twin);
    for (int i = 0; i < 50; ++i) {
        value = rank == i % size ? i : -1;
        MPI_Bcast(&value, 1, MPI_INT, i % size, i % 2 ? twin : MPI_COMM_WORLD);
        need(value == i, "broadcast");
        MPI_Barrier(twin);
    }
    if (argc > 1 && strcmp(argv[1], "spawn") == 0 && parent == MPI_COMM_NULL) {
        MPI_Comm children;
        MPI_Comm_spawn(argv[0], argv + 1, 2, MPI_INFO_NULL, 0, twin, &children, MPI_ERRCODES_IGNORE);
        MPI_Barrier(children);
        MPI_Comm_disconnect(&children);
    } else if (parent != MPI_COMM_NULL) {
        MPI_Barrier(parent);
        MPI_Comm_disconnect(&parent);
    }
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &status);
    need(!flag, "a message is left");
    MPI_Comm_free(&twin);
    if (rank == 0) {
        printf("partial: right\n");
        fflush(stdout);
    }
    MPI_Finalize();
    return argc > 1 && rank == 0 ? atoi(argv[argc - 1]) : 0;
}
