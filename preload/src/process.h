/* Process-wide state: settings, wrapped functions, and messages. */
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

/* The library wraps both MPI_Name and PMPI_Name: Open MPI's Fortran calls PMPI_Name, as do MPICH's mpi_f08 bindings and
 * tools that are loaded before this library. Each wrapper calls the next function of the same name, so a tool that is
 * loaded after this library gets the same calls as without it. If such a tool calls PMPI_Name in turn, `program_frame`
 * (frames.h) shows that the program did not make this call, and the call is not counted again. */

/* BOTH expands X for both names. WRAP declares the pointer to the real function; REAL returns it, and finds it in the
 * first call. */
#define BOTH(X, Name, ...) X(MPI_##Name, __VA_ARGS__) X(PMPI_##Name, __VA_ARGS__)
#define WRAP(Function) static __typeof__(Function) *real_##Function
#define NEXT(Function) __atomic_load_n(&real_##Function, __ATOMIC_RELAXED)
#define REAL(Function)                                                                                                 \
    (__builtin_expect(NEXT(Function) != NULL, 1)                                                                       \
         ? NEXT(Function)                                                                                              \
         : (find_next((void **)(void *)&real_##Function, #Function), NEXT(Function)))

/* Sets `function` to the next definition of a wrapped function after this library; ends the program if it is missing.
 */
void find_next(void **function, const char *name);

/* Prints a line "downbeat: ..." on standard error. */
__attribute__((format(printf, 1, 2))) void print_message(const char *format, ...);

/* 1 between MPI_Init and MPI_Finalize, unless a problem prevents the recording (lifecycle.c). */
INTERNAL _Atomic int library_begun;

/* 1 while the library is switched on: like library_begun, but 0 from MPI_Pcontrol(0) to MPI_Pcontrol(1). */
INTERNAL _Atomic int library_enabled;

INTERNAL struct settings settings;

#endif
