/* Call sites in Python: lines of Python programs that call MPI by mpi4py, ctypes or cffi. */
#ifndef DOWNBEAT_PRELOAD_PYTHON_FRAMES_H
#define DOWNBEAT_PRELOAD_PYTHON_FRAMES_H

#include "sharing.h"
#include "trace_file.h"

INTERNAL int python_begun; /* 1 if the process has a Python interpreter */

/* Sets python_begun. */
void python_frames_begin(void);

/* python_caller in a process with a Python interpreter. */
const void *python_frame_caller(const void *address);

/* Returns the call site of a return address. If the address is in a Python binding of MPI, the site is an address that
 * represents file and line of the running Python frame; else it is the return address itself. */
static inline const void *python_caller(const void *address) {
    return __builtin_expect(python_begun, 0) ? python_frame_caller(address) : address;
}

/* Describes a Python call site in `site` and returns 1; returns 0 if `address` is a return address. */
int python_site(const void *address, struct trace_site *site);

#endif
