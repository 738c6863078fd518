/* MPIX_Harmonize_true_error and Downbeat_true_offset: true values, known only with the validation clock. */
#include "start/prepare.h"
#include <downbeat/clock.h>

#include <string.h>

/* Sets `shared` to 1 if all processes have validation clocks and these wrap the same clock, which shows the true time.
 */
static int share_true_time(const struct db_state *state, int *shared) {
    char identity[DB_IDENTITY_SIZE] = "";
    const char *local = "";
    if (db_validation_wraps(&state->clocks.clock))
        local = db_validation_true_identity(&state->clocks.clock);
    strncpy(identity, local, sizeof identity - 1);
    DB_TRY(MPI_Bcast(identity, sizeof identity, MPI_CHAR, 0, state->channel.comm));
    int same = local[0] != '\0' && strcmp(identity, local) == 0;
    return MPI_Allreduce(&same, shared, 1, MPI_INT, MPI_MIN, state->channel.comm);
}

/* Time that `map` gives for this process's clock, ns, when the true clock reads `true_ticks`. */
static double time_at(const struct db_state *state, const struct db_clock_map *map, int64_t true_ticks) {
    double local = db_validation_at(&state->clocks.clock, true_ticks);
    return (local - (double)map->ticks) * map->ns_per_tick + (double)map->global_ns;
}

/* Sets `offset` to the seconds by which this process's clock, converted by `map`, is ahead of process 0's. Collective.
 */
static int true_offset(struct db_state *state, const struct db_clock_map *map, double *offset) {
    int shared;
    DB_TRY(db_state_barrier(state));
    DB_TRY(share_true_time(state, &shared));
    if (!shared)
        return MPI_ERR_OTHER;
    int64_t true_ticks = db_validation_true_ticks(&state->clocks.clock);
    DB_TRY(MPI_Bcast(&true_ticks, 1, MPI_INT64_T, 0, state->channel.comm));
    double local_ns = time_at(state, map, true_ticks);
    double reference_ns = local_ns;
    DB_TRY(MPI_Bcast(&reference_ns, 1, MPI_DOUBLE, 0, state->channel.comm));
    *offset = (local_ns - reference_ns) * 1e-9;
    return MPI_SUCCESS;
}

int MPIX_Harmonize_true_error(MPI_Comm comm, double *error) {
    struct db_state *state;
    DB_TRY(db_check_mpi("MPIX_Harmonize_true_error"));
    if (comm != MPI_COMM_NULL && error == NULL)
        return db_raise(comm, MPI_ERR_ARG);
    int code = db_state_prepare(comm, &state);
    if (code == MPI_SUCCESS)
        code = true_offset(state, &state->clocks.map, error);
    return db_raise(comm, code);
}

int Downbeat_true_offset(MPI_Comm comm, int timeline, double *offset) {
    struct db_state *state;
    DB_TRY(db_check_mpi("Downbeat_true_offset"));
    if (comm != MPI_COMM_NULL && (offset == NULL || (timeline != DOWNBEAT_LOCAL && timeline != DOWNBEAT_GLOBAL)))
        return db_raise(comm, MPI_ERR_ARG);
    int code = db_state_find(comm, &state);
    if (code == MPI_SUCCESS) {
        code = true_offset(state, timeline == DOWNBEAT_GLOBAL ? &state->clocks.map : &state->clocks.local, offset);
    }
    return db_raise(comm, code);
}
