/* Wrappers of the collectives: they define every C function of the table in collectives.h, in its blocking, nonblocking
 * and persistent form. For a call that is recorded, a wrapper calls call_begin and call_enter (recorded_call.h), the
 * real function, and one of call_leave, call_started and call_initialized. A harmonized barrier (starts.h) may replace
 * MPI_Barrier; starts_end then ends the call.
 *
 * A call is recorded in up to four places: call->row, its row of the profile; call->record, its record in the trace;
 * call->sample_exit, the exit time of a sample (samples.h); comm->waiting, the communicator's pending sample, which
 * ends when a nonblocking call completes. */
#include "clocks.h"
#include "collectives.h"
#include "completion.h"
#include "executable.h"
#include "frames.h"
#include "process.h"
#include "recorded_call.h"
#include "starts.h"

/* Ends a blocking call. Takes the timestamp first, and makes few stores: the operation's stores may still be pending,
 * and further stores would delay a program that measures. */
static void call_leave(struct call *call, int code) {
    if (call->row != NULL || call->sample_exit != NULL)
        call->exit = recording_ticks();
    frame_leave(call->frame);
    ticks_in_other_calls = 0; /* it counts from one collective to the next */
    if (call->sample_exit != NULL && code == MPI_SUCCESS)
        *call->sample_exit = call->exit;
    if (code == MPI_SUCCESS)
        call_complete(call);
    if (call->comm->is_world && settings.sync_every > 0.0)
        clocks_after_collective();
}

/* Ends the call that starts a nonblocking collective; `code` is MPI's error code. The call also waits for its
 * completion if it has no row but may end a pending sample (samples.h). */
static void call_started(struct call *call, int code, const MPI_Request *request) {
    int64_t now = recording_ticks();
    frame_leave(call->frame);
    ticks_in_other_calls = 0;
    if (code != MPI_SUCCESS)
        return;
    if (call->row != NULL) {
        recording_hold(call->row); /* until the request is complete */
        RECORDING_ADD(call->row->ticks, now - call->entry);
    }
    if (call->record != NULL)
        call->record->returned = now;
    if (call->row != NULL || call->comm->waiting != NULL)
        completion_expect(*request, call);
}

/* Ends the call that initializes a persistent collective. The call has no time of its own in row or record. */
static void call_initialized(struct call *call, int code, const MPI_Request *request, int root) {
    frame_leave(call->frame);
    if (code == MPI_SUCCESS)
        completion_expect_persistent(*request, call, root);
}

/* --- functions in the table's `bytes` */

/* Bytes of `count` elements; 0 if there are none; -1 if the size of the datatype is unknown. */
static inline int64_t bytes_of(int64_t count, MPI_Datatype datatype) {
    MPI_Count size = 0;
    if (count <= 0) /* the datatype may be invalid then */
        return 0;
    return PMPI_Type_size_x(datatype, &size) == MPI_SUCCESS && size != MPI_UNDEFINED ? count * (int64_t)size : -1;
}

/* bytes_of, but -1 (unknown) for MPI_ROOT and MPI_PROC_NULL on intercommunicators, where the other arguments have no
 * meaning. */
static inline int64_t rooted(int root, int64_t count, MPI_Datatype datatype) {
    return root >= 0 ? bytes_of(count, datatype) : -1;
}

/* Defines sums over the blocks of a call: sum_ adds the counts, each_ adds the bytes of blocks with different
 * datatypes. */
#define SUM_OF(suffix, type)                                                                                           \
    static int64_t sum_##suffix(const type *counts, int peers) {                                                       \
        int64_t sum = 0;                                                                                               \
        for (int i = 0; i < peers; ++i)                                                                                \
            sum += (int64_t)counts[i];                                                                                 \
        return sum;                                                                                                    \
    }                                                                                                                  \
    static int64_t each_##suffix(const type *counts, const MPI_Datatype *datatypes, int peers) {                       \
        int64_t sum = 0;                                                                                               \
        for (int i = 0; i < peers; ++i)                                                                                \
            sum += bytes_of((int64_t)counts[i], datatypes[i]);                                                         \
        return sum;                                                                                                    \
    }
#define EXPAND(...) __VA_ARGS__ /* removes the parentheses around a list */
#define OPERATION_NAME(name) OPERATION_##name

/* Wrappers of the three forms. */
#define DEFINE_BLOCKING(Function, name, parameters, arguments, bytes, root)                                            \
    WRAP(Function);                                                                                                    \
    int Function parameters {                                                                                          \
        FRAME(frame);                                                                                                  \
        struct call call;                                                                                              \
        if (!call_begin(&call, frame, OPERATION_NAME(name), KIND_BLOCKING, comm, __builtin_return_address(0)))         \
            return REAL(Function) arguments;                                                                           \
        call_enter(&call, bytes, root);                                                                                \
        int code = REAL(Function) arguments;                                                                           \
        call_leave(&call, code);                                                                                       \
        return code;                                                                                                   \
    }

#define DEFINE_NONBLOCKING(Function, name, parameters, arguments, bytes, root)                                         \
    WRAP(Function);                                                                                                    \
    int Function(EXPAND parameters, MPI_Request *request) {                                                            \
        FRAME(frame);                                                                                                  \
        struct call call;                                                                                              \
        if (!call_begin(&call, frame, OPERATION_NAME(name), KIND_NONBLOCKING, comm, __builtin_return_address(0)))      \
            return REAL(Function)(EXPAND arguments, request);                                                          \
        call_enter(&call, bytes, root);                                                                                \
        int code = REAL(Function)(EXPAND arguments, request);                                                          \
        call_started(&call, code, request);                                                                            \
        return code;                                                                                                   \
    }

