/* Samples: times from a barrier with a common start to the end of the next operation. */
#ifndef DOWNBEAT_PRELOAD_SAMPLES_H
#define DOWNBEAT_PRELOAD_SAMPLES_H

#include "communicators.h"

/* A harmonized barrier, called at `address`, was left at `exit`, ticks. */
void samples_begin(struct comm *comm, const void *address, int64_t exit);

/* The operation after the barrier. */
struct sampled_operation {
    int64_t bytes;
    uint16_t operation;
    uint8_t kind;
};

/* On a communicator with samples (`comm->waiting`): a blocking operation begins. Returns the address for its exit time;
 * NULL if it is not part of a sample. */
int64_t *samples_enter(struct comm *comm, const struct sampled_operation *operation);

/* On a communicator with samples: a nonblocking operation was completed. */
void samples_complete(struct comm *comm, const struct sampled_operation *operation, int64_t entry, int64_t exit);

/* Called at the next barrier: resolves and adds the samples before it. */
void samples_settle(struct comm *comm);

/* The communicator is freed, and the program ends: pending verdicts stay unknown. */
void samples_forget(struct comm *comm);
void samples_end(void);

#endif
