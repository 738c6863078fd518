/* CRC-32 of files that downbeat-bench and libdownbeat-preload write; equal to the CRC-32 of zlib, PNG and Python's
 * zlib.crc32. Call crc32_begin, crc32_add for each piece of data, then crc32_value. It detects every burst error of up
 * to 32 bits, and all but one in 4 * 10^9 of other errors. Computed by the slicing-by-8 algorithm (Kounavis and Berry
 * 2005), above 1 GB/s. */
#ifndef DOWNBEAT_SHARED_CRC32_H
#define DOWNBEAT_SHARED_CRC32_H

#include <stddef.h>
#include <stdint.h>

enum { CRC32_SLICES = 8 }; /* bytes that crc32_add processes at a time, with a table for each */

/* State of a computation. It contains the tables, since they are computed in microseconds and globals are avoided. */
struct crc32 {
    uint32_t table[CRC32_SLICES][256]; /* [n][byte]: what a byte adds to the state once n further bytes follow it */
    uint32_t state;                    /* complement of the CRC of the data so far */
};

/* Begins a computation: fills the tables. */
static inline void crc32_begin(struct crc32 *crc) {
    const uint32_t polynomial = 0xedb88320U; /* IEEE 802.3, bits reversed */
    for (uint32_t byte = 0; byte < 256; ++byte) {
        uint32_t value = byte;
        for (int bit = 0; bit < 8; ++bit)
            value = (value >> 1) ^ ((value & 1U) ? polynomial : 0U);
        crc->table[0][byte] = value;
    }
    for (int slice = 1; slice < CRC32_SLICES; ++slice)
        for (int byte = 0; byte < 256; ++byte) {
            const uint32_t previous = crc->table[slice - 1][byte];
            crc->table[slice][byte] = (previous >> 8) ^ crc->table[0][previous & 0xffU];
        }
    crc->state = 0xffffffffU;
}

/* Adds `size` bytes of data. */
static inline void crc32_add(struct crc32 *crc, const void *data, size_t size) {
    const unsigned char *at = (const unsigned char *)data;
    uint32_t state = crc->state;
    for (; size >= CRC32_SLICES; size -= CRC32_SLICES, at += CRC32_SLICES) {
        state ^= (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
        state = crc->table[7][state & 0xffU] ^ crc->table[6][(state >> 8) & 0xffU] ^
                crc->table[5][(state >> 16) & 0xffU] ^ crc->table[4][state >> 24] ^ crc->table[3][at[4]] ^
                crc->table[2][at[5]] ^ crc->table[1][at[6]] ^ crc->table[0][at[7]];
    }
    for (; size > 0; --size, ++at)
        state = (state >> 8) ^ crc->table[0][(state ^ *at) & 0xffU];
    crc->state = state;
}

/* Returns the CRC of the data so far. */
static inline uint32_t crc32_value(const struct crc32 *crc) { return ~crc->state; }

#endif
