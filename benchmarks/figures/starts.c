#define _POSIX_C_SOURCE 200809L
#include "starts.h"

#include "stamp.h"

#include <mpix_harmonize.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORK_NS 50000
#define DISTURBANCE_NS 1000000

struct world world;

static bool disturb_next;

void disturb(void) { disturb_next = true; }

int MPI_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm on) {
    int code = PMPI_Bcast(buffer, count, type, root, on);
    if (disturb_next) {
        disturb_next = false;
        for (int64_t end = monotonic_ns() + DISTURBANCE_NS; monotonic_ns() < end;) {
        }
    }
    return code;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

double median(double *values, int count) {
    if (count == 0)
        return -1.0;
    qsort(values, (size_t)count, sizeof *values, ascending);
    return values[count / 2];
}

void *allocate(int count, size_t each) {
    void *memory = calloc((size_t)count, each);
    if (memory == NULL) {
        fprintf(stderr, "figures: out of memory\n");
        MPI_Abort(world.comm, 1);
    }
    memset(memory, 1, (size_t)count * each); /* first touch is not measured */
    return memory;
}

void work(void) {
    for (int64_t end = stamp() + (int64_t)(WORK_NS / world.scale); stamp() < end;) {
    }
}

struct starts make_starts(int count) {
    return (struct starts){
        .count = count,
        .exits = allocate(count, sizeof(int64_t)),
        .flags = allocate(count, sizeof(int)),
        .costs_ns = allocate(count, sizeof(double)),
    };
}

void free_starts(struct starts *starts) {
    free(starts->exits);
    free(starts->flags);
    free(starts->costs_ns);
}

void with_nothing(MPI_Comm comm, int *flag) {
    (void)comm;
    *flag = 1;
}

void with_barrier(MPI_Comm comm, int *flag) {
    MPI_Barrier(comm);
    *flag = 1;
}

void with_harmonize(MPI_Comm comm, int *flag) { MPIX_Harmonize(comm, flag); }

void run_block(struct starts *starts, int begin, int end, MPI_Comm comm,
               void (*synchronize)(MPI_Comm comm, int *flag)) {
    MPI_Barrier(comm);
    int64_t begin_stamp = stamp();
    int64_t last = begin_stamp;
    for (int i = begin; i < end; ++i) {
        int flag;
        work();
        synchronize(comm, &flag);
        starts->exits[i] = stamp();
        starts->flags[i] = flag;
        starts->costs_ns[i] = (double)(starts->exits[i] - last) * world.scale - WORK_NS;
        last = starts->exits[i];
    }
    starts->cost_ns += ((double)(last - begin_stamp) * world.scale - (double)(end - begin) * WORK_NS) / starts->count;
}

void require(bool condition, const char *what) {
    if (condition)
        return;
    fprintf(stderr, "figures: %s\n", what);
    MPI_Abort(world.comm, 1);
}

struct conclusion conclude(struct starts *starts, double limit_ns) {
    int64_t *all = allocate(starts->count * world.size, sizeof(int64_t));
    MPI_Gather(starts->exits, starts->count, MPI_INT64_T, all, starts->count, MPI_INT64_T, 0, world.comm);
    MPI_Allreduce(MPI_IN_PLACE, starts->flags, starts->count, MPI_INT, MPI_MIN, world.comm);
    double *skews = allocate(starts->count, sizeof(double));
    int valid = 0;
    int falsely = 0;
    for (int i = 0; i < starts->count && world.rank == 0; ++i) {
        if (!starts->flags[i])
            continue;
        int64_t first = all[i];
        int64_t last = all[i];
        for (int r = 1; r < world.size; ++r) {
            int64_t exit = all[r * starts->count + i];
            first = exit < first ? exit : first;
            last = exit > last ? exit : last;
        }
        skews[valid] = (double)(last - first) * world.scale;
        falsely += skews[valid] > limit_ns;
        ++valid;
    }
    struct conclusion conclusion = {
        .skew_ns = median(skews, valid),
        .false_percent = 100.0 * falsely / starts->count,
        .rejected_percent = 100.0 * (starts->count - valid) / starts->count,
    };
    free(skews);
    free(all);
    return conclusion;
}

MPI_Comm with_slack(const char *slack) {
    MPI_Comm comm;
    MPI_Info info;
    MPI_Comm_dup(world.comm, &comm);
    MPI_Info_create(&info);
    MPI_Info_set(info, "slack", slack);
    MPIX_Harmonize_set_info(comm, info);
    MPI_Info_free(&info);
    return comm;
}

long long missed_deadlines(MPI_Comm comm) {
    MPIX_Harmonize_stats stats;
    MPIX_Harmonize_get_stats(comm, &stats);
    MPI_Allreduce(MPI_IN_PLACE, &stats.late_arrivals, 1, MPI_LONG_LONG, MPI_SUM, comm);
    return stats.late_arrivals;
}
