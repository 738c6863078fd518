/* MPI_Wtime. Its origin and rate depend on the MPI library: Open MPI starts it at each process's first call, Intel MPI
 * calibrates it per process, and MPI_WTIME_IS_GLOBAL is sometimes true when it should not be. So it has no identity and
 * is never assumed to be shared. */
#include "clock/clock.h"

#include <math.h>
#include <mpi.h>

static int64_t wtime_read(const struct db_clock *clock) {
    return (int64_t)((MPI_Wtime() - clock->data.wtime_origin) * 1e9);
}

/* Opens the clock. */
static int wtime_open(struct db_clock *clock) {
    /* Subtract whole seconds: small numbers keep the resolution of the double. */
    clock->data.wtime_origin = floor(MPI_Wtime());
    clock->absolute = 1;
    clock->absolute_ns = (int64_t)clock->data.wtime_origin * 1000000000;
    return 0;
}

static int64_t wtime_wait_until(const struct db_clock *clock, int64_t ticks) {
    int64_t reading = INT64_MIN;
    int64_t before;
    do { /* ends early if the clock is set back, as in clock_posix.c: MPICH uses the realtime clock */
        before = reading;
        reading = wtime_read(clock);
    } while (reading < ticks && reading >= before);
    return reading;
}

const struct db_clock_type db_clock_wtime = {
    .component = {DB_DESCRIBED("wtime", "MPI_Wtime; never assumed to be shared", "", DB_NO_PARAMETERS)},
    .open = wtime_open,
    .read = wtime_read,
    .wait_until = wtime_wait_until};
