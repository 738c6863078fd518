#include "operations/collectives/stale_copies.h"

#include "mpi/mpi_check.h"
#include "operations/collectives/call.h"

namespace bench {
namespace {

bool gathers_old_contents() {
    int sent = 1;
    int received = 0;
    const auto call =
        bind_call(BENCH_FORMS(Gather, gather), &sent, 1, MPI_INT, &received, 1, MPI_INT, 0, MPI_COMM_SELF);
    MPI_Request request = MPI_REQUEST_NULL;
    check(call->init(&request), "MPI_Gather_init");
    sent = 2;
    check(MPI_Start(&request), "MPI_Start");
    check(MPI_Wait(&request, MPI_STATUS_IGNORE), "MPI_Wait");
    check(MPI_Request_free(&request), "MPI_Request_free");
    return received != sent;
}

} // namespace

std::string find_stale_copies(const Component &, int, Form form) {
    if (form != Form::persistent || !gathers_old_contents()) {
        return "";
    }
    return "this MPI library copies some data when the request is made, not when it is started (pmodels/mpich#7078)";
}

} // namespace bench
