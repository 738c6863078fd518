/* The controller slack=published: MPIX_Harmonize as published (Schuchart 2023, section 5.2, Alg. 1), for comparison
 * with the default: after a miss the slack grows by half, permanently, and the clocks are synchronized; they are also
 * synchronized once they are older than 1.0 s, regardless of the error bound; the flag is decided before the wait.
 *
 * The algorithm, the text and the authors' code (github.com/devreal/mpix-harmonize) differ in four points. This
 * implementation follows:
 *
 *   - The text and the code: the slack grows only after a miss. Line 14 of the algorithm reads "if flag | SYNC_FAILED",
 *     which always holds, so that expired clocks would make the slack grow, too.
 *   - The code: a miss causes one synchronization. The algorithm sets last_sync_failed in line 32 and never clears it;
 *     the code clears it in the next call that is in time.
 *   - The algorithm: it combines bits by MPI_BOR (line 10; here each bit has a separate word), and sets the deadline
 *     after a synchronization from now on (line 27). The code uses MPI_MAX, and the time at which the synchronization
 *     ended.
 *   - The code: the first slack is twice the largest mean, over the processes, of 20 broadcasts without warm-up. The
 *     text only says "based on the latency of MPI_Bcast". But the code measures it once, on MPI_COMM_WORLD, and keeps
 *     all clocks there; here each communicator has its own slack and clocks. */
#include "start/slack.h"

#include "base/error.h"
#include "start/state.h"
#include "start/trial.h"

#include <math.h>

/* FIRST_BROADCASTS and FIRST_FACTOR are from the authors' code, see above; MISS_FACTOR and AGE_NS from Schuchart 2023,
 * Alg. 1, lines 15 and 7. */
#define FIRST_BROADCASTS 20
#define FIRST_FACTOR 2.0
#define MISS_FACTOR 1.5
#define AGE_NS 1e9
/* Limit of the slack, which never shrinks and would overflow: the largest valid fixed slack (settings.c). */
#define MAX_SLACK_NS 3600e9

static int begin(struct db_state *state) {
    int64_t mean_ns = 0;
    DB_TRY(db_trial_broadcasts(state, FIRST_BROADCASTS, &mean_ns));
    /* At least 1 ns: with a coarse clock a single process may measure 0, which could not grow. */
    if (state->rank == 0)
        state->slack->growing.slack_ns = fmax(1.0, FIRST_FACTOR * (double)mean_ns);
    return MPI_SUCCESS;
}

/* Ignores a miss in a call before this controller was in force. */
static int judge(struct db_slack *slack, int missed) {
    struct db_slack_growing *growing = &slack->growing;
    int counts = missed && growing->begun;
    growing->begun = 1;
    if (counts)
        growing->slack_ns = fmin(MISS_FACTOR * growing->slack_ns, MAX_SLACK_NS);
    return counts;
}

static int64_t next(const struct db_slack *slack) { return (int64_t)slack->growing.slack_ns; }

const struct db_slack_type db_slack_published = {
    .component = {DB_DESCRIBED("published",
                               "Alg. 1 as published: a miss synchronizes the clocks and raises the slack "
                               "by half, permanently; the flag is decided before the wait",
                               "Schuchart 2023, Alg. 1", DB_NO_PARAMETERS)},
    .flag_before_wait = 1,
    .age_ns = AGE_NS,
    .begin = begin,
    .next = next,
    .judge = judge};
