/* The clock that a process opens and calibrates once for all of its communicators. Thread-safe. */
#ifndef DOWNBEAT_PROCESS_CLOCK_H
#define DOWNBEAT_PROCESS_CLOCK_H

#include "clock/clock.h"

/* Like db_clock_open, except that a clock that this process has opened before is not calibrated from the beginning, but
 * refined over the time since then. Returns an MPI error code: MPI_ERR_OTHER if this machine lacks the clock. */
int db_process_clock_open(struct db_clock *clock, const struct db_clock_type *type);

/* Stores the domain of a clock that db_process_clock_open has opened. */
int db_process_clock_set_domain(const struct db_clock *clock);

#endif
