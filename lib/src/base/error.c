/* Reasons, printed lines, and calls of error handlers (error.h). */
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

void db_print(const char *text) { print_line(text); }

void db_print_error(const char *text) {
    print_line(text);
    await_line_read(); /* the caller may call MPI_Abort next */
}

/* Ends the program in place of MPI_Comm_call_errhandler with MPI_ERRORS_ARE_FATAL, because MPICH and its derivatives
 * then print "Please file a bug report". `printed`: 1 if a line about the error was printed already. */
static void end_program(MPI_Comm comm, int code, int printed) {
    char text[MPI_MAX_ERROR_STRING];
    struct db_reason reason;
    int length;
    int class = code;
    if (!printed && MPI_Error_string(code, text, &length) == MPI_SUCCESS) {
        db_explain(&reason, code, "a call failed: %s", text);
        db_print_error(reason.text);
    }
    MPI_Error_class(code, &class);
    MPI_Abort(comm, class);
    _exit(class); /* MPI_Abort returns in MPICH 5 */
}

int db_raise(MPI_Comm comm, int code) {
    if (code == MPI_SUCCESS)
        return MPI_SUCCESS;
    int printed = code < 0;
    code = printed ? -code : code;
    if (comm == MPI_COMM_NULL) {
        /* Errors without a communicator belong to MPI_COMM_SELF since MPI-4.0 (section 9.3), to MPI_COMM_WORLD before.
         */
#if MPI_VERSION >= 4
        comm = MPI_COMM_SELF;
#else
        comm = MPI_COMM_WORLD;
#endif
    }
    MPI_Errhandler handler;
    DB_TRY(MPI_Comm_get_errhandler(comm, &handler));
    if (handler == MPI_ERRORS_ARE_FATAL)
        end_program(comm, code, printed);
    if (handler == MPI_ERRORS_RETURN) /* SMPI crashes if MPI_Comm_call_errhandler calls this handler */
        return code;
    MPI_Errhandler_free(&handler);
    MPI_Comm_call_errhandler(comm, code); /* may not return: throws or longjmps */
    return code;
}
