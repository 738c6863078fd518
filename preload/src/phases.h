/* Phases of the program. */
#ifndef DOWNBEAT_PRELOAD_PHASES_H
#define DOWNBEAT_PRELOAD_PHASES_H

#include "sharing.h"

#include <stdint.h>

/* The number of the process's current phase, as in rows of the profile. */
INTERNAL _Atomic uint16_t phase_now;

/* MPI_Pcontrol of level 1 or -1; `address` may point to a name. */
void phases_control(int level, const char *address);

/* Ends all open phases at the end of the program. */
void phases_end(void);

#endif
