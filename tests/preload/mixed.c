/* mixed HOW: barriers that some ranks call from a library, others from the program: always rank 0, or in turns, or
 * after barriers of the program on all ranks; on several communicators. late: rank 0 comes SECONDS late, from a
 * library. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int library_barrier(MPI_Comm comm);

static int barriers;

static void barrier(MPI_Comm comm, int by_library) {
    barriers += by_library ? library_barrier(comm) == 0 : MPI_Barrier(comm) == MPI_SUCCESS;
}

int main(int argc, char **argv) {
    const char *how = argc > 1 ? argv[1] : "writer";
    int value = 1;
    int sum = 0;
    int rank;
    MPI_Comm comms[2] = {MPI_COMM_WORLD, MPI_COMM_NULL};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
    if (strcmp(how, "late") == 0 && rank == 0)
        sleep((unsigned)atoi(argv[2]));
    for (int i = 0; i < 40; ++i) {
        int by_library = strcmp(how, "turns") == 0    ? i % 3 == rank
                         : strcmp(how, "later") == 0  ? i > 20 && rank == 0
                         : strcmp(how, "switch") == 0 ? 0
                                                      : rank == 0;
        if (strcmp(how, "switch") == 0 && rank == 0 && i == 20)
            MPI_Pcontrol(0);
        barrier(comms[i % 2], by_library);
        MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, comms[i % 2]);
    }
    printf("rank %d: %d barriers, sum %d\n", rank, barriers, sum);
    MPI_Comm_free(&comms[1]);
    MPI_Finalize();
    return 0;
}
