#include "check.h"
#include "virtual_world.h"

#include <math.h>

/* Whose turn it is: one process runs, until it waits for a message or is done. */
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

struct virtual_world *virtual_create(const struct virtual_model *model, int size) {
    struct virtual_world *world = virtual_allocate(1, sizeof *world);
    world->model = *model;
    world->size = size;
    world->processes = virtual_allocate((size_t)size, sizeof *world->processes);
    for (int i = 0; i < size; ++i) {
        struct process *process = &world->processes[i];
        process->world = world;
        process->index = i;
        virtual_draw_clock(process);
    }
    virtual_draw_turns(world);
    return world;
}

void virtual_free(struct virtual_world *world) {
    for (int i = 0; i < world->size; ++i)
        free(world->processes[i].paths);
    for (int i = 0; i < world->group_count; ++i) {
        free(world->groups[i].members);
        free(world->groups[i].rank_of);
    }
    free(world->groups);
    free(world->processes);
    free(world);
}

static void live(void) {
    struct process *process = virtual_self;
    struct virtual_world *world = process->world;
    coroutine_begin(&world->scheduler);
    world->body(process->index, world->argument);
    process->done = 1;
    coroutine_end(&process->coroutine, &world->scheduler);
}

static void run_all(struct virtual_world *world) {
    while (world->first_ready != NULL) {
        virtual_self = world->first_ready;
        world->first_ready = virtual_self->next_ready;
        if (world->first_ready == NULL)
            world->last_ready = &world->first_ready;
        coroutine_switch(&world->scheduler, &virtual_self->coroutine);
    }
    virtual_self = NULL;
}

static void check_all_done(const struct virtual_world *world) {
    int stuck = 0;
    for (int i = 0; i < world->size; ++i) {
        const struct process *process = &world->processes[i];
        if (!process->done)
            fprintf(stderr, "deadlock: process %d waits for %d\n", i, process->wanted.source);
        stuck |= !process->done;
    }
    if (stuck)
        check_fail();
    for (int i = 0; i < world->size; ++i)
        CHECK(world->processes[i].inbox == NULL);
}

void virtual_run(struct virtual_world *world, void (*body)(int process, void *argument), void *argument) {
    struct coroutine_stacks stacks = coroutine_stacks_create(world->size);
    world->body = body;
    world->argument = argument;
    world->first_ready = NULL;
    world->last_ready = &world->first_ready;
    for (int i = 0; i < world->size; ++i) {
        struct process *process = &world->processes[i];
        process->done = 0;
        process->depth = 0;
        process->inbox_end = &process->inbox;
        virtual_forget_sent(process);
        virtual_set_clock(process);
        coroutine_create(&process->coroutine, &stacks, i, live);
        virtual_make_ready(process);
    }
    run_all(world);
    check_all_done(world);
    coroutine_stacks_free(&stacks);
}

double virtual_now(const struct virtual_world *world) {
    double now_ns = 0.0;
    for (int i = 0; i < world->size; ++i)
        now_ns = fmax(now_ns, world->processes[i].now_ns);
    return now_ns;
}

void virtual_pass_until(struct virtual_world *world, double true_ns) {
    CHECK_THAT(true_ns, >=, virtual_now(world));
    for (int i = 0; i < world->size; ++i)
        world->processes[i].now_ns = true_ns;
}

long virtual_depth(const struct virtual_world *world) {
    long depth = 0;
    for (int i = 0; i < world->size; ++i)
        if (world->processes[i].depth > depth)
            depth = world->processes[i].depth;
    return depth;
}
