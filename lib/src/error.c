#include "error.h"

#include <stdarg.h>
#include <stdio.h>

int db_explain(struct db_reason *reason, int code, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason->text, sizeof reason->text, format, arguments);
    va_end(arguments);
    return code;
}

/* One call of fprintf, so that the lines of several processes do not mix. */
void db_tell(const char *text) { fprintf(stderr, "downbeat: %s\n", text); }

int db_raise(MPI_Comm comm, int code) {
    if (code == MPI_SUCCESS)
        return MPI_SUCCESS;
    if (comm == MPI_COMM_NULL) {
        /* Errors without a communicator: MPI-4.0, section 9.3, moved them from MPI_COMM_WORLD to MPI_COMM_SELF. */
#if MPI_VERSION >= 4
        comm = MPI_COMM_SELF;
#else
        comm = MPI_COMM_WORLD;
#endif
    }
#ifdef DB_SIMULATED
    MPI_Errhandler handler;
    DB_TRY(MPI_Comm_get_errhandler(comm, &handler));
    if (handler == MPI_ERRORS_RETURN) /* SMPI crashes where it calls this one */
        return code;
#endif
    MPI_Comm_call_errhandler(comm, code);
    return code;
}
