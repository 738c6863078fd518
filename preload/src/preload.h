/* Shared by the files of libdownbeat-preload. Only this room of the project has mutable globals: a process has one
 * preloaded library. */
#ifndef DOWNBEAT_PRELOAD_H
#define DOWNBEAT_PRELOAD_H

#include "recording.h"
#include "settings.h"

#include <mpi.h>
#include <stdatomic.h>
#include <stdint.h>

/* What files of this library share is reached without a table of addresses, and may be inlined. */
#pragma GCC visibility push(hidden)

#ifdef OMPI_MAJOR_VERSION
#define OPEN_MPI 1
#else
#define OPEN_MPI 0
#endif

/* Initial-exec: a preloaded library is there when the program starts, and the access costs what a variable costs. */
#define PER_THREAD static _Thread_local __attribute__((tls_model("initial-exec")))

/* Both MPI_Name and PMPI_Name are ours: Open MPI's Fortran calls PMPI_Name, as do MPICH's bindings of mpi_f08, and
 * tools that come before this library. Each goes on to the next function of its own name, so a tool that comes after
 * this library sees what it would see without. Calls that such a tool passes on to PMPI_Name are not counted again:
 * they are `inside`. */
#define BOTH(X, Name, ...) X(MPI_##Name, __VA_ARGS__) X(PMPI_##Name, __VA_ARGS__)
#define WRAP(Function) static __typeof__(Function) *real_##Function
#define FOUND(Function) __atomic_load_n(&real_##Function, __ATOMIC_RELAXED)
#define REAL(Function)                                                                                                 \
    (__builtin_expect(FOUND(Function) != NULL, 1)                                                                      \
         ? FOUND(Function)                                                                                             \
         : (find_next((void **)(void *)&real_##Function, #Function), FOUND(Function)))

/* Finds the function that this library hides; ends the program if there is none. */
void find_next(void **function, const char *name);

/* A line "downbeat: ..." on standard error. */
__attribute__((format(printf, 1, 2))) void say(const char *format, ...);

/* A thread that jumped out of a function that held the lock has it (EDEADLK), and goes on. */
#define LOCK PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP

/* --- frames.c */

/* The frame of the function that the program called, while it runs: calls that MPI, libdownbeat or this library make
 * meanwhile are not the program's, and nothing of them is recorded. 0: there is none. */
extern _Thread_local __attribute__((tls_model("initial-exec"))) uintptr_t inside;
#define FRAME_DOUBTFUL ((uintptr_t)1) /* in the lowest bit of a frame: it may have been left */

/* In each function that the program may call, and that sets `inside`: its frame. */
#define FRAME(name)                                                                                                    \
    __asm__ volatile(".cfi_personality 0x1b, frame_unwound");                                                          \
    const uintptr_t name = (uintptr_t)__builtin_frame_address(0)
int frame_unwound(int version, int actions, uint64_t class, void *exception,
                                                        void *context);

/* Finds out which frames were left. Returns whether the program's call still is on its way. */
int frame_settle(void);

/* Whether a function with this frame was called while another one that the program called runs. */
static inline int frame_within(uintptr_t frame, uintptr_t outer) { return frame < outer && !(outer & FRAME_DOUBTFUL); }
static inline int is_inside(uintptr_t frame) {
    const uintptr_t outer = inside;
    return __builtin_expect(outer != 0, 0) && (__builtin_expect(frame_within(frame, outer), 1) || frame_settle());
}

/* Returns whether the program called. */
static inline int frame_enter(uintptr_t frame) {
    if (is_inside(frame))
        return 0;
    inside = frame;
    return 1;
}

/* Returns whether the program called, and its call was on its way until now. */
static inline int frame_leave(uintptr_t frame) {
    if ((inside & ~FRAME_DOUBTFUL) != frame)
        return 0;
    inside = 0;
    return 1;
}

/* A Fortran entry, while it runs: the C function that it calls was not called by the program. */
struct fortran_call {
    uintptr_t frame;
    const void *site; /* its return address */
};
extern _Thread_local __attribute__((tls_model("initial-exec"))) struct fortran_call fortran_call;
const void *fortran_settle(void);

/* The call site of the Fortran entry that calls a function with this frame; NULL: none does. */
static inline const void *fortran_site(uintptr_t frame) {
    const uintptr_t outer = fortran_call.frame;
    if (__builtin_expect(outer == 0, 1))
        return NULL;
    return frame_within(frame, outer) ? fortran_call.site : fortran_settle();
}

/* Between MPI_Init and MPI_Finalize; `active` unless switched off by MPI_Pcontrol(0), until MPI_Pcontrol(1). */
extern _Atomic int begun;
extern _Atomic int active;

extern struct settings settings;

struct call;

/* Leaves a mark in settings.directory for the whole job. Returns whether this process is the first one to do so. */
int first_of_job(const char *what);

/* --- waits.c */

/* This thread waits for others in a barrier that has a common start; NULL: no more. */
void waits_begin(const struct call *call);

/* After a look for others that was in vain. */
void waits_still(void);

/* --- thread_memory.c */

/* Gives this thread `size` bytes of zeros, at a pointer of its own, until it ends: what is per thread in place comes
 * out of its stack, which may be small. Returns 0 if there are none. */
int thread_memory(void **pointer, size_t size);

/* --- presence.c */

/* Leaves a mark that this process has the library: before MPI_Init, in settings.directory, which is there. */
void presence_announce(void);

/* Whether all processes of MPI_COMM_WORLD have the library: the same answer on all that have. Sends no message. `code`:
 * errno of making the directory. */
int presence_of_all(int rank, int size, int code);

/* All processes have had their answer: it can go. */
void presence_seen_by_all(void);

/* --- communicators.c */

struct waiting_sample;

struct comm {
    MPI_Comm handle;
    uint64_t identity; /* the same on all of its processes */
    uint32_t number;   /* in the file */
    _Atomic uint32_t sequence;
    int rank;
    int size;
    int peers; /* number of processes that exchange data: `size`, or that of the remote group */
    int inter;
    int everyone; /* has all processes of MPI_COMM_WORLD */
    int together; /* its barriers have a common start */
    int mixed;    /* processes have disagreed on that */
    struct waiting_sample *waiting;
};

/* Prepares what is needed to know communicators. */
void communicators_begin(void);
void communicators_end(void);

/* The record of a communicator, made if need be; NULL for MPI_COMM_NULL. Local. */
struct comm *communicator_of(MPI_Comm handle);

/* A communicator that was made by a nonblocking call is there. */
void communicators_made(MPI_Comm handle, uint64_t origin);

/* --- sites.c */

/* The number of a call site in the file. */
uint32_t site_of(const void *address);

/* A call site in words: module, offset, function. */
#define SITE_TEXT_SIZE 544
void site_text(char text[SITE_TEXT_SIZE], const void *address);

/* Whether an address belongs to the executable. */
int in_executable(const void *address);

/* --- python_frames.c */

extern int python_begun; /* there is Python in the process */

/* Sets it. */
void python_frames_begin(void);

const void *python_frame_caller(const void *address);

/* The call site of a return address: what stands for file and line of the running Python frame, if a binding of MPI for
 * Python is there; else the address. */
static inline const void *python_caller(const void *address) {
    return __builtin_expect(python_begun, 0) ? python_frame_caller(address) : address;
}

/* Describes what python_caller returned; 0: it is a return address. */
int python_site(const void *address, struct trace_site *site);

/* --- calls.c */

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
extern _Thread_local __attribute__((tls_model("initial-exec"))) int64_t elsewhere;

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

/* The end of a blocking call, of the call that starts a nonblocking one, and of the call that makes a persistent one.
 * `code` is MPI's. */
void call_leave(struct call *call, int code);
void call_started(struct call *call, int code, const MPI_Request *request);
void call_initialized(struct call *call, int code, const MPI_Request *request, int root);

/* --- completion.c */

/* Remembers that a request stands for a record. */
void completion_expect(MPI_Request request, const struct call *call);
void completion_expect_persistent(MPI_Request request, const struct call *call, int root);

/* Remembers that a communicator will be there. */
void completion_expect_communicator(MPI_Request request, const MPI_Comm *handle, uint64_t origin);

/* The communicator is freed. */
void completion_forget(const struct comm *comm);

/* The call that this thread made to see completions was left. */
void completion_abandon(void);

/* --- phases.c */

/* The number of the phase that the process is in, as in rows of the profile. */
extern _Atomic uint16_t phase_now;

/* MPI_Pcontrol of level 1 or -1; at `address` there may be a name. */
void phases_control(int level, const char *address);

/* The program ends, in whatever phases. */
void phases_end(void);

/* --- clocks.c */

/* Synchronizes the clocks of all processes, and records the map. Collective over MPI_COMM_WORLD. */
int clocks_begin(void);
void clocks_synchronize(void);
void clocks_end(void);

/* After a blocking collective on all processes: synchronizes if it is time. */
void clocks_after_collective(void);

/* --- starts.c */

/* Whether this barrier and all later ones on its communicator have a common start: once all of its processes want it.
 * Collective, as a process cannot know where the others call it from. `code` is MPI's. */
int starts_agree(const struct call *call, int wanted, int *code);

/* A barrier with a common start instead of MPI_Barrier. */
int starts_barrier(struct call *call);
void starts_left(struct call *call, int code);

/* On a communicator that had a harmonized barrier: a blocking call begins, or the completion of a nonblocking one was
 * seen. */
void starts_entered(struct call *call);
void starts_completed(const struct call *call);

/* The communicator is freed, or MPI ends. */
void starts_forget(struct comm *comm);

/* The program ends: no more verdicts will be known. */
void starts_end(void);

#pragma GCC visibility pop

/* clocks.c: what `downbeat timebase` calls, see there. */
int downbeat_preload_begin(void);
int downbeat_preload_sample(int more, double seconds);

#endif
