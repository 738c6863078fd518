/* Samples: times from the exit of a harmonized barrier to the end of the next operation on its communicator. Not to be
 * confused with the sample of calls that have records (thinning.h). */
#ifndef DOWNBEAT_PRELOAD_SAMPLES_H
#define DOWNBEAT_PRELOAD_SAMPLES_H

#include "communicators.h"

/* A harmonized barrier, called at `address`, was left at `exit`, ticks. */
void samples_begin(struct comm *comm, const void *address, int64_t exit);

/* The operation after the barrier. */
struct sampled_operation {
    int64_t bytes;      /* -1: unknown */
    uint16_t operation; /* OPERATION_... (collectives.h) */
    uint8_t kind;       /* KIND_... (trace_file.h) */
};

/* Call it when a blocking operation begins on a communicator with samples (`comm->waiting`). Returns the address where
 * the caller must store its exit time; NULL if it is not part of a sample. */
int64_t *samples_enter(struct comm *comm, const struct sampled_operation *operation);

/* Call it when a nonblocking operation was completed on a communicator with samples. */
void samples_complete(struct comm *comm, const struct sampled_operation *operation, int64_t entry, int64_t exit);

/* Call it at the next barrier. Adds the sample that has ended before it, and resolves the sample before that one: its
 * start is now known to be valid or not. */
void samples_resolve(struct comm *comm);

/* samples_forget ends the samples of a communicator that is freed, samples_end all samples at the end of the program.
 * Pending verdicts stay unknown. */
void samples_forget(struct comm *comm);
void samples_end(void);

#endif
