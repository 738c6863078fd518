/* Joins the files of a node's processes. */
#ifndef DOWNBEAT_PRELOAD_JOINING_H
#define DOWNBEAT_PRELOAD_JOINING_H

#include <stdint.h>

/* Appends the used part of a process's file to an open file. Returns 0, or an errno. */
int recording_append(int target, const char *path);

#endif
