#include "base/error.h"
#include "base/patience.h"

int db_agree_on_error(MPI_Comm comm, int code, const struct db_reason *reason) {
    int rank;
    int size;
    DB_TRY(MPI_Comm_rank(comm, &rank));
    DB_TRY(MPI_Comm_size(comm, &size));
    int failed = code != MPI_SUCCESS ? rank : size; /* lowest failed rank, once reduced */
    DB_TRY(db_allreduce(comm, &failed, 1, MPI_INT, MPI_MIN));
    if (failed == size)
        return MPI_SUCCESS;
    if (rank == failed && code > 0 && reason->text[0] != '\0') {
        db_print_error(reason->text);
        code = -code;
    }
    DB_TRY(MPI_Bcast(&code, 1, MPI_INT, failed, comm));
    return code;
}
