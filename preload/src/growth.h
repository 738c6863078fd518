/* The tables of a recording, in a file that is mapped into memory (trace_file.h), with room that grows. */
#ifndef DOWNBEAT_PRELOAD_GROWTH_H
#define DOWNBEAT_PRELOAD_GROWTH_H

#include "sharing.h"
#include "trace_file.h"

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

static const int64_t table_entry_size[TABLES] = {sizeof(struct trace_map),   sizeof(struct trace_communicator),
                                                 sizeof(struct trace_site),  sizeof(struct trace_start),
                                                 sizeof(struct trace_phase), sizeof(struct trace_row),
                                                 sizeof(struct trace_record)};

/* Entries lie together in parts of 2^shift, a page or less; chunks have whole parts, but for the last one of a table.
 */
static const int table_part_shift[TABLES] = {4, 5, 2, 5, 5, 6, 6};

struct recording_file {
    struct trace_header *header;    /* NULL: closed */
    char **parts[TABLES];           /* of each table, by number */
    _Atomic int64_t stored[TABLES]; /* entries that the file has room for now */
    pthread_mutex_t lock;
};
INTERNAL struct recording_file recording;

/* An entry that the table has. */
static inline void *table_entry(int table, int64_t number) {
    char **parts = __atomic_load_n(&recording.parts[table], __ATOMIC_ACQUIRE);
    int64_t place = number & ((1 << table_part_shift[table]) - 1);
    return parts[number >> table_part_shift[table]] + place * table_entry_size[table];
}
static inline struct trace_row *row_at(int64_t number) { return table_entry(PROFILE_TABLE, number); }
static inline struct trace_record *record_at(int64_t number) { return table_entry(RECORDS_TABLE, number); }

/* Makes a file for at most so many records, empty but for its header, whose capacities are set. Returns 0, or an
 * errno; then there is no file. */
int table_create(const char *path, int64_t records);

/* Those who call these hold the lock. Makes room for `entries`; returns 0, or an errno. */
int table_reserve(int table, int64_t entries);

/* The number of the next entry, or TRACE_NONE, which is counted. */
uint32_t table_next(int table, _Atomic int64_t *dropped);

/* Unmaps and closes the file. Nothing may be recorded after it. */
void recording_close(void);

/* As if there had been none. */
void recording_discard(void);

/* Whether an errno says that a limit or the disk has no room: the program can do without a recording. */
int recording_is_scarce(int code);

#endif
