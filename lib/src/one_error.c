#include "error.h"

int db_agree(MPI_Comm comm, int code, const struct db_reason *reason) {
    int rank;
    int size;
    int failed;
    DB_TRY(MPI_Comm_rank(comm, &rank));
    DB_TRY(MPI_Comm_size(comm, &size));
    int mine = code != MPI_SUCCESS ? rank : size;
    DB_TRY(MPI_Allreduce(&mine, &failed, 1, MPI_INT, MPI_MIN, comm));
    if (failed == size)
        return MPI_SUCCESS;
    if (rank == failed && code > 0 && reason->text[0] != '\0') {
        db_tell_error(reason->text);
        code = -code;
    }
    DB_TRY(MPI_Bcast(&code, 1, MPI_INT, failed, comm));
    return code;
}
