/* Starts on many processes with a clock each, in virtual time and over seconds, not only directly after a
 * synchronization: exit skews, flags, bounds, expected errors and how often clocks are synchronized, against the truth.
 * Without MPI. With a number as argument, at that size alone; with `days`, clocks that were prepared 30 days ago. */
#include "check.h"
#include "virtual_state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Frequencies within 10 ppm, the wander of an oscillator in an air-conditioned room, a heavy tail of latencies. */
static struct virtual_starts starts_of(int size, double period_ns, double until_ns) {
    return (struct virtual_starts){.model = {.seed = 1,
                                             .network = virtual_heavy,
                                             .offset_ns = 1e9,
                                             .skew = 10e-6,
                                             .wander = 2e-9,
                                             .calibration = 1e-6,
                                             .ns_per_tick = 0.4347,
                                             .read_ns = 20},
                                   .size = size,
                                   .period_ns = period_ns,
                                   .jitter_ns = 20e3,
                                   .from_ns = 1e9,
                                   .until_ns = until_ns};
}

/* Checks any run: quantiles of the exit skew in ns, and what the library reports. */
static void check(const struct virtual_starts *starts, double median_ns, double percentile_99_ns) {
    struct virtual_outcome outcome = virtual_starts_run(starts);
    double *skews = malloc((size_t)outcome.count * sizeof *skews);
    CHECK(skews != NULL);
    int valid = 0;
    for (int i = 0; i < outcome.count; ++i) {
        const struct virtual_start *start = &outcome.starts[i];
        /* The reported lateness is true, to within the error of the latest process's clock and a reading. */
        if (start->told_ns >= 0.0)
            CHECK_THAT(fabs(start->told_ns - start->late_ns), <=, start->bound_ns + 50.0);
        if (!start->valid)
            continue;
        /* A flag of 1 means: left in time, by a clock that is known well enough. */
        CHECK_THAT(start->skew_ns, <=, 500.0 + start->expected_ns);
        skews[valid++] = start->skew_ns;
    }
    qsort(skews, (size_t)valid, sizeof *skews, virtual_ascending);
    CHECK_THAT(valid, >=, 0.6 * outcome.count);
    CHECK_THAT(skews[valid / 2], <=, median_ns);
    CHECK_THAT(skews[valid * 99 / 100], <=, percentile_99_ns);

    CHECK_THAT(outcome.beyond_bound, ==, 0);
    /* 1 % of the time, and an allowance in advance. */
    double spent_ns = outcome.sync_share * (starts->until_ns - starts->from_ns);
    CHECK_THAT(spent_ns, <=, 0.01 * starts->until_ns + 9.0 * outcome.sync_ns);
    /* Neither on every call, nor never. */
    double seconds = (starts->until_ns - starts->from_ns) * 1e-9;
    CHECK_THAT(outcome.syncs_counted, >=, 0.3 * seconds);
    CHECK_THAT(outcome.syncs_counted, <=, 6.0 * seconds);
    free(skews);
    virtual_outcome_free(&outcome);
}

/* Without path asymmetry: the share of errors within one and two standard deviations; at least `one`
 * and `two`. */
static void check_honesty(const struct virtual_starts *starts, double one, double two) {
    struct virtual_outcome outcome = virtual_starts_run(starts);
    double within_one = (double)outcome.within[0] / (double)outcome.errors;
    double within_two = (double)outcome.within[1] / (double)outcome.errors;
    CHECK_THAT(within_one, >=, one);
    /* Oscillators here walk less than is expected of them: the error is smaller than expected, but that is small. */
    for (int i = 0; i < outcome.count; ++i)
        CHECK_THAT(outcome.starts[i].expected_ns, <=, 30.0);
    CHECK_THAT(within_two, >=, two);
    virtual_outcome_free(&outcome);
}

