/* The library's data of communicators: struct comm, attached to each communicator that the program uses. */
#ifndef DOWNBEAT_PRELOAD_COMMUNICATORS_H
#define DOWNBEAT_PRELOAD_COMMUNICATORS_H

#include <mpi.h>
#include <stdatomic.h>
#include <stdint.h>

struct waiting_sample;

/* Data of a communicator. */
struct comm {
    MPI_Comm handle;
    uint64_t identity;         /* hash, the same on all its processes */
    uint32_t number;           /* index in the trace file's table of communicators */
    _Atomic uint32_t sequence; /* number of collectives so far */
    int rank;
    int size;
    int peers;      /* number of blocks in all-to-all exchanges: `size`, or the size of the remote group */
    int inter;      /* 1 for an intercommunicator */
    int is_world;   /* 1 if it has all processes of MPI_COMM_WORLD */
    int harmonized; /* 1 if its barriers are harmonized (starts.h) */
    int mixed;      /* 1 if only some processes have requested harmonized barriers */
    struct waiting_sample *waiting; /* its pending sample (samples.c); NULL: none */
};

/* Initializes. MPI calls `freed` when a communicator is freed. */
void communicators_begin(MPI_Comm_delete_attr_function *freed);
void communicators_end(void);

/* Finds or creates the data of a communicator; NULL for MPI_COMM_NULL. Local. */
struct comm *communicator_of(MPI_Comm handle);

/* Like communicator_of, for a new communicator. `origin` is a hash of its creation that is the same on all its
 * processes; 0: unknown. */
struct comm *communicators_created(MPI_Comm handle, uint64_t origin);

/* Frees the data of a freed communicator. */
void communicators_forget(struct comm *comm);

/* Return the origin of a new communicator: from communicator `handle`; from a group of its processes; as the
 * intercommunicator `handle` of two groups. 0: unknown. */
uint64_t communicators_child(MPI_Comm handle);
uint64_t communicators_child_of_group(MPI_Comm handle, MPI_Group group, int tag);
uint64_t communicators_between_groups(MPI_Comm handle, int tag);

/* Sets the name of a communicator in the trace file. */
void communicators_name(MPI_Comm handle, const char *name);

#endif
