/* The profile (profile.h): a hash table with a row per class of calls. A class has the key (site, communicator, ranks,
 * operation, kind, size, phase). When a communicator is freed, its rows are merged into rows for all freed
 * communicators of the same size, and the entries of its rows and of the communicator are used again. */
#define _GNU_SOURCE
#include "profile.h"

#include "recording.h"
#include "tables.h"

#include "split_mix.h"

#include <stdlib.h>
#include <string.h>

static uint32_t first_free_communicator =
    TRACE_NONE;                              /* free list of communicators; `first_row` is the next free communicator */
static uint32_t first_free_row = TRACE_NONE; /* free list of rows; `next` is the next free row */
static uint32_t *buckets;                    /* first row of each bucket; TRACE_NONE: empty */
static uint32_t *chains;                     /* [row] the next row of its bucket; TRACE_NONE: last one */
static uint32_t chains_size;                 /* elements of `chains` */
static uint32_t buckets_mask;                /* number of buckets - 1; the number is a power of two */
static uint32_t rows_used;                   /* number of rows in the buckets */

uint32_t recording_add_communicator(const struct trace_communicator *communicator) {
    pthread_mutex_lock(&recording.lock);
    uint32_t number = first_free_communicator;
    if (number != TRACE_NONE) {
        first_free_communicator = recording_communicator(number)->first_row;
    } else {
        number = table_next(COMMUNICATORS_TABLE, &recording.header->communicators_dropped);
        recording.header->communicators += number != TRACE_NONE;
    }
    if (number != TRACE_NONE) {
        *recording_communicator(number) = *communicator;
        recording_communicator(number)->first_row = TRACE_NONE;
    }
    pthread_mutex_unlock(&recording.lock);
    return number;
}

/* Hash of the fields of a key. */
static uint32_t hash_key(const struct trace_row *key) {
    uint64_t place = ((uint64_t)key->site << 32 | key->communicator) + key->phase * GOLDEN_GAMMA;
    uint64_t call =
        (uint64_t)(uint32_t)key->ranks << 32 | (uint64_t)key->operation << 16 | (uint64_t)key->kind << 8 | key->size;
    return (uint32_t)db_mix(db_mix(place) + call);
}

/* True if two rows describe the same calls. */
static int same_key(const struct trace_row *a, const struct trace_row *b) {
    return a->site == b->site && a->communicator == b->communicator && a->operation == b->operation &&
           a->kind == b->kind && a->size == b->size && a->ranks == b->ranks && a->phase == b->phase;
}

/* Grows the hash table if it is full. If memory is short, keeps the old table; returns 0 only if there is no table. */
static int reserve_buckets(void) {
    if (buckets != NULL && rows_used <= buckets_mask)
        return 1;
    uint32_t size = buckets != NULL ? 2 * (buckets_mask + 1) : 1024;
    uint32_t *larger = malloc(size * sizeof *larger);
    if (larger == NULL)
        return buckets != NULL;
    memset(larger, 0xff, size * sizeof *larger); /* TRACE_NONE in each bucket */
    for (uint32_t i = 0; buckets != NULL && i <= buckets_mask; ++i)
        for (uint32_t number = buckets[i], chain; number != TRACE_NONE; number = chain) {
            uint32_t *bucket = &larger[hash_key(row_at(number)) & (size - 1)];
            chain = chains[number];
            chains[number] = *bucket;
            *bucket = number;
        }
    free(buckets);
    buckets = larger;
    buckets_mask = size - 1;
    return 1;
}

/* Grows the chains to contain a row; returns 0 if out of memory. */
static int reserve_chains(uint32_t number) {
    if (number < chains_size)
        return 1;
    uint32_t size = number < 512 ? 1024 : 2 * number;
    uint32_t *larger = realloc(chains, size * sizeof *larger);
    if (larger == NULL)
        return 0;
    chains = larger;
    chains_size = size;
    return 1;
}

/* Finds or creates a row. Without memory for a row, returns header->unplaced. The caller holds the lock. */
static struct trace_row *find_row(const struct trace_row *key) {
    if (!reserve_buckets())
        return &recording.header->unplaced;
    uint32_t *bucket = &buckets[hash_key(key) & buckets_mask];
    for (uint32_t number = *bucket; number != TRACE_NONE; number = chains[number])
        if (same_key(row_at(number), key))
            return row_at(number);
    uint32_t number = first_free_row;
    if (number != TRACE_NONE) {
        first_free_row = row_at(number)->next;
    } else {
        number = table_next(PROFILE_TABLE, NULL);
        if (number != TRACE_NONE && !reserve_chains(number))
            number = TRACE_NONE;
        recording.header->profile += number != TRACE_NONE;
    }
    if (number == TRACE_NONE)
        return &recording.header->unplaced;
    struct trace_row *row = row_at(number);
    *row = *key;
    row->number = number;
    chains[number] = *bucket;
    row->next = TRACE_NONE;
    *bucket = number;
    ++rows_used;
    if (key->communicator != TRACE_NONE) {
        struct trace_communicator *communicator = recording_communicator(key->communicator);
        row->next = communicator->first_row;
        communicator->first_row = number;
    }
    return row;
}

struct trace_row *recording_row(const struct trace_row *key) {
    pthread_mutex_lock(&recording.lock);
    struct trace_row *row = find_row(key);
    pthread_mutex_unlock(&recording.lock);
    return row;
}

/* Adds a row to the row of all freed communicators of the same size, and frees it. Frees it first, so that find_row
 * always has an entry. */
static void merge_row(struct trace_row *row) {
    uint32_t number = row->number;
    uint32_t *link = &buckets[hash_key(row) & buckets_mask];
    struct trace_row sum = *row;
    while (*link != number)
        link = &chains[*link];
    *link = chains[number];
    --rows_used;
    memset(row, 0, sizeof *row);
    row->next = first_free_row;
    first_free_row = number;
    struct trace_row key = {.site = sum.site,
                            .communicator = TRACE_NONE,
                            .ranks = sum.ranks,
                            .operation = sum.operation,
                            .kind = sum.kind,
                            .size = sum.size,
                            .phase = sum.phase};
    struct trace_row *merged = find_row(&key);
    merged->calls += sum.calls;
    merged->ticks += sum.ticks;
    merged->waits += sum.waits;
    merged->bytes += sum.bytes;
}

/* A row with `held` other than 0 belongs to records or active calls; a pinned communicator belongs to a struct
 * trace_start. */
void profile_release(uint32_t number) {
    struct trace_communicator *communicator = recording_communicator(number);
    if (!communicator->freed || communicator->pinned)
        return;
    for (uint32_t row = communicator->first_row; row != TRACE_NONE; row = row_at(row)->next)
        if (row_at(row)->held != 0)
            return;
    for (uint32_t row = communicator->first_row, next; row != TRACE_NONE; row = next) {
        next = row_at(row)->next;
        merge_row(row_at(row));
    }
    memset(communicator, 0, sizeof *communicator);
    communicator->first_row = first_free_communicator;
    first_free_communicator = number;
}

void recording_free_communicator(uint32_t number) {
    if (recording.header == NULL || number == TRACE_NONE)
        return;
    pthread_mutex_lock(&recording.lock);
    recording_communicator(number)->freed = 1;
    profile_release(number);
    pthread_mutex_unlock(&recording.lock);
}
