/* Starts and barriers of many processes with a clock each, in virtual time: one JSON object per run. */
#include "virtual_state.h"
#include "ways.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define USAGE                                                                                                          \
    "usage: scale PROCESSES CONDITION SECONDS PERIOD SEED [SCHEME]\n"                                                  \
    "One call every PERIOD seconds until SECONDS have passed; what comes out is of the calls after the first "         \
    "second.\n"                                                                                                        \
    "Conditions: plain; upward (20 % longer ways to processes with higher numbers); asymmetric (every way longer by "  \
    "up\n"                                                                                                             \
    "to 20 %, at random); ramps (frequencies that rise by up to 5 ppb/s); stops (a process is stopped for 10 ms, "     \
    "ten\n"                                                                                                            \
    "times per second); barrier (a dissemination barrier instead)\n"

/* Frequencies within 10 ppm, the wander of an oscillator in an air-conditioned room, a heavy tail of latencies. */
static const struct virtual_model plain = {
    .offset_ns = 1e9, .skew = 10e-6, .wander = 2e-9, .calibration = 1e-6, .ns_per_tick = 0.4347, .read_ns = 20};

/* Returns 0, or -1 if there is no such condition. */
static int set_condition(struct virtual_model *model, int size, const char *condition) {
    if (strcmp(condition, "upward") == 0)
        model->network.way_ns = longer_upwards;
    else if (strcmp(condition, "asymmetric") == 0)
        model->network.way_ns = longer_at_random;
    else if (strcmp(condition, "ramps") == 0)
        model->ramp = 5e-9;
    else if (strcmp(condition, "stops") == 0) {
        model->pause_every_ns = 0.1e9 * size; /* of one process */
        model->pause_ns = 10e6;
    } else if (strcmp(condition, "plain") != 0 && strcmp(condition, "barrier") != 0)
        return -1;
    return 0;
}

static int ascending(const void *a, const void *b) {
    double left = *(const double *)a;
    double right = *(const double *)b;
    return (left > right) - (left < right);
}

static double quantile(double *values, int count, double level) {
    qsort(values, (size_t)count, sizeof *values, ascending);
    return count == 0 ? (double)NAN : values[(int)(level * (count - 1))];
}

static double *allocate(int count) {
    double *memory = calloc((size_t)count, sizeof *memory);
    if (memory == NULL)
        exit(1);
    return memory;
}

static void measure_starts(const struct virtual_starts *starts) {
    struct virtual_outcome outcome = virtual_starts_run(starts);
    double *skews = allocate(outcome.count);
    double *bounds = allocate(outcome.count);
    double *expected = allocate(outcome.count);
    int valid = 0;
    int broken = 0;
    for (int i = 0; i < outcome.count; ++i) {
        const struct virtual_start *start = &outcome.starts[i];
        bounds[i] = start->bound_ns;
        expected[i] = start->expected_ns;
        if (!start->valid)
            continue;
        broken += start->skew_ns > 500.0 + start->expected_ns;
        skews[valid++] = start->skew_ns;
    }
    if (valid == 0) {
        fputs("scale: no start was valid\n", stderr);
        exit(1);
    }
    printf("{\"calls\": %d, \"valid\": %d, \"skew_median_ns\": %.1f, \"skew_p99_ns\": %.1f, \"skew_max_ns\": %.1f, "
           "\"broken_promises\": %d, \"bound_median_ns\": %.1f, \"bound_max_ns\": %.1f, \"beyond_bound\": %lld, "
           "\"expected_median_ns\": %.1f, \"within_one\": %.4f, \"within_two\": %.4f, \"syncs\": %lld, "
           "\"sync_ms\": %.3f, \"sync_share\": %.5f, ",
           outcome.count, valid, quantile(skews, valid, 0.5), quantile(skews, valid, 0.99), quantile(skews, valid, 1.0),
           broken, quantile(bounds, outcome.count, 0.5), quantile(bounds, outcome.count, 1.0), outcome.beyond_bound,
           quantile(expected, outcome.count, 0.5), (double)outcome.within[0] / (double)outcome.errors,
           (double)outcome.within[1] / (double)outcome.errors, outcome.syncs_counted, outcome.sync_ns * 1e-6,
           outcome.sync_share);
    free(expected);
    free(bounds);
    free(skews);
    virtual_outcome_free(&outcome);
}

#define BARRIERS 50

struct barriers {
    struct db_channel channel;
    int size;
    double first[BARRIERS];
    double last[BARRIERS];
};

/* Dissemination (Hensgen, Finkel, Manber 1988), which MPI libraries use, one barrier after another. */
static void pass_barriers(int process, void *argument) {
    struct barriers *barriers = argument;
    for (int i = 0; i < BARRIERS; ++i) {
        for (int step = 1; step < barriers->size; step *= 2) {
            int64_t word = 0;
            db_send(&barriers->channel, &word, 1, (process + step) % barriers->size);
            db_receive(&barriers->channel, &word, 1, (process - step + barriers->size) % barriers->size);
        }
        double now_ns = virtual_here_ns();
        barriers->first[i] = barriers->first[i] == 0.0 ? now_ns : fmin(barriers->first[i], now_ns);
        barriers->last[i] = fmax(barriers->last[i], now_ns);
    }
}

static void measure_barriers(const struct virtual_starts *starts) {
    struct virtual_world *world = virtual_create(&starts->model, starts->size);
    static struct barriers barriers;
    double skews[BARRIERS];
    barriers.channel = virtual_channel(world, NULL, starts->size);
    barriers.size = starts->size;
    virtual_run(world, pass_barriers, &barriers);
    virtual_free(world);
    for (int i = 0; i < BARRIERS; ++i)
        skews[i] = barriers.last[i] - barriers.first[i];
    printf("{\"calls\": %d, \"skew_median_ns\": %.1f, \"skew_p99_ns\": %.1f, ", BARRIERS,
           quantile(skews, BARRIERS, 0.5), quantile(skews, BARRIERS, 0.99));
}

int main(int argc, char **argv) {
    struct virtual_starts starts = {.model = plain, .jitter_ns = 20e3, .from_ns = 1e9};
    starts.model.network = virtual_heavy;
    if (argc == 6 || argc == 7) {
        starts.size = atoi(argv[1]);
        starts.until_ns = atof(argv[3]) * 1e9;
        starts.period_ns = atof(argv[4]) * 1e9;
        starts.model.seed = (uint64_t)atoll(argv[5]);
        starts.sync = argc == 7 ? argv[6] : NULL;
    }
    if (starts.size < 2 || starts.size > 65536 || !(starts.period_ns >= 1e5 && starts.period_ns <= 1e9) ||
        !(starts.until_ns > 1e9 && starts.until_ns <= 3600e9) ||
        set_condition(&starts.model, starts.size, argv[2]) != 0) {
        fputs(USAGE, stderr);
        return 2;
    }
    if (strcmp(argv[2], "barrier") == 0)
        measure_barriers(&starts);
    else
        measure_starts(&starts);
    printf("\"processes\": %d, \"condition\": \"%s\"", starts.size, argv[2]);
    puts("}");
    return 0;
}
