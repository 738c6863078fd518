/*
 * An allreduce around a ring, written by hand, to be measured beside MPI's:
 *
 *     cc -shared -fPIC $(pkg-config --cflags downbeat) -o ring_allreduce.so ring_allreduce.c
 *     mpirun -n 4 downbeat-bench ./ring_allreduce.so allreduce -m 8:1M --validate
 *
 * In p - 1 steps every process adds up one of p blocks, in p - 1 more these travel around (Patarasuk and Yuan 2009).
 * ./ring_allreduce.so(max) takes the maximum instead of the sum.
 */
#include <downbeat/operation.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BAD_PARAMETERS 1000001 /* beyond the codes of MPI */

const char downbeat_operation_size[] = "of the message";
const char downbeat_operation_datatype[] = "MPI_DOUBLE";

struct ring {
    MPI_Comm comm;
    int rank;
    int size;
    int maximum;     /* 1: of all contributions; 0: their sum */
    int count;       /* elements */
    double *send;    /* this process's contribution */
    double *result;  /* of all */
    double *arrived; /* a block */
};

static int block_begin(const struct ring *ring, int block) {
    return (int)((long long)ring->count * block / ring->size);
}

static int block_count(const struct ring *ring, int block) {
    return block_begin(ring, block + 1) - block_begin(ring, block);
}

/* Block numbers go around the ring. */
static int wrap(const struct ring *ring, int block) { return (block % ring->size + ring->size) % ring->size; }

/* Sends a block of the result to the next process and receives one from the one before into `to`. */
static int shift(const struct ring *ring, int block_out, int block_in, double *to) {
    return MPI_Sendrecv(ring->result + block_begin(ring, block_out), block_count(ring, block_out), MPI_DOUBLE,
                        wrap(ring, ring->rank + 1), 0, to, block_count(ring, block_in), MPI_DOUBLE,
                        wrap(ring, ring->rank - 1), 0, ring->comm, MPI_STATUS_IGNORE);
}

static void combine(const struct ring *ring, int block) {
    double *into = ring->result + block_begin(ring, block);
    for (int i = 0; i < block_count(ring, block); ++i) {
        if (!ring->maximum)
            into[i] += ring->arrived[i];
        else if (ring->arrived[i] > into[i])
            into[i] = ring->arrived[i];
    }
}

/* Element i of rank r is r + i % 1000: small whole numbers, which sums do not round. */
static void contribute(const struct ring *ring) {
    for (int i = 0; i < ring->count; ++i) {
        ring->send[i] = ring->rank + i % 1000;
        ring->result[i] = ring->arrived[i] = -1.0; /* written, so that no call meets memory for the first time */
    }
}

int downbeat_operation_setup(MPI_Comm comm, size_t bytes, const char *parameters, void **state) {
    if (bytes % sizeof(double) != 0 || bytes / sizeof(double) > 0x7fffffff)
        return MPI_ERR_COUNT;
    if (strcmp(parameters, "") != 0 && strcmp(parameters, "max") != 0)
        return BAD_PARAMETERS;
    struct ring *ring = calloc(1, sizeof *ring);
    if (ring == NULL)
        return MPI_ERR_NO_MEM;
    ring->comm = comm;
    ring->maximum = strcmp(parameters, "max") == 0;
    ring->count = (int)(bytes / sizeof(double));
    MPI_Comm_rank(comm, &ring->rank);
    MPI_Comm_size(comm, &ring->size);
    ring->send = malloc(bytes);
    ring->result = malloc(bytes);
    ring->arrived = malloc(bytes);
    if (ring->send == NULL || ring->result == NULL || ring->arrived == NULL) {
        downbeat_operation_teardown(ring);
        return MPI_ERR_NO_MEM;
    }
    contribute(ring);
    *state = ring;
    return MPI_SUCCESS;
}

int downbeat_operation_run(void *state) {
    const struct ring *ring = state;
    memcpy(ring->result, ring->send, (size_t)ring->count * sizeof(double));
    for (int step = 0; step < ring->size - 1; ++step) {
        int block_in = wrap(ring, ring->rank - step - 1);
        int code = shift(ring, wrap(ring, ring->rank - step), block_in, ring->arrived);
        if (code != MPI_SUCCESS)
            return code;
        combine(ring, block_in);
    }
    for (int step = 0; step < ring->size - 1; ++step) {
        int block_in = wrap(ring, ring->rank - step);
        int code = shift(ring, wrap(ring, ring->rank - step + 1), block_in, ring->result + block_begin(ring, block_in));
        if (code != MPI_SUCCESS)
            return code;
    }
    return MPI_SUCCESS;
}

int downbeat_operation_teardown(void *state) {
    struct ring *ring = state;
    free(ring->send);
    free(ring->result);
    free(ring->arrived);
    free(ring);
    return MPI_SUCCESS;
}

int downbeat_operation_validate(void *state, char error[DOWNBEAT_MAX_ERROR]) {
    const struct ring *ring = state;
    contribute(ring);
    int code = downbeat_operation_run(state);
    for (int i = 0; code == MPI_SUCCESS && i < ring->count; ++i) {
        double sum = (double)ring->size * (i % 1000) + ring->size * (ring->size - 1) / 2.0;
        double right = ring->maximum ? ring->size - 1.0 + i % 1000 : sum;
        if (ring->result[i] != right) {
            snprintf(error, DOWNBEAT_MAX_ERROR, "element %d is %g instead of %g", i, ring->result[i], right);
            break;
        }
    }
    return code;
}
