/* Creates the state of a communicator at its first call, finds it later, and puts settings into force. */
#ifndef DOWNBEAT_PREPARE_H
#define DOWNBEAT_PREPARE_H

#include "start/state.h"

/* Finds the state of comm, or creates it. Collective if comm may have none. Fails if a process has failed. */
int db_state_prepare(MPI_Comm comm, struct db_state **state);

/* A barrier if process failures are survivable, before calls that do more than exchange messages (message.h) and so do
 * not detect failures. */
int db_state_meet(struct db_state *state);

/* Finds the state of comm; MPI_ERR_OTHER if it has none. Local. */
int db_state_find(MPI_Comm comm, struct db_state **state);

/* Opens the clock of the offered settings, and agrees on the offer: all processes return success, or all an error. Sets
 * offer->settings.clock to the opened clock. `code`, `reason`: this process's error so far, or MPI_SUCCESS. Collective.
 */
int db_state_agree(MPI_Comm comm, struct db_offer *offer, int code, struct db_reason *reason);

/* Recomputes the thresholds; `automatic_ns` is the tolerance if the setting is automatic. */
void db_state_tolerate(struct db_state *state, int64_t automatic_ns);

/* With transport=auto, switches to shared memory after enough calls to pay for it. Collective. */
int db_state_choose_transport(struct db_state *state);

/* Puts an agreed offer into force; on error, the settings do not change. Collective. */
int db_state_configure(struct db_state *state, struct db_offer *wanted);

#endif