/* Runs whose exit skews are checked: median and 99th percentile in ns. conditions.txt has more. */
static void check_at(int size) {
    const struct {
        int size;
        double period_ns;
        double until_ns;
        double median_ns;
        double percentile_99_ns;
        double ramp;
        double pause_every_ns; /* 10 ms each */
        double upward_ns;
        double asymmetry_ns;
        double honest_one; /* shares of errors within one and two standard deviations; 0: not checked */
        double honest_two;
    } runs[] = {
        {16, 20e6, 3e9, 200.0, 400.0, .pause_every_ns = 5e9},
        {128, 5e6, 6e9, 100.0, 200.0, .honest_one = 0.65, .honest_two = 0.93},
        {128, 5e6, 6e9, 200.0, 400.0, .ramp = 5e-9, .honest_one = 0.5, .honest_two = 0.85}, /* no random walk */
        {128, 5e6, 6e9, 200.0, 400.0, .pause_every_ns = 10e9},
        {128, 5e6, 6e9, 330.0, 400.0, .upward_ns = 300.0},
        {128, 5e6, 6e9, 110.0, 200.0, .asymmetry_ns = 300.0},
        {1024, 20e6, 4e9, 150.0, 300.0, .honest_one = 0.65, .honest_two = 0.93},
        {16384, 250e6, 5e9, 250.0, 500.0,
         .ramp = 0.0}, /* few calls: each takes the simulation some 0.2 s, a synchronization 1 s */
    };
    for (size_t i = 0; i < sizeof runs / sizeof *runs; ++i) {
        if (runs[i].size != size)
            continue;
        struct virtual_starts starts = starts_of(size, runs[i].period_ns, runs[i].until_ns);
        starts.model.ramp = runs[i].ramp;
        starts.model.pause_every_ns = runs[i].pause_every_ns;
        starts.model.pause_ns = 10e6;
        starts.model.network.upward_ns = runs[i].upward_ns;
        starts.model.network.asymmetry_ns = runs[i].asymmetry_ns;
        check(&starts, runs[i].median_ns, runs[i].percentile_99_ns);
        if (runs[i].honest_one > 0.0)
            check_honesty(&starts, runs[i].honest_one, runs[i].honest_two);
    }
}

/* A network so slow and noisy that one comparison leaves too much unknown: they are made until clocks are known. */
static void flags_are_worth_synchronizations(void) {
    struct virtual_starts starts = starts_of(2, 2e6, 6e9);
    starts.model.skew = 100e-6;
    starts.model.network =
        (struct virtual_network){.fixed_ns = 15e3, .exponential_ns = 15e3, .tail_ns = 2e3, .tail_share = 0.1};
    struct virtual_outcome outcome = virtual_starts_run(&starts);
    int valid = 0;
    for (int i = 0; i < outcome.count; ++i)
        valid += outcome.starts[i].valid;
    CHECK_THAT(valid, >=, 0.6 * outcome.count);
    CHECK_THAT(outcome.sync_share, <=, 0.11);
    virtual_outcome_free(&outcome);
}

/* The one-way delay to process 5 is 30 us longer than known, for one call of each ten. */
static double late_for_5(int source, int destination, double true_ns) {
    (void)source;
    return destination == 5 && fmod(true_ns, 1e9) > 0.9e9 ? 30e3 : 0.0;
}

/* Process 5 is late in every tenth call; all learn by how much, to some tens of nanoseconds. */
static void lateness_is_told(void) {
    struct virtual_starts starts = starts_of(16, 100e6, 6.05e9);
    starts.model.network.tail_share = 0.0;
    starts.model.network.path_ns = late_for_5;
    starts.jitter_ns = 0.0;
    struct virtual_outcome outcome = virtual_starts_run(&starts);
    int late = 0;
    for (int i = 0; i + 1 < outcome.count; ++i) {
        const struct virtual_start *start = &outcome.starts[i];
        CHECK_THAT(fabs(start->told_ns - start->late_ns), <=, 3.0 * start->expected_ns + 50.0);
        late += start->late_ns > 10e3;
    }
    CHECK_THAT(late, >=, 4);
    virtual_outcome_free(&outcome);
}

