/* The file of a recording, as those that write it share it: mapped, with room that grows. */
#ifndef DOWNBEAT_PRELOAD_RECORDING_FILE_H
#define DOWNBEAT_PRELOAD_RECORDING_FILE_H

#include "recording.h"

#include <pthread.h>
#include <signal.h>

#pragma GCC visibility push(hidden) /* as in preload.h */

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
extern struct recording_file own;

/* An entry that the table has. */
static inline void *table_entry(int table, int64_t number) {
    char **parts = __atomic_load_n(&own.parts[table], __ATOMIC_ACQUIRE);
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

/* --- own_file.c: the file itself. The program may close, limit and lock whatever it has, and ours with it. */

/* Makes it. Returns 0, or an errno. */
int own_file_create(const char *path);

/* Adds so many bytes, whole pages, which are mapped at `memory` then. Returns 0, or an errno; the program's own files
 * and signals are as before in any case. */
int own_file_grow(int64_t size, char **memory);

/* Bytes that it has now. */
int64_t own_file_size(void);

/* Bytes by which it may grow, as limits and the disk say now, and the errno of growing by more. */
int64_t own_file_room(int *code);

/* Unmaps and closes it; takes its name away. */
void own_file_close(void);
void own_file_remove(void);

/* Between these, a write beyond the limit of file sizes is an error and no signal, and a signal of the program's own
 * waits. `all`: so do all others. */
struct held_signals {
    sigset_t before;
    int pending;
};
void signals_hold(struct held_signals *held, int all);
void signals_release(const struct held_signals *held);

/* profile.c: gives the place of a freed communicator back, unless a record, a call or a start needs it. */
void profile_release(uint32_t number);

#pragma GCC visibility pop

#endif
