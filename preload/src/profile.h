/* The profile of a recording: rows of counts and times per class of calls, and the communicators that rows refer to. */
#ifndef DOWNBEAT_PRELOAD_PROFILE_H
#define DOWNBEAT_PRELOAD_PROFILE_H

#include "trace_file.h"

/* Finds or creates the row of the profile with the key of `key`: site, communicator, ranks, operation, kind, size and
 * phase. Never returns NULL. */
struct trace_row *recording_row(const struct trace_row *key);

/* Adds a communicator. Returns its number, or TRACE_NONE if there is no room, which is counted. */
uint32_t recording_add_communicator(const struct trace_communicator *communicator);

/* Marks a communicator as freed; its entry is used again when nothing refers to it any more. */
void recording_free_communicator(uint32_t number);

/* Merges the rows of a communicator and frees its entry, if it is freed and no record, call or start refers to it. The
 * caller holds the lock. */
void profile_release(uint32_t number);

#endif
