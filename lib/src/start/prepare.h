/* Makes the state of a communicator at its first call, finds it later, and puts settings into force. */
#ifndef DOWNBEAT_PREPARE_H
#define DOWNBEAT_PREPARE_H

#include "start/state.h"

/* The state of comm, prepared if need be. Collective where it may be missing. Fails if a process is lost. */
int db_state_prepare(MPI_Comm comm, struct db_state **state);

/* Where processes may be lost, returns once all are here: for calls that do more than exchange messages (message.h),
 * during which nothing is watched. */
int db_state_meet(struct db_state *state);

/* The state of comm, or MPI_ERR_OTHER if comm was never prepared. Local. */
int db_state_find(MPI_Comm comm, struct db_state **state);

/* Opens the clock that the offered settings ask for, and writes into them which one the default is. All agree to the
 * offer, or none. `code`: of this process so far, with its reason. Collective. */
int db_state_agree(MPI_Comm comm, struct db_offer *offer, int code, struct db_reason *reason);

/* Puts into force a tolerance where the setting leaves it open, and the thresholds that follow. */
void db_state_tolerate(struct db_state *state, int64_t automatic_ns);

/* With transport=auto, shares memory once there were enough calls for it to pay. Collective. */
int db_state_choose_transport(struct db_state *state);

/* Puts into force what all have agreed to. Collective; changes all or nothing. */
int db_state_configure(struct db_state *state, struct db_offer *wanted);

#endif
