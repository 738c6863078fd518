/* The slack controllers: the default against brute force, and against its promise, that slack grows with the lags and
 * shrinks again; that of Schuchart 2023, Alg. 1, against the algorithm; both on the same lags. */
#include "check.h"
#include "start/slack.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/* Above the lag that the slack was chosen for, which is known to a sixteenth: slack_auto.c. */
#define LEAST_MARGIN_NS 25
#define MOST_MARGIN_NS 250

static struct db_slack slack;
static uint64_t random_state = 1;

static int is_for_lag(int64_t slack_ns, int64_t lag_ns) {
    int64_t known_ns = lag_ns + lag_ns / 16;
    int64_t most_ns = known_ns + LEAST_MARGIN_NS + known_ns / 4;
    if (most_ns > known_ns + MOST_MARGIN_NS)
        most_ns = known_ns + MOST_MARGIN_NS;
    return slack_ns >= lag_ns + LEAST_MARGIN_NS && slack_ns <= most_ns;
}

static int64_t uniform(int64_t below) {
    random_state = random_state * 6364136223846793005U + 1442695040888963407U;
    return (int64_t)((random_state >> 33) % (uint64_t)below);
}

/* As begin() leaves it. */
static void begin_auto(void) {
    db_slack_init(&slack, &db_slack_auto, 0);
    slack.lags.limit_ns = 30000.0;
    slack.lags.slack_ns = 30000;
}

/* As begin() leaves it, and after the verdict on the call before it, which is not its own. */
static void begin_published(double first_ns) {
    db_slack_init(&slack, &db_slack_published, 0);
    slack.growing.slack_ns = first_ns;
    CHECK_THAT(db_slack_judge(&slack, 1), ==, 0);
    CHECK_THAT(db_slack_next(&slack), ==, first_ns);
}

/* One call with that lag, slack and rest of the iteration; a new slack is due now and then. */
static void observe(int64_t lag_ns, int64_t slack_ns, int64_t base_ns, int late) {
    db_slack_observe(&slack,
                     &(struct db_slack_call){.lag_ns = lag_ns, .slack_ns = slack_ns, .base_ns = base_ns, .late = late});
    db_slack_adapt(&slack);
}

static int64_t call_beside(int64_t lag_ns, int64_t base_ns) {
    int64_t given = db_slack_next(&slack);
    observe(lag_ns, given, base_ns, 0);
    return given;
}

static int64_t call(int64_t lag_ns) { return call_beside(lag_ns, 50000); }

/* (C + s) / F(s) over every lag of the window, by counting. */
static void least_cost_is_least(void) {
    begin_auto();
    int64_t lags[DB_SLACK_WINDOW];
    for (int i = 0; i < 3 * DB_SLACK_WINDOW; ++i) /* the older two windows are forgotten */
        call(lags[i % DB_SLACK_WINDOW] = 300 + uniform(200) + (uniform(100) < 3 ? uniform(40000) : 0));
    double best_cost = 1e300;
    int64_t best = 0;
    for (int i = 0; i < DB_SLACK_WINDOW; ++i) {
        int in_time = 0;
        for (int k = 0; k < DB_SLACK_WINDOW; ++k)
            in_time += lags[k] <= lags[i];
        double cost = (50000.0 + (double)lags[i]) * DB_SLACK_WINDOW / in_time;
        if (cost < best_cost) {
            best_cost = cost;
            best = lags[i];
        }
    }
    CHECK(is_for_lag(slack.lags.slack_ns, best));
    CHECK_THAT(best, <, 600); /* the tail is cheaper repeated than waited for */
}

static void grows_and_comes_back(void) {
    begin_auto();
    for (int i = 0; i < 1000; ++i)
        call(400 + uniform(20));
    int64_t quiet = db_slack_next(&slack);
    CHECK(is_for_lag(quiet, 420));
    for (int i = 0; i < 600; ++i)
        call(5000 + uniform(20));
    CHECK_THAT(db_slack_next(&slack), >=, 5000);
    for (int i = 0; i < DB_SLACK_WINDOW; ++i)
        call(400 + uniform(20));
    CHECK_THAT(db_slack_next(&slack), <=, quiet + 20);
}

