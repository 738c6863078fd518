/* The promises of MPIX_Harmonize, checked on a clock that all ranks of one machine share. */
#include "check_mpi.h"

#include <math.h>
#include <string.h>

static MPI_Comm comm;
static int rank;
static int size;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static double deadline(void) {
    double found;
    OK(MPIX_Harmonize_deadline(comm, &found));
    return found;
}

static double global_time(void) {
    double time;
    OK(MPIX_Harmonize_time(comm, &time));
    return time;
}

static MPIX_Harmonize_stats stats(void) {
    MPIX_Harmonize_stats found;
    OK(MPIX_Harmonize_get_stats(comm, &found));
    return found;
}

static void set(const char *key, const char *value) { OK(set_one(comm, key, value)); }

/* Nobody leaves before the last one has come; nobody leaves before the deadline; the deadline is one. */
static void in_space_and_in_time(void) {
    for (int i = 0; i < 12; ++i) {
        int flag = -1;
        if (rank == i % size)
            pause_for(2e-3);
        double entered = now();
        OK(MPIX_Harmonize(comm, &flag));
        double left = now();
        double left_global = global_time();
        CHECK(flag == 0 || flag == 1);
        CHECK_THAT(left_global, >=, deadline());
        double last_entered;
        double deadlines[2] = {deadline(), -deadline()};
        OK(MPI_Allreduce(&entered, &last_entered, 1, MPI_DOUBLE, MPI_MAX, comm));
        OK(MPI_Allreduce(MPI_IN_PLACE, deadlines, 2, MPI_DOUBLE, MPI_MAX, comm));
        CHECK_THAT(left, >=, last_entered);
        CHECK_THAT(deadlines[0], ==, -deadlines[1]);
    }
}

/* The verdict of a call is the logical and of all flags of the call before. */
static void verdict_is_everybodys(void) {
    int flag;
    OK(MPIX_Harmonize(comm, &flag));
    long long invalid = stats().invalid_calls;
    for (int i = 0; i < 10; ++i) {
        if (i % 4 == 1) /* the next deadline is missed, by all but perhaps one */
            set("slack", "1e-9");
        if (i % 4 == 2)
            set("slack", "auto");
        int all;
        OK(MPI_Allreduce(&flag, &all, 1, MPI_INT, MPI_MIN, comm));
        OK(MPIX_Harmonize(comm, &flag));
        int verdict;
        OK(MPIX_Harmonize_verdict(comm, &verdict));
        CHECK_THAT(verdict, ==, all);
        invalid += !all;
        CHECK_THAT(stats().invalid_calls, ==, invalid);
    }
}

/* A deadline that nobody can meet: late everywhere but perhaps on the rank that set it, known to all, and no reason to
 * synchronize clocks. */
static void misses_are_told_and_cost_no_synchronization(void) {
    set("max_age", "1e6");
    set("max_error", "1e6");
    set("slack", "1e-9");
    MPIX_Harmonize_stats before = stats();
    int flag;
    for (int i = 0; i < 20; ++i) {
        OK(MPIX_Harmonize(comm, &flag));
        if (rank != 0)
            CHECK_THAT(flag, ==, 0);
    }
    MPIX_Harmonize_stats after = stats();
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
        int flag;
        OK(MPIX_Harmonize(comm, &flag));
        double left = global_time() - deadline(); /* at most so late: it left before it looked */
        double latest;
        double over = stats().lag - stats().slack; /* at least so late: it was not ready before */
        OK(MPI_Allreduce(&left, &latest, 1, MPI_DOUBLE, MPI_MAX, comm));
        OK(MPI_Allreduce(MPI_IN_PLACE, &over, 1, MPI_DOUBLE, MPI_MAX, comm));
        OK(MPIX_Harmonize(comm, &flag));
        double told;
        OK(MPIX_Harmonize_lateness(comm, &told));
        double all[2] = {told, -told};
        OK(MPI_Allreduce(MPI_IN_PLACE, all, 2, MPI_DOUBLE, MPI_MAX, comm));
        CHECK_THAT(all[0], ==, -all[1]);
        CHECK_THAT(told, >=, over - 2e-9);
        CHECK_THAT(told, <=, latest + 2e-9);
    }
    set("slack", "auto");
}

/* An interruption after the flag: the user's own first timestamp, held against the deadline, shows it. */
static void first_timestamps_tell_what_flags_cannot(void) {
    const double away = 1e-3;
    int seen[2] = {0, 0}; /* a flag of 1 whose process came late all the same, and one whose process was in time */
    int all[2] = {0, size == 1};
    for (int i = 0; i < 1000 && !(all[0] && all[1]); ++i) {
        int flag;
        OK(MPIX_Harmonize(comm, &flag));
        if (rank == size - 1)
            pause_for(away);
        double late = global_time() - deadline();
        if (rank == size - 1)
            CHECK_THAT(late, >=, flag ? away : 0.0);
        seen[0] |= flag && late > 0.5e-6;
        seen[1] |= flag && late <= 0.5e-6;
        OK(MPI_Allreduce(seen, all, 2, MPI_INT, MPI_MAX, comm));
        all[1] |= size == 1;
    }
    if (!stats().oversubscribed) /* else hardly a flag is 1 */
        CHECK(all[0] && all[1]);
}

