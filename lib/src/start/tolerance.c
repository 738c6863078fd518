#include "start/tolerance.h"

#include <math.h>

/* This many synchronizations in a row have not helped: none will. */
#define HOPELESS_SYNCS 16

/* Reports once, at which error the clocks of this network stay. */
static void report_error(struct db_state *state, double error_ns) {
    struct db_reason reason;
    if (state->root.unknown < HOPELESS_SYNCS || state->root.unknown_told || state->thresholds.flag_error_ns <= 0.0)
        return;
    state->root.unknown_told = 1;
    double tolerance_ns = (double)state->thresholds.tolerance_ns;
    double needed_ns = tolerance_ns * error_ns / state->thresholds.flag_error_ns;
    db_explain(&reason, MPI_ERR_OTHER,
               "the paths between these clocks vary so much that they are known to %.2g us, and a tolerance of %.2g us "
               "asks for %.2g us; many starts have flag 0: set tolerance to auto, or to %.1e or more, or flag_error",
               error_ns * 1e-3, tolerance_ns * 1e-3, state->thresholds.flag_error_ns * 1e-3, 1.5 * needed_ns * 1e-9);
    db_tell(reason.text);
}

/* An automatic tolerance doubles, once or several times, after this many synchronizations in a row that leave a larger
 * expected error than it needs, and halves after this many that would do for half of it with a margin. */
#define WIDENING_SYNCS 8
#define NARROWING_SYNCS 16
#define MARGIN 0.8
#define MOST_TOLERANCE_NS 1e9

int64_t db_tolerance_next(struct db_state *state, double error_ns) {
    struct db_root *root = &state->root;
    double asked_ns = state->thresholds.flag_error_ns;
    int64_t tolerance_ns = state->thresholds.tolerance_ns;
    if (state->settings.flag_error_ns > 0.0)
        return tolerance_ns;
    root->least_ns = root->unknown == 0 ? error_ns : fmin(root->least_ns, error_ns);
    root->unknown = error_ns > asked_ns ? root->unknown + 1 : 0;
    root->known = error_ns < MARGIN * asked_ns / 2.0 ? root->known + 1 : 0;
    if (state->settings.tolerance_ns != DB_TOLERANCE_AUTO) {
        report_error(state, error_ns);
        return tolerance_ns;
    }
    if (root->unknown >= WIDENING_SYNCS) {
        root->unknown = 0;
        while (root->least_ns > asked_ns && (double)tolerance_ns < MOST_TOLERANCE_NS) {
            asked_ns *= 2.0;
            tolerance_ns *= 2;
        }
    } else if (root->known >= NARROWING_SYNCS && tolerance_ns > DB_DEFAULT_TOLERANCE_NS) {
        root->known = 0;
        tolerance_ns /= 2;
    }
    return tolerance_ns;
}
