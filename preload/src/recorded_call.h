/* A call of a collective, from entry to completion. A wrapper calls call_begin and call_enter before MPI's function.
 * Afterwards it sets call->exit and calls call_complete, or, for a nonblocking or persistent collective,
 * completion_expect (completion.h). Times are ticks of the local clock (recording.h). */
#ifndef DOWNBEAT_PRELOAD_RECORDED_CALL_H
#define DOWNBEAT_PRELOAD_RECORDED_CALL_H

#include "communicators.h"
#include "process.h"
#include "recording.h"

/* A call of the program, from its begin to its end. */
struct call {
    struct comm *comm;           /* data of its communicator; NULL: not a call of the program */
    struct trace_row *row;       /* its row of the profile; NULL: none */
    struct trace_record *record; /* its record in the trace; NULL: none */
    const void *address;         /* call site: a return address, or that of a Python line */
    uintptr_t frame;             /* frame address of the wrapper */
    int64_t entry;               /* time at which the call began */
    int64_t exit;                /* time at which a blocking call returned, or the call that completed it */
    int64_t bytes;               /* as in collectives.h; -1: unknown */
    int64_t *sample_exit; /* where to store the exit time if the call is part of a sample (samples_enter); else NULL */
    uint32_t sequence;    /* number of the collective on its communicator */
    uint16_t operation;   /* OPERATION_... (collectives.h) */
    uint8_t kind;         /* KIND_... (trace_file.h) */
    int is_persistent_init; /* 1 for the initialization of a persistent collective, 0 for its starts */
    uint32_t round;         /* number of starts of a persistent collective so far, from 1; else 0 */
};

/* Begins a call of a collective. Returns 1 if the call is recorded. Returns 0 if it is not recorded; the wrapper then
 * only calls MPI. call->comm is then NULL if MPI or a tool made the call, not the program. */
int call_begin(struct call *call, uintptr_t frame, int operation, int kind, MPI_Comm comm, const void *address);

/* Takes the entry time, and sets `program_frame` (frames.h). */
void call_enter(struct call *call, int64_t bytes, int root);

/* Like call_enter, but does not set `program_frame`. For the start of a persistent collective, because the wrapper of
 * MPI_Start has set it. */
void call_record(struct call *call, int64_t bytes, int root);

/* Completes the call in its row and record. The caller sets call->exit first. */
void call_complete(const struct call *call);

/* Ticks of this thread in MPI calls that are only counted, since its last collective. */
INTERNAL INITIAL_EXEC int64_t ticks_in_other_calls;

/* Measure a call that has no record and no row, only the counters of its kind (enum in trace_file.h). timed_begin
 * returns the reading at its beginning; 0 if the program did not make the call, or before MPI_Init and after
 * MPI_Finalize. timed_end returns the reading at its
 * end, or 0. */
static inline int64_t timed_begin(int is_program_call) {
    return is_program_call && library_begun ? recording_ticks() : 0;
}
static inline int64_t timed_end(int kind, int64_t begin) {
    int64_t now = begin != 0 ? recording_ticks() : 0;
    if (begin != 0 && library_enabled && settings.record) {
        recording_add_kind(kind, now - begin);
        ticks_in_other_calls += now - begin;
    }
    return now;
}

#endif
