/* Communicators: which one is which on all processes, without a message. Those made for the same processes in the same
 * order are counted, where they are made; their making is collective, so all processes count the same. */
#include "preload.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CACHED 8 /* per thread */
#define BUCKETS 1024

struct group {
    struct group *next;
    uint64_t hash;
    uint32_t made;
};

struct cached {
    MPI_Comm handle;
    struct comm *comm;
    uint64_t generation;
};

static int key = MPI_KEYVAL_INVALID;
static MPI_Group world_group;
static int world_size;
static struct group *groups[BUCKETS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* Rises whenever a communicator is freed: what threads have cached is void then. */
static _Atomic uint64_t generation = 1;
PER_THREAD struct cached cache[CACHED];

static int freed(MPI_Comm handle, int keyval, void *value, void *extra) {
    struct comm *comm = value;
    (void)handle;
    (void)keyval;
    (void)extra;
    ++generation;
    starts_forget(comm);
    completion_forget(comm);
    free(comm);
    return MPI_SUCCESS;
}

void communicators_begin(void) {
    ++inside;
    PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, freed, &key, NULL);
    PMPI_Comm_group(MPI_COMM_WORLD, &world_group);
    PMPI_Comm_size(MPI_COMM_WORLD, &world_size);
    --inside;
    communicator_of(MPI_COMM_WORLD);
    communicator_of(MPI_COMM_SELF);
}

void communicators_end(void) {
    ++inside;
    PMPI_Group_free(&world_group);
    PMPI_Comm_free_keyval(&key); /* freed() is still called for communicators that have the attribute */
    --inside;
}

/* FNV-1a over the ranks in MPI_COMM_WORLD, in the communicator's order. */
static uint64_t hash_group(MPI_Group group, int size) {
    uint64_t value = 0xcbf29ce484222325U ^ (uint64_t)size;
    int *ranks = calloc(2 * (size_t)size, sizeof *ranks);
    if (ranks == NULL)
        return value;
    for (int i = 0; i < size; ++i)
        ranks[i] = i;
    PMPI_Group_translate_ranks(group, size, ranks, world_group, ranks + size);
    for (int i = 0; i < size; ++i)
        value = (value ^ (uint32_t)ranks[size + i]) * 0x100000001b3U;
    free(ranks);
    return value;
}

/* How many communicators of the group there were before this one. */
static uint32_t count_group(uint64_t hash) {
    struct group **link = &groups[hash % BUCKETS];
    while (*link != NULL && (*link)->hash != hash)
        link = &(*link)->next;
    if (*link == NULL)
        *link = calloc(1, sizeof **link);
    if (*link == NULL)
        return 0;
    (*link)->hash = hash;
    return (*link)->made++;
}

static void describe(struct comm *comm) {
    struct trace_communicator entry = {.name = ""};
    char name[MPI_MAX_OBJECT_NAME] = "";
    MPI_Group group;
    int length;
    int relation = MPI_UNEQUAL;
    PMPI_Comm_rank(comm->handle, &comm->rank);
    PMPI_Comm_size(comm->handle, &comm->size);
    PMPI_Comm_test_inter(comm->handle, &comm->inter);
    comm->peers = comm->size;
    PMPI_Comm_group(comm->handle, &group);
    entry.group = hash_group(group, comm->size);
    PMPI_Group_compare(group, world_group, &relation);
    PMPI_Group_free(&group);
    if (comm->inter) {
        PMPI_Comm_remote_size(comm->handle, &comm->peers);
        PMPI_Comm_remote_group(comm->handle, &group);
        entry.group += hash_group(group, comm->peers); /* the same from both sides */
        PMPI_Group_free(&group);
    }
    comm->everyone = !comm->inter && relation != MPI_UNEQUAL;
    entry.ordinal = count_group(entry.group);
    entry.size = comm->size;
    entry.rank = comm->rank;
    entry.inter = comm->inter;
    PMPI_Comm_get_name(comm->handle, name, &length);
    snprintf(entry.name, sizeof entry.name, "%s", name);
    comm->number = recording_add_communicator(&entry);
}

static struct comm *find(MPI_Comm handle) {
    void *value = NULL;
    int found = 0;
    ++inside;
    pthread_mutex_lock(&lock);
    PMPI_Comm_get_attr(handle, key, &value, &found);
    struct comm *comm = found ? value : calloc(1, sizeof *comm);
    if (!found && comm != NULL) {
        comm->handle = handle;
        describe(comm);
        PMPI_Comm_set_attr(handle, key, comm);
    }
    pthread_mutex_unlock(&lock);
    --inside;
    return comm;
}

