/* A PMPI tool, as mpiP, IPM and Darshan are: counts calls, passes them on to PMPI_, and says in MPI_Finalize what all
 * processes called: "tool NAME: operation calls ...". It has a collective of its own there, as they have. */
#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#ifndef TOOL
#define TOOL "one"
#endif

enum { BCAST, ALLREDUCE, BARRIER, IALLREDUCE, IBARRIER, SEND, WAIT, TEST, WAITALL, DUP, PCONTROL, PHASES, CALLS };
static const char *const names[] = {"bcast", "allreduce", "barrier", "iallreduce", "ibarrier", "send",
                                    "wait",  "test",      "waitall", "dup",        "pcontrol", "phases"};
static long calls[CALLS];

#define TOOLED(Name, call, parameters, arguments)                                                                      \
    int MPI_##Name parameters {                                                                                        \
        ++calls[call];                                                                                                 \
        return PMPI_##Name arguments;                                                                                  \
    }

TOOLED(Bcast, BCAST, (void *b, int n, MPI_Datatype t, int root, MPI_Comm c), (b, n, t, root, c))
TOOLED(Allreduce, ALLREDUCE, (const void *s, void *r, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c), (s, r, n, t, o, c))
TOOLED(Barrier, BARRIER, (MPI_Comm c), (c))
TOOLED(Iallreduce, IALLREDUCE, (const void *s, void *r, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c, MPI_Request *q),
       (s, r, n, t, o, c, q))
TOOLED(Ibarrier, IBARRIER, (MPI_Comm c, MPI_Request *q), (c, q))
TOOLED(Send, SEND, (const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c), (b, n, t, to, tag, c))
TOOLED(Wait, WAIT, (MPI_Request * q, MPI_Status *s), (q, s))
TOOLED(Test, TEST, (MPI_Request * q, int *f, MPI_Status *s), (q, f, s))
TOOLED(Waitall, WAITALL, (int n, MPI_Request q[], MPI_Status s[]), (n, q, s))
TOOLED(Comm_dup, DUP, (MPI_Comm c, MPI_Comm *d), (c, d))

int MPI_Pcontrol(const int level, ...) {
    va_list arguments;
    va_start(arguments, level);
    const char *name = va_arg(arguments, const char *);
    va_end(arguments);
    ++calls[PCONTROL];
    if (level == -1) /* which always has a name */
        calls[PHASES] += strcmp(name, "tooled") == 0;
    return PMPI_Pcontrol(level, name);
}

int MPI_Init(int *argc, char ***argv) { return PMPI_Init(argc, argv); }

int MPI_Finalize(void) {
    long sums[CALLS];
    int rank;
    PMPI_Reduce(calls, sums, CALLS, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        printf("tool " TOOL ":");
        for (int i = 0; i < CALLS; ++i)
            printf(" %s %ld", names[i], sums[i]);
        printf("\n");
        fflush(stdout);
    }
    return PMPI_Finalize();
}
