/* Fresh communicators: what the first start on each is worth, how long it takes, and how much memory it keeps. */
#define _POSIX_C_SOURCE 200809L
#include "stamp.h"
#include "starts.h"

#include <mpix_harmonize.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define COMMS 300

/* Resident memory of this process, KiB. */
static double resident_kib(void) {
    long size = 0;
    long resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    require(file != NULL && fscanf(file, "%ld %ld", &size, &resident) == 2, "/proc/self/statm cannot be read");
    fclose(file);
    return (double)resident * (double)sysconf(_SC_PAGESIZE) / 1024.0;
}

/* KiB per duplicate, and what a first start on each adds to that. */
static double fill(MPI_Comm comms[COMMS], double durations_ns[COMMS], int flags[COMMS]) {
    double before = resident_kib();
    for (int i = 0; i < COMMS; ++i) {
        MPI_Comm_dup(world.comm, &comms[i]);
        if (flags == NULL)
            continue;
        MPI_Barrier(comms[i]);
        int64_t begin = stamp();
        MPIX_Harmonize(comms[i], &flags[i]);
        durations_ns[i] = (double)(stamp() - begin) * world.scale;
    }
    return (resident_kib() - before) / COMMS;
}

static void empty(MPI_Comm comms[COMMS]) {
    for (int i = 0; i < COMMS; ++i)
        MPI_Comm_free(&comms[i]);
}

void mode_first(void) {
    static MPI_Comm comms[COMMS];
    static MPI_Comm others[COMMS];
    static double durations_ns[COMMS];
    static int flags[COMMS];
    int flag;
    MPIX_Harmonize(world.comm, &flag); /* process-wide state, made once */
    double duplicate_kib = fill(others, NULL, NULL);
    double prepared_kib = fill(comms, durations_ns, flags);
    empty(others);
    empty(comms);
    MPI_Allreduce(MPI_IN_PLACE, flags, COMMS, MPI_INT, MPI_MIN, world.comm);
    int valid = 0;
    for (int i = 0; i < COMMS; ++i)
        valid += flags[i];
    if (world.rank == 0)
        printf("{\"first_rejected_percent\": %.2f, \"first_us\": %.2f, \"duplicate_kib\": %.2f, \"state_kib\": %.2f}\n",
               100.0 * (COMMS - valid) / COMMS, median(durations_ns, COMMS) / 1e3, duplicate_kib,
               prepared_kib - 2.0 * duplicate_kib);
}
