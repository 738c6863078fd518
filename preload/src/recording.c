/* The header, clock and sums of a recording, and entries of its tables (recording.h). tables.c stores them in the file.
 */
#define _GNU_SOURCE
#include "recording.h"

#include "tables.h"

#include "collectives.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NAME(Name, name, parameters, arguments, bytes, root) #name "\0"
static const char operation_names[] = BARRIER(NAME) COLLECTIVES(NAME, int, int, );
_Static_assert(sizeof operation_names <= TRACE_NAMES_SIZE, "the names fit into the header");

Downbeat_clock recording_clock;
int recording_by_counter;
int recording_threaded;
static int64_t initial_wait_ns; /* run-queue wait of this thread before recording */

/* Returns the time for which this thread has waited for a processor (second number of schedstat), ns; -1 if unknown. */
static int64_t run_queue_wait_ns(void) {
    char text[128] = "";
    FILE *file = fopen("/proc/thread-self/schedstat", "re");
    if (file == NULL)
        return -1;
    const char *second = fgets(text, sizeof text, file) != NULL ? strchr(text, ' ') : NULL;
    fclose(file);
    return second != NULL ? strtoll(second, NULL, 10) : -1;
}

/* Writes the first values into the header of the file: ranks, time and host. */
static void write_header(int world_rank, int world_size) {
    struct timespec now;
    cpu_set_t allowed;
    clock_gettime(CLOCK_REALTIME, &now);
    recording.header->world_rank = world_rank;
    recording.header->world_size = world_size;
    recording.header->ending = TRACE_RUNNING;
    recording.header->pid = getpid();
    recording.header->began_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    recording.header->unplaced.thinning = UINT8_MAX; /* above all levels: its calls get no records */
    recording.header->ready_ns = -1;                 /* unknown until recording_end */
    recording.header->processors = (int32_t)sysconf(_SC_NPROCESSORS_ONLN);
    recording.header->allowed = sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : 0;
    recording.header->record_size = (int32_t)sizeof(struct trace_record);
    recording.header->operations = OPERATIONS;
    gethostname(recording.header->host, TRACE_HOST_SIZE - 1);
    memcpy(recording.header->names, operation_names, sizeof operation_names);
    /* Written last: readers ignore a file without it. */
    memcpy(recording.header->magic, TRACE_MAGIC, sizeof recording.header->magic);
}

int recording_open(const char *path, int world_rank, int world_size, int64_t records, int threaded) {
    recording_threaded = threaded;
    int code = table_create(path, records);
    if (recording.header != NULL)
        write_header(world_rank, world_size);
    initial_wait_ns = run_queue_wait_ns();
    return code;
}

void recording_end(int ending, int abort_code) {
    if (recording.header == NULL)
        return;
    int64_t ready = run_queue_wait_ns();
    if (ready >= 0 && initial_wait_ns >= 0)
        recording.header->ready_ns = ready - initial_wait_ns;
    recording.header->abort_code = abort_code;
    recording.header->ending = ending;
}

void recording_set_clock(const Downbeat_clock *clock, const char *name, double max_wander) {
    recording_clock = *clock;
    recording.header->max_wander = max_wander;
    snprintf(recording.header->clock, sizeof recording.header->clock, "%s", name);
#if defined(__x86_64__)
    /* A reading of the clock between two readings of the counter: the clock is the counter. */
    unsigned processor; /* not used */
    int64_t before = (int64_t)__rdtscp(&processor);
    int64_t reading = clock->read(clock->clock);
    recording_by_counter = before <= reading && reading <= (int64_t)__rdtscp(&processor);
#endif
}

/* If there is no room, replaces the last map, because the map at the end of the program matters most. */
void recording_add_map(const struct trace_map *map) {
    int64_t number = recording.header->maps;
    if (table_reserve(MAPS_TABLE, number + 1) != 0) {
        ++recording.header->maps_dropped;
        --number;
    }
    memcpy(table_entry(MAPS_TABLE, number), map, sizeof *map);
    recording.header->maps = number + 1;
}

double recording_tick_ns(void) { return recording_clock.tick; }

void recording_add_kind(int kind, int64_t ticks) {
    RECORDING_ADD(recording.header->kinds[kind].calls, 1);
    RECORDING_ADD(recording.header->kinds[kind].ticks, ticks);
}

/* Adds an entry to a table. Returns its number, or TRACE_NONE, which increments `dropped`. */
static uint32_t add(int table, const void *entry, _Atomic int64_t *dropped) {
    pthread_mutex_lock(&recording.lock);
    uint32_t number = table_next(table, dropped);
    if (number != TRACE_NONE) {
        memcpy(table_entry(table, number), entry, (size_t)table_entry_size[table]);
        ++recording.header->extents[table].used;
    }
    pthread_mutex_unlock(&recording.lock);
    return number;
}

uint32_t recording_add_site(const struct trace_site *site) {
    return add(SITES_TABLE, site, &recording.header->sites_dropped);
}

uint32_t recording_add_start(const struct trace_start *start) {
    if (start->communicator != TRACE_NONE)
        recording_communicator(start->communicator)->pinned = 1;
    return add(STARTS_TABLE, start, &recording.header->starts_dropped);
}

uint32_t recording_add_phase(const struct trace_phase *phase) {
    return add(PHASES_TABLE, phase, &recording.header->phases_dropped);
}

struct trace_communicator *recording_communicator(uint32_t number) {
    return table_entry(COMMUNICATORS_TABLE, number);
}

struct trace_site *recording_site(uint32_t number) {
    return table_entry(SITES_TABLE, number);
}

struct trace_start *recording_start(uint32_t number) {
    return table_entry(STARTS_TABLE, number);
}

struct trace_phase *recording_phase(uint32_t number) {
    return table_entry(PHASES_TABLE, number);
}

uint32_t recording_starts(void) { return (uint32_t)recording.header->starts; }

uint32_t recording_phases(void) { return (uint32_t)recording.header->phases; }
