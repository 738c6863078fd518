/* db_agree_on_error (error.h): all processes agree on one error code. In a file of its own, because it sends messages,
 * unlike the rest of error.c. */
#include "base/error.h"
#include "base/patience.h"

int db_agree_on_error(MPI_Comm comm, int code, const struct db_reason *reason) {
    int rank;
    int size;
    DB_TRY(MPI_Comm_rank(comm, &rank));
    DB_TRY(MPI_Comm_size(comm, &size));
    int failed = code != MPI_SUCCESS ? rank : size; /* after the reduction: lowest failed rank; size: none failed */
    DB_TRY(db_allreduce(comm, &failed, 1, MPI_INT, MPI_MIN));
    if (failed == size)
        return MPI_SUCCESS;
    if (rank == failed && code > 0 && reason->text[0] != '\0') {
        db_print_error(reason->text);
        code = -code; /* negative: the error is printed already (error.h) */
    }
    DB_TRY(MPI_Bcast(&code, 1, MPI_INT, failed, comm));
    return code;
}
