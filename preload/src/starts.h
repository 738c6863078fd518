/* Harmonized barriers: barriers of the program that MPIX_Harmonize replaces. calls.c calls these functions. */
#ifndef DOWNBEAT_PRELOAD_STARTS_H
#define DOWNBEAT_PRELOAD_STARTS_H

#include "recorded_call.h"

/* Returns 1 if this barrier is harmonized. All barriers of a communicator are harmonized from the first barrier on in
 * which all processes pass requested = 1. Collective until then, since call sites differ between processes. Sets `code`
 * to MPI's error code. */
int starts_agree(const struct call *call, int requested, int *code);

/* Makes the harmonized barrier in place of MPI_Barrier. Returns MPI's error code. */
int starts_barrier(struct call *call);

/* Ends the call of a harmonized barrier, and begins a sample (samples.h). `code` is the result of starts_barrier. */
void starts_end(struct call *call, int code);

#endif
