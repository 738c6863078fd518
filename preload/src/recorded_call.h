/* A call of a collective, from entry to completion. */
#ifndef DOWNBEAT_PRELOAD_RECORDED_CALL_H
#define DOWNBEAT_PRELOAD_RECORDED_CALL_H

#include "communicators.h"
#include "process.h"
#include "recording.h"

struct call {
    struct comm *comm;
    struct trace_row *row;       /* where it is added up; NULL: nowhere */
    struct trace_record *record; /* NULL: none is kept */
    const void *address;
    uintptr_t frame; /* of the function that the program called */
    int64_t entry;
    int64_t exit;
    int64_t bytes;
    int64_t *sample; /* where the exit goes if this is what follows a harmonized barrier; else NULL */
    uint32_t sequence;
    uint16_t operation;
    uint8_t kind;
    int template;   /* of the starts of a persistent collective: nothing happens yet */
    uint32_t round; /* number of the start */
};

/* Begins a call of a collective. Returns 0 if it is not the program's, or nothing is recorded: then call MPI at once.
 * `call->comm` is NULL if it is not the program's. */
int call_begin(struct call *call, uintptr_t frame, int operation, int kind, MPI_Comm comm, const void *address);

/* Takes the entry's timestamp, and sets `inside`. */
void call_enter(struct call *call, int64_t bytes, int root);

/* The same for a start of a persistent collective, within the function that starts it. */
void call_record(struct call *call, int64_t bytes, int root);

/* The call is complete: it ended at `exit`. */
void call_complete(const struct call *call);

/* Ticks of this thread in MPI calls that are only added up, since it left a collective. */
INTERNAL INITIAL_EXEC int64_t elsewhere;

/* Collectives that are timed are those of kinds, too. Returns when the call begins; 0: it is not the program's. */
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
