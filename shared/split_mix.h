/* SplitMix64 (Steele, Lea, Flood 2014): pseudorandom numbers that are the same on every machine for the same seed. */
#ifndef DOWNBEAT_SHARED_SPLIT_MIX_H
#define DOWNBEAT_SHARED_SPLIT_MIX_H

#include <stdint.h>

/* The step of the state from one number to the next: 2^64 divided by the golden ratio. Also used as a multiplier of
 * hashes, whose upper bits then depend on all bits of the factor. */
#define GOLDEN_GAMMA 0x9e3779b97f4a7c15U

/* Returns the number of a state. */
static inline uint64_t db_mix(uint64_t state) {
    state = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9U;
    state = (state ^ (state >> 27)) * 0x94d049bb133111ebU;
    return state ^ (state >> 31);
}

/* Advances the state and returns its number. */
static inline uint64_t db_split_mix(uint64_t *state) { return db_mix(*state += GOLDEN_GAMMA); }

#endif
