/* The profile of a recording. */
#ifndef DOWNBEAT_PRELOAD_PROFILE_H
#define DOWNBEAT_PRELOAD_PROFILE_H

#include "trace_file.h"

/* Finds or creates the row of the profile with the same key (site, communicator, ranks, operation, kind, size, phase).
 * Never NULL. */
struct trace_row *recording_row(const struct trace_row *key);

/* Adds a communicator. Returns its number, or TRACE_NONE if there is no room, which is counted. */
uint32_t recording_add_communicator(const struct trace_communicator *communicator);

/* Marks a communicator as freed; its entry is reused once no record refers to it. */
void recording_free_communicator(uint32_t number);

/* Reuses the entry of a freed communicator, unless a record, a call or a start refers to it. */
void profile_release(uint32_t number);

#endif