#define DEFINE_PERSISTENT(Function, name, parameters, arguments, bytes, root)                                          \
    WRAP(Function);                                                                                                    \
    int Function(EXPAND parameters, MPI_Info info, MPI_Request *request) {                                             \
        FRAME(frame);                                                                                                  \
        struct call call;                                                                                              \
        if (!call_begin(&call, frame, OPERATION_NAME(name), KIND_PERSISTENT, comm, __builtin_return_address(0)))       \
            return REAL(Function)(EXPAND arguments, info, request);                                                    \
        call_enter(&call, bytes, root);                                                                                \
        int code = REAL(Function)(EXPAND arguments, info, request);                                                    \
        call_initialized(&call, code, request, root);                                                                  \
        return code;                                                                                                   \
    }

#define BLOCKING(Name, name, parameters, arguments, bytes, root)                                                       \
    BOTH(DEFINE_BLOCKING, Name, name, parameters, arguments, bytes, root)
#define NONBLOCKING(Name, name, parameters, arguments, bytes, root)                                                    \
    BOTH(DEFINE_NONBLOCKING, I##name, name, parameters, arguments, bytes, root)
#define PERSISTENT(Name, name, parameters, arguments, bytes, root)                                                     \
    BOTH(DEFINE_PERSISTENT, Name##_init, name, parameters, arguments, bytes, root)
#define PERSISTENT_X(Name, name, parameters, arguments, bytes, root)                                                   \
    DEFINE_PERSISTENT(MPIX_##Name##_init, name, parameters, arguments, bytes, root)                                    \
    DEFINE_PERSISTENT(PMPIX_##Name##_init, name, parameters, arguments, bytes, root)
#define BLOCKING_C(Name, name, parameters, arguments, bytes, root)                                                     \
    BOTH(DEFINE_BLOCKING, Name##_c, name, parameters, arguments, bytes, root)
#define NONBLOCKING_C(Name, name, parameters, arguments, bytes, root)                                                  \
    BOTH(DEFINE_NONBLOCKING, I##name##_c, name, parameters, arguments, bytes, root)
#define PERSISTENT_C(Name, name, parameters, arguments, bytes, root)                                                   \
    BOTH(DEFINE_PERSISTENT, Name##_init_c, name, parameters, arguments, bytes, root)

/* MPI_Barrier that is not recorded, after MPI_Pcontrol(0). The process still takes part in the other processes'
 * harmonized barriers (starts.h). */
static int unrecorded_barrier(struct call *call, __typeof__(MPI_Barrier) *real, uintptr_t frame) {
    frame_enter(frame); /* call_enter, which does it for recorded calls, is not called */
    int code = MPI_SUCCESS;
    int harmonized = starts_agree(call, 0, &code);
    if (code == MPI_SUCCESS)
        code = harmonized ? starts_barrier(call) : real(call->comm->handle);
    frame_leave(frame);
    return code;
}

/* MPI_Barrier, or a harmonized barrier in its place. */
static inline int barrier(__typeof__(MPI_Barrier) *real, MPI_Comm comm, uintptr_t frame, const void *address) {
    struct call call;
    if (!call_begin(&call, frame, OPERATION_barrier, KIND_BLOCKING, comm, address))
        return call.comm != NULL && settings.harmonize ? unrecorded_barrier(&call, real, frame) : real(comm);
    int code = MPI_SUCCESS;
    int harmonized = 0;
    int requested = settings.harmonize && (settings.any_caller || in_executable(call.address));
    call_enter(&call, 0, NO_ROOT);
    if (settings.harmonize)
        harmonized = starts_agree(&call, requested, &code);
    if (code == MPI_SUCCESS)
        code = harmonized ? starts_barrier(&call) : real(comm);
    /* A barrier that this process did not request begins no sample; it only takes part in those of other processes. */
    if (harmonized && requested)
        starts_end(&call, code);
    else
        call_leave(&call, code);
    return code;
}

#define DEFINE_BARRIER(Function, parameters)                                                                           \
    WRAP(Function);                                                                                                    \
    int Function parameters {                                                                                          \
        FRAME(frame);                                                                                                  \
        return barrier(REAL(Function), comm, frame, __builtin_return_address(0));                                      \
    }
BOTH(DEFINE_BARRIER, Barrier, (MPI_Comm comm))

BARRIER(NONBLOCKING)

#define SUM(counts, peers) sum_int(counts, peers)
#define EACH(counts, types, peers) each_int(counts, types, peers)
SUM_OF(int, int)
COLLECTIVES(BLOCKING, int, int, call.comm)
COLLECTIVES(NONBLOCKING, int, int, call.comm)
#ifdef HAVE_MPI_BCAST_INIT
BARRIER(PERSISTENT)
COLLECTIVES(PERSISTENT, int, int, call.comm)
#elif defined(HAVE_MPIX_BCAST_INIT)
#include <mpi-ext.h>
BARRIER(PERSISTENT_X)
COLLECTIVES(PERSISTENT_X, int, int, call.comm)
#endif

#ifdef HAVE_MPI_BCAST_C
#undef SUM
#undef EACH
#define SUM(counts, peers) sum_count(counts, peers)
#define EACH(counts, types, peers) each_count(counts, types, peers)
SUM_OF(count, MPI_Count)
COLLECTIVES(BLOCKING_C, MPI_Count, MPI_Aint, call.comm)
COLLECTIVES(NONBLOCKING_C, MPI_Count, MPI_Aint, call.comm)
COLLECTIVES(PERSISTENT_C, MPI_Count, MPI_Aint, call.comm)
#endif
