/* Detects a harmonized barrier that blocks because some processes do not call it (waits.h): they may wait in
 * MPI_Barrier without this library. These cannot be distinguished from late processes, so the library prints one line
 * with both explanations.
 *
 * libdownbeat-preload's copy of libdownbeat calls the waits_ functions below in place of MPI's (CMakeLists.txt). */
#define _GNU_SOURCE
#include "waits.h"

#include "job.h"
#include "process.h"
#include "recording.h"
#include "sites.h"

#include <stddef.h>

/* Wait before the line, s. Chosen by hand: longer than usual lateness, shorter than the time after which users cancel a
 * program. */
#define PATIENCE_S 5.0
#define POLLS 1024 /* unsuccessful polls per reading of the clock: some 10 us to 1 s */

PER_THREAD struct {
    const struct call *call; /* NULL: this thread does not wait */
    int64_t since;           /* reading at the first poll, ticks */
    unsigned polls;          /* unsuccessful polls in this wait */
    int printed;             /* 1 if this thread has printed the line, or left it to another process */
} waits;

void waits_begin(const struct call *call) {
    waits.call = call;
    waits.polls = 0;
}

static void print_once(void) {
    char site[SITE_TEXT_SIZE];
    waits.printed = 1;
    if (!first_of_job("waits"))
        return;
    site_text(site, waits.call->address);
    print_message(
        "rank %d of %d has waited %g s for other ranks in the barrier at %s: these ranks are late, or call MPI_Barrier "
        "past libdownbeat-preload and never come; if the program hangs, run it without --harmonize",
        waits.call->comm->rank, waits.call->comm->size, PATIENCE_S, site);
}

void waits_poll(void) {
    if (waits.call == NULL || waits.printed || waits.polls++ % POLLS != 0)
        return;
    int64_t now = recording_ticks();
    if (waits.polls == 1)
        waits.since = now;
    else if ((double)(now - waits.since) * recording_tick_ns() > PATIENCE_S * 1e9)
        print_once();
}

/* In place of MPI_Test, MPI_Wait and MPI_Iprobe in libdownbeat. */
int waits_Test(MPI_Request *request, int *flag, MPI_Status *status);
int waits_Wait(MPI_Request *request, MPI_Status *status);
int waits_Iprobe(int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status);

int waits_Test(MPI_Request *request, int *flag, MPI_Status *status) {
    int code = PMPI_Test(request, flag, status);
    if (code == MPI_SUCCESS && !*flag)
        waits_poll();
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
    waits_poll();
    return PMPI_Iprobe(source, tag, comm, flag, status);
}
