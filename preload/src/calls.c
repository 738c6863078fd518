/* The collectives: every function of the table, in C. */
#include "collectives.h"

#include "preload.h"

#include <string.h>

PER_THREAD uint32_t thread_number = TRACE_NONE;
static _Atomic uint32_t threads;

int call_begin(struct call *call, int operation, int kind, MPI_Comm comm, const void *address) {
    if (inside || !begun)
        return 0;
    call->comm = communicator_of(comm);
    if (call->comm == NULL)
        return 0;
    /* Unrecorded calls count too, so that the others keep their numbers. MPI lets no two threads be here at once. */
    call->sequence = atomic_load_explicit(&call->comm->sequence, memory_order_relaxed);
    atomic_store_explicit(&call->comm->sequence, call->sequence + 1, memory_order_relaxed);
    if (!active)
        return 0;
    call->operation = (uint16_t)operation;
    call->kind = (uint8_t)kind;
    call->template = kind == KIND_PERSISTENT;
    call->round = 0;
    call->address = fortran_site != NULL ? fortran_site : address;
    return 1;
}

void call_enter(struct call *call, int64_t bytes, int root) {
    call->bytes = bytes;
    call->record = settings.record && !call->template ? recording_take() : NULL;
    call->sample = NULL;
    ++inside;
    if (call->kind == KIND_BLOCKING && call->comm->waiting != NULL)
        starts_entered(call);
    if (call->record == NULL) {
        if (call->kind != KIND_BLOCKING)
            call->entry = recording_ticks();
        return;
    }
    if (thread_number == TRACE_NONE)
        thread_number = threads++;
    struct trace_record *record = call->record;
    call->entry = recording_ticks(); /* before the site is looked for, which takes a process longer at its first call */
    *record = (struct trace_record){.entry = call->entry,
                                    .bytes = bytes,
                                    .communicator = call->comm->number,
                                    .sequence = call->sequence,
                                    .round = call->round,
                                    .site = (uint16_t)site_of(call->address),
                                    .root = root,
                                    .thread = (uint16_t)thread_number,
                                    .operation = call->operation,
                                    .kind = call->kind};
    atomic_store_explicit(&record->state, RECORD_ENTERED, memory_order_release);
}

void call_complete(const struct call *call) {
    if (call->record == NULL)
        return;
    if (call->kind == KIND_BLOCKING)
        call->record->returned = call->exit;
    call->record->exit = call->exit;
    atomic_store_explicit(&call->record->state, RECORD_COMPLETE, memory_order_release);
}

/* Stores are few, and come after the timestamp: those of the operation may still be on their way, and a program that
 * measures would wait for them here. */
void call_leave(struct call *call, int code) {
    if (call->record != NULL || call->sample != NULL)
        call->exit = recording_ticks();
    --inside;
    if (call->sample != NULL && code == MPI_SUCCESS)
        *call->sample = call->exit;
    if (code == MPI_SUCCESS)
        call_complete(call);
    if (call->comm->everyone && settings.sync_every > 0.0)
        clocks_after_collective();
}

void call_started(struct call *call, int code, const MPI_Request *request) {
    int64_t now = recording_ticks();
    --inside;
    if (code != MPI_SUCCESS)
        return;
    if (call->record != NULL)
        call->record->returned = now;
    if (call->record != NULL || call->comm->waiting != NULL)
        completion_expect(*request, call);
}

void call_initialized(struct call *call, int code, const MPI_Request *request, int root) {
    --inside;
    if (code == MPI_SUCCESS)
        completion_expect_persistent(*request, call, root);
}

/* --- what the table's `bytes` are made of */

static inline int64_t bytes_of(int64_t count, MPI_Datatype datatype) {
    MPI_Count size = 0;
    if (count <= 0) /* the type may be anything then */
        return 0;
    return PMPI_Type_size_x(datatype, &size) == MPI_SUCCESS && size != MPI_UNDEFINED ? count * (int64_t)size : -1;
}

/* On intercommunicators the arguments do not matter on every process. */
static inline int64_t rooted(int root, int64_t count, MPI_Datatype datatype) {
    return root >= 0 ? bytes_of(count, datatype) : -1;
}

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
#define EXPAND(...) __VA_ARGS__
#define OPERATION_NAME(name) OPERATION_##name

/* Parameters that the three forms add, and the function's end. */
#define DEFINE_BLOCKING(Function, name, parameters, arguments, bytes, root)                                            \
    WRAP(Function);                                                                                                    \
    int Function parameters {                                                                                          \
        struct call call;                                                                                              \
        if (!call_begin(&call, OPERATION_NAME(name), KIND_BLOCKING, comm, __builtin_return_address(0)))                \
            return REAL(Function) arguments;                                                                           \
        call_enter(&call, bytes, root);                                                                                \
        int code = REAL(Function) arguments;                                                                           \
        call_leave(&call, code);                                                                                       \
        return code;                                                                                                   \
    }

