/* Groups of processes that share memory (neighbors.h): they map a segment (base/segment.h) of their leader. */
#include "start/neighbors.h"

#include "base/error.h"
#include "base/patience.h"
#include "start/processors.h"

/* Number of lines in the segment of `size` processes. */
static size_t lines_of(int size) { return (size_t)size * (size_t)db_neighbors_lines(size); }

/* Size of the segment, bytes: the lines, then a word per process for its cache. */
static size_t size_of_memory(int size) {
    return lines_of(size) * sizeof(struct db_mailbox) + (size_t)size * sizeof(int64_t);
}

/* Sets the pointers into the segment, and stores this process's cache. */
static void lay_out(struct db_neighbors *neighbors, int index, int size) {
    struct db_mailbox *lines = neighbors->segment.memory;
    db_neighbors_lay_out(neighbors, lines, index, size);
    int64_t *caches = (int64_t *)(lines + lines_of(size));
    caches[index] = db_processors_cache();
    neighbors->caches = caches;
}

/* Creates a segment on the first process of `channel` and maps it on all. Sets `joined` to 1 if all processes have
 * mapped it; otherwise all unmap it. */
static int share(struct db_neighbors *neighbors, const struct db_channel *channel, int *joined) {
    struct db_ticket ticket = {0};
    int index;
    int size;
    DB_TRY(MPI_Comm_rank(channel->comm, &index));
    DB_TRY(MPI_Comm_size(channel->comm, &size));
    if (index == 0)
        db_segment_create(&neighbors->segment, size_of_memory(size), &ticket);
    const struct db_ticket created = ticket;
    int code = db_broadcast(channel, (int64_t *)&ticket, sizeof ticket / sizeof(int64_t));
    if (index != 0 && code == MPI_SUCCESS)
        db_segment_join(&neighbors->segment, size_of_memory(size), &ticket);
    *joined = neighbors->segment.memory != NULL;
    if (*joined)
        lay_out(neighbors, index, size);
    /* Also a barrier: every process has mapped the segment, or failed to, and stored its cache, before the leader
     * closes its descriptor. */
    int all_joined = *joined;
    if (code == MPI_SUCCESS)
        code = db_allreduce(channel->comm, &all_joined, 1, MPI_INT, MPI_MIN);
    if (index == 0)
        db_segment_close(&created);
    if (code != MPI_SUCCESS || !all_joined)
        db_segment_free(&neighbors->segment);
    *joined = all_joined;
    return code;
}

/* Shares memory within one of several nodes. `members` are the processes on this node according to MPI. */
static int join_node(struct db_neighbors *neighbors, const struct db_channel *channel,
                     const struct db_channel *members) {
    int rank;
    int size;
    int joined = 0;
    int index;
    MPI_Comm leaders = MPI_COMM_NULL;
    DB_TRY(MPI_Comm_rank(channel->comm, &rank));
    DB_TRY(MPI_Comm_size(members->comm, &size));
    DB_TRY(MPI_Comm_rank(members->comm, &index));
    if (size > 1)
        DB_TRY(share(neighbors, members, &joined));
    int leader = !joined || index == 0;
    neighbors->nodes = leader;
    DB_TRY(db_allreduce(channel->comm, &neighbors->nodes, 1, MPI_INT, MPI_SUM));
    DB_TRY(MPI_Comm_size(channel->comm, &size));
    if (neighbors->nodes == size || neighbors->nodes == 1)
        return MPI_SUCCESS;
    int failed = MPI_Comm_split(channel->comm, leader ? 0 : MPI_UNDEFINED, rank, &leaders) != MPI_SUCCESS;
    DB_TRY(db_allreduce(channel->comm, &failed, 1, MPI_INT, MPI_MAX));
    neighbors->leaders.comm = leaders;
    if (failed) /* the MPI library has run out of communicators */
        neighbors->nodes = size;
    return MPI_SUCCESS;
}

static int find(struct db_neighbors *neighbors, const struct db_channel *channel, int one_node) {
    int joined = 0;
    if (one_node)
        DB_TRY(share(neighbors, channel, &joined));
    if (joined)
        return MPI_SUCCESS;
    struct db_channel members = *channel;
    DB_TRY(MPI_Comm_split_type(channel->comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &members.comm));
    int code = join_node(neighbors, channel, &members);
    return db_loss_free(&members.comm, code);
}

int db_neighbors_find(struct db_neighbors *neighbors, const struct db_channel *channel, int one_node) {
    *neighbors = (struct db_neighbors){.size = 1, .nodes = 1, .leaders = *channel};
    neighbors->leaders.comm = MPI_COMM_NULL;
    int size;
    int code = MPI_Comm_size(channel->comm, &size);
    if (code == MPI_SUCCESS && size > 1)
        code = find(neighbors, channel, one_node);
    if (code != MPI_SUCCESS)
        db_neighbors_free(neighbors);
    return code;
}

void db_neighbors_free(struct db_neighbors *neighbors) {
    db_segment_free(&neighbors->segment);
    if (neighbors->leaders.comm != MPI_COMM_NULL)
        MPI_Comm_free(&neighbors->leaders.comm);
}
