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
                              .clock = &state->clocks.clock,
                              .ticks = state->clocks.map.ticks,
                              .global = state->clocks.map.global_ns,
                              .tick = state->clocks.map.ns_per_tick,
                              .bound = state->clocks.map.bound_ns,
                              .growth = state->clocks.map.growth,
                              .ramp = state->clocks.map.ramp,
                              .variance = state->clocks.map.uncertainty.offset,
                              .cross = state->clocks.map.uncertainty.cross,
                              .rate = state->clocks.map.uncertainty.rate,
                              .walk = state->clocks.map.uncertainty.walk};
    return MPI_SUCCESS;
}
