/* What this library is in a process: settings, functions that it hides, and lines that it prints. */
#ifndef DOWNBEAT_PRELOAD_PROCESS_H
#define DOWNBEAT_PRELOAD_PROCESS_H

#include "settings.h"
#include "sharing.h"

#include <mpi.h>
#include <stdatomic.h>

#ifdef OMPI_MAJOR_VERSION
#define OPEN_MPI 1
#else
#define OPEN_MPI 0
#endif

/* Both MPI_Name and PMPI_Name are ours: Open MPI's Fortran calls PMPI_Name, as do MPICH's bindings of mpi_f08, and
 * tools that come before this library. Each goes on to the next function of its own name, so a tool that comes after
 * this library sees what it would see without. Calls that such a tool passes on to PMPI_Name are not counted again:
 * they are `inside`. */
#define BOTH(X, Name, ...) X(MPI_##Name, __VA_ARGS__) X(PMPI_##Name, __VA_ARGS__)
#define WRAP(Function) static __typeof__(Function) *real_##Function
#define FOUND(Function) __atomic_load_n(&real_##Function, __ATOMIC_RELAXED)
#define REAL(Function)                                                                                                 \
    (__builtin_expect(FOUND(Function) != NULL, 1)                                                                      \
         ? FOUND(Function)                                                                                             \
         : (find_next((void **)(void *)&real_##Function, #Function), FOUND(Function)))

/* Finds the function that this library hides; ends the program if there is none. */
void find_next(void **function, const char *name);

/* A line "downbeat: ..." on standard error. */
__attribute__((format(printf, 1, 2))) void say(const char *format, ...);

/* Between MPI_Init and MPI_Finalize; `active` unless switched off by MPI_Pcontrol(0), until MPI_Pcontrol(1). */
INTERNAL _Atomic int begun;
INTERNAL _Atomic int active;

INTERNAL struct settings settings;

#endif
