/* Random numbers, the same on every machine. */
#ifndef DOWNBEAT_SPLIT_MIX_H
#define DOWNBEAT_SPLIT_MIX_H

#include <stdint.h>

/* SplitMix64 (Steele, Lea, Flood 2014), a generator whose state is one word: the output function of a state, and the
 * next number. */
static inline uint64_t db_mix(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
}

static inline uint64_t db_split_mix(uint64_t *state) { return db_mix(*state += 0x9e3779b97f4a7c15U); }

#endif
