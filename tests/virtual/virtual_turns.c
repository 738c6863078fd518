/* Whose turn it is: one process runs, until it waits for a message or is done. */
#include "check.h"
#include "virtual_world.h"

struct process *virtual_self;

void *virtual_allocate(size_t count, size_t size) {
    void *memory = calloc(count, size);
    CHECK(memory != NULL);
    return memory;
}

int virtual_ascending(const void *a, const void *b) {
    double left = *(const double *)a;
    double right = *(const double *)b;
    return (left > right) - (left < right);
}

void virtual_make_ready(struct process *process) {
    struct virtual_world *world = process->world;
    process->next_ready = NULL;
    *world->last_ready = process;
    world->last_ready = &process->next_ready;
}

void virtual_suspend(void) {
    struct process *waiting = virtual_self;
    coroutine_switch(&waiting->coroutine, &waiting->world->scheduler);
}
