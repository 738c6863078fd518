/* An operation for downbeat-bench that does what its parameters say: crash, exit, hang, fail, overrun, or nothing. */
#define _POSIX_C_SOURCE 200809L
#include <downbeat/operation.h>

#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char downbeat_operation_size[] = "";

struct operation {
    MPI_Comm comm;
    char what[64];
    char *memory; /* of 64 bytes */
    int calls;
    int last; /* whether this is the last rank */
};

int downbeat_operation_setup(MPI_Comm comm, size_t bytes, const char *parameters, void **state) {
    struct operation *mine = calloc(1, sizeof *mine);
    int rank;
    int size;
    (void)bytes;
    if (mine == NULL)
        return MPI_ERR_NO_MEM;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    mine->comm = comm;
    mine->last = rank == size - 1;
    mine->memory = malloc(64);
    strncpy(mine->what, parameters, sizeof mine->what - 1);
    *state = mine;
    return MPI_SUCCESS;
}

int downbeat_operation_run(void *state) {
    struct operation *mine = state;
    if (++mine->calls < 30 || !mine->last)
        return MPI_Barrier(mine->comm);
    if (strcmp(mine->what, "crash") == 0)
        raise(SIGSEGV);
    if (strcmp(mine->what, "abort") == 0)
        abort();
    if (strcmp(mine->what, "exit") == 0)
        exit(0);
    if (strcmp(mine->what, "hang") == 0)
        for (;;)
            pause();
    if (strcmp(mine->what, "fail") == 0)
        return 7;
    if (strcmp(mine->what, "overrun") == 0) /* far beyond its memory, over what the heap keeps there */
        memset((void *)(uintptr_t)mine->memory, 0x41, 1 << 16);
    return MPI_Barrier(mine->comm);
}

int downbeat_operation_teardown(void *state) {
    struct operation *mine = state;
    free(mine->memory);
    free(mine);
    return MPI_SUCCESS;
}
