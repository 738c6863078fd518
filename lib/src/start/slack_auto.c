/* The default controller, slack=auto: the slack of least cost. The lag of a process is the time from the decision until
 * it is ready to wait; a slack s suffices if it is at least the largest lag of the call. But the longer the wait, the
 * more often the kernel preempts a process during it. With F the distribution function of the largest lag, C the
 * duration of a call without its slack, and h the rate of late exits per ns of waiting, the mean time per valid call is
 * (C + s) (1 + h s) / F(s). The controller selects the s of least cost over a window of calls, so the slack follows the
 * lags up and down. Lags are counted in a histogram; its bins are the candidates for s. */
#include "start/slack.h"

#include "base/error.h"
#include "start/decision.h"
#include "start/trial.h"

#include <math.h>

/* Margin above the lag of least cost: a share of the lag, within limits. The cost is flat around its minimum, and with
 * longer slacks fewer calls must be repeated. Chosen by hand; depends on the machine. With the lags of messages, half
 * or twice the values makes no difference. */
#define MARGIN_SHARE 0.25
#define MIN_MARGIN_NS 25.0
#define MAX_MARGIN_NS 250.0
/* Limit of the slack: REACH times the lag (with margin) of the last call without a miss, times GROWTH for each miss
 * since then. GROWTH is from Schuchart 2023, Alg. 1, line 15, where the growth is permanent. REACH is chosen by hand;
 * half or twice the value makes no difference. */
#define REACH 16
#define GROWTH 1.5
/* A clock is coarse if its step is at least this long: below the 238 ns of MPICH's MPI_Wtime, above the 20 to 100 ns
 * that a reading takes, which is the step of a fine clock. */
#define MIN_STEP_NS 200.0
/* The first slack: FIRST_REACH times the median lag (with margin) of the trial rounds (trial.h), because a program that
 * makes a single call loses everything if it is late. FIRST_NS if every trial round was interrupted. Measured by
 * first_rejected_percent of make bench: 0.2 to 0.8 %. Half or twice the values makes no difference. */
#define FIRST_REACH 8
#define FIRST_NS 30000
/* Calls between two computations of the slack, which are expensive, while the slack changes slowly. Chosen by hand;
 * half or twice the value makes no difference. */
#define COMPUTE_EVERY 32
/* Factor by which the weight of a miss decreases in each later call. */
#define MISS_DECAY 0.9
/* Burst of misses: if the weight of recent misses exceeds BURST_MISSES (two misses in short succession), the latest
 * DB_SLACK_RECENT calls count more than the window, which then counts as only WINDOW_CALLS calls. Chosen by hand; half
 * or twice the values makes no difference. */
#define BURST_MISSES 1.5
#define WINDOW_CALLS (DB_SLACK_RECENT / 4.0)
/* Weight of a call in the exponential averages of C and h: they average over about twice COMPUTE_EVERY calls. Chosen by
 * hand; half or twice the value makes no difference. The duration of a call is limited to MAX_BASE_RATIO times the
 * average, so that a pause of the application does not count as the cost of a call. */
#define WEIGHT (1.0 / (2.0 * COMPUTE_EVERY))
#define MAX_BASE_RATIO 4.0

/* Bins of the histogram of lags per power of two, up to 2 s. Their resolution of 6 % is finer than a slack's margin. */
#define BINS_PER_OCTAVE 16

/* The bin of a lag. */
static int bin_of(int64_t lag_ns) {
    uint32_t lag = lag_ns < INT32_MAX ? (uint32_t)lag_ns : INT32_MAX;
    if (lag < BINS_PER_OCTAVE)
        return (int)lag;
    int octave = 31 - __builtin_clz(lag) - 4; /* 4: log2(BINS_PER_OCTAVE) */
    return octave * BINS_PER_OCTAVE + (int)(lag >> octave);
}

/* The largest lag in a bin, ns. */
static int64_t max_lag_of(int bin) {
    if (bin < BINS_PER_OCTAVE)
        return bin;
    int octave = bin / BINS_PER_OCTAVE - 1;
    return ((int64_t)(BINS_PER_OCTAVE + bin % BINS_PER_OCTAVE + 1) << octave) - 1;
}

/* Adds the lag of a call to the window; it replaces the oldest one of a full window. */
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

/* Cost of a valid call, up to a constant factor, with a slack that suffices for this share (or number) of the calls. */
static double cost(const struct db_slack_lags *lags, double slack_ns, double share) {
    double waited_ns = lags->waited_ns > 1.0 ? lags->waited_ns : 1.0;
    return (lags->base_ns + slack_ns) * (1.0 + lags->late / waited_ns * slack_ns) / share;
}

/* Returns the bin of least cost over the window. */
static int cheapest_bin(const struct db_slack_lags *lags) {
    double min_cost = INFINITY;
    int best = 0;
    int count = 0;
    for (int bin = 0; count < lags->count; ++bin) {
        if (lags->bins[bin] == 0)
            continue;
        count += lags->bins[bin];
        double bin_cost = cost(lags, (double)max_lag_of(bin), count);
        if (bin_cost <= min_cost) {
            min_cost = bin_cost;
            best = bin;
        }
    }
    return best;
}

