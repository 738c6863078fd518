/* mixed HOW: barriers that some ranks call from a library, others from the program, on two communicators.
 *
 * writer, profiled: rank 0 from the library, by MPI_Barrier or PMPI_Barrier; turns: in turns; later: after barriers of
 * the program on all ranks; switch: rank 0 by MPI_Pcontrol(0); late SECONDS: as writer, and late. part: the last rank,
 * on communicators without rank 0. past: rank 0 calls MPI where no preloaded library sees it, until SIGALRM. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PAST_SECONDS 10

typedef int barrier_function(MPI_Comm comm);
barrier_function library_barrier;
barrier_function library_profiled_barrier;

static int is(const char *a, const char *b) { return strcmp(a, b) == 0; }

/* MPI's own function, in the library that has one which nobody preloads. */
static barrier_function *find_hidden_barrier(void) {
    Dl_info mpi;
    barrier_function *barrier = NULL;
    if (dladdr((void *)(size_t)MPI_Get_library_version, &mpi) != 0)
        *(void **)(void *)&barrier = dlsym(dlopen(mpi.dli_fname, RTLD_LAZY), "PMPI_Barrier");
    return barrier;
}

static int by_library(const char *how, int rank, int size, int i) {
    return is(how, "turns")    ? i % 3 == rank
           : is(how, "later")  ? i > 20 && rank == 0
           : is(how, "switch") ? 0
           : is(how, "part")   ? rank == size - 1
                               : rank == 0;
}

int main(int argc, char **argv) {
    const char *how = argc > 1 ? argv[1] : "writer";
    int value = 1;
    int sum = 0;
    int barriers = 0;
    int rank;
    int size;
    MPI_Comm comms[2] = {MPI_COMM_WORLD, MPI_COMM_NULL};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (is(how, "part"))
        MPI_Comm_split(MPI_COMM_WORLD, rank > 0, size - rank, &comms[0]);
    MPI_Comm_dup(comms[0], &comms[1]);
    barrier_function *library = is(how, "profiled") ? library_profiled_barrier : library_barrier;
    if (is(how, "past")) {
        library = find_hidden_barrier();
        alarm(PAST_SECONDS);
    }
    if (is(how, "late") && rank == 0)
        sleep((unsigned)atoi(argv[2]));
    for (int i = 0; i < 40; ++i) {
        if (is(how, "switch") && rank == 0 && i == 20)
            MPI_Pcontrol(0);
        barriers +=
            by_library(how, rank, size, i) ? library(comms[i % 2]) == 0 : MPI_Barrier(comms[i % 2]) == MPI_SUCCESS;
        MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, comms[i % 2]);
    }
    printf("rank %d: %d barriers, sum %d\n", rank, barriers, sum);
    MPI_Comm_free(&comms[1]);
    MPI_Finalize();
    return 0;
}
