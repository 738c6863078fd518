/* Intercommunicators: of two halves of one job, and of a job with one that it spawns. Prints, per process and call,
 * what the trace must say: its group ("second" or not) and its root. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static void calls(MPI_Comm inter, int gives, int rank) {
    double value = 1;
    double sum = 0;
    MPI_Bcast(&value, 1, MPI_DOUBLE, gives ? (rank == 1 ? MPI_ROOT : MPI_PROC_NULL) : 1, inter);
    MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, inter);
}

int main(int argc, char **argv) {
    MPI_Comm parent, half, inter, merged;
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_get_parent(&parent);
    if (argc > 1 && strcmp(argv[1], "spawn") == 0) {
        inter = parent;
        if (parent == MPI_COMM_NULL)
            MPI_Comm_spawn(argv[0], argv + 1, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE);
        MPI_Comm_set_name(inter, "spawned");
        calls(inter, parent == MPI_COMM_NULL, rank);
        MPI_Intercomm_merge(inter, parent != MPI_COMM_NULL, &merged);
        MPI_Comm_set_name(merged, "merged");
        MPI_Barrier(merged);
        MPI_Comm_free(&merged);
        MPI_Comm_disconnect(&inter);
    } else { /* even ranks, and odd ones, which give */
        MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
        MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 7, &inter);
        MPI_Comm_set_name(inter, "halves");
        calls(inter, rank % 2, rank / 2);
        MPI_Comm_free(&inter);
        MPI_Comm_free(&half);
    }
    MPI_Finalize();
    return 0;
}
