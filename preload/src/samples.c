/* Samples of a benchmark that does not discard invalid starts itself (samples.h).
 *
 * A sample is the time from the exit of a harmonized barrier to the end of the next collective on its communicator, as
 * in the loops of OSU and IMB. The verdict on a barrier is available one barrier later, at no cost
 * (MPIX_Harmonize_verdict), so a sample stays unresolved until then. The library makes no query between the barrier and
 * the operation, which would delay the operation. Samples are summed up in classes (struct trace_start): same barrier
 * site, communicator, operation, kind and class of sizes. */
#define _GNU_SOURCE
#include "samples.h"

#include "frames.h"
#include "process.h"
#include "recording.h"
#include "sites.h"

#include <mpix_harmonize.h>
#include <pthread.h>
#include <stdlib.h>

/* The pending sample of a communicator. */
struct waiting_sample {
    struct waiting_sample *next;
    struct comm *comm;
    int armed;              /* 1 after a barrier, until the next operation */
    int64_t exit;           /* exit of that barrier, ticks */
    uint32_t barrier_site;  /* number of the call site of that barrier */
    int measured;           /* 1 if an operation has begun since that barrier */
    int64_t operation_exit; /* exit of the operation, ticks; 0: not yet */
    struct sampled_operation operation;
    uint32_t unresolved;  /* class of the previous sample, if its verdict is unknown; else TRACE_NONE */
    double unresolved_ns; /* duration of that sample */
};

static struct waiting_sample *all_samples;
static pthread_mutex_t lock = LOCK;

/* Finds or creates the pending sample of a communicator; NULL if out of memory. */
static struct waiting_sample *waiting_of(struct comm *comm) {
    if (comm->waiting != NULL)
        return comm->waiting;
    struct waiting_sample *created = calloc(1, sizeof *created);
    if (created == NULL)
        return NULL;
    created->comm = comm;
    created->unresolved = TRACE_NONE;
    pthread_mutex_lock(&lock);
    created->next = all_samples;
    all_samples = created;
    pthread_mutex_unlock(&lock);
    comm->waiting = created;
    return created;
}

/* Gets the verdict on the unresolved sample, which began after the barrier before the last one, and adds it to its
 * class. */
static void resolve(struct waiting_sample *waiting) {
    int verdict = MPI_UNDEFINED;
    double lateness = 0.0;
    double bound = 0.0;
    if (waiting->unresolved == TRACE_NONE)
        return;
    struct trace_start *start = recording_start(waiting->unresolved);
    waiting->unresolved = TRACE_NONE;
    FRAME(frame);
    frame_enter(frame);
    MPIX_Harmonize_verdict(waiting->comm->handle, &verdict);
    MPIX_Harmonize_lateness(waiting->comm->handle, &lateness);
    MPIX_Harmonize_error_bound(waiting->comm->handle, &bound);
    frame_leave(frame);
    if (verdict == MPI_UNDEFINED) {
        ++start->unresolved;
        return;
    }
    if (verdict) {
        ++start->valid;
        start->valid_sum_ns += waiting->unresolved_ns;
    } else {
        ++start->rejected;
    }
    start->lateness_sum_ns += lateness * 1e9;
    if (lateness * 1e9 > start->lateness_max_ns)
        start->lateness_max_ns = lateness * 1e9;
    if (bound * 1e9 > start->bound_max_ns)
        start->bound_max_ns = bound * 1e9;
}

/* Smallest power of two >= bytes; `bytes` itself if it is 0, 1 or -1 (unknown). */
static int64_t size_class(int64_t bytes) {
    int64_t size = 1;
    if (bytes <= 1)
        return bytes;
    while (size < bytes)
        size *= 2;
    return size;
}

