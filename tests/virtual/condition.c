#include "condition.h"

#include "check.h"
#include "random.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#define TOLERANCE_NS 500.0

/* Every option: what it is without it, what is accepted, and between which values it is drawn, evenly by their
 * logarithms, with what chance (of 100; else it stays as it is). */
static const struct option {
    const char *name;
    size_t place;
    double value;
    double least;
    double most;
    double from;
    double to;
    int chance;
    const char *meaning;
} options[] = {
#define OPTION(NAME, FIELD) NAME, offsetof(struct condition, FIELD)
    {OPTION("processes", processes), 128, 2, 65536, 2, 64, 0, "with a clock each"},
    {OPTION("seconds", seconds), 11, 1e-5, 1e7, 0, 0, 0, "calls are made until then"},
    {OPTION("interval", interval), 0.001, 1e-5, 3600, 10e-6, 10, 100, "s from call to call"},
    {OPTION("seed", seed), 1, 0, 1e15, 0, 0, 0, "of clocks, delays and stops"},
    {OPTION("jitter", jitter), 20e-6, 0, 10, 1e-8, 1e-3, 100, "s that processes come after one another, up to"},
    {OPTION("skew", skew), 10e-6, 0, 0.005, 1e-7, 300e-6, 100, "frequencies are within this of true time"},
    {OPTION("wander", wander), 2e-9, 0, 1e-3, 1e-10, 50e-9, 100, "frequencies wander by up to this"},
    {OPTION("ramp", ramp), 0, 0, 1e-3, 1e-9, 100e-9, 40, "per s: frequencies rise by up to this, as when it gets warm"},
    {OPTION("ramp-after", ramp_after), 0, 0, 1e7, 0, 0, 0, "s after which ramps begin"},
    {OPTION("ramp-for", ramp_for), 0, 0, 1e7, 1, 100, 100, "s that ramps take; 0: they do not end"},
    {OPTION("calibration", calibration), 1e-6, 0, 1e-3, 1e-9, 10e-6, 100, "error of a counter's frequency, up to"},
    {OPTION("tick", tick), 0.4347e-9, 1e-11, 1e-3, 0.2e-9, 1e-9, 50, "s of a clock"},
    {OPTION("resolution", resolution), 0, 0, 1e-3, 1e-9, 1e-6, 30, "s between two readings that differ"},
    {OPTION("read", read), 20e-9, 1e-9, 1e-3, 10e-9, 200e-9, 50, "s that it takes to read a clock"},
    {OPTION("network", network), 1.5e-6, 1e-8, 1, 1e-6, 1e-3, 100, "s, the shortest one-way delay"},
    {OPTION("noise", noise), 0.1, 0, 1e3, 1e-3, 0.3, 100, "mean of what is on top (exponential), of the shortest"},
    {OPTION("tail", tail), 0.2 / 1.5, 0, 1e6, 0.1, 10, 50, "scale of a heavy tail (Pareto 1.5), of the shortest"},
    {OPTION("tail-share", tail_share), 0.1, 0, 1, 1e-4, 0.1, 50, "of the messages that have it"},
    {OPTION("tail-most", tail_most), 0.1, 0, 1e3, 0, 0, 0, "s, the longest tail; 0: any"},
    {OPTION("upward", upward), 0, 0, 1e3, 0.01, 0.2, 20, "paths to higher processes take this longer, relative"},
    {OPTION("asymmetry", asymmetry), 0, 0, 1e3, 0.01, 0.2, 20, "every path takes up to this longer, relative"},
    {OPTION("stops", stops), 0, 0, 1e6, 0.1, 100, 40, "per s: processes are stopped so often, all together"},
    {OPTION("stop", stop), 10e-3, 0, 10, 10e-6, 100e-3, 100, "s that a stop takes, at least"},
    {OPTION("stop-most", stop_most), 0, 0, 10, 10e-6, 100e-3, 50, "and at most; below --stop: the same"},
    {OPTION("turns", turns), 0, 0, VIRTUAL_TURNS, 1, VIRTUAL_TURNS, 15, "times that a clock jumps, or turns its rate"},
    {OPTION("step", step), 0, 0, 1e3, 1e-6, 1, 70, "s that it jumps then, forwards or backwards"},
    {OPTION("rate", rate), 0, 0, 1e-2, 1e-8, 50e-6, 50, "that its rate changes then, up to"},
    {OPTION("absent", absent), 0, 0, 1e7, 10, 3600, 20, "s in which nobody calls"},
    {OPTION("absent-after", absent_after), 1, 0, 1e7, 0, 0, 0, "s of calls before that"},
    {OPTION("moving", moving), 0, 0, 1e3, 0.01, 0.5, 20, "every path takes longer, which moves, up to this, relative"},
    {OPTION("jumping", jumping), 0, 0, 1e3, 0.01, 0.5, 10,
     "every path takes longer, which jumps, up to this, relative"},
    {OPTION("per-node", per_node), 0, 0, 65536, 2, 16, 20, "processes that share a clock and memory"},
    {OPTION("near", near), 0.3e-6, 1e-8, 1, 0, 0, 0, "s, the shortest delay of a message between these"},
    {OPTION("messages", messages), 0, 0, 1, 0, 0, 0, "1: all by messages"},
    {OPTION("moving-for", moving_for), 1, 1e-6, 1e7, 1e-3, 100, 100, "s from one value to the next"},
};
#define OPTIONS (sizeof options / sizeof *options)

