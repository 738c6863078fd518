/* Slack: how far ahead of its decision process 0 sets the deadline. Knows nothing of MPI.
 *
 * The lag of a process is the time from the decision to the moment at which it is ready to wait; the largest lag of a
 * call decides whether a slack would have been enough. With F the distribution of the largest lag, and C the time that
 * a call costs besides its slack, a valid call costs (C + s) / F(s): a longer wait for all against a repeated call. The
 * slack is the s of least cost over a window of calls, so it grows with the lags and shrinks again. */
#ifndef DOWNBEAT_SLACK_H
#define DOWNBEAT_SLACK_H

#include <stdint.h>

#define DB_SLACK_WINDOW 512
#define DB_SLACK_RECENT 16

struct db_slack {
    int64_t fixed_ns;                /* 0: follows the lags */
    int64_t window[DB_SLACK_WINDOW]; /* largest lags, ns, in the order of calls: a ring */
    int64_t sorted[DB_SLACK_WINDOW]; /* the same, ascending */
    int count;                       /* of lags in the window */
    int next;                        /* where the next lag goes in the ring */
    double rest_ns;                  /* C, smoothed */
    double misses;                   /* recent misses, each counting 0.9 of the next one */
    int64_t least_cost_ns;           /* slack of least cost when it was last computed */
    int since_computed;              /* calls since then */
    int missed;                      /* whether one of them was missed */
};

/* `fixed_ns` > 0 keeps the slack at that. */
void db_slack_init(struct db_slack *slack, int64_t fixed_ns);

/* Records a call: its largest lag, the slack it was given, and what the call cost besides its slack. Takes some 100 ns.
 */
void db_slack_observe(struct db_slack *slack, int64_t lag_ns, int64_t given_ns, int64_t rest_ns);

/* Adapts the slack to what was recorded, where that is due: now and then, and after a miss. Takes as long as a call has
 * slack. */
void db_slack_adapt(struct db_slack *slack);

/* The slack for the next call, ns. */
int64_t db_slack_next(const struct db_slack *slack);

#endif
