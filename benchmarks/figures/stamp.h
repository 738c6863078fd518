/* Timestamps that do not depend on the library under test. */
#ifndef DOWNBEAT_FIGURES_STAMP_H
#define DOWNBEAT_FIGURES_STAMP_H

#include <stdint.h>
#include <time.h>

static inline int64_t monotonic_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC_RAW, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

#if defined(__x86_64__)
#include <x86intrin.h>
static inline int64_t stamp(void) {
    unsigned processor;
    return (int64_t)__rdtscp(&processor);
}
#else
static inline int64_t stamp(void) { return monotonic_ns(); }
#endif

/* The smallest step between stamps: the resolution of what is measured. */
static inline int64_t stamp_step(void) {
    int64_t smallest = INT64_MAX;
    int64_t last = stamp();
    for (int i = 0; i < 10000; ++i) {
        int64_t now = stamp();
        if (now > last && now - last < smallest)
            smallest = now - last;
        last = now;
    }
    return smallest;
}

/* Nanoseconds per stamp, to about 1e-6. */
static inline double ns_per_stamp(void) {
    const int64_t begin_ns = monotonic_ns();
    const int64_t begin = stamp();
    while (monotonic_ns() - begin_ns < 100000000) {
    }
    return (double)(monotonic_ns() - begin_ns) / (double)(stamp() - begin);
}

#endif
