/* Wrappers of MPI calls that are only counted, by kind (enum in trace_file.h): number of calls and time in MPI outside
 * collectives. They are point-to-point, one-sided and file calls, and MPI_Comm_free. Calls that start or complete
 * requests have wrappers in completion.c, and calls that create communicators in makers.c. All other calls, e.g. those
 * on datatypes, are not counted. Like the wrappers in fortran.c, they pass their arguments on without using them: all
 * arguments are integers or pointers, and no function has more than 13. */
#define _GNU_SOURCE
#include "frames.h"
#include "process.h"
#include "recorded_call.h"

#define ARGUMENTS(X) X(a), X(b), X(c), X(d), X(e), X(f), X(g), X(h), X(i), X(j), X(k), X(l), X(m)
#define PARAMETER(name) void *name
#define ARGUMENT(name) name
typedef int entry(ARGUMENTS(PARAMETER));

/* Defines the wrapper of one function. It has an assembler name, since mpi.h declares the function with its true
 * parameters. */
#define TIMED(Name, kind)                                                                                              \
    entry timed_##Name __asm__(#Name);                                                                                 \
    static entry *real_##Name;                                                                                         \
    int timed_##Name(ARGUMENTS(PARAMETER)) {                                                                           \
        FRAME(frame);                                                                                                  \
        int64_t begin = timed_begin(frame_enter(frame));                                                               \
        int code = REAL(Name)(ARGUMENTS(ARGUMENT));                                                                    \
        frame_leave(frame);                                                                                            \
        timed_end(kind, begin);                                                                                        \
        return code;                                                                                                   \
    }

// clang-format off
/* The functions by kind. Functions of the lists COUNTED... have an argument that is a count or a displacement unit, so
 * MPI-4 also has a variant with _c; functions of the lists PLAIN... have none. */
#define COUNTED(X, kind)                                                                                               \
    X(Send, kind) X(Bsend, kind) X(Ssend, kind) X(Rsend, kind) X(Recv, kind) X(Isend, kind) X(Ibsend, kind)            \
    X(Issend, kind) X(Irsend, kind) X(Irecv, kind) X(Mrecv, kind) X(Imrecv, kind) X(Sendrecv, kind)                    \
    X(Sendrecv_replace, kind)
#define PLAIN(X, kind)                                                                                                 \
    X(Probe, kind) X(Iprobe, kind) X(Mprobe, kind) X(Improbe, kind)
#define COUNTED_ACCESS(X, kind)                                                                                        \
    X(Put, kind) X(Get, kind) X(Accumulate, kind) X(Get_accumulate, kind) X(Rput, kind) X(Rget, kind)                  \
    X(Raccumulate, kind) X(Rget_accumulate, kind) X(Win_create, kind) X(Win_allocate, kind)                            \
    X(Win_allocate_shared, kind)
#define PLAIN_ACCESS(X, kind)                                                                                          \
    X(Fetch_and_op, kind) X(Compare_and_swap, kind) X(Win_create_dynamic, kind) X(Win_free, kind) X(Win_fence, kind)   \
    X(Win_lock, kind) X(Win_unlock, kind) X(Win_lock_all, kind) X(Win_unlock_all, kind) X(Win_flush, kind)             \
    X(Win_flush_all, kind) X(Win_flush_local, kind) X(Win_flush_local_all, kind) X(Win_start, kind)                    \
    X(Win_complete, kind) X(Win_post, kind) X(Win_wait, kind) X(Win_test, kind) X(Win_sync, kind)
#define COUNTED_FILE(X, kind)                                                                                          \
    X(File_read, kind) X(File_read_all, kind) X(File_read_at, kind) X(File_read_at_all, kind)                          \
    X(File_read_shared, kind) X(File_read_ordered, kind) X(File_read_all_begin, kind) X(File_read_at_all_begin, kind)  \
    X(File_read_ordered_begin, kind) X(File_iread, kind) X(File_iread_all, kind) X(File_iread_at, kind)                \
    X(File_iread_at_all, kind) X(File_iread_shared, kind) X(File_write, kind) X(File_write_all, kind)                  \
    X(File_write_at, kind) X(File_write_at_all, kind) X(File_write_shared, kind) X(File_write_ordered, kind)           \
    X(File_write_all_begin, kind) X(File_write_at_all_begin, kind) X(File_write_ordered_begin, kind)                   \
    X(File_iwrite, kind) X(File_iwrite_all, kind) X(File_iwrite_at, kind) X(File_iwrite_at_all, kind)                  \
    X(File_iwrite_shared, kind)
#define PLAIN_FILE(X, kind)                                                                                            \
    X(File_open, kind) X(File_close, kind) X(File_delete, kind) X(File_set_size, kind) X(File_preallocate, kind)       \
    X(File_set_view, kind) X(File_seek, kind) X(File_seek_shared, kind) X(File_sync, kind) X(File_set_info, kind)      \
    X(File_set_atomicity, kind) X(File_read_all_end, kind) X(File_read_at_all_end, kind)                               \
    X(File_read_ordered_end, kind) X(File_write_all_end, kind) X(File_write_at_all_end, kind)                          \
    X(File_write_ordered_end, kind)
// clang-format on

/* BOTH (process.h) makes a wrapper of MPI_Name and one of PMPI_Name. */
#define OF_INT(Name, kind) BOTH(TIMED, Name, kind)
COUNTED(OF_INT, TRACE_POINT_TO_POINT)
PLAIN(OF_INT, TRACE_POINT_TO_POINT)
COUNTED_ACCESS(OF_INT, TRACE_ONE_SIDED)
PLAIN_ACCESS(OF_INT, TRACE_ONE_SIDED)
COUNTED_FILE(OF_INT, TRACE_FILES)
PLAIN_FILE(OF_INT, TRACE_FILES)
OF_INT(Comm_free, TRACE_COMMUNICATORS)

#ifdef HAVE_MPI_BCAST_C
#define OF_COUNT(Name, kind) BOTH(TIMED, Name##_c, kind)
COUNTED(OF_COUNT, TRACE_POINT_TO_POINT)
COUNTED_ACCESS(OF_COUNT, TRACE_ONE_SIDED)
COUNTED_FILE(OF_COUNT, TRACE_FILES)
#endif
