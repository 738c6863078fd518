/* The slack of least cost. The lag of a process is the time from the decision to the moment at which it is ready to
 * wait; the largest lag of a call decides whether a slack would have been enough. With F the distribution of the
 * largest lag, and C the time that a call costs besides its slack, a valid call costs (C + s) / F(s): a longer wait for
 * all against a repeated call. The slack is the s of least cost over a window of calls, so it grows with the lags and
 * shrinks again. */
#include "slack.h"

#include "trial.h"

#include <string.h>

/* Above the lag it was chosen for. Around its minimum the cost is flat, so the side with fewer repeated calls is taken:
 * with 2 ranks of one node 1.2 % of the calls were rejected with 0.1 us, 0.9 % with this. */
#define MARGIN_NS 250
/* Before any lag is known. */
#define UNKNOWN_NS 1000000
/* The least cost moves slowly, and computing it costs. */
#define COMPUTE_EVERY 32
#define MISS_DECAY 0.9
#define BURST_MISSES 1.5
#define BURST_QUANTILE 0.9
/* Of the smoothing of C. One call counts for no more than LONG_REST times as much as is usual, or a pause of the
 * application would pass for the price of a repeated call. */
#define REST_WEIGHT (1.0 / 64.0)
#define LONG_REST 4.0

/* The first place in the sorted window whose lag is not below `lag_ns`. */
static int place_of(const struct db_slack_lags *lags, int64_t lag_ns) {
    int low = 0;
    int high = lags->count;
    while (low < high) {
        int middle = (low + high) / 2;
        if (lags->sorted[middle] < lag_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void insert(struct db_slack_lags *lags, int64_t lag_ns) {
    if (lags->count == DB_SLACK_WINDOW) {
        int place = place_of(lags, lags->window[lags->next]);
        --lags->count;
        memmove(&lags->sorted[place], &lags->sorted[place + 1], (size_t)(lags->count - place) * sizeof lags->sorted[0]);
    }
    int place = place_of(lags, lag_ns);
    memmove(&lags->sorted[place + 1], &lags->sorted[place], (size_t)(lags->count - place) * sizeof lags->sorted[0]);
    lags->sorted[place] = lag_ns;
    ++lags->count;
    lags->window[lags->next] = lag_ns;
    lags->next = (lags->next + 1) % DB_SLACK_WINDOW;
}

/* The lag s that minimizes (C + s) / F(s), F(sorted[i]) = (i + 1) / count. */
static int64_t least_cost(const struct db_slack_lags *lags) {
    int best = lags->count - 1;
    for (int i = lags->count - 2; i >= 0; --i) {
        double cost = (lags->rest_ns + (double)lags->sorted[i]) * (best + 1);
        double best_cost = (lags->rest_ns + (double)lags->sorted[best]) * (i + 1);
        if (cost < best_cost)
            best = i;
    }
    return lags->sorted[best] + MARGIN_NS;
}

/* Quantile of the most recent lags. */
static int64_t recent_quantile(const struct db_slack_lags *lags, double level) {
    int count = lags->count < DB_SLACK_RECENT ? lags->count : DB_SLACK_RECENT;
    int above = (int)((1.0 - level) * count);
    int64_t largest[DB_SLACK_RECENT];
    int kept = 0;
    for (int back = 1; back <= count; ++back) {
        int64_t lag = lags->window[(lags->next - back + DB_SLACK_WINDOW) % DB_SLACK_WINDOW];
        int place = kept;
        while (place > 0 && largest[place - 1] < lag) {
            largest[place] = largest[place - 1];
            --place;
        }
        largest[place] = lag;
        ++kept;
    }
    return largest[above];
}

static void observe(struct db_slack *slack, int64_t lag_ns, int64_t given_ns, int64_t rest_ns) {
    struct db_slack_lags *lags = &slack->lags;
    insert(lags, lag_ns);
    double rest = (double)rest_ns;
    if (lags->rest_ns == 0.0)
        lags->rest_ns = rest;
    else if (rest > LONG_REST * lags->rest_ns)
        rest = LONG_REST * lags->rest_ns;
    lags->rest_ns += REST_WEIGHT * (rest - lags->rest_ns);

    int missed = lag_ns > given_ns;
    lags->misses = MISS_DECAY * lags->misses + missed;
    lags->missed |= missed;
    ++lags->since_computed;
}

static void adapt(struct db_slack *slack) {
    struct db_slack_lags *lags = &slack->lags;
    int due = lags->since_computed >= COMPUTE_EVERY || lags->count < COMPUTE_EVERY || lags->missed;
    if (lags->since_computed == 0 || !due)
        return;
    lags->least_cost_ns = least_cost(lags);
    lags->since_computed = 0;
    lags->missed = 0;
}

static int64_t next(const struct db_slack *slack) {
    const struct db_slack_lags *lags = &slack->lags;
    int64_t least_cost_ns = lags->least_cost_ns > 0 ? lags->least_cost_ns : UNKNOWN_NS;
    if (lags->misses > BURST_MISSES) {
        int64_t burst = recent_quantile(lags, BURST_QUANTILE) + MARGIN_NS;
        if (burst > least_cost_ns)
            return burst;
    }
    return least_cost_ns;
}

const struct db_slack_type db_slack_auto = {
    .component =
        {.described = {.name = "auto",
                       .summary =
                           "the slack that makes a valid call cheapest, from the last 512 calls; adapts up and down",
                       .source = "",
                       .parameters = DB_NO_PARAMETERS}},
    .begin = db_trial_rounds,
    .next = next,
    .observe = observe,
    .adapt = adapt};
