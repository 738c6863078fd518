/* A call of a collective (recorded_call.h): finds its row of the profile, decides by a hash if it also gets a record in
 * the trace, and fills both. */
#include "recorded_call.h"

#include "collectives.h"
#include "frames.h"
#include "phases.h"
#include "profile.h"
#include "python_frames.h"
#include "samples.h"
#include "sites.h"
#include "thinning.h"
#include "thread_memory.h"

#include "split_mix.h"

#include <string.h>

PER_THREAD uint32_t thread_number = TRACE_NONE; /* number of this thread in records; TRACE_NONE: no record yet */
static _Atomic uint32_t threads;                /* number of threads with a number */
INITIAL_EXEC int64_t ticks_in_other_calls;

/* Per-thread cache from the properties of a call to its row, to avoid the lookup in the profile. */
#define CACHED 128 /* per thread */
struct cached {
    const void *address;
    uint64_t identity;
    int64_t bytes;
    uint64_t phase_operation_kind; /* packed into one word */
    struct trace_row *row;
};
PER_THREAD struct cached *cache;

/* Class of a size in the file's format (trace_row.size): 0 for 0 bytes, 1 for 1 byte, k for up to 2^(k-1) bytes. */
static uint8_t size_class(int64_t bytes) {
    if (bytes < 0)
        return SIZE_UNKNOWN;
    return (uint8_t)(bytes == 0 ? 0 : bytes == 1 ? 1 : 65 - __builtin_clzll((uint64_t)bytes - 1));
}

/* Finds or adds the row of the profile to which a call belongs; NULL if there is no room. */
static struct trace_row *find_row(const struct call *call, uint16_t phase) {
    const struct trace_row key = {.site = site_of(call->address),
                                  .communicator = call->comm->number,
                                  .ranks = call->comm->size,
                                  .operation = call->operation,
                                  .kind = call->kind,
                                  .size = size_class(call->bytes),
                                  .phase = phase};
    return recording_row(&key);
}

/* Finds or creates the row of a call, through the thread's cache. */
static struct trace_row *row_of(const struct call *call) {
    uint16_t phase = atomic_load_explicit(&current_phase, memory_order_relaxed);
    uint64_t phase_operation_kind = (uint64_t)phase << 24 | (uint64_t)call->operation << 8 | call->kind;
    uint64_t hash =
        (uint64_t)(uintptr_t)call->address ^ call->comm->identity ^ (uint64_t)call->bytes << 20 ^ phase_operation_kind;
    if (__builtin_expect(cache == NULL, 0) && !thread_memory((void **)(void *)&cache, CACHED * sizeof *cache))
        return find_row(call, phase);
    struct cached *entry = &cache[(hash * GOLDEN_GAMMA) >> 57];
    if (entry->address != call->address || entry->identity != call->comm->identity || entry->bytes != call->bytes ||
        entry->phase_operation_kind != phase_operation_kind)
        *entry = (struct cached){call->address, call->comm->identity, call->bytes, phase_operation_kind,
                                 find_row(call, phase)};
    return entry->row;
}
_Static_assert(CACHED == 1 << (64 - 57), "the hash is an index of the cache");

/* Level of a call: number of trailing zeros of a hash of its communicator and its number. All processes compute the
 * same level. One of 2^k calls has a level of at least k. */
static int level_of(const struct call *call) {
    uint64_t hash = db_mix(call->comm->identity + ((uint64_t)call->round << 32 | call->sequence) * GOLDEN_GAMMA);
    return __builtin_ctzll(hash | 1ULL << 62); /* at most 62 */
}

