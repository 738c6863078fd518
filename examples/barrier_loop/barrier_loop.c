/*
 * The loop of other benchmarks, to be run beside downbeat-bench: a barrier and a timed call, again and again. Every
 * rank adds up its times; what is printed are the mean, the minimum and the maximum of the ranks' means. MPI alone is
 * needed:
 *
 *     mpicc -O2 barrier_loop.c -o barrier_loop
 *     mpirun -n 2 ./barrier_loop bcast
 *     mpirun -n 2 downbeat-bench bcast -m 8:1M --sync mpi_barrier --warmup 200 --format osu
 *
 * Words after the operation, bcast or allreduce, change one thing at a time:
 *
 *     after      the barrier comes after the call, as in OSU, and not before it
 *     counter    reads the processor's time stamp counter (x86) in place of MPI_Wtime
 *     median     prints the median over calls of the mean over ranks as well
 *     nothing    times no call at all: what reading the clock costs
 */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

enum { WARMUP = 200, ITERATIONS = 1000, LEAST = 8, MOST = 1 << 20, PAGE = 4096 };

static int use_counter = 0;
static double seconds_per_tick = 0.0;

static double now(void) {
#if defined(__x86_64__)
    if (use_counter) {
        unsigned int processor;
        return (double)__rdtscp(&processor) * seconds_per_tick;
    }
#endif
    return MPI_Wtime();
}

/* The counter's rate, from a tenth of a second. */
static void calibrate(void) {
#if defined(__x86_64__)
    unsigned int processor;
    double begin = MPI_Wtime(), end = begin;
    unsigned long long first = __rdtscp(&processor);
    while (end - begin < 0.1)
        end = MPI_Wtime();
    seconds_per_tick = (end - begin) / (double)(__rdtscp(&processor) - first);
#else
    fprintf(stderr, "barrier_loop: counter needs an x86 processor\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
#endif
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv) {
    int rank, ranks, allreduce = 0, nothing = 0, after = 0, median = 0, valid = argc > 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int i = 1; i < argc; ++i) {
        if (strcmp(argv[i], "bcast") == 0 || strcmp(argv[i], "allreduce") == 0)
            allreduce = argv[i][0] == 'a';
        else if (strcmp(argv[i], "after") == 0)
            after = 1;
        else if (strcmp(argv[i], "counter") == 0)
            use_counter = 1;
        else if (strcmp(argv[i], "median") == 0)
            median = 1;
        else if (strcmp(argv[i], "nothing") == 0)
            nothing = 1;
        else
            valid = 0;
    }
    if (!valid) {
        if (rank == 0)
            fprintf(stderr, "usage: barrier_loop bcast|allreduce [after] [counter] [median] [nothing]\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    if (use_counter)
        calibrate();

    /* Page aligned, and written before they are used. */
    char *send = aligned_alloc(PAGE, MOST), *receive = aligned_alloc(PAGE, MOST);
    double *times = malloc(ITERATIONS * sizeof *times);
    double *sums = calloc(ITERATIONS, sizeof *sums);
    if (send == NULL || receive == NULL || times == NULL || sums == NULL)
        MPI_Abort(MPI_COMM_WORLD, 1);
    memset(send, 0, MOST);
    memset(receive, 0, MOST);

    if (rank == 0)
        printf("# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)%s\n",
               median ? "   Median of calls" : "");
    for (int size = LEAST; size <= MOST; size *= 2) {
        double sum = 0.0;
        for (int i = -WARMUP; i < ITERATIONS; ++i) {
            if (!after)
                MPI_Barrier(MPI_COMM_WORLD);
            double begin = now();
            if (allreduce && !nothing)
                MPI_Allreduce(send, receive, size / (int)sizeof(float), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
            else if (!nothing)
                MPI_Bcast(send, size, MPI_CHAR, 0, MPI_COMM_WORLD);
            double end = now();
            if (i >= 0) {
                sum += end - begin;
                times[i] = end - begin;
            }
            if (after)
                MPI_Barrier(MPI_COMM_WORLD);
        }
        double mean = sum / ITERATIONS, least, most, total;
        MPI_Reduce(&mean, &least, 1, MPI_DOUBLE, MPI_MIN, 0, MPI_COMM_WORLD);
        MPI_Reduce(&mean, &most, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
        MPI_Reduce(&mean, &total, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
        MPI_Reduce(times, sums, ITERATIONS, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
        if (rank == 0) {
            printf("%-10d%18.3f%18.3f%18.3f", size, total / ranks * 1e6, least * 1e6, most * 1e6);
            if (median) {
                qsort(sums, ITERATIONS, sizeof *sums, compare);
                printf("%18.3f", sums[ITERATIONS / 2] / ranks * 1e6);
            }
            printf("\n");
        }
    }
    free(sums);
    free(times);
    free(receive);
    free(send);
    MPI_Finalize();
    return 0;
}
