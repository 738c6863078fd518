/* A program without any knowledge of Downbeat: collectives with planned delays, checked by test_preload.py. What it
 * prints as time is the processor's counter, which all processes of a machine share, even on hosts made of namespaces.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
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
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Barrier(MPI_COMM_WORLD);
    int64_t begin = now() + 10000000;
    for (int i = 0; i < calls; ++i) {
        double in = rank, out;
        int64_t planned = begin + i * period + (int64_t)rank * 20000 * (i % 5);
        wait_until(begin + i * period - 200000);
        MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); /* so that its code is in the caches */
        wait_until(planned);
        int64_t entry = true_time();
        MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        int64_t exit = true_time();
        printf("call %d %d %lld %lld\n", rank, i, (long long)entry, (long long)exit);
        if (out != size * (size - 1) / 2.0)
            return 3;
    }
    MPI_Finalize();
    return 0;
}
