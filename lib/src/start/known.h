/* Facts that a process learns once for all of its communicators. Several threads may ask at the same time. */
#ifndef DOWNBEAT_KNOWN_H
#define DOWNBEAT_KNOWN_H

#include "clock/clock.h"

/* As db_clock_open, but a clock that this process has opened before is not calibrated anew, and its rate is as good as
 * the time since then makes it. Returns an MPI error code; without the clock, MPI_ERR_OTHER. */
int db_known_clock(struct db_clock *clock, const struct db_clock_type *type);

/* Keeps what was found about the domain of a clock that db_known_clock has opened. */
int db_known_keep_domain(const struct db_clock *clock);

#endif
