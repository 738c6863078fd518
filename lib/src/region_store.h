/* The regions that this process tells of in MPI_Finalize: those whose communicator it is process 0 of. */
#ifndef DOWNBEAT_REGION_STORE_H
#define DOWNBEAT_REGION_STORE_H

#include "region_record.h"
#include "state.h"

#include <pthread.h>

/* A region's record with what is to be told of it beside its figures. */
struct db_region_entry {
    struct db_region_entry *next;
    struct db_region_record *record;
    char communicator[MPI_MAX_OBJECT_NAME]; /* the first one that it was begun on */
    struct db_settings settings;            /* that were in force there */
    pthread_mutex_t *lock; /* of the record: threads may measure one region on duplicates of one communicator */
};

/* The entry of region `name` on the processes of the state's communicator. */
int db_region_store_find(const struct db_state *state, const char *name, struct db_region_entry **entry);

/* Takes `count` samples into an entry: the part of rank r in sample i is parts[r * count + i]. */
void db_region_store_add(struct db_region_entry *entry, const struct db_region_part *parts, int count);

#endif
