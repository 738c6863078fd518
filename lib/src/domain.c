#include "domain.h"

#include "error.h"

#include <stddef.h>
#include <string.h>

/* FNV-1a (Fowler, Noll, Vo). Two identities with the same hash are then compared in full. */
static int hash(const char *identity) {
    uint32_t value = 2166136261U;
    for (; *identity != '\0'; ++identity)
        value = (value ^ (unsigned char)*identity) * 16777619U;
    return (int)(value & 0x7fffffffU);
}

/* A wider interval cannot show whether two clocks are the same: it is measured again, a limited number of times. No two
 * different clocks of one booted kernel are known that are closer together than this. */
#define NARROW_NS 50000.0
#define MAX_MEASUREMENTS 50

enum { MEASURE = 1, DONE = 0 };

/* Whether this process and process 0 of the candidates report the same identity. Collective. */
static int same_identity(const struct db_channel *candidates, const struct db_clock *clock, int *same) {
    char identity[DB_IDENTITY_SIZE];
    memcpy(identity, clock->identity, sizeof identity);
    DB_TRY(MPI_Bcast(identity, sizeof identity, MPI_CHAR, 0, candidates->comm));
    *same = strcmp(identity, clock->identity) == 0;
    return MPI_SUCCESS;
}

/* Process 0's part of the comparison: answers all others, one after another, as often as they ask. */
static int let_compare(const struct db_channel *candidates, int size, const struct db_timeline *timeline) {
    int64_t word = DONE;
    for (int peer = 1; peer < size; ++peer) {
        DB_TRY(db_receive(candidates, &word, 1, peer));
        while (word == MEASURE) {
            DB_TRY(db_exchange_serve(candidates, peer, timeline));
            DB_TRY(db_receive(candidates, &word, 1, peer));
        }
    }
    /* Until here, processes that were done have waited patiently: on shared processors they would disturb the
     * others. */
    for (int peer = 1; peer < size; ++peer)
        DB_TRY(db_send(candidates, &word, 1, peer));
    return MPI_SUCCESS;
}

/* Compares this process's clock with process 0's: shared if 0 lies in a narrow interval for the offset. */
static int compare(const struct db_asker *asker, int *shared) {
    const struct db_node skampi = {.component = &db_offset_skampi.component,
                                   .values = {{.number = 10}, {.number = 100}}};
    struct db_pair pair = {0};
    int64_t word = MEASURE;
    int refuted = 0;
    *shared = 0;
    for (int i = 0; i < MAX_MEASUREMENTS && !*shared && !refuted; ++i) {
        struct db_offset found;
        struct db_standing standing;
        DB_TRY(db_send(asker->channel, &word, 1, asker->peer));
        DB_TRY(db_exchange_begin(asker));
        DB_TRY(db_offset_measure(&skampi, asker, &pair, &found));
        DB_TRY(db_exchange_stop(asker, &standing));
        double error_ns = db_offset_bound(&found) + asker->timeline.clock->resolution_ns;
        refuted = fabs(found.offset_ns) > error_ns;
        *shared = !refuted && error_ns <= NARROW_NS;
    }
    word = DONE;
    DB_TRY(db_send(asker->channel, &word, 1, asker->peer));
    return db_receive(asker->channel, &word, 1, asker->peer);
}

/* Whether this process shares the clock of process 0 of the candidates: both report the same identity, and the
 * comparison confirms it. The same counter must be scaled the same way, by process 0's scale, or its large readings
 * would differ. */
static int verify(const struct db_channel *candidates, int rank, int size, const struct db_clock *clock, int *shared) {
    struct db_clock_map scale = {.ticks = db_clock_read(clock), .ns_per_tick = clock->ns_per_tick};
    DB_TRY(MPI_Bcast(&scale.ticks, 1, MPI_INT64_T, 0, candidates->comm));
    DB_TRY(MPI_Bcast(&scale.ns_per_tick, 1, MPI_DOUBLE, 0, candidates->comm));
    const struct db_timeline timeline = {.clock = clock, .map = &scale};
    const struct db_asker asker = {.channel = candidates, .peer = 0, .timeline = timeline};
    int same;
    DB_TRY(same_identity(candidates, clock, &same));
    if (rank == 0) {
        *shared = 1;
        return let_compare(candidates, size, &timeline);
    }
    DB_TRY(compare(&asker, shared));
    *shared = *shared && same;
    return MPI_SUCCESS;
}

/* The processes that are verified to share the clock of the candidates' process 0, if this one is among them; else
 * MPI_COMM_NULL. */
static int split_members(struct db_domain *domain, const struct db_channel *candidates, const struct db_clock *clock) {
    int rank;
    int size;
    DB_TRY(MPI_Comm_rank(candidates->comm, &rank));
    DB_TRY(MPI_Comm_size(candidates->comm, &size));
    if (size == 1)
        return MPI_SUCCESS;
    int shared;
    DB_TRY(verify(candidates, rank, size, clock, &shared));
    /* One clock of one kernel, and the exchange did not refute it: only the error of the reading remains. */
    if (shared && rank > 0)
        domain->bound_ns = clock->resolution_ns;
    return MPI_Comm_split(candidates->comm, shared ? 0 : MPI_UNDEFINED, rank, &domain->members.comm);
}

int db_domain_find(struct db_domain *domain, const struct db_channel *channel, const struct db_clock *clock,
                   int share) {
    *domain = (struct db_domain){.members = *channel, .leaders = *channel};
    domain->members.comm = MPI_COMM_NULL;
    domain->leaders.comm = MPI_COMM_NULL;
    int rank;
    DB_TRY(MPI_Comm_rank(channel->comm, &rank));

    struct db_channel candidates = *channel;
    int color = share && clock->identity[0] != '\0' ? hash(clock->identity) : MPI_UNDEFINED;
    DB_TRY(MPI_Comm_split(channel->comm, color, rank, &candidates.comm));
    if (candidates.comm != MPI_COMM_NULL) {
        int code = split_members(domain, &candidates, clock);
        MPI_Comm_free(&candidates.comm);
        DB_TRY(code);
    }

    int size;
    int member = 0;
    if (domain->members.comm != MPI_COMM_NULL)
        DB_TRY(MPI_Comm_rank(domain->members.comm, &member));
    int leader = member == 0;
    DB_TRY(MPI_Comm_size(channel->comm, &size));
    DB_TRY(MPI_Allreduce(&leader, &domain->count, 1, MPI_INT, MPI_SUM, channel->comm));
    domain->place = rank;
    if (domain->count == size) { /* a communicator of thousands takes time and memory to make */
        domain->leaders = *channel;
        return MPI_SUCCESS;
    }
    domain->owned = 1;
    DB_TRY(MPI_Comm_split(channel->comm, leader ? 0 : MPI_UNDEFINED, rank, &domain->leaders.comm));
    return leader ? MPI_Comm_rank(domain->leaders.comm, &domain->place) : MPI_SUCCESS;
}

void db_domain_free(struct db_domain *domain) {
    if (domain->members.comm != MPI_COMM_NULL)
        MPI_Comm_free(&domain->members.comm);
    if (domain->owned && domain->leaders.comm != MPI_COMM_NULL)
        MPI_Comm_free(&domain->leaders.comm);
}
