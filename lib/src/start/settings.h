/* The settings of a communicator: one table of keys serves MPI_Info, the environment and MPIX_Harmonize_get_info. */
#ifndef DOWNBEAT_SETTINGS_H
#define DOWNBEAT_SETTINGS_H

#include "base/error.h"
#include "clock/clock.h"
#include "clock/validation.h"
#include "offset/offset.h"
#include "start/scheme.h"
#include "start/slack.h"
#include "start/transport.h"
#include "sync/sync.h"

#include <mpi.h>

#define DB_TOLERANCE_AUTO (-1)

struct db_settings {
    const struct db_clock_type *clock; /* NULL: the default, tsc where it is invariant, else monotonic_raw */
    struct db_scheme sync;
    int share; /* processes verified to share a clock are synchronized as one */
    struct db_validation validation;
    int transport; /* enum db_transport_kind */
    const struct db_slack_type *slack;
    int64_t slack_ns;     /* from decision to deadline where it is fixed, else 0 */
    int64_t tolerance_ns; /* DB_TOLERANCE_AUTO: follows from what the clocks can be known to */
    double max_age_ns;    /* 0: follows from scheme and slack, as the next two */
    double max_error_ns;
    double target_error_ns;
    double flag_error_ns; /* a process whose expected error is above has flag 0 */
    double max_skew;      /* relative, as max_wander */
    double max_wander;
};

/* Thresholds that follow from the settings; infinite where they do not matter. */
struct db_thresholds {
    int64_t tolerance_ns;   /* by which a process may leave late with a flag of 1 */
    double max_age_ns;      /* the age at which clocks are synchronized again */
    double target_error_ns; /* the expected error above which they are */
    double flag_error_ns;   /* the expected error above which a process's flag is 0 ... */
    double trust_ns;        /* ... and the age of the last comparison, whatever error is expected */
};

/* Built-in defaults, changed by the environment variables DOWNBEAT_*. Returns MPI_ERR_ARG and the reason if a variable
 * is unknown or has a bad value. */
int db_settings_from_environment(struct db_settings *settings, struct db_reason *reason);

/* Applies all keys of `info`, or none. Returns MPI_ERR_INFO_KEY or MPI_ERR_INFO_VALUE and the reason if a key is
 * unknown or has a bad value. */
int db_settings_from_info(struct db_settings *settings, MPI_Info info, struct db_reason *reason);

/* A number of each process and its complement: their maxima fit together only if all processes have the same. */
struct db_alike {
    int64_t value;
    int64_t complement;
};

static inline struct db_alike db_alike(int64_t value) {
    return (struct db_alike){.value = value, .complement = ~value};
}

static inline int db_are_alike(const struct db_alike *most) { return most->value == ~most->complement; }

/* All processes must have these before any goes on: the same settings, and a clock. */
struct db_offer {
    struct db_settings settings;
    struct db_clock clock;
    struct db_alike domain; /* of the clock, 0 if it is unknown; maxima once all have agreed */
    struct db_alike identity;
};

/* As db_agree_on_error, and whether all processes have the same settings. If not, all return MPI_ERR_ARG, and a process
 * that differs from process 0 names the first such setting. One collective operation if all is well. */
int db_settings_agree(MPI_Comm comm, struct db_offer *offer, int code, const struct db_reason *reason);

/* `automatic_ns`: the tolerance where the settings leave it open. */
#define DB_DEFAULT_TOLERANCE_NS 500
struct db_thresholds db_settings_thresholds(const struct db_settings *settings, int processes, int domains,
                                            int64_t automatic_ns);

/* Creates an info object with every key and its value; settings->clock must be known. */
int db_settings_to_info(const struct db_settings *settings, MPI_Info *info);

#endif
