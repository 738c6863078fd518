/* The library's messages on its private communicators, with a wait policy (patience.h).
 *
 * If every process has a processor, blocking calls are fastest. If processes share processors, a process that spins
 * inside MPI starves its peer (12 ms per collective in MPICH 4.0). Patience must be the same on all processes: MPI does
 * not match a blocking collective with a nonblocking one. */
#ifndef DOWNBEAT_MESSAGE_H
#define DOWNBEAT_MESSAGE_H

#include "base/patience.h"

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

struct db_channel {
    MPI_Comm comm;
    const enum db_patience *patience; /* shared by all channels of a communicator; NULL: DB_BLOCK */
    long long *messages;              /* incremented by db_send and db_receive; NULL: not counted */
    const struct db_watched *watched; /* NULL: failures end the program; else no call blocks */
};

static inline enum db_patience db_patience_of(const struct db_channel *channel) {
    return channel->patience != NULL ? *channel->patience : DB_BLOCK;
}

int db_send(const struct db_channel *channel, const int64_t *words, int count, int destination);
int db_receive(const struct db_channel *channel, int64_t *words, int count, int source);

/* Sends without waiting for the receiver; do not change `words` before db_complete. */
int db_start_send(const struct db_channel *channel, const int64_t *words, int count, int destination,
                  MPI_Request *request);

/* Elementwise maximum over all processes, at process 0. `result` is significant there only. */
int db_reduce_max(const struct db_channel *channel, const int64_t *words, int64_t *result, int count);

/* Elementwise maximum over all processes, everywhere, in place. */
int db_allreduce_max(const struct db_channel *channel, int64_t *words, int count);

/* Broadcasts process 0's words. */
int db_broadcast(const struct db_channel *channel, int64_t *words, int count);

/* Scatters process 0's `words`, `count` to each rank in order. `words` is significant there only. */
int db_scatter(const struct db_channel *channel, const int64_t *words, int64_t *chunk, int count);

/* Completes a send; `request` may be MPI_REQUEST_NULL. */
int db_complete(const struct db_channel *channel, MPI_Request *request);

#endif
