/* Slack: the time from process 0's decision to the deadline.
 *
 * A controller chooses the slack. It is a complete method: it also decides the consequence of a missed deadline, when
 * clocks are synchronized, and when the flag is decided. Each controller is a file slack_<name>.c. Except for `begin`,
 * it does not depend on MPI. Lag: time from the decision until a process is ready to wait; a process misses the
 * deadline if its lag exceeds the slack. */
#ifndef DOWNBEAT_SLACK_H
#define DOWNBEAT_SLACK_H

#include "base/component.h"

#include <stdint.h>

struct db_state;
struct db_slack;

/* A controller's observation of a call. */
struct db_slack_call {
    int64_t lag_ns;   /* largest lag of all processes */
    int64_t slack_ns; /* slack of that call */
    int64_t base_ns;  /* time from that call's decision to the next one, without the slack */
    int late;         /* 1 if all processes were ready in time but one left late */
};

/* A type of controller. */
struct db_slack_type {
    struct db_component component;
    /* 1: the flag is 1 if the process began to wait before the deadline; 0: it must also have left in time. */
    int flag_before_wait;
    /* Age of the last synchronization at which clocks are synchronized, only because of their age (or setting max_age),
     * ns. 0: the settings max_age, max_error and target_error decide. */
    double age_ns;
    /* Measures the first slack; the controller's state is zeroed before. Collective. */
    int (*begin)(struct db_state *state);
    /* Called on process 0, as the functions db_slack_next etc. below; judge, observe and adapt may be NULL. */
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

/* Of slack_auto.c: number of calls that determine the slack (the window), and in a burst of misses; number of bins of
 * the histogram: 16 for each power of two up to 2^31 ns, fewer below 16 ns. Chosen by hand: a lag of 1 in 100 calls is
 * in the window some 5 times. Half and twice the values are not measured. */
#define DB_SLACK_WINDOW 512
#define DB_SLACK_RECENT 16
#define DB_SLACK_BINS 448

/* A controller and its state, by type: `lags` of slack_auto.c, `growing` of slack_published.c, `fixed_ns` of
 * slack_fixed.c. */
struct db_slack {
    const struct db_slack_type *type;
    union {
        struct db_slack_lags {
            uint16_t window[DB_SLACK_WINDOW]; /* ring of the latest calls' bins */
            uint16_t bins[DB_SLACK_BINS];     /* histogram of the window */
            int count;                        /* number of lags in the window */
            int next;                         /* ring index of the next lag */
            double base_ns;                   /* duration of a call without the slack (C in slack_auto.c), smoothed */
            double waited_ns;                 /* slack of calls that all processes were ready for in time, smoothed */
            double late;                      /* share of calls with a late exit, smoothed */
            double misses;                    /* recent misses, weighted by 0.9 per call since */
            double limit_ns;                  /* upper limit of the slack */
            double step_ns;                   /* step of a coarse clock, else 0 */
            int64_t slack_ns;                 /* slack in force */
            int since_computed;               /* calls since slack_ns was computed */
            int missed;                       /* 1 if slack_ns must be computed again because of misses */
        } lags;
        struct db_slack_growing {
            double slack_ns; /* current slack */
            int begun;       /* 1 if the controller was in force in the last call */
        } growing;
        int64_t fixed_ns;
    };
};

/* Selects the controller. `fixed_ns` > 0 is the slack of db_slack_fixed. */
void db_slack_init(struct db_slack *slack, const struct db_slack_type *type, int64_t fixed_ns);

/* Processes the result of the last call. `missed`: 1 if any process's flag was 0. Returns 1 if clocks must be
 * synchronized because of it. */
int db_slack_judge(struct db_slack *slack, int missed);

/* Returns the slack for the next call, ns. */
int64_t db_slack_next(const struct db_slack *slack);

/* Records the observation of a call. Takes some 20 ns. */
void db_slack_observe(struct db_slack *slack, const struct db_slack_call *call);

/* Recomputes the slack from the recorded calls if that is due: every 32 calls and after a miss. May take as long as a
 * call's slack. */
void db_slack_adapt(struct db_slack *slack);

#endif
