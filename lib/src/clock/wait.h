/* Waits until an instant on the local clock, for deadlines (start/release.c) and measurements of clock drift. */
#ifndef DOWNBEAT_WAIT_H
#define DOWNBEAT_WAIT_H

#include "base/patience.h"
#include "clock/clock.h"

/* Waits until `clock` shows at least `ticks`; `now` is its latest reading. Returns the reading that ended the wait:
 * less than `ticks` if the clock was set back meanwhile, which ends the wait. A wait of more than 1 ms sleeps until
 * shortly before the instant; with DB_YIELD, shorter waits also sleep or yield. */
int64_t db_wait_until(const struct db_clock *clock, int64_t now, int64_t ticks, enum db_patience patience);

#endif
