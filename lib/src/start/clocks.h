/* The clocks of a state, and their synchronization. */
#ifndef DOWNBEAT_CLOCKS_H
#define DOWNBEAT_CLOCKS_H

#include "start/state.h"

/* Replaces clock, domains and map. Collective; leaves all as it was if it fails. */
int db_clocks_change(struct db_state *state, struct db_offer *offer);

/* Resets the table of remote clocks, and divides the representatives into levels for schemes that need these.
 * Collective. */
int db_clocks_divide(struct db_state *state);

void db_clocks_free(struct db_clocks *clocks);

/* Whether the scheme may refuse the clocks. */
int db_clocks_refused_by(const struct db_settings *settings);

/* Synchronizes the clocks. Collective. */
int db_clocks_synchronize(struct db_state *state);

/* The same where the library itself finds it due, in a tree of `depth` levels. */
int db_clocks_synchronize_due(struct db_state *state, int depth);

#endif
