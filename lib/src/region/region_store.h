/* The regions that this process writes in MPI_Finalize: those on communicators whose process 0 it is. */
#ifndef DOWNBEAT_REGION_STORE_H
#define DOWNBEAT_REGION_STORE_H

#include "region/region_file.h"
#include "start/state.h"

/* The entry of region `name` on the processes of the state's communicator. */
int db_region_store_find(const struct db_state *state, const char *name, struct db_region_entry **entry);

/* Takes `count` samples into an entry: the part of rank r in sample i is parts[r * count + i]. */
void db_region_store_add(struct db_region_entry *entry, const struct db_region_part *parts, int count);

#endif
