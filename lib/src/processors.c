#define _GNU_SOURCE
#include "processors.h"

#include "error.h"

#include <sched.h>
#include <string.h>

static int node_oversubscribed(MPI_Comm node, int *oversubscribed) {
    enum { WORDS = sizeof(cpu_set_t) / sizeof(unsigned long) };
    int size;
    DB_TRY(MPI_Comm_size(node, &size));

    cpu_set_t mine;
    if (sched_getaffinity(0, sizeof mine, &mine) != 0)
        memset(&mine, 0xff, sizeof mine); /* more processors than the mask can hold: enough */
    /* In `masks`: the processors of all processes, and those of the processes that are bound to a single one. The
     * latter are compared among themselves too: in the union of all, a third process with two processors would hide two
     * that are bound to one. */
    unsigned long masks[2 * WORDS] = {0};
    memcpy(masks, &mine, sizeof mine);
    int bound = CPU_COUNT(&mine) == 1;
    if (bound)
        memcpy(masks + WORDS, &mine, sizeof mine);
    int bound_count;
    DB_TRY(MPI_Allreduce(MPI_IN_PLACE, masks, 2 * WORDS, MPI_UNSIGNED_LONG, MPI_BOR, node));
    DB_TRY(MPI_Allreduce(&bound, &bound_count, 1, MPI_INT, MPI_SUM, node));
    cpu_set_t all;
    cpu_set_t single;
    memcpy(&all, masks, sizeof all);
    memcpy(&single, masks + WORDS, sizeof single);
    *oversubscribed = size > CPU_COUNT(&all) || bound_count > CPU_COUNT(&single);
    return MPI_SUCCESS;
}

int db_processors_oversubscribed(MPI_Comm comm, int *oversubscribed) {
    MPI_Comm node;
    DB_TRY(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
    int here = 0;
    int code = node_oversubscribed(node, &here);
    MPI_Comm_free(&node);
    DB_TRY(code);
    return MPI_Allreduce(&here, oversubscribed, 1, MPI_INT, MPI_MAX, comm);
}
