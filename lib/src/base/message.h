/* The library's messages on its private communicators, with a wait policy (patience.h).
 *
 * If every process has a processor, blocking calls are fastest. If processes share processors, a process that spins
 * inside MPI starves its peer (12 ms per collective in MPICH 4.0). So the wait policy is then to yield or to sleep.
 * Patience must be the same on all processes: MPI does not match a blocking collective with a nonblocking one. */
#ifndef DOWNBEAT_MESSAGE_H
#define DOWNBEAT_MESSAGE_H

#include "base/patience.h"

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

/* A communicator of the library, and how its calls wait. */
struct db_channel {
    MPI_Comm comm;                    /* private to the library */
    const enum db_patience *patience; /* shared by all channels of a communicator; NULL: DB_BLOCK */
    long long *messages;              /* incremented by db_send and db_receive; NULL: not counted */
    const struct db_watched *watched; /* communicators to check during waits, if failures are survivable; no call blocks
                                         then. NULL: failures end the program */
};

/* How a process waits for messages of the channel. */
static inline enum db_patience db_patience_of(const struct db_channel *channel) {
    return channel->patience != NULL ? *channel->patience : DB_BLOCK;
}

/* Sends or receives `count` words. Returns when `words` may be reused, or have arrived. */
int db_send(const struct db_channel *channel, const int64_t *words, int count, int destination);
int db_receive(const struct db_channel *channel, int64_t *words, int count, int source);

/* Begins to send; does not wait. The caller must not change `words` before db_complete(request). */
int db_start_send(const struct db_channel *channel, const int64_t *words, int count, int destination,
                  MPI_Request *request);

/* Computes the elementwise maximum over all processes. Only process 0 gets `result`. */
int db_reduce_max(const struct db_channel *channel, const int64_t *words, int64_t *result, int count);

/* Replaces `words` on all processes by the elementwise maximum over all processes. */
int db_allreduce_max(const struct db_channel *channel, int64_t *words, int count);

/* Broadcasts process 0's words. */
int db_broadcast(const struct db_channel *channel, int64_t *words, int count);

/* Sends `count` of process 0's `words` to each rank, in the order of ranks, as its `chunk`. `words` is used on process
 * 0 only. */
int db_scatter(const struct db_channel *channel, const int64_t *words, int64_t *chunk, int count);

/* Waits for the end of db_start_send; `request` may be MPI_REQUEST_NULL. */
int db_complete(const struct db_channel *channel, MPI_Request *request);

#endif
