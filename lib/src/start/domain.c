/* Search for clock domains (domain.h): processes with the same clock identity compare their clocks with that of the
 * first of them. */
#define _POSIX_C_SOURCE 200809L
#include "start/domain.h"

#include "base/error.h"
#include "fnv1a.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Largest error of an offset that can prove that two clocks are the same. Chosen by hand: different clocks of one
 * booted kernel differ by more. With half the value, more exchanges are needed under load; twice the value is not
 * measured. */
#define NARROW_NS 50000.0
/* Number of fast exchanges that suffices, and the maximum number of all exchanges. Chosen by hand: ten fast exchanges
 * narrow the interval and take some 10 us together. With half or twice the value, preparing a communicator takes half
 * or twice that time. */
#define FAST_EXCHANGES 10
#define MAX_EXCHANGES 1000

/* Identity and scale of process 0's clock. All processes must convert the same counter with the same scale; otherwise
 * the converted times would differ, because the readings are large. */
struct claim {
    char identity[DB_IDENTITY_SIZE];
    int64_t domain;     /* number of the domain */
    int64_t ticks;      /* reading at time 0 of the scale */
    double ns_per_tick; /* rate of the scale */
};

/* Process 0 serves the other candidates, one after another. */
static int serve_candidates(const struct db_channel *candidates, int size, const struct db_timeline *timeline) {
    for (int peer = 1; peer < size; ++peer)
        DB_TRY(db_exchange_serve(candidates, peer, timeline));
    return MPI_SUCCESS;
}

/* Measures the offset to process 0's clock. Sets `shared` to 1 if a narrow interval of the offset contains 0. Stops
 * when 0 is outside the interval. If the interval is narrow, stops after FAST_EXCHANGES, or after a slow exchange,
 * since one of the two processes has lost its processor. */
static int compare_clocks(const struct db_asker *asker, int *shared) {
    struct db_series series = {0};
    int fast = 0; /* number of fast exchanges */
    int unfinished = 1;
    struct db_timeline_error error; /* not used: db_exchange_stop needs it */
    *shared = 0;
    DB_TRY(db_exchange_begin(asker));
    while (unfinished) {
        struct db_exchange exchange;
        DB_TRY(db_series_ask(&series, asker, &exchange));
        double error_ns = (double)(series.upper - series.lower) / 2.0 + asker->timeline.clock->resolution_ns;
        double offset_ns = (double)series.lower + (double)(series.upper - series.lower) / 2.0;
        int slow = (double)db_round_trip(&exchange) > 2.0 * NARROW_NS;
        fast += !slow;
        *shared = fabs(offset_ns) <= error_ns && error_ns <= NARROW_NS;
        unfinished = fabs(offset_ns) <= error_ns && series.count < MAX_EXCHANGES &&
                     !(*shared && (slow || fast >= FAST_EXCHANGES));
    }
    return db_exchange_stop(asker, &error);
}

/* Returns a unique number for a new domain. */
static int64_t new_domain(const struct db_clock *clock) {
    char process[64];
    snprintf(process, sizeof process, "%ld %lld", (long)getpid(), (long long)db_clock_read(clock));
    return (int64_t)fnv1a_text(fnv1a_text(FNV1A_START, clock->identity), process);
}

/* Sets `shared` to 1 if this process shares the clock of process 0 of the candidates: the identities are equal and the
 * measured offset does not refute it. */
static int verify(const struct db_channel *candidates, int rank, int size, struct db_clock *clock, int *shared) {
    struct claim claim = {.domain = clock->domain, .ticks = db_clock_read(clock), .ns_per_tick = clock->ns_per_tick};
    memcpy(claim.identity, clock->identity, sizeof claim.identity);
    if (claim.domain == 0)
        claim.domain = new_domain(clock);
    DB_TRY(db_broadcast(candidates, (int64_t *)&claim, sizeof claim / sizeof(int64_t)));
    const struct db_clock_map scale = {.ticks = claim.ticks, .ns_per_tick = claim.ns_per_tick};
    const struct db_timeline timeline = {.clock = clock, .map = &scale};
    const struct db_asker asker = {.channel = candidates, .peer = 0, .timeline = timeline};
    *shared = 1;
    DB_TRY(rank == 0 ? serve_candidates(candidates, size, &timeline) : compare_clocks(&asker, shared));
    *shared = *shared && strcmp(claim.identity, clock->identity) == 0;
    if (*shared)
        clock->domain = claim.domain;
    return MPI_SUCCESS;
}

/* Returns 1 if a number is known and the same on all processes. */
static int is_common(const struct db_alike *maxima) { return db_are_alike(maxima) && maxima->value != 0; }

