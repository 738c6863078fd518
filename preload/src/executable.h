/* Where the executable is in memory. */
#ifndef DOWNBEAT_PRELOAD_EXECUTABLE_H
#define DOWNBEAT_PRELOAD_EXECUTABLE_H

/* Whether an address belongs to it. */
int in_executable(const void *address);

#endif
