/* Thresholds that follow from the settings (db_settings_thresholds), with the values of `auto`. */
#include "start/settings.h"

#include <math.h>

/* Expected error at which a synchronization is due. Chosen by hand, 1/20 of the default tolerance; half or twice the
 * value makes no difference. */
#define TARGET_ERROR_NS 25.0
/* Maximum time between synchronizations, even if the expected error is small, and the age of the last synchronization
 * from which flags are 0. Two clocks that begin to warm up by 100 ppb/s each (DB_MAX_RAMP) differ by 0.1 us after the
 * former and by 0.2 us after the latter. Half or twice the values makes no difference. */
#define MAX_UNCOMPARED_NS 1e9
#define MAX_TRUST_NS 1.5e9
/* The tolerance divided by the largest expected error with a flag of 1, for more than two processes and for two. The
 * difference of two of many processes exceeds 4.5 times the expected error of either in one of 10^5 cases; with two
 * processes only one clock has an error. Chosen by hand, above that. With half the value the exit skew is 15 % larger;
 * twice the value makes no difference. */
#define ERRORS_PER_TOLERANCE 8.0
#define ERRORS_PER_TOLERANCE_OF_TWO 5.0

struct db_thresholds db_settings_thresholds(const struct db_settings *settings, int processes, int domains,
                                            int64_t automatic_ns) {
    const struct db_sync_type *scheme = (const struct db_sync_type *)settings->sync.nodes[0].component;
    int user_schedule = settings->max_age_ns > 0.0; /* 1: the user's max_age replaces the automatic schedule */
    double errors = processes > 2 ? ERRORS_PER_TOLERANCE : ERRORS_PER_TOLERANCE_OF_TWO;
    int64_t tolerance_ns = settings->tolerance_ns == DB_TOLERANCE_AUTO ? automatic_ns : settings->tolerance_ns;
    struct db_thresholds thresholds = {
        .tolerance_ns = tolerance_ns,
        .max_age_ns = settings->max_age_ns,
        .target_error_ns = scheme->expecting && !user_schedule ? TARGET_ERROR_NS : (double)INFINITY,
        .flag_error_ns = scheme->expecting ? (double)tolerance_ns / errors : (double)INFINITY,
        .trust_ns = scheme->expecting && !user_schedule && domains > 1 ? MAX_TRUST_NS : (double)INFINITY,
    };
    if (settings->target_error_ns > 0.0)
        thresholds.target_error_ns = settings->target_error_ns;
    if (settings->flag_error_ns > 0.0)
        thresholds.flag_error_ns = settings->flag_error_ns;
    /* The age of the slack controller, if it has one (Schuchart 2023, Alg. 1, line 7). Otherwise schemes that fit drift
     * over some time synchronize for at most 1 % of the time. */
    if (!user_schedule)
        thresholds.max_age_ns = settings->slack->age_ns > 0.0
                                    ? settings->slack->age_ns
                                    : fmax(MAX_UNCOMPARED_NS, 100.0 * db_scheme_sum(&settings->sync, "over") * 1e9);
    return thresholds;
}
