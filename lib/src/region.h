/* The regions that hang on a communicator's state; see downbeat/region.h for what they are. */
#ifndef DOWNBEAT_REGION_H
#define DOWNBEAT_REGION_H

#include "state.h"

/* Begins to gather what is left of all regions; does not wait. May be called again. */
void db_regions_conclude(struct db_state *state);

/* Takes in what was gathered, and releases the regions. */
void db_regions_free(struct db_state *state);

#endif
