/* The slack controller against brute force, and against its promise: slack grows with the lags and shrinks again. */
#include "check.h"
#include "slack.h"

#include <stdint.h>
#include <string.h>

#define MARGIN_NS 250 /* above the lag that the slack was chosen for: slack.c */

static struct db_slack slack;
static uint64_t random_state = 1;

static int64_t uniform(int64_t below) {
    random_state = random_state * 6364136223846793005U + 1442695040888963407U;
    return (int64_t)((random_state >> 33) % (uint64_t)below);
}

/* One call with that lag; the rest of an iteration takes 50 us. */
static int64_t call(int64_t lag_ns) {
    int64_t given = db_slack_next(&slack);
    db_slack_observe(&slack, lag_ns, given, 50000);
    db_slack_adapt(&slack);
    return given;
}

static void window_stays_sorted_and_complete(void) {
    db_slack_init(&slack, 0);
    int64_t lags[2000];
    for (int i = 0; i < 2000; ++i) {
        lags[i] = uniform(50);
        call(lags[i]);
        int64_t sum = 0;
        for (int k = 0; k < slack.count; ++k) {
            CHECK(k == 0 || slack.sorted[k - 1] <= slack.sorted[k]);
            sum += slack.sorted[k] - lags[i - k];
        }
        CHECK_THAT(sum, ==, 0);
        CHECK_THAT(slack.count, ==, i < DB_SLACK_WINDOW ? i + 1 : DB_SLACK_WINDOW);
    }
}

/* (C + s) / F(s) over every lag of the window, by counting. */
static void least_cost_is_least(void) {
    db_slack_init(&slack, 0);
    int64_t lags[DB_SLACK_WINDOW];
    for (int i = 0; i < DB_SLACK_WINDOW; ++i)
        call(lags[i] = 300 + uniform(200) + (uniform(100) < 3 ? uniform(40000) : 0));
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
    CHECK_THAT(slack.least_cost_ns, ==, best + MARGIN_NS);
    CHECK_THAT(best, <, 600); /* the tail is cheaper repeated than waited for */
}

static void grows_and_comes_back(void) {
    db_slack_init(&slack, 0);
    for (int i = 0; i < 1000; ++i)
        call(400 + uniform(20));
    int64_t quiet = db_slack_next(&slack);
    CHECK_THAT(quiet, <=, 420 + MARGIN_NS);
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
    db_slack_init(&slack, 0);
    for (int i = 0; i < DB_SLACK_WINDOW; ++i)
        call(400);
    int missed = 0;
    for (int i = 0; i < 50; ++i)
        missed += call(3000) < 3000;
    CHECK_THAT(missed, <=, 10);
}

static void lone_outlier_costs_nothing(void) {
    db_slack_init(&slack, 0);
    for (int i = 0; i < DB_SLACK_WINDOW; ++i)
        call(400);
    int64_t before = db_slack_next(&slack);
    call(5000000);
    CHECK_THAT(db_slack_next(&slack), ==, before);
}

/* When a repeated call costs much, waiting for the tail is the cheaper way. */
static void dear_calls_wait_longer(void) {
    int64_t slacks[2];
    for (int dear = 0; dear < 2; ++dear) {
        db_slack_init(&slack, 0);
        for (int i = 0; i < DB_SLACK_WINDOW; ++i)
            db_slack_observe(&slack, i % 50 == 0 ? 5000 : 400, INT64_MAX, dear ? 100000000 : 10000);
        db_slack_adapt(&slack);
        slacks[dear] = db_slack_next(&slack);
    }
    CHECK_THAT(slacks[0], ==, 400 + MARGIN_NS);
    CHECK_THAT(slacks[1], ==, 5000 + MARGIN_NS);
}

static void fixed_stays(void) {
    db_slack_init(&slack, 1234);
    for (int i = 0; i < 100; ++i)
        CHECK_THAT(call(uniform(100000)), ==, 1234);
}

int main(void) {
    window_stays_sorted_and_complete();
    least_cost_is_least();
    grows_and_comes_back();
    burst_guard_reacts_at_once();
    lone_outlier_costs_nothing();
    dear_calls_wait_longer();
    fixed_stays();
    return 0;
}
