/* Shared by the parts of the virtual world: virtual.c (worlds, runs, whose turn it is), virtual_clock.c (time),
 * virtual_message.c (message.h), virtual_memory.c (mailbox.h, where starts are tried). */
#ifndef DOWNBEAT_VIRTUAL_WORLD_H
#define DOWNBEAT_VIRTUAL_WORLD_H

#include "coroutine.h"
#include "virtual.h"

#include <stddef.h>

/* A counter that has run for a week or two: too large for a double to keep its nanoseconds. */
#define BASE_TICKS ((int64_t)1 << 51)

/* As in MPI, messages between two processes and those of collective operations do not match. */
enum kind { MESSAGE, COLLECTIVE };

struct group {
    int size;
    int *members;
    int *rank_of; /* process -> rank, -1 for others than members */
};

/* The message that a receive asks for. */
struct envelope {
    int source; /* process */
    int group;
    enum kind kind;
};

struct message {
    struct message *next;
    struct envelope envelope;
    double arrival_ns;
    long depth;
    int count;
    int64_t words[];
};

/* The path from one process to another. */
struct path {
    int destination; /* -1: no path is kept here */
    long sent_in_run;
    uint64_t sent; /* numbers the delays: never reset */
    double last_arrival_ns;
};

struct process {
    struct virtual_world *world;
    int index;
    struct coroutine coroutine;
    int done;
    struct process *next_ready; /* in the queue of those whose turn will come */
    struct message *inbox;      /* in the order of sending */
    struct message **inbox_end; /* where the next one is put */
    int waiting;
    struct envelope wanted; /* while waiting */

    double now_ns;  /* true time */
    double read_ns; /* of the last reading of the clock */
    long depth;
    struct virtual_oscillator oscillator;
    struct db_clock clock;
    uint64_t pauses; /* random numbers for them */
    double next_pause_ns;

    /* To those that it has sent to, which are few: a table, open addressing, its size a power of two. */
    struct path *paths;
    int paths_size;
    int paths_used;
};

struct virtual_world {
    struct virtual_model model;
    int size;
    struct process *processes;
    struct group *groups;
    int group_count;
    struct virtual_memory *memory; /* NULL: none is shared */

    /* One process runs at a time, until it waits for a message or is done. */
    struct coroutine scheduler;
    struct process *first_ready;
    struct process **last_ready; /* where the next one is put */
    void (*body)(int process, void *argument);
    void *argument;
};

/* The process that runs; NULL between runs. */
extern struct process *virtual_self;

/* Puts a process into the queue of those whose turn will come. */
void virtual_make_ready(struct process *process);

/* The process that runs has nothing to do before somebody makes it ready. */
void virtual_suspend(void);

/* The clock of a new process. */
void virtual_draw_clock(struct process *process);

/* The turns of all clocks. */
void virtual_draw_turns(struct virtual_world *world);

/* The clock as the library sees it, after the oscillator may have been replaced. */
void virtual_set_clock(struct process *process);

/* Something takes the process that runs some time: a pause comes on top. */
void virtual_work(double ns);

/* The clock at a true time: ticks since BASE_TICKS, with fractions. */
double virtual_fractional_ticks(const struct virtual_oscillator *oscillator, double true_ns);

/* The number of the group that a channel is of. */
int virtual_group_of(const struct db_channel *channel);

/* Messages within a group, by rank. */
int virtual_send(int group, enum kind kind, const int64_t *words, int count, int rank);
int virtual_receive(int group, enum kind kind, int64_t *words, int count, int rank);

/* The memory of nodes (virtual_memory.c), and the channels of a process's node, and of the first processes of all. */
void virtual_memory_create(struct virtual_world *world);
void virtual_memory_free(struct virtual_world *world);
int virtual_nodes(const struct virtual_world *world);
struct db_channel virtual_members(const struct virtual_world *world, int process);
struct db_channel virtual_leaders(const struct virtual_world *world, int process);

/* Numbers of messages count from here on. */
void virtual_forget_sent(struct process *process);

#endif
