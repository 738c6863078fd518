/* The clocks of all processes: synchronized in MPI_Init and MPI_Finalize, and between them if asked. */
#include "preload.h"

#include <mpix_harmonize.h>
#include <stdlib.h>

/* A duplicate of MPI_COMM_WORLD; its global clock is that of the trace. */
static MPI_Comm everyone = MPI_COMM_NULL;
static int rank;

/* Between synchronizations processes count their collectives, which is the same number on all; when they have counted
 * to `due`, process 0 decides. */
static int64_t counted;
static int64_t due;
static int64_t decided_at; /* `counted` */
static int64_t decided;    /* ticks */
static int64_t synchronized;
#define FIRST_DUE 16

/* Over minutes between two synchronizations a frequency changes by more than at once; a ramp does not last as long. */
#define WANDER_OF_A_RUN 1e-6

static double wander(void) {
    MPI_Info info;
    char text[64];
    int found = 0;
    if (MPIX_Harmonize_get_info(everyone, &info) != MPI_SUCCESS)
        return WANDER_OF_A_RUN;
    PMPI_Info_get(info, "max_wander", sizeof text - 1, text, &found);
    PMPI_Info_free(&info);
    double at_once = found ? strtod(text, NULL) : 0.0;
    return at_once > WANDER_OF_A_RUN ? at_once : WANDER_OF_A_RUN;
}

static int take_map(Downbeat_clock *clock) {
    int code = MPIX_Harmonize_sync(everyone);
    return code == MPI_SUCCESS ? Downbeat_get_clock(everyone, clock) : code;
}

int clocks_begin(void) {
    Downbeat_clock clock;
    ++inside;
    int code = PMPI_Comm_dup(MPI_COMM_WORLD, &everyone);
    if (code == MPI_SUCCESS)
        code = take_map(&clock);
    if (code == MPI_SUCCESS) {
        PMPI_Comm_rank(everyone, &rank);
        recording_set_clock(&clock, wander());
        recording_add_map(&clock);
        decided = synchronized = recording_ticks();
        due = FIRST_DUE;
    }
    --inside;
    return code;
}

void clocks_synchronize(void) {
    Downbeat_clock clock;
    ++inside;
    if (take_map(&clock) == MPI_SUCCESS)
        recording_add_map(&clock);
    --inside;
    synchronized = recording_ticks();
}

void clocks_end(void) {
    clocks_synchronize();
    ++inside;
    PMPI_Comm_free(&everyone);
    --inside;
}

/* On process 0: whether it is time, and after how many collectives to ask again. */
static void decide_due(int64_t words[2]) {
    int64_t now = recording_ticks();
    double tick = recording_tick_ns() * 1e-9;
    double each = (double)(now - decided) * tick / (double)(counted - decided_at);
    double waited = (double)(now - synchronized) * tick;
    words[0] = waited >= settings.sync_every;
    double rest = words[0] ? settings.sync_every : settings.sync_every - waited;
    double calls = each > 0.0 ? rest / each : 1.0;
    words[1] = calls < 1.0 ? 1 : calls > 1e9 ? 1000000000 : (int64_t)calls + 1;
    decided = now;
    decided_at = counted;
}

void clocks_after_collective(void) {
    if (++counted < due)
        return;
    int64_t words[2] = {0, 0};
    ++inside;
    if (rank == 0)
        decide_due(words);
    int code = PMPI_Bcast(words, 2, MPI_INT64_T, 0, everyone);
    --inside;
    if (code != MPI_SUCCESS)
        return;
    if (words[0])
        clocks_synchronize();
    due = counted + words[1];
}
