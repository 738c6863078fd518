/* The settings of a communicator. One table of keys serves MPI_Info, the environment and MPIX_Harmonize_get_info. */
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

#define DB_TOLERANCE_AUTO (-1) /* value of tolerance_ns for tolerance=auto */

/* Values of the settings; mpix_harmonize.h explains the keys. */
struct db_settings {
    const struct db_clock_type *clock; /* NULL: the default, tsc if it is invariant, else monotonic_raw */
    struct db_scheme sync;             /* synchronization scheme */
    int share;                         /* 1: processes that are verified to share a clock are synchronized as one */
    struct db_validation validation;   /* error to add to the clock */
    int transport;                     /* enum db_transport_kind */
    const struct db_slack_type *slack;
    int64_t slack_ns;       /* a fixed slack; 0 if the slack is not fixed */
    int64_t tolerance_ns;   /* DB_TOLERANCE_AUTO: follows from the accuracy of the clocks */
    double max_age_ns;      /* age at which a synchronization is due; 0: automatic (db_settings_thresholds) */
    double max_error_ns;    /* error bound at which a synchronization is due */
    double target_error_ns; /* expected error at which a synchronization is due; 0: automatic */
    double flag_error_ns;   /* expected error above which a process's flag is 0; 0: automatic; infinity: off */
    double max_skew;        /* largest difference in frequency between two clocks, relative */
    double max_wander;      /* largest step of that difference, relative */
};

/* Thresholds that follow from the settings; infinite if they do not apply. */
struct db_thresholds {
    int64_t tolerance_ns;   /* largest lateness with a flag of 1 */
    double max_age_ns;      /* age of the last synchronization at which the next one is due */
    double target_error_ns; /* expected error above which a synchronization is due */
    double flag_error_ns;   /* expected error above which a process's flag is 0 */
    double trust_ns;        /* age of the last synchronization above which a process's flag is 0 */
};

/* The defaults, overridden by the environment variables DOWNBEAT_*. Returns MPI_ERR_ARG and the reason if a variable is
 * unknown or its value is not valid. */
int db_settings_from_environment(struct db_settings *settings, struct db_reason *reason);

/* Applies all keys of `info`, or none. Returns MPI_ERR_INFO_KEY or MPI_ERR_INFO_VALUE and the reason if a key is
 * unknown or its value is not valid. */
int db_settings_from_info(struct db_settings *settings, MPI_Info info, struct db_reason *reason);

/* A number and its complement, to compare the numbers of all processes by one MPI_MAX: the two maxima are complements
 * only if all processes have the same number. */
struct db_alike {
    int64_t value;
    int64_t complement;
};

/* A process's number, to be reduced. */
static inline struct db_alike db_alike(int64_t value) {
    return (struct db_alike){.value = value, .complement = ~value};
}

/* Returns 1 if all processes have the same number. */
static inline int db_are_alike(const struct db_alike *maxima) { return maxima->value == ~maxima->complement; }

/* Settings and clock that a process proposes; all processes must agree before they are put into force. */
struct db_offer {
    struct db_settings settings;
    struct db_clock clock;
    struct db_alike domain;   /* the clock's domain, 0 if unknown; after db_settings_agree the maxima */
    struct db_alike identity; /* hash of the clock's identity, 0 if unknown; after db_settings_agree the maxima */
};

/* Like db_agree_on_error, and checks that all processes have the same settings. If not, all return MPI_ERR_ARG, and a
 * process that differs from process 0 prints the first such setting. Costs one collective operation if there is no
 * error. */
int db_settings_agree(MPI_Comm comm, struct db_offer *offer, int code, const struct db_reason *reason);

#define DB_DEFAULT_TOLERANCE_NS 500

/* Computes the thresholds of the settings. `automatic_ns` is the tolerance for DB_TOLERANCE_AUTO; `domains` is the
 * number of clock domains. */
struct db_thresholds db_settings_thresholds(const struct db_settings *settings, int processes, int domains,
                                            int64_t automatic_ns);

/* Creates an info object with every key and its value; settings->clock must not be NULL. */
int db_settings_to_info(const struct db_settings *settings, MPI_Info *info);

#endif
