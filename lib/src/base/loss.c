/* Detection of failed processes and of revoked communicators (loss.h), by the MPIX functions of Open MPI. Without these
 * functions no failure is survivable, and nothing is detected. */
#include "base/loss.h"

#include "base/error.h"

#include <stddef.h>

#if defined(OPEN_MPI) && __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

#ifdef OMPI_HAVE_MPI_EXT_FTMPI

/* Weak: a library that was built with Open MPI 5 also runs with Open MPI 4, which lacks these functions. */
#pragma weak MPIX_Comm_is_revoked
#pragma weak MPIX_Comm_get_failed
#pragma weak MPIX_Comm_revoke

int db_loss_survived(void) {
    const int *enabled;
    int attached;
    return MPIX_Comm_is_revoked != NULL &&
           MPI_Comm_get_attr(MPI_COMM_WORLD, MPIX_FT, (void *)&enabled, &attached) == MPI_SUCCESS && attached &&
           *enabled;
}

/* Returns 1 if comm was revoked. */
static int is_revoked(MPI_Comm comm) {
    int revoked;
    return MPIX_Comm_is_revoked(comm, &revoked) == MPI_SUCCESS && revoked;
}

int db_loss_of(MPI_Comm comm) {
    MPI_Group failed;
    int count;
    if (!db_loss_survived())
        return MPI_SUCCESS;
    if (is_revoked(comm))
        return MPIX_ERR_REVOKED;
    DB_TRY(MPIX_Comm_get_failed(comm, &failed));
    DB_TRY(MPI_Group_size(failed, &count));
    DB_TRY(MPI_Group_free(&failed));
    return count > 0 ? MPIX_ERR_PROC_FAILED : MPI_SUCCESS;
}

void db_loss_revoke(MPI_Comm comm) {
    if (db_loss_survived() && !is_revoked(comm))
        MPIX_Comm_revoke(comm);
}

#else

int db_loss_survived(void) { return 0; }

int db_loss_of(MPI_Comm comm) {
    (void)comm;
    return MPI_SUCCESS;
}

void db_loss_revoke(MPI_Comm comm) { (void)comm; }

#endif

int db_loss_watch(const struct db_watched *watched) {
    if (watched == NULL)
        return MPI_SUCCESS;
    int code = db_loss_of(watched->user);
    if (code == MPI_SUCCESS)
        code = db_loss_of(watched->duplicate);
    if (code != MPI_SUCCESS)
        db_loss_revoke(watched->duplicate);
    return code;
}

int db_loss_free(MPI_Comm *comm, int code) {
    if (code != MPI_SUCCESS)
        db_loss_revoke(*comm);
    MPI_Comm_free(comm);
    return code;
}