#define DEFINE_NONBLOCKING(Function, name, parameters, arguments, bytes, root)                                         \
    WRAP(Function);                                                                                                    \
    int Function(EXPAND parameters, MPI_Request *request) {                                                            \
        struct call call;                                                                                              \
        if (!call_begin(&call, OPERATION_NAME(name), KIND_NONBLOCKING, comm, __builtin_return_address(0)))             \
            return REAL(Function)(EXPAND arguments, request);                                                          \
        call_enter(&call, bytes, root);                                                                                \
        int code = REAL(Function)(EXPAND arguments, request);                                                          \
        call_started(&call, code, request);                                                                            \
        return code;                                                                                                   \
    }

#define DEFINE_PERSISTENT(Function, name, parameters, arguments, bytes, root)                                          \
    WRAP(Function);                                                                                                    \
    int Function(EXPAND parameters, MPI_Info info, MPI_Request *request) {                                             \
        struct call call;                                                                                              \
        if (!call_begin(&call, OPERATION_NAME(name), KIND_PERSISTENT, comm, __builtin_return_address(0)))              \
            return REAL(Function)(EXPAND arguments, info, request);                                                    \
        call_enter(&call, bytes, root);                                                                                \
        int code = REAL(Function)(EXPAND arguments, info, request);                                                    \
        call_initialized(&call, code, request, root);                                                                  \
        return code;                                                                                                   \
    }

#define BLOCKING(Name, name, parameters, arguments, bytes, root)                                                       \
    DEFINE_BLOCKING(MPI_##Name, name, parameters, arguments, bytes, root)
#define NONBLOCKING(Name, name, parameters, arguments, bytes, root)                                                    \
    DEFINE_NONBLOCKING(MPI_I##name, name, parameters, arguments, bytes, root)
#define PERSISTENT(Name, name, parameters, arguments, bytes, root)                                                     \
    DEFINE_PERSISTENT(MPI_##Name##_init, name, parameters, arguments, bytes, root)
#define PERSISTENT_X(Name, name, parameters, arguments, bytes, root)                                                   \
    DEFINE_PERSISTENT(MPIX_##Name##_init, name, parameters, arguments, bytes, root)
#define BLOCKING_C(Name, name, parameters, arguments, bytes, root)                                                     \
    DEFINE_BLOCKING(MPI_##Name##_c, name, parameters, arguments, bytes, root)
#define NONBLOCKING_C(Name, name, parameters, arguments, bytes, root)                                                  \
    DEFINE_NONBLOCKING(MPI_I##name##_c, name, parameters, arguments, bytes, root)
#define PERSISTENT_C(Name, name, parameters, arguments, bytes, root)                                                   \
    DEFINE_PERSISTENT(MPI_##Name##_init_c, name, parameters, arguments, bytes, root)

/* MPI_Barrier alone may become another thing. */
WRAP(MPI_Barrier);
int MPI_Barrier(MPI_Comm comm) {
    struct call call;
    if (!call_begin(&call, OPERATION_barrier, KIND_BLOCKING, comm, __builtin_return_address(0)))
        return REAL(MPI_Barrier)(comm);
    int harmonized = settings.harmonize && !call.comm->inter && (settings.any_caller || in_executable(call.address));
    call_enter(&call, 0, -1);
    int code = harmonized ? starts_barrier(&call) : REAL(MPI_Barrier)(comm);
    if (harmonized)
        starts_left(&call, code);
    else
        call_leave(&call, code);
    return code;
}

BARRIER(NONBLOCKING)

#define SUM(counts, peers) sum_int(counts, peers)
#define EACH(counts, types, peers) each_int(counts, types, peers)
SUM_OF(int, int)
COLLECTIVES(BLOCKING, int, int)
COLLECTIVES(NONBLOCKING, int, int)
#ifdef HAVE_MPI_BCAST_INIT
BARRIER(PERSISTENT)
COLLECTIVES(PERSISTENT, int, int)
#elif defined(HAVE_MPIX_BCAST_INIT)
#include <mpi-ext.h>
BARRIER(PERSISTENT_X)
COLLECTIVES(PERSISTENT_X, int, int)
#endif

#ifdef HAVE_MPI_BCAST_C
#undef SUM
#undef EACH
#define SUM(counts, peers) sum_count(counts, peers)
#define EACH(counts, types, peers) each_count(counts, types, peers)
SUM_OF(count, MPI_Count)
COLLECTIVES(BLOCKING_C, MPI_Count, MPI_Aint)
COLLECTIVES(NONBLOCKING_C, MPI_Count, MPI_Aint)
COLLECTIVES(PERSISTENT_C, MPI_Count, MPI_Aint)
#endif
