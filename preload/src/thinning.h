/* Records of all calls, or of a sample of them. */
#ifndef DOWNBEAT_PRELOAD_THINNING_H
#define DOWNBEAT_PRELOAD_THINNING_H

#include "trace_file.h"

/* A record to fill in for a call of this level, which holds the row. NULL if the call is not in the sample, or if there
 * is no room, which is counted. */
struct trace_record *recording_take(struct trace_row *row, int level);

#endif
