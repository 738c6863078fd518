/* Detects harmonized barriers whose other processes do not come. */
#ifndef DOWNBEAT_PRELOAD_WAITS_H
#define DOWNBEAT_PRELOAD_WAITS_H

#include "recorded_call.h"

/* Begins the wait of this thread in a harmonized barrier; NULL ends it. */
void waits_begin(const struct call *call);

/* Called after an unsuccessful poll. */
void waits_still(void);

#endif
