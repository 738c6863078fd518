/* Waiting until an instant on the local clock. */
#ifndef DOWNBEAT_WAIT_H
#define DOWNBEAT_WAIT_H

#include "clock.h"

/* Waits until `clock` shows at least `ticks`; returns the reading that ended the wait. A patient wait leaves the
 * processor to others until shortly before. */
int64_t db_wait_until(const struct db_clock *clock, int64_t ticks, int patient);

#endif
