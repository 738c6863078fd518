/* Regions: the report of MPI_Finalize against known values, and regions that cannot be measured. */
#include "check_mpi.h"
#include "downbeat/region.h"
#include "region_file.h"

#include <math.h>
#include <pthread.h>
#include <unistd.h>

#define PATH "test_region.json"
#define OTHER_PATH "test_region_other.json"
#define RANK_1_PATH "test_region.rank1.json"

#define KNOWN_SAMPLES 12
#define STAY 2e-3 /* s in the region on rank 0 */
#define STEP 1e-3 /* s longer for each rank than for the one before */
#define LONG_RUN 600
#define THREADS 2
#define THREAD_SAMPLES 10

static int rank;
static int size;
static int oversubscribed;
static int gathers;

int MPI_Igather(const void *sent, int sent_count, MPI_Datatype sent_type, void *received, int count, MPI_Datatype type,
                int root, MPI_Comm comm, MPI_Request *request) {
    ++gathers;
    return PMPI_Igather(sent, sent_count, sent_type, received, count, type, root, comm, request);
}

/* Returns when it has. */
static double stay_until(double when) {
    double time;
    while ((time = true_time()) < when)
        pause_for(when - time);
    return time;
}

static MPI_Comm duplicate(MPI_Comm comm) {
    MPI_Comm made;
    OK(MPI_Comm_dup(comm, &made));
    OK(MPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN));
    return made;
}

/* One that MPI_Finalize must do with. Open MPI itself then leaks it: tests/lsan.supp names this function. */
static MPI_Comm leave_a_communicator(void) { return duplicate(MPI_COMM_WORLD); }

static void measure(MPI_Comm comm, const char *name, int samples) {
    for (int i = 0; i < samples; ++i) {
        Downbeat_region region = DOWNBEAT_REGION_NULL;
        OK(Downbeat_region_begin(comm, name, &region));
        CHECK(region != DOWNBEAT_REGION_NULL);
        OK(Downbeat_region_end(&region));
        CHECK(region == DOWNBEAT_REGION_NULL);
    }
}

/* True sums over the valid samples of region "known", at rank 0. */
static struct {
    int samples;
    int valid;
    double latency_low; /* of the mean over ranks */
    double makespan_low;
    double end_skew_low;
    double end_skew_high;
    double shortest; /* stay on rank 0: longer than this, and ... */
    double longest;  /* ... one of them not longer than this, from the deadline to after the end */
} truth = {.shortest = INFINITY, .longest = INFINITY};

/* The region's stamps are between this program's, whatever the machine does in the meantime. */
static void measure_known(MPI_Comm comm) {
    OK(set_one(comm, "clock", "monotonic_raw")); /* as the truth, to the last digit: nothing is calibrated */
    OK(set_one(comm, "validation", "offset=20e-3,skew=9e-6,wander=0.5e-6,seed=1"));
    OK(set_one(comm, "tolerance", "3600")); /* an entry is never late: the flag alone decides */
    OK(set_one(comm, "slack", "1e-2"));
    while (truth.samples < KNOWN_SAMPLES || (truth.valid == 0 && truth.samples < 20 * KNOWN_SAMPLES)) {
        Downbeat_region region;
        MPIX_Harmonize_stats before = stats_of(comm);
        OK(Downbeat_region_begin(comm, "known", &region));
        double entered = true_time();
        double leaving = stay_until(entered + STAY + STEP * rank);
        OK(Downbeat_region_end(&region));
        double left = true_time();
        double ended = time_of(comm);
        double deadline = deadline_of(comm);
        MPIX_Harmonize_stats after = stats_of(comm);

        ++truth.samples;
        double late = (double)(after.late_arrivals + after.late_exits - before.late_arrivals - before.late_exits);
        if (extreme(late, MPI_MAX, comm) > 0.0)
            continue;
        double last_leaving = extreme(leaving, MPI_MAX, comm);
        ++truth.valid;
        truth.latency_low += extreme(leaving - entered, MPI_SUM, comm) / size;
        truth.makespan_low += last_leaving - extreme(entered, MPI_MAX, comm);
        truth.end_skew_low += fmax(0.0, last_leaving - extreme(left, MPI_MIN, comm));
        truth.end_skew_high += extreme(left, MPI_MAX, comm) - extreme(leaving, MPI_MIN, comm);
        truth.shortest = fmin(truth.shortest, leaving - entered);
        truth.longest = fmin(truth.longest, ended - deadline);
    }
}

