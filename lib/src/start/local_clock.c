/* Downbeat_get_clock: the local clock and its map, for tools that take timestamps all the time. */
#include "start/state.h"
#include <downbeat/clock.h>

static int64_t read_clock(const void *clock) { return db_clock_read(clock); }

int Downbeat_get_clock(MPI_Comm comm, Downbeat_clock *clock) {
    struct db_state *state;
    DB_TRY(db_check_mpi("Downbeat_get_clock"));
    if (comm != MPI_COMM_NULL && clock == NULL)
        return db_raise(comm, MPI_ERR_ARG);
    DB_TRY(db_raise(comm, db_state_find(comm, &state)));
    *clock = (Downbeat_clock){.read = read_clock,
                              .clock = &state->clock,
                              .ticks = state->map.ticks,
                              .global = state->map.global_ns,
                              .tick = state->map.ns_per_tick,
                              .bound = state->map.bound_ns,
                              .growth = state->map.growth,
                              .ramp = state->map.ramp,
                              .variance = state->map.uncertainty.offset,
                              .cross = state->map.uncertainty.cross,
                              .rate = state->map.uncertainty.rate,
                              .walk = state->map.uncertainty.walk};
    return MPI_SUCCESS;
}