/* Between two of 16 processes, the path jumps by microseconds, for 20 s. */
static double restless_for_20_s(int source, int destination, double true_ns) {
    int state = (int)(true_ns / 0.3e9) * 7919 + source * 104729 + destination * 1299709;
    return true_ns > 20e9 ? 0.0 : (double)(state % 1000);
}

/* Where clocks cannot be known as well as the default tolerance asks, an automatic one becomes wider, and narrow again
 * when they can. A flag says what the tolerance in force is. */
static void tolerance_follows_the_network(void) {
    struct virtual_starts starts = starts_of(16, 5e6, 20e9);
    starts.model.network.path_ns = restless_for_20_s;
    for (int automatic = 0; automatic < 2; ++automatic) {
        if (automatic)
            setenv("DOWNBEAT_TOLERANCE", "auto", 1);
        struct virtual_outcome outcome = virtual_starts_run(&starts);
        int valid = 0;
        for (int i = 0; i < outcome.count; ++i) {
            const struct virtual_start *start = &outcome.starts[i];
            valid += start->valid;
            if (start->valid)
                CHECK_THAT(start->skew_ns, <=, outcome.tolerance_ns + 1e3 + start->expected_ns);
        }
        CHECK(automatic ? valid >= 0.8 * outcome.count : valid <= 0.2 * outcome.count);
        CHECK_THAT(outcome.sync_share, <=, 0.012);
        CHECK(automatic ? outcome.tolerance_ns > 500.0 : outcome.tolerance_ns == 500.0);
        virtual_outcome_free(&outcome);
    }
    starts.until_ns = 150e9;
    starts.period_ns = 50e6;
    struct virtual_outcome outcome = virtual_starts_run(&starts);
    unsetenv("DOWNBEAT_TOLERANCE");
    CHECK(outcome.tolerance_ns == 500.0);
    virtual_outcome_free(&outcome);
}

/* The statistics say why flags are 0. */
static void reasons_are_counted(void) {
    struct virtual_starts starts = starts_of(16, 5e6, 2e9);
    starts.doubt_ns = 2.0;
    setenv("DOWNBEAT_FLAG_ERROR", "2e-9", 1);
    struct virtual_outcome outcome = virtual_starts_run(&starts);
    unsetenv("DOWNBEAT_FLAG_ERROR");
    CHECK_THAT(outcome.doubted, >, 100);
    CHECK_THAT(outcome.unsure, ==, outcome.doubted);
    CHECK_THAT(outcome.late, >, 0);
    CHECK_THAT(outcome.both, >, 0);
    CHECK_THAT(outcome.refused, ==, outcome.late + outcome.unsure - outcome.both);
    virtual_outcome_free(&outcome);

    starts.doubt_ns = INFINITY;
    setenv("DOWNBEAT_FLAG_ERROR", "off", 1);
    outcome = virtual_starts_run(&starts);
    unsetenv("DOWNBEAT_FLAG_ERROR");
    CHECK_THAT(outcome.unsure, ==, 0);
    CHECK_THAT(outcome.refused, ==, outcome.late);
    virtual_outcome_free(&outcome);
}

/* A slack is the lag of an earlier call, known to a sixteenth, and 250 ns (slack_auto.c), once trial rounds count for
 * little. */
static void slack_follows_the_lags(void) {
    struct virtual_starts starts = starts_of(16, 5e6, 2e9);
    starts.from_ns = 0.0;
    struct virtual_outcome outcome = virtual_starts_run(&starts);
    for (int i = outcome.count / 2; i < outcome.count; ++i) {
        int known = 0;
        for (int before = 0; before < i; ++before) {
            double lag_ns = outcome.starts[before].lag_ns;
            double longer_ns = outcome.starts[i].slack_ns - 250.0 - lag_ns;
            known |= longer_ns >= 0.0 && longer_ns <= lag_ns / 16.0;
        }
        CHECK(known);
    }
    virtual_outcome_free(&outcome);
}

