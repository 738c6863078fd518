/* Random numbers of which every stream is known by its number. */
#ifndef DOWNBEAT_RANDOM_H
#define DOWNBEAT_RANDOM_H

#include "split_mix.h"

/* The start of a stream that belongs to three numbers. */
static inline uint64_t stream(uint64_t seed, uint64_t a, uint64_t b, uint64_t c) {
    uint64_t state = seed;
    state = db_split_mix(&state) ^ a;
    state = db_split_mix(&state) ^ b;
    state = db_split_mix(&state) ^ c;
    return db_split_mix(&state);
}

/* Uniform in (0, 1]. */
static inline double uniform(uint64_t *state) { return (double)((db_split_mix(state) >> 11) + 1) * 0x1p-53; }

/* Uniform in [0, 1), always the same for a number. */
static inline double unit_of(uint64_t number) { return (double)(db_mix(number) >> 11) * 0x1p-53; }

static inline double symmetric(uint64_t *state) { return 2.0 * uniform(state) - 1.0; }

#endif
