/* Barriers with a common start whose other processes do not come. */
#ifndef DOWNBEAT_PRELOAD_WAITS_H
#define DOWNBEAT_PRELOAD_WAITS_H

#include "recorded_call.h"

/* This thread waits for others in a barrier that has a common start; NULL: no more. */
void waits_begin(const struct call *call);

/* After a look for others that was in vain. */
void waits_still(void);

#endif
