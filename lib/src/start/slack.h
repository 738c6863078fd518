/* Slack: how far ahead of its decision process 0 sets the deadline.
 *
 * A controller chooses it. It is a complete method: it also decides the consequence of a missed deadline, when clocks
 * are synchronized, and when the flag is decided. There is one file for each, slack_<name>.c. Except for its beginning,
 * it does not depend on MPI. */
#ifndef DOWNBEAT_SLACK_H
#define DOWNBEAT_SLACK_H

#include "base/component.h"

#include <stdint.h>

struct db_state;
struct db_slack;

/* A call, as a controller sees it. */
struct db_slack_call {
    int64_t lag_ns; /* largest of all processes */
    int64_t given_ns;
    int64_t rest_ns; /* the time that it took without the slack */
    int late;        /* 1 if all were ready in time, and one left late all the same */
};

struct db_slack_type {
    struct db_component component;
    /* 1: the flag says whether the deadline was still ahead when the wait began; 0: also whether the wait ended at
     * it. */
    int flag_before_wait;
    /* Clocks are synchronized by age alone, at this age unless setting max_age says otherwise; 0: by settings max_age
     * and max_error. */
    double age_ns;
    /* Collective. Measures the basis of the first slack; all other members are zero before. */
    int (*begin)(struct db_state *state);
    /* The others run on process 0, once per call, in this order; NULL where there is nothing to do. */
    int64_t (*next)(const struct db_slack *slack);
    int (*judge)(struct db_slack *slack, int missed);
    void (*observe)(struct db_slack *slack, const struct db_slack_call *call);
    void (*adapt)(struct db_slack *slack);
};

extern const struct db_slack_type db_slack_auto;
extern const struct db_slack_type db_slack_published;
extern const struct db_slack_type db_slack_fixed;

/* Registry (registry.h) of the controllers that can be chosen by name; the first is the default. */
extern const void *const db_slack_types[];

/* Calls that a slack follows from, and those of a burst of misses. Choice: a lag of 1 in 100 is in the window some 5
 * times; half and twice: not measured. Bins: 16 for each power of two up to 2^31 ns, less those below 16 ns
 * (slack_auto.c). */
#define DB_SLACK_WINDOW 512
#define DB_SLACK_RECENT 16
#define DB_SLACK_BINS 448

struct db_slack {
    const struct db_slack_type *type;
    union {
        struct db_slack_lags {
            uint16_t window[DB_SLACK_WINDOW]; /* bins of largest lags, in the order of calls: a ring */
            uint16_t bins[DB_SLACK_BINS];     /* lags of the window in each */
            int count;                        /* of lags in the window */
            int next;                         /* where the next lag goes in the ring */
            double rest_ns;                   /* C, smoothed */
            double waited_ns;                 /* slack that was given, smoothed */
            double late;                      /* share of calls that a process left late, smoothed */
            double misses;                    /* recent misses, each counting 0.9 of the next one */
            double limit_ns;                  /* of the slack */
            double step_ns;                   /* of a coarse clock, else 0 */
            int64_t slack_ns;                 /* as it was last computed */
            int since_computed;               /* calls since then */
            int missed;                       /* whether it is to be computed anew because of misses */
        } lags;
        struct db_slack_growing {
            double slack_ns;
            int begun; /* whether the last call was made with this slack */
        } growing;
        int64_t fixed_ns;
    };
};

/* Chooses the controller. `fixed_ns` > 0 is the slack of db_slack_fixed. */
void db_slack_init(struct db_slack *slack, const struct db_slack_type *type, int64_t fixed_ns);

/* `missed`: whether any process's flag was 0 in the last call. Returns 1 if clocks must be synchronized because of
 * that. */
int db_slack_judge(struct db_slack *slack, int missed);

/* The slack for the next call, ns. */
int64_t db_slack_next(const struct db_slack *slack);

/* Records a call. Takes some 20 ns. */
void db_slack_observe(struct db_slack *slack, const struct db_slack_call *call);

/* Adapts the slack to the recorded calls, if needed: now and then, and after a miss. May take as long as a call's
 * slack. */
void db_slack_adapt(struct db_slack *slack);

#endif
