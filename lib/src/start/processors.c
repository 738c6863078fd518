/* Number of processors, from the affinity masks of all processes, and last-level caches, from Linux's /sys
 * (processors.h). */
#define _GNU_SOURCE
#include "start/processors.h"

#include "base/error.h"
#include "base/patience.h"
#include "clock/clock.h"
#include "fnv1a.h"

#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = sizeof(cpu_set_t) / sizeof(uint64_t) };

/* Affinity masks of a process, or their unions over processes. Processes that are bound to a single processor are also
 * counted separately: in the union of all masks, a third process with two processors would hide two processes that are
 * bound to the same processor. */
struct processors {
    uint64_t allowed[WORDS]; /* affinity mask */
    uint64_t bound[WORDS];   /* the same if it is a single processor, else empty */
    uint64_t node;           /* hash of this process's node */
    uint64_t complement;     /* ~node, to compare the nodes of all processes by one union */
};

/* The number of processors in an affinity mask. */
static int count_bits(const uint64_t words[WORDS]) {
    cpu_set_t set;
    memcpy(&set, words, sizeof set);
    return CPU_COUNT(&set);
}

/* Returns a hash of this process's node; 0 if the node is unknown. */
static uint64_t hash_of_node(void) {
    char name[MPI_MAX_PROCESSOR_NAME + 1] = "";
    char kernel[DB_IDENTITY_SIZE];
    int length;
    db_clock_identify(kernel, "node", 0);
    if (kernel[0] == '\0' || MPI_Get_processor_name(name, &length) != MPI_SUCCESS)
        return 0;
    return fnv1a_text(fnv1a_text(FNV1A_START, kernel), name);
}

/* What this process reports to the others. */
static struct processors local_processors(void) {
    struct processors local = {.node = hash_of_node()};
    cpu_set_t affinity;
    if (sched_getaffinity(0, sizeof affinity, &affinity) != 0)
        memset(&affinity, 0xff,
               sizeof affinity); /* the machine has more processors than the mask has bits, so there are enough */
    memcpy(local.allowed, &affinity, sizeof affinity);
    if (CPU_COUNT(&affinity) == 1)
        memcpy(local.bound, &affinity, sizeof affinity);
    local.complement = ~local.node;
    return local;
}

/* Unites the affinity masks over comm, and compares the number of processors with the number of processes.
 * `oversubscribed` is valid only if all processes are on one node. */
static int count_processors(MPI_Comm comm, const struct processors *local, int *one_node, int *oversubscribed) {
    struct processors united = *local;
    int bound_count = count_bits(local->bound);
    int size;
    DB_TRY(MPI_Comm_size(comm, &size));
    MPI_Request requests[2];
    DB_TRY(MPI_Iallreduce(MPI_IN_PLACE, &united, sizeof united / sizeof(uint64_t), MPI_UINT64_T, MPI_BOR, comm,
                          &requests[0]));
    DB_TRY(MPI_Iallreduce(MPI_IN_PLACE, &bound_count, 1, MPI_INT, MPI_SUM, comm, &requests[1]));
    DB_TRY(db_await(&requests[0], DB_SLEEP, comm, NULL));
    DB_TRY(db_await(&requests[1], DB_SLEEP, comm, NULL));
    /* A bit that differs between processes is set in both unions. */
    *one_node = (united.node & united.complement) == 0 && united.node != 0;
    *oversubscribed = size > count_bits(united.allowed) || bound_count > count_bits(united.bound);
    return MPI_SUCCESS;
}

int db_processors_find(MPI_Comm comm, struct db_processors *result) {
    const struct processors local = local_processors();
    int one_node;
    DB_TRY(count_processors(comm, &local, &result->one_node, &result->oversubscribed));
    if (result->one_node)
        return MPI_SUCCESS;
    MPI_Comm node;
    DB_TRY(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
    int code = count_processors(node, &local, &one_node, &result->oversubscribed);
    DB_TRY(db_loss_free(&node, code));
    return db_allreduce(comm, &result->oversubscribed, 1, MPI_INT, MPI_MAX);
}

/* Parses a list of processors in the kernel's format, such as "0-3,8-11". */
static void read_list(const char *list, cpu_set_t *set) {
    char *end;
    CPU_ZERO(set);
    for (const char *text = list; *text >= '0' && *text <= '9'; text = *end == ',' ? end + 1 : end) {
        long first = strtol(text, &end, 10);
        long last = *end == '-' ? strtol(end + 1, &end, 10) : first;
        for (long i = 0; i < CPU_SETSIZE; ++i) /* not from `first`, which may be out of range */
            if (i >= first && i <= last)
                CPU_SET((size_t)i, set);
    }
}

/* The last-level cache is index3 in /sys, the level-3 cache. The text of the processors that share it is hashed. */
int64_t db_processors_cache(void) {
    cpu_set_t affinity;
    cpu_set_t sharing;
    cpu_set_t common;
    char text[1024] = "";
    int first = 0; /* the first processor of the affinity mask */
    if (sched_getaffinity(0, sizeof affinity, &affinity) != 0)
        return 0;
    while (first < CPU_SETSIZE && !CPU_ISSET((size_t)first, &affinity))
        ++first;
    snprintf(text, sizeof text, "/sys/devices/system/cpu/cpu%d/cache/index3/shared_cpu_list", first);
    FILE *file = fopen(text, "r");
    if (file == NULL)
        return 0;
    int read = fgets(text, sizeof text, file) != NULL;
    fclose(file);
    read_list(read ? text : "", &sharing);
    CPU_AND(&common, &affinity, &sharing);
    return CPU_EQUAL(&common, &affinity) ? (int64_t)fnv1a_text(FNV1A_START, text) : 0;
}
