/* Preloaded: calls fail, as the environment says.
 *
 *     FAULT_MPI=N      the Nth call that libdownbeat makes of MPI returns an error, and does nothing
 *     FAULT_MALLOC=N   the Nth allocation that libdownbeat makes
 *     FAULT_NEW=N      the Nth allocation in C++ after MPI_Init
 *     FAULT_RANK=R     on process R alone
 *     FAULT_LOG=FILE   gets a line when a call has failed */
#define _GNU_SOURCE
#include "concerned.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static long number_of(const char *name) {
    const char *text = getenv(name);
    return text == NULL ? 0 : atol(text);
}

/* Whether a call comes from a shared object of this name. */
static bool from(const void *address, const char *name) {
    Dl_info found;
    return dladdr(address, &found) != 0 && found.dli_fname != NULL && strstr(found.dli_fname, name) != NULL;
}

static void report(const char *what) {
    const char *path = getenv("FAULT_LOG");
    int file = path == NULL ? -1 : open(path, O_WRONLY | O_CREAT | O_APPEND, 0644);
    if (file < 0)
        return;
    if (write(file, what, strlen(what)) < 0 || write(file, "\n", 1) < 0)
        abort();
    close(file);
}

static bool mpi_fails(const void *caller, const char *what) {
    static long left = -1;
    if (left < 0)
        left = number_of("FAULT_MPI");
    if (left == 0 || !concerned(true) || !from(caller, "libdownbeat.") || --left > 0)
        return false;
    report(what);
    unsetenv("FAULT_MPI");
    return true;
}

#define FAILING(NAME, PARAMETERS, ARGUMENTS)                                                                           \
    int MPI_##NAME PARAMETERS {                                                                                        \
        return mpi_fails(__builtin_return_address(0), #NAME) ? MPI_ERR_INTERN : PMPI_##NAME ARGUMENTS;                 \
    }

FAILING(Comm_dup, (MPI_Comm comm, MPI_Comm *made), (comm, made))
FAILING(Comm_free, (MPI_Comm * comm), (comm))
FAILING(Comm_rank, (MPI_Comm comm, int *rank), (comm, rank))
FAILING(Comm_size, (MPI_Comm comm, int *size), (comm, size))
FAILING(Comm_split, (MPI_Comm comm, int color, int key, MPI_Comm *made), (comm, color, key, made))
FAILING(Comm_split_type, (MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *made),
        (comm, type, key, info, made))
FAILING(Comm_get_attr, (MPI_Comm comm, int key, void *value, int *found), (comm, key, value, found))
FAILING(Comm_set_attr, (MPI_Comm comm, int key, void *value), (comm, key, value))
FAILING(Comm_create_keyval,
        (MPI_Comm_copy_attr_function * copy, MPI_Comm_delete_attr_function *delete, int *key, void *extra),
        (copy, delete, key, extra))
FAILING(Comm_set_errhandler, (MPI_Comm comm, MPI_Errhandler handler), (comm, handler))
FAILING(Comm_test_inter, (MPI_Comm comm, int *inter), (comm, inter))
FAILING(Comm_group, (MPI_Comm comm, MPI_Group *group), (comm, group))
FAILING(Group_translate_ranks, (MPI_Group one, int count, const int ranks[], MPI_Group other, int others[]),
        (one, count, ranks, other, others))
FAILING(Group_free, (MPI_Group * group), (group))
FAILING(Bcast, (void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm), (buffer, count, type, root, comm))
FAILING(Allreduce, (const void *send, void *receive, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
        (send, receive, count, type, op, comm))
FAILING(Reduce, (const void *send, void *receive, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm),
        (send, receive, count, type, op, root, comm))
FAILING(Scatter,
        (const void *send, int count, MPI_Datatype type, void *receive, int counted, MPI_Datatype typed, int root,
         MPI_Comm comm),
        (send, count, type, receive, counted, typed, root, comm))
FAILING(Igather,
        (const void *send, int count, MPI_Datatype type, void *receive, int counted, MPI_Datatype typed, int root,
         MPI_Comm comm, MPI_Request *request),
        (send, count, type, receive, counted, typed, root, comm, request))
FAILING(Send, (const void *buffer, int count, MPI_Datatype type, int rank, int tag, MPI_Comm comm),
        (buffer, count, type, rank, tag, comm))
FAILING(Recv, (void *buffer, int count, MPI_Datatype type, int rank, int tag, MPI_Comm comm, MPI_Status *status),
        (buffer, count, type, rank, tag, comm, status))
FAILING(Wait, (MPI_Request * request, MPI_Status *status), (request, status))
FAILING(Info_create, (MPI_Info * info), (info))
FAILING(Info_set, (MPI_Info info, const char *key, const char *value), (info, key, value))
FAILING(Info_get_nkeys, (MPI_Info info, int *count), (info, count))

/* The allocator that is interposed; dlsym allocates itself, before it is known. */
static bool memory_fails(const void *caller) {
    static long left = -1;
    static bool within;
    if (left < 0)
        left = number_of("FAULT_MALLOC");
    if (left == 0 || within)
        return false;
    within = true;
    bool ours = concerned(true) && from(caller, "libdownbeat.");
    within = false;
    if (!ours || --left > 0)
        return false;
    report("malloc");
    return true;
}

void *__libc_malloc(size_t size);               /* NOLINT: glibc's names */
void *__libc_calloc(size_t count, size_t size); /* NOLINT */

static void *no_memory(void) {
    errno = ENOMEM;
    return NULL;
}

void *malloc(size_t size) { return memory_fails(__builtin_return_address(0)) ? no_memory() : __libc_malloc(size); }

void *calloc(size_t count, size_t size) {
    return memory_fails(__builtin_return_address(0)) ? no_memory() : __libc_calloc(count, size);
}

/* operator new(size_t), in C. To fail, it asks the program's own for more than there is: that one throws. */
void *_Znwm(size_t size); /* NOLINT: the mangled name */

void *_Znwm(size_t size) { /* NOLINT */
    static long left = -1;
    static void *(*next)(size_t);
    if (next == NULL)
        *(void **)&next = dlsym(RTLD_NEXT, "_Znwm");
    if (left < 0)
        left = number_of("FAULT_NEW");
    int initialized = 0;
    if (left > 0 && concerned(true))
        PMPI_Initialized(&initialized); /* nothing catches what is thrown before main */
    if (initialized && --left == 0) {
        report("new");
        return next((size_t)1 << 62);
    }
    return next(size);
}