/* Finds or creates the class of a sample; TRACE_NONE if there is no room. */
static uint32_t class_of(const struct waiting_sample *waiting) {
    const struct trace_start key = {.barrier_site = waiting->barrier_site,
                                    .communicator = waiting->comm->number,
                                    .operation = waiting->operation.operation,
                                    .kind = waiting->operation.kind,
                                    .size = size_class(waiting->operation.bytes)};
    for (uint32_t number = recording_starts(); number-- > 0;) { /* from the newest class, which is the likeliest */
        const struct trace_start *start = recording_start(number);
        if (start->barrier_site == key.barrier_site && start->communicator == key.communicator &&
            start->operation == key.operation && start->kind == key.kind && start->size == key.size)
            return number;
    }
    return recording_add_start(&key);
}

/* The operation after the barrier is the measured one. */
static void take_operation(struct waiting_sample *waiting, const struct sampled_operation *operation,
                           int64_t operation_exit) {
    waiting->armed = 0;
    waiting->measured = 1;
    waiting->operation_exit = operation_exit;
    waiting->operation = *operation;
}

void samples_begin(struct comm *comm, const void *address, int64_t exit) {
    struct waiting_sample *waiting = waiting_of(comm);
    if (waiting == NULL)
        return;
    waiting->armed = 1;
    waiting->exit = exit;
    waiting->barrier_site = site_of(address);
}

int64_t *samples_enter(struct comm *comm, const struct sampled_operation *operation) {
    struct waiting_sample *waiting = comm->waiting;
    if (!waiting->armed)
        return NULL;
    take_operation(waiting, operation, 0);
    return &waiting->operation_exit;
}

void samples_complete(struct comm *comm, const struct sampled_operation *operation, int64_t entry, int64_t exit) {
    struct waiting_sample *waiting = comm->waiting;
    if (waiting->armed && entry >= waiting->exit) /* not if the operation began before the barrier */
        take_operation(waiting, operation, exit);
}

/* Adds the measured sample to its class. */
static void add_sample(struct waiting_sample *waiting) {
    if (!waiting->measured)
        return;
    waiting->measured = 0;
    if (waiting->operation_exit == 0) /* the operation failed */
        return;
    uint32_t number = class_of(waiting);
    if (number == TRACE_NONE)
        return;
    struct trace_start *start = recording_start(number);
    if (start->skipped < settings.skip) { /* the first samples of a class are warm-up */
        ++start->skipped;
        return;
    }
    double ns = (double)(waiting->operation_exit - waiting->exit) * recording_tick_ns();
    start->min_ns = start->samples == 0 || ns < start->min_ns ? ns : start->min_ns;
    start->max_ns = start->samples == 0 || ns > start->max_ns ? ns : start->max_ns;
    ++start->samples;
    start->sum_ns += ns;
    waiting->unresolved = number;
    waiting->unresolved_ns = ns;
}

void samples_resolve(struct comm *comm) {
    struct waiting_sample *waiting = comm->waiting;
    if (waiting == NULL)
        return;
    resolve(waiting);
    add_sample(waiting);
}

/* Counts the last two samples as unresolved: the unresolved one, and the one after it. */
static void abandon(struct waiting_sample *waiting) {
    for (int i = 0; i < 2; ++i) {
        if (waiting->unresolved != TRACE_NONE)
            ++recording_start(waiting->unresolved)->unresolved;
        waiting->unresolved = TRACE_NONE;
        add_sample(waiting);
    }
}

void samples_forget(struct comm *comm) {
    struct waiting_sample **link = &all_samples;
    if (comm->waiting == NULL)
        return;
    pthread_mutex_lock(&lock);
    while (*link != NULL && *link != comm->waiting)
        link = &(*link)->next;
    if (*link != NULL) { /* else samples_end has abandoned it */
        *link = comm->waiting->next;
        abandon(comm->waiting);
    }
    pthread_mutex_unlock(&lock);
    free(comm->waiting);
    comm->waiting = NULL;
}

void samples_end(void) {
    pthread_mutex_lock(&lock);
    for (struct waiting_sample *sample = all_samples; sample != NULL; sample = sample->next) {
        resolve(sample);
        abandon(sample);
    }
    all_samples = NULL; /* samples are freed with their communicators */
    pthread_mutex_unlock(&lock);
}
