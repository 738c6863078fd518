/* Harmonized barriers. */
#ifndef DOWNBEAT_PRELOAD_STARTS_H
#define DOWNBEAT_PRELOAD_STARTS_H

#include "recorded_call.h"

/* Returns 1 if this barrier is harmonized, as are all later ones on its communicator, which is so once all processes
 * have passed `requested` = 1 in the same barrier. Collective, since call sites differ between processes. Sets `code`
 * to MPI's error code. */
int starts_agree(const struct call *call, int requested, int *code);

/* The harmonized barrier in place of MPI_Barrier, and the end of its call. */
int starts_barrier(struct call *call);
void starts_left(struct call *call, int code);

#endif
