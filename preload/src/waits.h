/* Detects harmonized barriers that other processes do not call. */
#ifndef DOWNBEAT_PRELOAD_WAITS_H
#define DOWNBEAT_PRELOAD_WAITS_H

#include "recorded_call.h"

/* Begins the wait of this thread in the harmonized barrier of `call`; NULL ends the wait. */
void waits_begin(const struct call *call);

/* Call it after each unsuccessful poll. Prints the line after a long wait. */
void waits_poll(void);

#endif
