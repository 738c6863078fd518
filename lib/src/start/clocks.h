/* The clocks of a communicator's state, and their synchronization. A domain is a group of processes that share a clock
 * (domain.h); only its leader synchronizes. */
#ifndef DOWNBEAT_CLOCKS_H
#define DOWNBEAT_CLOCKS_H

#include "start/state.h"

/* Replaces clock, domains and map by those of the offer (settings.h). On error nothing changes. Collective. */
int db_clocks_change(struct db_state *state, struct db_offer *offer);

/* Resets the histories of comparisons, and divides the leaders into levels if the scheme needs them. Collective. */
int db_clocks_divide(struct db_state *state);

/* Frees clock, domains, levels and histories. */
void db_clocks_free(struct db_clocks *clocks);

/* Returns 1 if the scheme may refuse the clocks (sync=none). */
int db_clocks_refusable(const struct db_settings *settings);

/* Synchronizes the clocks, and records contradictions. Collective. */
int db_clocks_synchronize(struct db_state *state);

/* Synchronizes the clocks in a tree of `depth` levels, and charges the time to the budget of automatic
 * synchronizations. Collective. */
int db_clocks_synchronize_due(struct db_state *state, int depth);

#endif
