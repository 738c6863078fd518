/* Barriers with a common start. */
#ifndef DOWNBEAT_PRELOAD_STARTS_H
#define DOWNBEAT_PRELOAD_STARTS_H

#include "recorded_call.h"

/* Whether this barrier and all later ones on its communicator have a common start: once all of its processes want it.
 * Collective, as a process cannot know where the others call it from. `code` is MPI's. */
int starts_agree(const struct call *call, int wanted, int *code);

/* A barrier with a common start instead of MPI_Barrier. */
int starts_barrier(struct call *call);
void starts_left(struct call *call, int code);

#endif
