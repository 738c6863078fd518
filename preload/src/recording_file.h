/* The file of a recording, as the files that write it share it: mapped, with room that grows. */
#ifndef DOWNBEAT_PRELOAD_RECORDING_FILE_H
#define DOWNBEAT_PRELOAD_RECORDING_FILE_H

#include "recording.h"

#include <pthread.h>

/* In the order of the file, and of the header's fields. */
enum table {
    MAPS_TABLE,
    COMMUNICATORS_TABLE,
    SITES_TABLE,
    STARTS_TABLE,
    PHASES_TABLE,
    PROFILE_TABLE,
    RECORDS_TABLE,
    TABLES
};
_Static_assert(TABLES == TRACE_TABLES, "the header has an extent per table");

struct recording_file {
    int file;
    struct trace_header *header; /* NULL: closed */
    char *tables[TABLES];
    size_t mapped;                  /* bytes */
    _Atomic int64_t stored[TABLES]; /* entries that the file has room for now */
    pthread_mutex_t lock;
};
extern struct recording_file own;

#define ROWS_TABLE ((struct trace_row *)(void *)own.tables[PROFILE_TABLE])
#define RECORDS ((struct trace_record *)(void *)own.tables[RECORDS_TABLE])

extern const int64_t table_entry_size[TABLES];

/* Where a table begins in a file with this header; TABLES: where it ends. */
int64_t table_offset(const struct trace_header *header, int table);

/* Makes a file with room for so many records, empty but for its header, whose capacities and size are set. Returns 0,
 * or an errno. */
int table_create(const char *path, int64_t records);

void *table_entry(int table, uint32_t number);

/* Those who call these hold the lock. Makes room for `entries`; returns 0, or an errno. */
int table_reserve(int table, int64_t entries);

/* The number of the next entry, or TRACE_NONE, which is counted. */
uint32_t table_next(int table, _Atomic int64_t *dropped);

/* profile.c: gives the place of a freed communicator back, unless a record, a call or a start needs it. */
void profile_release(uint32_t number);

#endif
