/* Pseudorandom numbers that are the same on every machine for the same seed. */
#ifndef DOWNBEAT_SPLIT_MIX_H
#define DOWNBEAT_SPLIT_MIX_H

#include <stdint.h>

/* SplitMix64 (Steele, Lea, Flood 2014), a generator whose state is one word. db_mix is its output function;
 * db_split_mix advances the state and returns the next number. */
static inline uint64_t db_mix(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
}

static inline uint64_t db_split_mix(uint64_t *state) { return db_mix(*state += 0x9e3779b97f4a7c15U); }

#endif
