/* The library's data of communicators (communicators.h), attached to them as attributes, and their identities. An
 * identity is the same on all processes of a communicator without communication: the creation of communicators from one
 * parent has the same order on all its processes, even if other threads create others concurrently. So an identity is a
 * hash of the parent's identity and the number of the child. */
#define _GNU_SOURCE
#include "communicators.h"

#include "frames.h"
#include "process.h"
#include "profile.h"
#include "recording.h"

#include "fnv1a.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CACHED 8 /* entries of a thread's cache */
#define BUCKETS 1024

/* Number of communicators that were created with a key. The keys are in a hash table of chained entries. */
struct count {
    struct count *next;
    uint64_t key;
    uint64_t created;
};

/* A communicator that this thread has used. Valid if its generation is the current one: MPI reuses the handle of a
 * freed communicator. */
struct cached {
    MPI_Comm handle;
    struct comm *comm;
    uint64_t generation;
};

static int keyval = MPI_KEYVAL_INVALID;
static MPI_Group world_group;
static int world_size;
static struct count *counts[BUCKETS];
static pthread_mutex_t lock = LOCK;        /* for attaching data to communicators */
static pthread_mutex_t counts_lock = LOCK; /* for counts */
/* Incremented whenever a communicator is freed, which invalidates the threads' caches. */
static _Atomic uint64_t generation = 1;
PER_THREAD struct cached cache[CACHED]; /* by handle */

void communicators_forget(struct comm *comm) {
    ++generation;
    recording_free_communicator(comm->number);
    free(comm);
}

void communicators_begin(MPI_Comm_delete_attr_function *freed) {
    FRAME(frame); /* so that calls of wrapped functions by these functions do not count as the program's */
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
    PMPI_Comm_free_keyval(&keyval); /* `freed` is still called for communicators that have the attribute */
    frame_leave(frame);
}

/* The processes of a group. */
struct members {
    uint64_t hash; /* hash of the ranks in MPI_COMM_WORLD, in the group's order */
    int lowest;    /* lowest of these ranks; INT_MAX: none */
    int outside;   /* number of processes outside MPI_COMM_WORLD */
};

/* Computes the members of a group. If memory is short, the hash is only of its size, so the identity of the
 * communicator may differ from the identity on other processes, which is accepted. */
static struct members members_of(MPI_Group group) {
    int size;
    PMPI_Group_size(group, &size);
    struct members members = {fnv1a_number(FNV1A_START, (uint64_t)size), INT_MAX, 0};
    int *ranks = calloc(2 * (size_t)size + 1, sizeof *ranks);
    if (ranks == NULL)
        return members;
    for (int i = 0; i < size; ++i)
        ranks[i] = i;
    PMPI_Group_translate_ranks(group, size, ranks, world_group, ranks + size);
    for (int i = 0; i < size; ++i) {
        int rank = ranks[size + i];
        members.hash = fnv1a_number(members.hash, (uint32_t)rank);
        members.outside += rank == MPI_UNDEFINED;
        if (rank != MPI_UNDEFINED && rank < members.lowest)
            members.lowest = rank;
    }
    free(ranks);
    return members;
}

static uint64_t hash_group(MPI_Group group) { return members_of(group).hash; }

/* Returns the number of communicators created with this key so far, and adds 1 to it. */
static uint64_t next_number(uint64_t key) {
    pthread_mutex_lock(&counts_lock);
    struct count **link = &counts[key % BUCKETS];
    while (*link != NULL && (*link)->key != key)
        link = &(*link)->next;
    if (*link == NULL)
        *link = calloc(1, sizeof **link);
    uint64_t number = 0;
    if (*link != NULL) {
        (*link)->key = key;
        number = (*link)->created++;
    }
    pthread_mutex_unlock(&counts_lock);
    return number;
}

/* Copies a name to the file; a longer one is truncated and ends with "...", to distinguish it from others. */
static void copy_name(struct trace_communicator *entry, const char *name) {
    static const char more[] = "...";
    const size_t room = sizeof entry->name;
    const size_t length = strnlen(name, room);
    size_t copied = length < room ? length : room - sizeof more;
    while (length == room && copied > 0 &&
           ((unsigned char)name[copied] & 0xc0) == 0x80) /* not within a UTF-8 character */
        --copied;
    memset(entry->name, 0, room);
    memcpy(entry->name, name, copied);
    if (length == room)
        memcpy(entry->name + copied, more, sizeof more);
}

