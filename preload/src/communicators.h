/* Communicators, as this library knows them. */
#ifndef DOWNBEAT_PRELOAD_COMMUNICATORS_H
#define DOWNBEAT_PRELOAD_COMMUNICATORS_H

#include <mpi.h>
#include <stdatomic.h>
#include <stdint.h>

struct waiting_sample;

struct comm {
    MPI_Comm handle;
    uint64_t identity; /* the same on all of its processes */
    uint32_t number;   /* in the file */
    _Atomic uint32_t sequence;
    int rank;
    int size;
    int peers; /* number of processes that exchange data: `size`, or that of the remote group */
    int inter;
    int everyone; /* has all processes of MPI_COMM_WORLD */
    int together; /* its barriers have a common start */
    int mixed;    /* processes have disagreed on that */
    struct waiting_sample *waiting;
};

/* Prepares what is needed to know communicators. `freed`: what MPI calls when one is freed. */
void communicators_begin(MPI_Comm_delete_attr_function *freed);
void communicators_end(void);

/* The record of a communicator, made if need be; NULL for MPI_COMM_NULL. Local. */
struct comm *communicator_of(MPI_Comm handle);

/* The same of one that was just made; `origin` is what all of its processes know of how: 0: nothing. */
struct comm *communicators_made(MPI_Comm handle, uint64_t origin);

/* The communicator is freed, and nothing refers to it. */
void communicators_forget(struct comm *comm);

/* Origins of the next communicator that is made from this one; by a group of its processes; of the two groups of an
 * intercommunicator. */
uint64_t communicators_child(MPI_Comm handle);
uint64_t communicators_child_of_group(MPI_Comm handle, MPI_Group group, int tag);
uint64_t communicators_between_groups(MPI_Comm handle, int tag);

/* It has a name from now on. */
void communicators_name(MPI_Comm handle, const char *name);

#endif