/* Options under a name. */
static const struct {
    const char *name;
    const char *meaning;
    struct {
        const char *option;
        const char *value;
    } set[3];
} presets[] = {
    {"plain", "", {{0}}},
    {"upward", "paths to higher processes take longer", {{"upward", "0.2"}}},
    {"asymmetric", "every path takes longer, at random", {{"asymmetry", "0.2"}}},
    {"moving", "path asymmetry that moves", {{"moving", "0.2"}}},
    {"jumping", "path asymmetry that jumps", {{"jumping", "0.2"}}},
    {"ramps", "frequencies rise", {{"ramp", "5e-9"}}},
    {"stops", "a process is stopped, ten times per second", {{"stops", "10"}}},
    {"loaded", "processes are stopped by others", {{"stops", "200"}, {"stop", "10e-6"}, {"stop-most", "0.1"}}},
    {"steps", "a clock jumps", {{"turns", "3"}, {"step", "1e-3"}}},
    {"rates", "a clock's frequency changes", {{"turns", "3"}, {"rate", "10e-6"}}},
    {"tails", "latencies up to 100 ms", {{"tail", "20"}, {"tail-share", "0.02"}}},
    {"coarse", "clocks in steps of 1 us", {{"resolution", "1e-6"}}},
    {"absence", "nobody calls for an hour", {{"absent", "3600"}}},
    {"barrier", "a dissemination barrier instead of starts", {{0}}},
};
#define PRESETS (sizeof presets / sizeof *presets)

static double *value_of(struct condition *condition, const struct option *option) {
    return (double *)((char *)condition + option->place);
}

static const struct option *find_option(const char *name) {
    for (size_t i = 0; i < OPTIONS; ++i)
        if (strcmp(options[i].name, name) == 0)
            return &options[i];
    return NULL;
}

struct condition condition_plain(void) {
    struct condition condition = {.name = presets[0].name};
    for (size_t i = 0; i < OPTIONS; ++i)
        *value_of(&condition, &options[i]) = options[i].value;
    return condition;
}

static int set_preset(struct condition *condition, const char *name, char message[DOWNBEAT_MAX_MESSAGE]) {
    for (size_t i = 0; i < PRESETS; ++i)
        if (strcmp(presets[i].name, name) == 0) {
            condition->name = presets[i].name;
            for (int k = 0; k < 3 && presets[i].set[k].option != NULL; ++k)
                CHECK(condition_set(condition, presets[i].set[k].option, presets[i].set[k].value, message) == 0);
            return 0;
        }
    int length = snprintf(message, DOWNBEAT_MAX_MESSAGE, "no condition '%s'; choose one of", name);
    for (size_t i = 0; i < PRESETS; ++i)
        length += snprintf(message + length, (size_t)(DOWNBEAT_MAX_MESSAGE - length), " %s", presets[i].name);
    return -1;
}

int condition_set(struct condition *condition, const char *name, const char *value,
                  char message[DOWNBEAT_MAX_MESSAGE]) {
    if (strcmp(name, "condition") == 0)
        return set_preset(condition, value, message);
    if (strcmp(name, "scheme") == 0) {
        struct db_scheme parsed;
        condition->sync = value;
        return db_scheme_parse(&parsed, "scheme", value, message);
    }
    const struct option *option = find_option(name);
    if (option == NULL) {
        snprintf(message, DOWNBEAT_MAX_MESSAGE, "unknown option '--%s'; --help lists them", name);
        return -1;
    }
    char *end;
    double number = strtod(value, &end);
    int whole = strcmp(name, "processes") == 0 || strcmp(name, "seed") == 0 || strcmp(name, "turns") == 0 ||
                strcmp(name, "per-node") == 0 || strcmp(name, "messages") == 0;
    if (end == value || *end != '\0' || !(number >= option->least && number <= option->most) ||
        (whole && number != floor(number))) {
        snprintf(message, DOWNBEAT_MAX_MESSAGE, "--%s %s: must be a %snumber from %g to %g", name, value,
                 whole ? "whole " : "", option->least, option->most);
        return -1;
    }
    *value_of(condition, option) = number;
    return 0;
}

