/* The output of regions: JSON lines like those of downbeat-bench, and a table. */
#ifndef DOWNBEAT_REGION_FILE_H
#define DOWNBEAT_REGION_FILE_H

#include "region/region_record.h"
#include "start/settings.h"

#include <pthread.h>

/* A region's record, and what files say about it in addition to its figures. */
struct db_region_entry {
    struct db_region_entry *next;
    struct db_region_record *record;
    char communicator[MPI_MAX_OBJECT_NAME]; /* the first one that it was begun on */
    struct db_settings settings;            /* that were in force there */
    pthread_mutex_t *lock; /* of the record: threads may measure one region on duplicates of one communicator */
};

/* Writes the files and prints the tables that the settings of the entries, a list, ask for. Reports failures on
 * standard error. */
void db_region_files_write(const struct db_region_entry *first);

#endif
