/* Promises of MPIX_Harmonize beyond those of conformance/, checked on a clock that all ranks of one machine share. */
#include "check_mpi.h"

#include <math.h>

static MPI_Comm comm;
static int rank;
static int size;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void set(const char *key, const char *value) { OK(set_one(comm, key, value)); }

/* The verdict of a call is the logical and of all flags of the call before. */
static void verdict_is_everybodys(void) {
    int flag;
    OK(MPIX_Harmonize(comm, &flag));
    long long invalid = stats_of(comm).invalid_calls;
    for (int i = 0; i < 10; ++i) {
        if (i % 4 == 1) /* the next deadline is missed, by all but perhaps one */
            set("slack", "1e-9");
        if (i % 4 == 2)
            set("slack", "auto");
        int all;
        OK(MPI_Allreduce(&flag, &all, 1, MPI_INT, MPI_MIN, comm));
        OK(MPIX_Harmonize(comm, &flag));
        CHECK_THAT(verdict_of(comm), ==, all);
        invalid += !all;
        CHECK_THAT(stats_of(comm).invalid_calls, ==, invalid);
    }
}

/* A deadline that nobody can meet: late everywhere but perhaps on the rank that set it, known to all, and no reason to
 * synchronize clocks. */
static void misses_are_told_and_cost_no_synchronization(void) {
    set("max_age", "1e6");
    set("max_error", "1e6");
    set("slack", "1e-9");
    MPIX_Harmonize_stats before = stats_of(comm);
    for (int i = 0; i < 20; ++i) {
        int flag = harmonize(comm);
        if (rank != 0)
            CHECK_THAT(flag, ==, 0);
    }
    MPIX_Harmonize_stats after = stats_of(comm);
    CHECK_THAT(after.calls - before.calls, ==, 20);
    CHECK_THAT(after.syncs, ==, before.syncs);
    CHECK_THAT(after.slack, ==, 1e-9);
    if (rank != 0) {
        CHECK_THAT(after.late_arrivals - before.late_arrivals, ==, 20);
        CHECK_THAT(after.lag, >, 1e-9);
    }
    if (size > 1)
        CHECK_THAT(after.invalid_calls - before.invalid_calls, >=, 19);
    set("slack", "auto");
}

/* The next call reports the same lateness to all. The true lateness is between the lag beyond the slack, which a
 * process knows before it leaves, and the time that the clock shows after. */
static void lateness_is_that_of_the_latest(void) {
    set("slack", "1e-9");
    for (int i = 0; i < 20; ++i) {
        harmonize(comm);
        double left = time_of(comm) - deadline_of(comm);         /* at most so late: it left before this reading */
        double over = stats_of(comm).lag - stats_of(comm).slack; /* at least so late: it was not ready before */
        double latest = extreme(left, MPI_MAX, comm);
        double told;
        over = extreme(over, MPI_MAX, comm);
        harmonize(comm);
        OK(MPIX_Harmonize_lateness(comm, &told));
        CHECK_SAME_EVERYWHERE(told, comm);
        CHECK_THAT(told, >=, over - 2e-9);
        CHECK_THAT(told, <=, latest + 2e-9);
    }
    set("slack", "auto");
}

/* The time in synchronizations, and its share of the time since the communicator was prepared, against clocks of the
 * test's own: no more than the calls took, no less than the scheme spreads its fit points over. */
static void time_in_synchronizations_is_counted(void) {
    MPI_Comm fresh;
    OK(MPI_Comm_dup(comm, &fresh));
    double begin = true_time();
    OK(set_one(fresh, "share", "never"));
    double prepared = true_time();
    OK(set_one(fresh, "sync", "hca3(fit=5,over=0.02)"));
    double spent = stats_of(fresh).sync_seconds;
    double taken = 0.0;
    for (int i = 0; i < 3; ++i) {
        double before = true_time();
        OK(MPIX_Harmonize_sync(fresh));
        taken += true_time() - before;
        pause_for(5e-3);
    }
    double asked = true_time();
    MPIX_Harmonize_stats found = stats_of(fresh);
    double answered = true_time();
    const double rates = 1.001; /* clocks that are not calibrated finer */
    CHECK_THAT(found.sync_seconds - spent, <=, rates * taken);
    if (size > 1)
        CHECK_THAT(found.sync_seconds - spent, >=, 3 * 0.02 / rates);
    CHECK_THAT(found.sync_share, >=, found.sync_seconds / (answered - begin) / rates);
    CHECK_THAT(found.sync_share, <=, found.sync_seconds / (asked - prepared) * rates);
    OK(MPI_Comm_free(&fresh));
}

/* With a slack that nobody can miss, a call takes at least that long and the flag is the wait's alone. */
static void long_slack_is_waited_for(void) {
    set("slack", "0.02");
    MPIX_Harmonize_stats before = stats_of(comm);
    double begin = true_time();
    int flag = harmonize(comm);
    CHECK_THAT(true_time() - begin, >=, 0.0199);
    CHECK_THAT(stats_of(comm).slack, ==, 0.02);
    CHECK_THAT(flag, ==,
               stats_of(comm).late_exits == before.late_exits && stats_of(comm).late_arrivals == before.late_arrivals);
    set("slack", "auto");
}

