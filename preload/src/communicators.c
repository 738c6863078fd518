/* Communicators: which one is which on all processes, without a message. MPI orders what is made from one communicator
 * on all of its processes, even if other threads make others meanwhile. So each has the identity of its parent, and is
 * counted among the parent's. */
#define _GNU_SOURCE
#include "preload.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CACHED 8 /* per thread */
#define BUCKETS 1024

/* How many communicators were made of what a key stands for. */
struct count {
    struct count *next;
    uint64_t key;
    uint64_t made;
};

struct cached {
    MPI_Comm handle;
    struct comm *comm;
    uint64_t generation;
};

static int keyval = MPI_KEYVAL_INVALID;
static MPI_Group world_group;
static int world_size;
static struct count *counts[BUCKETS];
static pthread_mutex_t lock = LOCK;
static pthread_mutex_t counts_lock = LOCK;
/* Rises whenever a communicator is freed: what threads have cached is void then. */
static _Atomic uint64_t generation = 1;
PER_THREAD struct cached cache[CACHED];

static int freed(MPI_Comm handle, int which, void *value, void *extra) {
    struct comm *comm = value;
    (void)handle;
    (void)which;
    (void)extra;
    ++generation;
    starts_forget(comm);
    completion_forget(comm);
    recording_free_communicator(comm->number);
    free(comm);
    return MPI_SUCCESS;
}

void communicators_begin(void) {
    FRAME(frame);
    frame_enter(frame);
    PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, freed, &keyval, NULL);
    PMPI_Comm_group(MPI_COMM_WORLD, &world_group);
    PMPI_Comm_size(MPI_COMM_WORLD, &world_size);
    frame_leave(frame);
    communicator_of(MPI_COMM_WORLD);
    communicator_of(MPI_COMM_SELF);
}

void communicators_end(void) {
    FRAME(frame);
    frame_enter(frame);
    PMPI_Group_free(&world_group);
    PMPI_Comm_free_keyval(&keyval); /* freed() is still called for communicators that have the attribute */
    frame_leave(frame);
}

/* FNV-1a. */
static uint64_t mix(uint64_t hash, uint64_t value) {
    for (int i = 0; i < 8; ++i, value >>= 8)
        hash = (hash ^ (value & 0xff)) * 0x100000001b3U;
    return hash;
}

/* The processes of a group. */
struct members {
    uint64_t hash; /* of the ranks in MPI_COMM_WORLD, in the group's order */
    int lowest;    /* of these ranks; INT_MAX: there is none */
    int abroad;    /* how many have none */
};

static struct members members_of(MPI_Group group) {
    int size;
    PMPI_Group_size(group, &size);
    struct members members = {mix(0xcbf29ce484222325U, (uint64_t)size), INT_MAX, 0};
    int *ranks = calloc(2 * (size_t)size + 1, sizeof *ranks);
    if (ranks == NULL)
        return members;
    for (int i = 0; i < size; ++i)
        ranks[i] = i;
    PMPI_Group_translate_ranks(group, size, ranks, world_group, ranks + size);
    for (int i = 0; i < size; ++i) {
        int rank = ranks[size + i];
        members.hash = mix(members.hash, (uint32_t)rank);
        members.abroad += rank == MPI_UNDEFINED;
        if (rank != MPI_UNDEFINED && rank < members.lowest)
            members.lowest = rank;
    }
    free(ranks);
    return members;
}

static uint64_t hash_group(MPI_Group group) { return members_of(group).hash; }

/* The number of the next communicator of a key. */
static uint64_t next_of(uint64_t key) {
    pthread_mutex_lock(&counts_lock);
    struct count **link = &counts[key % BUCKETS];
    while (*link != NULL && (*link)->key != key)
        link = &(*link)->next;
    if (*link == NULL)
        *link = calloc(1, sizeof **link);
    uint64_t number = 0;
    if (*link != NULL) {
        (*link)->key = key;
        number = (*link)->made++;
    }
    pthread_mutex_unlock(&counts_lock);
    return number;
}

/* What the file has room for of a name; one that is longer ends with "...", so that it is not taken for another one. */
static void keep_name(struct trace_communicator *entry, const char *name) {
    static const char more[] = "...";
    const size_t room = sizeof entry->name;
    const size_t length = strnlen(name, room);
    size_t kept = length < room ? length : room - sizeof more;
    while (length == room && kept > 0 && ((unsigned char)name[kept] & 0xc0) == 0x80) /* within a character */
        --kept;
    memset(entry->name, 0, room);
    memcpy(entry->name, name, kept);
    if (length == room)
        memcpy(entry->name + kept, more, sizeof more);
}

