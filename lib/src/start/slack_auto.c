/* The slack of least cost. The lag of a process is the time from the decision to the moment at which it is ready to
 * wait; the largest lag of a call decides whether a slack would have been enough. But the longer the wait, the more
 * often the kernel takes a processor away during it. With F the distribution of the largest lag, C the time that a call
 * costs without its slack, and h the late exits per ns of waiting, a valid call costs (C + s) (1 + h s) / F(s): a
 * longer wait for all, which may be in vain, against a repeated call. The slack is the s of least cost over a window of
 * calls, so it grows with the lags and shrinks again. */
#include "start/slack.h"

#include "base/error.h"
#include "start/state.h"
#include "start/trial.h"

#include <math.h>
#include <string.h>

/* Added to the chosen lag. The cost is flat around its minimum, so take the side with fewer repeated calls: with 2
 * ranks of one node 1.2 % of the calls were rejected with 0.1 us, 0.9 % with this. */
#define MARGIN_NS 250
/* No slack is longer than REACH times what the last valid call needed, and GROWTH more after each miss since then
 * (Schuchart 2023, Alg. 1, line 15, which never takes that back). */
#define REACH 16
#define GROWTH 1.5
/* The first slack: so many times the usual lag of the trial rounds, or this long without any. A program that makes a
 * single call loses everything if it is late. */
#define FIRST_REACH 8
#define FIRST_NS 30000
/* A longer lag in a trial round means that a process had no processor. */
#define LONGEST_TRIAL_NS 1000000
/* The least cost moves slowly, and computing it costs. */
#define COMPUTE_EVERY 32
#define MISS_DECAY 0.9
/* Above this, the last calls say more than the window, which counts as much as a few of them. */
#define BURST_MISSES 1.5
#define WINDOW_CALLS 4.0
/* Weight of a call in the smoothed C and h. A call counts for at most LONG_REST times the usual, or a pause of the
 * application would pass for the price of a repeated call. */
#define WEIGHT (1.0 / 64.0)
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

static void insert(struct db_slack_lags *lags, int32_t lag_ns) {
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

/* The cost of a valid call with that slack, which a share of the calls meets. */
static double cost(const struct db_slack_lags *lags, double slack_ns, double share) {
    double late_per_ns = lags->late / fmax(1.0, lags->waited_ns);
    return (lags->rest_ns + slack_ns) * (1.0 + late_per_ns * slack_ns) / share;
}

/* The lag of least cost, F(sorted[i]) = (i + 1) / count. */
static int64_t least_cost(const struct db_slack_lags *lags) {
    double least = INFINITY;
    int best = 0;
    for (int i = lags->count - 1; i >= 0; --i) {
        double here = cost(lags, (double)lags->sorted[i], i + 1);
        if (here < least) {
            least = here;
            best = i;
        }
    }
    return lags->sorted[best];
}

/* How many of the last calls, and of the window, such a slack would have been enough for. */
static double share_of(const struct db_slack_lags *lags, int64_t slack_ns) {
    double share = WINDOW_CALLS * place_of(lags, slack_ns + 1) / lags->count;
    for (int back = 1; back <= DB_SLACK_RECENT; ++back)
        share += lags->window[(lags->next - back + DB_SLACK_WINDOW) % DB_SLACK_WINDOW] <= slack_ns;
    return share;
}

/* The lag of least cost among the last calls, if that is more than `least_ns`. */
static int64_t recent_least_cost(const struct db_slack_lags *lags, int64_t least_ns) {
    int64_t best_ns = least_ns;
    double least = cost(lags, (double)least_ns, share_of(lags, least_ns));
    for (int back = 1; back <= DB_SLACK_RECENT; ++back) {
        int64_t lag_ns = lags->window[(lags->next - back + DB_SLACK_WINDOW) % DB_SLACK_WINDOW];
        double here = cost(lags, (double)lag_ns, share_of(lags, lag_ns));
        if (lag_ns > least_ns && here < least) {
            least = here;
            best_ns = lag_ns;
        }
    }
    return best_ns;
}

static void observe(struct db_slack *slack, const struct db_slack_call *call) {
    struct db_slack_lags *lags = &slack->lags;
    insert(lags, call->lag_ns < INT32_MAX ? (int32_t)call->lag_ns : INT32_MAX);
    double rest = (double)call->rest_ns;
    if (lags->rest_ns == 0.0)
        lags->rest_ns = rest;
    else if (rest > LONG_REST * lags->rest_ns)
        rest = LONG_REST * lags->rest_ns;
    lags->rest_ns += WEIGHT * (rest - lags->rest_ns);

    int missed = call->lag_ns > call->given_ns;
    if (!missed) { /* else not all have waited */
        lags->waited_ns += WEIGHT * ((double)call->given_ns - lags->waited_ns);
        lags->late += WEIGHT * (call->late - lags->late);
    }
    lags->limit_ns = missed ? GROWTH * lags->limit_ns : REACH * (double)(call->lag_ns + MARGIN_NS);
    lags->misses = MISS_DECAY * lags->misses + missed;
    lags->missed |= missed;
    ++lags->since_computed;
}

static void adapt(struct db_slack *slack) {
    struct db_slack_lags *lags = &slack->lags;
    int due = lags->since_computed >= COMPUTE_EVERY || lags->count < COMPUTE_EVERY || lags->missed;
    if (lags->since_computed == 0 || !due)
        return;
    int64_t lag_ns = least_cost(lags);
    if (lags->misses > BURST_MISSES && lags->count >= DB_SLACK_RECENT)
        lag_ns = recent_least_cost(lags, lag_ns);
    lags->slack_ns = llrint(fmin((double)(lag_ns + MARGIN_NS), lags->limit_ns));
    lags->since_computed = 0;
    lags->missed = lags->misses > BURST_MISSES; /* until the burst is over */
}

static int64_t next(const struct db_slack *slack) { return slack->lags.slack_ns; }

static int begin(struct db_state *state) {
    DB_TRY(db_trial_rounds(state, LONGEST_TRIAL_NS));
    if (state->rank > 0)
        return MPI_SUCCESS;
    struct db_slack_lags *lags = &state->slack->lags;
    int middle = lags->count / 2;
    lags->limit_ns = lags->count > 0 ? FIRST_REACH * (double)(lags->sorted[middle] + MARGIN_NS) : FIRST_NS;
    lags->slack_ns = llrint(lags->limit_ns);
    lags->since_computed = 0; /* until the first call is known */
    return MPI_SUCCESS;
}

const struct db_slack_type db_slack_auto = {
    .component = {DB_DESCRIBED(
        "auto", "the slack that makes a valid call cheapest, from the last 512 calls; adapts up and down", "",
        DB_NO_PARAMETERS)},
    .begin = begin,
    .next = next,
    .observe = observe,
    .adapt = adapt};
