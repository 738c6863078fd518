/* The profile of a recording. */
#ifndef DOWNBEAT_PRELOAD_PROFILE_H
#define DOWNBEAT_PRELOAD_PROFILE_H

#include "trace_file.h"

/* The row of the profile with the key of this one (site, communicator, ranks, operation, kind, size, phase); made if
 * need be. Never NULL. */
struct trace_row *recording_row(const struct trace_row *key);

/* The number of a new communicator in the file, or TRACE_NONE: there is no room, which is counted. */
uint32_t recording_add_communicator(const struct trace_communicator *communicator);

/* The communicator is freed; its place is used again once no record needs it. */
void recording_free_communicator(uint32_t number);

/* Gives the place of a freed communicator back, unless a record, a call or a start needs it. */
void profile_release(uint32_t number);

#endif