/* Fills in the record of a communicator. `origin` is what all processes know of how it was made; 0: nothing. */
static void describe(struct comm *comm, uint64_t origin) {
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
    struct members own = members_of(group);
    struct members all = own;
    PMPI_Group_compare(group, world_group, &relation);
    PMPI_Group_free(&group);
    if (comm->inter) {
        PMPI_Comm_remote_size(comm->handle, &comm->peers);
        PMPI_Comm_remote_group(comm->handle, &group);
        all = members_of(group);
        PMPI_Group_free(&group);
        entry.second = all.lowest < own.lowest;
        all.hash += own.hash; /* the same from both sides */
    }
    comm->everyone = !comm->inter && relation != MPI_UNEQUAL;
    if (origin == 0) /* the order in which a group's communicators are seen is all that is known */
        origin = mix(all.hash, next_of(all.hash));
    comm->identity = mix(origin, all.hash);
    entry.identity = comm->identity;
    entry.size = comm->size;
    entry.rank = comm->rank;
    entry.inter = comm->inter != 0;
    entry.abroad = all.abroad > 0;
    PMPI_Comm_get_name(comm->handle, name, &length);
    keep_name(&entry, name);
    comm->number = recording_add_communicator(&entry);
}

/* The record that is attached to a valid handle, attached if need be. */
static struct comm *attached_comm(MPI_Comm handle, uint64_t origin) {
    void *value = NULL;
    int attached = 0;
    pthread_mutex_lock(&lock);
    PMPI_Comm_get_attr(handle, keyval, &value, &attached); /* another thread may have attached it meanwhile */
    struct comm *comm = attached ? value : calloc(1, sizeof *comm);
    if (!attached && comm != NULL) {
        comm->handle = handle;
        describe(comm, origin);
        PMPI_Comm_set_attr(handle, keyval, comm);
    }
    pthread_mutex_unlock(&lock);
    return comm;
}

/* No lock is held while the handle may be invalid: an error handler may leave this function. */
__attribute__((noinline)) static struct comm *find_comm(MPI_Comm handle, uint64_t origin) {
    void *value = NULL;
    int attached = 0;
    FRAME(frame);
    frame_enter(frame);
    int code = PMPI_Comm_get_attr(handle, keyval, &value, &attached);
    struct comm *comm = code != MPI_SUCCESS ? NULL : attached ? value : attached_comm(handle, origin);
    frame_leave(frame);
    return comm;
}

static struct comm *cached_comm(MPI_Comm handle, uint64_t origin) {
    if (handle == MPI_COMM_NULL)
        return NULL;
    struct cached *place = &cache[((uintptr_t)handle >> 4 ^ (uintptr_t)handle) % CACHED];
    if (place->handle != handle || place->generation != generation || place->comm == NULL)
        *place = (struct cached){handle, find_comm(handle, origin), generation};
    return place->comm;
}

struct comm *communicator_of(MPI_Comm handle) {
    return cached_comm(handle, 0);
}

/* --- where communicators are made */

/* The identity of the next communicator that is made from this one. A process that is not in the new one counts it,
 * too. */
static uint64_t child_of(MPI_Comm handle) {
    const struct comm *parent = communicator_of(handle);
    return parent != NULL ? mix(parent->identity, next_of(parent->identity)) : 0;
}

/* The same where only the members of a group make one, or two sides do: a tag distinguishes it from the next. */
static uint64_t tagged(uint64_t key, int tag) {
    key = mix(key, (uint32_t)tag);
    return mix(key, next_of(key));
}

static uint64_t child_of_group(MPI_Comm handle, MPI_Group group, int tag) {
    const struct comm *parent = communicator_of(handle);
    return parent != NULL ? tagged(mix(parent->identity, hash_group(group)), tag) : 0;
}

/* No communicator has both sides: their groups, which only the new one has, and the tag. */
static uint64_t between_groups(MPI_Comm handle, int tag) {
    MPI_Group sides[2];
    if (handle == MPI_COMM_NULL)
        return 0;
    PMPI_Comm_group(handle, &sides[0]);
    PMPI_Comm_remote_group(handle, &sides[1]);
    uint64_t key = hash_group(sides[0]) + hash_group(sides[1]);
    PMPI_Group_free(&sides[0]);
    PMPI_Group_free(&sides[1]);
    return tagged(key, tag);
}