/* The bin of the call `back` calls ago; 1: the last call. */
static int recent(const struct db_slack_lags *lags, int back) {
    return lags->window[(lags->next - back + DB_SLACK_WINDOW) % DB_SLACK_WINDOW];
}

/* Weighted number of calls whose lag is at most that of the bin: the window counts as WINDOW_CALLS, each of the latest
 * calls as 1. */
static double share_of(const struct db_slack_lags *lags, int bin) {
    int count = 0;
    for (int i = 0; i <= bin; ++i)
        count += lags->bins[i];
    double share = WINDOW_CALLS * count / lags->count;
    for (int back = 1; back <= DB_SLACK_RECENT; ++back)
        share += recent(lags, back) <= bin;
    return share;
}

/* Returns the bin of least cost, by the weights of share_of, among `window_bin` and the bins of the latest calls above
 * it. */
static int recent_cheapest_bin(const struct db_slack_lags *lags, int window_bin) {
    int best = window_bin;
    double min_cost = cost(lags, (double)max_lag_of(window_bin), share_of(lags, window_bin));
    for (int back = 1; back <= DB_SLACK_RECENT; ++back) {
        int bin = recent(lags, back);
        double bin_cost = cost(lags, (double)max_lag_of(bin), share_of(lags, bin));
        if (bin > window_bin && bin_cost < min_cost) {
            min_cost = bin_cost;
            best = bin;
        }
    }
    return best;
}

/* Median lag of the window, ns. */
static int64_t median(const struct db_slack_lags *lags) {
    int bin = 0;
    for (int count = lags->bins[0]; 2 * count < lags->count; count += lags->bins[bin])
        ++bin;
    return max_lag_of(bin);
}

/* A lag plus its margin, ns. With a coarse clock the margin is at least a step. */
static double with_margin(const struct db_slack_lags *lags, int64_t lag_ns) {
    double margin_ns = fmax(MIN_MARGIN_NS, lags->step_ns) + MARGIN_SHARE * (double)lag_ns;
    return (double)lag_ns + fmin(margin_ns, fmax(MAX_MARGIN_NS, lags->step_ns));
}

/* The slack to use instead of an optimal one. With a coarse clock it is just below a multiple of the step, because
 * decisions are made at steps of the clock, and waits end at steps. */
static int64_t slack_of(const struct db_slack_lags *lags, double optimal_ns) {
    double step_ns = lags->step_ns;
    return llrint(step_ns > 0.0 ? ceil(optimal_ns / step_ns) * step_ns - DB_ROUNDING_NS : optimal_ns);
}

/* Adds the lag of a call to the histogram, and counts its misses. */
static void observe(struct db_slack *slack, const struct db_slack_call *call) {
    struct db_slack_lags *lags = &slack->lags;
    insert(lags, call->lag_ns);
    double base_ns = (double)call->base_ns;
    if (lags->base_ns == 0.0) /* the first call */
        lags->base_ns = base_ns;
    else if (base_ns > MAX_BASE_RATIO * lags->base_ns)
        base_ns = MAX_BASE_RATIO * lags->base_ns;
    lags->base_ns += WEIGHT * (base_ns - lags->base_ns);

    int missed = call->lag_ns > call->slack_ns;
    if (!missed) { /* only then all processes have waited for the slack */
        lags->waited_ns += WEIGHT * ((double)call->slack_ns - lags->waited_ns);
        lags->late += WEIGHT * (call->late - lags->late);
    }
    lags->limit_ns = missed ? GROWTH * lags->limit_ns : REACH * with_margin(lags, call->lag_ns);
    lags->misses = MISS_DECAY * lags->misses + missed;
    lags->missed |= missed;
    ++lags->since_computed;
}

/* Computes the slack from the histogram again, if that is due. */
static void adapt(struct db_slack *slack) {
    struct db_slack_lags *lags = &slack->lags;
    int due = lags->since_computed >= COMPUTE_EVERY || lags->count < COMPUTE_EVERY || lags->missed;
    if (lags->since_computed == 0 || !due)
        return;
    int bin = cheapest_bin(lags);
    if (lags->misses > BURST_MISSES && lags->count >= DB_SLACK_RECENT)
        bin = recent_cheapest_bin(lags, bin);
    lags->slack_ns = slack_of(lags, fmin(with_margin(lags, max_lag_of(bin)), lags->limit_ns));
    lags->since_computed = 0;
    lags->missed = lags->misses > BURST_MISSES; /* compute in every call until the burst is over */
}

static int64_t next(const struct db_slack *slack) { return slack->lags.slack_ns; }

static int begin(struct db_state *state) {
    DB_TRY(db_trial_rounds(state, DB_DESCHEDULED_NS));
    if (state->rank > 0)
        return MPI_SUCCESS;
    struct db_slack_lags *lags = &state->slack->lags;
    const double step_ns = state->clocks.clock.resolution_ns;
    lags->step_ns = step_ns >= MIN_STEP_NS ? step_ns : 0.0;
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