/* After a change of regime the window is still full of short lags, and 5 % of long ones (26 calls) would have to be
 * missed before the least cost moves: the burst guard takes over within a few calls. */
static void burst_guard_reacts_at_once(void) {
    begin_auto();
    for (int i = 0; i < DB_SLACK_WINDOW; ++i)
        call(400);
    int missed = 0;
    for (int i = 0; i < 50; ++i)
        missed += call(3000) < 3000;
    CHECK_THAT(missed, <=, 10);
}

static void lone_outlier_costs_nothing(void) {
    begin_auto();
    for (int i = 0; i < DB_SLACK_WINDOW; ++i)
        call(400);
    int64_t before = db_slack_next(&slack);
    call(5000000);
    CHECK_THAT(db_slack_next(&slack), ==, before);
}

/* The slack after a window in which every `often`th lag is 5 us, the others are 0.4 us, and every second wait may have
 * ended late. */
static int64_t slack_for(int often, int64_t base_ns, int late) {
    begin_auto();
    for (int i = 0; i < DB_SLACK_WINDOW; ++i)
        observe(i % often == 0 ? 5000 : 400, 6000, base_ns, late && i % 2 == 0);
    return db_slack_next(&slack);
}

/* If a repeated call costs much, it is cheaper to wait for the tail; if waits end late, they are in vain. */
static void waiting_must_pay(void) {
    CHECK(is_for_lag(slack_for(50, 10000, 0), 400));
    CHECK(is_for_lag(slack_for(50, 100000000, 0), 5000));
    CHECK(is_for_lag(slack_for(10, 100000, 0), 5000));
    CHECK(is_for_lag(slack_for(10, 100000, 1), 400));
}

/* Occasional misses are not a burst: a window of the last calls alone would wait for each. */
static void misses_are_forgotten(void) {
    begin_auto();
    for (int i = 0; i < 2000; ++i) {
        int64_t given = call_beside(i % 100 == 99 ? 5000 : 400, 200000);
        if (i >= 100)
            CHECK(is_for_lag(given, 400));
    }
}

/* A pause of the application is not what a repeated call would cost. */
static void a_pause_is_no_price(void) {
    begin_auto();
    for (int i = 0; i < 3 * DB_SLACK_WINDOW; ++i) {
        observe(i % 50 == 0 ? 5000 : 400, 6000, i == 2 * DB_SLACK_WINDOW ? 3600000000000 : 10000, 0);
        if (i > DB_SLACK_WINDOW)
            CHECK(is_for_lag(db_slack_next(&slack), 400));
    }
}

/* No slack is longer than 16 times what a valid call needed, and half as long again after each miss since then. */
static void no_slack_runs_away(void) {
    begin_auto();
    call_beside(400, 1000000000);
    double limit_ns = 16.0 * (400 + LEAST_MARGIN_NS + 400 / 4);
    int misses = 0;
    for (; db_slack_next(&slack) < 50000000; ++misses) {
        CHECK_THAT(misses, <, 30);
        CHECK_THAT(db_slack_next(&slack), <=, limit_ns + 1.0);
        call_beside(50000000, 1000000000);
        limit_ns *= 1.5;
    }
    CHECK_THAT(misses, >=, 15);
    call_beside(400, 1000000000);
    CHECK_THAT(db_slack_next(&slack), <=, 16 * (400 + LEAST_MARGIN_NS + 400 / 4));
}

/* Two processes on processors of their own, each of which has twenty busy processes more: while both have their time
 * slices, all is well until one of them ends. Then they meet again by chance. Valid calls per second; the longest
 * slack. */
