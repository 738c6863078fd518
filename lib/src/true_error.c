/* MPIX_Harmonize_true_error: what only the validation clock can tell. */
#include "state.h"

#include <string.h>

/* All processes must be able to read one true time: the clock below their validation clocks. */
static int share_true_time(const struct db_state *state, int *shared) {
    char identity[DB_IDENTITY_SIZE] = "";
    const char *mine = "";
    if (db_validation_wraps(&state->clock))
        mine = db_validation_true_identity(&state->clock);
    strncpy(identity, mine, sizeof identity - 1);
    DB_TRY(MPI_Bcast(identity, sizeof identity, MPI_CHAR, 0, state->channel.comm));
    int same = mine[0] != '\0' && strcmp(identity, mine) == 0;
    return MPI_Allreduce(&same, shared, 1, MPI_INT, MPI_MIN, state->channel.comm);
}

/* Global time in ns, with fractions, at which the true clock shows `true_ticks`. */
static double global_at(const struct db_state *state, int64_t true_ticks) {
    const struct db_clock_map *map = &state->map;
    double local = db_validation_at(&state->clock, true_ticks);
    return (local - (double)map->ticks) * map->ns_per_tick + (double)map->global_ns;
}

static int true_error(const struct db_state *state, double *error) {
    int shared;
    DB_TRY(share_true_time(state, &shared));
    if (!shared)
        return MPI_ERR_OTHER;
    int64_t true_ticks = db_validation_true_ticks(&state->clock);
    DB_TRY(MPI_Bcast(&true_ticks, 1, MPI_INT64_T, 0, state->channel.comm));
    double mine = global_at(state, true_ticks);
    double reference = mine;
    DB_TRY(MPI_Bcast(&reference, 1, MPI_DOUBLE, 0, state->channel.comm));
    *error = (mine - reference) * 1e-9;
    return MPI_SUCCESS;
}

int MPIX_Harmonize_true_error(MPI_Comm comm, double *error) {
    struct db_state *state;
    DB_TRY(db_check_mpi("MPIX_Harmonize_true_error"));
    if (comm != MPI_COMM_NULL && error == NULL)
        return db_raise(comm, MPI_ERR_ARG);
    int code = db_state_prepare(comm, &state);
    if (code == MPI_SUCCESS)
        code = true_error(state, error);
    return db_raise(comm, code);
}