int call_begin(struct call *call, uintptr_t frame, int operation, int kind, MPI_Comm comm, const void *address) {
    call->comm = NULL;
    if (is_inside(frame) || !library_begun)
        return 0;
    call->address = address;
    call->comm = communicator_of(comm);
    if (call->comm == NULL)
        return 0;
    /* Count the call even while the library is switched off, so that sequence numbers agree on all processes. Not
     * atomic: MPI forbids concurrent collectives on a communicator. */
    call->sequence = atomic_load_explicit(&call->comm->sequence, memory_order_relaxed);
    atomic_store_explicit(&call->comm->sequence, call->sequence + 1, memory_order_relaxed);
    if (!library_enabled)
        return 0;
    call->operation = (uint16_t)operation;
    call->kind = (uint8_t)kind;
    call->is_persistent_init = kind == KIND_PERSISTENT;
    call->round = 0;
    call->frame = frame;
    /* Replace the C return address by the call site in Fortran or Python, if there is one. */
    const void *fortran = fortran_site(frame);
    call->address = fortran != NULL ? fortran : python_caller(address);
    return 1;
}

/* Encodes ticks in the format of trace_record.elsewhere: an 11-bit number and a 5-bit shift; UINT16_MAX if the shift
 * exceeds 31. 53 is 64 - 11: shifting by 53 - leading zeros leaves the 11 highest bits. */
static uint16_t short_ticks(int64_t ticks) {
    if (ticks < 1 << 11)
        return (uint16_t)(ticks > 0 ? ticks : 0);
    int shift = 53 - __builtin_clzll((uint64_t)ticks);
    return shift > 31 ? UINT16_MAX : (uint16_t)(shift << 11 | (int)(ticks >> shift));
}

/* The root in the file's format; values of MPI_ROOT differ between MPI libraries. */
static int root_of(const struct call *call, int root) {
    if (root >= 0)
        return root;
    if (root == NO_ROOT || !call->comm->inter)
        return -1;
    return root == MPI_ROOT ? ROOT_ITSELF : ROOT_IN_GROUP;
}

void call_enter(struct call *call, int64_t bytes, int root) {
    program_frame = call->frame;
    call_record(call, bytes, root);
}

void call_record(struct call *call, int64_t bytes, int root) {
    call->bytes = bytes;
    call->row = NULL;
    call->record = NULL;
    call->sample_exit = NULL;
    if (call->kind == KIND_BLOCKING && call->comm->waiting != NULL)
        call->sample_exit = samples_enter(call->comm, &(struct sampled_operation){bytes, call->operation, call->kind});
    if (!settings.record || call->is_persistent_init) {
        if (call->kind !=
            KIND_BLOCKING) /* samples_complete needs the entry time of such a call even without a record */
            call->entry = recording_ticks();
        return;
    }
    call->entry = recording_ticks(); /* before the row is looked up, which takes longer in the first call */
    call->row = row_of(call);
    int level = level_of(call);
    if (level < __atomic_load_n(&call->row->thinning, __ATOMIC_RELAXED))
        return;
    struct trace_record *record = recording_take(call->row, level);
    if (record == NULL)
        return;
    if (thread_number == TRACE_NONE) /* the thread's first record */
        thread_number = threads++;
    call->record = record;
    *record = (struct trace_record){.entry = call->entry,
                                    .bytes = bytes,
                                    .sequence = call->sequence,
                                    .round = call->round,
                                    .root = root_of(call, root),
                                    .row = call->row->number,
                                    .elsewhere = short_ticks(ticks_in_other_calls),
                                    .thread = (uint16_t)thread_number,
                                    .level = (uint8_t)level};
    atomic_store_explicit(&record->state, RECORD_ENTERED, memory_order_release);
}

void call_complete(const struct call *call) {
    if (call->row != NULL) {
        RECORDING_ADD(call->row->calls, 1);
        if (call->bytes > 0)
            RECORDING_ADD(call->row->bytes, call->bytes);
        if (call->kind == KIND_BLOCKING)
            RECORDING_ADD(call->row->ticks, call->exit - call->entry);
        else
            recording_release(call->row);
    }
    if (call->record == NULL)
        return;
    if (call->kind == KIND_BLOCKING)
        call->record->returned = call->exit;
    call->record->exit = call->exit;
    atomic_store_explicit(&call->record->state, RECORD_COMPLETE, memory_order_release);
}