/* X(Name, parameters, arguments, what all processes know of its origin) */
#define MAKERS(X)                                                                                                      \
    X(Comm_dup, (MPI_Comm comm, MPI_Comm * newcomm), (comm, newcomm), child_of(comm))                                  \
    X(Comm_dup_with_info, (MPI_Comm comm, MPI_Info info, MPI_Comm * newcomm), (comm, info, newcomm), child_of(comm))   \
    X(Comm_create, (MPI_Comm comm, MPI_Group group, MPI_Comm * newcomm), (comm, group, newcomm), child_of(comm))       \
    X(Comm_create_group, (MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *newcomm), (comm, group, tag, newcomm),    \
      child_of_group(comm, group, tag))                                                                                \
    X(Comm_split, (MPI_Comm comm, int color, int order, MPI_Comm *newcomm), (comm, color, order, newcomm),             \
      child_of(comm))                                                                                                  \
    X(Comm_split_type, (MPI_Comm comm, int type, int order, MPI_Info info, MPI_Comm *newcomm),                         \
      (comm, type, order, info, newcomm), child_of(comm))                                                              \
    X(Cart_create, (MPI_Comm comm, int ndims, const int dims[], const int periods[], int reorder, MPI_Comm *newcomm),  \
      (comm, ndims, dims, periods, reorder, newcomm), child_of(comm))                                                  \
    X(Cart_sub, (MPI_Comm comm, const int remain[], MPI_Comm *newcomm), (comm, remain, newcomm), child_of(comm))       \
    X(Graph_create, (MPI_Comm comm, int nnodes, const int index[], const int edges[], int reorder, MPI_Comm *newcomm), \
      (comm, nnodes, index, edges, reorder, newcomm), child_of(comm))                                                  \
    X(Dist_graph_create,                                                                                               \
      (MPI_Comm comm, int n, const int sources[], const int degrees[], const int destinations[], const int weights[],  \
       MPI_Info info, int reorder, MPI_Comm *newcomm),                                                                 \
      (comm, n, sources, degrees, destinations, weights, info, reorder, newcomm), child_of(comm))                      \
    X(Dist_graph_create_adjacent,                                                                                      \
      (MPI_Comm comm, int indegree, const int sources[], const int sourceweights[], int outdegree,                     \
       const int destinations[], const int destweights[], MPI_Info info, int reorder, MPI_Comm *newcomm),              \
      (comm, indegree, sources, sourceweights, outdegree, destinations, destweights, info, reorder, newcomm),          \
      child_of(comm))                                                                                                  \
    X(Intercomm_create,                                                                                                \
      (MPI_Comm local, int local_leader, MPI_Comm peer, int remote_leader, int tag, MPI_Comm *newcomm),                \
      (local, local_leader, peer, remote_leader, tag, newcomm), between_groups(*newcomm, tag))                         \
    X(Intercomm_merge, (MPI_Comm intercomm, int high, MPI_Comm *newcomm), (intercomm, high, newcomm),                  \
      child_of(intercomm))

/* A function that makes a communicator, and what follows when it has. */
#define MAKER(Name, parameters, arguments, made)                                                                       \
    WRAP(Name);                                                                                                        \
    int Name parameters {                                                                                              \
        FRAME(frame);                                                                                                  \
        int64_t begin = timed_begin(frame_enter(frame));                                                               \
        int code = REAL(Name) arguments;                                                                               \
        timed_end(TRACE_COMMUNICATORS, begin);                                                                         \
        if (code == MPI_SUCCESS && begin != 0)                                                                         \
            made;                                                                                                      \
        frame_leave(frame);                                                                                            \
        return code;                                                                                                   \
    }

#define AT_ONCE(Name, parameters, arguments, origin)                                                                   \
    BOTH(MAKER, Name, parameters, arguments, cached_comm(*newcomm, origin))
MAKERS(AT_ONCE)

/* A duplicate that is there when its request is complete; what it is called is settled by the call. */
void communicators_made(MPI_Comm handle, uint64_t origin) { cached_comm(handle, origin); }

#define LATER(Name, parameters, arguments)                                                                             \
    BOTH(MAKER, Name, parameters, arguments, completion_expect_communicator(*request, newcomm, child_of(comm)))
LATER(Comm_idup, (MPI_Comm comm, MPI_Comm *newcomm, MPI_Request *request), (comm, newcomm, request))
#ifdef HAVE_MPI_COMM_IDUP_WITH_INFO
LATER(Comm_idup_with_info, (MPI_Comm comm, MPI_Info info, MPI_Comm *newcomm, MPI_Request *request),
      (comm, info, newcomm, request))
#endif

static void take_name(MPI_Comm handle, const char *name) {
    const struct comm *named = communicator_of(handle);
    if (named != NULL && named->number != TRACE_NONE)
        keep_name(recording_communicator(named->number), name);
}

#define NAMER(Function, parameters)                                                                                    \
    WRAP(Function);                                                                                                    \
    int Function parameters {                                                                                          \
        FRAME(frame);                                                                                                  \
        int program = frame_enter(frame);                                                                              \
        int code = REAL(Function)(comm, name);                                                                         \
        frame_leave(frame);                                                                                            \
        if (code == MPI_SUCCESS && program && begun)                                                                   \
            take_name(comm, name);                                                                                     \
        return code;                                                                                                   \
    }
BOTH(NAMER, Comm_set_name, (MPI_Comm comm, const char *name))
