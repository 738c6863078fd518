/* Assertions of the library's tests: what failed, where, with the values; the whole run fails. */
#ifndef DOWNBEAT_CHECK_H
#define DOWNBEAT_CHECK_H

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* The launcher ends the other ranks when one exits before MPI_Finalize. */
static inline void check_fail(void) { exit(1); }

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition);                                  \
            check_fail();                                                                                              \
        }                                                                                                              \
    } while (0)

/* CHECK_THAT(a, <=, b): shows both values. */
#define CHECK_THAT(left, relation, right)                                                                              \
    do {                                                                                                               \
        double left_value = (double)(left);                                                                            \
        double right_value = (double)(right);                                                                          \
        if (!(left_value relation right_value)) {                                                                      \
            fprintf(stderr, "%s:%d: not true: %s %s %s (%.9g against %.9g)\n", __FILE__, __LINE__, #left, #relation,   \
                    #right, left_value, right_value);                                                                  \
            check_fail();                                                                                              \
        }                                                                                                              \
    } while (0)

/* Seconds on a clock that all processes of one machine share and that NTP does not steer. */
static inline double true_time(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC_RAW, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static inline void pause_for(double seconds) {
    struct timespec time = {.tv_sec = (time_t)seconds};
    time.tv_nsec = (long)((seconds - (double)time.tv_sec) * 1e9);
    nanosleep(&time, NULL);
}

#endif