static double valid_rate(const struct db_slack_type *type, int64_t *longest_ns) {
    enum { SLICE_NS = 4000000, ROUND_NS = 76000000 };
    int together = 1;
    int missed = 0;
    int valid = 0;
    double passed_ns = 0.0;
    *longest_ns = 0;
    for (int i = 0; i < 20000; ++i) {
        db_slack_judge(&slack, missed);
        int64_t given = db_slack_next(&slack);
        int64_t lag = together ? 400 + uniform(100) : SLICE_NS + uniform(ROUND_NS);
        int ready = lag <= given;
        int late = ready && uniform(SLICE_NS) < given;
        double took_ns = 2000.0 + (double)(ready ? given : lag) + (late ? ROUND_NS : 0.0);
        missed = !ready || (late && !type->flag_before_wait);
        valid += !missed;
        passed_ns += took_ns;
        together = ready && !late ? uniform(2000) != 0 : uniform(10) == 0;
        *longest_ns = given > *longest_ns ? given : *longest_ns;
        observe(lag, given, (int64_t)took_ns - given, late);
    }
    return valid / (passed_ns * 1e-9);
}

static void a_busy_machine_is_no_reason_to_wait(void) {
    int64_t longest_ns;
    int64_t published_longest_ns;
    for (uint64_t seed = 1; seed <= 5; ++seed) {
        random_state = seed;
        begin_auto();
        double rate = valid_rate(&db_slack_auto, &longest_ns);
        random_state = seed;
        begin_published(1000.0);
        double published_rate = valid_rate(&db_slack_published, &published_longest_ns);
        CHECK_THAT(rate, >=, 2.0 * published_rate);
        CHECK_THAT(longest_ns, <=, 1000000); /* a quarter of a time slice */
    }
}

static void fixed_stays(void) {
    db_slack_init(&slack, &db_slack_fixed, 1234);
    for (int i = 0; i < 100; ++i)
        CHECK_THAT(call(uniform(100000)), ==, 1234);
}

/* Lines 14 to 17, and never back; each miss asks for one synchronization, and nothing else does. */
static void published_grows_by_half_after_each_miss_and_never_shrinks(void) {
    begin_published(4096.0);
    double expected_ns = 4096.0; /* an integer times 1.5^k: a double holds it exactly */
    int syncs = 0;
    int misses = 0;
    for (int i = 0; i < 2000; ++i) {
        int missed = misses < 20 && uniform(10) == 0;
        misses += missed;
        expected_ns *= missed ? 1.5 : 1.0;
        int sync = db_slack_judge(&slack, missed);
        CHECK_THAT(sync, ==, missed);
        syncs += sync;
        CHECK_THAT(db_slack_next(&slack), ==, (int64_t)expected_ns);
        observe(400, (int64_t)expected_ns, 50000, 0);
    }
    CHECK_THAT(misses, ==, 20);
    CHECK_THAT(syncs, ==, 20);
}

static void published_ends_where_integers_would(void) {
    begin_published(1e4);
    for (int i = 0; i < 200; ++i)
        CHECK_THAT(db_slack_judge(&slack, 1), ==, 1);
    CHECK_THAT(db_slack_next(&slack), ==, 3600000000000);
}

static void only_the_published_flag_is_decided_before_the_wait(void) {
    CHECK(!db_slack_auto.flag_before_wait && !db_slack_fixed.flag_before_wait);
    CHECK(db_slack_published.flag_before_wait);
}

int main(void) {
    least_cost_is_least();
    grows_and_comes_back();
    burst_guard_reacts_at_once();
    lone_outlier_costs_nothing();
    waiting_must_pay();
    misses_are_forgotten();
    a_pause_is_no_price();
    no_slack_runs_away();
    a_busy_machine_is_no_reason_to_wait();
    fixed_stays();
    published_grows_by_half_after_each_miss_and_never_shrinks();
    published_ends_where_integers_would();
    only_the_published_flag_is_decided_before_the_wait();
    return 0;
}
