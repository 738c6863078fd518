/* The automatic tolerance (tolerance.h): it doubles or halves after a series of synchronizations. */
#include "start/tolerance.h"

#include <math.h>

/* An automatic tolerance doubles, once or several times, after WIDENING_SYNCS consecutive synchronizations whose
 * expected error is too large for it. It halves after NARROWING_SYNCS consecutive synchronizations whose expected error
 * is less than MARGIN times the limit for half of it, but does not halve once it is at most the default tolerance.
 * Chosen by hand; half or twice the values makes no difference, except that the tolerance settles sooner or later. */
#define WIDENING_SYNCS 8
#define NARROWING_SYNCS (2 * WIDENING_SYNCS)
#define MARGIN 0.8
/* Maximum tolerance, which ends the doubling if the error is infinite. Chosen by hand, more than any network needs;
 * half or twice the value makes no difference. */
#define MAX_TOLERANCE_NS 1e9

/* For a fixed tolerance: prints once, after a long series of too large errors, the expected error that remains on this
 * network. */
static void print_error_once(struct db_state *state, double error_ns) {
    struct db_reason reason;
    struct db_tolerance *tolerance = &state->tolerance;
    if (tolerance->streak < NARROWING_SYNCS || tolerance->printed || state->thresholds.flag_error_ns <= 0.0)
        return;
    tolerance->printed = 1;
    double tolerance_ns = (double)state->thresholds.tolerance_ns;
    double needed_ns = tolerance_ns * error_ns / state->thresholds.flag_error_ns;
    /* Recommends half more than the tolerance that this error needs, since the error varies. */
    db_explain(&reason, MPI_ERR_OTHER,
               "the expected clock error is %.2g us, because message paths vary, but a tolerance of %.2g us requires "
               "%.2g us, so many starts have flag 0; set tolerance to auto, or to %.1e or more, or set flag_error",
               error_ns * 1e-3, tolerance_ns * 1e-3, state->thresholds.flag_error_ns * 1e-3, 1.5 * needed_ns * 1e-9);
    db_print(reason.text);
}

int64_t db_tolerance_next(struct db_state *state, double error_ns) {
    struct db_tolerance *tolerance = &state->tolerance;
    double limit_ns = state->thresholds.flag_error_ns;
    int64_t tolerance_ns = state->thresholds.tolerance_ns;
    if (state->settings.flag_error_ns > 0.0) /* the user's limit of the error does not depend on the tolerance */
        return tolerance_ns;
    tolerance->min_error_ns = tolerance->streak > 0 ? fmin(tolerance->min_error_ns, error_ns) : error_ns;
    if (error_ns > limit_ns)
        tolerance->streak = tolerance->streak > 0 ? tolerance->streak + 1 : 1;
    else if (error_ns < MARGIN * limit_ns / 2.0)
        tolerance->streak = tolerance->streak < 0 ? tolerance->streak - 1 : -1;
    else
        tolerance->streak = 0;
    if (state->settings.tolerance_ns != DB_TOLERANCE_AUTO) {
        print_error_once(state, error_ns);
        return tolerance_ns;
    }
    if (tolerance->streak >= WIDENING_SYNCS) {
        tolerance->streak = 0;
        while (tolerance->min_error_ns > limit_ns && (double)tolerance_ns < MAX_TOLERANCE_NS) {
            limit_ns *= 2.0;
            tolerance_ns *= 2;
        }
    } else if (tolerance->streak <= -NARROWING_SYNCS && tolerance_ns > DB_DEFAULT_TOLERANCE_NS) {
        tolerance->streak = 0;
        tolerance_ns /= 2;
    }
    return tolerance_ns;
}
