/* A barrier that has a common start waits for processes that do not come: after MPI_Barrier they would wait for these,
 * if they called it past this library. Nobody can tell that from a late process, so a line says what may be, once.
 *
 * Our own libdownbeat calls these functions for MPI's (CMakeLists.txt). */
#define _GNU_SOURCE
#include "waits.h"

#include "job.h"
#include "process.h"
#include "recording.h"
#include "sites.h"

#include <stddef.h>

/* s; longer than processes are late, and shorter than people wait. */
#define PATIENCE 5.0
#define LOOKS 1024 /* in vain, to a reading of the clock: some 10 us to 1 s */

PER_THREAD struct {
    const struct call *call; /* NULL: it does not wait */
    int64_t since;           /* ticks */
    unsigned looks;
    int told;
} waits;

void waits_begin(const struct call *call) {
    waits.call = call;
    waits.looks = 0;
}

static void say_once(void) {
    char site[SITE_TEXT_SIZE];
    waits.told = 1;
    if (!first_of_job("waits"))
        return;
    site_text(site, waits.call->address);
    say("rank %d of %d has waited %g s for others in the barrier at %s: they are late, or they call MPI_Barrier past "
        "libdownbeat-preload, and will never come; if the program hangs, run it without --harmonize",
        waits.call->comm->rank, waits.call->comm->size, PATIENCE, site);
}

void waits_still(void) {
    if (waits.call == NULL || waits.told || waits.looks++ % LOOKS != 0)
        return;
    int64_t now = recording_ticks();
    if (waits.looks == 1)
        waits.since = now;
    else if ((double)(now - waits.since) * recording_tick_ns() > PATIENCE * 1e9)
        say_once();
}

int waits_Test(MPI_Request *request, int *flag, MPI_Status *status);
int waits_Wait(MPI_Request *request, MPI_Status *status);
int waits_Iprobe(int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status);

int waits_Test(MPI_Request *request, int *flag, MPI_Status *status) {
    int code = PMPI_Test(request, flag, status);
    if (code == MPI_SUCCESS && !*flag)
        waits_still();
    return code;
}

int waits_Wait(MPI_Request *request, MPI_Status *status) {
    int done = 0;
    int code = MPI_SUCCESS;
    if (waits.call == NULL)
        return PMPI_Wait(request, status);
    while (code == MPI_SUCCESS && !done)
        code = waits_Test(request, &done, status);
    return code;
}

int waits_Iprobe(int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status) {
    waits_still();
    return PMPI_Iprobe(source, tag, comm, flag, status);
}
