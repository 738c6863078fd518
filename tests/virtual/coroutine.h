/* Coroutines: many stacks; one runs until it switches to another. AddressSanitizer and Valgrind know of them. */
#ifndef DOWNBEAT_COROUTINE_H
#define DOWNBEAT_COROUTINE_H

#include <stddef.h>
#include <ucontext.h>

/* A coroutine, or what runs them. */
struct coroutine {
    ucontext_t place;
    void *stack;
    size_t stack_bytes;
    void *shadow; /* the sanitizer's, of this stack */
};

/* Stacks for `count` coroutines. */
struct coroutine_stacks {
    char *memory;
    int count;
    unsigned *registered;
};

struct coroutine_stacks coroutine_stacks_create(int count);

/* Ends the test if a stack was not large enough. */
void coroutine_stacks_free(struct coroutine_stacks *stacks);

/* Prepares a coroutine to run `body` on stack number `index`; it must begin with coroutine_begin and never return. */
void coroutine_create(struct coroutine *coroutine, const struct coroutine_stacks *stacks, int index,
                      void (*body)(void));

/* Says who went on at the coroutine that begins. */
void coroutine_begin(struct coroutine *from);

/* Goes on at `to`; returns when somebody goes on at `from`. */
void coroutine_switch(struct coroutine *from, struct coroutine *to);

/* Goes on at `to`, for good. */
void coroutine_end(struct coroutine *from, struct coroutine *to);

#endif
