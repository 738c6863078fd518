/* Phases of the program. */
#ifndef DOWNBEAT_PRELOAD_PHASES_H
#define DOWNBEAT_PRELOAD_PHASES_H

#include "sharing.h"

#include <stdint.h>

/* The number of the phase that the process is in, as in rows of the profile. */
INTERNAL _Atomic uint16_t phase_now;

/* MPI_Pcontrol of level 1 or -1; at `address` there may be a name. */
void phases_control(int level, const char *address);

/* The program ends, in whatever phases. */
void phases_end(void);

#endif
