/* A call of a collective, from entry to completion. */
#ifndef DOWNBEAT_PRELOAD_RECORDED_CALL_H
#define DOWNBEAT_PRELOAD_RECORDED_CALL_H

#include "communicators.h"
#include "process.h"
#include "recording.h"

struct call {
    struct comm *comm;
    struct trace_row *row;       /* its row of the profile; NULL: none */
    struct trace_record *record; /* NULL: no record */
    const void *address;
    uintptr_t frame; /* frame address of the wrapper */
    int64_t entry;
    int64_t exit;
    int64_t bytes;
    int64_t *sample; /* address for the exit time of a sample (samples_enter); else NULL */
    uint32_t sequence;
    uint16_t operation;
    uint8_t kind;
    int template;   /* 1 for the initialization of a persistent collective */
    uint32_t round; /* number of a persistent collective's start */
};

/* Begins a call of a collective. Returns 0 if the call is not the program's or is not recorded; then call MPI directly.
 * `call->comm` is NULL if the call is not the program's. */
int call_begin(struct call *call, uintptr_t frame, int operation, int kind, MPI_Comm comm, const void *address);

/* Takes the entry's timestamp, and sets `inside`. */
void call_enter(struct call *call, int64_t bytes, int root);

/* call_enter for the start of a persistent collective, within the wrapper that starts it. */
void call_record(struct call *call, int64_t bytes, int root);

/* Completes the call at call->exit. */
void call_complete(const struct call *call);

/* Ticks of this thread in MPI calls that are only counted, since its last collective. */
INTERNAL INITIAL_EXEC int64_t elsewhere;

/* Time a call of a kind that is only counted. timed_begin returns the reading at its beginning; 0 if the call is not
 * the program's. */
static inline int64_t timed_begin(int program) { return program && begun ? recording_ticks() : 0; }
static inline int64_t timed_end(int kind, int64_t begin) {
    int64_t now = begin != 0 ? recording_ticks() : 0;
    if (begin != 0 && active && settings.record) {
        recording_add_kind(kind, now - begin);
        elsewhere += now - begin;
    }
    return now;
}

#endif
