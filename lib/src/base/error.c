#define _GNU_SOURCE
#include "base/error.h"

#include "print_line.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

int db_explain(struct db_reason *reason, int code, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason->text, sizeof reason->text, format, arguments);
    va_end(arguments);
    return code;
}

void db_tell(const char *text) { print_line(text); }

void db_tell_error(const char *text) {
    print_line(text);
    await_line_read(); /* the next thing may be MPI_Abort */
}

/* MPICH and its kin take MPI_Comm_call_errhandler for a call that failed, and end with "Please file a bug report". */
static void end_program(MPI_Comm comm, int code, int told) {
    char text[MPI_MAX_ERROR_STRING];
    struct db_reason reason;
    int length;
    int class = code;
    if (!told && MPI_Error_string(code, text, &length) == MPI_SUCCESS) {
        db_explain(&reason, code, "a call failed: %s", text);
        db_tell_error(reason.text);
    }
    MPI_Error_class(code, &class);
    MPI_Abort(comm, class);
    _exit(class); /* MPICH 5 returns */
}

int db_raise(MPI_Comm comm, int code) {
    if (code == MPI_SUCCESS)
        return MPI_SUCCESS;
    int told = code < 0;
    code = told ? -code : code;
    if (comm == MPI_COMM_NULL) {
        /* Errors without a communicator: MPI-4.0, section 9.3, moved them from MPI_COMM_WORLD to MPI_COMM_SELF. */
#if MPI_VERSION >= 4
        comm = MPI_COMM_SELF;
#else
        comm = MPI_COMM_WORLD;
#endif
    }
    MPI_Errhandler handler;
    DB_TRY(MPI_Comm_get_errhandler(comm, &handler));
    if (handler == MPI_ERRORS_ARE_FATAL)
        end_program(comm, code, told);
    if (handler == MPI_ERRORS_RETURN) /* SMPI crashes where MPI_Comm_call_errhandler calls this one */
        return code;
    MPI_Errhandler_free(&handler);
    MPI_Comm_call_errhandler(comm, code); /* may throw, or jump */
    return code;
}
