/* Process-wide variables, messages, and the search for wrapped functions (process.h). */
#define _GNU_SOURCE
#include "process.h"

#include "print_line.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

_Atomic int library_begun;
_Atomic int library_enabled;
struct settings settings;

void print_message(const char *format, ...) {
    char text[2048];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    print_line(text);
}

void find_next(void **function, const char *name) {
    void *next = dlsym(RTLD_NEXT, name);
    if (next == NULL) {
        print_message(
            "%s is missing in the MPI library of the program; preload the libdownbeat-preload that was built for "
            "this MPI library",
            name);
        abort();
    }
    /* Atomic: concurrent threads store the same value. */
    __atomic_store_n(function, next, __ATOMIC_RELAXED);
}