/* Each rank leaves at the deadline plus its own delay; the deadline stays common. */
static void delays(void) {
    const double delay = 2e-3 * rank;
    int flag;
    OK(MPIX_Harmonize_delayed(comm, delay, &flag));
    CHECK_THAT(time_of(comm), >=, deadline_of(comm) + delay - 1e-9);
    CHECK_SAME_EVERYWHERE(deadline_of(comm), comm);
}

/* A clock whose error grows while a process waits is judged when it leaves: of two starts in a row, that with the delay
 * is the one by a clock that is not known. */
static void a_delayed_start_is_by_the_clock_as_it_is_then(void) {
    MPI_Comm fresh;
    OK(MPI_Comm_dup(comm, &fresh));
    const char *const settings[][2] = {{"share", "never"},   {"sync", "hca3_offset"}, {"max_skew", "1e-3"},
                                       {"max_error", "1e6"}, {"max_age", "1e6"},      {"flag_error", "150e-6"}};
    for (size_t i = 0; i < sizeof settings / sizeof *settings; ++i)
        OK(set_one(fresh, settings[i][0], settings[i][1]));
    int known = 0; /* at its arrival, and directly after a synchronization that nothing interrupts, of ten */
    for (int i = 0; i < 10 && !known; ++i) {
        const double delay = 0.3; /* the expected error grows by 1e-3 / sqrt(3) of it, 173 us */
        int flag;
        OK(MPIX_Harmonize_sync(fresh));
        long long before = stats_of(fresh).unsure_clocks;
        harmonize(fresh);
        known = extreme((double)(stats_of(fresh).unsure_clocks - before), MPI_MAX, fresh) == 0.0;
        before = stats_of(fresh).unsure_clocks;
        OK(MPIX_Harmonize_delayed(fresh, delay, &flag));
        CHECK_THAT(stats_of(fresh).unsure_clocks - before, ==, rank > 0);
        if (rank > 0)
            CHECK_THAT(flag, ==, 0);
    }
    CHECK(known);
    OK(MPI_Comm_free(&fresh));
}

/* Waits for instants of the global clock. With a tolerance of 10 s no interruption of the wait makes a process late.
 * One of 1 ms just before the call does, which happens in a few calls at most. */
static void waits_until(void) {
    int flag;
    int in_time = 0;
    set("tolerance", "10");
    for (int i = 0; i < 25; ++i) {
        double instant = time_of(comm) + 1e-3 + 1e-4 * rank;
        OK(MPIX_Harmonize_wait_until(comm, instant, &flag));
        CHECK_THAT(time_of(comm), >=, instant - 1e-9); /* a double of seconds is rounded */
        in_time += flag;
    }
    CHECK_THAT(in_time, >=, 20);
    double before = time_of(comm);
    OK(MPIX_Harmonize_wait_until(comm, before - 1e-6, &flag)); /* has passed */
    CHECK_THAT(flag, ==, 0);
    set("tolerance", "0.5e-6");
}

/* Age asks for a synchronization, and nothing else does (test_schedule.c has the rules). */
static void age_synchronizes(void) {
    set("max_error", "1e6");
    set("max_age", "1e6");
    harmonize(comm);
    long long syncs = stats_of(comm).syncs;
    harmonize(comm);
    CHECK_THAT(stats_of(comm).syncs, ==, syncs);
    set("max_age", "1e-3"); /* asked for, so it may take what it takes */
    pause_for(2e-3);
    harmonize(comm);
    CHECK_THAT(stats_of(comm).syncs, >=, syncs + 1);
    set("max_age", "1e6");
}

/* True time as the kernel shows it: a clock that NTP steers, however fast it likes, and one that it does not. */
struct instant {
    double steered;
    double raw;
};

static struct instant instant(void) {
    double raw = true_time();
    return (struct instant){.steered = now(), .raw = raw};
}

/* Process 0's global clock never jumps, whatever is changed: between two readings it advances by as much as true time,
 * which is between that from just after the first to just before the second, and that around both. */
static void global_clock_goes_on(void) {
    const char *const clocks[] = {"monotonic", "realtime", "wtime", "monotonic_raw"};
    for (int i = 0; i < 4; ++i) {
        struct instant outer_begin = instant();
        double before = time_of(comm);
        struct instant inner_begin = instant();
        set("clock", clocks[i]);
        struct instant inner_end = instant();
        double after = time_of(comm);
        struct instant outer_end = instant();
        if (rank == 0) {
            double least = fmin(inner_end.steered - inner_begin.steered, inner_end.raw - inner_begin.raw);
            double most = fmax(outer_end.steered - outer_begin.steered, outer_end.raw - outer_begin.raw);
            const double slew = 1e-3 * most + 2e-6; /* what was calibrated is a little off; MPI_Wtime is coarse */
            CHECK_THAT(after - before, >=, least - slew);
            CHECK_THAT(after - before, <=, most + slew);
        }
    }
}

int main(int argc, char **argv) {
    comm = begin_mpi(&argc, &argv, &rank, &size);
    harmonize(comm);
    CHECK_THAT(verdict_of(comm), ==, MPI_UNDEFINED);
    CHECK_THAT(stats_of(comm).calls, ==, 1);
    verdict_is_everybodys();
    misses_are_told_and_cost_no_synchronization();
    lateness_is_that_of_the_latest();
    time_in_synchronizations_is_counted();
    long_slack_is_waited_for();
    delays();
    a_delayed_start_is_by_the_clock_as_it_is_then();
    waits_until();
    age_synchronizes();
    global_clock_goes_on();
    return end_mpi(&comm);
}