/* Counted for processes that do not know their clock well enough, and for no others. */
static void unsure_clocks_are_counted(void) {
    set("share", "never");
    set("flag_error", "1e-9"); /* beyond any software */
    MPIX_Harmonize_stats before = stats();
    int refused = 0;
    for (int i = 0; i < 20; ++i) {
        int flag;
        OK(MPIX_Harmonize(comm, &flag));
        refused += !flag;
    }
    MPIX_Harmonize_stats after = stats();
    long long late = after.late_arrivals - before.late_arrivals + after.late_exits - before.late_exits;
    CHECK_THAT(after.unsure_clocks - before.unsure_clocks, ==, rank == 0 ? 0 : 20); /* process 0 is the clock */
    CHECK_THAT(refused, ==, rank == 0 ? late : 20);
    set("flag_error", "off");
    for (int i = 0; i < 5; ++i) {
        int flag;
        OK(MPIX_Harmonize(comm, &flag));
    }
    CHECK_THAT(stats().unsure_clocks, ==, after.unsure_clocks);
    set("flag_error", "auto");
    set("share", "verified");
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
    MPIX_Harmonize_stats found;
    OK(MPIX_Harmonize_get_stats(fresh, &found));
    double spent = found.sync_seconds;
    double taken = 0.0;
    for (int i = 0; i < 3; ++i) {
        double before = true_time();
        OK(MPIX_Harmonize_sync(fresh));
        taken += true_time() - before;
        pause_for(5e-3);
    }
    double asked = true_time();
    OK(MPIX_Harmonize_get_stats(fresh, &found));
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
    MPIX_Harmonize_stats before = stats();
    double begin = true_time();
    int flag;
    OK(MPIX_Harmonize(comm, &flag));
    CHECK_THAT(true_time() - begin, >=, 0.0199);
    CHECK_THAT(stats().slack, ==, 0.02);
    CHECK_THAT(flag, ==, stats().late_exits == before.late_exits && stats().late_arrivals == before.late_arrivals);
    set("slack", "auto");
}

/* Each rank leaves at the deadline plus its own delay; the deadline stays common. */
static void delays(void) {
    const double delay = 2e-3 * rank;
    int flag;
    OK(MPIX_Harmonize_delayed(comm, delay, &flag));
    CHECK_THAT(global_time(), >=, deadline() + delay - 1e-9);
    double deadlines[2] = {deadline(), -deadline()};
    OK(MPI_Allreduce(MPI_IN_PLACE, deadlines, 2, MPI_DOUBLE, MPI_MAX, comm));
    CHECK_THAT(deadlines[0], ==, -deadlines[1]);
}

/* Waits for instants of the global clock. With a tolerance of 10 s no interruption of the wait makes a process late.
 * One of 1 ms just before the call does, which happens in a few calls at most. */
static void waits_until(void) {
    int flag;
    int in_time = 0;
    set("tolerance", "10");
    for (int i = 0; i < 25; ++i) {
        double instant = global_time() + 1e-3 + 1e-4 * rank;
        OK(MPIX_Harmonize_wait_until(comm, instant, &flag));
        CHECK_THAT(global_time(), >=, instant - 1e-9); /* a double of seconds is rounded */
        in_time += flag;
    }
    CHECK_THAT(in_time, >=, 20);
    double before = global_time();
    OK(MPIX_Harmonize_wait_until(comm, before - 1e-6, &flag)); /* has passed */
    CHECK_THAT(flag, ==, 0);
    set("tolerance", "0.5e-6");
}

/* Age asks for a synchronization, and so does a bound that drift has carried too far; neither more often than that. */
static void age_and_bound_synchronize(void) {
    int flag;
    set("validation", "offset=1e-3,skew=5e-6");
    set("max_error", "1e6");
    set("max_age", "1e6");
    OK(MPIX_Harmonize(comm, &flag));
    long long syncs = stats().syncs;
    OK(MPIX_Harmonize(comm, &flag));
    CHECK_THAT(stats().syncs, ==, syncs);

    set("max_age", "1e-3"); /* asked for, so it may take what it takes */
    pause_for(2e-3);
    OK(MPIX_Harmonize(comm, &flag));
    CHECK_THAT(stats().syncs, >=, syncs + 1);
    set("max_age", "1e6");

    set("sync", "hca3_offset");
    set("max_skew", "0.01"); /* a bound that grows by 1 ms in 0.1 s, more than twice what it began with */
    set("max_error", "1e-9");
    OK(MPIX_Harmonize_sync(comm));
    double bound;
    OK(MPIX_Harmonize_error_bound(comm, &bound));
    OK(MPI_Allreduce(MPI_IN_PLACE, &bound, 1, MPI_DOUBLE, MPI_MAX, comm));
    syncs = stats().syncs;
    pause_for(3.0 * bound / 0.01 + 1e-3);
    OK(MPIX_Harmonize(comm, &flag));
    if (size > 1)
        CHECK_THAT(stats().syncs, >=, syncs + 1);
    CHECK_THAT(stats().sync_seconds, >, 0.0);
    set("validation", "off");
    set("max_skew", "20e-6");
    set("sync", "disciplined");
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
        double before = global_time();
        struct instant inner_begin = instant();
        set("clock", clocks[i]);
        struct instant inner_end = instant();
        double after = global_time();
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
    MPI_Init(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);

    int flag;
    int verdict;
    OK(MPIX_Harmonize(comm, &flag));
    OK(MPIX_Harmonize_verdict(comm, &verdict));
    CHECK_THAT(verdict, ==, MPI_UNDEFINED);
    CHECK_THAT(stats().calls, ==, 1);

    in_space_and_in_time();
    verdict_is_everybodys();
    misses_are_told_and_cost_no_synchronization();
    lateness_is_that_of_the_latest();
    first_timestamps_tell_what_flags_cannot();
    unsure_clocks_are_counted();
    time_in_synchronizations_is_counted();
    long_slack_is_waited_for();
    delays();
    waits_until();
    age_and_bound_synchronize();
    global_clock_goes_on();

    MPI_Comm_free(&comm);
    MPI_Finalize();
    return 0;
}