static void check_known(void) {
    const char *line = region_line(PATH, "known");
    CHECK_THAT(number_in(line, "region", "ranks"), ==, size);
    CHECK_THAT(number_in(line, "region", "samples"), ==, truth.samples);
    CHECK_THAT(number_in(line, "region", "valid"), ==, truth.valid);
    CHECK_THAT(number_in(line, "region", "rejected"), ==, truth.samples - truth.valid);
    CHECK_THAT(truth.valid, >, 0);
    double skewed = 1.0 - 10e-6; /* the validation clocks may be so slow */
    double bounds = 2.0 * number_in(line, "region", "error_bound_s") + 1e-9;
    double end_skew = number_in(line, "end_skew", "mean");
    CHECK_THAT(number_in(line, "latency_avg", "mean"), >=, skewed * truth.latency_low / truth.valid);
    CHECK_THAT(number_in(line, "makespan", "mean"), >=, skewed * truth.makespan_low / truth.valid);
    CHECK_THAT(end_skew, >=, skewed * truth.end_skew_low / truth.valid - bounds);
    CHECK_THAT(end_skew, <=, truth.end_skew_high / truth.valid / skewed + bounds);
    CHECK_THAT(number_in(line, "latency_avg", "min"), >=, skewed * (STAY + STEP * (size - 1) / 2.0));
    CHECK_THAT(number_in(line, "latency_max", "min"), >=, skewed * (STAY + STEP * (size - 1)));
    CHECK_THAT(number_in(line, "makespan", "min"), >=, skewed * (STAY + STEP * (size - 1)) - bounds);
    CHECK_THAT(number_in(line, "processes", "latency_min_s"), >=, skewed * truth.shortest);
    CHECK_THAT(number_in(line, "processes", "latency_min_s"), <=, truth.longest + 2e-9);
}

/* The start is the library's own, with its tolerance. */
static void check_starts(void) {
    const char *line = region_line(PATH, "long run");
    double samples = number_in(line, "region", "samples");
    double valid = number_in(line, "region", "valid");
    CHECK_THAT(samples, ==, oversubscribed ? LONG_RUN / 2 : LONG_RUN);
    CHECK_THAT(valid + number_in(line, "region", "rejected"), ==, samples);
    CHECK_THAT(number_in(line, "region", "kept"), ==, valid);
    if (valid > 0.0)
        CHECK_THAT(number_in(line, "exit_skew", "max"), <=, number_in(line, "region", "tolerance_s") + 2e-9);
    if (!oversubscribed)
        CHECK_THAT(valid, >, samples / 2);
}

static void measure_nested(MPI_Comm comm) {
    Downbeat_region outer;
    Downbeat_region inner;
    OK(Downbeat_region_begin(comm, "outer", &outer));
    measure(comm, "inner", 3);
    OK(Downbeat_region_begin(comm, "inner", &inner));
    OK(Downbeat_region_end(&outer)); /* they may overlap */
    OK(Downbeat_region_end(&inner));
}

static void measure_what_cannot_be(MPI_Comm comm) {
    const char long_name[] = "0123456789012345678901234567890123456789012345678901234567890123"; /* 64 characters */
    Downbeat_region region = DOWNBEAT_REGION_NULL;
    FAILS_WITH(MPI_ERR_ARG, Downbeat_region_begin(comm, NULL, &region));
    FAILS_WITH(MPI_ERR_ARG, Downbeat_region_begin(comm, "", &region));
    FAILS_WITH(MPI_ERR_ARG, Downbeat_region_begin(comm, "a\nb", &region));
    FAILS_WITH(MPI_ERR_ARG, Downbeat_region_begin(comm, long_name, &region));
    const char *const unreadable[] = {"a\xff",    "\xc3",    "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80",
                                      "\xc2\x9b", "a\x1b[0m"};
    for (size_t i = 0; i < sizeof unreadable / sizeof *unreadable; ++i)
        FAILS_WITH(MPI_ERR_ARG, Downbeat_region_begin(comm, unreadable[i], &region));
    FAILS_WITH(MPI_ERR_ARG, Downbeat_region_begin(comm, "no place", NULL));
    /* One rank's mistake is everyone's error, so that nobody hangs. */
    FAILS_WITH(MPI_ERR_ARG, Downbeat_region_begin(comm, rank == size - 1 ? "" : "one is wrong", &region));
    if (size > 1)
        FAILS_WITH(MPI_ERR_ARG, Downbeat_region_begin(comm, rank == size - 1 ? "this" : "that", &region));
    CHECK(region == DOWNBEAT_REGION_NULL);
    measure(comm, long_name + 1, 1);

    /* Errors without a communicator. */
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    FAILS_WITH(MPI_ERR_COMM, Downbeat_region_begin(MPI_COMM_NULL, "nowhere", &region));
    FAILS_WITH(MPI_ERR_ARG, Downbeat_region_end(NULL));
    FAILS_WITH(MPI_ERR_ARG, Downbeat_region_end(&region));
}

/* A sample counts where every process ends it. */
static void leave_some_unfinished(MPI_Comm comm) {
    Downbeat_region region;
    Downbeat_region copy;
    OK(Downbeat_region_begin(comm, "left by some", &region));
    if (rank > 0)
        OK(Downbeat_region_end(&region));
    FAILS_WITH(MPI_ERR_OTHER, Downbeat_region_begin(comm, "left by some", &region));
    measure(comm, "left by some", 1);

    OK(Downbeat_region_begin(comm, "clock changed", &region));
    OK(set_one(comm, "clock", "monotonic"));
    OK(Downbeat_region_end(&region));
    measure(comm, "clock changed", 1);

    OK(Downbeat_region_begin(comm, "ended twice", &region));
    copy = region;
    OK(Downbeat_region_end(&region));
    FAILS_WITH(MPI_ERR_OTHER, Downbeat_region_end(&copy));
}