void condition_print_options(FILE *file) {
    for (size_t i = 0; i < OPTIONS; ++i)
        fprintf(file, "  --%-13s %s (default %g)\n", options[i].name, options[i].meaning, options[i].value);
    fputs("  --scheme        the setting sync\n  --condition     options under a name, which those after it change:\n",
          file);
    for (size_t i = 0; i < PRESETS; ++i)
        fprintf(file, "    %-12s  %s\n", presets[i].name, presets[i].meaning);
}

void condition_print(FILE *file, const struct condition *condition) {
    struct condition copy = *condition;
    for (size_t i = 0; i < OPTIONS; ++i) {
        double value = *value_of(&copy, &options[i]);
        if (value == options[i].value)
            continue;
        char text[32];
        for (int digits = 3; digits <= 17; ++digits) { /* as few as say it exactly */
            snprintf(text, sizeof text, "%.*g", digits, value);
            if (strtod(text, NULL) == value)
                break;
        }
        fprintf(file, " --%s %s", options[i].name, text);
    }
    if (condition->sync != NULL)
        fprintf(file, " --scheme '%s'", condition->sync);
}

/* Evenly by the logarithm. */
static double between(uint64_t *state, double from, double to) { return from * pow(to / from, uniform(state)); }

/* Process-calls that a condition may take: some 2 us each, 0.1 s in the mean. */
#define MEAN_EFFORT 40e3
#define MOST_CALLS 50e3
#define LEAST_CALLS 10.0
/* A synchronization takes place every second or two. */
#define MOST_PROCESS_SECONDS 10e3
#define MOST_SECONDS 3600.0
/* Percentages of conditions with frequencies beyond the domain, and with larger groups. */
#define BEYOND_CHANCE 10
#define BEYOND_SKEW 1000e-6
#define MANY_CHANCE 10
#define MANY 1024.0

static int happens(uint64_t *state, int chance) { return 100.0 * uniform(state) <= chance; }

/* Without the option that it belongs to, it would change nothing. */
static int is_idle(const struct condition *condition, const char *name) {
    return (condition->ramp == 0.0 && strcmp(name, "ramp-for") == 0) ||
           (condition->stops == 0.0 && (strcmp(name, "stop") == 0 || strcmp(name, "stop-most") == 0)) ||
           (condition->moving + condition->jumping == 0.0 && strcmp(name, "moving-for") == 0) ||
           (condition->turns == 0.0 && (strcmp(name, "step") == 0 || strcmp(name, "rate") == 0));
}

static double shorter(double value, int digits) {
    char text[32];
    snprintf(text, sizeof text, "%.*g", digits, value);
    return strtod(text, NULL);
}

struct condition condition_draw(uint64_t seed, uint64_t number) {
    struct condition drawn = condition_plain();
    uint64_t state = stream(seed, number, 0, 0);
    for (size_t i = 0; i < OPTIONS; ++i) {
        const struct option *option = &options[i];
        double value = between(&state, fmax(option->from, 1e-12), fmax(option->to, 1e-12));
        if (happens(&state, option->chance) && !is_idle(&drawn, option->name))
            *value_of(&drawn, option) = value;
    }
    drawn.processes = floor(happens(&state, MANY_CHANCE) ? between(&state, 64.0, MANY) : between(&state, 2.0, 64.0));
    drawn.turns = floor(drawn.turns);
    drawn.per_node = floor(drawn.per_node);
    if (happens(&state, BEYOND_CHANCE))
        drawn.skew = between(&state, 300e-6, BEYOND_SKEW);
    else
        drawn.skew = fmin(drawn.skew, 300e-6 - drawn.wander - drawn.ramp * drawn.ramp_for - drawn.turns * drawn.rate);
    drawn.stops *= drawn.processes;
    double most = fmin(MOST_CALLS, 4.0 * MEAN_EFFORT / drawn.processes);
    double calls = floor(between(&state, fmin(LEAST_CALLS, most / 2.0), most));
    double longest = fmin(MOST_SECONDS, MOST_PROCESS_SECONDS / drawn.processes);
    drawn.seconds = fmin(fmax(longest, LEAST_CALLS * drawn.interval), calls * drawn.interval);
    if (drawn.ramp > 0.0)
        drawn.ramp_after = drawn.seconds * uniform(&state) / 2.0;
    if (drawn.absent > 0.0)
        drawn.absent_after = drawn.seconds * uniform(&state) * 0.9;
    drawn.seed = (double)(db_split_mix(&state) >> 32);
    for (size_t i = 0; i < OPTIONS; ++i) /* as one writes it */
        *value_of(&drawn, &options[i]) = shorter(*value_of(&drawn, &options[i]), options[i].most > 1e10 ? 15 : 4);
    return drawn;
}

