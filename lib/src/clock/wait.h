/* Waiting until an instant on the local clock. */
#ifndef DOWNBEAT_WAIT_H
#define DOWNBEAT_WAIT_H

#include "base/patience.h"
#include "clock/clock.h"

/* Waits until `clock` shows at least `ticks`, from a reading `now` on; returns the reading that ended the wait. Sleeps
 * for the most part of a long wait; with DB_YIELD it leaves the processor to others until shortly before, in a short
 * one too. */
int64_t db_wait_until(const struct db_clock *clock, int64_t now, int64_t ticks, enum db_patience patience);

#endif
