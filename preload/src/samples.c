/* What a benchmark cannot know that discards no sample.
 *
 * A sample is the time from the exit of a harmonized barrier to the end of the next collective on its communicator, as
 * the loops of OSU and IMB measure it. Whether all processes left the barrier in time is known one barrier later, at no
 * cost (MPIX_Harmonize_verdict), so a sample waits until then. Nothing is asked between the barrier and the operation.
 */
#define _GNU_SOURCE
#include "samples.h"

#include "frames.h"
#include "process.h"
#include "recording.h"
#include "sites.h"

#include <mpix_harmonize.h>
#include <pthread.h>
#include <stdlib.h>

/* The sample of a communicator that is not complete yet. */
struct waiting_sample {
    struct waiting_sample *next;
    struct comm *comm;
    int armed;    /* a barrier has ended, and no operation since */
    int64_t exit; /* ticks, of that barrier */
    uint32_t barrier_site;
    int measured; /* an operation has begun since: */
    int64_t done; /* ticks; 0: not yet */
    struct sampled_operation operation;
    uint32_t unresolved; /* the class of the sample before it, or TRACE_NONE if its verdict is known */
    double unresolved_ns;
};

static struct waiting_sample *first;
static pthread_mutex_t lock = LOCK;

static struct waiting_sample *waiting_of(struct comm *comm) {
    if (comm->waiting != NULL)
        return comm->waiting;
    struct waiting_sample *made = calloc(1, sizeof *made);
    if (made == NULL)
        return NULL;
    made->comm = comm;
    made->unresolved = TRACE_NONE;
    pthread_mutex_lock(&lock);
    made->next = first;
    first = made;
    pthread_mutex_unlock(&lock);
    comm->waiting = made;
    return made;
}

/* The verdict on the sample of the barrier before the last one is known now. */
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

/* Smallest power of two that is no less. */
static int64_t size_class(int64_t bytes) {
    int64_t size = 1;
    if (bytes <= 1)
        return bytes;
    while (size < bytes)
        size *= 2;
    return size;
}

static uint32_t class_of(const struct waiting_sample *waiting) {
    const struct trace_start wanted = {.barrier_site = waiting->barrier_site,
                                       .communicator = waiting->comm->number,
                                       .operation = waiting->operation.operation,
                                       .kind = waiting->operation.kind,
                                       .size = size_class(waiting->operation.bytes)};
    for (uint32_t number = recording_starts(); number-- > 0;) {
        const struct trace_start *start = recording_start(number);
        if (start->barrier_site == wanted.barrier_site && start->communicator == wanted.communicator &&
            start->operation == wanted.operation && start->kind == wanted.kind && start->size == wanted.size)
            return number;
    }
    return recording_add_start(&wanted);
}

/* The operation that is measured. */
static void take_operation(struct waiting_sample *waiting, const struct sampled_operation *operation, int64_t done) {
    waiting->armed = 0;
    waiting->measured = 1;
    waiting->done = done;
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
    return &waiting->done;
}

void samples_complete(struct comm *comm, const struct sampled_operation *operation, int64_t entry, int64_t exit) {
    struct waiting_sample *waiting = comm->waiting;
    if (waiting->armed && entry >= waiting->exit)
        take_operation(waiting, operation, exit);
}

/* Adds the sample that was measured to its class. */
static void add_sample(struct waiting_sample *waiting) {
    if (!waiting->measured)
        return;
    waiting->measured = 0;
    if (waiting->done == 0) /* it failed */
        return;
    uint32_t number = class_of(waiting);
    if (number == TRACE_NONE)
        return;
    struct trace_start *start = recording_start(number);
    if (start->skipped < settings.skip) {
        ++start->skipped;
        return;
    }
    double ns = (double)(waiting->done - waiting->exit) * recording_tick_ns();
    start->min_ns = start->samples == 0 || ns < start->min_ns ? ns : start->min_ns;
    start->max_ns = start->samples == 0 || ns > start->max_ns ? ns : start->max_ns;
    ++start->samples;
    start->sum_ns += ns;
    waiting->unresolved = number;
    waiting->unresolved_ns = ns;
}

void samples_settle(struct comm *comm) {
    struct waiting_sample *waiting = comm->waiting;
    if (waiting == NULL)
        return;
    resolve(waiting);
    add_sample(waiting);
}

/* The last verdicts will never be known. */
static void give_up(struct waiting_sample *waiting) {
    for (int i = 0; i < 2; ++i) {
        if (waiting->unresolved != TRACE_NONE)
            ++recording_start(waiting->unresolved)->unresolved;
        waiting->unresolved = TRACE_NONE;
        add_sample(waiting);
    }
}

void samples_forget(struct comm *comm) {
    struct waiting_sample **link = &first;
    if (comm->waiting == NULL)
        return;
    pthread_mutex_lock(&lock);
    while (*link != NULL && *link != comm->waiting)
        link = &(*link)->next;
    if (*link != NULL) { /* else MPI_Finalize has done it */
        *link = comm->waiting->next;
        give_up(comm->waiting);
    }
    pthread_mutex_unlock(&lock);
    free(comm->waiting);
    comm->waiting = NULL;
}

void samples_end(void) {
    pthread_mutex_lock(&lock);
    for (struct waiting_sample *each = first; each != NULL; each = each->next) {
        resolve(each);
        give_up(each);
    }
    first = NULL; /* each is freed with its communicator */
    pthread_mutex_unlock(&lock);
}
