/* An operation for the tests: stays for a known time. Its parameters say for how long, and what is to go wrong:
 *
 *     "40 us"        microseconds
 *     "bytes"        as many nanoseconds as the message has bytes
 *     "fail setup", "fail run", "fail teardown"    with code 1234567, on rank 1
 *     "all fail run"    the same on all ranks
 *     "wrong"        validate finds a wrong result on rank 1
 *
 * UNSIZED: it takes no sizes. WITHOUT_RUN: a function is missing. */
#define _DEFAULT_SOURCE /* CLOCK_MONOTONIC_RAW */

#ifdef WITHOUT_RUN
#define downbeat_operation_run not_to_be_found
#endif

#include <downbeat/operation.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CODE 1234567

#ifdef UNSIZED
const char downbeat_operation_size[] = "";
#endif

struct stay {
    MPI_Comm comm;
    long ns;
    int rank;
    const char *parameters;
};

static int fails(const struct stay *stay, const char *what) {
    return stay->rank == 1 && strcmp(stay->parameters, what) == 0 ? CODE : MPI_SUCCESS;
}

int downbeat_operation_setup(MPI_Comm comm, size_t bytes, const char *parameters, void **state) {
    struct stay *stay = calloc(1, sizeof *stay);
    *state = stay;
    stay->comm = comm;
    stay->parameters = parameters;
    stay->ns = strcmp(parameters, "bytes") == 0 ? (long)bytes : (long)(atof(parameters) * 1000.0);
    MPI_Comm_rank(comm, &stay->rank);
    return fails(stay, "fail setup");
}

static long now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC_RAW, &time); /* NTP does not steer it */
    return time.tv_sec * 1000000000L + time.tv_nsec;
}

int downbeat_operation_run(void *state) {
    const struct stay *stay = state;
    for (long end = now() + stay->ns; now() < end;) {
    }
    return strcmp(stay->parameters, "all fail run") == 0 ? CODE : fails(stay, "fail run");
}

int downbeat_operation_teardown(void *state) {
    struct stay *stay = state;
    int code = fails(stay, "fail teardown");
    free(stay);
    return code;
}

int downbeat_operation_validate(void *state, char error[DOWNBEAT_MAX_ERROR]) {
    if (fails(state, "wrong") != MPI_SUCCESS)
        snprintf(error, DOWNBEAT_MAX_ERROR, "element 3 is 5 instead of 6");
    return MPI_SUCCESS;
}
