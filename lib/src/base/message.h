/* The library's own messages on a communicator, with more or less patience.
 *
 * If every process has a processor, blocking calls are fastest. If processes share processors, one that spins inside
 * MPI starves the one it waits for (12 ms per collective in MPICH 4.0). Patience must be the same on all processes: MPI
 * does not match a blocking collective with a nonblocking one. */
#ifndef DOWNBEAT_MESSAGE_H
#define DOWNBEAT_MESSAGE_H

#include "base/patience.h"

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

struct db_channel {
    MPI_Comm comm;
    const enum db_patience *patience; /* that of all channels of a state; NULL: DB_BLOCK */
    long long *messages;              /* counts what db_send and db_receive send and receive; NULL: not counted */
    const struct db_watched *watched; /* NULL: no process can be lost; else nothing blocks */
};

static inline enum db_patience db_patience_of(const struct db_channel *channel) {
    return channel->patience != NULL ? *channel->patience : DB_BLOCK;
}

int db_send(const struct db_channel *channel, const int64_t *words, int count, int destination);
int db_receive(const struct db_channel *channel, int64_t *words, int count, int source);

/* Sends without waiting for the receiver; `words` stay as they are until db_complete. */
int db_start_send(const struct db_channel *channel, const int64_t *words, int count, int destination,
                  MPI_Request *request);

/* Elementwise maximum of all processes' words, at process 0. `result` is used there only. */
int db_reduce_max(const struct db_channel *channel, const int64_t *words, int64_t *result, int count);

/* The same, everywhere, in place of the words. */
int db_allreduce_max(const struct db_channel *channel, int64_t *words, int count);

/* Process 0's words, everywhere. */
int db_broadcast(const struct db_channel *channel, int64_t *words, int count);

/* To each process its `count` words of process 0's, which come in the order of the ranks. `words` is used there only.
 */
int db_scatter(const struct db_channel *channel, const int64_t *words, int64_t *mine, int count);

/* Completes a send; `request` may be MPI_REQUEST_NULL. */
int db_complete(const struct db_channel *channel, MPI_Request *request);

#endif
