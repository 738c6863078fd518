/* Conditions under which starts are tried in virtual time: given as options, or drawn at random over the domain in
 * which the library's promises hold and a margin beyond it. Seconds, and relative values. */
#ifndef DOWNBEAT_CONDITION_H
#define DOWNBEAT_CONDITION_H

#include "virtual_state.h"

#include <stdio.h>

struct condition {
    const char *name; /* that it began with: "plain" */
    const char *sync; /* NULL: the default */
    double processes;
    double seconds;
    double interval;
    double seed;
    double jitter;
    double skew;
    double wander;
    double ramp;
    double ramp_after;
    double ramp_for;
    double calibration;
    double tick;
    double resolution;
    double read;
    double network;
    double noise;
    double tail;
    double tail_share;
    double tail_most;
    double upward;
    double asymmetry;
    double moving;
    double jumping;
    double moving_for;
    double stops;
    double stop;
    double stop_most;
    double turns;
    double step;
    double rate;
    double absent;
    double absent_after;
    double per_node;
    double near;
    double messages;
};

/* Frequencies within 10 ppm, the wander of an oscillator in an air-conditioned room, a heavy tail of latencies. */
struct condition condition_plain(void);

/* Sets what an option says; `name` without its dashes. Returns 0, or -1 with a line in `message`. */
int condition_set(struct condition *condition, const char *name, const char *value, char message[DOWNBEAT_MAX_MESSAGE]);

/* Prints the options, one a line. */
void condition_print_options(FILE *file);

/* One of a series. */
struct condition condition_draw(uint64_t seed, uint64_t number);

/* As options, on one line, each after a blank. */
void condition_print(FILE *file, const struct condition *condition);

/* Whether the library's promises hold under it; beyond, the library says that they do not. */
int condition_within_domain(const struct condition *condition);

struct virtual_starts condition_starts(const struct condition *condition);

/* Results, against the promises. Calls between the turn of a clock and the next synchronization do not count:
 * nobody can know. */
struct verdict {
    int all_calls; /* and those with flags of 1 */
    int all_valid;
    int calls; /* after the first second, or the absence */
    int valid;
    int broken;             /* all flags were 1, and exits further apart than tolerance and expected error */
    long long beyond_bound; /* clocks, at all calls */
    int blind;              /* calls that do not count */
    int late_calls;         /* calls after the first 2 s, ... */
    int late_valid;         /* ... and those of them with flags of 1 */
};

struct verdict condition_judge(const struct condition *condition, const struct virtual_outcome *outcome);

#endif
