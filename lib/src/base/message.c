#include "base/message.h"

#include "base/error.h"

#include <stddef.h>

#define TAG 0 /* the communicator is private, so one tag will do */

/* Where a process may be lost, whoever sees an error tells the others, which may wait for it. MPI has many names for a
 * loss inside a collective operation. */
static int shared(const struct db_channel *channel, int code) {
    if (code == MPI_SUCCESS || channel->watched == NULL)
        return code;
    db_loss_revoke(channel->watched->own);
    return db_loss_watch(channel->watched);
}

static int complete(const struct db_channel *channel, int code, MPI_Request *request) {
    if (code == MPI_SUCCESS)
        code = db_await(request, db_patience_of(channel), channel->comm, channel->watched);
    return shared(channel, code);
}

/* Returns from the caller: a blocking call, or a nonblocking one that is waited for with more patience. */
#define RETURN_CALL(BLOCKING, NONBLOCKING, CHANNEL, ...)                                                               \
    do {                                                                                                               \
        MPI_Request request;                                                                                           \
        if (db_patience_of(CHANNEL) == DB_BLOCK && (CHANNEL)->watched == NULL)                                         \
            return BLOCKING(__VA_ARGS__);                                                                              \
        int code = NONBLOCKING(__VA_ARGS__, &request);                                                                 \
        return complete(CHANNEL, code, &request);                                                                      \
    } while (0)
#define RECEIVE(...) MPI_Recv(__VA_ARGS__, MPI_STATUS_IGNORE)

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
    return shared(channel, MPI_Isend(words, count, MPI_INT64_T, destination, TAG, channel->comm, request));
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

int db_scatter(const struct db_channel *channel, const int64_t *words, int64_t *mine, int count) {
    RETURN_CALL(MPI_Scatter, MPI_Iscatter, channel, words, count, MPI_INT64_T, mine, count, MPI_INT64_T, 0,
                channel->comm);
}

int db_complete(const struct db_channel *channel, MPI_Request *request) {
    return complete(channel, MPI_SUCCESS, request);
}
