#include "interruption.h"

#include <mpi.h>
#include <stddef.h>

static int completions_due; /* up to the one at which `at_completion` runs */
static void (*at_completion)(void);
static int looks_due; /* at the library's clock, up to the one at which `at_look` runs */
static void (*at_look)(void);

void interrupt_completion(int count, void (*how)(void)) {
    at_completion = how;
    completions_due = count;
}

/* Where processes share processors the library does not block: it tests for the reduction, then for the broadcast. */
void interrupt_before_wait(int oversubscribed, void (*how)(void)) { interrupt_completion(oversubscribed ? 2 : 1, how); }

/* The first look at the clock from there on tells whether the deadline can still be met, the second is the wait's. */
static void expect_wait(void) { looks_due = 2; }

void interrupt_wait(int oversubscribed, void (*how)(void)) {
    at_look = how;
    interrupt_before_wait(oversubscribed, expect_wait);
}

int interruption_due(void) { return looks_due > 0; }

static void count_completion(void) {
    if (completions_due > 0 && --completions_due == 0)
        at_completion();
}

int MPI_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
    int code = PMPI_Bcast(buffer, count, type, root, comm);
    count_completion();
    return code;
}

int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status) {
    int code = PMPI_Test(request, flag, status);
    if (*flag)
        count_completion();
    return code;
}

double MPI_Wtime(void) {
    if (looks_due > 0 && --looks_due == 0)
        at_look();
    return PMPI_Wtime();
}
