#include "slack.h"

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

void db_slack_init(struct db_slack *slack, int64_t fixed_ns) {
    memset(slack, 0, sizeof *slack);
    slack->fixed_ns = fixed_ns;
    slack->least_cost_ns = UNKNOWN_NS;
}

/* The first place in the sorted window whose lag is not below `lag_ns`. */
static int place_of(const struct db_slack *slack, int64_t lag_ns) {
    int low = 0;
    int high = slack->count;
    while (low < high) {
        int middle = (low + high) / 2;
        if (slack->sorted[middle] < lag_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void insert(struct db_slack *slack, int64_t lag_ns) {
    if (slack->count == DB_SLACK_WINDOW) {
        int place = place_of(slack, slack->window[slack->next]);
        --slack->count;
        memmove(&slack->sorted[place], &slack->sorted[place + 1],
                (size_t)(slack->count - place) * sizeof slack->sorted[0]);
    }
    int place = place_of(slack, lag_ns);
    memmove(&slack->sorted[place + 1], &slack->sorted[place], (size_t)(slack->count - place) * sizeof slack->sorted[0]);
    slack->sorted[place] = lag_ns;
    ++slack->count;
    slack->window[slack->next] = lag_ns;
    slack->next = (slack->next + 1) % DB_SLACK_WINDOW;
}

/* The lag s that minimizes (C + s) / F(s), F(sorted[i]) = (i + 1) / count. */
static int64_t least_cost(const struct db_slack *slack) {
    int best = slack->count - 1;
    for (int i = slack->count - 2; i >= 0; --i) {
        double cost = (slack->rest_ns + (double)slack->sorted[i]) * (best + 1);
        double best_cost = (slack->rest_ns + (double)slack->sorted[best]) * (i + 1);
        if (cost < best_cost)
            best = i;
    }
    return slack->sorted[best] + MARGIN_NS;
}

/* Quantile of the most recent lags. */
static int64_t recent_quantile(const struct db_slack *slack, double level) {
    int count = slack->count < DB_SLACK_RECENT ? slack->count : DB_SLACK_RECENT;
    int above = (int)((1.0 - level) * count);
    int64_t largest[DB_SLACK_RECENT];
    int kept = 0;
    for (int back = 1; back <= count; ++back) {
        int64_t lag = slack->window[(slack->next - back + DB_SLACK_WINDOW) % DB_SLACK_WINDOW];
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

void db_slack_observe(struct db_slack *slack, int64_t lag_ns, int64_t given_ns, int64_t rest_ns) {
    if (slack->fixed_ns > 0)
        return;
    insert(slack, lag_ns);
    double rest = (double)rest_ns;
    if (slack->rest_ns == 0.0)
        slack->rest_ns = rest;
    else if (rest > LONG_REST * slack->rest_ns)
        rest = LONG_REST * slack->rest_ns;
    slack->rest_ns += REST_WEIGHT * (rest - slack->rest_ns);

    int missed = lag_ns > given_ns;
    slack->misses = MISS_DECAY * slack->misses + missed;
    slack->missed |= missed;
    ++slack->since_computed;
}

void db_slack_adapt(struct db_slack *slack) {
    int due = slack->since_computed >= COMPUTE_EVERY || slack->count < COMPUTE_EVERY || slack->missed;
    if (slack->since_computed == 0 || !due)
        return;
    slack->least_cost_ns = least_cost(slack);
    slack->since_computed = 0;
    slack->missed = 0;
}

int64_t db_slack_next(const struct db_slack *slack) {
    if (slack->fixed_ns > 0)
        return slack->fixed_ns;
    if (slack->misses > BURST_MISSES) {
        int64_t burst = recent_quantile(slack, BURST_QUANTILE) + MARGIN_NS;
        if (burst > slack->least_cost_ns)
            return burst;
    }
    return slack->least_cost_ns;
}
