/* Thresholds that follow from the settings. */
#include "start/settings.h"

#include <math.h>

/* Expected error at which a synchronization is due. Choice: 1/20 of the tolerance; half and twice: same. */
#define TARGET_ERROR_NS 25.0
/* Longest time between comparisons, however small the expected error. Derivation: two clocks that begin to warm up by
 * 100 ppb/s each (DB_MAX_RAMP) are then 0.1 us apart, and 0.2 us after the longest time for which flags can be 1 if the
 * comparison is late. Half and twice: same. */
#define LONGEST_UNCOMPARED_NS 1e9
#define LONGEST_TRUST_NS 1.5e9
/* Ratio of the tolerance and the largest expected error with a flag of 1. The difference of two of many processes
 * exceeds 4.5 times the expected error of either in one of 10^5 cases; with two processes only one has an error.
 * Choice, above that; half: exit skew 15 % larger; twice: same. */
#define ERRORS_PER_TOLERANCE 8.0
#define ERRORS_PER_TOLERANCE_OF_TWO 5.0

struct db_thresholds db_settings_thresholds(const struct db_settings *settings, int processes, int domains,
                                            int64_t automatic_ns) {
    const struct db_sync_type *scheme = (const struct db_sync_type *)settings->sync.nodes[0].component;
    int own_schedule = settings->max_age_ns > 0.0; /* the user's age replaces the automatic schedule */
    double errors = processes > 2 ? ERRORS_PER_TOLERANCE : ERRORS_PER_TOLERANCE_OF_TWO;
    int64_t tolerance_ns = settings->tolerance_ns == DB_TOLERANCE_AUTO ? automatic_ns : settings->tolerance_ns;
    struct db_thresholds thresholds = {
        .tolerance_ns = tolerance_ns,
        .max_age_ns = settings->max_age_ns,
        .target_error_ns = scheme->expecting && !own_schedule ? TARGET_ERROR_NS : (double)INFINITY,
        .flag_error_ns = scheme->expecting ? (double)tolerance_ns / errors : (double)INFINITY,
        .trust_ns = scheme->expecting && !own_schedule && domains > 1 ? LONGEST_TRUST_NS : (double)INFINITY,
    };
    if (settings->target_error_ns > 0.0)
        thresholds.target_error_ns = settings->target_error_ns;
    if (settings->flag_error_ns > 0.0)
        thresholds.flag_error_ns = settings->flag_error_ns;
    /* Schuchart 2023, Alg. 1, line 7. Otherwise synchronizations that fit drift are limited to 1 % of the time. */
    if (!own_schedule)
        thresholds.max_age_ns = settings->slack->age_ns > 0.0
                                    ? settings->slack->age_ns
                                    : fmax(LONGEST_UNCOMPARED_NS, 100.0 * db_scheme_sum(&settings->sync, "over") * 1e9);
    return thresholds;
}
