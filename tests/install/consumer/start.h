/* Every consumer, in C and in C++, makes one harmonized start and says how many processes left it. */
#ifndef START_H
#define START_H

#include <downbeat/clock.h>
#include <mpix_harmonize.h>

#include <stdio.h>

static int start_together(int *argc, char ***argv) {
    int flag = -1, rank, size;
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPIX_Harmonize(MPI_COMM_WORLD, &flag);
    int decided = (flag == 0 || flag == 1) && Downbeat_components("scheme") != NULL, all = 0;
    MPI_Allreduce(&decided, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d of %d processes left together\n", all, size);
    MPI_Finalize();
    return all == size ? 0 : 1;
}

#endif
