/* FNV-1a hash (Fowler, Noll, Vo) of a sequence of texts. Start with DB_HASH, and pass the result of each call as
 * `value` of the next one. */
#ifndef DOWNBEAT_HASH_H
#define DOWNBEAT_HASH_H

#include <stdint.h>

#define DB_HASH 0xcbf29ce484222325U

/* Adds a text, with its terminating 0, to the hash. */
static inline uint64_t db_hash(uint64_t value, const char *text) {
    for (;; ++text) {
        value = (value ^ (unsigned char)*text) * 0x100000001b3U;
        if (*text == '\0')
            return value;
    }
}

#endif
