/* Downbeat's state of a communicator: an attribute of it, with a private duplicate for messages. Each member of struct
 * db_state is written by one file. */
#ifndef DOWNBEAT_STATE_H
#define DOWNBEAT_STATE_H

#include "base/error.h"
#include "base/message.h"
#include "clock/clock.h"
#include "clock/clock_map.h"
#include "offset/offset.h"
#include "start/attribute.h"
#include "start/domain.h"
#include "start/settings.h"
#include "start/slack.h"
#include "start/transport.h"
#include "sync/levels.h"
#include "sync/sync.h"

#include <mpix_harmonize.h>

/* The processes' patience (patience.h). */
struct db_waiting {
    int one_node;
    int oversubscribed;
    enum db_patience patience; /* current patience of all channels */
    int patient_calls;         /* on process 0: number of calls that must go well before waits stop sleeping */
};

struct db_clocks {
    struct db_clock clock;
    struct db_clock_map local; /* to local time, ns since the clock was opened, at the rate assumed then */
    double local_rate_error;   /* bound of the relative error of that rate */
    struct db_domain domain;
    struct db_clock_map map;
    struct db_levels levels;        /* used by schemes with `divided` */
    struct db_histories *histories; /* by level of the scheme; NULL if there is no other clock */
    struct db_pair *pairs;          /* DB_MAX_PAIRS per level, in the memory of `histories` */
};

struct db_synchronizations {
    struct {
        int64_t ticks; /* reading at its end */
        double bound_ns;
        double deviation_ns;
        double lasted_ns;
        double lasted_before_ns; /* of the synchronization before it, if it had as many levels; else 0 */
    } last;
    int depth;     /* levels of the tree, for schemes with a variable radix; the same on all processes */
    double due_ns; /* time spent in automatic synchronizations */
    /* On process 0: the period in which urgent synchronizations have a larger budget. It begins with the clock, and
     * again after a contradiction. Times are ns since the clock was opened. */
    struct {
        double from_ns;  /* its last begin, or the first call after a pause without synchronizations */
        double until_ns; /* its end, if there was a contradiction; else 0 */
        double again_ns; /* sum of all such periods after contradictions */
        double due_ns;   /* `due_ns` above, when it ended */
    } beginning;
    /* Range of readings, inclusive, in which no synchronization is due and the clock is accurate enough for flags;
     * empty if `from` > `until`. */
    struct db_good {
        int64_t from;
        int64_t until;
    } good;
    long long count;
    double spent_ns;
    long long messages;
};

/* contradiction.c */
struct db_contradiction {
    double unreported; /* the largest since this process's last report */
    int unresolved;    /* 1 from a contradiction until a synchronization without one; flags are 0 meanwhile */
    int printed;       /* on process 0: 1 if a contradiction on this communicator was printed */
    long long count;
};

/* tolerance=auto, on process 0; tolerance.c */
struct db_tolerance {
    /* Positive: number of consecutive synchronizations with a larger expected error than flags allow. Negative: number
     * of those with an error small enough for half the tolerance. */
    int streak;
    double least_ns; /* smallest error of a positive streak */
    int printed;     /* 1 if the message about a long positive streak was printed */
};

/* The last call. */
struct db_call {
    int64_t deadline_ns;
    int64_t slack_ns;
    int64_t lag_ns;
    int64_t released; /* readings: when this process should have left, and when it left */
    int64_t left;
    int invalid;         /* 1 if this process's flag was 0 */
    int needs;           /* open needs of the last decision (enum db_need); the same on all processes */
    int disordered;      /* 1 if this process observed times out of order, which needs process 0 in the next call */
    int verdict;         /* result of MPIX_Harmonize_verdict: on the call before it */
    int64_t lateness_ns; /* largest lateness in that call */
};

/* On process 0: the last decision, and the observation of the call before it, which the slack controller gets during a
 * wait or at the next arrival, not between report and decision, when processes wait. */
struct db_root {
    int64_t decided_ns;               /* time of the last decision on the global clock */
    struct db_slack_call observation; /* none if `given_ns` is 0 */
};

struct db_counters {
    long long calls;
    long long late_arrivals;
    long long late_exits;
    long long unflagged_exits;
    long long unsure_clocks;
    long long invalid_calls;
};

struct db_state {
    struct db_attribute attribute; /* first member: the state is attached to the communicator */
    struct db_channel channel;
    struct db_watched watched; /* used by the channel if process failures are survivable */
    long long messages;        /* number of point-to-point messages (message.h) */
    int rank;
    int size;
    struct db_settings settings;
    struct db_thresholds thresholds;
    struct db_slack *slack; /* on process 0, else NULL; slack_*.c */
    struct db_transport transport;
    struct db_waiting waiting; /* decision.c */
    struct db_clocks clocks;   /* clocks.c; also `syncs` */
    struct db_synchronizations syncs;
    struct db_contradiction contradiction;
    struct db_tolerance tolerance;
    struct db_call call; /* harmonize.c; also `root` and `counters` */
    struct db_root root;
    struct db_counters counters;
};

#endif
