/* Numbers that the program knows as well: time in MPI_Wait on communicators that are freed (prints it and that of the
 * starts per process), completions that one call sees, communicators of one group. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static long now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000L + time.tv_nsec;
}

static void pause_ms(int ms) { nanosleep(&(struct timespec){0, ms * 1000000L}, NULL); }

/* Process 0 waits for the other one, on communicators that are freed at once. */
static void freed(int rank) {
    long waits = 0;
    long starts = 0;
    for (int i = 0; i < 60; ++i) {
        MPI_Comm twin;
        MPI_Request request;
        MPI_Comm_dup(MPI_COMM_WORLD, &twin);
        if (rank != 0)
            pause_ms(2);
        long begin = now();
        MPI_Ibarrier(twin, &request);
        starts += now() - begin;
        begin = now();
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        waits += now() - begin;
        MPI_Comm_free(&twin);
    }
    printf("waits %d %ld %ld\n", rank, waits, starts);
}

/* Requests of `collectives` and of receives; one MPI_Waitsome sees all, since all are complete. */
static void some(int rank, int size, int collectives, int receives) {
    MPI_Request requests[4], sent[2];
    MPI_Status statuses[4];
    int indices[4], found, all = 0, value = rank, sums[4], got[4];
    for (int i = 0; i < receives; ++i) {
        MPI_Irecv(&got[i], 1, MPI_INT, (rank + size - 1) % size, i, MPI_COMM_WORLD, &requests[i]);
        MPI_Isend(&value, 1, MPI_INT, (rank + 1) % size, i, MPI_COMM_WORLD, &sent[i]);
    }
    for (int i = 0; i < collectives; ++i)
        MPI_Iallreduce(&value, &sums[i], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[receives + i]);
    while (!all) {
        all = 1;
        for (int i = 0; i < receives + collectives; ++i) {
            int flag;
            MPI_Request_get_status(requests[i], &flag, MPI_STATUS_IGNORE);
            all = all && flag;
        }
    }
    MPI_Waitsome(receives + collectives, requests, &found, indices, statuses);
    if (found != receives + collectives)
        MPI_Abort(MPI_COMM_WORLD, 4);
    MPI_Waitall(receives, sent, statuses);
}

static void use(MPI_Comm comm, const char *how, int number) {
    char name[64];
    snprintf(name, sizeof name, "%s %d", how, number);
    MPI_Comm_set_name(comm, name);
    MPI_Barrier(comm);
}

/* Twice of each kind, of the same processes. */
static void twins(int rank) {
    MPI_Comm made[2], sides[2], merged[2];
    MPI_Group world;
    MPI_Comm half;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    for (int i = 0; i < 2; ++i)
        MPI_Comm_dup(MPI_COMM_WORLD, &made[i]);
    for (int i = 0; i < 2; ++i)
        use(made[i], "dup", i);
    for (int i = 0; i < 2; ++i)
        MPI_Comm_create(MPI_COMM_WORLD, world, &made[i]);
    for (int i = 0; i < 2; ++i)
        use(made[i], "create", i);
    for (int i = 0; i < 2; ++i)
        MPI_Comm_create_group(MPI_COMM_WORLD, world, 3, &made[i]);
    for (int i = 0; i < 2; ++i)
        use(made[i], "group", i);
    for (int i = 0; i < 2; ++i)
        MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 9, &sides[i]);
    for (int i = 0; i < 2; ++i)
        use(sides[i], "sides", i);
    for (int i = 0; i < 2; ++i)
        MPI_Intercomm_merge(sides[0], rank % 2, &merged[i]);
    for (int i = 0; i < 2; ++i)
        use(merged[i], "merged", i);
    MPI_Group_free(&world);
}

int main(int argc, char **argv) {
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (strcmp(argv[1], "freed") == 0)
        freed(rank);
    if (strcmp(argv[1], "some") == 0)
        for (int collectives = 1; collectives <= 2; ++collectives)
            for (int receives = 0; receives <= 2; ++receives)
                some(rank, size, collectives, receives);
    if (strcmp(argv[1], "twins") == 0)
        twins(rank);
    MPI_Finalize();
    return 0;
}
