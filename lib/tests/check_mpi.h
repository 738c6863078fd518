/* Assertions about MPI calls. */
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

/* Changes one setting of a communicator. */
static inline int set_one(MPI_Comm comm, const char *key, const char *value) {
    MPI_Info info;
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, key, value));
    int code = MPIX_Harmonize_set_info(comm, info);
    OK(MPI_Info_free(&info));
    return code;
}

#endif
