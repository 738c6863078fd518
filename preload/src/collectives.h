/* The table of collectives. A row is
 *
 *     X(Name, name, (parameters), (arguments), bytes, root)
 *
 * and generates MPI_Name, MPI_Iname and MPI_Name_init. C is the type of counts, D that of displacements, so that one
 * table also serves the functions whose names end in _c. `bytes` is the number of bytes that this process contributes,
 * from the arguments of the call; with gather, scatter, allgather and alltoall, it is the number of bytes of one block,
 * as in the OSU Micro-Benchmarks; -1: unknown. `root` is the root argument.
 *
 * The macros and functions in column `bytes` are defined in calls.c. COMM is the struct comm of the communicator: its
 * `size` is the number of processes in the group of this process; its `peers` is the number of blocks that this process
 * exchanges, i.e. the size of the other group of an intercommunicator, else `size`. bytes_of(count, datatype) is count
 * times the size of the datatype. `rooted` also has the root as an argument, and is -1 if the root is MPI_ROOT or
 * MPI_PROC_NULL, on intercommunicators. SUM(counts, n) adds n counts. EACH(counts, datatypes, n) adds the bytes of n
 * blocks with different datatypes. MPI_Neighbor_alltoallv and w have unknown sizes, because the number of neighbors is
 * not kept. */
#ifndef DOWNBEAT_PRELOAD_COLLECTIVES_H
#define DOWNBEAT_PRELOAD_COLLECTIVES_H

#include <mpi.h>
#include <stdint.h>

#define NO_ROOT INT32_MIN /* value of `root` for collectives without a root */

#define BARRIER(X) X(Barrier, barrier, (MPI_Comm comm), (comm), 0, NO_ROOT)

