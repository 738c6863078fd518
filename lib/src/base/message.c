#include "base/message.h"

#include "base/error.h"

#include <stddef.h>

#define TAG 0 /* the communicator is private, so one tag will do */

static void count_message(const struct db_channel *channel) {
    if (channel->messages != NULL)
        ++*channel->messages;
}

int db_send(const struct db_channel *channel, const int64_t *words, int count, int destination) {
    count_message(channel);
    if (db_patience_of(channel) == DB_BLOCK)
        return MPI_Send(words, count, MPI_INT64_T, destination, TAG, channel->comm);
    MPI_Request request;
    DB_TRY(MPI_Isend(words, count, MPI_INT64_T, destination, TAG, channel->comm, &request));
    return db_await(&request, db_patience_of(channel));
}

int db_receive(const struct db_channel *channel, int64_t *words, int count, int source) {
    count_message(channel);
    if (db_patience_of(channel) == DB_BLOCK)
        return MPI_Recv(words, count, MPI_INT64_T, source, TAG, channel->comm, MPI_STATUS_IGNORE);
    MPI_Request request;
    DB_TRY(MPI_Irecv(words, count, MPI_INT64_T, source, TAG, channel->comm, &request));
    return db_await(&request, db_patience_of(channel));
}

int db_reduce_max(const struct db_channel *channel, const int64_t *words, int64_t *result, int count) {
    if (db_patience_of(channel) == DB_BLOCK)
        return MPI_Reduce(words, result, count, MPI_INT64_T, MPI_MAX, 0, channel->comm);
    MPI_Request request;
    DB_TRY(MPI_Ireduce(words, result, count, MPI_INT64_T, MPI_MAX, 0, channel->comm, &request));
    return db_await(&request, db_patience_of(channel));
}

int db_broadcast(const struct db_channel *channel, int64_t *words, int count) {
    if (db_patience_of(channel) == DB_BLOCK)
        return MPI_Bcast(words, count, MPI_INT64_T, 0, channel->comm);
    MPI_Request request;
    DB_TRY(MPI_Ibcast(words, count, MPI_INT64_T, 0, channel->comm, &request));
    return db_await(&request, db_patience_of(channel));
}

int db_scatter(const struct db_channel *channel, const int64_t *words, int64_t *mine, int count) {
    if (db_patience_of(channel) == DB_BLOCK)
        return MPI_Scatter(words, count, MPI_INT64_T, mine, count, MPI_INT64_T, 0, channel->comm);
    MPI_Request request;
    DB_TRY(MPI_Iscatter(words, count, MPI_INT64_T, mine, count, MPI_INT64_T, 0, channel->comm, &request));
    return db_await(&request, db_patience_of(channel));
}

int db_start_gather(const struct db_channel *channel, const int64_t *words, int64_t *all, int count,
                    MPI_Request *request) {
    return MPI_Igather(words, count, MPI_INT64_T, all, count, MPI_INT64_T, 0, channel->comm, request);
}

int db_complete(const struct db_channel *channel, MPI_Request *request) {
    return db_await(request, db_patience_of(channel));
}
