/* Starts and barriers of many processes with a clock each, in virtual time: one JSON object per run. */
#include "condition.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define USAGE                                                                                                          \
    "usage: scale [OPTION VALUE]...\n"                                                                                 \
    "       scale --random N [--seed S] [--only K] [OPTION VALUE]...\n"                                                \
    "       scale --conditions FILE\n"                                                                                 \
    "Starts under one condition, under N drawn at random (K: that one alone), or under those that FILE has, one a "    \
    "line.\n"                                                                                                          \
    "Skews, bounds and expected errors are of the calls after the first second, or after --absent-after.\n"

static double quantile(double *values, int count, double level) {
    qsort(values, (size_t)count, sizeof *values, virtual_ascending);
    return count == 0 ? (double)NAN : values[(int)(level * (count - 1))];
}

static void print_ns(const char *name, double ns) {
    if (isnan(ns))
        printf("\"%s\": null, ", name);
    else
        printf("\"%s\": %.1f, ", name, ns);
}

/* The conditions as options, where a promise is broken under them. */
static void say_broken(const struct condition *condition, const struct verdict *verdict) {
    fprintf(stderr, "scale: %d broken promises and %lld errors beyond the bound of %d calls:", verdict->broken,
            verdict->beyond_bound, verdict->all_calls);
    condition_print(stderr, condition);
    fputc('\n', stderr);
}

static void print_numbers(const struct condition *condition) {
    printf("\"processes\": %.0f, \"condition\": \"%s\", \"seconds\": %g, \"interval\": %g, \"seed\": %.0f, "
           "\"skew\": %g, \"wander\": %g, \"ramp\": %g, \"network\": %g",
           condition->processes, condition->name, condition->seconds, condition->interval, condition->seed,
           condition->skew, condition->wander, condition->ramp, condition->network);
}

