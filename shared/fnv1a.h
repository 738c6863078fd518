/* FNV-1a hash (Fowler, Noll, Vo). Start with FNV1A_START, and pass the result of each call as `hash` of the next one.
 */
#ifndef DOWNBEAT_SHARED_FNV1A_H
#define DOWNBEAT_SHARED_FNV1A_H

#include <stdint.h>

#define FNV1A_START 0xcbf29ce484222325U

/* Adds a byte to the hash. */
static inline uint64_t fnv1a_byte(uint64_t hash, unsigned char byte) { return (hash ^ byte) * 0x100000001b3U; }

/* Adds a number to the hash, its lowest byte first. */
static inline uint64_t fnv1a_number(uint64_t hash, uint64_t number) {
    for (int i = 0; i < 8; ++i, number >>= 8)
        hash = fnv1a_byte(hash, (unsigned char)(number & 0xff));
    return hash;
}

/* Adds a text, with its terminating 0, to the hash. */
static inline uint64_t fnv1a_text(uint64_t hash, const char *text) {
    for (; *text != '\0'; ++text)
        hash = fnv1a_byte(hash, (unsigned char)*text);
    return fnv1a_byte(hash, 0);
}

#endif
