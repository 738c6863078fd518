/* Requests of nonblocking and persistent collectives. */
#ifndef DOWNBEAT_PRELOAD_COMPLETION_H
#define DOWNBEAT_PRELOAD_COMPLETION_H

#include "recorded_call.h"

/* Associates a request with a nonblocking or persistent call. */
void completion_expect(MPI_Request request, const struct call *call);
void completion_expect_persistent(MPI_Request request, const struct call *call, int root);

/* Associates a request with the communicator that MPI_Comm_idup creates. */
void completion_expect_communicator(MPI_Request request, const MPI_Comm *handle, uint64_t origin);

/* The communicator is freed. */
void completion_forget(const struct comm *comm);

#endif
