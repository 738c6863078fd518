/* MPIX_Harmonize as Schuchart 2023, Alg. 1, has it (slack=published): its first slack, what a miss costs, when clocks
 * are due, and a flag that does not know of the wait; beside the default, whose flag does. */
#include "check_mpi.h"
#include "interruption.h"

#include <math.h>
#include <string.h>

#define FIRST_BROADCASTS 20
#define SLOW_SECONDS 20e-3

static MPI_Comm comm;
static int victim; /* a process other than 0 */
static int rank;
static double pause_seconds; /* of the next interruption */

static void pause_here(void) { pause_for(pause_seconds); }

static MPIX_Harmonize_stats stats(void) {
    MPIX_Harmonize_stats found;
    OK(MPIX_Harmonize_get_stats(comm, &found));
    return found;
}

static void set(const char *key, const char *value) { OK(set_one(comm, key, value)); }

static int everywhere(int flag) {
    OK(MPI_Allreduce(MPI_IN_PLACE, &flag, 1, MPI_INT, MPI_MIN, comm));
    return flag;
}

static double largest(double value) {
    OK(MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_MAX, comm));
    return value;
}

/* Whether all flags were 1. */
static int harmonize(int *flag) {
    OK(MPIX_Harmonize(comm, flag));
    return everywhere(*flag);
}

/* How many synchronizations the next call makes. */
static long long syncs_of_a_call(void) {
    int flag;
    long long before = stats().syncs;
    harmonize(&flag);
    return stats().syncs - before;
}

/* Calls until all were in time: no miss is left that a synchronization would be for. */
static void settle(void) {
    int flag;
    int all = 0;
    for (int attempt = 0; attempt < 100 && !all; ++attempt)
        all = harmonize(&flag);
    CHECK(all);
}

static void is_told(void) {
    MPI_Info info;
    char value[MPI_MAX_INFO_VAL];
    int found;
    OK(MPIX_Harmonize_get_info(comm, &info));
    OK(MPI_Info_get(info, "slack", sizeof value - 1, value, &found));
    CHECK(found && strcmp(value, "published") == 0);
    OK(MPI_Info_free(&info));
}

/* Twice the mean of 20 broadcasts where it is largest, the first of them among them: it is slow on one process here. */
static void first_slack_is_twice_the_mean_broadcast(void) {
    int flag;
    pause_seconds = SLOW_SECONDS;
    if (rank == victim)
        interrupt_completion(1, pause_here);
    double begin = true_time();
    set("slack", "published");
    double duration = largest(true_time() - begin);
    is_told();
    harmonize(&flag);
    const double apart = 1e-3; /* relative, of two clocks */
    CHECK_THAT(stats().slack, >=, 2.0 * SLOW_SECONDS / FIRST_BROADCASTS * (1.0 - apart));
    CHECK_THAT(stats().slack, <=, 2.0 * duration / FIRST_BROADCASTS * (1.0 + apart));
}

/* After a call that any process missed: one synchronization, and 1.5 times the slack. After any other: neither. The
 * slack is never shorter than it was. */
static void a_miss_costs_a_synchronization_and_half_the_slack_again(void) {
    enum { CALLS = 24 };
    int flag;
    int missed = 0;
    set("slack", "auto"); /* begins anew */
    set("slack", "published");
    int all = harmonize(&flag);
    double slack = stats().slack;
    for (int i = 0; i < CALLS; ++i) {
        long long syncs = stats().syncs;
        double expected = all ? slack : 1.5 * slack;
        if (rank == victim && i % 2 == 0) {
            pause_seconds = 2.0 * slack + 1e-3;
            interrupt_before_wait(pause_here);
        }
        int last = all;
        all = harmonize(&flag);
        missed += !all;
        CHECK_THAT(stats().syncs - syncs, ==, !last);
        CHECK_THAT(fabs(stats().slack - expected), <=, 1e-9);
        slack = expected;
    }
    CHECK_THAT(missed, >=, 5);
}

/* The default synchronizes when the error bound is wide. The published method does so only when a clock is 1.0 s old.
 */
