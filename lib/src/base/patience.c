#define _POSIX_C_SOURCE 200809L
#include "base/patience.h"

#include "base/error.h"

#include <sched.h>
#include <stddef.h>
#include <time.h>

/* After this many unsuccessful polls the wait is a long one: for a turn in a synchronization, for the next fit point,
 * or for a process without a processor. A process that only yields would slow down the round trips of the pair whose
 * turn it is; so it naps, longer and longer. Without yields it polls for about 1 ms first: a nap costs more than any
 * message, and on a loaded machine processes get their processors at scheduler ticks, mostly the same ones. */
/* About DB_AWAY_NS (decision.h), at the 50 ns of MPI_Test. Depends on the machine. */
#define POLLS_BEFORE_NAPS 20000
/* A look for a loss takes longer than a poll. Counted over calls: a synchronization has thousands of short waits.
 * Choice: some 50 us; at half and twice, a loss is noticed that much sooner or later. */
#define POLLS_PER_LOOK 1000
#define YIELDS_PER_LOOK 50
static _Thread_local unsigned polls_since_look;

static int is_lost(const struct db_watched *watched, enum db_patience patience, int naps) {
    if (watched == NULL)
        return 0;
    if (!naps && ++polls_since_look < (patience == DB_YIELD ? YIELDS_PER_LOOK : POLLS_PER_LOOK))
        return 0;
    polls_since_look = 0;
    return db_loss_watch(watched) != MPI_SUCCESS;
}

int db_await(MPI_Request *request, enum db_patience patience, MPI_Comm comm, const struct db_watched *watched) {
    if (patience == DB_BLOCK && watched == NULL)
        return MPI_Wait(request, MPI_STATUS_IGNORE);
    const unsigned before_naps = patience == DB_YIELD ? DB_YIELDS_BEFORE_SLEEP : POLLS_BEFORE_NAPS;
    long nap_ns = DB_SHORTEST_SLEEP_NS;
    for (unsigned polls = 0;; ++polls) {
        int done;
        DB_TRY(MPI_Test(request, &done, MPI_STATUS_IGNORE));
        if (done)
            return MPI_SUCCESS;
        int naps = patience != DB_BLOCK && polls >= before_naps;
        if (is_lost(watched, patience, naps))
            db_loss_revoke(comm); /* which completes the request, with an error */
        if (naps) {
            nanosleep(&(struct timespec){.tv_nsec = nap_ns}, NULL);
            nap_ns = 2 * nap_ns < DB_LONGEST_SLEEP_NS ? 2 * nap_ns : DB_LONGEST_SLEEP_NS;
        } else if (patience == DB_YIELD) {
            sched_yield();
        }
    }
}

int db_allreduce(MPI_Comm comm, void *words, int count, MPI_Datatype type, MPI_Op op) {
    MPI_Request request;
    DB_TRY(MPI_Iallreduce(MPI_IN_PLACE, words, count, type, op, comm, &request));
    return db_await(&request, DB_SLEEP, comm, NULL);
}

int db_duplicate(MPI_Comm comm, MPI_Comm *duplicate) {
    MPI_Request request;
    DB_TRY(MPI_Comm_idup(comm, duplicate, &request));
    return db_await(&request, DB_SLEEP, comm, NULL);
}
