/* The clocks of all processes (clocks.h): synchronized in MPI_Init and MPI_Finalize, and with
 * DOWNBEAT_PRELOAD_SYNC_EVERY also in between, after collectives on MPI_COMM_WORLD. */
#define _GNU_SOURCE
#include "clocks.h"

#include "frames.h"
#include "process.h"
#include "recording.h"

#include <mpix_harmonize.h>
#include <stdlib.h>
#include <time.h>

/* A duplicate of MPI_COMM_WORLD; its global clock is that of the trace. */
static MPI_Comm world = MPI_COMM_NULL;
static int rank; /* rank of this process in `world` */

/* All processes have the same number of collectives on MPI_COMM_WORLD. When it reaches `next_decision`, process 0
 * decides if a synchronization is due. */
static int64_t collectives;             /* number of collectives since MPI_Init */
static int64_t next_decision;           /* number of collectives at the next decision */
static int64_t collectives_at_decision; /* number of collectives at the last decision */
static int64_t decision_ticks;          /* time of the last decision, ticks */
static int64_t sync_ticks;              /* time of the last synchronization, ticks */
#define FIRST_DECISION 16 /* number of collectives; any small number, from which their rate is estimated */

/* Stores the local clock and its settings in the recording. */
static void set_clock(const Downbeat_clock *clock) {
    MPI_Info info;
    char name[TRACE_CLOCK_SIZE] = "";
    char wander[64] = "";
    int exists = 0;
    if (MPIX_Harmonize_get_info(world, &info) == MPI_SUCCESS) {
        PMPI_Info_get(info, "clock", sizeof name - 1, name, &exists);
        PMPI_Info_get(info, "max_wander", sizeof wander - 1, wander, &exists);
        PMPI_Info_free(&info);
    }
    recording_set_clock(clock, name, strtod(wander, NULL));
}

/* Reads a system clock 20 times between two readings of the local clock, and returns the reading with the shortest time
 * between them, since any reading may be interrupted. */
static struct trace_reading read_system_clock(clockid_t id) {
    struct trace_reading best = {.width = INT64_MAX};
    for (int i = 0; i < 20; ++i) {
        struct timespec time;
        int64_t before = recording_ticks();
        clock_gettime(id, &time);
        int64_t width = (recording_ticks() - before + 1) / 2;
        if (width < best.width)
            best = (struct trace_reading){(int64_t)time.tv_sec * 1000000000 + time.tv_nsec, before + width, width};
    }
    return best;
}

/* Adds the clock map and readings of the system clocks to the recording. */
static void add_map(const Downbeat_clock *clock) {
    static const clockid_t ids[TRACE_CLOCKS] = {CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_MONOTONIC_RAW, CLOCK_BOOTTIME};
    struct trace_map map = {.ticks = clock->ticks,
                            .global_ns = clock->global,
                            .ns_per_tick = clock->tick,
                            .bound_ns = clock->bound,
                            .growth = clock->growth,
                            .ramp = clock->ramp,
                            .variance = clock->variance,
                            .cross = clock->cross,
                            .rate = clock->rate,
                            .walk = clock->walk};
    for (int i = 0; i < TRACE_CLOCKS; ++i)
        map.clocks[i] = read_system_clock(ids[i]);
    recording_add_map(&map);
}

/* Synchronizes the clocks, and returns the new map in `clock`. Collective. */
static int synchronize_map(Downbeat_clock *clock) {
    int code = MPIX_Harmonize_sync(world);
    return code == MPI_SUCCESS ? Downbeat_get_clock(world, clock) : code;
}

int clocks_begin(void) {
    Downbeat_clock clock;
    FRAME(frame);
    frame_enter(frame);
    int code = PMPI_Comm_dup(MPI_COMM_WORLD, &world);
    if (code == MPI_SUCCESS)
        code = synchronize_map(&clock);
    if (code == MPI_SUCCESS) {
        PMPI_Comm_rank(world, &rank);
        set_clock(&clock);
        add_map(&clock);
        decision_ticks = sync_ticks = recording_ticks();
        next_decision = FIRST_DECISION;
    }
    frame_leave(frame);
    return code;
}

void clocks_synchronize(void) {
    Downbeat_clock clock;
    FRAME(frame);
    frame_enter(frame);
    if (synchronize_map(&clock) == MPI_SUCCESS)
        add_map(&clock);
    frame_leave(frame);
    sync_ticks = recording_ticks();
}

void clocks_end(void) {
    clocks_synchronize();
    FRAME(frame);
    frame_enter(frame);
    PMPI_Comm_free(&world);
    frame_leave(frame);
}

/* Process 0's decision, which it broadcasts as two numbers. */
struct decision {
    int64_t is_due;     /* 1 if a synchronization is due */
    int64_t until_next; /* number of collectives until the next decision, estimated from the rate of collectives */
};

/* Decides if a synchronization is due. Process 0 only. */
static struct decision decide(void) {
    int64_t now = recording_ticks();
    double tick = recording_tick_ns() * 1e-9;
    double per_call = (double)(now - decision_ticks) * tick / (double)(collectives - collectives_at_decision);
    double waited = (double)(now - sync_ticks) * tick;
    int is_due = waited >= settings.sync_every;
    double remaining = is_due ? settings.sync_every : settings.sync_every - waited;
    double calls = per_call > 0.0 ? remaining / per_call : 1.0;
    decision_ticks = now;
    collectives_at_decision = collectives;
    return (struct decision){is_due, calls < 1.0 ? 1 : calls > 1e9 ? 1000000000 : (int64_t)calls + 1};
}

void clocks_after_collective(void) {
    if (++collectives < next_decision)
        return;
    struct decision decision = {0};
    FRAME(frame);
    frame_enter(frame);
    if (rank == 0)
        decision = decide();
    int code = PMPI_Bcast(&decision, 2, MPI_INT64_T, 0, world);
    frame_leave(frame);
    if (code != MPI_SUCCESS)
        return;
    if (decision.is_due)
        clocks_synchronize();
    next_decision = collectives + decision.until_next;
}

/* --- for `downbeat timebase`, a program that makes only these calls */

/* Initializes MPI and the recording. Returns the number of processes, or -1. */
int downbeat_preload_begin(void) {
    int size = -1;
    if (MPI_Init(NULL, NULL) == MPI_SUCCESS && library_begun)
        PMPI_Comm_size(MPI_COMM_WORLD, &size);
    return size;
}

/* Process 0 broadcasts `more`. If it is 1, takes a sample of the clocks (a synchronization); the last sample is taken
 * in MPI_Finalize. Until `seconds` have passed, the other processes poll only 10 times per second, so that they hardly
 * disturb other programs. Returns process 0's `more`, or -1 on error. Collective. */
int downbeat_preload_sample(int more, double seconds) {
    MPI_Request request;
    int done = 0;
    FRAME(frame);
    frame_enter(frame);
    int64_t begin = recording_ticks();
    int code = PMPI_Ibcast(&more, 1, MPI_INT, 0, world, &request);
    while (code == MPI_SUCCESS) {
        code = PMPI_Test(&request, &done, MPI_STATUS_IGNORE);
        if (done)
            break;
        double remaining = seconds - (double)(recording_ticks() - begin) * recording_tick_ns() * 1e-9;
        struct timespec nap = {.tv_nsec = remaining > 0.1 ? 100000000 : 1000000};
        nanosleep(&nap, NULL);
    }
    frame_leave(frame);
    if (code == MPI_SUCCESS && more)
        clocks_synchronize();
    return code == MPI_SUCCESS ? more : -1;
}
