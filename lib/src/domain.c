#include "domain.h"

#include "error.h"

#include <stddef.h>
#include <string.h>

/* FNV-1a (Fowler, Noll, Vo). Two identities with the same hash are told apart by comparing them in full. */
static int hash(const char *identity) {
    uint32_t value = 2166136261U;
    for (; *identity != '\0'; ++identity)
        value = (value ^ (unsigned char)*identity) * 16777619U;
    return (int)(value & 0x7fffffffU);
}

/* Compares this process's clock with that of process 0 of the candidates, tick by tick: shared if 0 lies in the
 * interval that is left for the offset. The bound is what the interval allows for. */
static int verify(const struct db_channel *candidates, int rank, int size, const struct db_clock *clock,
                  const struct db_offset_type *offset, int *shared) {
    const struct db_clock_map ticks = {.ns_per_tick = 1.0};
    const struct db_timeline timeline = {.clock = clock, .map = &ticks};

    char identity[DB_IDENTITY_SIZE] = "";
    memcpy(identity, clock->identity, sizeof identity);
    DB_TRY(MPI_Bcast(identity, sizeof identity, MPI_CHAR, 0, candidates->comm));
    *shared = strcmp(identity, clock->identity) == 0;

    if (rank == 0) {
        for (int peer = 1; peer < size; ++peer)
            DB_TRY(db_exchange_serve(candidates, peer, &timeline));
        return MPI_SUCCESS;
    }
    const struct db_asker asker = {.channel = candidates, .peer = 0, .timeline = timeline};
    struct db_pair pair = {0};
    struct db_offset found;
    DB_TRY(offset->measure(&asker, &pair, &found));
    *shared = *shared &&
              fabs(found.offset_ns) * clock->ns_per_tick <= found.bound_ns * clock->ns_per_tick + clock->resolution_ns;
    return MPI_SUCCESS;
}

/* The processes that verifiably share process 0's clock of the candidates, this one among them; or MPI_COMM_NULL. */
static int split_members(struct db_domain *domain, const struct db_channel *candidates, const struct db_clock *clock,
                         const struct db_offset_type *offset) {
    int rank;
    int size;
    DB_TRY(MPI_Comm_rank(candidates->comm, &rank));
    DB_TRY(MPI_Comm_size(candidates->comm, &size));
    if (size == 1)
        return MPI_SUCCESS;
    int shared;
    DB_TRY(verify(candidates, rank, size, clock, offset, &shared));
    /* One clock of one kernel, and the exchange has not refuted it: what is left is the reading. */
    if (shared && rank > 0)
        domain->bound_ns = clock->resolution_ns;
    return MPI_Comm_split(candidates->comm, shared ? 0 : MPI_UNDEFINED, rank, &domain->members.comm);
}

int db_domain_find(struct db_domain *domain, const struct db_channel *channel, const struct db_clock *clock,
                   const struct db_offset_type *offset) {
    *domain = (struct db_domain){.members = {.comm = MPI_COMM_NULL, .patient = channel->patient},
                                 .leaders = {.comm = MPI_COMM_NULL, .patient = channel->patient}};
    int rank;
    DB_TRY(MPI_Comm_rank(channel->comm, &rank));

    struct db_channel candidates = {.patient = channel->patient};
    int color = clock->identity[0] != '\0' ? hash(clock->identity) : MPI_UNDEFINED;
    DB_TRY(MPI_Comm_split(channel->comm, color, rank, &candidates.comm));
    if (candidates.comm != MPI_COMM_NULL) {
        int code = split_members(domain, &candidates, clock, offset);
        MPI_Comm_free(&candidates.comm);
        DB_TRY(code);
    }

    int place = 0;
    if (domain->members.comm != MPI_COMM_NULL)
        DB_TRY(MPI_Comm_rank(domain->members.comm, &place));
    DB_TRY(MPI_Comm_split(channel->comm, place == 0 ? 0 : MPI_UNDEFINED, rank, &domain->leaders.comm));
    int leader = place == 0;
    return MPI_Allreduce(&leader, &domain->count, 1, MPI_INT, MPI_SUM, channel->comm);
}

void db_domain_free(struct db_domain *domain) {
    if (domain->members.comm != MPI_COMM_NULL)
        MPI_Comm_free(&domain->members.comm);
    if (domain->leaders.comm != MPI_COMM_NULL)
        MPI_Comm_free(&domain->leaders.comm);
}
