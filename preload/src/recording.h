/* A recording: the data of a process in the header of its trace file, and entries of its tables (trace_file.h). Also
 * the local clock, whose ticks all times are. */
#ifndef DOWNBEAT_PRELOAD_RECORDING_H
#define DOWNBEAT_PRELOAD_RECORDING_H

#include "sharing.h"
#include "trace_file.h"

#include <downbeat/clock.h>
#include <stddef.h>
#include <stdint.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

/* Creates the file, for at most `records` records. `threaded`: several threads record concurrently. Returns 0, or an
 * errno. */
int recording_open(const char *path, int world_rank, int world_size, int64_t records, int threaded);

/* Stores how the program ends: TRACE_FINALIZED or TRACE_ABORTED. */
void recording_end(int ending, int abort_code);

/* Sets the local clock, with its name and the setting max_wander. */
void recording_set_clock(const Downbeat_clock *clock, const char *name, double max_wander);

/* Adds the clock map after a synchronization. */
void recording_add_map(const struct trace_map *map);

INTERNAL Downbeat_clock recording_clock;
INTERNAL int recording_by_counter; /* 1 if the clock is the processor's counter, which is read inline */

/* Reads the local clock. */
static inline int64_t recording_ticks(void) {
#if defined(__x86_64__)
    unsigned processor;
    if (__builtin_expect(recording_by_counter, 1))
        return (int64_t)__rdtscp(&processor); /* ordered after earlier instructions */
#endif
    return recording_clock.read(recording_clock.clock);
}

/* Adds to a sum, atomically if several threads record. */
INTERNAL int recording_threaded;
#define RECORDING_ADD_AS(type, sum, value)                                                                             \
    do {                                                                                                               \
        if (__builtin_expect(recording_threaded, 0))                                                                   \
            __atomic_fetch_add((type *)&(sum), (type)(value), __ATOMIC_RELAXED);                                       \
        else                                                                                                           \
            *(type *)&(sum) += (type)(value);                                                                          \
    } while (0)
#define RECORDING_ADD(sum, value) RECORDING_ADD_AS(int64_t, sum, value)
#define RECORDING_ADD32(sum, value) RECORDING_ADD_AS(uint32_t, sum, value)

/* Duration of a tick, ns. */
double recording_tick_ns(void);

/* Add or remove a reference to a row. Active calls and records hold their row, so that it is not merged. */
static inline void recording_hold(struct trace_row *row) { RECORDING_ADD32(row->held, 1); }
static inline void recording_release(struct trace_row *row) { RECORDING_ADD32(row->held, -1); }

/* Adds a call and its ticks to the counters of a kind. */
void recording_add_kind(int kind, int64_t ticks);

/* Adds an entry to a table. Returns its number, or TRACE_NONE if there is no room, which is counted. */
uint32_t recording_add_site(const struct trace_site *site);
uint32_t recording_add_start(const struct trace_start *start);
uint32_t recording_add_phase(const struct trace_phase *phase);

/* Entries by number, and numbers of entries. */
struct trace_communicator *recording_communicator(uint32_t number);
struct trace_site *recording_site(uint32_t number);
struct trace_start *recording_start(uint32_t number);
struct trace_phase *recording_phase(uint32_t number);
uint32_t recording_starts(void);
uint32_t recording_phases(void);

#endif
