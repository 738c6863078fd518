/* Call sites in Python. */
#ifndef DOWNBEAT_PRELOAD_PYTHON_FRAMES_H
#define DOWNBEAT_PRELOAD_PYTHON_FRAMES_H

#include "sharing.h"
#include "trace_file.h"

INTERNAL int python_begun; /* there is Python in the process */

/* Sets it. */
void python_frames_begin(void);

const void *python_frame_caller(const void *address);

/* The call site of a return address: what stands for file and line of the running Python frame, if a binding of MPI for
 * Python is there; else the address. */
static inline const void *python_caller(const void *address) {
    return __builtin_expect(python_begun, 0) ? python_frame_caller(address) : address;
}

/* Describes what python_caller returned; 0: it is a return address. */
int python_site(const void *address, struct trace_site *site);

#endif
