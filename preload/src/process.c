#define _GNU_SOURCE
#include "process.h"

#include "print_line.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

_Atomic int begun;
_Atomic int active;
struct settings settings;

void say(const char *format, ...) {
    char text[2048];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    print_line(text);
}

void find_next(void **function, const char *name) {
    void *found = dlsym(RTLD_NEXT, name);
    if (found == NULL) {
        say("found no %s in an MPI library that is loaded after libdownbeat-preload; preload the library of the build "
            "for "
            "the program's MPI library",
            name);
        abort();
    }
    /* Threads may look for it at once, and find the same. */
    __atomic_store_n(function, found, __ATOMIC_RELAXED);
}
