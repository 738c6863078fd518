/* The growing tables of a recording, in a file that is mapped into memory (trace_file.h). An entry is at the same
 * address while the file is open, so other threads can use entries without the lock. */
#ifndef DOWNBEAT_PRELOAD_TABLES_H
#define DOWNBEAT_PRELOAD_TABLES_H

#include "sharing.h"
#include "trace_file.h"

#include <pthread.h>

/* The tables, in the order of the header's extents. */
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

/* Size of an entry, bytes. */
static const int64_t table_entry_size[TABLES] = {sizeof(struct trace_map),   sizeof(struct trace_communicator),
                                                 sizeof(struct trace_site),  sizeof(struct trace_start),
                                                 sizeof(struct trace_phase), sizeof(struct trace_row),
                                                 sizeof(struct trace_record)};

/* Entries are contiguous in blocks of 2^shift entries, at most a page. A chunk consists of complete blocks, except the
 * last chunk of a table. */
static const int table_block_shift[TABLES] = {4, 5, 2, 5, 5, 6, 6};

/* The file of this process, with the tables in it. */
struct recording_file {
    struct trace_header *header;    /* NULL: no recording */
    char **blocks[TABLES];          /* addresses of each table's blocks */
    _Atomic int64_t stored[TABLES]; /* current capacity of each table in the file */
    pthread_mutex_t lock;           /* for adding entries, and for the profile */
};
INTERNAL struct recording_file recording;

/* Returns the address of an entry, which must exist. */
static inline void *table_entry(int table, int64_t number) {
    char **blocks = __atomic_load_n(&recording.blocks[table], __ATOMIC_ACQUIRE);
    int64_t offset = number & ((1 << table_block_shift[table]) - 1);
    return blocks[number >> table_block_shift[table]] + offset * table_entry_size[table];
}
static inline struct trace_row *row_at(int64_t number) { return table_entry(PROFILE_TABLE, number); }
static inline struct trace_record *record_at(int64_t number) { return table_entry(RECORDS_TABLE, number); }

/* Creates a file for at most `records` records, with a header that has the capacities. Returns 0, or an errno; then
 * there is no file. */
int table_create(const char *path, int64_t records);

/* Grows a table to space for `entries` entries. Returns 0, or an errno. The caller holds the lock. */
int table_reserve(int table, int64_t entries);

/* Returns the number of the next entry, after growing the table if necessary. If there is no room, returns TRACE_NONE
 * and increments `dropped`, unless NULL. The caller holds the lock, and increments the number of entries. */
uint32_t table_next(int table, _Atomic int64_t *dropped);

/* Unmaps and closes the file. Nothing may be recorded after it. */
void recording_close(void);

/* Closes and removes the file. */
void recording_discard(void);

/* Returns 1 if an errno means that a limit or the disk is exhausted. The program then runs without a recording. */
int is_exhaustion(int code);

#endif
