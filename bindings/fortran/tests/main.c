/* Runs the checks of checks.F90, and provides the functions that need MPI or C: handles, reductions, results of C. */
#include "check_mpi.h"

#include <downbeat/clock.h>
#include <string.h>

void run_checks(MPI_Fint comm, int rank, int size, int undefined);
void call_before_init(int *code);

static MPI_Comm comm;

/* Ends the run unless `condition` is true. */
void check(int condition, const char *text) {
    if (!condition) {
        fprintf(stderr, "not true: %s\n", text);
        check_fail();
    }
}

int class_of(int code) {
    int class;
    OK(MPI_Error_class(code, &class));
    return class;
}

/* Minimum over all ranks. */
int minimum(int value) {
    OK(MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_MIN, comm));
    return value;
}

/* Difference of the maximum and the minimum over all ranks. */
double spread(double value) {
    double extremes[2] = {value, -value};
    OK(MPI_Allreduce(MPI_IN_PLACE, extremes, 2, MPI_DOUBLE, MPI_MAX, comm));
    return extremes[0] + extremes[1];
}

MPI_Fint null_comm(void) { return MPI_Comm_c2f(MPI_COMM_NULL); }

MPI_Fint one_setting(const char *key, const char *value) {
    MPI_Info info;
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, key, value));
    return MPI_Info_c2f(info);
}

void release_info(MPI_Fint handle) {
    MPI_Info info = MPI_Info_f2c(handle);
    OK(MPI_Info_free(&info));
}

int has_setting(MPI_Fint info, const char *key, const char *value) {
    char current[MPI_MAX_INFO_VAL + 1];
    int flag;
    OK(MPI_Info_get(MPI_Info_f2c(info), key, MPI_MAX_INFO_VAL, current, &flag));
    return flag && strcmp(current, value) == 0;
}

int is_version(const char *text) { return strcmp(text, Downbeat_version()) == 0; }

void c_stats(MPIX_Harmonize_stats *stats) { OK(MPIX_Harmonize_get_stats(comm, stats)); }

int main(int argc, char **argv) {
    int code;
    call_before_init(&code);
    MPI_Init(&argc, &argv);
    FAILS_WITH(MPI_ERR_OTHER, code);
    int rank;
    int size;
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Comm_rank(comm, &rank));
    OK(MPI_Comm_size(comm, &size));
    run_checks(MPI_Comm_c2f(comm), rank, size, MPI_UNDEFINED);
    OK(MPI_Comm_free(&comm));
    MPI_Finalize();
    return 0;
}
