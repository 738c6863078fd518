/* The executable's address range. */
#ifndef DOWNBEAT_PRELOAD_EXECUTABLE_H
#define DOWNBEAT_PRELOAD_EXECUTABLE_H

/* True if an address is in the executable's code. */
int in_executable(const void *address);

#endif
