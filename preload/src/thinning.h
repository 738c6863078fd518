/* Records of all calls, or, if there are more calls than space, of a sample of the calls. The level of a call decides
 * if it is in the sample (trace_file.h). */
#ifndef DOWNBEAT_PRELOAD_THINNING_H
#define DOWNBEAT_PRELOAD_THINNING_H

#include "trace_file.h"

/* Returns a record to fill in for a call of this level; the record holds the row. Returns NULL if the call is not in
 * the sample, or if there is no room, which is counted in the header. */
struct trace_record *recording_take(struct trace_row *row, int level);

#endif
