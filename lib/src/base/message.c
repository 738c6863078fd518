/* Messages and collective operations on private communicators (message.h). Each function makes the blocking MPI call,
 * or the nonblocking one and waits for it with patience. */
#include "base/message.h"

#include "base/error.h"

#include <stddef.h>

#define TAG 0 /* one tag suffices: the communicator is private */

/* If failures are survivable and a call has failed, revokes the duplicate, since other processes may be waiting for
 * this one. Returns the code of db_loss_watch, because MPI reports a failure inside a collective operation by many
 * error classes. */
static int propagate(const struct db_channel *channel, int code) {
    if (code == MPI_SUCCESS || channel->watched == NULL)
        return code;
    db_loss_revoke(channel->watched->duplicate);
    return db_loss_watch(channel->watched);
}

/* Waits for a request, unless `code`, of the call that began it, is an error. */
static int complete(const struct db_channel *channel, int code, MPI_Request *request) {
    if (code == MPI_SUCCESS)
        code = db_await(request, db_patience_of(channel), channel->comm, channel->watched);
    return propagate(channel, code);
}

/* Makes an MPI call and returns its code from the calling function: the blocking call with DB_BLOCK, else the
 * nonblocking call, completed with patience. */
#define RETURN_CALL(BLOCKING, NONBLOCKING, CHANNEL, ...)                                                               \
    do {                                                                                                               \
        MPI_Request request;                                                                                           \
        if (db_patience_of(CHANNEL) == DB_BLOCK && (CHANNEL)->watched == NULL)                                         \
            return BLOCKING(__VA_ARGS__);                                                                              \
        int code = NONBLOCKING(__VA_ARGS__, &request);                                                                 \
        return complete(CHANNEL, code, &request);                                                                      \
    } while (0)
#define RECEIVE(...) MPI_Recv(__VA_ARGS__, MPI_STATUS_IGNORE)

/* Counts a message, if the channel has a counter. */
static void count_message(const struct db_channel *channel) {
    if (channel->messages != NULL)
        ++*channel->messages;
}

int db_send(const struct db_channel *channel, const int64_t *words, int count, int destination) {
    count_message(channel);
    RETURN_CALL(MPI_Send, MPI_Isend, channel, words, count, MPI_INT64_T, destination, TAG, channel->comm);
}

int db_start_send(const struct db_channel *channel, const int64_t *words, int count, int destination,
                  MPI_Request *request) {
    count_message(channel);
    return propagate(channel, MPI_Isend(words, count, MPI_INT64_T, destination, TAG, channel->comm, request));
}

int db_receive(const struct db_channel *channel, int64_t *words, int count, int source) {
    count_message(channel);
    RETURN_CALL(RECEIVE, MPI_Irecv, channel, words, count, MPI_INT64_T, source, TAG, channel->comm);
}

int db_reduce_max(const struct db_channel *channel, const int64_t *words, int64_t *result, int count) {
    RETURN_CALL(MPI_Reduce, MPI_Ireduce, channel, words, result, count, MPI_INT64_T, MPI_MAX, 0, channel->comm);
}

int db_allreduce_max(const struct db_channel *channel, int64_t *words, int count) {
    RETURN_CALL(MPI_Allreduce, MPI_Iallreduce, channel, MPI_IN_PLACE, words, count, MPI_INT64_T, MPI_MAX,
                channel->comm);
}

int db_broadcast(const struct db_channel *channel, int64_t *words, int count) {
    RETURN_CALL(MPI_Bcast, MPI_Ibcast, channel, words, count, MPI_INT64_T, 0, channel->comm);
}

int db_scatter(const struct db_channel *channel, const int64_t *words, int64_t *chunk, int count) {
    RETURN_CALL(MPI_Scatter, MPI_Iscatter, channel, words, count, MPI_INT64_T, chunk, count, MPI_INT64_T, 0,
                channel->comm);
}

int db_complete(const struct db_channel *channel, MPI_Request *request) {
    return complete(channel, MPI_SUCCESS, request);
}
