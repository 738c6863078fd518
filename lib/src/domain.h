/* Clock domains: groups of processes that read the same clock. One of each domain, its representative, synchronizes;
 * the others take over its map. */
#ifndef DOWNBEAT_DOMAIN_H
#define DOWNBEAT_DOMAIN_H

#include "offset.h"

struct db_domain {
    struct db_channel members; /* of this process's domain, the representative is 0; MPI_COMM_NULL if it is alone */
    struct db_channel leaders; /* of all representatives, in the order of their ranks; MPI_COMM_NULL on others */
    int owned;                 /* 1 if both are communicators of their own; 0: each is the channel of all or trivial */
    int place;                 /* of this process among the representatives, if it is one */
    int count;                 /* of domains in the communicator */
    double bound_ns;           /* of the difference between this process's reading and its representative's */
};

/* Finds the domains of the processes of `channel`: those whose clocks have the same identity and between which an
 * exchange of timestamps finds no offset; the clock keeps what was found. Without `share`, each process is its own
 * domain. Collective. */
int db_domain_find(struct db_domain *domain, const struct db_channel *channel, struct db_clock *clock, int share);

/* Frees the communicators. A zeroed domain is not valid; one that db_domain_find has failed on is. */
void db_domain_free(struct db_domain *domain);

#endif
