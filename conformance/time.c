/* In space: nobody leaves before all have come. In time: all leave at one instant. */
#include "conformance.h"

#include <stdlib.h>

/* Another process says in a message that it has left, the late one looks for such messages just before it enters. No
 * clock is needed, so this holds between nodes too. */
static void blocks_on(const struct run *run, MPI_Comm comm) {
    enum { LOOKS = 20 }; /* a millisecond apart; a message takes less than all of them */
    int rank;
    int size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (int last = 0; last < size; ++last) {
        int flag;
        int left = 0;
        char byte = 0;
        for (int i = 0; rank == last && !left && i < LOOKS; ++i) {
            pause_for(1e-3);
            MPI_Iprobe(MPI_ANY_SOURCE, 1, run->world, &left, MPI_STATUS_IGNORE);
        }
        expect(!left, "a process left while process %d of %d had not come yet", last, size);
        OK(HARMONIZE(comm, &flag));
        if (rank != last)
            MPI_Send(&byte, 1, MPI_CHAR, last, 1, run->world);
        else
            for (int i = 1; i < size; ++i)
                MPI_Recv(&byte, 1, MPI_CHAR, MPI_ANY_SOURCE, 1, run->world, MPI_STATUS_IGNORE);
    }
}

static void blocks(const struct run *run) {
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    if (run->size == 1)
        skip("needs two processes");
    blocks_on(run, comm);
    blocks_on(run, comm);
    MPI_Comm_free(&comm);
}

static int compare(const void *a, const void *b) {
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

enum { CALLS = 500 };

/* One call each, or a barrier in its place: when this process left, and its flag. */
static void leave_often(MPI_Comm comm, int harmonize, double left[CALLS], int flags[CALLS]) {
    for (int i = 0; i < CALLS; ++i) {
        flags[i] = 1;
        if (harmonize)
            OK(HARMONIZE(comm, &flags[i]));
        else
            OK(MPI_Barrier(comm));
        left[i] = now();
    }
}

/* Spreads of the exits of calls in which all flags were true, in order; returns how many there are. */
static int spreads_of(const struct run *run, double left[CALLS], int flags[CALLS], double spreads[CALLS]) {
    double first[CALLS];
    double last[CALLS];
    int count = 0;
    for (int i = 0; i < CALLS; ++i)
        flags[i] = flags[i] != 0;
    MPI_Allreduce(left, first, CALLS, MPI_DOUBLE, MPI_MIN, run->node);
    MPI_Allreduce(left, last, CALLS, MPI_DOUBLE, MPI_MAX, run->node);
    MPI_Allreduce(MPI_IN_PLACE, flags, CALLS, MPI_INT, MPI_MIN, run->world);
    for (int i = 0; i < CALLS; ++i)
        last[i] -= first[i];
    MPI_Allreduce(last, first, CALLS, MPI_DOUBLE, MPI_MAX, run->world); /* the worst node's */
    for (int i = 0; i < CALLS; ++i)
        if (flags[i])
            spreads[count++] = first[i];
    qsort(spreads, (size_t)count, sizeof *spreads, compare);
    return count;
}

/* A process may be interrupted between its flag and our timestamp: a few calls may be worse than the tolerance. */
static void together(const struct run *run) {
    static double left[CALLS];
    static int flags[CALLS];
    static double spreads[CALLS];
    MPI_Comm comm;
    if (run->size == 1 || run->nodes == run->size) {
        skip("needs two processes on one node");
        return;
    }
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    leave_often(comm, 1, left, flags);
    leave_often(comm, 1, left, flags);
    int count = spreads_of(run, left, flags, spreads);
    if (count == 0) {
        skip("no call had all flags true: are there more processes than processors?");
    } else {
        expect(spreads[count - 1 - count / 20] <= run->tolerance,
               "with all flags true, the exits of 5 %% of the calls are more than %.3g us apart; --tolerance is %.3g",
               1e6 * spreads[count - 1 - count / 20], 1e6 * run->tolerance);
        note("all flags true: %d of %d calls; exits apart: median %.3f us, 95 %% %.3f us", count, CALLS,
             1e6 * spreads[count / 2], 1e6 * spreads[count - 1 - count / 20]);
    }
    leave_often(comm, 0, left, flags);
    spreads_of(run, left, flags, spreads);
    note("after MPI_Barrier: median %.3f us, 95 %% %.3f us", 1e6 * spreads[CALLS / 2],
         1e6 * spreads[CALLS - 1 - CALLS / 20]);
    MPI_Comm_free(&comm);
}

const struct check checks_of_time[] = {
    {"blocks", "no process leaves before all have come", blocks},
    {"together", "if all flags are true, all left at one instant", together},
    {0},
};
