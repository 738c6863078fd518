/* Communicators of the same processes, at one call site, whose names are hard to keep. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv) {
    enum { COMMS = 5 };
    MPI_Comm comms[COMMS];
    char longer[MPI_MAX_OBJECT_NAME];
    char wide[MPI_MAX_OBJECT_NAME] = "x";
    int value = 1;
    int sum;
    MPI_Init(&argc, &argv);
    for (int i = 0; i < COMMS; ++i)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    MPI_Comm_set_name(comms[0], "line\nbreak\tand \"quote\"");
    MPI_Comm_set_name(comms[1], "\xff\xfe not UTF-8");
    MPI_Comm_set_name(comms[2], longer);
    MPI_Comm_set_name(comms[3], "\x1b[2J\xe2\x80\xae");
    while (strlen(wide) + 2 < sizeof wide)
        strcat(wide, "\xc3\xa9");
    MPI_Comm_set_name(comms[4], wide);
    MPI_Comm_set_name(MPI_COMM_WORLD, "all");
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < 120; ++i)
        MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, comms[i % COMMS]);
    for (int i = 0; i < COMMS; ++i)
        MPI_Comm_free(&comms[i]);
    MPI_Finalize();
    return 0;
}