/* The communicator goes, the region stays. */
static void free_early(void) {
    for (int samples = 2; samples <= 3; ++samples) {
        MPI_Comm comm = duplicate(MPI_COMM_WORLD);
        measure(comm, "freed", samples);
        Downbeat_region region;
        OK(Downbeat_region_begin(comm, "freed open", &region));
        MPI_Comm_free(&comm);
    }
}

static void measure_elsewhere(void) {
    MPI_Comm odd;
    OK(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &odd));
    if (rank % 2 == 1)
        measure(odd, "odd ranks", 4);
    MPI_Comm comm = duplicate(MPI_COMM_WORLD);
    OK(set_one(comm, "regions", OTHER_PATH));
    measure(comm, "other file", 1);
    OK(MPI_Comm_free(&comm));
    comm = duplicate(MPI_COMM_WORLD);
    OK(set_one(comm, "regions", "off"));
    measure(comm, "no file", 1);
    OK(MPI_Comm_free(&comm));
    OK(MPI_Comm_free(&odd));
}

static void *run_thread(void *argument) {
    measure(*(MPI_Comm *)argument, "threads", THREAD_SAMPLES);
    return NULL;
}

/* Each thread prepares its communicator in an order that differs between ranks, and none is freed: MPI_Finalize must
 * not wait for one that others conclude later. */
static void measure_in_threads(void) {
    static MPI_Comm comms[THREADS];
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; ++i)
        comms[i] = leave_a_communicator();
    for (int i = 0; i < THREADS; ++i) {
        CHECK(pthread_create(&threads[i], NULL, run_thread, &comms[rank % 2 == 0 ? i : THREADS - 1 - i]) == 0);
        pause_for(1e-3);
    }
    for (int i = 0; i < THREADS; ++i)
        CHECK(pthread_join(threads[i], NULL) == 0);
}

static void check_counts(const char *path, const char *region, int samples, int unfinished) {
    const char *line = region_line(path, region);
    CHECK_THAT(number_in(line, "region", "samples"), ==, samples);
    CHECK_THAT(number_in(line, "region", "unfinished"), ==, unfinished);
    CHECK_THAT(number_in(line, "region", "valid") + number_in(line, "region", "rejected") + unfinished, ==, samples);
}

static void check_files(void) {
    check_known();
    check_starts();
    check_counts(PATH, "outer", 1, 0);
    check_counts(PATH, "inner", 4, 0);
    check_counts(PATH, "left by some", 2, 1);
    check_counts(PATH, "clock changed", 2, 1);
    check_counts(PATH, "ended twice", 1, 0);
    check_counts(PATH, "freed", 5, 0);
    check_counts(PATH, "freed open", 2, 2);
    check_counts(PATH, "threads", THREADS * THREAD_SAMPLES, 0);
    check_counts(PATH, "open", 3, 1);
    check_counts(OTHER_PATH, "other file", 1, 0);
    CHECK(region_line(PATH, "other file") == NULL);
    CHECK(region_line(PATH, "no file") == NULL);
    CHECK(region_line(PATH, "odd ranks") == NULL);
    CHECK(region_line(PATH, "one is wrong") == NULL);
    CHECK(region_line(PATH, "this") == NULL);
}

int main(int argc, char **argv) {
    int provided;
    setenv("DOWNBEAT_REGIONS", PATH, 1);
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    CHECK_THAT(provided, ==, MPI_THREAD_MULTIPLE);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank == 0)
        remove(RANK_1_PATH);

    MPI_Comm comm = leave_a_communicator();
    OK(MPIX_Harmonize_sync(comm));
    oversubscribed = stats_of(comm).oversubscribed;
#ifdef __SANITIZE_ADDRESS__
    OK(set_one(comm, "tolerance", "2e-5")); /* instrumented, 0.5 us pass between the wait's end and the stamp */
#endif
    gathers = 0;
    measure(comm, "long run", oversubscribed ? LONG_RUN / 2 : LONG_RUN);
    CHECK_THAT(gathers, <=, LONG_RUN / 100); /* samples travel many at a time */
    measure_nested(comm);
    measure_what_cannot_be(comm);
    leave_some_unfinished(comm);
    free_early();
    measure_elsewhere();
    measure_in_threads();
    MPI_Comm known = duplicate(MPI_COMM_WORLD);
    measure_known(known);
    OK(MPI_Comm_free(&known));

    Downbeat_region region;
    measure(comm, "open", 2);
    OK(Downbeat_region_begin(comm, "open", &region));
    MPI_Finalize();

    if (rank == 0)
        check_files();
    if (rank == 1)
        check_counts(RANK_1_PATH, "odd ranks", 4, 0);
    return 0;
}
