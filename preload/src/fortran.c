/* Fortran: MPI's bindings call the C functions, which are recorded (process.h, BOTH), but they hide the caller. So the
 * entries of the bindings are here too: they remember the return address, and pass their arguments on unread. All are
 * pointers. The entries take as many as any collective has; one that has fewer ignores the rest. */
#define _GNU_SOURCE
#include "collectives.h"
#include "frames.h"
#include "process.h"

#include <dlfcn.h>

typedef void entry(void *, void *, void *, void *, void *, void *, void *, void *, void *, void *, void *, void *);

#define ENTRY(symbol)                                                                                                  \
    entry symbol __attribute__((section("downbeat_fortran")));                                                         \
    void symbol(void *a, void *b, void *c, void *d, void *e, void *f, void *g, void *h, void *i, void *j, void *k,     \
                void *l) {                                                                                             \
        FRAME(frame);                                                                                                  \
        static entry *real;                                                                                            \
        if (real == NULL)                                                                                              \
            find_next((void **)(void *)&real, #symbol);                                                                \
        int first = fortran_site(frame) == NULL;                                                                       \
        if (first)                                                                                                     \
            fortran_call = (struct fortran_call){frame, __builtin_return_address(0)};                                  \
        real(a, b, c, d, e, f, g, h, i, j, k, l);                                                                      \
        if (first)                                                                                                     \
            fortran_call = (struct fortran_call){0};                                                                   \
    }

/* mpif.h and `use mpi`; `use mpi_f08` without and with descriptors of buffers. */
#define ENTRIES(name) ENTRY(name##_) ENTRY(name##__) ENTRY(name##_f08_) ENTRY(name##_f08ts_)
#define OF_COLLECTIVE(Name, name, parameters, arguments, bytes, root)                                                  \
    ENTRIES(mpi_##name) ENTRIES(mpi_i##name) ENTRIES(mpi_##name##_init)
BARRIER(OF_COLLECTIVE)
COLLECTIVES(OF_COLLECTIVE, int, int, )
