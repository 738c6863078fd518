/* A world of processes in virtual time, for the library's schemes without MPI and with true time known.
 *
 * Schemes talk to each other through message.h alone and read time through clock.h alone. virtual_message.c defines the
 * functions of message.h, so the linker leaves message.c out; virtual_clock.c has a clock. Every process is a coroutine
 * with a true time of its own, and only its local events move it on: reading its clock, sending and receiving cost
 * time, a message arrives a random delay after it was sent, and a receive ends when the message is there. Because a
 * receive names its sender, and a delay depends on the seed, the pair and the number of the message alone, what comes
 * out does not depend on the order in which processes run: one seed, one result, to the last bit. A deadlock, a message
 * that nobody received and one of another length than expected end the test.
 *
 * Every message carries the length of the longest chain of messages that led to it (Lamport 1978), so the depth of a
 * synchronization, its messages on the critical path, is counted and not timed. */
#ifndef DOWNBEAT_VIRTUAL_H
#define DOWNBEAT_VIRTUAL_H

#include "base/message.h"
#include "clock/clock.h"
#include "clock/clock_map.h"

#include <stddef.h>
#include <stdint.h>

#define VIRTUAL_SINES 3
#define VIRTUAL_TURNS 4

/* At an instant of true time a clock jumps, and goes on at another rate: a virtual machine that migrates. */
struct virtual_turn {
    double at_ns;
    double step_ns;
    double skew; /* relative, more than before */
};

/* A process's clock at true time t shows (t + offset + skew t + ramp(t) + wander(t) + turns(t)) / ns_per_tick,
 * whole ticks, counted from long ago; the process takes a tick for ns_per_tick (1 + calibration). */
struct virtual_oscillator {
    double offset_ns;
    double skew;   /* relative */
    double wander; /* relative: bound of the deviation of frequency by the wander, a sum of slow sines */
    double phase[VIRTUAL_SINES];
    double ramp;         /* relative, per s: the frequency rises by this, as when the room warms up, ... */
    double ramp_from_ns; /* ... from here on ... */
    double ramp_for_ns;  /* ... for this long; 0: forever */
    struct virtual_turn turns[VIRTUAL_TURNS];
    int turn_count;
    double ns_per_tick;
    double calibration; /* relative */
};

/* One-way delays, ns: fixed + Exp(exponential) + Pareto of shape 1.5 and scale `tail`, for a share of the messages, +
 * what the path adds: an asymmetry that is always the same, one that moves, and a delay that depends on the time. */
struct virtual_network {
    double overhead_ns; /* of sending a message, and of receiving one, to the process that does */
    double fixed_ns;
    double exponential_ns;
    double tail_ns;
    double tail_share;
    double tail_most_ns;  /* no tail is longer; 0: as it comes */
    double upward_ns;     /* paths to processes with higher numbers take this longer */
    double asymmetry_ns;  /* every path takes up to this longer */
    double moving_ns;     /* every path takes up to this longer, which moves from one value to another ... */
    double jumping_ns;    /* ... or jumps between values: other routes, other processors ... */
    double moving_for_ns; /* ... in this time */
    double (*path_ns)(int source, int destination, double true_ns); /* NULL: nothing */
};

/* Always the same delay. */
extern const struct virtual_network virtual_quiet;
/* That of the simulations of the literature on estimators: light noise, and a heavy tail. */
extern const struct virtual_network virtual_heavy;

/* Clocks are drawn uniformly from within +- these bounds, where they are bounds. */
struct virtual_model {
    uint64_t seed;
    struct virtual_network network;
    double offset_ns;
    double skew;
    double wander;
    double ramp;
    double ramp_from_ns; /* the same for all clocks, as ramp_for_ns */
    double ramp_for_ns;
    double calibration; /* also what db_clock says of it */
    double ns_per_tick;
    double granularity; /* ticks between two readings that differ; 0: 1 */
    double read_ns;     /* what reading the clock takes; it shows the instant in the middle */
    /* Now and then, at random, the kernel takes the processor away: on average after pause_every_ns, for pause_ns. 0:
     * never. */
    double pause_every_ns;
    double pause_ns;
    double pause_most_ns; /* pauses take from pause_ns to this, by their logarithm; 0: all take pause_ns */
    /* So many turns of clocks of processes chosen at random, at random moments until `turns_until_ns`: by step_ns and
     * up to turn_skew, forwards or backwards. */
    int turns;
    double turns_until_ns;
    double step_ns;
    double turn_skew;
    int per_node;   /* so many processes share a clock, and memory; 0: each is on a node of its own */
    double near_ns; /* the shortest delay of a message between them */
};

struct virtual_world;

/* Zeroed memory, or the end. */
void *virtual_allocate(size_t count, size_t size);

/* Compares doubles, for qsort. */
int virtual_ascending(const void *a, const void *b);

/* Processes 0 .. size - 1, at true time 0. */
struct virtual_world *virtual_create(const struct virtual_model *model, int size);
void virtual_free(struct virtual_world *world);

/* The oscillator of a process, to be looked at or, before virtual_run, replaced. */
struct virtual_oscillator *virtual_oscillator(struct virtual_world *world, int process);

/* A channel between the given processes, or between all where `members` is NULL: in it, a process has the rank of its
 * place among them. For use by the members, in this world. */
struct db_channel virtual_channel(struct virtual_world *world, const int *members, int size);

/* The rank in a channel of the process that calls, and how many there are, from within a body. */
int virtual_rank(const struct db_channel *channel);
int virtual_size(const struct db_channel *channel);

/* Runs `body` on every process until all have returned, each from where its time stood. */
void virtual_run(struct virtual_world *world, void (*body)(int process, void *argument), void *argument);

/* The clock of the process that calls, from within a body. */
const struct db_clock *virtual_clock(void);

/* True time of the process that calls, ns, and its wait until an instant of true time, from within a body. */
double virtual_here_ns(void);
/* True time of the instant that its last reading of its clock showed. */
double virtual_read_ns(void);
void virtual_rest_until(double true_ns);

/* True time of the process that is furthest, ns. */
double virtual_now(const struct virtual_world *world);

/* Moves all processes on to the same true time, ns. */
void virtual_pass_until(struct virtual_world *world, double true_ns);

/* Counts of the last run: messages on the longest chain, and in all; those sent from one process to another. */
long virtual_depth(const struct virtual_world *world);
long virtual_messages(const struct virtual_world *world);
long virtual_messages_between(const struct virtual_world *world, int source, int destination);

/* The reading of a process's clock, whole ticks. */
int64_t virtual_ticks(struct virtual_world *world, int process, double true_ns);

/* The same through a map, ns with fractions. */
double virtual_global_ns(struct virtual_world *world, int process, const struct db_clock_map *map, double true_ns);

#endif
