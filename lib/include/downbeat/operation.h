/*
 * Your own operation, measured by downbeat-bench like MPI's operations.
 *
 * Define the functions below in a shared object, build it with the mpicc of the MPI library that downbeat-bench was
 * built with, and give the file in place of an operation's name:
 *
 *     mpicc -shared -fPIC -o my_op.so my_op.c
 *     mpirun -n 4 downbeat-bench ./my_op.so allreduce -m 8:1M
 *
 * A word that contains a slash or ends in ".so" is a file. Text in parentheses after it is passed to setup unchanged:
 * ./my_op.so(ring, 4 segments). In tables, the operation has the name of the file, without path and ".so".
 *
 * Three functions are required; one function and two strings are optional. All are called by one thread, in this order:
 * setup; run, many times, and validate now and then; teardown. Several operations of different sizes may exist at the
 * same time; each has its own state.
 *
 * A function returns MPI_SUCCESS or any other int: an MPI error code, or a number of your own. Any value other than
 * MPI_SUCCESS ends the run, with one line that names the rank and the value.
 */
#ifndef DOWNBEAT_OPERATION_H_PUBLIC
#define DOWNBEAT_OPERATION_H_PUBLIC

#include <mpi.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Setup: allocates memory, requests, communicators.
 *
 *   IN   comm        communicator of the operation alone; its error handler is MPI_ERRORS_RETURN (handle)
 *   IN   bytes       message size from option -m; 0 if the operation has no size
 *   IN   parameters  text in parentheses, "" without parentheses (string); valid until teardown
 *   OUT  state       pointer to the data of the operation, passed to the other functions
 *
 * Collective over comm. Return an error on any process if the size or the parameters are not valid. */
int downbeat_operation_setup(MPI_Comm comm, size_t bytes, const char *parameters, void **state);

/* Run: one call of the operation, timed from the call to the return on each process.
 *
 *   INOUT  state  from setup
 *
 * Collective if the operation is collective. */
int downbeat_operation_run(void *state);

/* Teardown: releases everything that setup created.
 *
 *   INOUT  state  from setup
 *
 * Collective. Called if setup succeeded on all processes. */
int downbeat_operation_teardown(void *state);

#define DOWNBEAT_MAX_ERROR 256

/* Optional. Validate: calls the operation with known data and checks the result (option --validate).
 *
 *   INOUT  state  from setup
 *   OUT    error  the first wrong result on this process, in one line, e.g. "element 3 is 5 instead of 6"; initially
 *                 "", leave it so if all is correct
 *
 * Collective. Return MPI_SUCCESS also if the result is wrong. */
int downbeat_operation_validate(void *state, char error[DOWNBEAT_MAX_ERROR]);

/* Optional. Meaning of the message size in bytes, e.g. "of the message, per rank"; "" if the operation has no size.
 * Default: "as set up takes them". */
extern const char downbeat_operation_size[];

/* Optional. Datatype of a message and, if any, the reduction, e.g. "MPI_DOUBLE, summed". Default: "its own". */
extern const char downbeat_operation_datatype[];

#ifdef __cplusplus
}
#endif

#endif
