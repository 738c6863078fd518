/* Wrappers of Fortran's bindings. The bindings call the C functions, which are recorded (process.h, BOTH), but hide the
 * call site. So these wrappers store the return address (frames.h, fortran_call), and pass their arguments on without
 * using them; all arguments are pointers. Each wrapper has the largest number of parameters of any collective; surplus
 * arguments are ignored. */
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
        int is_outermost = fortran_site(frame) == NULL;                                                                \
        if (is_outermost)                                                                                              \
            fortran_call = (struct fortran_call){frame, __builtin_return_address(0)};                                  \
        real(a, b, c, d, e, f, g, h, i, j, k, l);                                                                      \
        if (is_outermost)                                                                                              \
            fortran_call = (struct fortran_call){0};                                                                   \
    }

/* Symbols of mpif.h and `use mpi`, and of `use mpi_f08` without and with buffer descriptors. */
#define ENTRIES(name) ENTRY(name##_) ENTRY(name##__) ENTRY(name##_f08_) ENTRY(name##_f08ts_)
#define OF_COLLECTIVE(Name, name, parameters, arguments, bytes, root)                                                  \
    ENTRIES(mpi_##name) ENTRIES(mpi_i##name) ENTRIES(mpi_##name##_init)
BARRIER(OF_COLLECTIVE)
COLLECTIVES(OF_COLLECTIVE, int, int, )
