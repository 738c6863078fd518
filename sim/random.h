/* Random numbers of which every stream is known by its number. */
#ifndef DOWNBEAT_RANDOM_H
#define DOWNBEAT_RANDOM_H

#include <stdint.h>

/* SplitMix64 (Steele, Lea, Flood 2014). */
static inline uint64_t next_random(uint64_t *state) {
    uint64_t z = (*state += 0x9e3779b97f4a7c15U);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
}

/* The start of a stream that belongs to three numbers. */
static inline uint64_t stream(uint64_t seed, uint64_t a, uint64_t b, uint64_t c) {
    uint64_t state = seed;
    state = next_random(&state) ^ a;
    state = next_random(&state) ^ b;
    state = next_random(&state) ^ c;
    return next_random(&state);
}

/* Uniform in (0, 1]. */
static inline double uniform(uint64_t *state) { return (double)((next_random(state) >> 11) + 1) * 0x1p-53; }

static inline double symmetric(uint64_t *state) { return 2.0 * uniform(state) - 1.0; }

#endif
