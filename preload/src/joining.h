/* Joins the files of a node's processes into one file, in MPI_Finalize. */
#ifndef DOWNBEAT_PRELOAD_JOINING_H
#define DOWNBEAT_PRELOAD_JOINING_H

#include <stdint.h>

/* Appends the used data of the file at `path` to the open file `target` as a section. Returns 0, or an errno. */
int recording_append(int target, const char *path);

#endif