static int lags_after(int size, int calls) {
    struct virtual_starts starts = starts_of(size, 5e6, 5e6 * calls);
    starts.from_ns = 0.0;
    struct virtual_outcome outcome = virtual_starts_run(&starts);
    CHECK_THAT(outcome.count, ==, calls);
    virtual_outcome_free(&outcome);
    return outcome.lags;
}

/* The slack controller is given the lag of every call: where process 0 waits long enough in the same call, else, as
 * where it is alone, in the next one. */
static void no_lag_is_forgotten(void) {
    static const int sizes[] = {1, 2, 16};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i)
        CHECK_THAT(abs(lags_after(sizes[i], 200) - lags_after(sizes[i], 100) - 100), <=,
                   1); /* the last is pending, or not */
}

/* Clocks that differ by nothing but their calibrations, each within what it says of its own: the bounds allow for both
 * sides, and for little more. */
static void calibrations_count_on_both_sides(void) {
    static const struct {
        const char *sync;
        double share; /* of its bound that some error takes up, at least; less where the rate is learned */
    } schemes[] = {{"disciplined", 0.1}, {"hca3_offset", 0.5}};
    struct virtual_starts starts = starts_of(16, 5e6, 2e9);
    starts.model.skew = starts.model.wander = 0.0;
    starts.model.calibration = 200e-6;
    starts.model.network = (struct virtual_network){.overhead_ns = 10.0, .fixed_ns = 50.0, .exponential_ns = 20.0};
    starts.from_ns = 0.0;
    setenv("DOWNBEAT_MAX_SKEW", "1e-9", 1);
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; ++i) {
        starts.sync = schemes[i].sync;
        struct virtual_outcome outcome = virtual_starts_run(&starts);
        CHECK_THAT(outcome.beyond_bound, ==, 0);
        CHECK_THAT(outcome.largest_share, >, schemes[i].share);
        virtual_outcome_free(&outcome);
    }
    unsetenv("DOWNBEAT_MAX_SKEW");
}

/* All clocks are known after one synchronization where that takes two rounds, a while apart. */
static void two_rounds_are_two_synchronizations(void) {
    struct virtual_starts starts = starts_of(16, 100e6, 1.2e9);
    starts.sync = "disciplined(rounds=8,over=0.5)";
    starts.from_ns = 0.0;
    struct virtual_outcome outcome = virtual_starts_run(&starts);
    CHECK_THAT(outcome.starts[1].skew_ns, <=, 100.0);
    CHECK_THAT(outcome.starts[outcome.count - 1].expected_ns, <=, 100.0);
    virtual_outcome_free(&outcome);
}

#define DAYS_NS (30.0 * 86400e9)

/* The expected error of the first start that counts. */
static double first_expected_ns(const struct virtual_starts *starts) {
    struct virtual_outcome outcome = virtual_starts_run(starts);
    double expected_ns = outcome.starts[0].expected_ns;
    virtual_outcome_free(&outcome);
    return expected_ns;
}

/* No call for 30 days: the next start is as good as any, and expected errors hold. */
static void after_days(void) {
    struct virtual_starts starts = starts_of(128, 5e6, 6e9);
    starts.absent_ns = DAYS_NS;
    check(&starts, 100.0, 200.0);
    check_honesty(&starts, 0.65, 0.93);
    /* However long nothing was known: it is not known better than before. */
    starts = starts_of(16, 5e6, 2e9);
    double usual_ns = first_expected_ns(&starts);
    for (double days_ns = DAYS_NS; days_ns < 13.0 * DAYS_NS; days_ns += DAYS_NS) {
        starts.absent_ns = days_ns;
        CHECK_THAT(first_expected_ns(&starts), >=, usual_ns);
    }
}

