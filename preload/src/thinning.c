/* Allocation of records (thinning.h). All calls get a record until the capacity is used. From then on a row's thinning
 * k is raised, only calls with a level of at least k get a record, and records below their row's thinning are replaced
 * (trace_file.h). */
#define _GNU_SOURCE
#include "thinning.h"

#include "profile.h"
#include "recording.h"
#include "tables.h"

#include <math.h>

static _Atomic int full;       /* 1 if the table cannot grow: new records replace old records */
static int64_t next_candidate; /* next record to check for replacement (clock algorithm) */
static int64_t checked_count;  /* number of records that were checked since thinning was raised */
static double quota;           /* largest expected number of records of a row; 0: the capacity */

/* Raises the thinning of the rows with most calls until at most half of the records are expected to remain: a row with
 * more expected records than `quota` is thinned further; the quota is halved until that suffices. */
static void raise_thinning(void) {
    const double half = (double)recording.stored[RECORDS_TABLE] / 2;
    if (quota == 0.0)
        quota = (double)recording.header->records_capacity;
    int raised = 0;                 /* 1 if the thinning of a row was raised */
    double expected = 2 * half + 1; /* expected number of records; at first more than the table has */
    while (!raised || expected > half) {
        expected = 0.0;
        for (int64_t i = 0; i < recording.header->profile; ++i) {
            struct trace_row *row = row_at(i);
            uint8_t thinning = row->thinning;
            double calls = ldexp((double)__atomic_load_n(&row->calls, __ATOMIC_RELAXED), -thinning);
            while (calls > quota && thinning < 62) { /* 62: the highest level of a call */
                calls /= 2;
                ++thinning;
            }
            raised |= thinning > row->thinning;
            __atomic_store_n(&row->thinning, thinning, __ATOMIC_RELAXED); /* other threads read it */
            expected += calls;
        }
        if (quota < 1e-9) /* every row is thinned as far as possible */
            break;
        if (!raised || expected > half)
            quota /= 2;
    }
    checked_count = 0;
}

/* Returns an old record below its row's thinning, to be replaced, or NULL. Raises thinning after all records were
 * checked. The caller holds the lock. */
static struct trace_record *find_replaceable(void) {
    int64_t stored = recording.stored[RECORDS_TABLE];
    for (int64_t tries = 0; tries <= 2 * stored; ++tries) { /* all records, before and after thinning is raised */
        if (checked_count++ >= stored)
            raise_thinning();
        struct trace_record *record = record_at(next_candidate);
        next_candidate = (next_candidate + 1) % stored;
        if (atomic_load_explicit(&record->state, memory_order_acquire) != RECORD_COMPLETE)
            continue; /* belongs to an active call */
        struct trace_row *row = row_at(record->row);
        if (record->level >= row->thinning)
            continue;
        atomic_store_explicit(&record->state, RECORD_EMPTY, memory_order_relaxed);
        if (__atomic_sub_fetch(&row->held, 1, __ATOMIC_RELAXED) == 0 && row->communicator != TRACE_NONE)
            profile_release(row->communicator);
        return record;
    }
    return NULL;
}

/* Returns a record for a call when the table is full, or NULL. */
static struct trace_record *replace(const struct trace_row *row, int level) {
    struct trace_record *record = NULL;
    pthread_mutex_lock(&recording.lock);
    if (recording.stored[RECORDS_TABLE] > 0)
        record = find_replaceable();
    if (record == NULL && level >= row->thinning)
        ++recording.header->records_dropped;
    pthread_mutex_unlock(&recording.lock);
    return record;
}

/* Returns a record that was not used yet; NULL if the table is full. */
static struct trace_record *next_unused(void) {
    int64_t number = recording.header->records;
    if (recording_threaded)
        number = atomic_fetch_add_explicit(&recording.header->records, 1, memory_order_relaxed);
    else
        atomic_store_explicit(&recording.header->records, number + 1, memory_order_relaxed);
    if (number >= recording.stored[RECORDS_TABLE]) {
        pthread_mutex_lock(&recording.lock);
        if (table_reserve(RECORDS_TABLE, number + 1) != 0 && !full) {
            full = 1;
            checked_count = recording.stored[RECORDS_TABLE]; /* so that find_replaceable raises the thinning at once */
        }
        pthread_mutex_unlock(&recording.lock);
    }
    return number < recording.stored[RECORDS_TABLE] ? record_at(number) : NULL;
}

struct trace_record *recording_take(struct trace_row *row, int level) {
    struct trace_record *record = full ? NULL : next_unused();
    /* Hold the row before the lock is taken, since another thread may free its communicator. */
    recording_hold(row);
    if (record == NULL)
        record = replace(row, level);
    if (record == NULL)
        recording_release(row);
    return record;
}