/* Makes one domain of all processes. */
static void join_all(struct db_domain *domain, const struct db_channel *channel, const struct db_clock *clock,
                     int rank) {
    domain->members = *channel;
    domain->leaders.comm = rank == 0 ? MPI_COMM_SELF : MPI_COMM_NULL;
    domain->count = 1;
    domain->leader_rank = rank;
    domain->bound_ns = rank == 0 ? 0.0 : clock->resolution_ns;
}

/* Creates the communicators if there are several domains and at least one of them has several members. `shared`: 1 if
 * this process shares the clock of process 0 of the candidates, which always does so itself. `leader`: 1 if this
 * process leads a domain. */
static int divide_candidates(struct db_domain *domain, const struct db_channel *channel,
                             const struct db_channel *candidates, int shared, int leader, int rank) {
    domain->owned = 1;
    domain->leaders.comm = MPI_COMM_NULL;
    if (candidates->comm != MPI_COMM_NULL)
        DB_TRY(MPI_Comm_split(candidates->comm, shared ? 0 : MPI_UNDEFINED, rank, &domain->members.comm));
    DB_TRY(MPI_Comm_split(channel->comm, leader ? 0 : MPI_UNDEFINED, rank, &domain->leaders.comm));
    return leader ? MPI_Comm_rank(domain->leaders.comm, &domain->leader_rank) : MPI_SUCCESS;
}

/* Finds the domains. `candidates` are processes whose clocks have this process's identity. Candidates that share the
 * clock of their process 0 are a domain; every other candidate is a domain of its own. */
static int find_among(struct db_domain *domain, const struct db_channel *channel, const struct db_channel *candidates,
                      struct db_clock *clock, int rank, int size) {
    int shared = 0;
    int leader = 1;
    int index;
    int count;
    if (candidates->comm != MPI_COMM_NULL) {
        DB_TRY(MPI_Comm_rank(candidates->comm, &index));
        DB_TRY(MPI_Comm_size(candidates->comm, &count));
        if (count > 1)
            DB_TRY(verify(candidates, index, count, clock, &shared));
        leader = !shared || index == 0;
    }
    domain->count = leader;
    DB_TRY(db_allreduce(channel->comm, &domain->count, 1, MPI_INT, MPI_SUM));
    if (domain->count ==
        size) /* every process is a domain and needs no communicator of its own, which would take time and memory */
        return MPI_SUCCESS;
    /* Readings of a member and its leader differ only by the resolution, since they read the same clock. */
    if (!leader)
        domain->bound_ns = clock->resolution_ns;
    if (domain->count > 1)
        return divide_candidates(domain, channel, candidates, shared, leader, rank);
    join_all(domain, channel, clock, rank);
    return MPI_SUCCESS;
}

int64_t db_domain_identity(const struct db_clock *clock) {
    return clock->identity[0] != '\0' ? (int64_t)fnv1a_text(FNV1A_START, clock->identity) : 0;
}

int db_domain_find(struct db_domain *domain, const struct db_channel *channel, struct db_offer *offer) {
    struct db_clock *clock = &offer->clock;
    int size;
    *domain = (struct db_domain){.members = *channel, .leaders = *channel};
    domain->members.comm = MPI_COMM_NULL;
    DB_TRY(MPI_Comm_rank(channel->comm, &domain->leader_rank));
    DB_TRY(MPI_Comm_size(channel->comm, &size));
    domain->count = size;
    if (!offer->settings.share || size == 1)
        return MPI_SUCCESS;

    int rank = domain->leader_rank;
    if (is_common(&offer->domain)) {
        join_all(domain, channel, clock, rank);
        return MPI_SUCCESS;
    }
    if (is_common(&offer->identity))
        return find_among(domain, channel, channel, clock, rank, size);

    const int64_t identity = db_domain_identity(clock);
    struct db_channel candidates = *channel;
    DB_TRY(MPI_Comm_split(channel->comm, identity != 0 ? (int)(identity & 0x7fffffff) : MPI_UNDEFINED, rank,
                          &candidates.comm));
    /* These are candidates only: different identities may agree in the 31 bits. So `verify` compares the identities. */
    int code = find_among(domain, channel, &candidates, clock, rank, size);
    return candidates.comm != MPI_COMM_NULL ? db_loss_free(&candidates.comm, code) : code;
}

void db_domain_free(struct db_domain *domain) {
    if (!domain->owned)
        return;
    if (domain->members.comm != MPI_COMM_NULL)
        MPI_Comm_free(&domain->members.comm);
    if (domain->leaders.comm != MPI_COMM_NULL)
        MPI_Comm_free(&domain->leaders.comm);
}
