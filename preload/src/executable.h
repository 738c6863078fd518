/* The executable's address range, to distinguish calls of the program from calls of its libraries. */
#ifndef DOWNBEAT_PRELOAD_EXECUTABLE_H
#define DOWNBEAT_PRELOAD_EXECUTABLE_H

/* Returns 1 if an address is in the executable's code. */
int in_executable(const void *address);

#endif
