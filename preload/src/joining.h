/* The files of a node become one. */
#ifndef DOWNBEAT_PRELOAD_JOINING_H
#define DOWNBEAT_PRELOAD_JOINING_H

#include <stdint.h>

/* Appends what is in a process's file, without the room that it did not use, to an open file. Returns 0, or an errno.
 */
int recording_append(int target, const char *path);

#endif