/* A start every minute for 30 days, each with clocks older than they may be. */
static void for_days(void) {
    struct virtual_starts starts = starts_of(2, 60e9, DAYS_NS);
    struct virtual_outcome outcome = virtual_starts_run(&starts);
    int valid = 0;
    double most_ns[2] = {0.0, 0.0}; /* expected errors of the first and the last day */
    int day = outcome.count / 30;
    for (int i = 0; i < outcome.count; ++i) {
        const struct virtual_start *start = &outcome.starts[i];
        valid += start->valid;
        if (start->valid)
            CHECK_THAT(start->skew_ns, <=, 500.0 + start->expected_ns);
        if (i < day || i >= outcome.count - day)
            most_ns[i >= day] = fmax(most_ns[i >= day], start->expected_ns);
    }
    CHECK_THAT(valid, >=, 0.9 * outcome.count);
    CHECK_THAT(outcome.beyond_bound, ==, 0);
    CHECK_THAT((double)outcome.within[0] / (double)outcome.errors, >=, 0.65);
    CHECK_THAT((double)outcome.within[1] / (double)outcome.errors, >=, 0.93);
    CHECK_THAT(most_ns[1], <=, 1.5 * most_ns[0]); /* of the largest: rare latencies decide it */
    CHECK_THAT(outcome.syncs, >=, outcome.count / 2);
    virtual_outcome_free(&outcome);
}

/* The median cost of a start on one node of so many processes; nearly all must be valid. */
static double node_cost_ns(int size, enum db_transport_kind transport, double granularity) {
    struct virtual_starts starts = starts_of(size, 1e6, 3e9);
    starts.transport = transport;
    starts.model.per_node = size;
    starts.model.near_ns = 300.0;
    starts.model.granularity = granularity;
    struct virtual_outcome outcome = virtual_starts_run(&starts);
    double *costs = virtual_allocate((size_t)outcome.count, sizeof *costs);
    int valid = 0;
    for (int i = 0; i < outcome.count; ++i)
        if (outcome.starts[i].valid)
            costs[valid++] = outcome.starts[i].cost_ns;
    CHECK_THAT(valid, >=, 0.99 * outcome.count);
    qsort(costs, (size_t)valid, sizeof *costs, virtual_ascending);
    double median_ns = costs[valid / 2];
    free(costs);
    virtual_outcome_free(&outcome);
    return median_ns;
}

/* By memory a start is one exchange: a report and a decision would take 40 ns of each line more, of 128 processes 0.4
 * us. */
static void memory_is_exchanged(void) {
    CHECK_THAT(node_cost_ns(2, DB_TRANSPORT_SHARED, 0.0), <=, 170.0);
    CHECK_THAT(node_cost_ns(128, DB_TRANSPORT_SHARED, 0.0), <=, 1300.0);
    CHECK_THAT(node_cost_ns(2, DB_TRANSPORT_MESSAGES, 0.0), >=, 500.0);
    node_cost_ns(6, DB_TRANSPORT_SHARED, 2230.0); /* a clock of longer steps than an exchange takes */
}

int main(int argc, char **argv) {
    if (argc == 2 && strcmp(argv[1], "days") == 0) {
        after_days();
        for_days();
        return 0;
    }
    int size = argc > 1 ? atoi(argv[1]) : 128;
    CHECK(argc <= 2 && (size == 16 || size == 128 || size == 1024 || size == 16384));
    check_at(size);
    if (size == 16) {
        two_rounds_are_two_synchronizations();
        flags_are_worth_synchronizations();
        lateness_is_told();
        tolerance_follows_the_network();
        reasons_are_counted();
        slack_follows_the_lags();
        no_lag_is_forgotten();
        calibrations_count_on_both_sides();
        memory_is_exchanged();
    }
    return 0;
}
