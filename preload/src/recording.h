/* What a recording has of the process, and entries of its tables. */
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

/* Creates the file. Without `records` there is room for tables alone. `threaded`: several threads record at once.
 * Returns 0, or an errno. */
int recording_open(const char *path, int world_rank, int world_size, int64_t records, int threaded);

/* How the program ends, for those who read the file. */
void recording_end(int ending, int abort_code);

/* The local clock, from now on, and what the library's settings say of it. */
void recording_set_clock(const Downbeat_clock *clock, const char *name, double max_wander);

/* Adds the map that a synchronization left. */
void recording_add_map(const struct trace_map *map);

INTERNAL Downbeat_clock recording_clock;
INTERNAL int recording_by_counter; /* the clock is the processor's counter, which is read faster without calls */

/* Reads the local clock. */
static inline int64_t recording_ticks(void) {
#if defined(__x86_64__)
    unsigned processor;
    if (__builtin_expect(recording_by_counter, 1))
        return (int64_t)__rdtscp(&processor); /* after earlier instructions: no timestamp slips before an operation */
#endif
    return recording_clock.read(recording_clock.clock);
}

/* Adds to a sum that other threads may add to. */
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

/* Length of a tick, ns. */
double recording_tick_ns(void);

/* A call that has begun but not ended keeps its row. */
static inline void recording_hold(struct trace_row *row, int more) { RECORDING_ADD32(row->held, more); }

/* A call that only is added up. */
void recording_add_kind(int kind, int64_t ticks);

/* The number of a new entry in a table, or TRACE_NONE: there is no room, which is counted. */
uint32_t recording_add_site(const struct trace_site *site);
uint32_t recording_add_start(const struct trace_start *start);
uint32_t recording_add_phase(const struct trace_phase *phase);

struct trace_communicator *recording_communicator(uint32_t number);
struct trace_site *recording_site(uint32_t number);
struct trace_start *recording_start(uint32_t number);
struct trace_phase *recording_phase(uint32_t number);
uint32_t recording_starts(void);
uint32_t recording_phases(void);

#endif
