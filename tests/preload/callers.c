/* Barriers of the executable and of a library, each followed by another operation: only the former get a common start.
 */
#include <mpi.h>

int library_barrier(MPI_Comm comm);

int main(int argc, char **argv) {
    int value = 0;
    MPI_Init(&argc, &argv);
    for (int i = 0; i < 20; ++i) {
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
        if (library_barrier(MPI_COMM_WORLD) != 0)
            return 1;
        MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
