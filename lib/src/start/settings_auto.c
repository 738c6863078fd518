/* What settings come to that are left to the library. */
#include "start/settings.h"

#include <math.h>

#define TARGET_ERROR_NS 25.0
/* The longest that a clock goes uncompared, however sure of itself: two that begin to warm up by 100 ppb/s are 0.1 us
 * apart then; and the longest that it is trusted where the comparison is late: 0.2 us. */
#define LONGEST_UNCOMPARED_NS 1e9
#define LONGEST_TRUST_NS 1.5e9
/* What the flag promises, the tolerance and one expected error, must be many of those of the clocks: the difference of
 * any two of many processes is beyond 4.5 times either's in one of 10^5 cases. Process 0 has none. */
#define ERRORS_PER_TOLERANCE 8.0
#define ERRORS_PER_TOLERANCE_OF_TWO 5.0

int db_settings_expects(const struct db_settings *settings) {
    const struct db_sync_type *type = (const struct db_sync_type *)settings->sync.nodes[0].component;
    return type->expecting;
}

double db_settings_target_error_ns(const struct db_settings *settings) {
    if (settings->target_error_ns > 0.0)
        return settings->target_error_ns;
    return db_settings_expects(settings) && settings->max_age_ns == 0.0 ? TARGET_ERROR_NS : (double)INFINITY;
}

double db_settings_trust_ns(const struct db_settings *settings) {
    return db_settings_expects(settings) && settings->max_age_ns == 0.0 ? LONGEST_TRUST_NS : (double)INFINITY;
}

double db_settings_flag_error_ns(const struct db_settings *settings, int processes) {
    if (settings->flag_error_ns > 0.0)
        return settings->flag_error_ns;
    double errors = processes > 2 ? ERRORS_PER_TOLERANCE : ERRORS_PER_TOLERANCE_OF_TWO;
    return db_settings_expects(settings) ? (double)settings->tolerance_ns / errors : (double)INFINITY;
}

/* Schuchart 2023, Alg. 1, line 7, and what keeps the share of time that goes into synchronization at 1 % where drift is
 * fitted. */
double db_settings_max_age_ns(const struct db_settings *settings) {
    if (settings->max_age_ns > 0.0)
        return settings->max_age_ns;
    if (settings->slack->age_ns > 0.0)
        return settings->slack->age_ns;
    return fmax(LONGEST_UNCOMPARED_NS, 100.0 * db_scheme_sum(&settings->sync, "over") * 1e9);
}
