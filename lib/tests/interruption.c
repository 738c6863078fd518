#include "interruption.h"

#include <mpi.h>
#include <stddef.h>

static int completions_due; /* up to the one at which `at_completion` runs */
static void (*at_completion)(void);
static MPI_Request watched = MPI_REQUEST_NULL; /* whose completion counts */
static int looks_due;                          /* at the library's clock, up to the one at which `at_look` runs */
static void (*at_look)(void);
static double set_back_seconds; /* next, and so far */
static double behind_seconds;

static void set_back(void) { behind_seconds += set_back_seconds; }

void interrupt_completion(int count, void (*how)(void)) {
    at_completion = how;
    completions_due = count;
}

/* The first is the reduction. */
void interrupt_before_wait(void (*how)(void)) { interrupt_completion(2, how); }

/* The first reading of the clock from there on decides whether the deadline can be met, the second is the wait's. */
static void expect_wait(void) { looks_due = 2; }

/* After the first of the spin. */
static void expect_spin(void) { looks_due = 3; }

void interrupt_wait(void (*how)(void)) {
    at_look = how;
    interrupt_before_wait(expect_wait);
}

void set_back_in_wait(double seconds) {
    at_look = set_back;
    set_back_seconds = seconds;
    interrupt_before_wait(expect_spin);
}

int interruption_due(void) { return looks_due > 0; }

void cancel_interruption(void) { looks_due = 0; }

static void count_completion(void) {
    if (completions_due > 0 && --completions_due == 0)
        at_completion();
}

int MPI_Reduce(const void *words, void *result, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm) {
    int code = PMPI_Reduce(words, result, count, type, op, root, comm);
    count_completion();
    return code;
}

int MPI_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
    int code = PMPI_Bcast(buffer, count, type, root, comm);
    count_completion();
    return code;
}

int MPI_Ireduce(const void *words, void *result, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm,
                MPI_Request *request) {
    int code = PMPI_Ireduce(words, result, count, type, op, root, comm, request);
    watched = *request;
    return code;
}

int MPI_Ibcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm, MPI_Request *request) {
    int code = PMPI_Ibcast(buffer, count, type, root, comm, request);
    watched = *request;
    return code;
}

int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status) {
    int counts = *request == watched && watched != MPI_REQUEST_NULL;
    int code = PMPI_Test(request, flag, status);
    if (*flag && counts) {
        watched = MPI_REQUEST_NULL; /* another request may be given the same handle */
        count_completion();
    }
    return code;
}

double MPI_Wtime(void) {
    if (looks_due > 0 && --looks_due == 0)
        at_look();
    return PMPI_Wtime() - behind_seconds;
}
