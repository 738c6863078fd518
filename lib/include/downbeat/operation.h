/*
 * An operation of your own, measured by downbeat-bench as MPI's are.
 *
 * Write the functions below into a shared object, built with the mpicc of the MPI library that downbeat-bench was built
 * with, and name the file where an operation is asked for:
 *
 *     mpicc -shared -fPIC -o my_op.so my_op.c
 *     mpirun -n 4 downbeat-bench ./my_op.so allreduce -m 8:1M
 *
 * A word with a slash in it, or that ends in ".so", is a file. What stands in parentheses behind it is handed to set up
 * as it is: ./my_op.so(ring, 4 segments). Tables call the operation by the name of the file, without path and ".so".
 *
 * Three functions must be there, one and two texts may be. All are called by one thread, in the order: set up; run,
 * many times, and validate now and then; tear down. There may be several operations at a time, of different sizes; each
 * has its state.
 *
 * A function returns MPI_SUCCESS, or any other int: an MPI error code, or a number of your own. Whatever is not
 * MPI_SUCCESS ends the run, with one line that names the rank and the number.
 */
#ifndef DOWNBEAT_OPERATION_H_PUBLIC
#define DOWNBEAT_OPERATION_H_PUBLIC

#include <mpi.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Set up: memory, requests, communicators.
 *
 *   IN   comm        communicator that belongs to the operation, and returns errors (handle)
 *   IN   bytes       message size, as option -m gives it; 0 where the operation has no size
 *   IN   parameters  what stood in parentheses, "" if nothing did (string); valid until tear down
 *   OUT  state       whatever the other functions need
 *
 * Collective over comm. Return an error on any process for sizes or parameters that cannot be. */
int downbeat_operation_setup(MPI_Comm comm, size_t bytes, const char *parameters, void **state);

/* Run once: what is timed, from the call to the return on each process.
 *
 *   INOUT  state  as set up left it
 *
 * Collective, as far as the operation is. */
int downbeat_operation_run(void *state);

/* Tear down: releases what set up made.
 *
 *   INOUT  state  as set up left it
 *
 * Collective. Called where set up succeeded on all processes. */
int downbeat_operation_teardown(void *state);

#define DOWNBEAT_MAX_ERROR 256

/* Optional. Validate: calls the operation with known contents and looks at what it leaves (option --validate).
 *
 *   INOUT  state  as set up left it
 *   OUT    error  the first thing that is wrong on this process, in one line: "element 3 is 5 instead of 6"; "" where
 *                 all is right, which is what it is when the call begins
 *
 * Collective. A wrong result is no error of this function: it returns MPI_SUCCESS. */
int downbeat_operation_validate(void *state, char error[DOWNBEAT_MAX_ERROR]);

/* Optional. What the bytes of a message size are: "of the message, per rank". "" says that the operation has no size.
 * Default: "as set up takes them". */
extern const char downbeat_operation_size[];

/* Optional. What a message consists of, and what is done with it: "MPI_DOUBLE, summed". Default: "its own". */
extern const char downbeat_operation_datatype[];

#ifdef __cplusplus
}
#endif

#endif
