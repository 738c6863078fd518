/* The slack of least cost. The lag of a process is the time from the decision until it is ready to wait; a slack
 * suffices if it is at least the largest lag of the call. But the longer the wait, the more often the kernel preempts a
 * process during it. With F the distribution function of the largest lag, C the duration of a call without its slack,
 * and h the rate of late exits per ns of waiting, a valid call costs (C + s) (1 + h s) / F(s). The slack is the s of
 * least cost over a window of calls, so it follows the lags up and down. */
#include "start/slack.h"

#include "base/error.h"
#include "start/decision.h"
#include "start/trial.h"

#include <math.h>

/* Margin above the optimal lag: the cost is flat around its minimum, and longer slacks repeat fewer calls. It is a
 * share of the lag, within limits. Choice; depends on the machine; half and twice, with lags of messages: same. */
#define MARGIN_SHARE 0.25
#define MIN_MARGIN_NS 25.0
#define MAX_MARGIN_NS 250.0
/* Limit of the slack: REACH times what the last call in time needed, times GROWTH for each miss since then. Source of
 * GROWTH: Schuchart 2023, Alg. 1, line 15, where the growth is permanent. REACH: choice; half and twice: same. */
#define REACH 16
#define GROWTH 1.5
/* A clock is coarse if its step is at least this long; shorter steps are the cost of a reading. Derivation: below the
 * 238 ns of MPICH's MPI_Wtime, above the 20 to 100 ns of a reading. */
#define LEAST_STEP_NS 200.0
/* The first slack: FIRST_REACH times the median lag of the trial rounds, because a program that makes a single call
 * loses everything if it is late. Measurement: first_rejected_percent of make bench, 0.2 to 0.8 %. Half and twice:
 * same. FIRST_NS if every trial round was interrupted: choice; half and twice: same. */
#define FIRST_REACH 8
#define FIRST_NS 30000
/* Calls between two computations of the least cost, which are expensive while it changes slowly. Choice; half and
 * twice: same. */
#define COMPUTE_EVERY 32
#define MISS_DECAY 0.9
/* Beyond this weight of recent misses, i.e. two in short succession, the latest calls count more than the window, which
 * then counts as WINDOW_CALLS of them. Choice; half and twice: same. */
#define BURST_MISSES 1.5
#define WINDOW_CALLS (DB_SLACK_RECENT / 4.0)
/* Weight of a call in the exponential averages of C and h. Choice: twice COMPUTE_EVERY; half and twice: same. The
 * duration of a call is limited to LONG_REST times the average, so that a pause of the application does not count as
 * the cost of a call. */
#define WEIGHT (1.0 / (2.0 * COMPUTE_EVERY))
#define LONG_REST 4.0

/* Histogram of lags: 16 bins per power of two, up to 2 s. Derivation: a resolution of 6 %, finer than a slack's margin;
 * recording takes a few ns. */
#define BINS_PER_OCTAVE 16

static int bin_of(int64_t lag_ns) {
    uint32_t lag = lag_ns < INT32_MAX ? (uint32_t)lag_ns : INT32_MAX;
    if (lag < BINS_PER_OCTAVE)
        return (int)lag;
    int octave = 31 - __builtin_clz(lag) - 4;
    return octave * BINS_PER_OCTAVE + (int)(lag >> octave);
}

/* Largest lag of a bin. */
static int64_t longest_of(int bin) {
    if (bin < BINS_PER_OCTAVE)
        return bin;
    int octave = bin / BINS_PER_OCTAVE - 1;
    return ((int64_t)(BINS_PER_OCTAVE + bin % BINS_PER_OCTAVE + 1) << octave) - 1;
}

static void insert(struct db_slack_lags *lags, int64_t lag_ns) {
    int bin = bin_of(lag_ns);
    if (lags->count == DB_SLACK_WINDOW)
        --lags->bins[lags->window[lags->next]];
    else
        ++lags->count;
    ++lags->bins[bin];
    lags->window[lags->next] = (uint16_t)bin;
    lags->next = (lags->next + 1) % DB_SLACK_WINDOW;
}

/* Cost of a valid call, up to a factor, with a slack that covers this share of the calls. */
static double cost(const struct db_slack_lags *lags, double slack_ns, double share) {
    double waited_ns = lags->waited_ns > 1.0 ? lags->waited_ns : 1.0;
    return (lags->rest_ns + slack_ns) * (1.0 + lags->late / waited_ns * slack_ns) / share;
}

/* The bin of least cost. */
static int least_cost(const struct db_slack_lags *lags) {
    double least = INFINITY;
    int best = 0;
    int count = 0;
    for (int bin = 0; count < lags->count; ++bin) {
        if (lags->bins[bin] == 0)
            continue;
        count += lags->bins[bin];
        double here = cost(lags, (double)longest_of(bin), count);
        if (here <= least) {
            least = here;
            best = bin;
        }
    }
    return best;
}

