#define _POSIX_C_SOURCE 200809L
#include "message.h"

#include "error.h"

#include <sched.h>
#include <stddef.h>
#include <time.h>

#define TAG 0 /* the communicator is private, so one tag will do */

/* After this many unsuccessful tests, the wait is a long one: for a turn in a synchronization, or for the next fit
 * point. A process that only yields then slows down the pair whose turn it is, and its round trips; so it naps, longer
 * and longer. */
#define LOOKS_BEFORE_NAPS 500
#define SHORTEST_NAP_NS 50000
#define LONGEST_NAP_NS 800000

static int complete(MPI_Request *request) {
    long nap_ns = SHORTEST_NAP_NS;
    for (int looks = 0;; ++looks) {
        int done;
        DB_TRY(MPI_Test(request, &done, MPI_STATUS_IGNORE));
        if (done)
            return MPI_SUCCESS;
        if (looks < LOOKS_BEFORE_NAPS) {
            sched_yield();
            continue;
        }
        nanosleep(&(struct timespec){.tv_nsec = nap_ns}, NULL);
        nap_ns = 2 * nap_ns < LONGEST_NAP_NS ? 2 * nap_ns : LONGEST_NAP_NS;
    }
}

static void count_message(const struct db_channel *channel) {
    if (channel->messages != NULL)
        ++*channel->messages;
}

int db_send(const struct db_channel *channel, const int64_t *words, int count, int destination) {
    count_message(channel);
    if (!channel->patient)
        return MPI_Send(words, count, MPI_INT64_T, destination, TAG, channel->comm);
    MPI_Request request;
    DB_TRY(MPI_Isend(words, count, MPI_INT64_T, destination, TAG, channel->comm, &request));
    return complete(&request);
}

int db_receive(const struct db_channel *channel, int64_t *words, int count, int source) {
    count_message(channel);
    if (!channel->patient)
        return MPI_Recv(words, count, MPI_INT64_T, source, TAG, channel->comm, MPI_STATUS_IGNORE);
    MPI_Request request;
    DB_TRY(MPI_Irecv(words, count, MPI_INT64_T, source, TAG, channel->comm, &request));
    return complete(&request);
}

int db_reduce_max(const struct db_channel *channel, const int64_t *words, int64_t *result, int count) {
    if (!channel->patient)
        return MPI_Reduce(words, result, count, MPI_INT64_T, MPI_MAX, 0, channel->comm);
    MPI_Request request;
    DB_TRY(MPI_Ireduce(words, result, count, MPI_INT64_T, MPI_MAX, 0, channel->comm, &request));
    return complete(&request);
}

int db_broadcast(const struct db_channel *channel, int64_t *words, int count) {
    if (!channel->patient)
        return MPI_Bcast(words, count, MPI_INT64_T, 0, channel->comm);
    MPI_Request request;
    DB_TRY(MPI_Ibcast(words, count, MPI_INT64_T, 0, channel->comm, &request));
    return complete(&request);
}

int db_scatter(const struct db_channel *channel, const int64_t *words, int64_t *mine, int count) {
    if (!channel->patient)
        return MPI_Scatter(words, count, MPI_INT64_T, mine, count, MPI_INT64_T, 0, channel->comm);
    MPI_Request request;
    DB_TRY(MPI_Iscatter(words, count, MPI_INT64_T, mine, count, MPI_INT64_T, 0, channel->comm, &request));
    return complete(&request);
}

int db_start_gather(const struct db_channel *channel, const int64_t *words, int64_t *all, int count,
                    MPI_Request *request) {
    return MPI_Igather(words, count, MPI_INT64_T, all, count, MPI_INT64_T, 0, channel->comm, request);
}

int db_complete(const struct db_channel *channel, MPI_Request *request) {
    return channel->patient ? complete(request) : MPI_Wait(request, MPI_STATUS_IGNORE);
}
