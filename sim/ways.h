/* Ways that take longer than those back, for the model's network (virtual.h): by up to 20 % of what one way takes in
 * the simulations of the literature on estimators. */
#ifndef DOWNBEAT_WAYS_H
#define DOWNBEAT_WAYS_H

#include "split_mix.h"

#define WAY_NS 1500.0
#define LONGEST_NS (0.2 * WAY_NS)

/* Those to processes with higher numbers. */
static inline double longer_upwards(int source, int destination, double true_ns) {
    (void)true_ns;
    return source < destination ? LONGEST_NS : 0.0;
}

/* Each at random, and always the same. */
static inline double longer_at_random(int source, int destination, double true_ns) {
    (void)true_ns;
    uint64_t drawn = db_mix(((uint64_t)source << 32) + (uint64_t)destination + 7);
    return LONGEST_NS * (double)(drawn >> 11) * 0x1p-53;
}

#endif
