/* Harmonized barriers (starts.h): MPIX_Harmonize in place of MPI_Barrier, if all processes of the communicator request
 * it. */
#define _GNU_SOURCE
#include "starts.h"

#include "frames.h"
#include "job.h"
#include "process.h"
#include "recording.h"
#include "samples.h"
#include "sites.h"
#include "waits.h"

#include <limits.h>
#include <mpix_harmonize.h>

/* Prints once why a barrier is not harmonized although rank `requesting` requests it: rank `refusing` does not.
 * Collective, since the printing process needs the call site of the other process. */
static void print_mixed(const struct call *call, int refusing, int requesting) {
    struct comm *comm = call->comm;
    char local_site[SITE_TEXT_SIZE];
    char site[SITE_TEXT_SIZE] = "";
    if (comm->mixed)
        return;
    comm->mixed = 1;
    if (comm->rank == requesting)
        site_text(site, call->address);
    PMPI_Bcast(site, SITE_TEXT_SIZE, MPI_CHAR, requesting, comm->handle);
    if (comm->rank != refusing || !first_of_job("mixed"))
        return;
    site_text(local_site, call->address);
    print_message(
        "a barrier of %d ranks gets no common start: its rank %d calls it from the executable, at %s, but its rank %d "
        "from a library, or after MPI_Pcontrol(0), at %s; --callers all harmonizes barriers of libraries, too",
        comm->size, requesting, site, refusing, local_site);
}

int starts_agree(const struct call *call, int requested, int *code) {
    struct comm *comm = call->comm;
    /* No agreement: it was reached before, or there is no other process. Barriers of intercommunicators stay as they
     * are.
     */
    if (comm->harmonized || comm->inter || comm->size == 1)
        return comm->harmonized || (comm->size == 1 && requested);
    /* Minima over all ranks: 1 if all ranks request it; the lowest rank that does not request it, and the lowest rank
     * that requests it; INT_MAX: none. */
    enum { REQUESTED, REFUSING_RANK, REQUESTING_RANK, MINIMA };
    int lowest[MINIMA];
    lowest[REQUESTED] = requested;
    lowest[REFUSING_RANK] = requested ? INT_MAX : comm->rank;
    lowest[REQUESTING_RANK] = requested ? comm->rank : INT_MAX;
    MPI_Request request;
    waits_begin(call);
    *code = PMPI_Iallreduce(MPI_IN_PLACE, lowest, MINIMA, MPI_INT, MPI_MIN, comm->handle, &request);
    for (int done = 0; *code == MPI_SUCCESS && !done;) {
        *code = PMPI_Test(&request, &done, MPI_STATUS_IGNORE);
        if (!done)
            waits_poll();
    }
    waits_begin(NULL);
    if (*code != MPI_SUCCESS)
        return 0;
    comm->harmonized = lowest[REQUESTED];
    if (!comm->harmonized && lowest[REQUESTING_RANK] != INT_MAX)
        print_mixed(call, lowest[REFUSING_RANK], lowest[REQUESTING_RANK]);
    return comm->harmonized;
}

int starts_barrier(struct call *call) {
    int flag;
    samples_resolve(call->comm);
    waits_begin(call);
    int code = MPIX_Harmonize(call->comm->handle, &flag);
    waits_begin(NULL);
    return code;
}

void starts_end(struct call *call, int code) {
    call->exit = recording_ticks();
    frame_leave(call->frame);
    if (code != MPI_SUCCESS)
        return;
    call_complete(call);
    samples_begin(call->comm, call->address, call->exit);
}
