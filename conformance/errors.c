/* Misuse ends in the right error class, through the right error handler, and does no harm. */
#include "conformance.h"

#include <stddef.h>

static int handled;
static int handled_class;

static void handler(MPI_Comm *comm, int *code, ...) {
    (void)comm;
    ++handled;
    MPI_Error_class(*code, &handled_class);
}

static void fails_with(int error_class, const char *name, const char *what, int code) {
    int found = code;
    MPI_Error_class(code, &found);
    expect(code != MPI_SUCCESS, "%s: returned MPI_SUCCESS", what);
    expect(code == MPI_SUCCESS || found == error_class, "%s: error class %d, not %s (%d)", what, found, name,
           error_class);
    expect(handled > 0, "%s: the error handler was not called", what);
    expect(handled <= 1, "%s: the error handler was called %d times", what, handled);
    expect(handled == 0 || handled_class == error_class, "%s: the handler was given class %d, not %s", what,
           handled_class, name);
    handled = 0;
}

#define FAILS_WITH(error_class, what, call)                                                                            \
    do {                                                                                                               \
        handled = 0;                                                                                                   \
        fails_with(error_class, #error_class, what, (call));                                                           \
    } while (0)

/* The standard names the handler of one of these where there is no communicator: which, depends on its version. */
static void null_communicator(const struct run *run) {
    MPI_Errhandler errors;
    int flag;
    (void)run;
    MPI_Comm_create_errhandler(handler, &errors);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, errors);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, errors);
    FAILS_WITH(MPI_ERR_COMM, "MPI_COMM_NULL", HARMONIZE(MPI_COMM_NULL, &flag));
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Errhandler_free(&errors);
}

static void null_flag(const struct run *run) {
    MPI_Errhandler errors;
    MPI_Comm comm;
    int flag;
    (void)run;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_create_errhandler(handler, &errors);
    MPI_Comm_set_errhandler(comm, errors);
    FAILS_WITH(MPI_ERR_ARG, "a null pointer for flag", HARMONIZE(comm, NULL));
    OK(HARMONIZE(comm, &flag));
    FAILS_WITH(MPI_ERR_ARG, "a null pointer for flag, after a good call", HARMONIZE(comm, NULL));
    OK(HARMONIZE(comm, &flag)); /* no harm done */
    MPI_Errhandler_free(&errors);
    MPI_Comm_free(&comm);
}

static void intercommunicator(const struct run *run) {
    MPI_Errhandler errors;
    MPI_Comm half;
    MPI_Comm inter;
    int flag;
    if (run->size == 1) {
        skip("needs two processes");
        return;
    }
    MPI_Comm_split(MPI_COMM_WORLD, run->rank % 2, run->rank, &half);
    MPI_Intercomm_create(half, 0, run->world, 1 - run->rank % 2, 5, &inter);
    MPI_Comm_create_errhandler(handler, &errors);
    MPI_Comm_set_errhandler(inter, errors);
    FAILS_WITH(MPI_ERR_COMM, "an intercommunicator", HARMONIZE(inter, &flag));
    OK(HARMONIZE(half, &flag));
    MPI_Errhandler_free(&errors);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
}

const struct check checks_of_errors[] = {
    {"null_flag", "a null flag is MPI_ERR_ARG, through the handler of the communicator", null_flag},
    {"null_communicator", "MPI_COMM_NULL is MPI_ERR_COMM, through the handler of MPI_COMM_SELF or MPI_COMM_WORLD",
     null_communicator},
    {"intercommunicator", "an intercommunicator is MPI_ERR_COMM, through its own handler", intercommunicator},
    {0},
};
