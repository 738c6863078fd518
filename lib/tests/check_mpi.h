/* Assertions about MPI calls, and what most tests ask of a communicator. */
#ifndef DOWNBEAT_CHECK_MPI_H
#define DOWNBEAT_CHECK_MPI_H

#include "check.h"
#include "mpix_harmonize.h"

/* The call succeeds. */
#define OK(call) CHECK_THAT((call), ==, MPI_SUCCESS)

/* The call returns an error of that class. */
#define FAILS_WITH(error_class, call)                                                                                  \
    do {                                                                                                               \
        int fails_code = (call);                                                                                       \
        int fails_class = fails_code;                                                                                  \
        MPI_Error_class(fails_code, &fails_class);                                                                     \
        CHECK_THAT(fails_class, ==, error_class);                                                                      \
    } while (0)

/* Initializes MPI; returns a duplicate of MPI_COMM_WORLD. */
static inline MPI_Comm begin_mpi(int *argc, char ***argv, int *rank, int *size) {
    MPI_Comm comm;
    OK(MPI_Init(argc, argv));
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Comm_rank(comm, rank));
    OK(MPI_Comm_size(comm, size));
    return comm;
}

static inline int end_mpi(MPI_Comm *comm) {
    OK(MPI_Comm_free(comm));
    OK(MPI_Finalize());
    return 0;
}

/* Changes one setting of a communicator; returns the code. */
static inline int set_one(MPI_Comm comm, const char *key, const char *value) {
    MPI_Info info;
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, key, value));
    int code = MPIX_Harmonize_set_info(comm, info);
    OK(MPI_Info_free(&info));
    return code;
}

/* The value of a setting, until the next call. */
static inline const char *setting_of(MPI_Comm comm, const char *key) {
    static char value[MPI_MAX_INFO_VAL];
    MPI_Info info;
    int found;
    OK(MPIX_Harmonize_get_info(comm, &info));
    OK(MPI_Info_get(info, key, sizeof value - 1, value, &found));
    CHECK(found);
    OK(MPI_Info_free(&info));
    return value;
}

#define QUERY(name, type, function)                                                                                    \
    static inline type name(MPI_Comm comm) {                                                                           \
        type value;                                                                                                    \
        OK(function(comm, &value));                                                                                    \
        return value;                                                                                                  \
    }
QUERY(stats_of, MPIX_Harmonize_stats, MPIX_Harmonize_get_stats)
QUERY(time_of, double, MPIX_Harmonize_time)
QUERY(deadline_of, double, MPIX_Harmonize_deadline)
QUERY(bound_of, double, MPIX_Harmonize_error_bound)
QUERY(verdict_of, int, MPIX_Harmonize_verdict)
QUERY(harmonize, int, MPIX_Harmonize)
#undef QUERY

/* The extreme value of all processes, on each of them. */
static inline double extreme(double value, MPI_Op op, MPI_Comm comm) {
    OK(MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, op, comm));
    return value;
}

#define CHECK_SAME_EVERYWHERE(value, comm)                                                                             \
    CHECK_THAT(extreme((value), MPI_MIN, comm), ==, extreme((value), MPI_MAX, comm))

#endif
