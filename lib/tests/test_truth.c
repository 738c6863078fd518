/* Clock synchronization against known truth: every rank's true error lies within the bound that the library reports. */
#include "check_mpi.h"

#include <math.h>

static MPI_Comm comm;
static int rank;
static int size;

static MPIX_Harmonize_stats stats(void) {
    MPIX_Harmonize_stats found;
    OK(MPIX_Harmonize_get_stats(comm, &found));
    return found;
}

static double global_time(void) {
    double time;
    OK(MPIX_Harmonize_time(comm, &time));
    return time;
}

static double true_error_within_bound(void) {
    double error;
    double bound;
    OK(MPIX_Harmonize_true_error(comm, &error));
    OK(MPIX_Harmonize_error_bound(comm, &bound)); /* later, so not smaller than at the time of the error */
    CHECK_THAT(fabs(error), <=, bound);
    if (rank == 0) {
        CHECK_THAT(error, ==, 0.0);
        CHECK_THAT(bound, ==, 0.0);
    }
    return error;
}

static void within_bound_now_and_later(const char *validation, int domains) {
    OK(set_one(comm, "validation", validation));
    CHECK_THAT(stats().clock_domains, ==, domains);
    for (int i = 0; i < 5; ++i) {
        OK(MPIX_Harmonize_sync(comm));
        double error = true_error_within_bound();
        CHECK_THAT(fabs(error), <, 1.0); /* clocks are up to 200 s apart: they were synchronized */
    }
    pause_for(0.3);
    double error = true_error_within_bound();
    CHECK_THAT(fabs(error), <, 1.0);
}

/* Where only the offset is known, the bound must grow with the drift that is allowed for, or it would be wrong a second
 * later. */
static void drift_shows_and_is_allowed_for(void) {
    OK(set_one(comm, "sync", "hca3_offset"));
    OK(set_one(comm, "validation", "skew=9e-6,seed=3"));
    OK(MPIX_Harmonize_sync(comm));
    double bound_before;
    double bound_after;
    double outer_begin = global_time();
    double error_before = true_error_within_bound();
    OK(MPIX_Harmonize_error_bound(comm, &bound_before));
    double inner_begin = global_time();
    pause_for(0.5);
    double inner_end = global_time();
    double drift = fabs(true_error_within_bound() - error_before);
    OK(MPIX_Harmonize_error_bound(comm, &bound_after));
    double outer_end = global_time();
    if (rank > 0) {
        CHECK_THAT(drift, >, 1e-9);
        CHECK_THAT(drift, <=, 18.01e-6 * (outer_end - outer_begin));
        CHECK_THAT(bound_after - bound_before, >=, 0.999 * 20e-6 * (inner_end - inner_begin));
    }
    OK(set_one(comm, "sync", "disciplined"));
}

/* Ranks that truly share a clock have one representative; those that only say so are found out. */
static void domains(void) {
    CHECK_THAT(stats().clock_domains, ==, 1);
    OK(set_one(comm, "clock", "wtime")); /* never taken as shared */
    CHECK_THAT(stats().clock_domains, ==, size);
    OK(set_one(comm, "clock", "monotonic"));
    CHECK_THAT(stats().clock_domains, ==, 1);
    OK(set_one(comm, "validation", "offset=10e-3,ranks_per_clock=2"));
    CHECK_THAT(stats().clock_domains, ==, (size + 1) / 2);
    OK(set_one(comm, "validation", "offset=10,false_claim=1"));
    CHECK_THAT(stats().clock_domains, ==, size);
    true_error_within_bound();
    OK(set_one(comm, "validation", "off"));
}

/* Wherever a global clock comes from, it is one clock: what one rank stamps before a message is not later, by more than
 * the bounds, than what the other stamps after it. */
static void causality(const char *clock) {
    OK(set_one(comm, "clock", clock));
    for (int i = 0; i < 3; ++i) {
        double sent = 0.0;
        double received;
        double bound;
        if (rank == 0)
            OK(MPIX_Harmonize_time(comm, &sent));
        OK(MPI_Bcast(&sent, 1, MPI_DOUBLE, 0, comm));
        OK(MPIX_Harmonize_time(comm, &received));
        OK(MPIX_Harmonize_error_bound(comm, &bound));
        CHECK_THAT(received - sent, >=, -bound);
        CHECK_THAT(received - sent, <, 10.0);
    }
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);

    OK(MPIX_Harmonize_sync(comm));
    domains();
    within_bound_now_and_later("offset=100,skew=9e-6,wander=0.5e-6,seed=1", size);
    within_bound_now_and_later("offset=100,skew=9e-6,wander=0.5e-6,seed=2,ranks_per_clock=2", (size + 1) / 2);
    within_bound_now_and_later("offset=100,seed=3,ranks_per_clock=3", (size + 2) / 3);
    drift_shows_and_is_allowed_for();
    OK(set_one(comm, "validation", "off"));
    const char *const clocks[] = {"monotonic", "monotonic_raw", "realtime", "wtime"};
    for (int i = 0; i < 4; ++i)
        causality(clocks[i]);

    MPI_Comm_free(&comm);
    MPI_Finalize();
    return 0;
}
