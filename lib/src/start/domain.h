/* Clock domains: groups of processes that read the same clock. One of each domain, its representative, synchronizes;
 * the others take over its map. */
#ifndef DOWNBEAT_DOMAIN_H
#define DOWNBEAT_DOMAIN_H

#include "offset/offset.h"
#include "start/settings.h"

struct db_domain {
    struct db_channel members; /* of this process's domain, the representative is 0; MPI_COMM_NULL if it is alone */
    struct db_channel leaders; /* of all representatives, in the order of their ranks; MPI_COMM_NULL on others */
    int owned;                 /* 1 if both are communicators of their own; 0: each is the channel of all or trivial */
    int place;                 /* of this process among the representatives, if it is one */
    int count;                 /* of domains in the communicator */
    double bound_ns;           /* of the difference between this process's reading and its representative's */
};

/* Finds the domains of the processes of `channel`: those whose clocks have the same identity and between which an
 * exchange of timestamps finds no offset; the offered clock keeps what was found. All have agreed to the offer. If its
 * settings share no clocks, each process is its own domain. Collective. */
int db_domain_find(struct db_domain *domain, const struct db_channel *channel, struct db_offer *offer);

/* The number by which identities are compared; 0 if there is none. */
int64_t db_domain_identity(const struct db_clock *clock);

/* Frees the communicators. A domain that is zeroed, or that db_domain_find has failed on, has none. */
void db_domain_free(struct db_domain *domain);

#endif
