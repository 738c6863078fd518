/* Phases of the program: sections between calls of MPI_Pcontrol with the same name. */
#ifndef DOWNBEAT_PRELOAD_PHASES_H
#define DOWNBEAT_PRELOAD_PHASES_H

#include "sharing.h"

#include <stdint.h>

/* Number of the process's current phase, as in rows of the profile; 0: none. */
INTERNAL _Atomic uint16_t current_phase;

/* Begins (level 1) or ends (level -1) a phase. `address` may point to its name, or be any value. */
void phases_control(int level, const char *address);

/* Ends all open phases at the end of the program. */
void phases_end(void);

#endif
