/* Downbeat's state of a communicator: an attribute of it, with a private duplicate for messages. Each part is written
 * by one file. */
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

/* How processes wait for messages. */
struct db_waiting {
    int one_node;
    int oversubscribed;
    enum db_patience patience; /* of all channels */
    int patient_calls;         /* on process 0: calls that have to go well before processes stop sleeping in waits */
};

struct db_clocks {
    struct db_clock clock;
    struct db_clock_map local; /* its time since it was opened, at the rate assumed then */
    double local_rate_error;   /* bound of that rate's error, relative */
    struct db_domain domain;
    struct db_clock_map map;
    struct db_levels levels;        /* for schemes that need them */
    struct db_histories *histories; /* by level of the scheme; NULL where there is no other clock */
    struct db_pair *pairs;          /* DB_MAX_PAIRS by level, in the same memory */
};

struct db_synchronizations {
    struct {
        int64_t ticks; /* its end */
        double bound_ns;
        double deviation_ns;
        double lasted_ns;
        double lasted_before_ns; /* the one before it, with as many levels; 0 if there was none */
    } last;
    int depth;     /* levels of the tree, if the scheme can have more or fewer; the same on all processes */
    double due_ns; /* time spent in those that the library itself found due */
    /* On process 0, in ns since its clock was opened: the time in which urgent ones have a larger share. It begins with
     * the clock, and again after a contradiction. */
    struct {
        double from_ns;  /* the last begin, or the first call after a pause without synchronizations */
        double until_ns; /* the end, after the last contradiction; 0: there was none */
        double again_ns; /* the sum of all such times after contradictions */
        double due_ns;   /* `due_ns` of the synchronizations when it ended */
    } beginning;
    /* Readings, both included, between which no synchronization is due and this clock is sure enough for flags; none if
     * `from` is later than `until`. */
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
    double
        unreported; /* the largest since this process's last report, as a positive difference in frequency, relative */
    int unresolved; /* the last synchronization, or what came after it, contradicts this clock: its flags are 0 */
    int printed;    /* on process 0: one of this communicator was printed */
    long long count;
};

/* tolerance=auto, on process 0: tolerance.c */
struct db_tolerance {
    /* Positive: synchronizations in a row that left a larger error than flags allow. Negative: as many in a row that
     * left one small enough for half the tolerance. */
    int streak;
    double least_ns; /* the smallest error of a positive streak */
    int printed;     /* that streak was printed as hopeless */
};

/* The last call. */
struct db_call {
    int64_t deadline_ns;
    int64_t slack_ns;
    int64_t lag_ns;
    int64_t released; /* readings: when this process was to leave, and did leave */
    int64_t left;
    int invalid;         /* this process's flag was 0 */
    int needs;           /* bits of enum db_need that the last decision left open; the same on all processes */
    int disordered;      /* this process saw times out of order: it needs process 0 in the next call */
    int verdict;         /* on the call before it */
    int64_t lateness_ns; /* of the latest process in that call */
};

/* On process 0: the last decision, and an observation of the call before it. The slack controller gets it when process
 * 0 arrives or has time in its wait, so that no process waits for it between report and decision. */
struct db_root {
    int64_t decided_ns;               /* on the global clock */
    struct db_slack_call observation; /* `given_ns` is 0 if there is none */
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
    struct db_attribute attribute; /* first: this is attached to the communicator */
    struct db_channel channel;
    struct db_watched watched; /* by the channel, where processes may be lost */
    long long messages;        /* sent and received one by one: message.h */
    int rank;
    int size;
    struct db_settings settings;
    struct db_thresholds thresholds;
    struct db_slack *slack; /* on process 0, else NULL: slack_*.c */
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
