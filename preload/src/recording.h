/* This process's recording, in a file that is mapped into memory (trace_file.h). */
#ifndef DOWNBEAT_PRELOAD_RECORDING_H
#define DOWNBEAT_PRELOAD_RECORDING_H

#include "trace_file.h"

#include <downbeat/clock.h>
#include <stddef.h>
#include <stdint.h>

/* Creates the file. Without `records` there is room for tables alone. Returns 0, or an errno. */
int recording_open(const char *path, int world_rank, int world_size, int64_t records);

/* Unmaps and closes the file. Nothing may be recorded after it. */
void recording_close(void);

/* How the program ends, for those who read the file. */
void recording_end(int ending, int abort_code);

/* The local clock, from now on. */
void recording_set_clock(const Downbeat_clock *clock, double max_wander);

/* Adds the map that a synchronization left. */
void recording_add_map(const Downbeat_clock *clock);

/* Reads the local clock. */
int64_t recording_ticks(void);

/* Length of a tick, ns. */
double recording_tick_ns(void);

/* A record to fill in, or NULL: there is no room, which is counted. */
struct trace_record *recording_take(void);

/* The number of a new entry in a table, or TRACE_NONE: there is no room, which is counted. */
uint32_t recording_add_communicator(const struct trace_communicator *communicator);
uint32_t recording_add_site(const struct trace_site *site);
uint32_t recording_add_start(const struct trace_start *start);

struct trace_communicator *recording_communicator(uint32_t number);
struct trace_site *recording_site(uint32_t number);
struct trace_start *recording_start(uint32_t number);
uint32_t recording_starts(void);

/* Appends what is in a process's file, without the room that it did not use, to an open file. Returns 0, or an errno.
 */
int recording_append(int target, const char *path);

#endif