static void clocks_are_due_by_age_alone(void) {
    const char *const methods[] = {"published", "auto"};
    set("sync", "hca3_offset"); /* whose bound grows by max_skew, whatever is known of the clocks */
    set("validation", "offset=1e-3,skew=5e-6");
    set("max_skew", "0.01");
    set("max_error", "1e-9");
    for (int i = 0; i < 2; ++i) {
        double bound;
        set("slack", methods[i]);
        OK(MPIX_Harmonize_sync(comm));
        OK(MPIX_Harmonize_error_bound(comm, &bound));
        pause_for(3.0 * largest(bound) / 0.01 + 1e-3);
        CHECK_THAT(syncs_of_a_call(), ==, i);
    }
    set("max_error", "1e6");
    set("flag_error", "off");
    set("max_age", "auto");
    set("slack", "published");
    settle();
    double begin = true_time();
    OK(MPIX_Harmonize_sync(comm));
    long long syncs = syncs_of_a_call();
    if (largest(true_time() - begin) < 0.9) /* this machine may sleep */
        CHECK_THAT(syncs, ==, 0);
    settle();
    OK(MPIX_Harmonize_sync(comm));
    pause_for(1.01);
    CHECK_THAT(syncs_of_a_call(), ==, 1);
    set("validation", "off");
    set("sync", "disciplined");
    set("max_age", "1e6");
}

/* Whether the victim was interrupted during the wait; not if it came too late for that. */
static int interrupt(const char *method) {
    const int published = strcmp(method, "published") == 0;
    int covered = 0;
    int flag;
    if (!harmonize(&flag)) /* else a synchronization may be due */
        return 0;
    MPIX_Harmonize_stats before = stats();
    if (rank == victim) {
        pause_seconds = 2.0 * before.slack + SLOW_SECONDS;
        interrupt_wait(pause_here);
    }
    OK(MPIX_Harmonize(comm, &flag));
    if (rank == victim) {
        double now;
        double deadline;
        OK(MPIX_Harmonize_time(comm, &now));
        OK(MPIX_Harmonize_deadline(comm, &deadline));
        MPIX_Harmonize_stats after = stats();
        CHECK(!interruption_due());
        covered = after.late_arrivals == before.late_arrivals && now > deadline + 1e-3;
        if (covered) {
            CHECK_THAT(flag, ==, published);
            CHECK_THAT(after.unflagged_exits - before.unflagged_exits, ==, published);
            CHECK_THAT(after.late_exits - before.late_exits, ==, !published);
        }
    }
    OK(MPI_Bcast(&covered, 1, MPI_INT, victim, comm));
    int all = everywhere(flag);
    CHECK_THAT(syncs_of_a_call(), ==, published && !all);
    int verdict;
    OK(MPIX_Harmonize_verdict(comm, &verdict));
    CHECK_THAT(verdict, ==, all);
    return covered;
}

/* The fixed slack decides as the default does, and is long enough to be interrupted on a busy machine. */
static void flag_is_decided_before_the_wait(void) {
    const char *const methods[] = {"published", "2e-3"};
    set("clock", "wtime");
    for (int i = 0; i < 2; ++i) {
        int covered = 0;
        set("slack", methods[i]);
        for (int attempt = 0; attempt < 100 && !covered; ++attempt)
            covered = interrupt(methods[i]);
        CHECK(covered);
    }
}

static int is_told_as(MPI_Comm other, const char *name) {
    MPI_Info info;
    char value[MPI_MAX_INFO_VAL];
    int found;
    OK(MPIX_Harmonize_get_info(other, &info));
    OK(MPI_Info_get(info, "published", sizeof value - 1, value, &found));
    OK(MPI_Info_free(&info));
    return found && strcmp(value, name) == 0;
}

/* The key of a paper comes first, whatever the order, and says whether its settings are in force. */
static void a_paper_is_one_key(void) {
    MPI_Comm other;
    MPI_Info info;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &other));
    OK(set_one(other, "tolerance", "1e-6"));
    CHECK(is_told_as(other, "off"));
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "max_age", "2"));
    OK(MPI_Info_set(info, "published", "hoefler2008"));
    OK(MPIX_Harmonize_set_info(other, info));
    OK(MPI_Info_free(&info));
    CHECK(is_told_as(other, "off"));
    OK(set_one(other, "max_age", "1e6"));
    CHECK(is_told_as(other, "hoefler2008"));
    OK(MPI_Comm_set_errhandler(other, MPI_ERRORS_RETURN));
    FAILS_WITH(MPI_ERR_INFO_VALUE, set_one(other, "published", "hoefler2007"));
    OK(MPI_Comm_free(&other));
}

int main(int argc, char **argv) {
    int size;
    int flag;
    MPI_Init(&argc, &argv);
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    victim = size - 1;
    set("max_age", "1e6");
    OK(MPIX_Harmonize(comm, &flag));

    first_slack_is_twice_the_mean_broadcast();
    a_miss_costs_a_synchronization_and_half_the_slack_again();
    clocks_are_due_by_age_alone();
    flag_is_decided_before_the_wait();
    a_paper_is_one_key();

    OK(MPI_Comm_free(&comm));
    MPI_Finalize();
    return 0;
}
