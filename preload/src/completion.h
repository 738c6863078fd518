/* Requests of nonblocking and persistent collectives: the wrappers of these collectives register a request here; the
 * wrappers of MPI_Wait etc. in completion.c complete the call. */
#ifndef DOWNBEAT_PRELOAD_COMPLETION_H
#define DOWNBEAT_PRELOAD_COMPLETION_H

#include "recorded_call.h"

/* Associates a request with a nonblocking call, or with the initialization of a persistent collective. */
void completion_expect(MPI_Request request, const struct call *call);
void completion_expect_persistent(MPI_Request request, const struct call *call, int root);

/* Associates a request with the communicator that MPI_Comm_idup creates. */
void completion_expect_communicator(MPI_Request request, const MPI_Comm *handle, uint64_t origin);

/* Removes a communicator that is freed from all requests. */
void completion_forget(const struct comm *comm);

#endif
