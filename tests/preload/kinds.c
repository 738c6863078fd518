/* Calls of MPI that are only added up: rank 0 waits for a late sender; windows and files. Each
 * prints its own time for each kind. */
#include <mpi.h>
#include <stdio.h>
#include <time.h>

static double own[4];
static int calls[4];
enum { POINT_TO_POINT, REQUESTS, ONE_SIDED, FILES };

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

#define TIMED(kind, call)                                                                                              \
    do {                                                                                                               \
        double begin = now();                                                                                          \
        if ((call) != MPI_SUCCESS)                                                                                     \
            return 1;                                                                                                  \
        own[kind] += now() - begin;                                                                                    \
        ++calls[kind];                                                                                                 \
    } while (0)

int main(int argc, char **argv) {
    int rank, value = 0, in = 0;
    MPI_Win window;
    MPI_File file;
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 5; ++i) {
        if (rank == 1) {
            struct timespec late = {0, 20000000};
            nanosleep(&late, NULL);
            TIMED(POINT_TO_POINT, MPI_Send(&value, 1, MPI_INT, 0, i, MPI_COMM_WORLD));
        } else {
            TIMED(POINT_TO_POINT, MPI_Recv(&value, 1, MPI_INT, 1, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        }
        TIMED(POINT_TO_POINT, MPI_Irecv(&in, 1, MPI_INT, 1 - rank, i, MPI_COMM_WORLD, &request));
        TIMED(POINT_TO_POINT, MPI_Send(&rank, 1, MPI_INT, 1 - rank, i, MPI_COMM_WORLD));
        TIMED(REQUESTS, MPI_Wait(&request, MPI_STATUS_IGNORE));
        if (in != 1 - rank)
            return 2;
    }
    TIMED(ONE_SIDED, MPI_Win_create(&value, sizeof value, sizeof value, MPI_INFO_NULL, MPI_COMM_WORLD, &window));
    TIMED(ONE_SIDED, MPI_Win_fence(0, window));
    TIMED(ONE_SIDED, MPI_Put(&rank, 1, MPI_INT, 1 - rank, 0, 1, MPI_INT, window));
    TIMED(ONE_SIDED, MPI_Win_fence(0, window));
    TIMED(ONE_SIDED, MPI_Win_free(&window));
    if (value != 1 - rank || argc < 2)
        return 3;
    TIMED(FILES, MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
    TIMED(FILES, MPI_File_write_at_all(file, (MPI_Offset)sizeof rank * rank, &rank, 1, MPI_INT, MPI_STATUS_IGNORE));
    TIMED(FILES, MPI_File_read_at(file, (MPI_Offset)sizeof rank * (1 - rank), &in, 1, MPI_INT, MPI_STATUS_IGNORE));
    TIMED(FILES, MPI_File_close(&file));
    MPI_Barrier(MPI_COMM_WORLD); /* its record has the time in all of these calls, the next one none */
    MPI_Barrier(MPI_COMM_WORLD);
    for (int kind = 0; kind < 4; ++kind)
        printf("kind %d %d %d %.9f\n", rank, kind, calls[kind], own[kind]);
    MPI_Finalize();
    return in == 1 - rank ? 0 : 4;
}
