/* The one idiom for errors: every function that can fail returns an MPI error code, DB_TRY hands it on. If the error
 * class does not identify the problem, the code that finds it writes a reason (db_explain), which is printed once per
 * communicator (db_agree_on_error). The code of what was printed is negative from then on, up to db_raise. Only the
 * public functions call an error handler. */
#ifndef DOWNBEAT_ERROR_H
#define DOWNBEAT_ERROR_H

#include <mpi.h>

#define DB_TRY(call)                                                                                                   \
    do {                                                                                                               \
        int db_try_code = (call);                                                                                      \
        if (db_try_code != MPI_SUCCESS)                                                                                \
            return db_try_code;                                                                                        \
    } while (0)

/* Why something failed, in one line. */
struct db_reason {
    char text[768];
};

/* Writes the reason; returns `code`. */
__attribute__((format(printf, 3, 4))) int db_explain(struct db_reason *reason, int code, const char *format, ...);

/* Collective over comm: whether all processes have MPI_SUCCESS. If not, all return the code of the lowest process that
 * has another one, and that process prints its reason, if it has one, as a line "downbeat: ..." on standard error. */
int db_agree_on_error(MPI_Comm comm, int code, const struct db_reason *reason);

/* Prints a line "downbeat: ..." on standard error; db_tell_error waits until a launcher has read it. */
void db_tell(const char *text);
void db_tell_error(const char *text);

/* Calls the error handler that the MPI standard names for an error on comm; returns the code if the handler returns.
 * MPI_ERRORS_ARE_FATAL ends the program with a line, unless there has been one. */
int db_raise(MPI_Comm comm, int code);

#endif