/* Returns whether the promises were kept. */
static int measure_starts(const struct condition *condition) {
    const struct virtual_starts starts = condition_starts(condition);
    struct virtual_outcome outcome = virtual_starts_run(&starts);
    const struct verdict verdict = condition_judge(condition, &outcome);
    double *skews = virtual_allocate((size_t)outcome.count, sizeof(double));
    double *costs = virtual_allocate((size_t)outcome.count, sizeof(double));
    double *bounds = virtual_allocate((size_t)outcome.count, sizeof(double));
    double *expected = virtual_allocate((size_t)outcome.count, sizeof(double));
    int valid = 0;
    for (int i = 0; i < outcome.count; ++i) {
        const struct virtual_start *start = &outcome.starts[i];
        bounds[i] = start->bound_ns;
        expected[i] = start->expected_ns;
        if (start->valid)
            costs[valid] = start->cost_ns;
        if (start->valid)
            skews[valid++] = start->skew_ns;
    }
    putchar('{');
    print_numbers(condition);
    printf(", \"within_domain\": %s, \"calls\": %d, \"valid\": %d, \"all_calls\": %d, \"all_valid\": %d, "
           "\"calls_after_2s\": %d, \"valid_after_2s\": %d, \"blind\": %d, \"contradictions\": %lld, ",
           condition_within_domain(condition) ? "true" : "false", verdict.calls, verdict.valid, verdict.all_calls,
           verdict.all_valid, verdict.late_calls, verdict.late_valid, verdict.blind, outcome.contradictions);
    print_ns("skew_median_ns", quantile(skews, valid, 0.5));
    print_ns("skew_p99_ns", quantile(skews, valid, 0.99));
    print_ns("skew_max_ns", quantile(skews, valid, 1.0));
    print_ns("cost_median_ns", quantile(costs, valid, 0.5));
    print_ns("cost_p99_ns", quantile(costs, valid, 0.99));
    print_ns("bound_median_ns", quantile(bounds, outcome.count, 0.5));
    print_ns("bound_max_ns", quantile(bounds, outcome.count, 1.0));
    print_ns("expected_median_ns", quantile(expected, outcome.count, 0.5));
    printf("\"broken_promises\": %d, \"beyond_bound\": %lld, \"within_one\": %.4f, \"within_two\": %.4f, "
           "\"syncs\": %lld, \"sync_ms\": %.3f, \"sync_share\": %.5f}\n",
           verdict.broken, verdict.beyond_bound, (double)outcome.within[0] / (double)outcome.errors,
           (double)outcome.within[1] / (double)outcome.errors, outcome.syncs_counted, outcome.sync_ns * 1e-6,
           outcome.sync_share);
    free(expected);
    free(bounds);
    free(costs);
    free(skews);
    /* Beyond the domain promises may be broken where the library says that its clocks do what it excludes. */
    int said = !condition_within_domain(condition) && outcome.contradictions > 0;
    int kept = said || (verdict.broken == 0 && verdict.beyond_bound == 0);
    if (!kept)
        say_broken(condition, &verdict);
    virtual_outcome_free(&outcome);
    return kept;
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

static void measure_barriers(const struct condition *condition) {
    const struct virtual_starts starts = condition_starts(condition);
    struct virtual_world *world = virtual_create(&starts.model, starts.size);
    static struct barriers barriers;
    double skews[BARRIERS];
    barriers.channel = virtual_channel(world, NULL, starts.size);
    barriers.size = starts.size;
    virtual_run(world, pass_barriers, &barriers);
    virtual_free(world);
    for (int i = 0; i < BARRIERS; ++i)
        skews[i] = barriers.last[i] - barriers.first[i];
    putchar('{');
    print_numbers(condition);
    printf(", \"calls\": %d, \"skew_median_ns\": %.1f, \"skew_p99_ns\": %.1f}\n", BARRIERS,
           quantile(skews, BARRIERS, 0.5), quantile(skews, BARRIERS, 0.99));
}

/* Where a check of the simulation itself fails, the condition is said. */
static const struct condition *current;

static void say_current(void) {
    if (current == NULL)
        return;
    fputs("scale: under", stderr);
    condition_print(stderr, current);
    fputc('\n', stderr);
}

static int measure(const struct condition *condition) {
    int kept = 1;
    current = condition;
    if (strcmp(condition->name, "barrier") == 0)
        measure_barriers(condition);
    else
        kept = measure_starts(condition);
    current = NULL;
    fflush(stdout);
    return kept;
}

static void refuse(const char *message) {
    fprintf(stderr, "scale: %s\n", message);
    exit(2);
}

/* The value of an option among the words, NULL if it is not there. */
static const char *find(int count, char **words, const char *name) {
    for (int i = 0; i + 1 < count; i += 2)
        if (strcmp(words[i], name) == 0)
            return words[i + 1];
    return NULL;
}

static double whole(int count, char **words, const char *name, double otherwise) {
    const char *value = find(count, words, name);
    char message[DOWNBEAT_MAX_MESSAGE];
    char *end;
    if (value == NULL)
        return otherwise;
    double number = strtod(value, &end);
    if (end == value || *end != '\0' || !(number >= 0.0 && number <= 1e15) || number != floor(number)) {
        snprintf(message, sizeof message, "%s %s: must be a whole number from 0 to 1e15", name, value);
        refuse(message);
    }
    return number;
}

/* Sets the options of `words` on a condition, without those named in `others`, which are not a condition's. */
static void set_options(struct condition *condition, int count, char **words, const char *const others[]) {
    char message[DOWNBEAT_MAX_MESSAGE];
    for (int i = 0; i < count; i += 2) {
        int another = 0;
        for (int k = 0; others[k] != NULL; ++k)
            another |= strcmp(words[i], others[k]) == 0;
        if (another)
            continue;
        if (strncmp(words[i], "--", 2) != 0 || i + 1 == count) {
            snprintf(message, sizeof message,
                     strncmp(words[i], "--", 2) == 0 ? "%s needs a value" : "'%s' is not an option; --help lists them",
                     words[i]);
            refuse(message);
        }
        if (condition_set(condition, words[i] + 2, words[i + 1], message) != 0)
            refuse(message);
    }
}

/* Conditions drawn at random; where options are given, too, with these. Returns whether all promises were kept. */
static int measure_random(int count, char **words) {
    static const char *const others[] = {"--random", "--seed", "--only", NULL};
    double number = whole(count, words, "--random", 0.0);
    double seed = whole(count, words, "--seed", 1.0);
    double only = whole(count, words, "--only", -1.0);
    int broken = 0;
    for (double i = only < 0.0 ? 0.0 : only; i < (only < 0.0 ? number : only + 1.0); ++i) {
        struct condition condition = condition_draw((uint64_t)seed, (uint64_t)i);
        set_options(&condition, count, words, others);
        if (!measure(&condition)) {
            fprintf(stderr, "scale: that was --random %.0f --seed %.0f --only %.0f\n", number, seed, i);
            ++broken;
        }
    }
    if (broken > 0)
        fprintf(stderr, "scale: promises broken under %d of %.0f conditions, seed %.0f\n", broken, number, seed);
    return broken == 0;
}

/* Conditions that a file has, one a line: options as on the command line. */
static int measure_file(const char *path) {
    static const char *const others[] = {NULL};
    char line[4096];
    char message[DOWNBEAT_MAX_MESSAGE];
    int kept = 1;
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        snprintf(message, sizeof message, "%s: cannot be read", path);
        refuse(message);
    }
    while (fgets(line, sizeof line, file) != NULL) {
        struct condition condition = condition_plain();
        char *words[128];
        int count = 0;
        for (char *word = strtok(line, " \n"); word != NULL && count < 128 && *word != '#'; word = strtok(NULL, " \n"))
            words[count++] = word;
        set_options(&condition, count, words, others);
        if (count > 0)
            kept &= measure(&condition);
    }
    fclose(file);
    return kept;
}

int main(int argc, char **argv) {
    static const char *const others[] = {NULL};
    int count = argc - 1;
    char **words = argv + 1;
    atexit(say_current);
    if (count == 1 && strcmp(words[0], "--help") == 0) {
        fputs(USAGE, stdout);
        condition_print_options(stdout);
        return 0;
    }
    if (find(count, words, "--random") != NULL)
        return !measure_random(count, words);
    if (count == 2 && strcmp(words[0], "--conditions") == 0)
        return !measure_file(words[1]);
    struct condition condition = condition_plain();
    set_options(&condition, count, words, others);
    measure(&condition);
    return 0;
}
