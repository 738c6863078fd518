/* The C functions with Fortran's integer handles, for the Fortran module (downbeat.F90.in). In C, because only
 * MPI_Comm_f2c and MPI_Info_f2c convert handles. */
#include <downbeat/clock.h>
#include <mpix_harmonize.h>

#include <string.h>

/* Before MPI_Init and after MPI_Finalize, MPI cannot convert handles; the library reports that error for any comm. */
static int mpi_runs(void) {
    int initialized = 0;
    int finalized = 0;
    MPI_Initialized(&initialized);
    MPI_Finalized(&finalized);
    return initialized && !finalized;
}

/* The communicator of a Fortran handle. */
static MPI_Comm comm_of(MPI_Fint comm) { return mpi_runs() ? MPI_Comm_f2c(comm) : MPI_COMM_NULL; }

/* The functions below are those of mpix_harmonize.h and downbeat/clock.h with integer handles. */

int downbeat_f_harmonize(MPI_Fint comm, int *flag) { return MPIX_Harmonize(comm_of(comm), flag); }

int downbeat_f_delayed(MPI_Fint comm, double delay, int *flag) {
    return MPIX_Harmonize_delayed(comm_of(comm), delay, flag);
}

int downbeat_f_deadline(MPI_Fint comm, double *deadline) { return MPIX_Harmonize_deadline(comm_of(comm), deadline); }

int downbeat_f_verdict(MPI_Fint comm, int *verdict) { return MPIX_Harmonize_verdict(comm_of(comm), verdict); }

int downbeat_f_lateness(MPI_Fint comm, double *lateness) { return MPIX_Harmonize_lateness(comm_of(comm), lateness); }

int downbeat_f_time(MPI_Fint comm, double *time) { return MPIX_Harmonize_time(comm_of(comm), time); }

int downbeat_f_wait_until(MPI_Fint comm, double time, int *flag) {
    return MPIX_Harmonize_wait_until(comm_of(comm), time, flag);
}

int downbeat_f_error_bound(MPI_Fint comm, double *bound) { return MPIX_Harmonize_error_bound(comm_of(comm), bound); }

int downbeat_f_expected_error(MPI_Fint comm, double *error) {
    return MPIX_Harmonize_expected_error(comm_of(comm), error);
}

int downbeat_f_sync(MPI_Fint comm) { return MPIX_Harmonize_sync(comm_of(comm)); }

int downbeat_f_true_error(MPI_Fint comm, double *error) { return MPIX_Harmonize_true_error(comm_of(comm), error); }

int downbeat_f_get_stats(MPI_Fint comm, MPIX_Harmonize_stats *stats) {
    return MPIX_Harmonize_get_stats(comm_of(comm), stats);
}

int downbeat_f_set_info(MPI_Fint comm, MPI_Fint info) {
    return MPIX_Harmonize_set_info(comm_of(comm), mpi_runs() ? MPI_Info_f2c(info) : MPI_INFO_NULL);
}

int downbeat_f_get_info(MPI_Fint comm, MPI_Fint *info_used) {
    MPI_Info info = MPI_INFO_NULL;
    int code = MPIX_Harmonize_get_info(comm_of(comm), &info);
    *info_used = mpi_runs() ? MPI_Info_c2f(info) : 0;
    return code;
}

/* Copies the version into `length` characters, padded with blanks like Fortran text, or truncated. */
void downbeat_f_version(char *text, int length) {
    const char *version = Downbeat_version();
    size_t size = (size_t)length;
    size_t version_length = strlen(version);
    memset(text, ' ', size);
    memcpy(text, version, version_length < size ? version_length : size);
}