static double ramp_seconds(const struct condition *condition) {
    double left = condition->seconds + condition->absent - condition->ramp_after;
    return condition->ramp_for > 0.0 ? fmin(left, condition->ramp_for) : left;
}

int condition_within_domain(const struct condition *condition) {
    double range = condition->skew + condition->wander + condition->ramp * ramp_seconds(condition) +
                   condition->turns * condition->rate;
    return range <= 300.1e-6 && condition->ramp <= 100e-9 && condition->wander <= 50e-9;
}

struct virtual_starts condition_starts(const struct condition *condition) {
    const struct virtual_model model = {
        .seed = (uint64_t)condition->seed,
        .network = {.overhead_ns = virtual_heavy.overhead_ns,
                    .fixed_ns = condition->network * 1e9,
                    .exponential_ns = condition->network * condition->noise * 1e9,
                    .tail_ns = condition->network * condition->tail * 1e9,
                    .tail_share = condition->tail_share,
                    .tail_most_ns = condition->tail_most * 1e9,
                    .upward_ns = condition->network * condition->upward * 1e9,
                    .asymmetry_ns = condition->network * condition->asymmetry * 1e9,
                    .moving_ns = condition->network * condition->moving * 1e9,
                    .jumping_ns = condition->network * condition->jumping * 1e9,
                    .moving_for_ns = condition->moving_for * 1e9},
        .offset_ns = 1e9,
        .skew = condition->skew,
        .wander = condition->wander,
        .ramp = condition->ramp,
        .ramp_from_ns = condition->ramp_after * 1e9,
        .ramp_for_ns = condition->ramp_for * 1e9,
        .calibration = condition->calibration,
        .ns_per_tick = condition->tick * 1e9,
        .granularity = floor(condition->resolution / condition->tick),
        .read_ns = condition->read * 1e9,
        .pause_every_ns = condition->stops > 0.0 ? 1e9 * condition->processes / condition->stops : 0.0,
        .pause_ns = condition->stop * 1e9,
        .pause_most_ns = condition->stop_most * 1e9,
        .turns = (int)condition->turns,
        .turns_until_ns = (condition->seconds + condition->absent) * 1e9,
        .step_ns = condition->step * 1e9,
        .turn_skew = condition->rate,
        .per_node = (int)condition->per_node,
        .near_ns = condition->near * 1e9,
    };
    double from = fmin(condition->absent_after, condition->seconds / 2.0);
    return (struct virtual_starts){.model = model,
                                   .size = (int)condition->processes,
                                   .sync = condition->sync,
                                   .transport = condition->messages != 0.0 ? DB_TRANSPORT_MESSAGES : DB_TRANSPORT_AUTO,
                                   .period_ns = condition->interval * 1e9,
                                   .jitter_ns = condition->jitter * 1e9,
                                   .from_ns = from * 1e9,
                                   .until_ns = condition->seconds * 1e9,
                                   .absent_ns = condition->absent * 1e9};
}

/* The error that no process sees. Path asymmetry moves an offset by half of the difference: two clocks differ by that
 * of the levels above both, and that of a comparison with partners. And a reading lags by up to a step of the clock. */
static double unseen_ns(const struct condition *condition, int depth) {
    double asymmetry =
        (condition->upward + condition->asymmetry + condition->moving + condition->jumping) * condition->network;
    return ((depth + 1) * asymmetry + condition->resolution) * 1e9;
}

struct verdict condition_judge(const struct condition *condition, const struct virtual_outcome *outcome) {
    struct verdict verdict = {.all_calls = outcome->early_count + outcome->count, .calls = outcome->count};
    for (int i = 0; i < verdict.all_calls; ++i) {
        const struct virtual_start *start = &outcome->all[i];
        int late = i * condition->interval >= 2.0;
        verdict.all_valid += start->valid;
        verdict.valid += i >= outcome->early_count && start->valid;
        verdict.late_calls += late;
        verdict.late_valid += late && start->valid;
        verdict.blind += start->blind;
        if (start->blind)
            continue;
        verdict.beyond_bound += start->beyond_bound;
        verdict.broken +=
            start->valid && start->skew_ns > TOLERANCE_NS + start->expected_ns + unseen_ns(condition, outcome->depth);
    }
    return verdict;
}