#define COLLECTIVES(X, C, D, COMM)                                                                                     \
    X(Bcast, bcast, (void *buffer, C count, MPI_Datatype datatype, int root, MPI_Comm comm),                           \
      (buffer, count, datatype, root, comm), rooted(root, count, datatype), root)                                      \
    X(Gather, gather,                                                                                                  \
      (const void *sendbuf, C sendcount, MPI_Datatype sendtype, void *recvbuf, C recvcount, MPI_Datatype recvtype,     \
       int root, MPI_Comm comm),                                                                                       \
      (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm),                                        \
      sendbuf == MPI_IN_PLACE ? rooted(root, recvcount, recvtype) : rooted(root, sendcount, sendtype), root)           \
    X(Gatherv, gatherv,                                                                                                \
      (const void *sendbuf, C sendcount, MPI_Datatype sendtype, void *recvbuf, const C recvcounts[], const D displs[], \
       MPI_Datatype recvtype, int root, MPI_Comm comm),                                                                \
      (sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, root, comm),                               \
      sendbuf == MPI_IN_PLACE ? rooted(root, recvcounts[root], recvtype) : rooted(root, sendcount, sendtype), root)    \
    X(Scatter, scatter,                                                                                                \
      (const void *sendbuf, C sendcount, MPI_Datatype sendtype, void *recvbuf, C recvcount, MPI_Datatype recvtype,     \
       int root, MPI_Comm comm),                                                                                       \
      (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm),                                        \
      recvbuf == MPI_IN_PLACE ? rooted(root, sendcount, sendtype) : rooted(root, recvcount, recvtype), root)           \
    X(Scatterv, scatterv,                                                                                              \
      (const void *sendbuf, const C sendcounts[], const D displs[], MPI_Datatype sendtype, void *recvbuf, C recvcount, \
       MPI_Datatype recvtype, int root, MPI_Comm comm),                                                                \
      (sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype, root, comm),                               \
      recvbuf == MPI_IN_PLACE ? rooted(root, sendcounts[root], sendtype) : rooted(root, recvcount, recvtype), root)    \
    X(Allgather, allgather,                                                                                            \
      (const void *sendbuf, C sendcount, MPI_Datatype sendtype, void *recvbuf, C recvcount, MPI_Datatype recvtype,     \
       MPI_Comm comm),                                                                                                 \
      (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm),                                              \
      sendbuf == MPI_IN_PLACE ? bytes_of(recvcount, recvtype) : bytes_of(sendcount, sendtype), NO_ROOT)                \
    X(Allgatherv, allgatherv,                                                                                          \
      (const void *sendbuf, C sendcount, MPI_Datatype sendtype, void *recvbuf, const C recvcounts[], const D displs[], \
       MPI_Datatype recvtype, MPI_Comm comm),                                                                          \
      (sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm),                                     \
      sendbuf == MPI_IN_PLACE ? bytes_of(recvcounts[COMM->rank], recvtype) : bytes_of(sendcount, sendtype), NO_ROOT)   \
    X(Alltoall, alltoall,                                                                                              \
      (const void *sendbuf, C sendcount, MPI_Datatype sendtype, void *recvbuf, C recvcount, MPI_Datatype recvtype,     \
       MPI_Comm comm),                                                                                                 \
      (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm),                                              \
      sendbuf == MPI_IN_PLACE ? bytes_of(recvcount, recvtype) : bytes_of(sendcount, sendtype), NO_ROOT)                \
    X(Alltoallv, alltoallv,                                                                                            \
      (const void *sendbuf, const C sendcounts[], const D sdispls[], MPI_Datatype sendtype, void *recvbuf,             \
       const C recvcounts[], const D rdispls[], MPI_Datatype recvtype, MPI_Comm comm),                                 \
      (sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm),                          \
      sendbuf == MPI_IN_PLACE ? bytes_of(SUM(recvcounts, COMM->peers), recvtype)                                       \
                              : bytes_of(SUM(sendcounts, COMM->peers), sendtype),                                      \
      NO_ROOT)                                                                                                         \
    X(Alltoallw, alltoallw,                                                                                            \
      (const void *sendbuf, const C sendcounts[], const D sdispls[], const MPI_Datatype sendtypes[], void *recvbuf,    \
       const C recvcounts[], const D rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm),                        \
      (sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, comm),                        \
      sendbuf == MPI_IN_PLACE ? EACH(recvcounts, recvtypes, COMM->peers) : EACH(sendcounts, sendtypes, COMM->peers),   \
      NO_ROOT)                                                                                                         \
    X(Reduce, reduce,                                                                                                  \
      (const void *sendbuf, void *recvbuf, C count, MPI_Datatype datatype, MPI_Op op, int root, MPI_Comm comm),        \
      (sendbuf, recvbuf, count, datatype, op, root, comm), rooted(root, count, datatype), root)                        \
    X(Allreduce, allreduce,                                                                                            \
      (const void *sendbuf, void *recvbuf, C count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm),                  \
      (sendbuf, recvbuf, count, datatype, op, comm), bytes_of(count, datatype), NO_ROOT)                               \
    X(Reduce_scatter, reduce_scatter,                                                                                  \
      (const void *sendbuf, void *recvbuf, const C recvcounts[], MPI_Datatype datatype, MPI_Op op, MPI_Comm comm),     \
      (sendbuf, recvbuf, recvcounts, datatype, op, comm), bytes_of(SUM(recvcounts, COMM->size), datatype), NO_ROOT)    \
    X(Reduce_scatter_block, reduce_scatter_block,                                                                      \
      (const void *sendbuf, void *recvbuf, C recvcount, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm),              \
      (sendbuf, recvbuf, recvcount, datatype, op, comm), bytes_of(recvcount, datatype), NO_ROOT)                       \
    X(Scan, scan, (const void *sendbuf, void *recvbuf, C count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm),      \
      (sendbuf, recvbuf, count, datatype, op, comm), bytes_of(count, datatype), NO_ROOT)                               \
    X(Exscan, exscan, (const void *sendbuf, void *recvbuf, C count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm),  \
      (sendbuf, recvbuf, count, datatype, op, comm), bytes_of(count, datatype), NO_ROOT)                               \
    X(Neighbor_allgather, neighbor_allgather,                                                                          \
      (const void *sendbuf, C sendcount, MPI_Datatype sendtype, void *recvbuf, C recvcount, MPI_Datatype recvtype,     \
       MPI_Comm comm),                                                                                                 \
      (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm), bytes_of(sendcount, sendtype), NO_ROOT)      \
    X(Neighbor_allgatherv, neighbor_allgatherv,                                                                        \
      (const void *sendbuf, C sendcount, MPI_Datatype sendtype, void *recvbuf, const C recvcounts[], const D displs[], \
       MPI_Datatype recvtype, MPI_Comm comm),                                                                          \
      (sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm), bytes_of(sendcount, sendtype),      \
      NO_ROOT)                                                                                                         \
    X(Neighbor_alltoall, neighbor_alltoall,                                                                            \
      (const void *sendbuf, C sendcount, MPI_Datatype sendtype, void *recvbuf, C recvcount, MPI_Datatype recvtype,     \
       MPI_Comm comm),                                                                                                 \
      (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm), bytes_of(sendcount, sendtype), NO_ROOT)      \
    X(Neighbor_alltoallv, neighbor_alltoallv,                                                                          \
      (const void *sendbuf, const C sendcounts[], const D sdispls[], MPI_Datatype sendtype, void *recvbuf,             \
       const C recvcounts[], const D rdispls[], MPI_Datatype recvtype, MPI_Comm comm),                                 \
      (sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm), -1, NO_ROOT)             \
    X(Neighbor_alltoallw, neighbor_alltoallw,                                                                          \
      (const void *sendbuf, const C sendcounts[], const MPI_Aint sdispls[], const MPI_Datatype sendtypes[],            \
       void *recvbuf, const C recvcounts[], const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm),  \
      (sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes, comm), -1, NO_ROOT)

/* Numbers of operations in files. COMM is empty, because the numbers do not depend on column `bytes`. */
#define OPERATION_NUMBER(Name, name, parameters, arguments, bytes, root) OPERATION_##name,
enum operation { BARRIER(OPERATION_NUMBER) COLLECTIVES(OPERATION_NUMBER, int, int, ) OPERATIONS };

#endif
