/* The library's state of a communicator: an attribute (attribute.h) of the communicator, with a private duplicate for
 * messages. Each member of struct db_state is written by one file, which its comment names. Readings are in ticks of
 * the local clock. */
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

/* How processes wait for messages (patience.h). */
struct db_waiting {
    int one_node;              /* 1 if all processes report the same node */
    int oversubscribed;        /* 1 if a node has more processes than processors */
    enum db_patience patience; /* current patience of all channels */
    int patient_calls; /* on process 0: number of calls without a descheduled process until waits stop sleeping */
};

/* The local clock and its maps. */
struct db_clocks {
    struct db_clock clock;
    struct db_clock_map
        local;               /* from readings to local time: ns since the clock was opened, at the rate assumed then */
    double local_rate_error; /* bound of the relative error of that rate */
    struct db_domain domain; /* processes that share this clock */
    struct db_clock_map map; /* from readings to the global clock */
    struct db_levels levels; /* for schemes with `divided` (sync.h) */
    struct db_histories *histories; /* earlier comparisons, by level of the scheme; NULL if there is one domain */
    struct db_pair *pairs;          /* round trips of pairs: DB_MAX_PAIRS per level, in the memory of `histories` */
};

/* Clock synchronizations. */
struct db_synchronizations {
    /* The last one; all members are 0 before the first one. */
    struct {
        int64_t ticks;       /* reading at its end */
        double bound_ns;     /* error bound directly after it */
        double deviation_ns; /* expected error directly after it, without path asymmetry */
        double duration_ns;
        double
            previous_duration_ns; /* duration of the synchronization before it; 0 if it had another number of levels */
    } last;
    int depth;           /* levels of the tree, for schemes with a variable radix; the same on all processes */
    double automatic_ns; /* time spent in automatic synchronizations */
    /* On process 0: the period in which urgent synchronizations have a larger budget. It begins with the clock, and
     * again after a contradiction. Times are ns since the clock was opened. */
    struct {
        double start_ns; /* begin of the last such period, or the first call after a pause without synchronizations */
        double end_ns;   /* end of the last such period, if it followed a contradiction; else 0 */
        double extra_ns; /* sum of the durations of all such periods after contradictions */
        double automatic_ns; /* value of `automatic_ns` above at the end of the last such period */
    } beginning;
    /* Range of readings, inclusive, in which no synchronization is due and the clock is accurate enough for flags;
     * empty if `from` > `until`. */
    struct db_good {
        int64_t from;
        int64_t until;
    } good;
    long long count;    /* number of synchronizations */
    double spent_ns;    /* time spent in all synchronizations */
    long long messages; /* messages that this process has sent or received for them */
};

/* Contradictions of this process's clock (contradiction.h). */
struct db_contradiction {
    double unreported; /* size of the largest one since this process's last report; 0: none */
    int unresolved;    /* 1 from a contradiction until a synchronization without one; flags are 0 meanwhile */
    int printed;       /* on process 0: 1 if a contradiction on this communicator was printed */
    long long count;   /* number of contradictions */
};

/* State of tolerance=auto (tolerance.h), on process 0. */
struct db_tolerance {
    /* Positive: number of consecutive synchronizations with a larger expected error than flags allow. Negative: number
     * of consecutive synchronizations whose expected error is small enough for half the tolerance. */
    int streak;
    double min_error_ns; /* smallest error of a positive streak */
    int printed;         /* 1 if the message about a long positive streak was printed */
};

/* The last call. */
struct db_call {
    int64_t deadline_ns; /* on the global clock */
    int64_t slack_ns;    /* time from the decision to the deadline */
    int64_t lag_ns;      /* time from the decision until this process was ready to wait */
    int64_t due_ticks;   /* reading at which this process should have left: deadline plus delay */
    int64_t exit_ticks;  /* reading at which it left */
    int invalid;         /* 1 if this process's flag was 0 */
    int needs;           /* open needs of the last decision (enum db_need); the same on all processes */
    int disordered;      /* 1 if this process observed times out of order, which needs process 0 in the next call */
    int verdict;         /* result of MPIX_Harmonize_verdict: 1 if all flags were 1 in the call before the last one */
    int64_t lateness_ns; /* largest lateness in the call before the last one */
};

/* On process 0: the last decision, and the observation of the call before it. The slack controller gets the observation
 * during a wait or at the next arrival, not between reports and decision, when all processes wait for process 0. */
struct db_root {
    int64_t decided_ns;               /* time of the last decision on the global clock */
    struct db_slack_call observation; /* none if `slack_ns` is 0 */
};

/* Counts of MPIX_Harmonize_stats. */
struct db_counters {
    long long calls;
    long long late_arrivals;
    long long late_exits;
    long long unflagged_exits;
    long long unsure_clocks;
    long long invalid_calls;
};

/* Everything that the library knows about a communicator. */
struct db_state {
    struct db_attribute attribute; /* first member: the state is attached to the communicator */
    struct db_channel channel;     /* of all processes, on the private duplicate */
    struct db_watched watched;     /* used by the channel if process failures are survivable */
    long long messages;            /* number of point-to-point messages of this process (message.c) */
    int rank;
    int size;
    struct db_settings settings;     /* prepare.c; also `thresholds` */
    struct db_thresholds thresholds; /* limits that follow from the settings */
    struct db_slack *slack;          /* on process 0, else NULL; slack_*.c */
    struct db_transport transport;   /* transport.c */
    struct db_waiting waiting;       /* decision.c */
    struct db_clocks clocks;         /* clocks.c; also `syncs` */
    struct db_synchronizations syncs;
    struct db_contradiction contradiction; /* contradiction.c */
    struct db_tolerance tolerance;         /* tolerance.c */
    struct db_call call;                   /* harmonize.c; also `root` and `counters` */
    struct db_root root;
    struct db_counters counters;
};

#endif
