#define _GNU_SOURCE
#include "coroutine.h"

#include "check.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#else
#define __sanitizer_start_switch_fiber(shadow, stack, bytes) (void)0
#define __sanitizer_finish_switch_fiber(shadow, stack, bytes) (void)0
#endif
#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#else
#define VALGRIND_STACK_REGISTER(start, end) 0
#define VALGRIND_STACK_DEREGISTER(id) (void)(id)
#endif

/* Only what is touched of it takes memory. Not a power of two: what all stacks have at the same depth would fall into
 * the same few lines of the caches. */
#define STACK_BYTES ((size_t)257 * 1024 + 192)
/* At the end of a stack, to be found as it was. */
#define SENTINEL UINT64_C(0x5afe57ac6b0770d1)

static char *stack_of(const struct coroutine_stacks *stacks, int index) {
    return stacks->memory + (size_t)index * STACK_BYTES;
}

struct coroutine_stacks coroutine_stacks_create(int count) {
    struct coroutine_stacks stacks = {.count = count};
    stacks.memory = mmap(NULL, (size_t)count * STACK_BYTES, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    stacks.registered = calloc((size_t)count, sizeof *stacks.registered);
    CHECK(stacks.memory != MAP_FAILED && stacks.registered != NULL);
    const uint64_t sentinel = SENTINEL;
    for (int i = 0; i < count; ++i) {
        char *stack = stack_of(&stacks, i);
        memcpy(stack, &sentinel, sizeof sentinel);
        stacks.registered[i] = VALGRIND_STACK_REGISTER(stack, stack + STACK_BYTES);
    }
    return stacks;
}

void coroutine_stacks_free(struct coroutine_stacks *stacks) {
    for (int i = 0; i < stacks->count; ++i) {
        uint64_t sentinel;
        memcpy(&sentinel, stack_of(stacks, i), sizeof sentinel);
        CHECK(sentinel == SENTINEL);
        VALGRIND_STACK_DEREGISTER(stacks->registered[i]);
    }
    free(stacks->registered);
    CHECK(munmap(stacks->memory, (size_t)stacks->count * STACK_BYTES) == 0);
}

void coroutine_create(struct coroutine *coroutine, const struct coroutine_stacks *stacks, int index,
                      void (*body)(void)) {
    *coroutine = (struct coroutine){.stack = stack_of(stacks, index), .stack_bytes = STACK_BYTES};
    CHECK(getcontext(&coroutine->place) == 0);
    coroutine->place.uc_stack.ss_sp = coroutine->stack;
    coroutine->place.uc_stack.ss_size = STACK_BYTES;
    coroutine->place.uc_link = NULL;
    makecontext(&coroutine->place, body, 0);
}

void coroutine_begin(struct coroutine *from) {
    (void)from;
    __sanitizer_finish_switch_fiber(NULL, (const void **)&from->stack, &from->stack_bytes);
}

static void go_on(struct coroutine *from, struct coroutine *to, void **shadow) {
    (void)shadow;
    __sanitizer_start_switch_fiber(shadow, to->stack, to->stack_bytes);
    CHECK(swapcontext(&from->place, &to->place) == 0);
    __sanitizer_finish_switch_fiber(from->shadow, NULL, NULL);
}

void coroutine_switch(struct coroutine *from, struct coroutine *to) { go_on(from, to, &from->shadow); }

void coroutine_end(struct coroutine *from, struct coroutine *to) { go_on(from, to, NULL); }
