/* A process that is interrupted between the decision and the wait, or during the wait, or whose clock is set back: its
 * flag is 0, unless the method decides before the wait (slack=published, Schuchart 2023, Alg. 1), and nothing hangs.
 * And the cost of a miss under that method. */
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

static void set(const char *key, const char *value) { OK(set_one(comm, key, value)); }

static int everywhere(int flag) {
    OK(MPI_Allreduce(MPI_IN_PLACE, &flag, 1, MPI_INT, MPI_MIN, comm));
    return flag;
}

/* Whether all flags were 1. */
static int start(int *flag) {
    *flag = harmonize(comm);
    return everywhere(*flag);
}

/* Twice the mean of 20 broadcasts where it is largest, the first of them among them: it is slow on one process here. */
static void first_slack_is_twice_the_mean_broadcast(void) {
    pause_seconds = SLOW_SECONDS;
    if (rank == victim)
        interrupt_completion(1, pause_here);
    double begin = true_time();
    set("slack", "published");
    double duration = extreme(true_time() - begin, MPI_MAX, comm);
    CHECK(strcmp(setting_of(comm, "slack"), "published") == 0);
    harmonize(comm);
    const double apart = 1e-3; /* relative, of two clocks */
    CHECK_THAT(stats_of(comm).slack, >=, 2.0 * SLOW_SECONDS / FIRST_BROADCASTS * (1.0 - apart));
    CHECK_THAT(stats_of(comm).slack, <=, 2.0 * duration / FIRST_BROADCASTS * (1.0 + apart));
}

/* After a call that any process missed: one synchronization, and 1.5 times the slack. After any other: neither. The
 * slack is never shorter than it was. */
static void a_miss_costs_a_synchronization_and_half_the_slack_again(void) {
    enum { CALLS = 24 };
    int flag;
    int missed = 0;
    set("slack", "auto"); /* begins anew */
    set("slack", "published");
    int all = start(&flag);
    double slack = stats_of(comm).slack;
    for (int i = 0; i < CALLS; ++i) {
        long long syncs = stats_of(comm).syncs;
        double expected = all ? slack : 1.5 * slack;
        if (rank == victim && i % 2 == 0) {
            pause_seconds = 2.0 * slack + 1e-3;
            interrupt_before_wait(pause_here);
        }
        int last = all;
        all = start(&flag);
        missed += !all;
        CHECK_THAT(stats_of(comm).syncs - syncs, ==, !last);
        CHECK_THAT(fabs(stats_of(comm).slack - expected), <=, 1e-9);
        slack = expected;
    }
    CHECK_THAT(missed, >=, 5);
}

static void an_interruption_before_the_wait_is_told(void) {
    const double slack = 1e-4; /* s */
    set("slack", "1e-4");
    for (int i = 0; i < 3; ++i) {
        pause_seconds = SLOW_SECONDS;
        if (rank == victim)
            interrupt_before_wait(pause_here);
        int flag = harmonize(comm);
        if (rank == victim) {
            CHECK_THAT(stats_of(comm).lag, >=, 0.9 * SLOW_SECONDS);
            CHECK_THAT(flag, ==, 0);
        }
        harmonize(comm);
        CHECK_THAT(verdict_of(comm), ==, 0);
        double late;
        OK(MPIX_Harmonize_lateness(comm, &late));
        CHECK_THAT(late, >=, 0.9 * SLOW_SECONDS - slack);
    }
}

/* Whether the victim was interrupted during the wait; not if it came too late for that. */
static int interrupt(const char *method) {
    const int published = strcmp(method, "published") == 0;
    int covered = 0;
    int flag;
    if (!start(&flag)) /* else a synchronization may be due */
        return 0;
    MPIX_Harmonize_stats before = stats_of(comm);
    if (rank == victim) {
        pause_seconds = 2.0 * before.slack + SLOW_SECONDS;
        interrupt_wait(pause_here);
    }
    flag = harmonize(comm);
    if (rank == victim) {
        double late = time_of(comm) - deadline_of(comm);
        MPIX_Harmonize_stats after = stats_of(comm);
        CHECK(!interruption_due());
        covered = after.late_arrivals == before.late_arrivals && late > 1e-3;
        if (covered) {
            CHECK_THAT(flag, ==, published);
            CHECK_THAT(after.unflagged_exits - before.unflagged_exits, ==, published);
            CHECK_THAT(after.late_exits - before.late_exits, ==, !published);
        }
    }
    OK(MPI_Bcast(&covered, 1, MPI_INT, victim, comm));
    int all = everywhere(flag);
    long long syncs = stats_of(comm).syncs;
    harmonize(comm);
    CHECK_THAT(stats_of(comm).syncs - syncs, ==, published && !all);
    CHECK_THAT(verdict_of(comm), ==, all);
    return covered;
}

static void flags_of_an_interrupted_wait(void) {
    const char *const methods[] = {"published", "2e-3"};
    set("clock", "wtime");
    set("flag_error", "off"); /* no clock is too uncertain */
    for (int i = 0; i < 2; ++i) {
        int covered = 0;
        set("slack", methods[i]);
        for (int attempt = 0; attempt < 100 && !covered; ++attempt)
            covered = interrupt(methods[i]);
        CHECK(covered);
    }
}

/* It ends the wait before the deadline. A process that yields reads the clock more often before it spins. */
static void flag_of_a_clock_that_is_set_back(void) {
    MPIX_Harmonize_stats before = stats_of(comm);
    int ended = before.oversubscribed;
    set("slack", "5e-4");
    for (int attempt = 0; attempt < 100 && !ended; ++attempt) {
        if (rank == victim)
            set_back_in_wait(1.0);
        before = stats_of(comm);
        int flag = harmonize(comm);
        int set_back = !interruption_due(); /* statistics read the clock, too */
        cancel_interruption();
        MPIX_Harmonize_stats after = stats_of(comm);
        if (rank == victim) {
            ended = set_back && after.late_arrivals == before.late_arrivals;
            CHECK(!ended || (flag == 0 && after.late_exits == before.late_exits + 1));
        }
        OK(MPI_Bcast(&ended, 1, MPI_INT, victim, comm));
    }
    CHECK(ended);
}

int main(int argc, char **argv) {
    int size;
    comm = begin_mpi(&argc, &argv, &rank, &size);
    victim = size - 1;
    /* Interruptions count messages: no clock synchronization in between. */
    set("transport", "messages");
    set("max_age", "1e6");
    set("max_error", "1e6");
    for (int i = 0; i < 50; ++i)
        harmonize(comm);
    an_interruption_before_the_wait_is_told();
    first_slack_is_twice_the_mean_broadcast();
    a_miss_costs_a_synchronization_and_half_the_slack_again();
    flags_of_an_interrupted_wait();
    flag_of_a_clock_that_is_set_back();
    return end_mpi(&comm);
}
