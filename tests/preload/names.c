/* Two communicators of the same processes, at one call site, whose names are hard to show. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv) {
    MPI_Comm comms[4];
    char longer[MPI_MAX_OBJECT_NAME];
    int value = 1;
    int sum;
    MPI_Init(&argc, &argv);
    for (int i = 0; i < 4; ++i)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    MPI_Comm_set_name(comms[0], "line\nbreak\tand \"quote\"");
    MPI_Comm_set_name(comms[1], "\xff\xfe not UTF-8");
    MPI_Comm_set_name(comms[2], longer);
    MPI_Comm_set_name(comms[3], "\x1b[2J\xe2\x80\xae");
    for (int i = 0; i < 120; ++i)
        MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, comms[i % 4]);
    for (int i = 0; i < 4; ++i)
        MPI_Comm_free(&comms[i]);
    MPI_Finalize();
    return 0;
}
