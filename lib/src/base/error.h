/* Error handling: every function that can fail returns an MPI error code, and DB_TRY returns an error to the caller. If
 * the error class does not identify the problem, the function that detects it writes a reason (db_explain), which one
 * process of the communicator prints (db_agree_on_error). A negative code means that the error was printed; db_raise
 * makes it positive again. Only the public functions call an error handler. */
#ifndef DOWNBEAT_ERROR_H
#define DOWNBEAT_ERROR_H

#include <mpi.h>

/* Returns from the calling function with the error code of `call`, unless it is MPI_SUCCESS. */
#define DB_TRY(call)                                                                                                   \
    do {                                                                                                               \
        int db_try_code = (call);                                                                                      \
        if (db_try_code != MPI_SUCCESS)                                                                                \
            return db_try_code;                                                                                        \
    } while (0)

/* One line that explains a failure. */
struct db_reason {
    char text[768];
};

/* Writes the reason; returns `code`. */
__attribute__((format(printf, 3, 4))) int db_explain(struct db_reason *reason, int code, const char *format, ...);

/* Returns MPI_SUCCESS if `code` is MPI_SUCCESS on all processes. Otherwise all processes return the code of the lowest
 * failed rank. That rank prints its reason, if it has one, as a line "downbeat: ..." on standard error, and the code is
 * negative. Collective over comm. */
int db_agree_on_error(MPI_Comm comm, int code, const struct db_reason *reason);

/* Prints a line "downbeat: ..." on standard error; db_print_error also waits (at most 1 s) until the launcher has read
 * the line. */
void db_print(const char *text);
void db_print_error(const char *text);

/* Calls the error handler of comm, as the MPI standard requires, and returns the code if the handler returns. With
 * MPI_ERRORS_ARE_FATAL it prints a line, unless the error was printed already, and aborts. */
int db_raise(MPI_Comm comm, int code);

#endif
