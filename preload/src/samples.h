/* Samples: times from a barrier with a common start to the end of the next operation. */
#ifndef DOWNBEAT_PRELOAD_SAMPLES_H
#define DOWNBEAT_PRELOAD_SAMPLES_H

#include "communicators.h"

/* A barrier with a common start, called at a site, was left at `exit`, ticks. */
void samples_begin(struct comm *comm, const void *address, int64_t exit);

/* The operation that follows it. */
struct sampled_operation {
    int64_t bytes;
    uint16_t operation;
    uint8_t kind;
};

/* On a communicator that has samples (`comm->waiting`): a blocking operation begins. Returns where its exit goes; NULL:
 * it is no sample's. */
int64_t *samples_enter(struct comm *comm, const struct sampled_operation *operation);

/* Likewise: the completion of a nonblocking operation was seen. */
void samples_complete(struct comm *comm, const struct sampled_operation *operation, int64_t entry, int64_t exit);

/* The next barrier comes: adds up what is known now. */
void samples_settle(struct comm *comm);

/* The communicator is freed; the program ends. No more verdicts will be known. */
void samples_forget(struct comm *comm);
void samples_end(void);

#endif
