/* Downbeat's state of a communicator: an attribute of it, with a private duplicate for messages. */
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
#include "sync/levels.h"
#include "sync/sync.h"
#include <mpix_harmonize.h>

/* What another file hangs on a state, e.g. a region: concluded and destroyed with it, as attribute.h says. */
struct db_dependent {
    void (*conclude)(struct db_dependent *dependent);
    void (*destroy)(struct db_dependent *dependent);
    struct db_dependent *next; /* of the state's */
};

struct db_state {
    struct db_attribute attribute; /* first: this is attached to the communicator */
    struct db_channel channel;
    int rank;
    int size;
    struct db_settings settings;
    double max_age_ns; /* that follow from them */
    double target_error_ns;
    double flag_error_ns;
    double trust_ns;
    int oversubscribed;
    enum db_patience patience; /* of all channels */

    struct db_clock clock;
    struct db_clock_map local; /* its time since it was opened, at the rate that it was taken to have then */
    double local_rate_error;   /* bound of that rate's error, relative */
    struct db_domain domain;
    struct db_clock_map map;
    struct db_levels levels;        /* where the scheme asks for them */
    struct db_histories *histories; /* by level of the scheme; NULL where there is no other clock */
    struct db_pair *pairs;          /* DB_MAX_PAIRS by level, in the same memory */
    struct {                        /* the end of the last synchronization */
        int64_t ticks;
        double bound_ns;
        double deviation_ns;
        double lasted_ns;
        double lasted_before_ns; /* the one before it, with as many levels; 0 if there was none */
    } fresh;
    /* A difference in frequency that would explain what the limits exclude, relative; 0: nothing did. The first one is
     * told, and as long as the last look at the clock was one, this process does not trust it. */
    double contradicted;
    double doubt;
    int told;           /* on process 0: whether that was said */
    int sync_depth;     /* levels of the tree of a scheme that can have more or fewer; the same on all processes */
    double due_sync_ns; /* time spent in those that the library itself found due */

    struct db_slack *slack; /* on process 0, else NULL */

    /* The last call. */
    int64_t deadline_ns;
    int64_t slack_ns;
    int64_t lag_ns;
    int64_t released; /* readings: when this process was to leave, and did leave */
    int64_t left;
    int invalid;         /* this process's flag was 0 */
    int verdict;         /* on the call before it */
    int64_t lateness_ns; /* of the latest process in that call */

    /* On process 0: the decision of the last call, and the observation of it that the next call gives the slack
     * controller. It does so when process 0 arrives, so that no process waits for it between report and decision. */
    int64_t decided_ns;
    int patient_calls; /* to come */
    int observed;      /* 1 if there is one */
    struct db_slack_call observation;

    struct db_dependent *dependents; /* in one and the same order on all processes */

    long long calls;
    long long late_arrivals;
    long long late_exits;
    long long unflagged_exits;
    long long unsure_clocks;
    long long contradictions;
    long long invalid_calls;
    long long syncs;
    double sync_ns;
    long long messages; /* sent and received one by one */
    long long sync_messages;
};

/* The state of comm, prepared if need be. Collective where it may be missing. */
int db_state_prepare(MPI_Comm comm, struct db_state **state);

/* The state of comm, or MPI_ERR_OTHER if comm was never prepared. Local. */
int db_state_find(MPI_Comm comm, struct db_state **state);

/* Hangs `dependent`, with all but next set, on the state. All processes must do so in the same order. */
void db_state_add_dependent(struct db_state *state, struct db_dependent *dependent);

/* Opens the clock that the offered settings ask for, and writes into them which one the default is. All agree to the
 * offer, or none. `code`: of this process so far, with its reason. Collective. */
int db_state_agree(MPI_Comm comm, struct db_offer *offer, int code, struct db_reason *reason);

/* Puts into force what all have agreed to. Collective; changes all or nothing. */
int db_state_configure(struct db_state *state, struct db_offer *wanted);

/* Synchronizes the clocks. Collective. */
int db_state_synchronize(struct db_state *state);

/* This process's clock did what the limits exclude; a relative difference in frequency would explain it. Flags are 0
 * until a synchronization that nothing contradicts. */
void db_state_contradict(struct db_state *state, double difference);

#endif
