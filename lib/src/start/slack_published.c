/* The controller slack=published: MPIX_Harmonize as published (Schuchart 2023, section 5.2, Alg. 1), for comparison
 * with the default: after a miss the slack grows by half, permanently, and the clocks are synchronized; they are also
 * synchronized once they are older than 1.0 s, regardless of the error bound; the flag is decided before the wait.
 *
 * Where algorithm, text and the authors' code (github.com/devreal/mpix-harmonize) differ:
 *
 *   - Line 14 reads "if flag | SYNC_FAILED", which always holds, so that expired clocks would make the slack grow as
 * well. The text says "in case a process missed a deadline", and so does the code (&): it grows after a miss alone.
 *   - last_sync_failed is set in line 32 and never cleared. The code clears it in the next call that is in time, as the
 *     comment "store for next call" has it: one miss, one synchronization.
 *   - The code reduces with MPI_MAX, not the MPI_BOR of line 10, and sets the deadline after a synchronization from the
 *     time at which that ended, not from now (line 27). Here it is line by line: bits have words of their own, and now.
 *   - The first slack is "based on the latency of MPI_Bcast" and no more; taken from the code: twice the largest mean,
 * over the processes, of 20 broadcasts without warm-up. The code measures it once on MPI_COMM_WORLD, where all its
 * clocks live as well; here all is the communicator's own. */
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
