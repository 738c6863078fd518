/* Communicators: which one is which on all processes, without a message. MPI orders what is made from one communicator
 * on all of its processes, even if other threads make others meanwhile. So each has the identity of its parent, and is
 * counted among the parent's. */
#define _GNU_SOURCE
#include "communicators.h"

#include "frames.h"
#include "process.h"
#include "profile.h"
#include "recording.h"

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

void communicators_forget(struct comm *comm) {
    ++generation;
    recording_free_communicator(comm->number);
    free(comm);
}

void communicators_begin(MPI_Comm_delete_attr_function *freed) {
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
    PMPI_Comm_free_keyval(&keyval); /* `freed` is still called for communicators that have the attribute */
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
    int outside;   /* number of processes without one */
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
        members.outside += rank == MPI_UNDEFINED;
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
    entry.has_outside_members = all.outside > 0;
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

struct comm *communicators_made(MPI_Comm handle, uint64_t origin) {
    if (handle == MPI_COMM_NULL)
        return NULL;
    struct cached *place = &cache[((uintptr_t)handle >> 4 ^ (uintptr_t)handle) % CACHED];
    if (place->handle != handle || place->generation != generation || place->comm == NULL)
        *place = (struct cached){handle, find_comm(handle, origin), generation};
    return place->comm;
}

struct comm *communicator_of(MPI_Comm handle) {
    return communicators_made(handle, 0);
}

/* --- where communicators are made */

/* The identity of the next communicator that is made from this one. A process that is not in the new one counts it,
 * too. */
uint64_t communicators_child(MPI_Comm handle) {
    const struct comm *parent = communicator_of(handle);
    return parent != NULL ? mix(parent->identity, next_of(parent->identity)) : 0;
}

/* The same where only the members of a group make one, or two sides do: a tag distinguishes it from the next. */
static uint64_t tagged(uint64_t key, int tag) {
    key = mix(key, (uint32_t)tag);
    return mix(key, next_of(key));
}

uint64_t communicators_child_of_group(MPI_Comm handle, MPI_Group group, int tag) {
    const struct comm *parent = communicator_of(handle);
    return parent != NULL ? tagged(mix(parent->identity, hash_group(group)), tag) : 0;
}

/* No communicator has both sides: their groups, which only the new one has, and the tag. */
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
        keep_name(recording_communicator(named->number), name);
}
