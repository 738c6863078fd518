/* A program without any knowledge of Downbeat: collectives with planned delays, checked by test_preload.py. It
 * prints times of the processor's counter, which all processes of a machine share, even on hosts made of namespaces.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC_RAW, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* In any unit: the test finds it. */
static int64_t true_time(void) {
#if defined(__x86_64__)
    return (int64_t)__rdtsc();
#else
    return now();
#endif
}

static void wait_until(int64_t ns) {
    while (now() < ns) {
    }
}

int main(int argc, char **argv) {
    int rank, size;
    MPI_Init(&argc, &argv);
    int calls = argc > 1 ? atoi(argv[1]) : 100;
    int64_t period = argc > 2 ? atoll(argv[2]) : 1000000;
    int64_t computes = argc > 3 ? atoll(argv[3]) : 0; /* ns between a nonblocking call and MPI_Wait; 0: blocking */
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    size_t words = 3 * (size_t)calls;
    int64_t *mine = calloc(words, sizeof *mine);
    int64_t *all = calloc(words * (size_t)size, sizeof *all);
    if (mine == NULL || all == NULL)
        return 4;
    MPI_Barrier(MPI_COMM_WORLD);
    int64_t begin = now() + 10000000;
    for (int i = 0; i < calls; ++i) {
        double in = rank, out;
        int64_t planned = begin + i * period + (int64_t)rank * 20000 * (i % 5);
        wait_until(begin + i * period - 200000);
        MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); /* so that its code is in the caches */
        wait_until(planned);
        int64_t entry = true_time();
        int64_t waited = entry;
        if (computes > 0) {
            MPI_Request request;
            MPI_Iallreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
            wait_until(planned + computes);
            waited = true_time();
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        } else {
            MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        }
        int64_t exit = true_time();
        memcpy(&mine[3 * (size_t)i], (int64_t[]){entry, exit, waited}, 3 * sizeof *mine);
        if (out != size * (size - 1) / 2.0)
            return 3;
    }
    /* One process prints: a launcher may mix the lines of several. */
    MPI_Gather(mine, 3 * calls, MPI_INT64_T, all, 3 * calls, MPI_INT64_T, 0, MPI_COMM_WORLD);
    for (int i = 0; rank == 0 && i < size * calls; ++i)
        printf("call %d %d %lld %lld %lld\n", i / calls, i % calls, (long long)all[3 * i], (long long)all[3 * i + 1],
               (long long)all[3 * i + 2]);
    free(mine);
    free(all);
    MPI_Finalize();
    return 0;
}
