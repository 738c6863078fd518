/* Clock domains: groups of processes that read the same clock. Only the leader of each domain synchronizes; the other
 * members use its clock map. clocks.c finds the domains when the clock changes. */
#ifndef DOWNBEAT_DOMAIN_H
#define DOWNBEAT_DOMAIN_H

#include "offset/offset.h"
#include "start/settings.h"

/* The processes with which a process shares a clock, and the leaders of all such groups. */
struct db_domain {
    struct db_channel members; /* this process's domain; rank 0 is its leader; a single member may have MPI_COMM_NULL */
    struct db_channel leaders; /* leaders of all domains, by rank; MPI_COMM_NULL on other processes */
    int owned; /* 1 if both communicators were created and must be freed; 0 if they are the channel of all processes,
                  MPI_COMM_SELF or MPI_COMM_NULL */
    int leader_rank; /* rank of this process among the leaders; not used on other processes */
    int count;       /* number of domains in the communicator */
    double bound_ns; /* bound of the difference between this process's readings and its leader's */
};

/* Finds the domains of the processes of `channel`: processes whose clocks have the same identity and an offset that
 * exchanges of timestamps do not distinguish from 0. Sets the domain of the offered clock. All processes must have
 * agreed to the offer (settings.h). With share=never, each process is a domain. Collective. */
int db_domain_find(struct db_domain *domain, const struct db_channel *channel, struct db_offer *offer);

/* Returns a hash of the clock's identity; 0 if the identity is unknown. */
int64_t db_domain_identity(const struct db_clock *clock);

/* Frees the communicators, also after db_domain_find has failed, or of a zeroed domain. */
void db_domain_free(struct db_domain *domain);

#endif
