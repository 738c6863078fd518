/* Records of calls, or of a sample of them. */
#ifndef DOWNBEAT_PRELOAD_THINNING_H
#define DOWNBEAT_PRELOAD_THINNING_H

#include "trace_file.h"

/* A record to fill in, of a call of this level, which the row keeps; or NULL: there is no room, which is counted. */
struct trace_record *recording_take(struct trace_row *row, int level);

#endif