struct comm *communicator_of(MPI_Comm handle) {
    if (handle == MPI_COMM_NULL)
        return NULL;
    struct cached *place = &cache[((uintptr_t)handle >> 4 ^ (uintptr_t)handle) % CACHED];
    if (place->handle != handle || place->generation != generation || place->comm == NULL)
        *place = (struct cached){handle, find(handle), generation};
    return place->comm;
}

/* --- where communicators are made */

static void made(int code, const MPI_Comm *handle) {
    if (code == MPI_SUCCESS && !inside && begun)
        communicator_of(*handle);
}

#define MAKERS(X)                                                                                                      \
    X(MPI_Comm_dup, (MPI_Comm comm, MPI_Comm * newcomm), (comm, newcomm), newcomm)                                     \
    X(MPI_Comm_dup_with_info, (MPI_Comm comm, MPI_Info info, MPI_Comm * newcomm), (comm, info, newcomm), newcomm)      \
    X(MPI_Comm_create, (MPI_Comm comm, MPI_Group group, MPI_Comm * newcomm), (comm, group, newcomm), newcomm)          \
    X(MPI_Comm_create_group, (MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *newcomm),                             \
      (comm, group, tag, newcomm), newcomm)                                                                            \
    X(MPI_Comm_split, (MPI_Comm comm, int color, int order, MPI_Comm *newcomm), (comm, color, order, newcomm),         \
      newcomm)                                                                                                         \
    X(MPI_Comm_split_type, (MPI_Comm comm, int type, int order, MPI_Info info, MPI_Comm *newcomm),                     \
      (comm, type, order, info, newcomm), newcomm)                                                                     \
    X(MPI_Cart_create,                                                                                                 \
      (MPI_Comm comm, int ndims, const int dims[], const int periods[], int reorder, MPI_Comm *newcomm),               \
      (comm, ndims, dims, periods, reorder, newcomm), newcomm)                                                         \
    X(MPI_Cart_sub, (MPI_Comm comm, const int remain[], MPI_Comm *newcomm), (comm, remain, newcomm), newcomm)          \
    X(MPI_Graph_create,                                                                                                \
      (MPI_Comm comm, int nnodes, const int index[], const int edges[], int reorder, MPI_Comm *newcomm),               \
      (comm, nnodes, index, edges, reorder, newcomm), newcomm)                                                         \
    X(MPI_Dist_graph_create,                                                                                           \
      (MPI_Comm comm, int n, const int sources[], const int degrees[], const int destinations[], const int weights[],  \
       MPI_Info info, int reorder, MPI_Comm *newcomm),                                                                 \
      (comm, n, sources, degrees, destinations, weights, info, reorder, newcomm), newcomm)                             \
    X(MPI_Dist_graph_create_adjacent,                                                                                  \
      (MPI_Comm comm, int indegree, const int sources[], const int sourceweights[], int outdegree,                     \
       const int destinations[], const int destweights[], MPI_Info info, int reorder, MPI_Comm *newcomm),              \
      (comm, indegree, sources, sourceweights, outdegree, destinations, destweights, info, reorder, newcomm), newcomm) \
    X(MPI_Intercomm_create,                                                                                            \
      (MPI_Comm local, int local_leader, MPI_Comm peer, int remote_leader, int tag, MPI_Comm *newcomm),                \
      (local, local_leader, peer, remote_leader, tag, newcomm), newcomm)                                               \
    X(MPI_Intercomm_merge, (MPI_Comm intercomm, int high, MPI_Comm *newcomm), (intercomm, high, newcomm), newcomm)

#define MAKER(Name, parameters, arguments, newcomm)                                                                    \
    WRAP(Name);                                                                                                        \
    int Name parameters {                                                                                              \
        int outer = inside++;                                                                                          \
        int code = REAL(Name) arguments;                                                                               \
        inside = outer;                                                                                                \
        made(code, newcomm);                                                                                           \
        return code;                                                                                                   \
    }

MAKERS(MAKER)

WRAP(MPI_Comm_set_name);
int MPI_Comm_set_name(MPI_Comm comm, const char *name) {
    int code = REAL(MPI_Comm_set_name)(comm, name);
    struct comm *named = code == MPI_SUCCESS && !inside && begun ? communicator_of(comm) : NULL;
    if (named != NULL && named->number != TRACE_NONE)
        snprintf(recording_communicator(named->number)->name, sizeof((struct trace_communicator *)0)->name, "%s", name);
    return code;
}
