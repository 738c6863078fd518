/* A processor for each process, where there are enough and the launcher has bound nothing: processes that wait for
 * processors are late whatever an implementation does. */
#define _GNU_SOURCE
#include "conformance.h"

#include <sched.h>

void bind_processes(const struct run *run) {
#ifdef __linux__
    cpu_set_t allowed;
    cpu_set_t one;
    int rank;
    int count = sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : 0;
    MPI_Comm_rank(run->node, &rank);
    MPI_Allreduce(MPI_IN_PLACE, &count, 1, MPI_INT, MPI_MIN, run->node);
    if (run->node_size < 2 || count < run->node_size)
        return;
    CPU_ZERO(&one);
    size_t cpu = 0;
    for (int passed = 0; passed <= rank; ++cpu)
        if (CPU_ISSET(cpu, &allowed) && passed++ == rank)
            CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof one, &one);
#else
    (void)run;
#endif
}