static int recent(const struct db_slack_lags *lags, int back) {
    return lags->window[(lags->next - back + DB_SLACK_WINDOW) % DB_SLACK_WINDOW];
}

/* Weighted number of calls, in the window and among the latest, whose lag is at most that of the bin. */
static double share_of(const struct db_slack_lags *lags, int bin) {
    int count = 0;
    for (int i = 0; i <= bin; ++i)
        count += lags->bins[i];
    double share = WINDOW_CALLS * count / lags->count;
    for (int back = 1; back <= DB_SLACK_RECENT; ++back)
        share += recent(lags, back) <= bin;
    return share;
}

/* The bin of least cost among the latest calls, if it is above `least_bin`, else `least_bin`. */
static int recent_least_cost(const struct db_slack_lags *lags, int least_bin) {
    int best = least_bin;
    double least = cost(lags, (double)longest_of(least_bin), share_of(lags, least_bin));
    for (int back = 1; back <= DB_SLACK_RECENT; ++back) {
        int bin = recent(lags, back);
        double here = cost(lags, (double)longest_of(bin), share_of(lags, bin));
        if (bin > least_bin && here < least) {
            least = here;
            best = bin;
        }
    }
    return best;
}

/* Median lag. */
static int64_t median(const struct db_slack_lags *lags) {
    int bin = 0;
    for (int count = lags->bins[0]; 2 * count < lags->count; count += lags->bins[bin])
        ++bin;
    return longest_of(bin);
}

/* A lag plus its margin. */
static double with_margin(const struct db_slack_lags *lags, int64_t lag_ns) {
    double margin_ns = fmax(MIN_MARGIN_NS, lags->step_ns) + MARGIN_SHARE * (double)lag_ns;
    return (double)lag_ns + fmin(margin_ns, fmax(MAX_MARGIN_NS, lags->step_ns));
}

/* With a coarse clock, just below a multiple of its step: decisions are read at a step, and waits end at one. */
static int64_t slack_of(const struct db_slack_lags *lags, double optimal_ns) {
    double step_ns = lags->step_ns;
    return llrint(step_ns > 0.0 ? ceil(optimal_ns / step_ns) * step_ns - DB_ROUNDING_NS : optimal_ns);
}

static void observe(struct db_slack *slack, const struct db_slack_call *call) {
    struct db_slack_lags *lags = &slack->lags;
    insert(lags, call->lag_ns);
    double rest = (double)call->rest_ns;
    if (lags->rest_ns == 0.0)
        lags->rest_ns = rest;
    else if (rest > LONG_REST * lags->rest_ns)
        rest = LONG_REST * lags->rest_ns;
    lags->rest_ns += WEIGHT * (rest - lags->rest_ns);

    int missed = call->lag_ns > call->given_ns;
    if (!missed) { /* after a miss some processes did not wait */
        lags->waited_ns += WEIGHT * ((double)call->given_ns - lags->waited_ns);
        lags->late += WEIGHT * (call->late - lags->late);
    }
    lags->limit_ns = missed ? GROWTH * lags->limit_ns : REACH * with_margin(lags, call->lag_ns);
    lags->misses = MISS_DECAY * lags->misses + missed;
    lags->missed |= missed;
    ++lags->since_computed;
}

static void adapt(struct db_slack *slack) {
    struct db_slack_lags *lags = &slack->lags;
    int due = lags->since_computed >= COMPUTE_EVERY || lags->count < COMPUTE_EVERY || lags->missed;
    if (lags->since_computed == 0 || !due)
        return;
    int bin = least_cost(lags);
    if (lags->misses > BURST_MISSES && lags->count >= DB_SLACK_RECENT)
        bin = recent_least_cost(lags, bin);
    lags->slack_ns = slack_of(lags, fmin(with_margin(lags, longest_of(bin)), lags->limit_ns));
    lags->since_computed = 0;
    lags->missed = lags->misses > BURST_MISSES; /* compute in every call until the burst is over */
}

static int64_t next(const struct db_slack *slack) { return slack->lags.slack_ns; }

static int begin(struct db_state *state) {
    DB_TRY(db_trial_rounds(state, DB_AWAY_NS));
    if (state->rank > 0)
        return MPI_SUCCESS;
    struct db_slack_lags *lags = &state->slack->lags;
    const double step_ns = state->clocks.clock.resolution_ns;
    lags->step_ns = step_ns >= LEAST_STEP_NS ? step_ns : 0.0;
    lags->limit_ns = lags->count > 0 ? FIRST_REACH * with_margin(lags, median(lags)) : FIRST_NS;
    lags->slack_ns = slack_of(lags, lags->limit_ns);
    lags->since_computed = 0; /* nothing to compute before the first call */
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
