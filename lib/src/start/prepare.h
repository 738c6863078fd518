/* Creates the state of a communicator (state.h) at its first call, finds it later, and puts settings into force. The
 * public functions begin with db_state_prepare or db_state_find. */
#ifndef DOWNBEAT_PREPARE_H
#define DOWNBEAT_PREPARE_H

#include "start/state.h"

/* Finds the state of comm, or creates it. Collective if comm may have none. Fails if a process has failed. */
int db_state_prepare(MPI_Comm comm, struct db_state **state);

/* A barrier that detects failed processes. Needed before collective steps that use other functions than those of
 * message.h, which would not detect failures. Does nothing if MPI ends the program after a failure. Collective. */
int db_state_barrier(struct db_state *state);

/* Finds the state of comm. Returns MPI_ERR_OTHER if it has none. Local. */
int db_state_find(MPI_Comm comm, struct db_state **state);

/* Opens the clock of the offered settings, and agrees on the offer: all processes return success, or all an error. Sets
 * offer->settings.clock to the opened clock. `code` and `reason` are this process's error so far; MPI_SUCCESS: none.
 * Collective. */
int db_state_agree(MPI_Comm comm, struct db_offer *offer, int code, struct db_reason *reason);

/* Computes the thresholds of the settings again. `automatic_ns` is the tolerance if the setting is tolerance=auto. */
void db_state_update_thresholds(struct db_state *state, int64_t automatic_ns);

/* With transport=auto, switches to shared memory after CALLS_BEFORE_LINES calls. Collective. */
int db_state_choose_transport(struct db_state *state);

/* Puts an offer into force to which all processes have agreed. On error, the settings do not change. Collective. */
int db_state_configure(struct db_state *state, struct db_offer *requested);

#endif