/* Sets the data of a communicator, and adds it to the recording. `origin`: see communicators_created. */
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
    struct members local = members_of(group);
    struct members members = local;
    PMPI_Group_compare(group, world_group, &relation);
    PMPI_Group_free(&group);
    if (comm->inter) {
        PMPI_Comm_remote_size(comm->handle, &comm->peers);
        PMPI_Comm_remote_group(comm->handle, &group);
        members = members_of(group);
        PMPI_Group_free(&group);
        entry.second = members.lowest < local.lowest; /* this group is the second of the two, by lowest rank */
        members.hash += local.hash;                   /* a sum, which is the same for the processes of both groups */
    }
    comm->is_world = !comm->inter && relation != MPI_UNEQUAL;
    if (origin == 0) /* unknown creation: count the group's communicators in the order of their first calls */
        origin = fnv1a_number(members.hash, next_number(members.hash));
    comm->identity = fnv1a_number(origin, members.hash);
    entry.identity = comm->identity;
    entry.size = comm->size;
    entry.rank = comm->rank;
    entry.inter = comm->inter != 0;
    entry.has_outside_members = members.outside > 0;
    PMPI_Comm_get_name(comm->handle, name, &length);
    copy_name(&entry, name);
    comm->number = recording_add_communicator(&entry);
}

/* Finds or attaches the data of a valid handle. */
static struct comm *attached_comm(MPI_Comm handle, uint64_t origin) {
    void *value = NULL;
    int attached = 0;
    pthread_mutex_lock(&lock);
    PMPI_Comm_get_attr(handle, keyval, &value, &attached); /* another thread may have attached it */
    struct comm *comm = attached ? value : calloc(1, sizeof *comm);
    if (!attached && comm != NULL) {
        comm->handle = handle;
        describe(comm, origin);
        PMPI_Comm_set_attr(handle, keyval, comm);
    }
    pthread_mutex_unlock(&lock);
    return comm;
}

/* Finds or creates the data of a handle; NULL if the handle is invalid. Holds no lock while the handle may be invalid,
 * since an error handler may leave this function by a jump. */
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

struct comm *communicators_created(MPI_Comm handle, uint64_t origin) {
    if (handle == MPI_COMM_NULL)
        return NULL;
    struct cached *entry = &cache[((uintptr_t)handle >> 4 ^ (uintptr_t)handle) % CACHED];
    if (entry->handle != handle || entry->generation != generation || entry->comm == NULL)
        *entry = (struct cached){handle, find_comm(handle, origin), generation};
    return entry->comm;
}

struct comm *communicator_of(MPI_Comm handle) {
    return communicators_created(handle, 0);
}

/* --- creation of communicators */

/* Counts also on processes that will not be in the new communicator. */
uint64_t communicators_child(MPI_Comm handle) {
    const struct comm *parent = communicator_of(handle);
    return parent != NULL ? fnv1a_number(parent->identity, next_number(parent->identity)) : 0;
}

/* Origin of a communicator that only the processes of one or two groups create. The tag of the call distinguishes
 * concurrent creations. */
static uint64_t tagged(uint64_t key, int tag) {
    key = fnv1a_number(key, (uint32_t)tag);
    return fnv1a_number(key, next_number(key));
}

uint64_t communicators_child_of_group(MPI_Comm handle, MPI_Group group, int tag) {
    const struct comm *parent = communicator_of(handle);
    return parent != NULL ? tagged(fnv1a_number(parent->identity, hash_group(group)), tag) : 0;
}

/* The groups need not have a common communicator as a parent. So the key is a hash of the two groups, which are known
 * only from the new communicator. */
uint64_t communicators_between_groups(MPI_Comm handle, int tag) {
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

void communicators_name(MPI_Comm handle, const char *name) {
    const struct comm *named = communicator_of(handle);
    if (named != NULL && named->number != TRACE_NONE)
        copy_name(recording_communicator(named->number), name);
}
